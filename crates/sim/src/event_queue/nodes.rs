//! Nodes of the event lists, and their generations for cancellation.

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// An event and its time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry<E> {
    pub(super) time: u64,
    pub(super) event: E,
}

/// An event in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<E> {
    pub(super) entry: Entry<E>,
    pub(super) next: u32,
    /// Counts the node's uses; the lowest bit is set if this use was cancelled.
    pub(super) generation: u32,
    /// No id of it was returned, so it cannot be cancelled.
    fixed: bool,
}

/// The nodes of all lists, including the free list.
#[derive(Debug)]
pub(super) struct Nodes<E> {
    nodes: Vec<Node<E>>,
    free: u32,
    /// The number of nodes in use and not cancelled.
    pub(super) waiting: usize,
}

impl<E> Default for Nodes<E> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NONE, waiting: 0 }
    }
}

impl<E: Copy> Nodes<E> {
    pub(super) fn at(&self, node: u32) -> &Node<E> {
        &self.nodes[node as usize]
    }

    pub(super) fn at_mut(&mut self, node: u32) -> &mut Node<E> {
        &mut self.nodes[node as usize]
    }

    /// A node for an event that may be cancelled.
    pub(super) fn take(&mut self, entry: Entry<E>) -> u32 {
        self.waiting += 1;
        let node = self.free;
        if node == NONE {
            self.nodes.push(Node { entry, next: NONE, generation: 0, fixed: false });
            return self.nodes.len() as u32 - 1;
        }
        let slot = self.at_mut(node);
        slot.entry = entry;
        slot.fixed = false;
        self.free = std::mem::replace(&mut slot.next, NONE);
        node
    }

    /// A node for an event that cannot be cancelled.
    pub(super) fn take_fixed(&mut self, entry: Entry<E>) -> u32 {
        let node = self.take(entry);
        self.at_mut(node).fixed = true;
        node
    }

    /// Frees a node; returns its successor, and whether it was cancelled.
    pub(super) fn give_back(&mut self, node: u32) -> (u32, bool) {
        let free = self.free;
        let slot = self.at_mut(node);
        let next = std::mem::replace(&mut slot.next, free);
        let cancelled = slot.generation & 1 != 0;
        slot.generation = (slot.generation | 1).wrapping_add(1);
        self.free = node;
        self.waiting -= usize::from(!cancelled);
        (next, cancelled)
    }

    /// Removes the first node of a list; returns its successor.
    pub(super) fn unlink(&mut self, node: u32) -> u32 {
        std::mem::replace(&mut self.at_mut(node).next, NONE)
    }

    /// Cancels this use of a node, if it has not ended.
    pub(super) fn cancel(&mut self, node: u32, generation: u32) -> bool {
        let Some(slot) = self.nodes.get_mut(node as usize).filter(|slot| slot.generation == generation) else {
            return false;
        };
        slot.generation |= 1;
        self.waiting -= 1;
        true
    }

    pub(super) fn is_cancelled(&self, node: u32) -> bool {
        self.at(node).generation & 1 != 0
    }

    /// Whether an id of this use was returned.
    pub(super) fn can_be_cancelled(&self, node: u32) -> bool {
        !self.at(node).fixed
    }

    /// The times of the events of a list.
    pub(super) fn times(&self, mut node: u32) -> impl Iterator<Item = u64> {
        std::iter::from_fn(move || {
            let Node { entry, next, .. } = self.nodes.get(node as usize)?;
            node = *next;
            Some(entry.time)
        })
    }

    /// Reverses a list and drops cancelled events; returns its first node.
    pub(super) fn reverse(&mut self, mut node: u32) -> u32 {
        let mut reversed = NONE;
        while node != NONE {
            if self.is_cancelled(node) {
                (node, _) = self.give_back(node);
            } else {
                let next = std::mem::replace(&mut self.at_mut(node).next, reversed);
                (reversed, node) = (node, next);
            }
        }
        reversed
    }
}

//! Inspection of a tree: the queues of all leaves in order, and the paths to them.

use super::node::LeafScheduler;
use super::parts::{Inner, Label, Link, OtherOrder, Place, Spot, Tree};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use pifolab_sched::{Capacity, Held, Inspect, InspectExt, Item, Kept, NodeOfTree, RankInterval, Register};
use pifolab_units::{Bytes, Rank};

impl<T: Item> LeafScheduler<T> {
    pub(super) fn look(&self) -> &dyn Inspect {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Pifo(pifo) => &**pifo,
            Self::Other(other) => other,
        }
    }

    /// Whether the leaf holds no packets.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.is_empty(),
            Self::Pifo(pifo) => pifo.is_empty(),
            Self::Other(other) => other.is_empty(),
        }
    }
}

impl<T: Item> Tree<T> {
    /// The number of leaves.
    pub const fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The labels on the path to a leaf, with positions for missing labels: `tenants/1/web`. Empty if the leaf is the
    /// tree.
    pub fn leaf_path(&self, leaf: usize) -> String {
        self.labels.leaves.get(leaf).map_or_else(String::new, |label| self.path_of(label))
    }

    fn path_of<'a>(&'a self, mut label: &'a Label) -> String {
        let mut names = Vec::new();
        while let Some(parent) = self.labels.inner.get(label.parent as usize) {
            names.push(label.text.clone().unwrap_or_else(|| label.child.to_string()));
            label = parent;
        }
        names.reverse();
        names.join("/")
    }

    /// The leaf of packets whose field has this value; `None` without such a leaf, or if a function sorts packets.
    pub fn leaf_that_takes(&self, value: u64) -> Option<usize> {
        self.classifier.leaf_of_value(value).map(|leaf| leaf as usize)
    }

    /// The leaf of `queue`, and the queue's number within the leaf.
    fn leaf_of(&self, queue: usize) -> Option<(usize, usize)> {
        let leaf = self.spots.partition_point(|leaf| leaf.first_queue as usize <= queue).checked_sub(1)?;
        let queue = queue - self.spots[leaf].first_queue as usize;
        (queue < self.leaves[leaf].look().queues()).then_some((leaf, queue))
    }

    /// Whether the limit of the node at `place` ever held a packet back, if it has one.
    fn has_limited(&self, place: Place) -> Option<bool> {
        self.shapers.has_limited(place.shaper)
    }

    /// Calls `look` with the leaf of `queue` and the queue's number within the leaf.
    fn in_leaf<A>(&self, queue: usize, look: impl FnOnce(&dyn Inspect, usize) -> A) -> Option<A> {
        self.leaf_of(queue).map(|(leaf, queue)| look(self.leaves[leaf].look(), queue))
    }
}

impl<T: Item> Inspect for Tree<T> {
    fn held(&self, queue: Option<usize>) -> Held {
        let Some(queue) = queue else { return Held { packets: self.packets, bytes: Bytes(self.bytes) } };
        let leaving = self.leaving.iter().filter(|(_, from)| *from as usize == queue);
        let leaving = leaving.map(|(packet, _)| Held { packets: 1, bytes: Bytes(packet.size().into()) });
        self.in_leaf(queue, |leaf, queue| leaf.held(Some(queue))).unwrap_or_default() + leaving.sum()
    }

    /// The capacity of the root; without one, the sum over the leaves if all have the same unit.
    fn capacity(&self) -> Capacity {
        if let Some(buffer) = self.inner.first().and_then(|root| root.buffer.as_ref()) {
            return buffer.capacity();
        }
        let sum = |sum: Option<Capacity>, leaf: &LeafScheduler<T>| match (sum, leaf.look().capacity()) {
            (None, capacity) => Some(capacity),
            (Some(Capacity::Packets(sum)), Capacity::Packets(more)) => {
                Some(Capacity::Packets(sum.saturating_add(more)))
            }
            (Some(Capacity::Bytes(sum)), Capacity::Bytes(more)) => Some(Capacity::Bytes(sum.saturating_add(more))),
            _ => Some(Capacity::Unlimited),
        };
        self.leaves.iter().fold(None, sum).unwrap_or(Capacity::Unlimited)
    }

    fn queues(&self) -> usize {
        match (self.spots.last(), self.leaves.last()) {
            (Some(spot), Some(leaf)) => spot.first_queue as usize + leaf.look().queues(),
            _ => 0,
        }
    }

    fn queue_ranks(&self, queue: usize) -> RankInterval {
        self.in_leaf(queue, |leaf, queue| leaf.queue_ranks(queue)).unwrap_or_default()
    }

    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        // Without the packet's identity, the refusing leaf is known only if the tree is a single leaf.
        match &*self.leaves {
            [leaf] if !self.has_scheduled => leaf.look().refused_at(flow, size, rank),
            _ => None,
        }
    }

    fn nodes(&self, each: &mut dyn FnMut(NodeOfTree<'_>)) {
        if self.inner.is_empty() {
            return;
        }
        for ((spot, label), leaf) in self.spots.iter().zip(&self.labels.leaves).zip(&self.leaves) {
            let first = spot.first_queue as usize;
            let queues = first..first + leaf.look().queues();
            each(NodeOfTree { path: &self.path_of(label), queues, has_limited: self.has_limited(spot.place) });
        }
        for (node, label) in self.inner.iter().zip(&self.labels.inner) {
            let has_limited = self.has_limited(node.place);
            if has_limited.is_some() {
                each(NodeOfTree { path: &self.path_of(label), queues: 0..0, has_limited });
            }
        }
    }

    /// A tree of a single leaf shows the leaf's registers; other trees show only the memory of nodes and leaves.
    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        let node = size_of::<Label>() + 2 * size_of::<Link>();
        let (inner, leaf) = (node + size_of::<Inner>(), node + size_of::<LeafScheduler<T>>() + size_of::<Spot>());
        let orders = self.inner.iter().filter_map(|node| node.other.as_deref()).map(|order| match order {
            OtherOrder::Decided(order) => order.kept(),
            OtherOrder::Scheduled(order) => order.kept(),
        });
        let nodes = self.inner.len() * inner + self.leaves.len() * leaf + self.orders.bytes() + self.backlog.bytes();
        let tags = Kept { has_run_out: self.orders.has_run_out(), ..Kept::bytes(nodes) };
        each(&(tags + orders.sum()));
        match &*self.leaves {
            [leaf] => leaf.look().registers(each),
            leaves => each(&leaves.iter().map(|leaf| leaf.look().kept()).sum::<Kept>()),
        }
    }
}

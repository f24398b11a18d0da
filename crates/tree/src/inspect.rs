//! Looking inside a tree: its leaves' queues one after the other, and the paths to them.

use super::node::LeafScheduler;
use super::parts::{Inner, Label, Link, OtherOrder, Spot, Tree};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use pifolab_sched::{Capacity, Inspect, Item, Kept, RankInterval};
use pifolab_units::{Bytes, Rank};

impl<T: Item> LeafScheduler<T> {
    pub(super) fn look(&self) -> &dyn Inspect {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Pifo(pifo) => &**pifo,
            Self::Other(other) => other,
        }
    }

    /// Whether it holds no packet.
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
    /// How many leaves it has.
    pub const fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The labels on the way to a leaf, where there are none the positions: `tenants/1/web`. Empty if the leaf is the tree.
    pub fn leaf_path(&self, leaf: usize) -> String {
        let Some(mut label) = self.labels.leaves.get(leaf) else { return String::new() };
        let mut names = Vec::new();
        while let Some(parent) = self.labels.inner.get(label.parent as usize) {
            names.push(label.text.clone().unwrap_or_else(|| label.child.to_string()));
            label = parent;
        }
        names.reverse();
        names.join("/")
    }

    /// The leaf that takes packets whose field has this value; `None` if none does, or if a function sorts packets.
    pub fn leaf_that_takes(&self, value: u64) -> Option<usize> {
        self.classifier.leaf_of_value(value).map(|leaf| leaf as usize)
    }

    /// The leaf that `queue` belongs to, and the number of the queue there.
    fn leaf_of(&self, queue: usize) -> Option<(usize, usize)> {
        let leaf = self.spots.partition_point(|leaf| leaf.first_queue as usize <= queue).checked_sub(1)?;
        let queue = queue - self.spots[leaf].first_queue as usize;
        (queue < self.leaves[leaf].look().queues()).then_some((leaf, queue))
    }

    /// The child of a node at this position.
    fn child(&self, node: &Inner, position: u32) -> Option<Link> {
        let link = *self.links.get(node.order.place(position))?;
        (position < node.order.places() && link != Link::NONE).then_some(link)
    }

    /// What `look` says of `queue`, by its number in its leaf.
    fn in_leaf<A>(&self, queue: usize, look: impl FnOnce(&dyn Inspect, usize) -> A) -> Option<A> {
        self.leaf_of(queue).map(|(leaf, queue)| look(self.leaves[leaf].look(), queue))
    }
}

impl<T: Item> Inspect for Tree<T> {
    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// That of the root, or if it has none the sum over the leaves, if all of them are bounded in the same unit.
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

    fn queue_len(&self, queue: usize) -> usize {
        let leaving = self.leaving.iter().filter(|(_, from)| *from as usize == queue).count();
        self.in_leaf(queue, |leaf, queue| leaf.queue_len(queue)).unwrap_or(0) + leaving
    }

    fn queue_ranks(&self, queue: usize) -> RankInterval {
        self.in_leaf(queue, |leaf, queue| leaf.queue_ranks(queue)).unwrap_or_default()
    }

    fn queue_bound(&self, queue: usize) -> Option<i64> {
        self.in_leaf(queue, |leaf, queue| leaf.queue_bound(queue)).flatten()
    }

    /// The positions of the nodes on the way, and last the path in the leaf.
    fn path(&self, queue: usize) -> Vec<u32> {
        let Some((leaf, queue)) = self.leaf_of(queue) else { return alloc::vec![queue as u32] };
        let mut path = Vec::new();
        let mut label = &self.labels.leaves[leaf];
        while let Some(parent) = self.labels.inner.get(label.parent as usize) {
            path.push(label.child);
            label = parent;
        }
        path.reverse();
        path.extend(self.leaves[leaf].look().path(queue));
        path
    }

    fn queue_at(&self, path: &[u32]) -> Option<usize> {
        let (mut at, mut path) = (self.inner.first(), path);
        let mut leaf = 0;
        while let Some(node) = at {
            let (child, rest) = path.split_first()?;
            path = rest;
            at = match self.child(node, *child)?.get() {
                Err(inner) => self.inner.get(inner),
                Ok(found) => {
                    leaf = found;
                    None
                }
            };
        }
        let first_queue = self.spots.get(leaf)?.first_queue as usize;
        self.leaves[leaf].look().queue_at(path).map(|queue| queue + first_queue)
    }

    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        // Which leaf refused it cannot be told without its identity, but where there is one leaf only that refuses.
        match &*self.leaves {
            [leaf] if !self.has_scheduled => leaf.look().refused_at(flow, size, rank),
            _ => None,
        }
    }

    /// That of its nodes and leaves.
    fn kept(&self) -> Kept {
        let node = size_of::<Label>() + 2 * size_of::<Link>();
        let (inner, leaf) = (node + size_of::<Inner>(), node + size_of::<LeafScheduler<T>>() + size_of::<Spot>());
        let orders = self.inner.iter().filter_map(|node| node.other.as_deref()).map(|order| match order {
            OtherOrder::Decided(order) => order.kept(),
            OtherOrder::Scheduled(order) => order.kept(),
        });
        Kept::bytes(self.inner.len() * inner + self.leaves.len() * leaf + self.orders.bytes() + self.backlog.bytes())
            + orders.sum()
            + self.leaves.iter().map(|leaf| leaf.look().kept()).sum()
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if let [leaf] = &*self.leaves {
            leaf.look().visit_window(visit);
        }
    }
}

//! The set of children with packets, over all nodes of a tree.

use super::order::ExactOrder;
use alloc::vec::Vec;

/// The children that have packets.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Whether each child has packets, by its place in the orders.
    children: Vec<bool>,
    /// The number of children with packets of each node, by the place of its first child.
    nodes: Vec<u32>,
}

impl Backlog {
    pub(super) fn new(places: usize) -> Self {
        Self { children: alloc::vec![false; places], nodes: alloc::vec![0; places] }
    }

    /// The size in memory in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.children.len() * (size_of::<bool>() + size_of::<u32>())
    }

    /// Whether `child` has packets.
    #[inline(always)]
    pub(super) fn has(&self, order: ExactOrder, child: u32) -> bool {
        self.children.get(order.place(child)).is_some_and(|has| *has)
    }

    /// Stores whether `child` has packets; returns whether this changed.
    #[inline(always)]
    pub(super) fn note(&mut self, order: ExactOrder, child: u32, has: bool) -> bool {
        let is_news = core::mem::replace(&mut self.children[order.place(child)], has) != has;
        if is_news {
            let children = &mut self.nodes[order.place(0)];
            *children = if has { *children + 1 } else { *children - 1 };
        }
        is_news
    }

    /// The number of the node's children with packets.
    #[inline(always)]
    pub(super) fn of(&self, order: ExactOrder) -> u32 {
        self.nodes[order.place(0)]
    }
}

//! Which children of a tree's nodes have packets.

use super::order::ExactOrder;
use alloc::vec::Vec;

/// Which children have packets.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Whether a child has, by its place in the orders.
    children: Vec<bool>,
    /// How many children of a node have, by the place of the first.
    nodes: Vec<u32>,
}

impl Backlog {
    pub(super) fn new(places: usize) -> Self {
        Self { children: alloc::vec![false; places], nodes: alloc::vec![0; places] }
    }

    /// Bytes that it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.children.len() * (size_of::<bool>() + size_of::<u32>())
    }

    /// Whether `child` has packets.
    #[inline(always)]
    pub(super) fn has(&self, order: ExactOrder, child: u32) -> bool {
        self.children.get(order.place(child)).is_some_and(|has| *has)
    }

    /// Notes whether `child` has packets; returns whether that is news.
    #[inline(always)]
    pub(super) fn note(&mut self, order: ExactOrder, child: u32, has: bool) -> bool {
        let is_news = core::mem::replace(&mut self.children[order.place(child)], has) != has;
        if is_news {
            let children = &mut self.nodes[order.place(0)];
            *children = if has { *children + 1 } else { *children - 1 };
        }
        is_news
    }

    /// How many children of the node have packets.
    #[inline(always)]
    pub(super) fn of(&self, order: ExactOrder) -> u32 {
        self.nodes[order.place(0)]
    }
}

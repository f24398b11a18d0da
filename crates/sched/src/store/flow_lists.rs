//! The lists of new and of old flows in fair queueing, which take turns.

use alloc::collections::VecDeque;

/// Flows that take turns: new ones first.
#[derive(Clone, Debug, Default)]
pub struct FlowLists {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FlowLists {
    /// Flows in either list.
    pub fn flows(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// The flow whose turn it is, and whether it is in the new list.
    #[inline]
    pub fn first(&self) -> Option<(u32, bool)> {
        let new = self.new.front().map(|flow| (*flow, true));
        new.or_else(|| self.old.front().map(|flow| (*flow, false)))
    }

    /// Takes the first flow out.
    pub fn remove_first(&mut self) -> Option<u32> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    /// Moves the first flow to the tail of the old ones.
    pub fn first_to_old(&mut self) {
        if let Some(flow) = self.remove_first() {
            self.old.push_back(flow);
        }
    }

    /// All flows, in the order of their turns.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.new.iter().chain(&self.old).copied()
    }

    /// Adds a new flow.
    pub fn add_new(&mut self, flow: u32) {
        self.new.push_back(flow);
    }

    /// Adds a flow behind the old ones.
    pub fn add_old(&mut self, flow: u32) {
        self.old.push_back(flow);
    }
}

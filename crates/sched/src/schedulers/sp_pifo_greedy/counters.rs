//! The greedy step for a switch: four counters for each bound in place of the ranks of the window.
//!
//! Paper: SP-PIFO (NSDI 2020), appendix A.2, eq. 16. Cost: O(1) per packet, O(queues) after each window.
//!
//! A bound moves by one rank where the packets of its own queue cost more than those of the queue above. The change of
//! the risk (eq. 9 and 10) has the same sign wherever the rank that changes queues occurs in the window.

use super::PairCost;
use alloc::vec::Vec;

/// The sums of eq. 16 for one bound q: the costs between a rank and each packet of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Between q and the packets of the queue above.
    above: i128,
    /// Between q and those of its own queue.
    own: i128,
    /// Between q - 1 and the packets of the queue above.
    above_of_lower: i128,
    /// Between q - 1 and those of its own queue.
    own_of_lower: i128,
}

/// The counters of a window so far.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    pub(super) packets: usize,
    cost: PairCost,
    /// One for each queue but the first.
    sums: Vec<Sums>,
}

impl Counters {
    /// An empty window between as many bounds.
    pub(super) fn new(bounds: usize, cost: PairCost) -> Self {
        Self { packets: 0, cost, sums: alloc::vec![Sums::default(); bounds - 1] }
    }

    /// Records a packet that is mapped to `queue` by these bounds.
    pub(super) fn note(&mut self, rank: u64, queue: usize, bounds: &[u64]) {
        self.packets += 1;
        if let Some(sums) = queue.checked_sub(1).and_then(|place| self.sums.get_mut(place)) {
            sums.own += self.cost.between(bounds[queue], rank);
            sums.own_of_lower += self.cost.between(bounds[queue].saturating_sub(1), rank);
        }
        if let Some(sums) = self.sums.get_mut(queue) {
            sums.above += self.cost.between(bounds[queue + 1], rank);
            sums.above_of_lower += self.cost.between(bounds[queue + 1].saturating_sub(1), rank);
        }
    }

    /// Moves each bound by at most one rank, and starts a new window. Bounds do not cross.
    pub(super) fn move_bounds(&mut self, bounds: &mut [u64]) {
        for queue in (1..bounds.len()).rev() {
            let sums = self.sums[queue - 1];
            if sums.above < sums.own && bounds.get(queue + 1).is_none_or(|next| bounds[queue] < *next) {
                bounds[queue] += 1;
            } else if sums.own_of_lower < sums.above_of_lower && bounds[queue] > bounds[queue - 1] {
                bounds[queue] -= 1;
            }
        }
        self.packets = 0;
        self.sums.fill(Sums::default());
    }

    /// Everything that later moves depend on.
    pub(super) fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.packets as i64);
        for Sums { above, own, above_of_lower, own_of_lower } in &self.sums {
            for sum in [above, own, above_of_lower, own_of_lower] {
                visit(*sum as i64);
            }
        }
    }
}

//! The step of the published simulation of greedy SP-PIFO: it moves bounds by running sums over the window.
//!
//! Source: the public code of SP-PIFO (NSDI 2020), its "advanced" greedy queue.
//! Cost: O(1) per packet, O(queues) after each window, no list of ranks.
//!
//! Deviation from Algorithm 2: a bound moves to a rank of the window, not by one; and the sums are exactly those of the
//! public code. One of them leaves out packets of the queue above whose rank is its largest *so far*, even if a larger
//! one comes later. The last bound stays below the size of the rank space, even if packets have larger ranks.

use alloc::vec::Vec;

/// A number of packets, and the sum of their ranks.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    packets: i128,
    ranks: i128,
}

impl Tally {
    fn add(&mut self, rank: u64) {
        self.packets += 1;
        self.ranks += i128::from(rank);
    }

    /// The sum of `rank` minus the rank of each packet.
    fn below(&self, rank: u64) -> i128 {
        i128::from(rank) * self.packets - self.ranks
    }
}

/// The packets of a window on both sides of one bound.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// Packets of the queue above the bound.
    above: Tally,
    /// Those of them whose rank was not the largest so far.
    above_not_largest: Tally,
    /// Packets of the bound's own queue.
    own: Tally,
    /// The smallest rank above the bound in its own queue, or the next bound if no such rank came.
    next: u64,
    /// The largest rank of the queue above, or its bound.
    previous: u64,
}

/// The sums over a window so far.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) packets: usize,
    /// The size of the rank space: all bounds stay below it, whatever the ranks of packets.
    ranks: u64,
    /// One for each queue but the first.
    sides: Vec<Side>,
}

impl Seen {
    /// An empty window between these bounds.
    pub(super) fn new(bounds: &[u64], ranks: u64) -> Self {
        let mut seen = Self { packets: 0, ranks, sides: Vec::with_capacity(bounds.len()) };
        seen.restart(bounds);
        seen
    }

    fn restart(&mut self, bounds: &[u64]) {
        self.packets = 0;
        self.sides.clear();
        let ends = bounds.iter().copied().skip(2).chain([self.ranks]);
        self.sides.extend(bounds.iter().zip(ends).map(|(previous, next)| Side {
            next,
            previous: *previous,
            ..Side::default()
        }));
        self.sides.truncate(bounds.len() - 1);
    }

    /// Records a packet that `queue` takes.
    pub(super) fn note(&mut self, rank: u64, queue: usize, bounds: &[u64]) {
        self.packets += 1;
        if queue > 0 {
            let side = &mut self.sides[queue - 1];
            side.own.add(rank);
            if rank > bounds[queue] {
                side.next = side.next.min(rank);
            }
        }
        if let Some(side) = self.sides.get_mut(queue) {
            side.previous = side.previous.max(rank);
            side.above.add(rank);
            if rank != side.previous {
                side.above_not_largest.add(rank);
            }
        }
    }

    /// Moves each bound to the next higher or the next lower rank seen, if the packets on that side lie further from
    /// it, and starts a new window.
    pub(super) fn move_bounds(&mut self, bounds: &mut [u64]) {
        for queue in (1..bounds.len()).rev() {
            let side = &self.sides[queue - 1];
            let beyond = bounds.get(queue + 1).copied().unwrap_or(self.ranks);
            // Packets whose rank is the bound itself add nothing to its own sum.
            let further = side.above.below(bounds[queue]) < -side.own.below(bounds[queue]);
            if further && side.next != beyond {
                bounds[queue] = side.next;
            } else if side.above_not_largest.below(side.previous) > -side.own.below(side.previous)
                && side.previous != bounds[queue - 1]
            {
                bounds[queue] = side.previous;
            }
        }
        self.restart(bounds);
    }

    /// Everything that later moves depend on.
    pub(super) fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.packets as i64);
        for Side { above, above_not_largest, own, next, previous } in &self.sides {
            for Tally { packets, ranks } in [above, above_not_largest, own] {
                visit(*packets as i64);
                visit(*ranks as i64);
            }
            visit(*next as i64);
            visit(*previous as i64);
        }
    }
}

//! The rank functions of inner nodes: which child is next.

use super::cost::{Costs, UNITS};
use crate::{Packet, RankFn};
use alloc::boxed::Box;
use pifolab_units::{Rank, Ratio, Time};

/// How an inner node ranks the indices of its children.
///
/// A rank is given when an index is pushed and stays as it is. What a rule remembers is not rolled back when an index is taken out
/// because its packet was pushed out, or dropped at dequeue.
pub enum Discipline {
    /// The child of the lowest [priority](super::Node::priority) first; children of equal priority in the order in which they
    /// were added.
    Strict,
    /// Each child in turn sends one packet; whoever has none is skipped.
    ///
    /// With n children, r_i starts at i. Push: rank r_i, then r_i += n. After a pop of child h, with the turn at t: each
    /// child skipped from t to h - 1 gets r += n, and the turn moves to (h + 1) mod n.
    RoundRobin,
    /// Weighted fair queueing by the wall clock: rank = max(now, finish_i), finish_i = rank + bytes / weight_i x time per byte.
    ///
    /// The rule of the public simulator of PIFO trees. It is not a fair queueing algorithm in the strict sense: a child
    /// that waits does not slow down the clock of the others.
    WallClock {
        /// The picoseconds that a byte takes at weight 1.
        ps_per_byte: Ratio,
        /// Ranks count fractions of a picosecond, up to so many, if finish times are then exact: up to 2^63 of them in all. 256
        /// leave room for ten hours.
        ticks_per_ps: u32,
    },
    /// Start-time fair queueing, with a virtual time for the node: rank = max(V, finish_i), finish_i = rank + bytes /
    /// weight_i; V is the largest rank popped. Over any interval in which two children are backlogged, |W_i / w_i - W_j / w_j| is at
    /// most L / w_i + L / w_j, where W are the bytes sent and L the largest packet.
    Stfq,
    /// Deficit round robin: in each round a child may send quantum x weight bytes, and what it leaves over in the next.
    ///
    /// The turns of a round come in the order of the children, not in that in which they became active.
    Drr {
        /// Bytes that a child of weight 1 may send in a round.
        quantum_bytes: u32,
    },
    /// Any rank function of the library. It sees each packet with the child's position as its flow, and is told of
    /// departures but not of drops.
    Ranked(Box<dyn RankFn + Send>),
}

impl core::fmt::Debug for Discipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.word())
    }
}

impl Discipline {
    /// Its word in text.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::RoundRobin => "rr",
            Self::WallClock { .. } => "wfq",
            Self::Stfq => "stfq",
            Self::Drr { .. } => "drr",
            Self::Ranked(_) => "rank",
        }
    }

    /// Whether it looks at the weights of children.
    pub const fn weighs(&self) -> bool {
        matches!(self, Self::WallClock { .. } | Self::Stfq | Self::Drr { .. })
    }
}

/// A discipline with its state.
pub(super) enum Rule {
    Strict {
        ranks: Box<[u32]>,
    },
    RoundRobin(Turns),
    WallClock {
        costs: Costs,
        finish: Box<[u64]>,
    },
    Stfq {
        costs: Costs,
        finish: Box<[u64]>,
        /// V.
        now: u64,
    },
    Drr(Deficits),
    Ranked(Box<dyn RankFn + Send>),
}

impl Rule {
    /// In its first state, for children of these priorities and weights.
    pub(super) fn new(discipline: Discipline, priorities: &[i64], weights: &[Ratio]) -> Self {
        let children = weights.len();
        let zeros = || core::iter::repeat_n(0, children).collect();
        match discipline {
            Discipline::Strict => {
                let mut order: Box<[usize]> = (0..children).collect();
                order.sort_by_key(|child| priorities[*child]);
                let mut ranks: Box<[u32]> = core::iter::repeat_n(0, children).collect();
                for (rank, child) in order.iter().enumerate() {
                    ranks[*child] = rank as u32;
                }
                Self::Strict { ranks }
            }
            Discipline::RoundRobin => {
                Self::RoundRobin(Turns { round: 0, turn: 0, owed: core::iter::repeat_n(0, children).collect() })
            }
            Discipline::WallClock { ps_per_byte, ticks_per_ps } => {
                Self::WallClock { costs: Costs::new(ps_per_byte, weights, ticks_per_ps), finish: zeros() }
            }
            Discipline::Stfq => Self::Stfq { costs: Costs::new(Ratio::ONE, weights, UNITS), finish: zeros(), now: 0 },
            Discipline::Drr { quantum_bytes } => Self::Drr(Deficits::new(quantum_bytes, weights)),
            Discipline::Ranked(function) => Self::Ranked(function),
        }
    }

    /// The rank of an index of `child`, which has `idle` none so far. `packet` arrives at `now`.
    #[inline]
    pub(super) fn rank(&mut self, child: u32, idle: bool, packet: &Packet, now: Time) -> u64 {
        let place = child as usize;
        match self {
            Self::Strict { ranks } => u64::from(ranks[place]),
            Self::RoundRobin(turns) => turns.rank(child),
            Self::WallClock { costs, finish } => {
                let clock = costs.in_units(now.as_ps());
                if clock > finish[place] {
                    costs.settle(place);
                }
                let rank = clock.max(finish[place]);
                finish[place] = rank.saturating_add(costs.charge(place, packet.size)).min(Rank::MAX.get());
                rank
            }
            Self::Stfq { costs, finish, now } => {
                if *now > finish[place] {
                    costs.settle(place);
                }
                let rank = (*now).max(finish[place]);
                finish[place] = rank.saturating_add(costs.charge(place, packet.size)).min(Rank::MAX.get());
                rank
            }
            Self::Drr(deficits) => deficits.rank(child, idle, packet.size),
            Self::Ranked(function) => {
                let Packet { id, size, rank, arrival, .. } = *packet;
                function.rank(&Packet { id, flow: child, size, rank, arrival }, now).get()
            }
        }
    }

    /// An index of `child` with this `rank` was popped, and `packet` leaves.
    #[inline]
    pub(super) fn on_pop(&mut self, child: u32, rank: u64, packet: &Packet, time: Time) {
        match self {
            Self::Strict { .. } | Self::WallClock { .. } => {}
            Self::RoundRobin(turns) => turns.on_pop(child),
            Self::Stfq { now, .. } => *now = rank.max(*now),
            Self::Drr(deficits) => deficits.next = deficits.next.max(rank + 1),
            Self::Ranked(function) => {
                let Packet { id, size, arrival, .. } = *packet;
                let rank = Rank::saturating(rank);
                function.on_dequeue(&Packet { id, flow: child, size, rank, arrival }, time);
            }
        }
    }
}

/// Round robin.
///
/// The turn passes every child once in a round, whether it is served or skipped. r_i has grown by n for each push, and for each
/// time that the turn skipped i; and i was skipped as often as the turn passed it without a pop. Hence
/// r_i = i + n x (pushes_i - pops_i + passes_i), and a pop costs O(1) however many children it skips.
pub(super) struct Turns {
    /// Rounds that are complete.
    round: u64,
    /// Who is asked next.
    turn: u32,
    /// Pushes less pops.
    owed: Box<[u64]>,
}

impl Turns {
    #[inline]
    fn rank(&mut self, child: u32) -> u64 {
        let passes = self.round + u64::from(child < self.turn);
        let owed = &mut self.owed[child as usize];
        let rank = (*owed + passes) * self.owed_children() + u64::from(child);
        self.owed[child as usize] += 1;
        rank
    }

    const fn owed_children(&self) -> u64 {
        self.owed.len() as u64
    }

    #[inline]
    fn on_pop(&mut self, child: u32) {
        self.owed[child as usize] -= 1;
        self.round += u64::from(child < self.turn);
        self.turn = child + 1;
        if self.turn as usize == self.owed.len() {
            self.turn = 0;
            self.round += 1;
        }
    }
}

/// Deficit round robin: a rank is round x children + child.
pub(super) struct Deficits {
    quanta: Box<[u64]>,
    /// The round in which each child's last index leaves, and the bytes that it may still send then.
    last: Box<[(u64, u64)]>,
    /// The first rank whose turn has not come yet.
    next: u64,
}

impl Deficits {
    fn new(quantum_bytes: u32, weights: &[Ratio]) -> Self {
        let quantum = |weight: &Ratio| {
            let bytes = u128::from(quantum_bytes) * u128::from(weight.numerator()) / u128::from(weight.denominator());
            u64::try_from(bytes).unwrap_or(u64::MAX).clamp(1, 1 << 40)
        };
        let quanta: Box<[u64]> = weights.iter().map(quantum).collect();
        let last = core::iter::repeat_n((0, 0), quanta.len()).collect();
        Self { quanta, last, next: 0 }
    }

    #[inline]
    fn rank(&mut self, child: u32, idle: bool, size: u32) -> u64 {
        let children = self.quanta.len() as u64;
        let quantum = self.quanta[child as usize];
        let (round, deficit) = &mut self.last[child as usize];
        if idle {
            // Its next turn, and nothing left over from the last.
            let (rounds, turn) = (self.next / children, self.next % children);
            (*round, *deficit) = (rounds + u64::from(turn > u64::from(child)), quantum);
        }
        let size = u64::from(size);
        if *deficit < size {
            let more = (size - *deficit).div_ceil(quantum);
            *round += more;
            *deficit += more * quantum;
        }
        *deficit -= size;
        round.saturating_mul(children).saturating_add(u64::from(child)).min(Rank::MAX.get())
    }
}

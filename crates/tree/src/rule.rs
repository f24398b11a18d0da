//! The rank functions of inner nodes, which order the children.

use super::cost::{Costs, Finest, Fraction};
use super::discipline::Discipline;
use super::heads::Heads;
use super::order::{ExactOrder, ExactOrders};
use super::share::Share;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_sched::{Packet, RankFn};
use pifolab_units::{Rank, Ratio, Time};

/// The virtual time at which a node sets it back.
const SET_BACK: u64 = 1 << 62;

/// A discipline with its state, except the state of each child.
pub(super) enum Rule {
    /// Computes the rank of one index per packet.
    Own(OwnRule),
    /// Computes the rank of one index per packet by a rank function.
    Ranked(Box<dyn RankFn + Send>),
    /// Keeps one entry per child that has packets to send.
    Heads(Heads),
}

/// A discipline for inner nodes only. A child's ranks never decrease, and the discipline reads only the size of
/// packets.
pub(super) enum OwnRule {
    Strict,
    /// The turn passes every child once per round, served or skipped. r_i grows by n at each push, and at each time
    /// that the turn skips i. The number of skips of i is the number of passes minus the number of pops. Hence r_i = i
    /// + n x (pushes_i - pops_i + passes_i), and a pop costs O(1) for any number of skipped children.
    RoundRobin {
        /// The number of complete rounds.
        round: u64,
        /// The child whose turn is next.
        turn: u32,
        children: u32,
    },
    WallClock {
        /// The units of rank per picosecond.
        units: u64,
        /// The picosecond at which ranks are 0.
        base: u64,
    },
    Stfq {
        /// V.
        now: u64,
    },
    /// A rank is round x children + child.
    Drr {
        /// The first rank whose turn is in the future.
        next: u64,
        children: u32,
    },
}

impl Rule {
    /// Creates a rule in its initial state, for children of these priorities and weights. With `heads`, the tree's own
    /// disciplines keep one entry per child.
    pub(super) fn new(
        discipline: Discipline,
        priorities: &[i64],
        weights: &[Ratio],
        heads: bool,
    ) -> (Self, Vec<Share>) {
        let kind = discipline.kind();
        let mut shares: Vec<Share> = weights.iter().map(|_| Share::default()).collect();
        let children = shares.len() as u32;
        let mut charge = |costs: &Costs| {
            for (share, cost) in shares.iter_mut().zip(&costs.per_byte) {
                share.cost = *cost;
            }
        };
        let rule = match discipline {
            Discipline::Strict => {
                let mut order: Vec<usize> = (0..shares.len()).collect();
                order.sort_by_key(|child| priorities[*child]);
                for (rank, child) in (0..).zip(order) {
                    shares[child].tag = rank;
                }
                OwnRule::Strict
            }
            Discipline::RoundRobin => OwnRule::RoundRobin { round: 0, turn: 0, children },
            Discipline::WallClock { ps_per_byte, ticks_per_ps } => {
                let ranks = Finest { units: ticks_per_ps.max(1).into(), byte: u64::MAX };
                let costs = Costs::new(ps_per_byte, weights, if heads { Finest::TAGS } else { ranks });
                charge(&costs);
                OwnRule::WallClock { units: costs.units, base: 0 }
            }
            Discipline::Stfq => {
                // Only the ratios of weights are relevant. With entries the cheapest byte costs 1, with indices the
                // most expensive one.
                let (value, finest) =
                    if heads { (weights.iter().max(), Finest::TAGS) } else { (weights.iter().min(), Finest::RANKS) };
                charge(&Costs::new(value.copied().unwrap_or(Ratio::ONE), weights, finest));
                OwnRule::Stfq { now: 0 }
            }
            Discipline::Drr { quantum_bytes } => {
                for (share, weight) in shares.iter_mut().zip(weights) {
                    share.cost = quantum(quantum_bytes, *weight);
                }
                OwnRule::Drr { next: 0, children }
            }
            Discipline::Ranked(function) => return (Self::Ranked(function), shares),
        };
        if heads {
            let units = if let OwnRule::WallClock { units, .. } = rule { units } else { 0 };
            return (Self::Heads(Heads { kind, units }), shares);
        }
        (Self::Own(rule), shares)
    }

    /// The rank of an index of `child`, which has no index yet if `is_idle`. `packet` arrives at `now`.
    #[inline(always)]
    pub(super) fn rank_of(&mut self, share: &mut Share, child: u32, is_idle: bool, packet: &Packet, now: Time) -> u64 {
        match self {
            Self::Own(rule) => rule.rank_of(share, child, is_idle, packet.size, now),
            Self::Ranked(function) => rank_by(&mut **function, child, packet, now),
            Self::Heads(_) => unreachable!("its children have entries and no indices"),
        }
    }

    /// Handles the pop of an index of `child` with this `rank`; `packet` leaves.
    #[inline(always)]
    pub(super) fn on_pop<'a>(
        &mut self,
        share: impl FnOnce() -> &'a mut Share,
        child: u32,
        rank: u64,
        packet: &Packet,
        time: Time,
    ) {
        match self {
            Self::Own(rule) => rule.on_pop(share, child, rank),
            Self::Ranked(function) => {
                let Packet { id, size, arrival, .. } = *packet;
                let rank = Rank::saturating(rank);
                function.on_dequeue(&Packet { id, flow: child, size, rank, arrival }, time);
            }
            Self::Heads(_) => unreachable!("its children have entries and no indices"),
        }
    }

    /// Adds an index of `child` to the exact order of the node. Returns the place of the next child if it may have
    /// changed.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        orders: &mut ExactOrders,
        order: ExactOrder,
        child: u32,
        arrival: u64,
        packet: &Packet,
        now: Time,
    ) -> Option<usize> {
        match self {
            Self::Own(rule) => rule.push(orders, order, child, arrival, packet.size, now),
            Self::Ranked(function) => {
                let rank = rank_by(&mut **function, child, packet, now);
                orders.push(order, child, rank, arrival, false)
            }
            Self::Heads(_) => None,
        }
    }
}

impl OwnRule {
    /// Like [`Rule::push`], for a packet of `size` bytes.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        orders: &mut ExactOrders,
        order: ExactOrder,
        child: u32,
        arrival: u64,
        size: u32,
        now: Time,
    ) -> Option<usize> {
        if self.clock(now) >= SET_BACK {
            self.set_back(orders, order, now);
        }
        // Only deficit round robin uses `is_idle`.
        let is_idle = matches!(self, Self::Drr { .. }) && !orders.holds(order, child);
        let rank = self.rank_of(orders.share(order, child), child, is_idle, size, now);
        orders.push(order, child, rank, arrival, true)
    }

    /// The virtual time; 0 for disciplines without one.
    #[inline(always)]
    fn clock(&self, time: Time) -> u64 {
        match self {
            Self::Stfq { now } => *now,
            Self::WallClock { units, base } => (time.as_ps() - base).saturating_mul(*units).min(Rank::MAX.get()),
            Self::Strict | Self::RoundRobin { .. } | Self::Drr { .. } => 0,
        }
    }

    /// Sets the virtual time back, with all ranks and tags, so that they do not overflow. No rank falls below 0; tags
    /// below 0 become 0.
    #[cold]
    fn set_back(&mut self, orders: &mut ExactOrders, order: ExactOrder, time: Time) {
        let lowest = orders.lowest_rank(order).unwrap_or(u64::MAX);
        // A smaller step would not last.
        if lowest < SET_BACK / 2 {
            return;
        }
        let by = match self {
            Self::Stfq { now } => {
                let by = lowest.min(*now);
                *now -= by;
                by
            }
            Self::WallClock { units, base } => {
                let clock = time.as_ps() - *base;
                let by = if lowest == u64::MAX { clock } else { clock.min(lowest / *units) };
                *base += by;
                by.saturating_mul(*units)
            }
            Self::Strict | Self::RoundRobin { .. } | Self::Drr { .. } => return,
        };
        orders.set_back(order, by);
    }

    /// Like [`Rule::rank_of`], for a packet of `size` bytes.
    #[inline(always)]
    fn rank_of(&mut self, share: &mut Share, child: u32, is_idle: bool, size: u32, now: Time) -> u64 {
        if let Self::Stfq { now } = self {
            share.start(*now, size)
        } else {
            self.other_rank_of(share, child, is_idle, size, now)
        }
    }

    #[inline(never)]
    fn other_rank_of(&mut self, share: &mut Share, child: u32, is_idle: bool, size: u32, now: Time) -> u64 {
        match self {
            Self::Stfq { now } => share.start(*now, size),
            Self::Strict => share.tag,
            Self::RoundRobin { round, turn, children } => {
                let passes = *round + u64::from(child < *turn);
                let rank = (share.tag + passes) * u64::from(*children) + u64::from(child);
                share.tag += 1;
                rank
            }
            Self::WallClock { .. } => share.start(self.clock(now), size),
            Self::Drr { next, children } => share.turn(*next, u64::from(*children), u64::from(child), is_idle, size),
        }
    }

    /// Like [`Rule::on_pop`].
    #[inline(always)]
    pub(super) fn on_pop<'a>(&mut self, share: impl FnOnce() -> &'a mut Share, child: u32, rank: u64) {
        if let Self::Stfq { now } = self {
            *now = rank.max(*now);
        } else {
            self.other_on_pop(share(), child, rank);
        }
    }

    #[inline(never)]
    fn other_on_pop(&mut self, share: &mut Share, child: u32, rank: u64) {
        match self {
            Self::Stfq { now } => *now = rank.max(*now),
            Self::Strict | Self::WallClock { .. } => {}
            Self::RoundRobin { round, turn, children } => {
                share.tag -= 1;
                *round += u64::from(child < *turn);
                *turn = child + 1;
                if *turn == *children {
                    *turn = 0;
                    *round += 1;
                }
            }
            Self::Drr { next, .. } => *next = (*next).max(rank + 1),
        }
    }
}

/// The rank that a rank function of the library returns for a packet below `child`.
#[inline(never)]
fn rank_by(function: &mut (dyn RankFn + Send), child: u32, packet: &Packet, now: Time) -> u64 {
    let Packet { id, size, rank, arrival, .. } = *packet;
    function.rank(&Packet { id, flow: child, size, rank, arrival }, now).get()
}

/// The bytes that a child of this weight may send per round.
fn quantum(bytes: u32, weight: Ratio) -> Fraction {
    let bytes = u128::from(bytes) * u128::from(weight.numerator());
    let quantum = Fraction::new(bytes, weight.denominator().into(), 32);
    Fraction { rest: quantum.numerator, ..quantum }
}

//! How inner nodes choose among their children, and what they charge: the words of it.

use alloc::boxed::Box;
use pifolab_params::choices;
use pifolab_sched::RankFn;
use pifolab_units::Ratio;

choices! {
    /// Which [`Discipline`], as text says it.
    pub enum DisciplineKind {
        Strict = "strict": "the child of the lowest priority first",
        RoundRobin = "rr": "each child in turn sends one packet",
        Stfq = "stfq": "start-time fair queueing by the weights of the children, with a virtual time for the node",
        Drr = "drr": "deficit round robin by the weights of the children",
        WallClock = "wfq": "by finish times on the wall clock, as the public simulator of trees has it",
        Ranked = "rank": "by a rank function of the library, to which the children are flows 0, 1, ...",
    }
}

impl DisciplineKind {
    /// Whether it looks at the weights of children.
    pub const fn weighs(self) -> bool {
        matches!(self, Self::WallClock | Self::Stfq | Self::Drr)
    }
}

choices! {
    /// With which packet a tree charges what a node remembers: token buckets, virtual times, deficits.
    pub enum Charge {
        Departure = "departure": "with the packet that leaves: rates and shares are those of what is sent",
        Arrival = "arrival": "with the packet that arrives, as the PIFO trees of the papers do: an index is ranked once, and any packet may leave for it",
    }
}

impl Charge {
    /// Whether it is that of PIFO trees.
    pub const fn is_arrival(self) -> bool {
        matches!(self, Self::Arrival)
    }
}

/// Ticks of a picosecond in which [`Discipline::WallClock`] counts wherever text does not say otherwise. Ranks that cannot be set back, since another
/// order keeps them, last for ten hours.
pub const WALL_CLOCK_TICKS: u32 = 256;

/// How an inner node ranks the indices of its children.
///
/// With [`Charge::Arrival`] a rank is given when an index is pushed and stays as it is. What a rule remembers is not rolled back when an index
/// is taken out because its packet was pushed out, or dropped at dequeue. With [`Charge::Departure`] a child is charged with what it has sent:
/// the bounds below are those of the bytes sent.
pub enum Discipline {
    /// The child of the lowest [priority](super::Node::priority) first; children of equal priority in the order in which they
    /// were added.
    Strict,
    /// Each child in turn sends one packet; a child without packets is skipped.
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
        /// Ranks count fractions of a picosecond, up to so many, if finish times are then exact: up to 2^63 of them in all
        /// ([`WALL_CLOCK_TICKS`]).
        ticks_per_ps: u32,
    },
    /// Start-time fair queueing, with a virtual time for the node: rank = max(V, finish_i), finish_i = rank + bytes /
    /// weight_i; V is the largest rank popped. Over any interval in which two children are backlogged, |W_i / w_i - W_j / w_j| is at
    /// most L / w_i + L / w_j, where L is the largest packet and W are the bytes that the indices were pushed with: those sent,
    /// if a child sends in the order of arrival, or if all packets are of one size.
    ///
    /// Only the proportions of weights count. They are exact where their fractions have a small common denominator; else virtual times are
    /// rounded to a 2^-16 byte of the lightest child, and with [`Charge::Departure`] of the heaviest one, as long as that weighs no more than
    /// 2^32 times as much.
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
        f.write_str(self.kind().word())
    }
}

impl Discipline {
    /// Which it is.
    pub const fn kind(&self) -> DisciplineKind {
        match self {
            Self::Strict => DisciplineKind::Strict,
            Self::RoundRobin => DisciplineKind::RoundRobin,
            Self::WallClock { .. } => DisciplineKind::WallClock,
            Self::Stfq => DisciplineKind::Stfq,
            Self::Drr { .. } => DisciplineKind::Drr,
            Self::Ranked(_) => DisciplineKind::Ranked,
        }
    }
}

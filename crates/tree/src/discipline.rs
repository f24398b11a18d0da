//! The disciplines by which inner nodes choose among their children, and the packets that they charge.

use alloc::boxed::Box;
use pifolab_params::choices;
use pifolab_sched::RankFn;
use pifolab_units::Ratio;

choices! {
    /// The words of the [`Discipline`]s.
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
    /// Whether the discipline uses the weights of children.
    pub const fn weighs(self) -> bool {
        matches!(self, Self::WallClock | Self::Stfq | Self::Drr)
    }
}

choices! {
    /// The packet with which a tree charges a node's state: token buckets, virtual times, deficits.
    pub enum Charge {
        Departure = "departure": "with the packet that leaves: rates and shares are those of what is sent",
        Arrival = "arrival": "with the packet that arrives, as the PIFO trees of the papers do: an index is ranked once, and any packet may leave for it",
    }
}

impl Charge {
    /// Whether the tree charges arrivals, as PIFO trees do.
    pub const fn is_arrival(self) -> bool {
        matches!(self, Self::Arrival)
    }
}

/// The default number of ticks per picosecond for [`Discipline::WallClock`]. Ranks that cannot be set back, because
/// another order stores them, then last for ten hours.
pub const WALL_CLOCK_TICKS: u32 = 256;

/// The rule by which an inner node ranks the indices of its children.
///
/// With [`Charge::Arrival`] the rank of an index is computed at its push and never changes. A rule's state is not
/// rolled back if an index is removed because its packet is pushed out or dropped at dequeue. With
/// [`Charge::Departure`] a child is charged with the packets that it sends, and the bounds below apply to the bytes
/// sent.
pub enum Discipline {
    /// The child with the lowest [priority](super::Node::priority) first; children of equal priority in the order in
    /// which they were added.
    Strict,
    /// Each child in turn sends one packet; children without packets are skipped.
    ///
    /// With n children, r_i starts at i. Push: rank r_i, then r_i += n. After a pop of child h, with the turn at t: each
    /// child skipped from t to h - 1 gets r += n, and the turn moves to (h + 1) mod n.
    RoundRobin,
    /// Weighted fair queueing by the wall clock: rank = max(now, finish_i), finish_i = rank + bytes / weight_i x time per byte.
    ///
    /// The rule of the public simulator of PIFO trees. It is not strictly a fair queueing algorithm, because a waiting
    /// child does not slow down the clock of the others.
    WallClock {
        /// The picoseconds per byte at weight 1.
        ps_per_byte: Ratio,
        /// The largest number of ticks per picosecond in ranks, used if finish times are then exact; up to 2^63 ticks
        /// in total ([`WALL_CLOCK_TICKS`]).
        ticks_per_ps: u32,
    },
    /// Start-time fair queueing with a virtual time per node: rank = max(V, finish_i), finish_i = rank + bytes /
    /// weight_i; V is the largest rank popped. Over any interval in which two children are backlogged, |W_i / w_i - W_j
    /// / w_j| is at most L / w_i + L / w_j, where L is the largest packet. W counts the bytes of the pushed indices.
    /// These are the bytes sent, if a child sends in order of arrival or all packets have one size.
    ///
    /// Only the ratios of weights are relevant. They are exact if their fractions have a small common denominator.
    /// Otherwise virtual times are rounded to a 2^-16 byte of the lightest child. With [`Charge::Departure`] they are
    /// rounded to a 2^-16 byte of the heaviest child or finer, if it weighs at most 2^32 times as much.
    Stfq,
    /// Deficit round robin: in each round a child may send quantum x weight bytes, plus the unused bytes of earlier
    /// rounds.
    ///
    /// Turns within a round follow the order of the children, not the order in which they became active.
    Drr {
        /// The bytes that a child of weight 1 may send per round.
        quantum_bytes: u32,
    },
    /// Any rank function of the library. Each packet's flow is its child's position. The function receives departures,
    /// but not drops.
    Ranked(Box<dyn RankFn + Send>),
}

impl core::fmt::Debug for Discipline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.kind().word())
    }
}

impl Discipline {
    /// The kind of the discipline.
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

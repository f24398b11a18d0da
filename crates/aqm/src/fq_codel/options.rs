//! The options of FQ-CoDel.

use pifolab_sched::params::{self, Args, BUCKETS, FromArgs, Info, Param, ParamError, QUANTUM};
use pifolab_units::Span;

/// The parameters of [`FqCodel`](crate::FqCodel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelParams {
    /// The capacity of all queues together.
    pub capacity_packets: u32,
    /// Bytes that a flow may send in a turn.
    pub quantum_bytes: u32,
    /// Queues that flows share.
    pub buckets: u32,
    /// The acceptable sojourn time.
    pub target: Span,
    /// The time that the sojourn time may stay above the target.
    pub interval: Span,
    /// The most packets that leave at once when the capacity is exceeded.
    pub drop_batch: u32,
    /// Whether CoDel marks packets that can carry a mark (RFC 3168) instead of dropping them.
    pub ecn: bool,
}

impl FqCodelParams {
    /// # Errors
    /// A value out of its range.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        CAPACITY_PACKETS.check(name, self.capacity_packets)?;
        QUANTUM.check(name, self.quantum_bytes)?;
        BUCKETS.check(name, self.buckets)?;
        DROP_BATCH.check(name, self.drop_batch)?;
        TARGET.check(name, self.target.as_ns())?;
        INTERVAL.check(name, self.interval.as_ns())
    }
}

const CAPACITY_PACKETS: Param = Param::integer("capacity_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .or_integer(10_240)
    .doc("The most packets that are held. The default is that of RFC 8290.");

const TARGET: Param = Param::integer("target_ns", 1, 1 << 40)
    .unit("ns")
    .or_integer(5_000_000)
    .doc("The acceptable sojourn time of a queue. 5 ms is the default of RFC 8289.");

const INTERVAL: Param = Param::integer("interval_ns", 1, 1 << 40)
    .unit("ns")
    .or_integer(100_000_000)
    .doc("How long the sojourn time may be above the target: about the largest round trip. 100 ms is the default of RFC 8289.");

const DROP_BATCH: Param = Param::integer("drop_batch", 1, params::MAX_PACKETS)
    .unit("packets")
    .or_integer(64)
    .doc("The most packets that leave at once when the capacity is exceeded. The default is that of RFC 8290.");

const ECN: Param = Param::flag("ecn").or_flag(false).doc(
    "Whether packets that can carry a mark (RFC 3168) are marked instead of dropped by CoDel, as in Linux's fq_codel.",
);

impl FromArgs for FqCodelParams {
    const INFO: Info = Info {
        name: "fq-codel",
        summary: "Flows take turns, new ones first, and CoDel keeps each queue short.",
        paper: "RFC 8290, section 4; RFC 8289, section 5",
        effect: "Ranks are ignored. A full buffer drops from the longest queue; CoDel drops packets at dequeue.",
        state: "two lists of flows, and for each flow a deficit, CoDel's registers and a queue with arrival times",
        cost: "O(1) per operation, O(buckets) when the capacity is exceeded",
        params: &[CAPACITY_PACKETS, QUANTUM, BUCKETS, TARGET, INTERVAL, DROP_BATCH, ECN],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacity_packets: args.given(&CAPACITY_PACKETS)?,
            quantum_bytes: args.given(&QUANTUM)?,
            buckets: args.given(&BUCKETS)?,
            target: Span::from_ns(args.given(&TARGET)?),
            interval: Span::from_ns(args.given(&INTERVAL)?),
            drop_batch: args.given(&DROP_BATCH)?,
            ecn: args.given(&ECN)?,
        })
    }
}

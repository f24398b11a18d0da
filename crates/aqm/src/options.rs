//! The options of queue management: a policy and its settings.

use crate::{CodelPolicy, Managed, PieParams, PiePolicy, QueuePolicy, RedParams, RedPolicy};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use pifolab_params::{Component, Depends, Role};
use pifolab_sched::params::{Args, FromArgs, Info, Kind, Literal, MAX_BYTES, Param, ParamError, choices};
use pifolab_units::Span;

/// The parameters of a [`Managed`] scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagedParams {
    /// The policy.
    pub policy: PolicyParams,
    /// Whether packets that can carry a mark are marked instead of most drops.
    pub ecn: bool,
}

/// A policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyParams {
    /// CoDel.
    Codel {
        /// The target sojourn time.
        target: Span,
        /// The time that the sojourn time may stay above the target.
        interval: Span,
    },
    /// PIE.
    Pie(PieParams),
    /// RED.
    Red(RedParams),
}

impl ManagedParams {
    /// Reads the scheduler inside, which is not a parameter of the policy.
    ///
    /// # Errors
    /// The scheduler is missing, or is no table with a name.
    pub fn scheduler(args: &mut Args) -> Result<Component, ParamError> {
        let found = if args.contains(&SCHEDULER) { args.component(&SCHEDULER)? } else { None };
        found.ok_or_else(|| {
            let expected = "expected a scheduler: { name = \"fifo\" }".to_owned();
            ParamError { owner: args.owner().to_owned(), key: SCHEDULER.name.to_owned(), value: None, expected }
        })
    }

    /// Joins the policy to `scheduler`.
    ///
    /// # Errors
    /// Parameters that do not fit together.
    pub fn around<S>(self, scheduler: S) -> Result<Managed<Box<dyn QueuePolicy + Send>, S>, ParamError> {
        let managed = Managed::new(self.policy.build()?, scheduler);
        Ok(if self.ecn { managed.with_ecn() } else { managed })
    }
}

impl PolicyParams {
    fn build(self) -> Result<Box<dyn QueuePolicy + Send>, ParamError> {
        Ok(match self {
            Self::Codel { target, interval } => Box::new(CodelPolicy::new(target, interval, FRAME_BYTES)),
            Self::Pie(params) => Box::new(PiePolicy::new(params)),
            Self::Red(params) => Box::new(RedPolicy::new(params)?),
        })
    }
}

choices! {
    /// The policy that drops packets.
    enum Policy {
        Codel = "codel": "at dequeue, ever faster, while the sojourn time stays above a target (RFC 8289)",
        Pie = "pie": "at enqueue, with a probability that holds the sojourn time at a target (RFC 8033)",
        Red = "red": "at enqueue, with a probability that grows with the average backlog (Floyd, Jacobson, ToN 1993)",
    }
}

const LONGEST_NS: u64 = 1 << 40;

const POLICY: Param = Param::one_of::<Policy>(
    "policy",
    &[
        (Policy::Codel.word(), &[TARGET, INTERVAL]),
        (Policy::Pie.word(), &[TARGET, UPDATE, BURST]),
        (Policy::Red.word(), &[MIN_BYTES, MAX_BYTES_KEPT, HARD_DROP, MAX_PROBABILITY, WEIGHT, IDLE_PACKET]),
    ],
)
.usually(Literal::Word(Policy::Codel.word()), "")
.doc("The policy that drops or marks packets.");
const ECN: Param = Param::flag("ecn").or_flag(false).doc(
    "Whether packets that can carry a mark (RFC 3168) are marked in the place of most drops: with red below max_bytes (or everywhere without hard_drop), with pie up to a \
          probability of a tenth, with codel always. In networks the data of DCTCP can, and that of \
          NewReno and CUBIC with ecn = true.",
);
const SCHEDULER: Param =
    Param::new("scheduler", Kind::Component(Role::Scheduler)).doc("The scheduler whose packets it drops.");
/// The default targets of CoDel (RFC 8289) and of PIE (RFC 8033).
const CODEL_TARGET: Span = Span::from_us(5_000);
const PIE_TARGET: Span = Span::from_us(15_000);
const TARGET: Param = Param::integer("target_ns", 1, LONGEST_NS)
    .unit("ns")
    .depends(Depends {
        key: "policy",
        without: Literal::Time(CODEL_TARGET),
        with: &[(Policy::Codel.word(), Literal::Time(CODEL_TARGET)), (Policy::Pie.word(), Literal::Time(PIE_TARGET))],
    })
    .doc("The target sojourn time. The defaults are those of RFC 8289 and RFC 8033.");
const INTERVAL: Param = Param::integer("interval_ns", 1, LONGEST_NS)
    .unit("ns")
    .or_integer(100_000_000)
    .doc("With codel: how long the sojourn time may be above the target, about the largest round trip (RFC 8289).");
const UPDATE: Param = Param::integer("update_ns", 1, LONGEST_NS)
    .unit("ns")
    .or_integer(15_000_000)
    .doc("With pie: the interval between updates of the probability (RFC 8033).");
const BURST: Param = Param::integer("burst_ns", 0, LONGEST_NS)
    .unit("ns")
    .or_integer(150_000_000)
    .doc("With pie: the length of a burst from which nothing is dropped (RFC 8033).");
const MIN_BYTES: Param = Param::integer("min_bytes", 1, MAX_BYTES)
    .unit("bytes")
    .or_integer(30_000)
    .doc("With red: below this average backlog nothing is dropped. The default is 20 packets of 1500 bytes.");
const MAX_BYTES_KEPT: Param = Param::integer("max_bytes", 1, MAX_BYTES)
    .unit("bytes")
    .or_integer(90_000)
    .doc("With red: from this average backlog on everything is dropped; three times min_bytes, as its authors advise.");
const HARD_DROP: Param = Param::flag("hard_drop").or_flag(true).doc(
    "With red: whether packets that can carry a mark are dropped from max_bytes on (RFC 3168, section 7). Linux without harddrop \
     marks them.",
);
const MAX_PROBABILITY: Param = Param::new("max_probability", Kind::Share)
    .or(Literal::Fraction(1, 10))
    .doc("With red: the probability just below max_bytes.");
const WEIGHT: Param = Param::integer("weight_log", 0, 31)
    .or_integer(9)
    .doc("With red: a new sample counts 2^-this in the average. 9 is about the paper's 0.002.");
const IDLE_PACKET: Param = Param::integer("idle_packet_ns", 1, LONGEST_NS)
    .unit("ns")
    .or_integer(1_200)
    .doc("With red: an idle queue's average falls as if a small packet left every so often. 1.2 us are 1500 bytes at 10 Gb/s.");

/// RFC 8289: a queue of at most one full Ethernet frame loses no packet.
const FRAME_BYTES: u64 = 1_514;

impl FromArgs for ManagedParams {
    const INFO: Info = Info {
        name: "managed",
        summary: "Any scheduler, and a policy that drops packets at enqueue or at dequeue.",
        paper: "RFC 8289 (CoDel); RFC 8033 (PIE); Floyd, Jacobson, IEEE/ACM ToN 1993, section 4 (RED)",
        effect: "The order is the scheduler's; the policy reads sojourn times or the backlog, not ranks.",
        state: "the scheduler's, and up to six registers; arrival times of packets for codel and pie",
        cost: "O(1) per operation beside the scheduler's",
        params: &[
            POLICY,
            SCHEDULER,
            ECN,
            TARGET,
            INTERVAL,
            UPDATE,
            BURST,
            MIN_BYTES,
            MAX_BYTES_KEPT,
            HARD_DROP,
            MAX_PROBABILITY,
            WEIGHT,
            IDLE_PACKET,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let nanoseconds = |args: &mut Args, row: &Param| args.given(row).map(Span::from_ns);
        let policy = match policy(args)? {
            Policy::Codel => {
                PolicyParams::Codel { target: target(args, CODEL_TARGET)?, interval: nanoseconds(args, &INTERVAL)? }
            }
            Policy::Pie => PolicyParams::Pie(PieParams {
                target: target(args, PIE_TARGET)?,
                update: nanoseconds(args, &UPDATE)?,
                burst: nanoseconds(args, &BURST)?,
            }),
            Policy::Red => PolicyParams::Red(RedParams {
                min_bytes: args.given(&MIN_BYTES)?,
                max_bytes: args.given(&MAX_BYTES_KEPT)?,
                hard_drop: args.given(&HARD_DROP)?,
                max_probability: args.given(&MAX_PROBABILITY)?,
                weight_log: args.given(&WEIGHT)?,
                idle_packet: nanoseconds(args, &IDLE_PACKET)?,
            }),
        };
        policy.build().map_err(|error| ParamError { owner: args.owner().to_owned(), ..error })?;
        Ok(Self { policy, ecn: args.given(&ECN)? })
    }
}

fn target(args: &mut Args, default: Span) -> Result<Span, ParamError> {
    Ok(args.get(&TARGET)?.map_or(default, Span::from_ns))
}

/// Reads the policy. DualPI2, which was removed, is refused by name.
fn policy(args: &mut Args) -> Result<Policy, ParamError> {
    args.usual(&POLICY).map_err(|error| match error.value.as_deref() {
        Some("\"dualpi2\"") => {
            let expected =
                format!("{}; DualPI2 was removed, since nothing checked it against RFC 9332", error.expected);
            ParamError { expected, ..error }
        }
        _ => error,
    })
}

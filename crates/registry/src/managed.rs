//! Queue management from text: a policy that drops packets, and the scheduler that it joins.

use crate::entry::{BY_RANK, Look, Traits};
use crate::library::{Library, inside, unknown_name};
use pifolab_aqm::{CodelPolicy, Managed, PieParams, PiePolicy, QueuePolicy, RedParams, RedPolicy};
use pifolab_params::{Component, Role};
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, Info, Kind, Literal, MAX_BYTES, Param, ParamError, choices};
use pifolab_units::{Ratio, Span};

choices! {
    /// What drops packets.
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
        (Policy::Red.word(), &[MIN_BYTES, MAX_BYTES_KEPT, MAX_PROBABILITY, WEIGHT, IDLE_PACKET]),
    ],
)
.means(Policy::Codel.word())
.doc("The policy that drops or marks packets.");
const ECN: Param = Param::flag("ecn").or_flag(false).doc(
    "Whether packets that can carry a mark (RFC 3168) are marked in the place of most drops: with red below max_bytes, with pie up to a \
          probability of a tenth, with codel always. In networks the data of DCTCP can, and that of \
          NewReno and CUBIC with ecn = true.",
);
const SCHEDULER: Param =
    Param::new("scheduler", Kind::Component(Role::Scheduler)).doc("The scheduler whose packets it drops.");
const TARGET: Param = Param::integer("target_ns", 1, LONGEST_NS)
    .unit("ns")
    .means("5 ms with codel, 15 ms with pie")
    .doc("The target sojourn time. The defaults are those of RFC 8289 and RFC 8033.");
const INTERVAL: Param = Param::integer("interval_ns", 1, LONGEST_NS)
    .unit("ns")
    .or_integer(100_000_000)
    .doc("With codel: how long the sojourn time may be above the target, about the largest round trip (RFC 8289).");
const UPDATE: Param = Param::integer("update_ns", 1, LONGEST_NS)
    .unit("ns")
    .or_integer(15_000_000)
    .doc("With pie: how often the probability is computed anew (RFC 8033).");
const BURST: Param = Param::integer("burst_ns", 0, LONGEST_NS)
    .unit("ns")
    .or_integer(150_000_000)
    .doc("With pie: how long a burst may be before anything is dropped (RFC 8033).");
const MIN_BYTES: Param = Param::integer("min_bytes", 1, MAX_BYTES)
    .unit("bytes")
    .or_integer(30_000)
    .doc("With red: an average backlog below this drops nothing. The default is 20 packets of 1500 bytes.");
const MAX_BYTES_KEPT: Param = Param::integer("max_bytes", 1, MAX_BYTES)
    .unit("bytes")
    .or_integer(90_000)
    .doc("With red: an average backlog from here on drops everything; three times min_bytes, as its authors advise.");
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

/// As RFC 8289 has it: a queue of no more than one full Ethernet frame is left alone.
const FRAME_BYTES: u64 = 1_514;

pub(crate) const INFO: Info = Info {
    name: "managed",
    summary: "Any scheduler, and a policy that drops packets before they come in or where they would leave.",
    paper: "RFC 8289 (CoDel); RFC 8033 (PIE); Floyd, Jacobson, IEEE/ACM ToN 1993, section 4 (RED)",
    effect: "The order is the scheduler's; the policy looks at sojourn times or at the backlog, not at ranks.",
    state: "what the scheduler needs, and up to six registers; arrival times of packets for codel and pie",
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
        MAX_PROBABILITY,
        WEIGHT,
        IDLE_PACKET,
    ],
};

/// What it may hold is any of the others: but for the time these are the traits of a PIFO.
pub(crate) const TRAITS: Traits = Traits { reads_time: true, tests_arrivals: true, ..BY_RANK };

pub(crate) const LOOK: Look = Look { label: "Managed", colour: "#ee8866", dash: &[1, 2], marker: "3" };

/// Builds it.
pub(crate) fn build(mut args: Args, library: Library) -> Result<BoxedScheduler, ParamError> {
    let owner = args.owner().to_owned();
    let component = if args.contains(&SCHEDULER) { args.component(&SCHEDULER)? } else { None };
    let Some(Component { name, args: inner }) = component else {
        let expected = "expected a scheduler: { name = \"fifo\" }".to_owned();
        return Err(ParamError { owner, key: SCHEDULER.name.to_owned(), value: None, expected });
    };
    let path = inner.owner().to_owned();
    let part = (library.scheduler)(&name).map_err(|problem| unknown_name(&path, &name, problem))?;
    let scheduler = (part.read)(inner).map_err(|error| inside(error, &path))?.scheduler(library.form);
    let nanoseconds = |args: &mut Args, row: &Param| args.given(row).map(Span::from_ns);
    let target =
        |args: &mut Args, default: u64| Ok::<_, ParamError>(Span::from_ns(args.get(&TARGET)?.unwrap_or(default)));
    let policy: Box<dyn QueuePolicy + Send> = match policy(&mut args)? {
        Policy::Codel => {
            let target = target(&mut args, 5_000_000)?;
            Box::new(CodelPolicy::new(target, nanoseconds(&mut args, &INTERVAL)?, FRAME_BYTES))
        }
        Policy::Pie => Box::new(PiePolicy::new(PieParams {
            target: target(&mut args, 15_000_000)?,
            update: nanoseconds(&mut args, &UPDATE)?,
            burst: nanoseconds(&mut args, &BURST)?,
        })),
        Policy::Red => {
            let params = RedParams {
                min_bytes: args.given(&MIN_BYTES)?,
                max_bytes: args.given(&MAX_BYTES_KEPT)?,
                max_probability: args.given::<Ratio>(&MAX_PROBABILITY)?,
                weight_log: args.given(&WEIGHT)?,
                idle_packet: nanoseconds(&mut args, &IDLE_PACKET)?,
            };
            Box::new(RedPolicy::new(params).map_err(|error| ParamError { owner: owner.clone(), ..error })?)
        }
    };
    let ecn = args.given::<bool>(&ECN)?;
    args.finish(INFO.params)?;
    let managed = Managed::new(policy, scheduler);
    Ok(Box::new(if ecn { managed.with_ecn() } else { managed }))
}

/// The policy, by default CoDel.
fn policy(args: &mut Args) -> Result<Policy, ParamError> {
    let chosen = args.get::<Policy>(&POLICY).map_err(|error| match error.value.as_deref() {
        Some("\"dualpi2\"") => {
            let expected =
                format!("{}; DualPI2 was removed, since nothing checked it against RFC 9332", error.expected);
            ParamError { expected, ..error }
        }
        _ => error,
    });
    Ok(chosen?.unwrap_or(Policy::Codel))
}

#[cfg(test)]
mod tests {
    use crate::find_scheduler;
    use pifolab_params::{Place, Table, Value};
    use pifolab_sched::params::{Args, ParamError};
    use pifolab_sched::{Dequeued, Packet, Scheduler};
    use pifolab_units::{Rank, Time};

    fn args(policy: &str, scheduler: &str, keys: &[(&'static str, i128)]) -> Args {
        let mut args = Args::new("managed");
        args.set("policy", Value::Text(policy.to_owned()));
        let inner = Table::of("scheduler", Place::File, "name", Value::Text(scheduler.to_owned()));
        args.set("scheduler", Value::Table(inner));
        for (key, value) in keys {
            args.set(*key, Value::Integer(*value));
        }
        args
    }

    fn build(args: Args) -> Result<Box<dyn Scheduler + Send>, ParamError> {
        find_scheduler("managed").unwrap().build(args)
    }

    #[test]
    fn a_policy_drops_and_the_scheduler_orders() {
        let mut managed = build(args("codel", "pifo", &[("target_ns", 10), ("interval_ns", 100)])).unwrap();
        for id in 0..50 {
            let packet = Packet { id, flow: 0, size: 1_000, rank: Rank::from(50 - id as u32), arrival: Time::ZERO };
            assert!(managed.enqueue(packet, Time::ZERO).is_admitted());
        }
        let mut dropped = Vec::new();
        for step in 0..40 {
            match managed.dequeue(Time::from_ns(20 * (step + 1))) {
                Dequeued::Packet { packet, .. } => assert_eq!(packet.rank, Rank::from(step as u32 + 1)),
                Dequeued::Dropped { packet, .. } => dropped.push(packet.rank.get()),
                other => panic!("{other:?}"),
            }
        }
        // Late from 20 ns on, for 100 ns at 120 ns; then after 100 ns / sqrt(2), sqrt(3), ...
        assert_eq!(dropped[..3], [6, 11, 15]);
    }

    #[test]
    fn what_cannot_be_managed_is_one_line_with_the_path() {
        let error = |args| build(args).err().map(|error| error.to_string()).unwrap_or_default();
        let wrong = error(args("codel", "fiof", &[]));
        assert_eq!(wrong, "managed.scheduler: name = \"fiof\": unknown scheduler \"fiof\"; did you mean fifo?");
        assert!(error(args("codle", "fifo", &[])).contains("policy = \"codle\": expected one of codel, pie, red"));
        let beside = error(args("codel", "fifo", &[("update_ns", 5)]));
        assert_eq!(beside, "managed: update_ns = 5: this key has no effect with the other keys: remove it");
        let crossed = error(args("red", "fifo", &[("min_bytes", 9_000), ("max_bytes", 9_000)]));
        assert_eq!(crossed, "managed: max_bytes = 9000: expected more than min_bytes = 9000");
        let removed = error(args("dualpi2", "fifo", &[]));
        assert_eq!(
            removed,
            "managed: policy = \"dualpi2\": expected one of codel, pie, red; DualPI2 was removed, since nothing checked it against \
             RFC 9332"
        );
        let alone = error(Args::new("managed"));
        assert_eq!(alone, "managed: scheduler is missing: expected a scheduler: { name = \"fifo\" }");
    }
}

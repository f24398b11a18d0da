//! Queue management from text: a policy that drops packets, joined to a scheduler.

use crate::entry::{BY_RANK, Look, Traits};
use crate::library::Library;
use crate::made::{ACCEPTED, Made, Make};
use pifolab_aqm::ManagedParams;
use pifolab_fast::Form;
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, FromArgs, Info, ParamError};
use std::any::Any;

pub(crate) const INFO: Info = ManagedParams::INFO;

/// The traits of a PIFO and the time, since it may hold any scheduler.
pub(crate) const TRAITS: Traits = Traits { reads_time: true, tests_arrivals: true, ..BY_RANK };

pub(crate) const LOOK: Look = Look { label: "Managed", colour: "#ee8866", dash: &[1, 2], marker: "3" };

/// Queue management whose arguments were read.
struct Joined {
    params: ManagedParams,
    scheduler: Made,
}

impl Make for Joined {
    fn params(&self) -> &dyn Any {
        &self.params
    }

    fn scheduler(&self, form: Form) -> BoxedScheduler {
        Box::new(self.params.around(self.scheduler.scheduler(form)).expect(ACCEPTED))
    }
}

/// Reads its arguments.
pub(crate) fn read(mut args: Args, library: Library) -> Result<Made, ParamError> {
    let scheduler = ManagedParams::scheduler(&mut args).and_then(|inner| library.made(inner))?;
    Ok(Made::new(Joined { params: ManagedParams::build(args)?, scheduler }))
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
        // The sojourn time is above the target from 20 ns on. The first drop is at 120 ns, the next after 100 ns /
        // sqrt(2), sqrt(3), ...
        assert_eq!(dropped[..3], [6, 11, 15]);
    }

    /// The packets lost in four bursts at 5/4 of the link's rate, each of which drains before the next.
    fn lost(policy: &str, key: Option<(&'static str, Value)>) -> Vec<u64> {
        let mut args = args(policy, "fifo", &[]);
        if let Some((key, value)) = key {
            args.set(key, value);
        }
        let (mut managed, mut lost, mut id) = (build(args).unwrap(), Vec::new(), 0);
        for step in 0..40_000 {
            let now = Time::from_ns(step * 100_000);
            if step % 10_000 < 6_000 && step % 4 == 0 {
                let packet = Packet { id, flow: 0, size: 1_000, rank: Rank::ZERO, arrival: now };
                id += 1;
                lost.extend((!managed.enqueue(packet, now).is_admitted()).then_some(id));
            }
            if step % 5 == 0
                && let Dequeued::Dropped { packet, .. } = managed.dequeue(now)
            {
                lost.push(packet.id);
            }
        }
        lost
    }

    #[test]
    fn every_key_of_a_policy_changes_which_packets_are_lost() {
        let integer = Value::Integer;
        for (policy, keys) in [
            ("codel", [("target_ns", integer(50_000_000)), ("interval_ns", integer(10_000_000))].as_slice()),
            (
                "pie",
                &[
                    ("target_ns", integer(5_000_000)),
                    ("update_ns", integer(40_000_000)),
                    ("burst_ns", integer(400_000_000)),
                ],
            ),
            (
                "red",
                &[
                    ("min_bytes", integer(60_000)),
                    ("max_bytes", integer(40_000)),
                    ("max_probability", Value::Decimal("0.5".to_owned())),
                    ("weight_log", integer(2)),
                    ("idle_packet_ns", integer(1_000_000_000_000)),
                ],
            ),
        ] {
            let usual = lost(policy, None);
            assert!(!usual.is_empty(), "{policy} loses nothing");
            for (key, value) in keys {
                assert_ne!(lost(policy, Some((*key, value.clone()))), usual, "{policy}: {key} = {value}");
            }
        }
    }

    #[test]
    fn the_target_that_holds_without_one_is_that_of_the_policy() {
        let row = super::INFO.row("target_ns");
        assert_eq!(row.absent.meaning().as_deref(), Some("5 ms; 15 ms with policy = pie"));
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

//! A suite that cannot fail proves nothing: wrong schedulers must be caught, each by the check that is meant for it.

use super::*;
use pifolab_sched::params::Info;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Packet};
use pifolab_units::{Bytes, Time};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// A first-in first-out queue of two packets with one fault.
struct Faulty<const FAULT: u8> {
    held: Vec<Packet>,
}

const SENDS_THE_LATEST: u8 = 0;
const HOLDS_ONE_TOO_MANY: u8 = 1;
const LOSES_A_PACKET: u8 = 2;
const RETURNS_ANOTHER_PACKET: u8 = 3;
const MISCOUNTS_BYTES: u8 = 4;
const FORGETS_TO_SEND: u8 = 5;
const GIVES_ANOTHER_REASON: u8 = 6;

impl<const FAULT: u8> FromArgs for Faulty<FAULT> {
    const INFO: Info = <schedulers::Fifo>::INFO;

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let _ = pifolab_sched::params::read_capacity(args)?;
        Ok(Self { held: Vec::new() })
    }
}

impl<const FAULT: u8> Scheduler for Faulty<FAULT> {
    fn enqueue(&mut self, mut packet: Packet, _: Time) -> Enqueued {
        let rank = packet.rank;
        if self.held.len() >= if FAULT == HOLDS_ONE_TOO_MANY { 3 } else { 2 } {
            packet.flow += u32::from(FAULT == RETURNS_ANOTHER_PACKET);
            let reason = if FAULT == GIVES_ANOTHER_REASON { DropReason::Admission } else { DropReason::Full };
            return Enqueued::Dropped { packet, reason };
        }
        if FAULT != LOSES_A_PACKET || rank.get() != 7 {
            self.held.push(packet);
        }
        Enqueued::Admitted { queue: 0, rank }
    }

    fn dequeue(&mut self, _: Time) -> Dequeued {
        if self.held.is_empty() || FAULT == FORGETS_TO_SEND && self.held.len() == 1 {
            return Dequeued::Empty;
        }
        let place = if FAULT == SENDS_THE_LATEST { self.held.len() - 1 } else { 0 };
        Dequeued::Packet { packet: self.held.remove(place), queue: 0 }
    }
}

impl<const FAULT: u8> Inspect for Faulty<FAULT> {
    fn len(&self) -> usize {
        self.held.len()
    }

    fn backlog(&self) -> Bytes {
        let bytes: u32 = self.held.iter().map(|packet| packet.size).sum();
        Bytes(u64::from(bytes) + u64::from(FAULT == MISCOUNTS_BYTES && bytes > 1500))
    }

    fn capacity(&self) -> Capacity {
        Capacity::Packets(2)
    }
}

fn two_packets(_: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    settings.integer("capacity_packets", 2);
    settings
}

fn verdict<const FAULT: u8>() -> String {
    static_verdict(Box::leak(Box::new(line::<Faulty<FAULT>, Fifo>(two_packets, FIFO))))
}

fn static_verdict(line: &'static Line) -> String {
    let check = |case: Case| line.check(&case).map_err(TestCaseError::fail);
    let config = Config { failure_persistence: None, ..Config::default() };
    match TestRunner::new(config).run(&Case::strategy(line), check) {
        Err(TestError::Fail(reason, _)) => reason.to_string(),
        other => panic!("the fault was not noticed: {other:?}"),
    }
}

#[test]
fn each_fault_is_caught_by_the_check_that_is_meant_for_it() {
    for (verdict, expected) in [
        (verdict::<SENDS_THE_LATEST>(), "not QueuesInArrivalOrder"),
        (verdict::<HOLDS_ONE_TOO_MANY>(), "3 used of 2 packets"),
        (verdict::<LOSES_A_PACKET>(), "len is"),
        (verdict::<RETURNS_ANOTHER_PACKET>(), "came back for"),
        (verdict::<MISCOUNTS_BYTES>(), "the backlog is"),
        (verdict::<FORGETS_TO_SEND>(), "1 packets wait, none was sent"),
        (verdict::<GIVES_ANOTHER_REASON>(), "the oracle says Dropped(Full)"),
    ] {
        assert!(verdict.contains(expected), "{verdict}");
    }
}

#[test]
fn every_string_of_bytes_is_a_case_that_the_library_accepts() {
    for line in LINES {
        for first in (0..=255u8).step_by(15) {
            for second in (0..=255u8).step_by(7) {
                let bytes =
                    [first, second, first ^ 0x5a, second.wrapping_mul(37), first.wrapping_add(second), 3, 200, 77];
                let settings = (line.settings)(&mut Source::new(&bytes));
                if let Err(error) = line.build(&settings) {
                    panic!("{}: {error}", line.name);
                }
            }
        }
    }
}

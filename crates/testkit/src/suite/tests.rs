//! Tests of the suite: each check must fail for a scheduler with the corresponding fault.

use super::*;
use crate::line::{FIFO, line};
use crate::oracles::fifo::Fifo;
use crate::{Answer, Offer, Oracle, Settings, Source};
use pifolab_registry::rows::SCHEDULERS;
use pifolab_sched::params::{Args, FromArgs, Info, ParamError};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Held, Inspect, Packet, Scheduler, schedulers};
use pifolab_units::{Bytes, Time};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::collections::BTreeSet;

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
    fn held(&self, queue: Option<usize>) -> Held {
        let bytes: u32 = self.held.iter().map(|packet| packet.size).sum();
        let bytes = Bytes(u64::from(bytes) + u64::from(FAULT == MISCOUNTS_BYTES && bytes > 1500));
        Held::in_one_queue(queue, || Held { packets: self.held.len(), bytes })
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

/// The line of a scheduler from outside of the library.
fn of<S: FromArgs + Scheduler + 'static, O: Oracle + From<Settings> + 'static>(
    settings: fn(&mut Source<'_>) -> Settings,
    properties: &'static [Property],
) -> Line {
    Line { build: |args, _| Ok(Box::new(S::build(args)?)), ..line::<O>(S::INFO.name, settings, properties) }
}

/// A scheduler whose twin refuses every packet of rank 7.
fn with_a_wrong_twin() -> Line {
    let build = |args: Args, form| -> Result<Box<dyn Scheduler>, ParamError> {
        let fifo = <schedulers::Fifo>::build(args)?;
        Ok(if form == Form::Twins { Box::new(RefusesSevens(fifo)) } else { Box::new(fifo) })
    };
    Line { build, ..line::<Fifo>("fifo", two_packets, FIFO) }
}

struct RefusesSevens(schedulers::Fifo);

impl Scheduler for RefusesSevens {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        if packet.rank.get() == 7 {
            return Enqueued::Dropped { packet, reason: DropReason::Admission };
        }
        self.0.enqueue(packet, now)
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        self.0.dequeue(now)
    }
}

impl Inspect for RefusesSevens {
    fn held(&self, queue: Option<usize>) -> Held {
        self.0.held(queue)
    }

    fn capacity(&self) -> Capacity {
        self.0.capacity()
    }
}

#[test]
fn a_twin_that_decides_otherwise_is_named() {
    let verdict = static_verdict(Box::leak(Box::new(with_a_wrong_twin())));
    assert!(verdict.contains("in the twin, and"), "{verdict}");
}

fn verdict<const FAULT: u8>() -> String {
    static_verdict(Box::leak(Box::new(of::<Faulty<FAULT>, Fifo>(two_packets, FIFO))))
}

fn static_verdict(line: &'static Line) -> String {
    let check = |case: Case| check(line, &case).map_err(TestCaseError::fail);
    let config = Config { failure_persistence: None, ..Config::default() };
    match TestRunner::new(config).run(&Case::strategy(line.settings), check) {
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

/// A first-in first-out queue of two packets that drops packets which have waited for more than 5 ns.
struct Impatient(Vec<Packet>);

const PATIENCE_NS: u64 = 5;

impl FromArgs for Impatient {
    const INFO: Info = <schedulers::Fifo>::INFO;

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let _ = pifolab_sched::params::read_capacity(args)?;
        Ok(Self(Vec::new()))
    }
}

impl Scheduler for Impatient {
    fn enqueue(&mut self, packet: Packet, _: Time) -> Enqueued {
        if self.0.len() == 2 {
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        let rank = packet.rank;
        self.0.push(packet);
        Enqueued::Admitted { queue: 0, rank }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        if self.0.is_empty() {
            return Dequeued::Empty;
        }
        let packet = self.0.remove(0);
        if now.since(packet.arrival) > pifolab_units::Span::from_ns(PATIENCE_NS) {
            return Dequeued::Dropped { packet, reason: DropReason::Admission };
        }
        Dequeued::Packet { packet, queue: 0 }
    }
}

impl Inspect for Impatient {
    fn held(&self, queue: Option<usize>) -> Held {
        let bytes = Bytes(self.0.iter().map(|packet| u64::from(packet.size)).sum());
        Held::in_one_queue(queue, || Held { packets: self.0.len(), bytes })
    }

    fn capacity(&self) -> Capacity {
        Capacity::Packets(2)
    }
}

/// The oracle of `Impatient`: ids and arrivals.
struct ImpatientOracle(Vec<(u64, u64)>);

impl From<Settings> for ImpatientOracle {
    fn from(_: Settings) -> Self {
        Self(Vec::new())
    }
}

impl Oracle for ImpatientOracle {
    fn enqueue(&mut self, offer: Offer, now_ns: u64) -> Answer {
        if self.0.len() == 2 {
            return Answer::Dropped(DropReason::Full);
        }
        self.0.push((offer.id, now_ns));
        Answer::admitted(0)
    }

    fn dequeue(&mut self, now_ns: u64) -> Answer {
        match self.0.first().copied() {
            None => Answer::Empty,
            Some((id, arrival)) => {
                self.0.remove(0);
                if now_ns - arrival > PATIENCE_NS {
                    Answer::GivenUp(id, DropReason::Admission)
                } else {
                    Answer::Sent(id)
                }
            }
        }
    }
}

#[test]
fn a_scheduler_may_give_packets_up_at_dequeue_if_it_says_so() {
    let silent = Box::leak(Box::new(of::<Impatient, ImpatientOracle>(two_packets, FIFO)));
    assert!(static_verdict(silent).contains("it gave a packet up, which it does not declare"));
    let declared: &'static Line = Box::leak(Box::new(of::<Impatient, ImpatientOracle>(
        two_packets,
        &[Property::QueuesInArrivalOrder, Property::GivesUp],
    )));
    let config = Config { failure_persistence: None, ..Config::default() };
    let gave_up = std::cell::Cell::new(0);
    let hold = |case: Case| {
        let mut scheduler = declared.build(&case.settings, Form::Plain).unwrap();
        let answers = case.ops.iter().map(|op| op.apply(&mut *scheduler));
        gave_up.set(gave_up.get() + answers.filter(|answer| matches!(answer, Answer::GivenUp(..))).count());
        check(declared, &case).map_err(TestCaseError::fail)
    };
    TestRunner::new(config).run(&Case::strategy(declared.settings), hold).unwrap();
    assert!(gave_up.get() > 100, "{} packets were given up", gave_up.get());
}

#[test]
fn every_string_of_bytes_is_a_case_that_the_library_accepts() {
    for line in lines() {
        for first in (0..=255u8).step_by(15) {
            for second in (0..=255u8).step_by(7) {
                let bytes =
                    [first, second, first ^ 0x5a, second.wrapping_mul(37), first.wrapping_add(second), 3, 200, 77];
                let settings = (line.settings)(&mut Source::new(&bytes));
                if let Err(error) = line.build(&settings, Form::Twins) {
                    panic!("{}: {error}", line.name);
                }
            }
        }
    }
}

/// A parameter that is never drawn has its default in every case, so no test would cover it.
#[test]
fn every_parameter_of_a_scheduler_is_drawn() {
    let mut never = Vec::new();
    for entry in SCHEDULERS {
        let mut drawn = BTreeSet::new();
        for line in lines_of(entry.info.name) {
            for seed in 0..2_000u32 {
                let bytes: Vec<u8> = (0..16u32).flat_map(|place| hash(16 * seed + place).to_le_bytes()).collect();
                drawn.extend((line.settings)(&mut Source::new(&bytes)).iter().map(|(name, _)| name));
            }
        }
        let missing = entry.info.params.iter().map(|param| param.name).filter(|name| !drawn.contains(name));
        never.extend(missing.map(|name| (entry.info.name, name)));
    }
    assert!(never.is_empty(), "the files of oracles never draw {never:?}");
}

#[test]
fn the_cases_of_fq_codel_have_packets_that_are_marked_and_packets_that_are_given_up() {
    let line = lines_of("fq-codel").next().unwrap();
    let (mut marked, mut given_up) = (0, 0);
    for seed in 0..200u32 {
        let bytes: Vec<u8> = (0..150u32).flat_map(|place| hash(150 * seed + place).to_le_bytes()).collect();
        let case = Case::decode(line.settings, &bytes);
        let mut oracle = line.oracle(&case.settings);
        for op in &case.ops {
            match oracle.apply(op) {
                Answer::Marked(_) => marked += 1,
                Answer::GivenUp(..) => given_up += 1,
                _ => {}
            }
        }
    }
    assert!(marked > 30 && given_up > 100, "{marked} were marked, {given_up} were given up");
}

/// Mixes a number (the finaliser of MurmurHash3).
fn hash(number: u32) -> u32 {
    let mixed = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

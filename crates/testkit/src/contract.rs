//! The contract of every scheduler with its caller, checked after each operation.

use crate::case::cost;
use crate::line::Property;
use crate::{Answer, Op};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, InspectExt, Packet, Scheduler};
use std::collections::BTreeMap;

/// The name and declared properties of a scheduler under test.
pub(crate) struct Promised<'a> {
    pub(crate) name: &'a str,
    pub(crate) properties: &'a [Property],
}

impl Promised<'_> {
    fn has(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }
}

/// The caller's data about a packet in the scheduler.
struct Held {
    packet: Packet,
    queue: u32,
    eligible_ns: u64,
    /// Whether the packet can carry a mark.
    capable: bool,
}

/// Runs a case on a scheduler and on its twin, and checks the contract.
pub(crate) fn check(
    line: &Promised<'_>,
    build: &dyn Fn() -> Result<Box<dyn Scheduler>, String>,
    ops: &[Op],
) -> Result<(), String> {
    let (mut scheduler, mut twin) = (build()?, build()?);
    let mut held: BTreeMap<u64, Held> = BTreeMap::new();
    for (index, op) in ops.iter().enumerate() {
        let answer = step(line, &mut *scheduler, op, &mut held).and_then(|answer| {
            account(&*scheduler, &held)?;
            Ok(answer)
        });
        let answer = answer.map_err(|error| format!("{} after ops[{index}] = {op:?}: {error}", line.name))?;
        let again = op.apply(&mut *twin);
        if answer != again {
            return Err(format!("{}: ops[{index}] = {op:?} gave {answer:?}, and to a twin {again:?}", line.name));
        }
    }
    Ok(())
}

fn step(
    line: &Promised<'_>,
    scheduler: &mut dyn Scheduler,
    op: &Op,
    held: &mut BTreeMap<u64, Held>,
) -> Result<Answer, String> {
    let now = op.now();
    match op {
        Op::Enqueue(offer, _) => {
            let outcome = offer.to(scheduler, now);
            let answer = Answer::of_enqueue(&outcome);
            match outcome {
                Enqueued::Admitted { queue, rank } => admit(line, scheduler, op, (queue, rank), held)?,
                Enqueued::Evicted { queue, rank, victims } => {
                    ensure(line.has(Property::Evicts), || "it evicted, which it does not declare".to_owned())?;
                    for victim in victims {
                        let known = held.remove(&victim.id);
                        ensure(known.is_some_and(|known| known.packet == victim), || {
                            format!("{victim:?} was evicted, but not held like that")
                        })?;
                        ensure(victim.rank.get() > offer.rank, || format!("{victim:?} yielded to rank {}", offer.rank))
                            .or_else(|error| {
                                let any = line.has(Property::EvictsInHeapOrder) || line.has(Property::EvictsAnyRank);
                                if any { Ok(()) } else { Err(error) }
                            })?;
                    }
                    admit(line, scheduler, op, (queue, rank), held)?;
                }
                Enqueued::Dropped { packet, reason } => {
                    ensure(packet == offer.packet(now), || format!("{packet:?} came back for {offer:?}"))?;
                    ensure(reason != DropReason::PushedOut, || "an arrival cannot be pushed out".to_owned())?;
                    if let Some(queue) = scheduler.refused_at(packet.flow, packet.size, packet.rank) {
                        let queue = queue as usize;
                        ensure(queue < scheduler.queues(), || format!("queue {queue} refused it, and does not exist"))?;
                        let full =
                            scheduler.queue_len(queue) > 0 || !matches!(scheduler.capacity(), Capacity::Packets(_));
                        ensure(full, || format!("queue {queue} refused it, and is empty"))?;
                    }
                }
            }
            Ok(answer)
        }
        Op::Dequeue(now_ns) => {
            let outcome = scheduler.dequeue(now);
            let marked = scheduler.take_mark();
            let answer = Answer::of_dequeue(&outcome, marked);
            match outcome {
                Dequeued::Packet { packet, queue } => {
                    let known = held.remove(&packet.id).ok_or_else(|| format!("{packet:?} was not held"))?;
                    ensure(!marked || known.capable, || format!("{packet:?} was marked, which it cannot carry"))?;
                    ensure(known.packet == packet, || format!("{:?} left as {packet:?}", known.packet))?;
                    ensure(known.queue == queue, || format!("{packet:?} entered queue {}, left {queue}", known.queue))?;
                    leaves_in_order(line, &packet, &known, *now_ns, held)?;
                }
                Dequeued::NotBefore(time) => {
                    ensure(line.has(Property::MayWait) && time > now, || format!("nothing until {time:?} at {now:?}"))?;
                    let first = held.values().map(|held| held.eligible_ns).min();
                    ensure(first == Some(time.as_ns()), || format!("{time:?} announced, {first:?} is the first"))?;
                }
                Dequeued::Empty => ensure(held.is_empty(), || format!("{} packets wait, none was sent", held.len()))?,
                Dequeued::Dropped { packet, .. } => {
                    ensure(line.has(Property::GivesUp), || {
                        "it gave a packet up, which it does not declare".to_owned()
                    })?;
                    let known = held.remove(&packet.id);
                    ensure(known.is_some_and(|known| known.packet == packet), || {
                        format!("{packet:?} was given up, but not held like that")
                    })?;
                }
            }
            Ok(answer)
        }
    }
}

fn admit(
    line: &Promised<'_>,
    scheduler: &dyn Scheduler,
    op: &Op,
    (queue, rank): (u32, pifolab_units::Rank),
    held: &mut BTreeMap<u64, Held>,
) -> Result<(), String> {
    let Op::Enqueue(offer, _) = op else { unreachable!("only packets are admitted") };
    ensure(rank.get() == offer.rank, || format!("stored with rank {rank}"))?;
    ensure((queue as usize) < scheduler.queues(), || format!("queue {queue} of {}", scheduler.queues()))?;
    let eligible_ns = if line.has(Property::MayWait) { offer.eligible_ns } else { 0 };
    held.insert(offer.id, Held { packet: offer.packet(op.now()), queue, eligible_ns, capable: offer.ecn != 0 });
    Ok(())
}

/// Checks the declared orders against the remaining packets. Ids ascend with arrival.
fn leaves_in_order(
    line: &Promised<'_>,
    packet: &Packet,
    known: &Held,
    now_ns: u64,
    held: &BTreeMap<u64, Held>,
) -> Result<(), String> {
    ensure(known.eligible_ns <= now_ns, || format!("{packet:?} left before {} ns", known.eligible_ns))?;
    let before = |property: Property, first: &dyn Fn(&Held) -> bool| match held.values().find(|other| first(other)) {
        Some(other) if line.has(property) => {
            Err(format!("{packet:?} left before {:?}: not {property:?}", other.packet))
        }
        _ => Ok(()),
    };
    before(Property::LowestRankFirst, &|other| other.eligible_ns <= now_ns && other.packet.rank < packet.rank)?;
    before(Property::TiesInArrivalOrder, &|other| {
        other.eligible_ns <= now_ns && other.packet.rank == packet.rank && other.packet.id < packet.id
    })?;
    before(Property::QueuesInArrivalOrder, &|other| other.queue == known.queue && other.packet.id < packet.id)?;
    before(Property::HighestPriorityFirst, &|other| other.queue < known.queue)
}

/// Checks that packets and bytes are conserved, and that the capacity is not exceeded.
fn account(scheduler: &dyn Scheduler, held: &BTreeMap<u64, Held>) -> Result<(), String> {
    let bytes: u64 = held.values().map(|held| u64::from(held.packet.size)).sum();
    ensure(scheduler.len() == held.len(), || format!("len is {}, not {}", scheduler.len(), held.len()))?;
    ensure(scheduler.is_empty() == held.is_empty(), || "is_empty contradicts len".to_owned())?;
    ensure(scheduler.backlog().0 == bytes, || format!("the backlog is {}, not {bytes} B", scheduler.backlog()))?;
    let used: u64 = held.values().map(|held| cost(scheduler.capacity(), held.packet.size)).sum();
    let total = match scheduler.capacity() {
        Capacity::Packets(packets) => packets.into(),
        Capacity::Bytes(bytes) => bytes,
        Capacity::Unlimited => u64::MAX,
    };
    ensure(used <= total, || format!("{used} used of {}", scheduler.capacity()))?;
    for queue in 0..scheduler.queues() {
        let here = held.values().filter(|held| held.queue as usize == queue).count();
        let said = scheduler.queue_len(queue);
        ensure(said == here, || format!("queue {queue} holds {here} packets, and says {said}"))?;
    }
    Ok(())
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

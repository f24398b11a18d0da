//! Calls every public method that changes state, in any order: no call may read uninitialised memory, and none may
//! panic unless its documentation says so. This file is safe code, so every fault here is the library's. `make
//! sanitize` runs it under the address sanitizer, and Miri interprets the library's own tests.
#![forbid(unsafe_code)]

use pifolab_registry::Form;
use pifolab_sched::params::FromArgs;
use pifolab_sched::ranks::{Stfq, StfqParams};
use pifolab_sched::schedulers;
use pifolab_sched::store::{ArrayHeap, DoubleEnded, PriorityQueues, Queue, Queues, RankBuckets, Short, Sorted};
use pifolab_sched::{
    Arriving, Capacity, Decider, Dequeued, DropReason, Enqueued, Inspect, InspectExt, Item, Packet, Queued, Ranked,
    Room, Scheduler,
};
use pifolab_simd::{Enough, FreePlaces, RankWindow, SortedSlots, Window};
use pifolab_testkit::{Settings, Source, suite};
use pifolab_units::{Rank, Time};
use proptest::prelude::*;

/// Fewer calls under Miri, which interprets slowly.
const CALLS: usize = if cfg!(miri) { 60 } else { 400 };

/// An item with a rank and a number that is never 0, so that the default value of an empty place is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    rank: u32,
    number: u32,
}

impl Item for Mark {
    fn size(&self) -> u32 {
        1 + self.rank % 7
    }
    fn rank(&self) -> Rank {
        Rank::from(self.rank)
    }
    fn set_rank(&mut self, rank: Rank) {
        self.rank = rank.get() as u32;
    }
    fn flow(&self) -> u32 {
        self.number % 5
    }
    fn id(&self) -> u64 {
        self.number.into()
    }
}

/// The marks that are inside.
#[derive(Clone, Default)]
struct Inside(Vec<u32>);

impl Inside {
    fn leaves(&mut self, mark: Mark) {
        let place = self.0.iter().position(|number| *number == mark.number);
        self.0.swap_remove(place.unwrap_or_else(|| panic!("{mark:?} came out, which is not inside")));
    }
}

type Call = (u8, u32);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec((any::<u8>(), any::<u32>()), 0..CALLS)
}

fn capacity(draw: u32) -> Capacity {
    match draw % 4 {
        0 => Capacity::Bytes(1 + u64::from(draw / 4 % 60)),
        1 => Capacity::Unlimited,
        _ => Capacity::Packets(1 + draw / 4 % 9),
    }
}

fn a_rank(draw: u32) -> Rank {
    match draw % 8 {
        0 => Rank::saturating(u64::MAX >> (1 + draw / 8 % 60)),
        1 => Rank::MAX,
        _ => Rank::from(draw / 8 % 100),
    }
}

/// Schedulers of packets, of any settings, joined to a rank function or not, as `Box<dyn Scheduler>`.
fn any_order_of_a_scheduler(
    line: &suite::Line,
    bytes: &[u8],
    form: Form,
    ranked: bool,
    calls: &[Call],
) -> Result<(), String> {
    let settings: Settings = (line.settings)(&mut Source::new(bytes));
    let mut scheduler = line.build(&settings, form)?;
    if ranked {
        scheduler = Box::new(Ranked::new(Stfq::new(StfqParams::default()).unwrap(), scheduler));
    }
    let (mut inside, mut now) = (std::collections::BTreeSet::new(), Time::ZERO);
    for (id, (call, draw)) in calls.iter().enumerate() {
        now = Time::from_ns(now.as_ns() + u64::from(draw % 5));
        let size = 1 + draw % 9000;
        let packet = Packet { id: id as u64, flow: draw % 70, size, rank: a_rank(*draw), arrival: now };
        let outcome = match call % 8 {
            0..=2 => scheduler.enqueue(packet, now),
            3 => scheduler.enqueue_eligible(packet, Time::from_ns(now.as_ns() + u64::from(draw % 11)), now),
            4 => {
                scheduler.hint(packet.id, &pifolab_sched::Hints::default());
                scheduler.enqueue(packet, now)
            }
            5 => {
                look_at(&*scheduler, *draw);
                continue;
            }
            _ => {
                match scheduler.dequeue(now) {
                    Dequeued::Packet { packet, .. } | Dequeued::Dropped { packet, .. } => {
                        assert!(inside.remove(&packet.id), "{packet:?} came out, which is not inside");
                    }
                    Dequeued::NotBefore(_) | Dequeued::Empty => {}
                }
                continue;
            }
        };
        match outcome {
            Enqueued::Admitted { .. } => assert!(inside.insert(id as u64)),
            Enqueued::Evicted { victims, .. } => {
                assert!(inside.insert(id as u64));
                for victim in victims {
                    assert!(inside.remove(&victim.id), "{victim:?} was pushed out, which is not inside");
                }
            }
            Enqueued::Dropped { packet, .. } => assert_eq!(packet.id, id as u64),
        }
        assert_eq!(scheduler.len(), inside.len());
    }
    Ok(())
}

/// Calls every method that only reads, for queues that exist and for others.
fn look_at(scheduler: &dyn Inspect, draw: u32) {
    let queue = draw as usize % 1100;
    let _ = (scheduler.len(), scheduler.backlog(), scheduler.capacity(), scheduler.is_empty(), scheduler.queues());
    let _ = (scheduler.queue_len(queue), scheduler.queue_ranks(queue), scheduler.queue_bound(queue));
    let _ = scheduler.refused_at(draw % 70, draw % 9000, a_rank(draw));
    scheduler.visit_window(&mut |_| {});
}

/// A decider joined to queues: enqueue, dequeue, offer, pass and pop in any order (pass only where its contract allows it).
fn any_order_of_queued<D, Q>(mut queued: Queued<D, Mark, Q>, calls: &[Call])
where
    D: Decider + Clone,
    Q: Queues<Mark> + Clone,
{
    let mut inside = Inside::default();
    for (number, (call, draw)) in (1u32..).zip(calls) {
        let mark = Mark { rank: draw % 100, number };
        let arriving = Arriving { size: mark.size(), rank: a_rank(*draw), flow: draw % 90 };
        match call % 8 {
            0 | 1 => match queued.enqueue(mark, Time::ZERO) {
                Enqueued::Admitted { .. } => inside.0.push(number),
                Enqueued::Evicted { .. } => panic!("queues push nothing out"),
                Enqueued::Dropped { packet, .. } => assert_eq!(packet, mark),
            },
            2 | 3 => {
                if queued.offer(arriving, mark).is_ok() {
                    inside.0.push(number);
                }
            }
            4 if queued.is_empty() => {
                let _ = queued.pass(arriving);
            }
            4 | 5 => match queued.dequeue(Time::ZERO) {
                Dequeued::Packet { packet, .. } => inside.leaves(packet),
                other => assert!(matches!(other, Dequeued::Empty) && inside.0.is_empty()),
            },
            6 => match queued.pop() {
                Some((mark, _)) => inside.leaves(mark),
                None => assert!(inside.0.is_empty()),
            },
            _ => {
                look_at(&queued, *draw);
                // A copy continues independently.
                let (mut copy, mut inside) = (queued.clone(), inside.clone());
                let mut state = [Vec::new(), Vec::new()];
                queued.visit_state(&mut |number| state[0].push(number));
                copy.visit_state(&mut |number| state[1].push(number));
                assert_eq!(state[0], state[1]);
                let held: usize = (0..copy.queues()).map(|queue| copy.stored().iter(queue).count()).sum();
                assert_eq!(held, inside.0.len());
                while let Some((mark, _)) = copy.pop() {
                    inside.leaves(mark);
                }
                assert!(inside.0.is_empty());
            }
        }
        assert_eq!(queued.len(), inside.0.len());
    }
}

/// Calls the methods of a decider in any order, with accounts of queues that do not match it.
fn any_order_of_a_decider(mut decider: impl Decider, capacities: &[Capacity], calls: &[Call]) {
    let mut rooms: Vec<Room> = capacities.iter().map(|capacity| Room::new(*capacity)).collect();
    for (call, draw) in calls {
        let arriving = Arriving { size: 1 + draw % 1500, rank: a_rank(*draw), flow: draw % 300 };
        match call % 4 {
            0 | 1 => {
                if let Ok(queue) = decider.decide(arriving, &rooms)
                    && let Some(room) = rooms.get_mut(queue)
                    && room.fits(arriving.size)
                {
                    room.take(arriving.size);
                }
            }
            2 => {
                let first = rooms.iter().position(|room| room.packets() > 0).unwrap_or(0);
                let _ = decider.serve(first, &rooms);
            }
            _ => {
                let _ = (decider.refused_at(arriving, &rooms), decider.ranks_of(*draw as usize % 12, &rooms));
                decider.registers(&mut |register| {
                    register.visit_state(&mut |_| {});
                    register.visit_window(&mut |_| {});
                });
            }
        }
    }
}

macro_rules! deciders_of_many_queues {
    ($calls:expr, $queues:expr; $($name:ident: $params:expr,)*) => {$(
        let (decider, capacities) = <deciders::$name as pifolab_sched::FromParams>::from_params($params).unwrap();
        any_order_of_queued(Queued::<_, Mark, PriorityQueues<Mark>>::with_decider(decider.clone(), &capacities), $calls);
        // Fewer or more queues than the decider was made for.
        any_order_of_a_decider(decider, &capacities, $calls);
    )*};
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(64))]

    #[test]
    fn schedulers_keep_their_packets_in_any_order_of_calls(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        ranked in any::<bool>(),
        calls in calls(),
    ) {
        for line in suite::lines() {
            for form in [Form::Plain, Form::Twins] {
                any_order_of_a_scheduler(line, &bytes, form, ranked, &calls).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn deciders_and_their_queues_take_any_order_of_calls(queues in 1usize..9, packets in 1u32..5, calls in calls()) {
        use schedulers::*;
        deciders_of_many_queues! { &calls, queues;
            StrictPriority: StrictPriorityParams::uniform(queues, packets, 100),
            SpPifo: SpPifoParams::uniform(queues, packets),
            SpPifo: SpPifoParams { order: Order::PushDownFirst, ..SpPifoParams::uniform(queues, packets) },
            SpPifoGreedy: SpPifoGreedyParams {
                capacities: vec![Capacity::Packets(packets); queues],
                window: 3,
                initial_bounds: vec![Rank::ZERO; queues],
                ranks: None,
                steps: Steps::NextSeen,
                cost: PairCost::Difference,
            },
            SpPifoGreedy: SpPifoGreedyParams {
                capacities: vec![Capacity::Packets(packets); queues],
                window: 3,
                initial_bounds: vec![Rank::ZERO; queues],
                ranks: None,
                steps: Steps::Counters,
                cost: PairCost::One,
            },
            Packs: PacksParams::uniform(queues, packets, 20),
            Packs: PacksParams { fall_through: false, ..PacksParams::uniform(queues, packets, 300) },
            ExpPifo: ExpPifoParams::uniform(queues, packets),
            ExpPifo: ExpPifoParams { mapping: Mapping::Bounds, ..ExpPifoParams::uniform(queues, packets) },
            Afq: AfqParams {
                capacities: vec![Capacity::Packets(packets); queues],
                bytes_per_round: 3,
                horizon: Horizon::Gt,
                counters: AfqCounters::Exact,
            },
        }
        any_order_of_queued(<schedulers::Fifo<Mark>>::new(FifoParams { capacity: Capacity::Packets(packets) }).unwrap(), &calls);
        any_order_of_queued(<schedulers::Aifo<Mark>>::new(AifoParams::packets(packets)).unwrap(), &calls);
        any_order_of_queued(<schedulers::Rifo<Mark>>::new(RifoParams::packets(packets)).unwrap(), &calls);
    }

    #[test]
    fn pifos_take_any_order_of_calls(draw in any::<u32>(), calls in calls()) {
        use schedulers::{Pifo, PifoParams, Ties};
        let in_packets = Capacity::Packets(1 + draw % 9);
        for params in [
            PifoParams { capacity: capacity(draw), ..PifoParams::packets(1) },
            PifoParams { capacity: capacity(draw), ranks: Some(80), ..PifoParams::packets(1) },
            PifoParams { capacity: in_packets, ties: Ties::Heap, ..PifoParams::packets(1) },
            PifoParams { capacity: capacity(draw), starvation_prevention: true, ..PifoParams::packets(1) },
        ] {
            let mut pifo: Pifo<Mark> = Pifo::new(params).unwrap();
            prop_assert_eq!(pifo.params(), params);
            let mut inside = Inside::default();
            for (number, (call, draw)) in (1u32..).zip(&calls) {
                let mark = Mark { rank: draw % 100, number };
                match call % 8 {
                    0..=3 => match pifo.offer(mark.rank(), mark) {
                        Enqueued::Admitted { .. } => inside.0.push(number),
                        Enqueued::Evicted { victims, .. } => {
                            inside.0.push(number);
                            victims.into_iter().for_each(|victim| inside.leaves(victim));
                        }
                        Enqueued::Dropped { packet, reason } => {
                            prop_assert_eq!(packet, mark);
                            prop_assert!(reason != DropReason::RankOutOfRange || mark.rank >= 80);
                        }
                    },
                    4 | 5 => match pifo.pop() {
                        Some(mark) => inside.leaves(mark),
                        None => prop_assert!(inside.0.is_empty()),
                    },
                    6 if pifo.is_empty() && u64::from(mark.size()) < pifo.passes_below() => {
                        prop_assert!(pifo.clone().offer(mark.rank(), mark).is_admitted());
                    }
                    _ => {
                        let (mut copy, mut inside) = (pifo.clone(), inside.clone());
                        while let Some(mark) = copy.pop() {
                            inside.leaves(mark);
                        }
                        prop_assert!(inside.0.is_empty());
                    }
                }
                prop_assert_eq!(pifo.len(), inside.0.len());
            }
        }
    }

    #[test]
    fn containers_take_any_order_of_calls(draw in any::<u32>(), calls in calls()) {
        let mut queue: Queue<Mark> = Queue::new(capacity(draw));
        let mut queues: PriorityQueues<Mark> = PriorityQueues::new(&[capacity(draw), capacity(draw / 3), Capacity::Packets(2)]);
        let mut sorted: Sorted<Mark> = Sorted::with_capacity(draw as usize % 3);
        let mut buckets: RankBuckets<Mark> = RankBuckets::new(100, draw as usize % 3);
        let mut heap: ArrayHeap<Mark> = ArrayHeap::with_capacity(draw as usize % 3);
        let (mut short, mut slots): (Short<Mark>, SortedSlots) = Default::default();
        let mut inside: [Inside; 7] = Default::default();
        for (number, (call, draw)) in (1u32..).zip(&calls) {
            let mark = Mark { rank: draw % 100, number };
            let at = *draw as usize % 3;
            match call % 4 {
                0 | 1 => {
                    if queue.push(mark).is_ok() {
                        inside[0].0.push(number);
                    }
                    if queues.push_if(call % 3 != 0, at, mark).is_ok() {
                        inside[1].0.push(number);
                    }
                    sorted.insert(mark.rank(), mark);
                    buckets.insert(mark.rank(), mark);
                    heap.push(mark.rank(), mark);
                    short.insert(mark.rank(), mark);
                    slots.insert(mark.rank(), number);
                    inside[2..].iter_mut().for_each(|inside| inside.0.push(number));
                }
                2 => {
                    prop_assert_eq!(queue.front().copied(), queue.iter().next().copied());
                    queue.pop().into_iter().for_each(|mark| inside[0].leaves(mark));
                    queues.pop_from(at).into_iter().for_each(|mark| inside[1].leaves(mark));
                    sorted.pop_first().into_iter().for_each(|mark| inside[2].leaves(mark));
                    buckets.pop_first().into_iter().for_each(|mark| inside[3].leaves(mark));
                    heap.pop_first().into_iter().for_each(|mark| inside[4].leaves(mark));
                    short.pop_first().into_iter().for_each(|mark| inside[5].leaves(mark));
                    slots.pop_first().into_iter().for_each(|number| inside[6].leaves(Mark { rank: 0, number }));
                }
                _ => {
                    let first = queues.first();
                    first.and_then(|first| queues.pop_from(first)).into_iter().for_each(|mark| inside[1].leaves(mark));
                    sorted.pop_last().into_iter().for_each(|mark| inside[2].leaves(mark));
                    buckets.pop_last().into_iter().for_each(|mark| inside[3].leaves(mark));
                    heap.pop_last().into_iter().for_each(|(_, mark)| inside[4].leaves(mark));
                    match short.last_rank() {
                        // A lower one takes its place.
                        Some(rank) if draw % 2 == 0 && rank > Rank::ZERO => {
                            let mark = Mark { rank: 0, number };
                            short.replace_last(mark.rank(), mark).into_iter().for_each(|mark| inside[5].leaves(mark));
                            inside[5].0.push(number);
                        }
                        _ => short.pop_last().into_iter().for_each(|mark| inside[5].leaves(mark)),
                    }
                    slots.pop_last().into_iter().for_each(|number| inside[6].leaves(Mark { rank: 0, number }));
                    let _ = (slots.first(), slots.last(), sorted.last_rank(), buckets.last_rank());
                }
            }
            let held = queues.rooms().iter().map(|room| room.packets()).sum();
            let in_slots = slots.iter_from_last().count();
            let lengths = [queue.len(), held, sorted.len(), buckets.len(), heap.len(), short.len(), in_slots];
            prop_assert_eq!(lengths, [0, 1, 2, 3, 4, 5, 6].map(|container: usize| inside[container].0.len()));
        }
    }

    #[test]
    fn windows_and_free_places_take_any_order_of_calls(
        size in prop_oneof![1usize..40, 250usize..300, Just(700)],
        shift in any::<i64>(),
        calls in calls(),
    ) {
        let shift = shift.max(-i64::MAX);
        let mut window = RankWindow::new(size).shifted_by(shift);
        let mut places = FreePlaces::new([3, 1, 4, 2].into_iter()).unwrap();
        for (call, draw) in &calls {
            let rank = a_rank(*draw);
            match call % 8 {
                0 => window.push(rank),
                1 => {
                    let _ = (window.push_and_count_below(rank, rank.get()), window.count_below(rank.get()));
                }
                2 => {
                    let _ = (window.push_and_count_below(rank, rank.get() + 1), window.count_below(u64::from(*draw) << 32));
                }
                3 => {
                    let _ = (window.at_place(*draw as usize % 800), window.iter().count());
                }
                4 => prop_assert!(window.clone().iter().eq(window.iter())),
                5 | 6 => prop_assert!(places.take(Enough::new(u64::from(draw % 14))).is_none_or(|buffer| buffer < 8)),
                _ => prop_assert!(places.give_back_first() <= 8),
            }
            prop_assert!(window.len() <= size);
        }
    }
}

/// An item that cannot be cloned.
#[derive(Debug, Default)]
struct Fragile(Mark);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        panic!("this item breaks")
    }
}

impl Item for Fragile {
    fn size(&self) -> u32 {
        self.0.size()
    }
    fn rank(&self) -> Rank {
        self.0.rank()
    }
    fn set_rank(&mut self, rank: Rank) {
        self.0.set_rank(rank);
    }
    fn id(&self) -> u64 {
        self.0.id()
    }
}

/// The rest counts wrongly and may panic, but stays within its own memory.
#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "a panic ends the program here")]
fn queues_stay_within_their_memory_after_a_clone_that_panicked() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let unlimited = |queues| PriorityQueues::<Fragile>::new(&vec![Capacity::Unlimited; queues]);
    let item = |number| Fragile(Mark { rank: 1, number });
    for (to, from) in [(1, 3), (3, 1), (2, 2)] {
        let (mut queues, mut source) = (unlimited(to), unlimited(from));
        assert!(source.push_if(true, 0, item(1)).is_ok());
        assert!(catch_unwind(AssertUnwindSafe(|| queues.clone_from(&source))).is_err());
        for queue in 0..4 {
            for number in 2..20 {
                let _ = catch_unwind(AssertUnwindSafe(|| queues.push_if(true, queue, item(number))));
                let _ = catch_unwind(AssertUnwindSafe(|| queues.iter(queue).count()));
            }
            while let Ok(Some(_)) = catch_unwind(AssertUnwindSafe(|| queues.pop_from(queue))) {}
        }
    }
}

#[test]
fn what_needs_a_test_of_its_own_name_is_built_from_text_as_well() {
    // The blanket of `FromArgs` over schedulers and that of their parameters name the same algorithm.
    assert_eq!(<schedulers::SpPifo>::INFO.name, schedulers::SpPifoParams::INFO.name);
}

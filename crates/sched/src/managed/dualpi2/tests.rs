use super::*;
use crate::schedulers::{Fifo, FifoParams, Pieo, PieoParams};

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

fn fifo() -> Fifo {
    Fifo::new(FifoParams { capacity: Capacity::Packets(1 << 20) }).unwrap()
}

fn offer(dual: &mut impl Scheduler, id: u64, size: u32, ecn: u8, now: Time) -> Enqueued {
    let labels = crate::Labels { ecn, ..crate::Labels::default() };
    dual.hint(id, &Hints { labels, ..Hints::default() });
    dual.enqueue(Packet { id, flow: 0, size, rank: Rank::ZERO, arrival: now }, now)
}

/// A second form of the rules that the module states, written from them and not from the text of the RFC: real numbers, one list of
/// packets, every update by itself.
struct Oracle {
    set: DualPi2Params,
    held: Vec<(u64, u32, f64, u8)>,
    base: f64,
    old: f64,
    updated: u64,
    /// Low latency and Classic: what is due of a signal, and the delay of the last packet that left.
    count: [f64; 2],
    delay: [f64; 2],
    credit: f64,
}

impl Oracle {
    fn new(set: DualPi2Params) -> Self {
        let mut oracle = Self {
            set,
            held: Vec::new(),
            base: 0.0,
            old: 0.0,
            updated: 0,
            count: [0.0; 2],
            delay: [0.0; 2],
            credit: 0.0,
        };
        oracle.reset();
        oracle
    }

    fn reset(&mut self) {
        let share = self.set.classic_share.as_f64();
        self.credit = 1514.0 * (share - (1.0 - share));
    }

    fn is_low(&self, ecn: u8) -> bool {
        if self.set.low_latency == LowLatency::Ect1 { ecn == ECT_1 || ecn == CE } else { ecn != NOT_ECT }
    }

    fn update(&mut self, now_ns: u64) {
        while (self.updated + 1) * self.set.update.as_ns() <= now_ns {
            self.updated += 1;
            let current = self.delay[0].max(self.delay[1]);
            let target = self.set.target.as_ns() as f64 / 1e9;
            let (alpha, beta) = (f64::from(self.set.alpha) / 256.0, f64::from(self.set.beta) / 256.0);
            self.base += alpha * (current - target) + beta * (current - self.old);
            self.base = self.base.clamp(0.0, 1.0);
            self.old = current;
        }
    }

    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.count[queue] += likelihood;
        let due = self.count[queue] >= 1.0;
        if due {
            self.count[queue] -= 1.0;
        }
        due
    }

    fn bytes(&self) -> u64 {
        self.held.iter().map(|packet| u64::from(packet.1)).sum()
    }

    fn offer(&mut self, id: u64, size: u32, ecn: u8, now_ns: u64) -> bool {
        self.update(now_ns);
        let fits = self.held.len() < self.set.limit_packets as usize;
        if fits {
            self.held.push((id, size, now_ns as f64 / 1e9, ecn));
        }
        fits
    }

    /// The packet, whether it is dropped, and whether it is marked.
    fn ask(&mut self, now_ns: u64) -> Option<(u64, bool, bool)> {
        self.update(now_ns);
        let low = self.held.iter().position(|packet| self.is_low(packet.3));
        let classic = self.held.iter().position(|packet| !self.is_low(packet.3));
        let (at, queue) = match (low, classic) {
            (None, None) => return None,
            (Some(at), None) => (at, 0),
            (None, Some(at)) => (at, 1),
            (Some(at), Some(_)) if self.credit <= 0.0 => (at, 0),
            (Some(_), Some(at)) => (at, 1),
        };
        let (id, size, arrival, ecn) = self.held.remove(at);
        let sojourn = now_ns as f64 / 1e9 - arrival;
        let k = f64::from(self.set.coupling);
        let overload = k * self.base > 1.0;
        let (mut dropped, mut marked) = (false, false);
        if self.bytes() > 2 * 1514 {
            if queue == 1 {
                if self.recur(1, self.base * self.base) {
                    (dropped, marked) = (ecn == NOT_ECT || overload, ecn != NOT_ECT && !overload);
                }
            } else if overload {
                dropped = self.recur(0, self.base * self.base);
                marked = !dropped;
            } else {
                marked = self.recur(0, k * self.base);
            }
        }
        marked |= queue == 0 && !dropped && sojourn > self.set.step.as_ns() as f64 / 1e9;
        self.delay[queue] = sojourn;
        for queue in 0..2 {
            if !self.held.iter().any(|packet| self.is_low(packet.3) == (queue == 0)) {
                self.delay[queue] = 0.0;
            }
        }
        if !dropped && low.is_some() && classic.is_some() {
            let share = self.set.classic_share.as_f64();
            self.credit += f64::from(size) * if queue == 0 { share } else { share - 1.0 };
        }
        if self.held.is_empty() {
            self.reset();
        }
        Some((id, dropped, marked))
    }
}

/// A few numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn it_decides_as_its_rules_in_real_numbers_with_one_list_of_packets() {
    let share = |numerator, denominator| Ratio::new(numerator, denominator).unwrap();
    // Powers of two, so that the credit of the oracle, a double, is exact.
    let usual = DualPi2Params { classic_share: share(1, 8), ..DualPi2Params::default() };
    let quick = DualPi2Params {
        target: Span::from_us(700),
        update: Span::from_us(300),
        alpha: 3_001,
        beta: 40_009,
        step: Span::from_us(130),
        ..usual
    };
    let settings = [
        usual,
        DualPi2Params { limit_packets: 40, ..quick },
        DualPi2Params { coupling: 5, classic_share: share(1, 2), ..quick },
        DualPi2Params { low_latency: LowLatency::AnyEct, classic_share: Ratio::ZERO, ..quick },
        DualPi2Params { classic_share: Ratio::ONE, coupling: 1, ..quick },
    ];
    for (case, set) in settings.into_iter().enumerate() {
        let (mut dual, mut oracle) = (DualPi2::new(set, fifo()), Oracle::new(set));
        let mut numbers = Numbers(case as u64 + 1);
        let (mut now, mut seen) = (0, [0; 4]);
        for id in 0..pifolab_testkit::steps(8_000, 300) {
            // Load and rest in turn, and now and then a long silence.
            now += numbers.below(if id / 3_000 % 2 == 0 { 100_000 } else { 180_000 });
            now += if numbers.below(4_000) == 0 { 50_000_000 } else { 0 };
            let at = Time::from_ns(now);
            if numbers.below(100) < 55 {
                let ecn = [NOT_ECT, NOT_ECT, ECT_0, ECT_1, ECT_1, CE][numbers.below(6) as usize];
                let size = 64 + numbers.below(1_451) as u32;
                let admitted = offer(&mut dual, id, size, ecn, at).is_admitted();
                assert_eq!(admitted, oracle.offer(id, size, ecn, now), "case {case}, packet {id}");
                seen[3] += u64::from(!admitted);
            } else {
                let told = match dual.dequeue(at) {
                    Dequeued::Packet { packet, .. } => Some((packet.id, false, dual.take_mark())),
                    Dequeued::Dropped { packet, reason } => {
                        assert_eq!(reason, DropReason::Admission);
                        Some((packet.id, true, dual.take_mark()))
                    }
                    Dequeued::Empty => None,
                    other => panic!("{other:?}"),
                };
                assert_eq!(told, oracle.ask(now), "case {case}, operation {id}");
                if let Some((_, dropped, marked)) = told {
                    seen[if dropped { 0 } else { 1 + usize::from(marked) }] += 1;
                }
            }
            assert_eq!((dual.len(), dual.backlog().0), (oracle.held.len(), oracle.bytes()));
        }
        if cfg!(miri) {
            continue;
        }
        assert!(seen[..3].iter().all(|count| *count > 20), "case {case}: {seen:?}");
        assert_eq!(seen[3] > 0, set.limit_packets == 40, "case {case}: {seen:?}");
    }
}

#[test]
fn codepoints_choose_the_queue() {
    for (low_latency, low) in [(LowLatency::Ect1, [ECT_1, CE].as_slice()), (LowLatency::AnyEct, &[ECT_1, ECT_0, CE])] {
        let mut dual = DualPi2::new(DualPi2Params { low_latency, ..DualPi2Params::default() }, fifo());
        for ecn in [NOT_ECT, ECT_1, ECT_0, CE] {
            let Enqueued::Admitted { queue, .. } = offer(&mut dual, ecn.into(), 100, ecn, Time::ZERO) else {
                panic!("there is room")
            };
            assert_eq!(queue, u32::from(!low.contains(&ecn)), "codepoint {ecn}");
        }
        assert_eq!((dual.queues(), dual.queue_len(0), dual.queue_len(1)), (2, low.len(), 4 - low.len()));
    }
    let dual = DualPi2::new(DualPi2Params::default(), fifo());
    for queue in 0..2 {
        assert_eq!(dual.queue_at(&dual.path(queue)), Some(queue));
    }
    assert!(dual.wants().needs.contains(Fact::Ecn));
}

#[test]
fn classic_packets_get_their_share_of_a_link_that_low_latency_packets_would_fill() {
    let set = DualPi2Params { alpha: 0, beta: 0, ..DualPi2Params::default() };
    let mut dual = DualPi2::new(set, fifo());
    let sent = pifolab_testkit::steps(2_000, 100);
    for id in 0..2 * sent {
        assert!(offer(&mut dual, id, 1_000, if id % 2 == 0 { ECT_1 } else { NOT_ECT }, Time::ZERO).is_admitted());
    }
    let classic = (0..sent).filter(|_| {
        let Dequeued::Packet { packet, .. } = dual.dequeue(Time::ZERO) else { panic!("nothing is dropped") };
        packet.id % 2 == 1
    });
    assert!(classic.count().abs_diff(sent as usize / 10) <= 1, "a tenth");
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn low_latency_packets_are_marked_k_times_as_often_as_the_root_of_what_classic_ones_lose() {
    let set = DualPi2Params { step: Span::from_us(1 << 40), ..DualPi2Params::default() };
    let mut dual = DualPi2::new(set, fifo());
    dual.controller.probability = CERTAIN / 10;
    let mut count = |queue, ecn| {
        let fates: Vec<Fate> = (0..10_000).map(|_| dual.judge(queue, ecn, Span::ZERO, 1 << 20)).collect();
        let of = |fate| fates.iter().filter(|other| **other == fate).count();
        (of(Fate::Marked), of(Fate::Dropped))
    };
    // p' = 0.1: k p' = 0.2 and p'^2 = 0.01.
    assert!((1_999..=2_000).contains(&count(LOW, true).0));
    assert!((99..=100).contains(&count(CLASSIC, false).1));
    assert!((99..=101).contains(&count(CLASSIC, true).0));
    // Beyond k p' = 1 all packets are dropped with p'^2, and those of low latency that are not are marked.
    dual.controller.probability = CERTAIN * 6 / 10;
    let mut count =
        |queue| (0..10_000).filter(|_| dual.judge(queue, true, Span::ZERO, 1 << 20) == Fate::Dropped).count();
    assert!((3_599..=3_601).contains(&count(LOW)));
    assert!((3_599..=3_601).contains(&count(CLASSIC)));
    assert_ne!(dual.judge(LOW, true, Span::ZERO, 1 << 20), Fate::Sent);
    // Two frames wait: nothing is signalled.
    assert!((0..100).all(|_| dual.judge(LOW, true, Span::ZERO, 2 * FRAME_BYTES) == Fate::Sent));
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn the_controller_holds_the_delay_of_unresponsive_classic_packets_at_its_target() {
    // A packet a millisecond leaves, and one comes every 950 us.
    let mut dual = DualPi2::new(DualPi2Params::default(), fifo());
    let (mut free, mut sum, mut late, mut dropped) = (Time::ZERO, 0, 0, 0);
    for id in 0..60_000 {
        let now = Time::from_ns(id * 950_000);
        while free <= now && !dual.is_empty() {
            match dual.dequeue(free) {
                Dequeued::Packet { packet, .. } => {
                    if packet.id > 30_000 {
                        sum += free.since(packet.arrival).as_ns() / 1_000;
                        late += 1;
                    }
                    free = free.saturating_add(Span::from_us(1_000));
                }
                Dequeued::Dropped { .. } => dropped += 1,
                other => panic!("{other:?}"),
            }
        }
        free = if dual.is_empty() { free.max(now) } else { free };
        assert!(offer(&mut dual, id, 1_500, NOT_ECT, now).is_admitted());
    }
    let mean = sum / late;
    assert!((13_000..17_000).contains(&mean), "{mean} us");
    assert!((2_700..3_300).contains(&dropped), "a twentieth is too much for the link: {dropped}");
}

#[test]
fn a_classic_scheduler_that_holds_its_packets_back_leaves_the_link_to_low_latency() {
    let set = DualPi2Params { classic_share: Ratio::ONE, ..DualPi2Params::default() };
    let mut dual = DualPi2::new(set, <Pieo>::new(PieoParams { capacity: Capacity::Packets(9) }).unwrap());
    let later = Time::from_ns(500);
    let packet = Packet { id: 1, flow: 0, size: 100, rank: Rank::ZERO, arrival: Time::ZERO };
    assert!(dual.enqueue_eligible(packet, later, Time::ZERO).is_admitted());
    assert!(offer(&mut dual, 2, 100, ECT_1, Time::ZERO).is_admitted());
    assert!(matches!(dual.dequeue(Time::ZERO), Dequeued::Packet { packet, queue: 0 } if packet.id == 2));
    assert!(matches!(dual.dequeue(Time::ZERO), Dequeued::NotBefore(time) if time == later));
    assert!(matches!(dual.dequeue(later), Dequeued::Packet { packet, queue: 1 } if packet.id == 1));
    assert!(dual.is_empty());
}

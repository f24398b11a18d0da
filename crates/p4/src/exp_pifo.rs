//! Exp-PIFO: its two tables, computed by the library's scheduler rank by rank.
//!
//! The first is the logarithm, as ranges of ranks: a fresh scheduler has the exponent of a rank after its packet. The
//! second is the queue of each exponent and logarithm or, with the mapping by bounds, of each exponent and range of
//! ranks.

use crate::file::File;
use crate::setting::{Refusal, Setting};
use pifolab_sched::schedulers::{BetaRounding, BetaZero, ExpPifo, ExpPifoParams, Mapping, Reset};
use pifolab_sched::{Inspect, InspectExt, Packet, Scheduler};
use pifolab_units::{Rank, Time};

pub fn write(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let ExpPifoParams { window, r_min, beta: rounding, mapping, reset, .. } = *setting.params();
    let queues = setting.capacities.len();
    let by_bounds = mapping == Mapping::Bounds;
    file.integer("WINDOW_END", 64, window + u64::from(reset == Reset::Gt));
    let range =
        |(low, high): (u64, u64)| if low == high { format!("64w{low}") } else { format!("64w{low} .. 64w{high}") };
    let rows = |ranges: Vec<(u64, u64)>| {
        ranges.into_iter().enumerate().map(move |(x, ranks)| (range(ranks), format!("8w{x}"))).collect::<Vec<_>>()
    };
    let logarithms = exponents(r_min, BetaRounding::Floor);
    let most = logarithms.len();
    file.entries("LOGARITHM", rows(logarithms));
    let ranges = exponents(r_min, rounding);
    let highest = ranges.len().max(most) - 1;
    file.entries("EXPONENT", rows(ranges));
    file.define("BY_BOUNDS", u8::from(by_bounds));
    let mut entries = Vec::new();
    for beta in 0..=highest {
        for (low, high, queue) in queues_of(queues, r_min, mapping, beta) {
            let key = match (by_bounds, low == high) {
                (true, _) => format!("(8w{beta}, {})", range((low, high))),
                (false, true) => format!("(8w{beta}, 8w{low})"),
                (false, false) => format!("(8w{beta}, 8w{low} .. 8w{high})"),
            };
            entries.push((key, format!("8w{queue}")));
        }
    }
    file.entries("QUEUE_OF", entries);
    Ok(())
}

/// Ranges with the queue of each: of ranks if the mapping is by bounds, else of logarithms up to `beta`.
pub fn queues_of(queues: usize, r_min: u64, mapping: Mapping, beta: usize) -> Vec<(u64, u64, u64)> {
    let mut mapped = Mapped::new(queues, r_min, mapping, beta);
    if matches!(mapping, Mapping::Bounds) { mapped.ranks() } else { mapped.logarithms(beta) }
}

/// A scheduler that refuses no packet.
fn scheduler(queues: usize, r_min: u64, mapping: Mapping, beta: BetaRounding) -> ExpPifo {
    let params = ExpPifoParams { mapping, beta, reset: Reset::Gt, r_min, ..ExpPifoParams::uniform(queues, 4) };
    ExpPifo::new(params).expect("these parameters were accepted before")
}

fn packet(rank: u64) -> Packet {
    let rank = Rank::new(rank).expect("at most the largest rank");
    Packet { id: 0, flow: 0, size: 1, rank, arrival: Time::ZERO }
}

/// The exponent of a rank: a fresh scheduler's beta after it.
fn exponent(rank: u64, r_min: u64, rounding: BetaRounding) -> u32 {
    let mut scheduler = scheduler(2, r_min, Mapping::Comment { beta0: BetaZero::First }, rounding);
    let _ = scheduler.enqueue(packet(rank), Time::ZERO);
    scheduler.decider().beta()
}

/// The last member of `low..=high` for which `same` holds; it must hold for `low` and be monotone.
fn last(low: u64, high: u64, mut same: impl FnMut(u64) -> bool) -> u64 {
    let (mut low, mut beyond) = (low, high + 1);
    while beyond - low > 1 {
        let middle = low + (beyond - low) / 2;
        if same(middle) { low = middle } else { beyond = middle }
    }
    low
}

/// The ranks of each exponent, from 0.
pub fn exponents(r_min: u64, rounding: BetaRounding) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let mut low = 0;
    while low <= Rank::MAX.get() {
        let of = exponent(low, r_min, rounding);
        assert_eq!(of as usize, ranges.len(), "exponents follow one another");
        let high = last(low, Rank::MAX.get(), |rank| exponent(rank, r_min, rounding) == of);
        ranges.push((low, high));
        low = high + 1;
    }
    ranges
}

/// The library's mapping at one beta.
struct Mapped {
    scheduler: ExpPifo,
    r_min: u64,
}

impl Mapped {
    /// A scheduler whose beta is `beta`: it has seen the highest rank of that exponent. For the mapping by bounds it
    /// rounds exponents up, since no rank reaches some of them rounded down.
    fn new(queues: usize, r_min: u64, mapping: Mapping, beta: usize) -> Self {
        let rank = (u128::from(r_min) << beta).min(u128::from(Rank::MAX.get())) as u64;
        let mut scheduler = scheduler(queues, r_min, mapping, BetaRounding::Ceil);
        let _ = scheduler.enqueue(packet(rank), Time::ZERO);
        let _ = scheduler.dequeue(Time::ZERO);
        assert_eq!(scheduler.decider().beta() as usize, beta, "the highest rank of an exponent shows it");
        Self { scheduler, r_min }
    }

    /// The queue of a rank that does not change beta.
    fn queue(&mut self, rank: u64) -> u64 {
        let _ = self.scheduler.enqueue(packet(rank), Time::ZERO);
        let queue = (0..self.scheduler.queues()).find(|&queue| self.scheduler.queue_len(queue) > 0);
        let _ = self.scheduler.dequeue(Time::ZERO);
        queue.expect("an empty scheduler takes a packet") as u64
    }

    /// The queue of each logarithm up to `beta`, in ranges.
    fn logarithms(&mut self, beta: usize) -> Vec<(u64, u64, u64)> {
        let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
        for x in 0..=beta as u64 {
            // The lowest rank of that logarithm: its exponent is x, too, however it is rounded.
            let rank = if x == 0 { 0 } else { (u128::from(self.r_min) << x).min(u128::from(Rank::MAX.get())) as u64 };
            if (u128::from(self.r_min) << x) > u128::from(Rank::MAX.get()) {
                break;
            }
            let queue = self.queue(rank);
            match ranges.last_mut() {
                Some((_, high, same)) if *same == queue => *high = x,
                _ => ranges.push((x, x, queue)),
            }
        }
        ranges
    }

    /// The queue of each rank, in ranges. A rank above the highest of this beta would change beta, but goes to the last
    /// queue anyway, as do ranks that are rounded down to it.
    fn ranks(&mut self) -> Vec<(u64, u64, u64)> {
        let mut ranges = Vec::new();
        let mut low = 0;
        for queue in 0..self.scheduler.queues() {
            let bound = self.scheduler.queue_bound(queue).filter(|_| queue + 1 < self.scheduler.queues());
            let high = bound.map_or(Rank::MAX.get(), |bound| bound.max(0) as u64);
            if low <= high {
                ranges.push((low, high, queue as u64));
                low = high + 1;
            }
        }
        ranges
    }
}

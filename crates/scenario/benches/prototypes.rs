//! What the library's contract costs: each of five schedulers beside the least code that makes the same decisions.
//!
//! A prototype stores the library's packets and is sent through the same loop, but counts packets only (no bytes), has all
//! its places from the beginning, takes ranks below 2^31 alone, has no options, and gives no reason for a loss. Both are measured
//! in turn; that both sum up the same outcomes is checked.
//!
//! ```text
//! cargo bench -p pifolab-scenario --bench prototypes
//! ```

use pifolab_scenario::bench::{self, Load, Run, cases};
use pifolab_sched::Packet;
use pifolab_units::{Rank, Time};
use std::hint::black_box;
use std::time::Instant;

/// The papers' buffer.
const OCCUPANCY: u32 = 80;
const QUEUES: usize = 8;
/// Ranks in the window.
const WINDOW: usize = 20;

/// A scheduler, and no more.
trait Prototype {
    /// The queue that stores a packet, if it is stored.
    fn enqueue(&mut self, packet: Packet) -> Option<usize>;

    /// The number of the packet that leaves.
    fn dequeue(&mut self) -> Option<u64>;
}

/// First-in first-out queues side by side, served by priority.
struct Rings<const N: usize> {
    places: Vec<Packet>,
    /// As many for each queue, a power of two.
    each: usize,
    capacity: u32,
    came: [u32; N],
    went: [u32; N],
    occupied: u32,
}

impl<const N: usize> Rings<N> {
    fn new(capacity: u32) -> Self {
        let each = capacity.next_power_of_two() as usize;
        let places = (0..N * each).map(|_| Packet::default()).collect();
        Self { places, each, capacity, came: [0; N], went: [0; N], occupied: 0 }
    }

    fn held(&self, queue: usize) -> u32 {
        self.came[queue].wrapping_sub(self.went[queue])
    }

    #[inline(always)]
    fn push(&mut self, queue: usize, packet: Packet) -> Option<usize> {
        if self.held(queue) >= self.capacity {
            return None;
        }
        let at = queue * self.each + (self.came[queue] as usize & (self.each - 1));
        self.places[at] = packet;
        self.came[queue] = self.came[queue].wrapping_add(1);
        self.occupied |= 1 << queue;
        Some(queue)
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(usize, u64)> {
        if self.occupied == 0 {
            return None;
        }
        let queue = self.occupied.trailing_zeros() as usize;
        let at = queue * self.each + (self.went[queue] as usize & (self.each - 1));
        self.went[queue] = self.went[queue].wrapping_add(1);
        self.occupied &= !(u32::from(self.held(queue) == 0) << queue);
        Some((queue, self.places[at].id))
    }
}

struct Fifo(Rings<1>);

impl Prototype for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet) -> Option<usize> {
        self.0.push(0, packet)
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<u64> {
        self.0.pop().map(|(_, id)| id)
    }
}

struct StrictPriority(Rings<QUEUES>, [i32; QUEUES]);

impl Prototype for StrictPriority {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet) -> Option<usize> {
        let rank = packet.rank.get() as i32;
        self.0.push(self.1[1..].iter().map(|bound| usize::from(*bound <= rank)).sum(), packet)
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<u64> {
        self.0.pop().map(|(_, id)| id)
    }
}

struct SpPifo(Rings<QUEUES>, [i32; QUEUES]);

impl Prototype for SpPifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet) -> Option<usize> {
        let rank = packet.rank.get() as i32;
        let queue = self.1[1..].iter().map(|bound| usize::from(*bound <= rank)).sum();
        let stored = self.0.push(queue, packet);
        if stored.is_some() {
            let cost = (self.1[0] - rank).max(0);
            self.1.iter_mut().for_each(|bound| *bound -= cost);
            self.1[queue] = rank;
        }
        stored
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<u64> {
        self.0.pop().map(|(_, id)| id)
    }
}

/// The last ranks.
struct Window {
    ranks: [i32; WINDOW],
    next: usize,
    held: u64,
}

impl Window {
    const EMPTY: Self = Self { ranks: [i32::MAX; WINDOW], next: 0, held: 0 };

    /// Takes in a rank; how many are lower, and how many there are.
    #[inline(always)]
    fn push_and_count(&mut self, rank: i32) -> (u64, u64) {
        self.ranks[self.next] = rank;
        self.next = if self.next + 1 == WINDOW { 0 } else { self.next + 1 };
        self.held = (self.held + 1).min(WINDOW as u64);
        (self.ranks.iter().map(|held| u32::from(*held < rank)).sum::<u32>().into(), self.held)
    }
}

/// AIFO with headroom `tenths` / 10.
struct Aifo {
    queue: Rings<1>,
    window: Window,
    tenths: u64,
}

impl Prototype for Aifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet) -> Option<usize> {
        let (count, held) = self.window.push_and_count(packet.rank.get() as i32);
        let (total, used) = (u64::from(self.queue.capacity), u64::from(self.queue.held(0)));
        let passes =
            10 * used <= self.tenths * total || count * total * (10 - self.tenths) <= (total - used) * held * 10;
        if passes { self.queue.push(0, packet) } else { None }
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<u64> {
        self.queue.pop().map(|(_, id)| id)
    }
}

struct Packs {
    queues: Rings<QUEUES>,
    window: Window,
    /// The free places of each queue and of those before it.
    free: [i32; QUEUES],
    total: u64,
}

impl Prototype for Packs {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet) -> Option<usize> {
        let (count, held) = self.window.push_and_count(packet.rank.get() as i32);
        let enough = ((count * self.total).div_ceil(held) as i32).max(1);
        let queue = self.free.iter().map(|free| usize::from(*free < enough)).sum();
        if queue == QUEUES {
            return None;
        }
        self.free.iter_mut().for_each(|free| *free -= i32::from(*free >= enough));
        self.queues.push(queue, packet)
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<u64> {
        let (queue, id) = self.queues.pop()?;
        self.free[queue..].iter_mut().for_each(|free| *free += 1);
        Some(id)
    }
}

/// A prototype in the loop of `pifolab bench sched`.
struct Loaded<P> {
    prototype: P,
    ranks: Box<[Rank; bench::DRAWN]>,
    load: Load,
    offered: u64,
    held: usize,
}

impl<P: Prototype> Loaded<P> {
    #[inline(always)]
    fn offer(prototype: &mut P, ranks: &[Rank; bench::DRAWN], id: u64) -> Option<usize> {
        let (flow, rank) = ((id % bench::FLOWS) as u32, ranks[id as usize % bench::DRAWN]);
        prototype.enqueue(Packet { id, flow, size: bench::BYTES, rank, arrival: Time::ZERO })
    }
}

impl<P: Prototype> Run for Loaded<P> {
    fn run(&mut self, packets: u64) -> u64 {
        let Self { prototype, ranks, load, offered, .. } = self;
        let (ranks, first, mut sum): (&[Rank; bench::DRAWN], _, _) = (ranks, *offered, 0u64);
        *offered += packets;
        if *load == Load::Steady {
            for id in first..first + packets {
                match Self::offer(prototype, ranks, id) {
                    Some(queue) => sum = sum.wrapping_add(queue as u64 + prototype.dequeue().unwrap_or(0)),
                    None => sum = sum.wrapping_add(id),
                }
            }
        } else {
            for pair in 0..packets / 2 {
                let id = first + 2 * pair;
                let one = Self::offer(prototype, ranks, id).map_or(id, |queue| queue as u64);
                let two = Self::offer(prototype, ranks, id + 1).map_or(id + 1, |queue| queue as u64);
                sum = sum.wrapping_add(one).wrapping_add(two).wrapping_add(prototype.dequeue().unwrap_or(0));
            }
        }
        sum
    }

    fn occupancy(&self) -> usize {
        self.held
    }
}

/// A prototype, filled as the library's scheduler is.
fn fill<P: Prototype + 'static>(prototype: P, load: Load, ranks: u32) -> Box<dyn Run> {
    let mut loaded = Loaded { prototype, ranks: bench::draw(ranks), load, offered: 0, held: 0 };
    while loaded.offered < 20 * u64::from(OCCUPANCY) && loaded.held < OCCUPANCY as usize {
        loaded.held += usize::from(Loaded::offer(&mut loaded.prototype, &loaded.ranks, loaded.offered).is_some());
        loaded.offered += 1;
    }
    Box::new(loaded)
}

fn prototype(name: &str, load: Load) -> Box<dyn Run> {
    let total = bench::capacity(OCCUPANCY, load);
    let each = total / QUEUES as u32;
    match name {
        "fifo" => fill(Fifo(Rings::new(total)), load, bench::WIDE),
        "strict-priority" => {
            let bounds = std::array::from_fn(|queue| (100 * queue).div_ceil(QUEUES) as i32);
            fill(StrictPriority(Rings::new(each), bounds), load, 100)
        }
        "sp-pifo" => fill(SpPifo(Rings::new(each), [0; QUEUES]), load, bench::WIDE),
        "aifo, window 20" => {
            let tenths = u64::from(load == Load::Overload);
            fill(Aifo { queue: Rings::new(total), window: Window::EMPTY, tenths }, load, bench::WIDE)
        }
        "packs, window 20" => {
            let free = std::array::from_fn(|queue| each as i32 * (queue as i32 + 1));
            let total = u64::from(total);
            fill(Packs { queues: Rings::new(each), window: Window::EMPTY, free, total }, load, bench::WIDE)
        }
        other => unreachable!("{other} has no prototype"),
    }
}

fn main() {
    const PACKETS: u64 = 1 << 16;
    const ROUNDS: usize = 51;
    println!("{:<20} {:<8} {:>12} {:>12} {:>6}", "scheduler", "load", "library, ns", "prototype", "ratio");
    for name in ["fifo", "strict-priority", "sp-pifo", "aifo, window 20", "packs, window 20"] {
        let case = cases().find(|case| case.name() == name).expect("the library has it");
        for load in [Load::Steady, Load::Overload] {
            let mut both = [case.prepare(OCCUPANCY, load), prototype(name, load)];
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                let sums = [0, 1].map(|which| {
                    let start = Instant::now();
                    let sum = black_box(both[which].run(PACKETS));
                    times[which].push(start.elapsed().as_nanos() as f64 / PACKETS as f64);
                    sum
                });
                assert_eq!(sums[0], sums[1], "{name}, {}: the two do not decide alike", load.word());
            }
            let [library, prototype] = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                times[ROUNDS / 2]
            });
            let ratio = library / prototype;
            println!("{name:<20} {:<8} {library:>12.2} {prototype:>12.2} {ratio:>6.2}", load.word());
        }
    }
}

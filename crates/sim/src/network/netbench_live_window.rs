//! AIFO and PACKS under STFQ ranks as the forks of Netbench have them, live windows included.
//!
//! Papers: Yu et al., "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021, Figure 14 (13 in its code);
//! Alcoz et al., "Everything Matters in Programmable Packet Scheduling", NSDI 2025, Figures 13 and 14, in the public code
//! of an earlier submission.
//! Parameters ([`NetbenchLiveWindow`]): capacities in packets, |W|, sampling, k, as for AIFO and PACKS.
//! Cost: O(|W|) per arrival, and a shared cell per packet under way. For repeating published runs only.
//!
//! The quirk: the forks' windows hold references to packets, and every port that a packet reaches writes the rank that
//! it computes into the packet. So an entry of one port's window changes when the packet reaches the next port. Here
//! the packet's rank lives in a cell that its successive ports and all windows that sampled it share.
//! Deviation from [`Aifo`](pifolab_sched::schedulers::Aifo) and [`Packs`](pifolab_sched::schedulers::Packs) joined to
//! [`Stfq`](pifolab_sched::ranks::Stfq): that quirk, and that a packet which finds PACKS's wire idle gets a rank but is
//! neither tested nor sampled.

use super::config::{PortConfig, PortInfo};
use crate::port::IdlePort;
use pifolab_sched::entry::LiveTest;
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Facts, Inspect, Packet, RankFn, Ranked, Scheduler};
use pifolab_units::{Bytes, Rank, Time};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// What the ports are built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetbenchLiveWindow {
    /// Whose test the ports do.
    pub test: LiveTest,
    /// |W|: ranks that the window holds, at least 1.
    pub window: u32,
    /// One packet in this many enters the window, at least 1.
    pub sample: u32,
    /// k, from 0 and below 1; a 32-bit number in the forks.
    pub k: f32,
    /// Hosts have the numbers below this: their ports see a packet first.
    pub hosts: u32,
}

/// The rank of each packet under way, by packet number.
type Cells = Arc<Mutex<Vec<Arc<AtomicU64>>>>;

impl NetbenchLiveWindow {
    /// What a packet meets at an idle port in the fork, as an option of a scenario's ports.
    pub const fn idle(&self) -> IdlePort {
        match self.test {
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => IdlePort::Admission,
            LiveTest::Packs { .. } => IdlePort::Bypass,
        }
    }

    /// Queues, and the capacity of each in packets.
    const fn shape(&self) -> (u32, u32) {
        match self.test {
            LiveTest::Aifo { packets } | LiveTest::AifoOfPacks { packets } => (1, packets),
            LiveTest::Packs { queues, queue_packets } => (queues, queue_packets),
        }
    }

    /// The ports, without marking. They belong into [`Config::switch_port`](super::Config::switch_port) and
    /// `host_port` alike.
    ///
    /// # Panics
    /// If a number is 0 or k is not below 1.
    pub fn ports(self) -> PortConfig {
        let (queues, packets) = self.shape();
        let counts = [queues, packets, self.window, self.sample];
        assert!(counts.iter().all(|count| *count > 0) && (0.0..1.0).contains(&self.k), "out of range: {self:?}");
        // All ports of one run share their cells. A run makes its ports in order, on one thread.
        let runs: Mutex<HashMap<ThreadId, Cells>> = Mutex::default();
        let ports = PortConfig::scheduler(move |info| {
            let mut runs = runs.lock().expect("no port panics while it is made");
            let cells = runs.entry(std::thread::current().id()).or_default();
            if info.port == 0 {
                *cells = Cells::default();
            }
            Queues::ranked(self, info, &cells.clone())
        });
        let idle = match self.test {
            LiveTest::Packs { .. } => IdlePort::Ranked,
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => IdlePort::Admission,
        };
        PortConfig { idle, ..ports }
    }
}

/// STFQ that writes the rank of each packet into its cell; a packet that leaves its host gets a new one.
struct LiveStfq {
    stfq: Stfq,
    first_port: bool,
    cells: Cells,
}

impl RankFn for LiveStfq {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let rank = self.stfq.rank(packet, now);
        let mut cells = self.cells.lock().expect("no port panics while it holds the cells");
        let slot = packet.id as usize;
        if slot >= cells.len() {
            cells.resize_with(slot + 1, Arc::default);
        }
        if self.first_port {
            cells[slot] = Arc::default();
        }
        cells[slot].store(rank.get(), Ordering::Relaxed);
        rank
    }

    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        self.stfq.on_dequeue(packet, now);
    }

    fn on_drop(&mut self, packet: &Packet, now: Time) {
        self.stfq.on_drop(packet, now);
    }

    fn needs(&self) -> Facts {
        self.stfq.needs()
    }
}

struct Queues {
    params: NetbenchLiveWindow,
    cells: Cells,
    queues: Vec<VecDeque<Packet>>,
    queue_packets: usize,
    window: VecDeque<Arc<AtomicU64>>,
    until_sample: u32,
}

impl Queues {
    fn ranked(params: NetbenchLiveWindow, info: &PortInfo, cells: &Cells) -> Ranked<LiveStfq, Self> {
        let stfq = StfqParams { scale: 1, virtual_time: VirtualTime::Follow, ..StfqParams::default() };
        let stfq = Stfq::new(stfq).expect("scale 1 is sound");
        let (queues, packets) = params.shape();
        let queues = Self {
            params,
            cells: cells.clone(),
            queues: std::iter::repeat_with(VecDeque::new).take(queues as usize).collect(),
            queue_packets: packets as usize,
            window: VecDeque::with_capacity(params.window as usize + 1),
            until_sample: 0,
        };
        Ranked::new(LiveStfq { stfq, first_port: info.from < params.hosts, cells: cells.clone() }, queues)
    }

    /// Takes one packet in so many into the window.
    fn sample(&mut self, packet: u64) {
        if self.until_sample == 0 {
            let cells = self.cells.lock().expect("no port panics while it holds the cells");
            self.window.push_back(cells[packet as usize].clone());
            if self.window.len() > self.params.window as usize {
                self.window.pop_front();
            }
            self.until_sample = self.params.sample;
        }
        self.until_sample -= 1;
    }

    /// The queue of an arriving rank.
    fn choose(&self, rank: Rank) -> Result<usize, DropReason> {
        let (queues, k) = (self.queues.len(), self.params.k);
        let capacity = (queues * self.queue_packets) as f64;
        let held = self.len() as f64;
        let lower = || {
            let lower = self.window.iter().filter(|entry| entry.load(Ordering::Relaxed) < rank.get()).count();
            lower as f64
        };
        // In the forks' order: 1 / (1 - k) * ((i + 1) * (1 / n)) * (C - c) / C * |W|.
        let scale = 1.0 / f64::from(1.0 - k);
        let threshold = |share: f64| scale * share * (capacity - held) / capacity * self.window.len() as f64;
        let passes = |queue: usize| match self.params.test {
            LiveTest::Aifo { .. } if held <= f64::from(k) * capacity || self.window.is_empty() => true,
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => lower() < threshold(1.0),
            LiveTest::Packs { .. } => lower() < threshold((queue + 1) as f64 * (1.0 / queues as f64)),
        };
        let mut reason = DropReason::Admission;
        for queue in 0..queues {
            if passes(queue) {
                if self.queues[queue].len() < self.queue_packets {
                    return Ok(queue);
                }
                reason = DropReason::Full;
            }
        }
        Err(reason)
    }
}

impl Scheduler for Queues {
    fn enqueue(&mut self, packet: Packet, _now: Time) -> Enqueued {
        let (id, rank) = (packet.id, packet.rank);
        let chosen = match self.params.test {
            LiveTest::Aifo { .. } => {
                let chosen = self.choose(rank);
                self.sample(id);
                chosen
            }
            LiveTest::AifoOfPacks { .. } | LiveTest::Packs { .. } => {
                self.sample(id);
                self.choose(rank)
            }
        };
        match chosen {
            Ok(queue) => {
                self.queues[queue].push_back(packet);
                Enqueued::Admitted { queue: queue as u32, rank }
            }
            Err(reason) => Enqueued::Dropped { packet, reason },
        }
    }

    fn dequeue(&mut self, _now: Time) -> Dequeued {
        let Some(queue) = self.queues.iter().position(|queue| !queue.is_empty()) else { return Dequeued::Empty };
        match self.queues[queue].pop_front() {
            Some(packet) => Dequeued::Packet { packet, queue: queue as u32 },
            None => Dequeued::Empty,
        }
    }
}

impl Inspect for Queues {
    fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.queues.iter().flatten().map(|packet| u64::from(packet.size)).sum())
    }

    fn capacity(&self) -> Capacity {
        let (queues, packets) = self.params.shape();
        Capacity::Packets(queues * packets)
    }

    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn queue_len(&self, queue: usize) -> usize {
        self.queues[queue].len()
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        for entry in &self.window {
            visit(Rank::saturating(entry.load(Ordering::Relaxed)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PortScheduler;
    use super::*;
    use pifolab_units::Rate;

    #[test]
    fn a_window_entry_follows_its_packet_to_the_next_port() {
        let params =
            NetbenchLiveWindow { test: LiveTest::Aifo { packets: 100 }, window: 20, sample: 1, k: 0.1, hosts: 2 };
        let config = params.ports();
        let super::super::Discipline::Scheduler(make) = &config.discipline else { panic!("a scheduler") };
        let rate = Rate::from_gbps(1);
        let made = |port, from, to| match make(&PortInfo { port, from, to, rate }) {
            PortScheduler::Ranked(ranked) => ranked,
            _ => panic!("a rank function is joined to it"),
        };
        let (mut first, mut second) = (made(0, 0, 2), made(1, 2, 1));
        let packet = |id, flow| Packet { id, flow, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
        let window = |port: &dyn Inspect| {
            let mut ranks = Vec::new();
            port.visit_window(&mut |rank| ranks.push(rank.get()));
            ranks
        };
        for id in [7, 8] {
            assert!(first.enqueue(packet(id, 0), Time::ZERO).is_admitted());
        }
        assert_eq!(window(&first), [0, 1_000]);
        // At the second port flow 0 is new, so its second packet, which arrives there alone, gets rank 0.
        assert!(second.enqueue(packet(8, 0), Time::ZERO).is_admitted());
        assert_eq!((window(&first), window(&second)), (vec![0, 0], vec![0]));
        // Number 7 is used again for a new packet: the old entry keeps its rank.
        assert!(first.enqueue(packet(7, 0), Time::ZERO).is_admitted());
        assert_eq!(window(&first), [0, 0, 2_000]);
    }

    #[test]
    fn a_new_run_starts_with_cells_of_its_own() {
        let params =
            NetbenchLiveWindow { test: LiveTest::Aifo { packets: 100 }, window: 20, sample: 1, k: 0.1, hosts: 1 };
        let config = params.ports();
        let super::super::Discipline::Scheduler(make) = &config.discipline else { panic!("a scheduler") };
        let rate = Rate::from_gbps(1);
        let packet = || Packet { id: 0, flow: 0, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
        let made = || match make(&PortInfo { port: 0, from: 0, to: 1, rate }) {
            PortScheduler::Ranked(ranked) => ranked,
            _ => panic!("a rank function is joined to it"),
        };
        let mut old = made();
        for _ in 0..2 {
            assert!(old.enqueue(packet(), Time::ZERO).is_admitted());
        }
        let mut new = made();
        assert!(new.enqueue(packet(), Time::ZERO).is_admitted());
        let mut ranks = Vec::new();
        old.visit_window(&mut |rank| ranks.push(rank.get()));
        assert_eq!(ranks, [0, 1_000]);
    }
}

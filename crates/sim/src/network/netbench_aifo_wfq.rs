//! AIFO under STFQ ranks as the AIFO paper's fork of Netbench has it, window quirk included.
//!
//! Paper: Yu et al., "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021, Figure 14 (13 in its code).
//! Parameters ([`NetbenchAifoWfq`]): C in packets, |W|, sampling, k, as for AIFO.
//! Cost: O(|W|) per arrival, and a shared cell per packet under way. For repeating published runs only.
//!
//! The quirk: the fork's window holds references to packets, and every port that a packet reaches writes the rank that
//! it computes into the packet. So an entry of one port's window changes when the packet reaches the next port. Here
//! the packet's rank lives in a cell that its successive ports and all windows that sampled it share.
//! Deviation from [`Aifo`](pifolab_sched::schedulers::Aifo) joined to [`Stfq`](pifolab_sched::ranks::Stfq): that quirk
//! alone.

use super::config::{IdlePort, PortConfig, PortInfo};
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};
use pifolab_sched::schedulers::{Fifo, FifoParams};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Packet, Ranked, Scheduler};
use pifolab_units::{Bytes, Rank, Time};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// What the ports are built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetbenchAifoWfq {
    /// C: capacity and target, in packets, at least 1.
    pub packets: u32,
    /// |W|: ranks that the window holds, at least 1.
    pub window: u32,
    /// One packet in this many enters the window, at least 1.
    pub sample: u32,
    /// k, from 0 and below 1; a 32-bit number in the fork.
    pub k: f32,
    /// Hosts have the numbers below this: their ports see a packet first.
    pub hosts: u32,
}

/// The rank of each packet under way, by packet number.
type Cells = Arc<Mutex<Vec<Arc<AtomicU64>>>>;

impl NetbenchAifoWfq {
    /// The ports, without marking. They belong into [`Config::switch_port`](super::Config::switch_port) and
    /// `host_port` alike.
    ///
    /// # Panics
    /// If a number is 0 or k is not below 1.
    pub fn ports(self) -> PortConfig {
        let counts = [self.packets, self.window, self.sample];
        assert!(counts.iter().all(|count| *count > 0) && (0.0..1.0).contains(&self.k), "out of range: {self:?}");
        // All ports of one run share their cells. A run makes its ports in order, on one thread.
        let runs: Mutex<HashMap<ThreadId, Cells>> = Mutex::default();
        let ports = PortConfig::scheduler(move |info| {
            let mut runs = runs.lock().expect("no port panics while it is made");
            let cells = runs.entry(std::thread::current().id()).or_default();
            if info.port == 0 {
                *cells = Cells::default();
            }
            Queue::ranked(self, info, cells.clone())
        });
        PortConfig { idle: IdlePort::Admission, ..ports }
    }
}

struct Queue {
    params: NetbenchAifoWfq,
    first_port: bool,
    cells: Cells,
    fifo: Fifo,
    window: VecDeque<Arc<AtomicU64>>,
    until_sample: u32,
}

impl Queue {
    fn ranked(params: NetbenchAifoWfq, info: &PortInfo, cells: Cells) -> Ranked<Stfq, Self> {
        let stfq = StfqParams { weights: Vec::new(), scale: 1, virtual_time: VirtualTime::Follow, give_back: true };
        let queue = Self {
            params,
            first_port: info.from < params.hosts,
            cells,
            fifo: Fifo::new(FifoParams { capacity: Capacity::Packets(params.packets) }).expect("checked above 0"),
            window: VecDeque::with_capacity(params.window as usize + 1),
            until_sample: 0,
        };
        Ranked::new(Stfq::new(stfq).expect("scale 1 is sound"), queue)
    }

    /// Writes `rank` into the packet's cell; a packet that leaves its host gets a new one.
    fn cell(&self, packet: u64, rank: Rank) -> Arc<AtomicU64> {
        let mut cells = self.cells.lock().expect("no port panics while it holds the cells");
        let slot = packet as usize;
        if slot >= cells.len() {
            cells.resize_with(slot + 1, Arc::default);
        }
        if self.first_port {
            cells[slot] = Arc::default();
        }
        cells[slot].store(rank.get(), Ordering::Relaxed);
        cells[slot].clone()
    }

    fn passes(&self, rank: Rank) -> bool {
        let (held, target) = (self.fifo.len() as f64, f64::from(self.params.packets));
        let k = self.params.k;
        if held <= f64::from(k * self.params.packets as f32) || self.window.is_empty() {
            return true;
        }
        let lower = self.window.iter().filter(|entry| entry.load(Ordering::Relaxed) < rank.get()).count();
        // In the fork's order: (1 / (1 - k)) * (C - c) / C * |W|.
        (lower as f64) < 1.0 / f64::from(1.0 - k) * (target - held) / target * self.window.len() as f64
    }
}

impl Scheduler for Queue {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let cell = self.cell(packet.id, packet.rank);
        let passes = self.passes(packet.rank);
        if self.until_sample == 0 {
            self.window.push_back(cell);
            if self.window.len() > self.params.window as usize {
                self.window.pop_front();
            }
            self.until_sample = self.params.sample;
        }
        self.until_sample -= 1;
        if passes {
            self.fifo.enqueue(packet, now)
        } else {
            Enqueued::Dropped { packet, reason: DropReason::Admission }
        }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        self.fifo.dequeue(now)
    }
}

impl Inspect for Queue {
    fn len(&self) -> usize {
        self.fifo.len()
    }

    fn backlog(&self) -> Bytes {
        self.fifo.backlog()
    }

    fn capacity(&self) -> Capacity {
        self.fifo.capacity()
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
        let params = NetbenchAifoWfq { packets: 100, window: 20, sample: 1, k: 0.1, hosts: 2 };
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
        let params = NetbenchAifoWfq { packets: 100, window: 20, sample: 1, k: 0.1, hosts: 1 };
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

//! AIFO and PACKS under STFQ ranks as in the forks of Netbench, with live windows.
//!
//! The windows of the forks hold references to packets, and every port that a packet reaches writes its own rank into
//! the packet. So an entry of one port's window changes when the packet reaches the next port. Here the rank of a
//! packet is in a cell that its successive ports and all windows that sampled it share. The library has the test
//! against such a window ([`LiveAdmission`]). A packet that finds PACKS's wire idle gets a rank but is neither tested
//! nor sampled.
//!
//! Cost: a shared cell per packet under way. For repeating published runs only.

use super::IdlePort;
use crate::network::{PortConfig, PortInfo};
use pifolab_replay::{LiveAdmission, LiveRank, LiveTest, LiveWindow};
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};
use pifolab_sched::{Facts, Packet, Parts, Queued, RankFn, Ranked};
use pifolab_units::{Rank, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The parameters of the ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetbenchLiveWindow {
    /// The admission test of the ports.
    pub test: LiveTest,
    /// |W|: ranks that the window holds, at least 1.
    pub window: u32,
    /// One packet in this many enters the window, at least 1.
    pub sample: u32,
    /// k, at least 0 and below 1; a 32-bit float as in the forks.
    pub k: f32,
    /// Nodes below this number are hosts, whose ports see a packet first.
    pub hosts: u32,
}

/// The rank of a packet under way.
#[derive(Clone, Debug, Default)]
struct Cell(Arc<AtomicU64>);

impl LiveRank for Cell {
    fn rank(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The cells of the packets under way, shared by all ports of a run.
#[derive(Debug, Default)]
struct Cells {
    /// By packet number.
    all: Vec<Cell>,
    /// The cell of the packet that was ranked last, which the port tests next.
    arriving: Cell,
}

impl NetbenchLiveWindow {
    /// The treatment of a packet at an idle port in the fork, as an option of a scenario's ports.
    pub const fn idle(&self) -> IdlePort {
        match self.test {
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => IdlePort::Admission,
            LiveTest::Packs { .. } => IdlePort::Bypass,
        }
    }

    /// The ports, without marking, for both [`Config::switch_port`](crate::network::Config::switch_port) and
    /// `host_port`.
    ///
    /// # Panics
    /// If a number is 0 or k is not below 1.
    pub fn ports(self) -> PortConfig {
        let counts = match self.test {
            LiveTest::Aifo { packets } | LiveTest::AifoOfPacks { packets } => [1, packets],
            LiveTest::Packs { queues, queue_packets } => [queues, queue_packets],
        };
        let sound = counts.into_iter().chain([self.window, self.sample]).all(|count| count > 0);
        assert!(sound && (0.0..1.0).contains(&self.k), "out of range: {self:?}");
        let ports = PortConfig::sharing(move |info, cells: &mut Arc<Mutex<Cells>>| self.port(info, cells.clone()));
        let idle = match self.test {
            LiveTest::Packs { .. } => IdlePort::Ranked,
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => IdlePort::Admission,
        };
        PortConfig { idle, ..ports }
    }

    fn port(self, info: &PortInfo, cells: Arc<Mutex<Cells>>) -> Ranked<LiveStfq, impl Into<Parts> + use<>> {
        let stfq = StfqParams { scale: 1, virtual_time: VirtualTime::Follow, ..StfqParams::default() };
        let stfq = Stfq::new(stfq).expect("scale 1 is sound");
        let Self { test, window, sample, k, hosts } = self;
        let ranks = LiveStfq { stfq, first_port: info.from < hosts, cells: cells.clone() };
        let arriving = move || lock(&cells).arriving.clone();
        let admission = LiveAdmission::new(LiveWindow { test, window, sample, k }, arriving);
        Ranked::new(ranks, <Queued<_>>::with_decider(admission, &test.capacities()))
    }
}

fn lock(cells: &Mutex<Cells>) -> std::sync::MutexGuard<'_, Cells> {
    cells.lock().expect("no port panics while it holds the cells")
}

/// STFQ that writes the rank of each packet into its cell; a packet that leaves its host gets a new one.
struct LiveStfq {
    stfq: Stfq,
    first_port: bool,
    cells: Arc<Mutex<Cells>>,
}

impl RankFn for LiveStfq {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let rank = self.stfq.rank(packet, now);
        let mut cells = lock(&self.cells);
        let slot = packet.id as usize;
        if slot >= cells.all.len() {
            cells.all.resize_with(slot + 1, Cell::default);
        }
        if self.first_port {
            cells.all[slot] = Cell::default();
        }
        let cell = cells.all[slot].clone();
        cell.0.store(rank.get(), Ordering::Relaxed);
        cells.arriving = cell;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{PortScheduler, QueueDiscipline, Shared};
    use pifolab_sched::{Inspect, InspectExt, Scheduler};
    use pifolab_units::Rate;

    #[test]
    fn a_window_entry_follows_its_packet_to_the_next_port() {
        let params =
            NetbenchLiveWindow { test: LiveTest::Aifo { packets: 100 }, window: 20, sample: 1, k: 0.1, hosts: 2 };
        let config = params.ports();
        let QueueDiscipline::Scheduler(make) = &config.discipline else { panic!("a scheduler") };
        let rate = Rate::from_gbps(1);
        let mut run = Shared::default();
        let mut made = |port, from, to| match make(&PortInfo { port, from, to, rate }, &mut run) {
            PortScheduler::Ranked(ranks, scheduler) => Ranked::new(ranks, scheduler.into_scheduler()),
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
        // Number 7 is reused for a new packet: the old entry keeps its rank.
        assert!(first.enqueue(packet(7, 0), Time::ZERO).is_admitted());
        assert_eq!(window(&first), [0, 0, 2_000]);
    }

    #[test]
    fn every_run_has_cells_of_its_own_also_while_another_goes_on() {
        let params =
            NetbenchLiveWindow { test: LiveTest::Aifo { packets: 100 }, window: 20, sample: 1, k: 0.1, hosts: 1 };
        let config = params.ports();
        let QueueDiscipline::Scheduler(make) = &config.discipline else { panic!("a scheduler") };
        let rate = Rate::from_gbps(1);
        let packet = || Packet { id: 0, flow: 0, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
        let made = || match make(&PortInfo { port: 0, from: 0, to: 1, rate }, &mut Shared::default()) {
            PortScheduler::Ranked(ranks, scheduler) => Ranked::new(ranks, scheduler.into_scheduler()),
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

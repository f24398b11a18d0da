//! Ports that store handles, against the same ports with a scheduler of whole packets.

use pifolab_sched::ranks::{Las, Lstf, RemainingSize, Stfq, StfqParams};
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo, PifoParams, SpPifo, SpPifoParams};
use pifolab_sched::{Capacity, Inspect, InspectExt, RankFn};
use pifolab_sim::network::{
    Config, EqualTimes, FatTree, Flow, IdlePort, LinkChange, Network, PortConfig, PortScheduler, RunResult,
};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_transport::TransportParams;
use pifolab_units::{Rate, Span, Time};
use proptest::prelude::*;

/// Every call of an observer, with the state of the port's scheduler at that moment.
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<Call>);

#[derive(Debug, PartialEq)]
struct Call {
    name: &'static str,
    port: PortId,
    packet: PacketView,
    queue: Option<u32>,
    loss: Option<Loss>,
    held: (usize, u64, usize),
    now: Time,
}

impl Log {
    fn add(
        &mut self,
        name: &'static str,
        port: PortId,
        packet: PacketView,
        scheduler: &dyn Inspect,
        now: Time,
    ) -> &mut Call {
        let held = (scheduler.len(), scheduler.backlog().0, scheduler.queue_len(0));
        self.0.push(Call { name, port, packet, queue: None, loss: None, held, now });
        self.0.last_mut().unwrap()
    }
}

impl Observer for Log {
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.add("admit", port, packet, scheduler, now).queue = Some(queue);
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        self.add("drop", port, packet, scheduler, now).loss = Some(loss);
    }

    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.add("dequeue", port, packet, scheduler, now).queue = Some(queue);
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        self.add("link down", port, packet, scheduler, now);
    }
}

/// Schedulers that ports split into their parts.
fn scheduler(kind: u8) -> PortScheduler {
    let fifo = |capacity| <Fifo>::new(FifoParams { capacity }).unwrap();
    let pifo = |capacity| <Pifo>::new(PifoParams { capacity, ..PifoParams::packets(1) }).unwrap();
    match kind {
        0 => fifo(Capacity::Packets(5)).into(),
        1 => fifo(Capacity::Bytes(9_000)).into(),
        2 => pifo(Capacity::Packets(6)).into(),
        // A full packet may push out several acknowledgements.
        3 => pifo(Capacity::Bytes(8_000)).into(),
        _ => <SpPifo>::new(SpPifoParams::uniform(3, 3)).unwrap().into(),
    }
}

fn rank_fn(kind: u8) -> Option<Box<dyn RankFn>> {
    match kind {
        0 => None,
        1 => Some(Box::new(Stfq::new(StfqParams::default()).unwrap())),
        2 => Some(Box::new(Las::new())),
        3 => Some(Box::new(Lstf::new())),
        _ => Some(Box::new(RemainingSize::new())),
    }
}

/// Ports with a scheduler and perhaps a rank function. `whole`: the scheduler stores packets.
fn ports(of: u8, rank: u8, whole: bool) -> PortConfig {
    PortConfig::scheduler(move |_| {
        let made = scheduler(of);
        let made = if whole { PortScheduler::Other(made.into_scheduler()) } else { made };
        match rank_fn(rank) {
            Some(rank_fn) => PortScheduler::Ranked(rank_fn, Box::new(made)),
            None => made,
        }
    })
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(100))]

    #[test]
    fn observers_and_rank_functions_are_told_of_handles_what_they_are_told_of_packets(
        (of, rank, at_hosts) in (0u8..5, 0u8..5, any::<bool>()),
        (idle, equal_times, transport) in (0usize..4, 0usize..3, 0usize..3),
        (fails, ecn) in (prop::option::of((0usize..96, 1u64..300, 1u64..300)), any::<bool>()),
        flows in prop::collection::vec((0u32..16, 0u32..16, 1u64..60_000, 0u64..200_000), 1..24),
    ) {
        let rate = Rate::from_gbps(1);
        let topology = FatTree { k: 4, access_rate: rate, fabric_rate: rate, delay: Span::from_us(1) }.topology().unwrap();
        let mut flows: Vec<Flow> = flows
            .into_iter()
            // Most go to one host.
            .map(|(src, dst, bytes, ns)| (src, if dst < 8 { 0 } else { dst }, bytes, ns))
            .filter(|(src, dst, ..)| src != dst)
            .map(|(src, dst, bytes, ns)| Flow { id: 0, src, dst, bytes, start: Time::from_ns(ns) })
            .collect();
        flows.sort_by_key(|flow| flow.start);
        (0..).zip(&mut flows).for_each(|(id, flow)| flow.id = id);
        let config = |whole: bool| {
            let transport = [TransportParams::pfabric(), TransportParams::new_reno(), TransportParams::dctcp()][transport];
            let around = |ports: PortConfig| PortConfig {
                idle: [IdlePort::Scheduler, IdlePort::Bypass, IdlePort::Admission, IdlePort::Ranked][idle],
                ecn_threshold_packets: ecn.then_some(3),
                ..ports
            };
            let end = Time::from_ns(3_000_000);
            let mut config = Config::new(topology.clone(), transport, around(ports(of, rank, whole)), end);
            if at_hosts {
                config.host_port = around(ports(of, rank, whole));
            }
            config.equal_times = [EqualTimes::DeparturesFirst, EqualTimes::Insertion, EqualTimes::NetbenchBatch][equal_times];
            if let Some((port, down, after)) = fails {
                let change = |us, up| LinkChange { time: Time::from_ns(1_000 * us), port: port as u32, up };
                config.link_changes = vec![change(down, false), change(down + after, true)];
            }
            config
        };
        let run = |whole: bool| -> (RunResult, RunResult, Log) {
            let network = Network::new(config(whole)).unwrap();
            let mut log = Log::default();
            let watched = network.run(&flows, &mut log).unwrap();
            (network.run(&flows, &mut ()).unwrap(), watched, log)
        };
        let (handles, packets) = (run(false), run(true));
        prop_assert_eq!(&handles.0, &handles.1);
        prop_assert_eq!(&handles.0, &packets.0);
        prop_assert_eq!(&packets.0, &packets.1);
        prop_assert_eq!(handles.2, packets.2);
    }
}

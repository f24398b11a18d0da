//! A user-defined transport, made with the public interface only: a sender paced by a rate, without a window.

use pifolab_sched::Capacity;
use pifolab_sim::network::{
    Config, EqualTimes, Flow, LeafSpine, Network, OwnTransport, PortConfig, RunResult, Topology, UdpHost,
};
use pifolab_sim::observer::{EndView, Observer};
use pifolab_transport::{Arrivals, Counts, End, Flags, Progress, Segment, Timer, Transport, TransportParams};
use pifolab_units::{Rank, Rate, Span, Time};
use std::sync::Arc;

/// Payload of a full segment.
const SEGMENT_BYTES: u32 = 1_000;
/// The time between two segments: at the start, at least, at most.
const GAPS: [Span; 3] = [Span::from_us(20), Span::from_us(8), Span::from_us(1_000)];
/// The time that the sender waits for acknowledgements after the last segment.
const PATIENCE: Span = Span::from_us(200);

/// Sends a segment every `gap`, and unacknowledged segments again. An acknowledgement shortens the gap by a sixteenth;
/// one that echoes a mark lengthens it by a half, at most once for the data sent before the last such change.
struct Paced {
    size: u64,
    segments: u32,
    /// The next segment to send; `highest` is one past the highest that was sent.
    next: u32,
    highest: u32,
    gap: Span,
    /// Marks on segments that were sent before this do not slow down again.
    slowed: Time,
    timer: Timer,
    acknowledged: Arrivals,
    retransmissions: u32,
    arrived: Arrivals,
}

impl Paced {
    fn new(flow: &Flow) -> Self {
        let segments = flow.bytes.div_ceil(SEGMENT_BYTES.into()) as u32;
        let none = Arrivals::of(segments);
        Self {
            size: flow.bytes,
            segments,
            next: 0,
            highest: 0,
            gap: GAPS[0],
            slowed: flow.start,
            timer: Timer::default(),
            acknowledged: none.clone(),
            retransmissions: 0,
            arrived: none,
        }
    }

    fn send_next(&mut self, now: Time, send: &mut dyn FnMut(Segment)) {
        while self.next < self.segments && self.acknowledged.contains(self.next) {
            self.next += 1;
        }
        if self.next == self.segments {
            // Resends from the first missing segment on, once its acknowledgement is overdue.
            self.next = self.acknowledged.next();
            return self.timer.set(now + PATIENCE);
        }
        let before = u64::from(self.next) * u64::from(SEGMENT_BYTES);
        send(Segment {
            stamp: now,
            rank: Rank::ZERO,
            seq: self.next,
            ack: 0,
            sack: 0,
            payload_bytes: (self.size - before).min(SEGMENT_BYTES.into()) as u16,
            flags: Flags::default(),
        });
        self.retransmissions += u32::from(self.next < self.highest);
        self.next += 1;
        self.highest = self.highest.max(self.next);
        self.timer.set(now + self.gap);
    }

    fn handle_ack(&mut self, segment: &Segment, now: Time) -> Progress {
        if !segment.flags.has(Flags::ECE) {
            self.gap = Span::from_ps(self.gap.as_ps() / 16 * 15).max(GAPS[1]);
        } else if segment.stamp > self.slowed {
            self.gap = Span::from_ps(self.gap.as_ps() / 2 * 3).min(GAPS[2]);
            self.slowed = now;
        }
        self.acknowledged.take(segment.ack);
        if self.acknowledged.is_complete() { Progress::Completed } else { Progress::Going }
    }
}

impl Transport for Paced {
    fn start(&mut self, now: Time, send: &mut dyn FnMut(Segment)) {
        self.send_next(now, send);
    }

    fn handle_segment(&mut self, segment: &Segment, now: Time, send: &mut dyn FnMut(Segment)) -> Progress {
        if !segment.from_sender() {
            return self.handle_ack(segment, now);
        }
        self.arrived.take(segment.seq);
        let echo = if segment.flags.has(Flags::CE) { Flags::ECE } else { Flags::default() };
        let flags = Flags::ACK.with(Flags::REVERSE).with(echo);
        send(Segment { ack: segment.seq, seq: 0, payload_bytes: 0, flags, ..*segment });
        Progress::Going
    }

    fn handle_timeout(&mut self, end: End, now: Time, send: &mut dyn FnMut(Segment)) -> Progress {
        if end == End::Sender && self.timer.has_expired(now) {
            self.send_next(now, send);
        }
        Progress::Going
    }

    fn timer(&self, end: End) -> Timer {
        if end == End::Sender { self.timer } else { Timer::default() }
    }

    fn acknowledged_bytes(&self) -> u64 {
        (u64::from(self.acknowledged.next()) * u64::from(SEGMENT_BYTES)).min(self.size)
    }

    fn counts(&self) -> Counts {
        let (retransmissions, reordered) = (self.retransmissions, self.arrived.reordered());
        Counts { retransmissions, reordered, ..Counts::default() }
    }
}

const END: Time = Time::from_ns(1_000_000_000);

fn paced(topology: Topology, ports: PortConfig) -> Config {
    let own = OwnTransport {
        segment_bytes: SEGMENT_BYTES,
        is_ecn_capable: true,
        make: Arc::new(|flow| Box::new(Paced::new(flow))),
    };
    Config { own_transport: Some(own), ..Config::new(topology, TransportParams::new_reno(), ports, END) }
}

fn run(config: Config, flows: &[Flow], observer: &mut impl Observer) -> RunResult {
    Network::new(config).unwrap().run(flows, observer).unwrap()
}

fn flow(id: u64, src: u32, dst: u32, bytes: u64) -> Flow {
    Flow { id, src, dst, bytes, start: Time::ZERO }
}

/// The times at which data packets were created.
#[derive(Default)]
struct Sent(Vec<Time>);

impl Observer for Sent {
    fn on_create(&mut self, packet: EndView<'_>, now: Time) {
        if packet.segment.from_sender() {
            self.0.push(now);
        }
    }
}

#[test]
fn a_lone_paced_flow_sends_every_gap_and_completes_a_round_trip_after_its_last_segment() {
    let topology = Topology::two_hosts(Rate::from_gbps(10), Span::from_us(100));
    let mut sent = Sent::default();
    let result = run(paced(topology, PortConfig::drop_tail(Capacity::Unlimited)), &[flow(0, 0, 1, 12_345)], &mut sent);
    // No acknowledgement comes back within the first 200 us, in which ten segments leave 20 us apart.
    let first: Vec<Time> = (0..10).map(|number| Time::ZERO + Span::from_us(20 * number)).collect();
    assert_eq!(sent.0[..10], first);
    assert_eq!(sent.0.len(), 13, "nothing is sent twice");
    // 345 bytes and 40 of header take 308 ns at 10 Gb/s, an acknowledgement 32 ns.
    let last = sent.0[12] + Span::from_ns(308 + 32) + Span::from_us(200);
    assert_eq!(result.flows[0].fct, Some(last.since(Time::ZERO)));
    assert_eq!((result.counters.delivered, result.flows[0].retransmissions), (26, 0));
}

#[test]
fn marks_hold_the_rate_of_paced_flows_at_what_their_link_carries() {
    let topology = LeafSpine::papers(1).topology().unwrap();
    let ports = PortConfig::drop_tail(Capacity::Packets(100)).with_ecn(10_000);
    let flows: Vec<Flow> = (0..4).map(|id| flow(id, id as u32, 100, 2_000_000)).collect();
    let result = run(paced(topology, ports), &flows, &mut ());
    let slowest = result.completed(&flows).map(|(_, fct)| fct).max().unwrap();
    assert_eq!((result.completed(&flows).count(), result.counters.dropped), (4, 0));
    // 8 MB and their headers take 66.6 ms at 1 Gb/s.
    assert!((66_000_000..100_000_000).contains(&slowest.as_ns()), "{slowest}");
    assert!(result.ports.iter().any(|port| port.marked_packets > 0));
}

#[test]
fn a_paced_flow_delivers_every_byte_through_a_port_that_drops_whatever_the_engine_does() {
    let run = |equal_times, observer: &mut dyn Observer| {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let mut config = paced(topology, PortConfig::drop_tail(Capacity::Packets(3)));
        config.equal_times = equal_times;
        let flows: Vec<Flow> = (0..3).map(|id| flow(id, id as u32, 100, 500_000)).collect();
        run(config, &flows, &mut &mut *observer)
    };
    let plain = run(EqualTimes::DeparturesFirst, &mut ());
    assert!(plain.counters.dropped > 0 && plain.flows.iter().any(|flow| flow.retransmissions > 0));
    assert!(plain.flows.iter().all(|flow| flow.fct.is_some() && flow.acknowledged_bytes == 500_000));
    assert_eq!(run(EqualTimes::DeparturesFirst, &mut Sent::default()), plain);
    let stepwise = run(EqualTimes::Insertion, &mut ());
    assert!(stepwise.flows.iter().all(|flow| flow.fct.is_some() && flow.acknowledged_bytes == 500_000));
}

#[test]
fn an_own_transport_that_cannot_be_is_refused() {
    let message = |change: &dyn Fn(&mut Config)| {
        let topology = Topology::two_hosts(Rate::from_gbps(10), Span::ZERO);
        let mut config = paced(topology, PortConfig::drop_tail(Capacity::Unlimited));
        change(&mut config);
        Network::new(config).unwrap_err().to_string()
    };
    for bytes in [0, 65_536] {
        let refused = message(&|config| config.own_transport.as_mut().unwrap().segment_bytes = bytes);
        let expected = format!("own_transport: segment_bytes = {bytes}: expected an integer from 1 to 65535");
        assert_eq!(refused, expected);
    }
    let udp = |host, us| UdpHost { host, interval: Span::from_us(us) };
    let refused = message(&|config| config.udp_hosts.push(udp(0, 1)));
    assert_eq!(refused, "network: udp_hosts = given: expected none beside an own transport");
    for (hosts, problem) in [
        (vec![udp(0, 1), udp(0, 2)], "udp_hosts: host = 0: expected every host once"),
        (vec![udp(2, 1)], "udp_hosts: host = 2: expected a host below 2, their number"),
        (vec![udp(1, 0)], "transport: interval = 0"),
    ] {
        let refused = message(&|config| (config.own_transport, config.udp_hosts) = (None, hosts.clone()));
        assert!(refused.starts_with(problem), "{refused}");
    }
    let refused = message(&|config| {
        (config.own_transport, config.udp_hosts) = (None, vec![udp(0, 1)]);
        config.transport = TransportParams::dctcp();
    });
    assert_eq!(refused, "udp_hosts: host = 0: expected none but beside TCP that reads no marks");
}

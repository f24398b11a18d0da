//! Parses a line of text to the events of a port, for tests of observers.

use pifolab_sched::schedulers::{Fifo, FifoParams};
use pifolab_sched::{Capacity, DropReason};
use pifolab_sim::observer::{EndView, Flags, Loss, Observer, PacketView, PortId, Segment};
use pifolab_units::{Rank, Time};

/// One event: its kind, packet, queue and time.
pub(crate) struct Event {
    kind: u8,
    packet: PacketView,
    queue: u32,
    time: Time,
}

/// Parses `+5` (a packet of rank 5 is admitted), `x5` (refused because full), `e5` (pushed out), `-5` (sent). In `+5/1`
/// the flow is 1, in `+5@2` and `x5@2` the queue is 2. Events are 1 us apart. Of packets with equal rank and flow, the
/// earliest arrival leaves.
pub(crate) fn events(text: &str) -> Vec<Event> {
    let mut waiting: Vec<(PacketView, u32)> = Vec::new();
    let mut arrivals = 0;
    let mut read = |(word, index): (&str, u64)| {
        let time = Time::from_ns(index * 1_000);
        let (kind, rest) = word.split_at(1);
        let (rest, queue) = rest.split_once('@').unwrap_or((rest, "0"));
        let (rank, flow) = rest.split_once('/').unwrap_or((rest, "0"));
        let (rank, flow) = (Rank::saturating(rank.parse().unwrap()), flow.parse::<u32>().unwrap());
        let kind = kind.as_bytes()[0];
        if matches!(kind, b'+' | b'x') {
            let packet = PacketView { id: arrivals, flow, size: 1000, rank, arrival: time };
            arrivals += 1;
            let queue = queue.parse().unwrap();
            if kind == b'+' {
                waiting.push((packet, queue));
            }
            return Event { kind, packet, queue, time };
        }
        let place = waiting.iter().position(|(packet, _)| packet.rank == rank && packet.flow == flow);
        let (packet, queue) = waiting.remove(place.expect("such a packet waits"));
        Event { kind, packet, queue, time }
    };
    text.split_whitespace().zip(0..).map(&mut read).collect()
}

/// Sends the events to an observer, then the end of the run.
pub(crate) fn run(observer: &mut impl Observer, events: Vec<Event>) {
    let scheduler = <Fifo>::new(FifoParams { capacity: Capacity::Packets(1) }).unwrap();
    let mut end = Time::ZERO;
    for Event { kind, packet, queue, time } in events {
        end = time;
        match kind {
            b'+' => observer.on_admit(PortId(0), packet, queue, &scheduler, time),
            b'-' => observer.on_dequeue(PortId(0), packet, queue, &scheduler, time),
            b'x' => observer.on_drop(PortId(0), packet, Loss::refused(DropReason::Full, Some(queue)), &scheduler, time),
            b'e' => {
                observer.on_drop(PortId(0), packet, Loss::of_admitted(DropReason::PushedOut, None), &scheduler, time)
            }
            other => panic!("no outcome {:?}", other as char),
        }
    }
    observer.on_end(end);
}

/// Sends an observer the arrival at the receiver, `us` microseconds after the start, of a data packet that was sent at
/// `sent` microseconds.
pub(crate) fn deliver_sent(observer: &mut impl Observer, us: u64, flow: u32, sent: u64, seq: u32) {
    let segment = Segment { stamp: Time::from_ns(sent * 1_000), ..segment(seq, 1460) };
    observer.on_deliver(
        EndView { id: 0, flow, host: 0, size: 1500, segment: &segment, frame: &[] },
        Time::from_ns(us * 1_000),
    );
}

/// Sends an observer the arrival at `host`, `us` microseconds after the start, of a packet with `payload_bytes`.
pub(crate) fn deliver(observer: &mut impl Observer, us: u64, host: u32, flow: u32, seq: u32, payload_bytes: u16) {
    let segment = segment(seq, payload_bytes);
    let packet = EndView { id: 0, flow, host, size: u32::from(payload_bytes) + 40, segment: &segment, frame: &[] };
    observer.on_deliver(packet, Time::from_ns(us * 1_000));
}

fn segment(seq: u32, payload_bytes: u16) -> Segment {
    let (stamp, rank, flags) = (Time::ZERO, Rank::from(7), Flags::default());
    Segment { stamp, rank, seq, ack: 0, sack: 0, payload_bytes, flags }
}

//! The scheduled output port: a scheduler, the frames that it holds, and a link of a given rate in virtual time.
//!
//! The port knows no socket and reads no clock. Arrivals come with the time at which the kernel saw them; the link
//! starts the next frame exactly when the one before ends. Decisions therefore do not depend on when the process gets
//! the processor: a late wake-up sends frames late, but the same frames in the same order.
//!
//! Every arrival passes through the scheduler, also when the link is idle; the frame on the link does not occupy the
//! scheduler. A departure at the same instant goes before an arrival.

use super::arena::{Arena, Slot, VlanTag};
use super::counters::Counters;
use super::share::PacedShare;
use pifolab_frames::flows::{FlowNumber, FlowTable};
use pifolab_frames::frame::{FlowKey, Kind, complete_checksum, parse};
use pifolab_frames::reader::RankReader;
use pifolab_sched::{Capacity, Dequeued, Enqueued, Hints, InspectExt, Labels, Packet, Scheduler};
use pifolab_units::{Bytes, Rate, Rounding, Span, Time};
use std::collections::VecDeque;

/// A frame as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the destination MAC address to the end.
    pub bytes: &'a [u8],
    /// The VLAN tag that the kernel took out.
    pub vlan: Option<VlanTag>,
    /// Its length on the wire; more than `bytes` holds if the ring had to cut it.
    pub wire_length: usize,
    /// Whether its transport checksum still has to be computed.
    pub checksum_missing: bool,
}

impl<'a> Frame<'a> {
    /// A whole frame without a tag.
    pub const fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, vlan: None, wire_length: bytes.len(), checksum_missing: false }
    }
}

/// What a [`Port`] is built from, beside its scheduler.
pub struct PortConfig {
    /// Where ranks come from.
    pub rank: RankReader,
    /// What frames that are not IP get of the link, in 65536ths, if they have no rank.
    pub not_ip_share: u32,
    /// The link's rate.
    pub rate: Rate,
    /// Bytes added to each frame's length on the link (24 for Ethernet's preamble, check sum and gap; 0 counts as the kernel does).
    pub overhead: Bytes,
    /// Delay between the end of transmission and delivery.
    pub delay: Span,
    /// The longest frame.
    pub frame_bytes: usize,
    /// Flows that get a number of their own.
    pub flows: u32,
    /// A flow that was silent for longer counts as another one; zero: never.
    pub flow_timeout: Span,
}

/// The shortest Ethernet frame without its check sum: bounds how many frames a capacity in bytes can hold.
const SHORTEST_FRAME: u64 = 60;
/// The most slots that a scheduler gets: 1 GiB of full-size frames.
const MOST_SLOTS: u64 = 1 << 19;
/// Frames on the link and in the delay line beyond what rate and delay need at most: covers late wake-ups.
const WIRE_SLACK: usize = 256;
const MOST_ON_WIRE: u64 = 1 << 16;
/// Frames that the owner of a port takes from it, at most, before it releases their slots.
pub const MOST_LEAVING: usize = 32;

impl PortConfig {
    /// Frames that may be on the link and in the delay line.
    fn most_on_wire(&self) -> usize {
        let shortest = self.rate.serialisation(Bytes(SHORTEST_FRAME + self.overhead.0), Rounding::UpToPicosecond);
        (self.delay.as_ps() / shortest.as_ps()).min(MOST_ON_WIRE) as usize + WIRE_SLACK
    }
}

/// Slots for a scheduler of this capacity, with so many frames on the wire. One more than the scheduler holds: the arriving
/// frame needs one before the scheduler decides.
fn slots(capacity: Capacity, on_wire: usize) -> usize {
    let held = match capacity {
        Capacity::Packets(packets) => u64::from(packets),
        Capacity::Bytes(bytes) => bytes / SHORTEST_FRAME + 1,
        Capacity::Unlimited => MOST_SLOTS,
    };
    held.min(MOST_SLOTS) as usize + 1 + PacedShare::MOST_HELD + on_wire + MOST_LEAVING
}

/// A scheduled output port.
pub struct Port<S> {
    scheduler: S,
    config: PortConfig,
    flows: FlowTable,
    arena: Arena,
    /// Frames that are not IP.
    share: PacedShare,
    wire: VecDeque<(Slot, Time)>,
    wire_limit: usize,
    /// When the link ends the frame that it carries.
    free_at: Time,
    /// The latest time that this port was told.
    last: Time,
    /// When the scheduler may hand out its next packet, if it said so.
    not_before: Time,
    /// The length of the frame that was offered last.
    offered_bytes: usize,
    counters: Counters,
}

impl<S: Scheduler> Port<S> {
    /// A port with nothing in it.
    pub fn new(scheduler: S, config: PortConfig) -> Self {
        let wire_limit = config.most_on_wire();
        Self {
            arena: Arena::new(slots(scheduler.capacity(), wire_limit), config.frame_bytes),
            share: PacedShare::new(config.rate, config.not_ip_share),
            wire: VecDeque::with_capacity(wire_limit),
            wire_limit,
            flows: FlowTable::new(config.flows, config.flow_timeout),
            counters: Counters::new(scheduler.queues()),
            free_at: Time::ZERO,
            last: Time::ZERO,
            not_before: Time::ZERO,
            offered_bytes: 0,
            scheduler,
            config,
        }
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The scheduler, to be exchanged for another one.
    pub(super) const fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// Prepares for a scheduler of another capacity, with so many queues.
    pub(super) fn make_room_for(&mut self, capacity: Capacity, queues: usize) {
        self.arena.grow_to(slots(capacity, self.wire_limit));
        self.counters.admitted_per_queue.resize(queues.max(self.counters.admitted_per_queue.len()), 0);
        self.not_before = Time::ZERO;
    }

    /// The link goes on at another rate; the frame that it carries is not touched.
    pub fn change_rate(&mut self, rate: Rate) {
        self.config.rate = rate;
        self.share.change_link(rate, self.config.not_ip_share);
        self.wire_limit = self.config.most_on_wire();
        self.arena.grow_to(slots(self.scheduler.capacity(), self.wire_limit));
    }

    pub(super) fn count_lost_at_change(&mut self, bytes: usize) {
        self.counters.lost_at_change.add(bytes);
    }

    #[cfg(test)]
    pub(super) fn into_config(self) -> PortConfig {
        self.config
    }

    /// What became of the frames so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The frame in a slot that [`poll_ready`](Self::poll_ready) or the scheduler named.
    pub fn frame(&self, slot: Slot) -> &[u8] {
        self.arena.frame(slot)
    }

    /// Takes a frame that arrived at `at`; lets everything that is due before it leave first.
    pub fn handle_frame(&mut self, frame: Frame<'_>, at: Time) {
        self.advance(at);
        if let Some(outcome) = self.offer(frame, self.last) {
            self.settle(&outcome);
            self.advance(self.last);
        }
    }

    /// Stores, classifies and ranks a frame, and offers it to the scheduler; `None` if it never came to that. The
    /// outcome must go to [`settle`](Self::settle).
    pub fn offer(&mut self, frame: Frame<'_>, now: Time) -> Option<Enqueued> {
        self.counters.received.add(frame.wire_length);
        if frame.wire_length > frame.bytes.len() {
            self.counters.oversized.add(frame.wire_length);
            return None;
        }
        let Some(slot) = self.arena.store(frame.bytes, frame.vlan) else {
            self.counters.no_slot.add(frame.wire_length);
            return None;
        };
        if frame.checksum_missing {
            complete_checksum(self.arena.frame_mut(slot));
        }
        let bytes = self.arena.frame(slot);
        let kind = parse(bytes, self.config.rank.reads_labels());
        let mut labels = Labels::default();
        let (rank, key) = match (kind, self.config.rank.not_ip) {
            (Kind::Ip(headers), _) => {
                labels = headers.labels();
                let rank = self.config.rank.read(bytes, &headers).unwrap_or_else(|| {
                    self.counters.unranked += 1;
                    self.config.rank.missing
                });
                (rank, headers.flow)
            }
            (Kind::Neighbour | Kind::Other, Some(rank)) => {
                self.counters.not_ip += 1;
                (rank, FlowKey::default())
            }
            (Kind::Neighbour | Kind::Other, None) => {
                self.bypass(slot, kind == Kind::Neighbour);
                return None;
            }
        };
        let size = bytes.len() as u32;
        self.offered_bytes = bytes.len();
        let flow = self.flow(&key, now);
        if self.scheduler.wants().has_hints() {
            self.scheduler.hint(u64::from(slot), &Hints { labels, ..Hints::default() });
        }
        Some(self.scheduler.enqueue(Packet { id: u64::from(slot), flow, size, rank, arrival: now }, now))
    }

    /// Gives the flow of `frame` its number before its first packet comes: a harness needs numbers in an order of its
    /// own.
    pub fn introduce_flow(&mut self, frame: &[u8]) {
        if let Kind::Ip(headers) = parse(frame, false) {
            self.flow(&headers.flow, self.last);
        }
    }

    /// The number of a flow. One that had the number before is forgotten.
    fn flow(&mut self, key: &FlowKey, now: Time) -> u32 {
        let FlowNumber { number, replaces } = self.flows.number(key, now);
        if replaces {
            self.counters.flows_forgotten += 1;
            self.scheduler.forget_flow(number);
        }
        number
    }

    /// Frames that no rank can be asked of must not wait behind a full buffer, since without ARP nothing works; but they
    /// take link time, and only their share of it.
    fn bypass(&mut self, slot: Slot, neighbour: bool) {
        let length = self.arena.frame(slot).len();
        if self.share.push(slot, neighbour) {
            self.counters.bypassed.add(length);
        } else {
            self.counters.dropped_not_ip.add(length);
            self.arena.release(slot);
        }
    }

    /// Counts what became of an offered frame and frees the slots of those that are gone.
    pub fn settle(&mut self, outcome: &Enqueued) {
        match outcome {
            Enqueued::Admitted { queue, .. } => self.admit(*queue),
            Enqueued::Evicted { queue, victims, .. } => {
                self.admit(*queue);
                for victim in victims.iter() {
                    self.counters.evicted.add(victim.size as usize);
                    self.arena.release(victim.id as Slot);
                }
            }
            Enqueued::Dropped { packet, reason } => {
                self.counters.refused(*reason).add(packet.size as usize);
                self.arena.release(packet.id as Slot);
            }
        }
    }

    fn admit(&mut self, queue: u32) {
        self.counters.admitted_per_queue[queue as usize] += 1;
        self.counters.admitted.add(self.offered_bytes);
        self.not_before = Time::ZERO;
    }

    /// Asks the scheduler for its next frame at `now`, past the link: for a harness that plays the link itself. The
    /// slot of a frame must be freed by [`release`](Self::release).
    pub fn take(&mut self, now: Time) -> Dequeued {
        let outcome = self.scheduler.dequeue(now);
        match &outcome {
            Dequeued::Packet { packet, .. } => self.counters.dequeued.add(packet.size as usize),
            Dequeued::Dropped { packet, .. } => {
                self.counters.dropped_at_dequeue.add(packet.size as usize);
                self.arena.release(packet.id as Slot);
            }
            Dequeued::NotBefore(_) | Dequeued::Empty => {}
        }
        outcome
    }

    /// Frees the slot of a frame that has left.
    pub fn release(&mut self, slot: Slot) {
        self.arena.release(slot);
    }

    /// Lets every transmission begin that is due until `until`.
    pub fn advance(&mut self, until: Time) {
        let until = until.max(self.last);
        while self.wire.len() < self.wire_limit {
            // A backlogged link begins the next frame when it ends the last; an idle one when the frame arrived,
            // which is the last time that this port was told, since it advances on every arrival.
            let free = self.free_at.max(self.last);
            let own = self.share.not_before().map(|at| at.max(free));
            let ranked = (!self.scheduler.is_empty()).then(|| self.not_before.max(free));
            let Some(start) = own.into_iter().chain(ranked).min().filter(|start| *start <= until) else { break };
            if own == Some(start) {
                let slot = self.share.pop(start, |slot| self.arena.frame(slot).len());
                let bytes = self.arena.frame(slot).len();
                self.transmit(slot, bytes, start);
                continue;
            }
            match self.take(start) {
                Dequeued::Packet { packet, .. } => self.transmit(packet.id as Slot, packet.size as usize, start),
                Dequeued::Dropped { .. } => {}
                Dequeued::NotBefore(time) => self.not_before = time,
                Dequeued::Empty => break,
            }
        }
        self.last = until;
    }

    /// Puts a frame on the link.
    fn transmit(&mut self, slot: Slot, bytes: usize, start: Time) {
        let bytes = Bytes(bytes as u64 + self.config.overhead.0);
        self.free_at = start + self.config.rate.serialisation(bytes, Rounding::UpToPicosecond);
        self.wire.push_back((slot, self.free_at + self.config.delay));
    }

    /// The next frame that has reached the far end of the link by `now`; its slot must be freed by
    /// [`release`](Self::release) when it has been sent, with at most [`MOST_LEAVING`] others.
    pub fn poll_ready(&mut self, now: Time) -> Option<Slot> {
        let (slot, ready) = *self.wire.front()?;
        if ready > now {
            return None;
        }
        self.wire.pop_front();
        let lag = now.since(ready).as_ns() / 1_000;
        self.counters.worst_lag_us = self.counters.worst_lag_us.max(lag);
        self.counters.late += u64::from(lag > 100);
        Some(slot)
    }

    /// When this port next has something to do, arrivals aside.
    pub fn poll_timeout(&self) -> Option<Time> {
        let delivery = self.wire.front().map(|(_, ready)| *ready);
        let start = (!self.scheduler.is_empty()).then(|| self.free_at.max(self.not_before));
        let own = self.share.not_before().map(|at| at.max(self.free_at));
        delivery.into_iter().chain(start).chain(own).min()
    }

    /// Until when the link is busy with the frame that it carries.
    pub const fn busy_until(&self) -> Time {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{RankSource, WHOLE};
    use pifolab_frames::frame::udp_frame;
    use pifolab_sched::schedulers::{Fifo, FifoParams};
    use pifolab_units::Rank;

    /// 42 bytes of headers and 83 of payload: 1 us at 1 Gb/s.
    fn frame(dscp: u8, number: u8) -> Vec<u8> {
        udp_frame(dscp, u16::from(number), &[number; 83])
    }

    fn port(capacity: u32, delay: Span) -> Port<Fifo> {
        let fifo = Fifo::new(FifoParams { capacity: Capacity::Packets(capacity) }).expect("a valid capacity");
        let config = PortConfig {
            rank: RankReader::new(Some(RankSource::Dscp), Rank::from(63)),
            not_ip_share: WHOLE / 20,
            rate: Rate::from_gbps(1),
            overhead: Bytes(0),
            delay,
            frame_bytes: 2048,
            flows: 16,
            flow_timeout: Span::ZERO,
        };
        Port::new(fifo, config)
    }

    /// Sends what is ready by `now`; returns the last byte of each frame, which names it.
    fn ready<S: Scheduler>(port: &mut Port<S>, now: Time) -> Vec<u8> {
        let mut sent = Vec::new();
        while let Some(slot) = port.poll_ready(now) {
            sent.push(*port.frame(slot).last().expect("a frame has bytes"));
            port.release(slot);
        }
        sent
    }

    #[test]
    fn an_idle_link_delivers_after_the_serialisation_time_and_the_delay() {
        let mut port = port(4, Span::from_us(10));
        port.handle_frame(Frame::whole(&frame(0, 1)), Time::from_ns(500));
        assert_eq!(port.poll_timeout(), Some(Time::from_ns(11_500)));
        assert!(ready(&mut port, Time::from_ns(11_499)).is_empty());
        assert_eq!(ready(&mut port, Time::from_ns(11_500)), [1]);
        assert_eq!(port.poll_timeout(), None);
    }

    #[test]
    fn a_backlogged_link_never_pauses_however_late_it_is_asked() {
        let mut port = port(4, Span::ZERO);
        for number in 1..=4 {
            port.handle_frame(Frame::whole(&frame(0, number)), Time::from_ns(u64::from(number)));
        }
        let late = Time::from_ns(50_000);
        port.advance(late);
        assert_eq!(ready(&mut port, late), [1, 2, 3, 4]);
        assert_eq!(port.busy_until(), Time::from_ns(4_001));
        assert_eq!(port.counters().worst_lag_us, 48);
    }

    #[test]
    fn decisions_follow_arrival_times_not_the_time_of_asking() {
        // Room for two. The link takes the first frame at 1 ns and the second at 1001 ns, so the fourth, at 1002 ns,
        // finds room, while the fifth at the same instant does not.
        let mut port = port(2, Span::ZERO);
        for (number, at) in [(1, 1), (2, 2), (3, 3), (4, 1_002), (5, 1_002)] {
            port.handle_frame(Frame::whole(&frame(0, number)), Time::from_ns(at));
        }
        port.advance(Time::from_ns(9_000));
        assert_eq!(ready(&mut port, Time::from_ns(9_000)), [1, 2, 3, 4]);
        assert_eq!(port.counters().dropped_full.packets, 1);
        assert!(port.counters().balance(0));
    }

    #[test]
    fn a_departure_goes_before_an_arrival_at_the_same_instant() {
        let mut port = port(1, Span::ZERO);
        for (number, at) in [(1, 0), (2, 0), (3, 1_000)] {
            port.handle_frame(Frame::whole(&frame(0, number)), Time::from_ns(at));
        }
        assert_eq!(port.counters().dropped_full.packets, 0);
    }

    #[test]
    fn frames_without_ip_pass_a_full_buffer() {
        let mut port = port(1, Span::ZERO);
        for number in 1..=3 {
            port.handle_frame(Frame::whole(&frame(0, number)), Time::ZERO);
        }
        let mut arp = frame(0, 9);
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        port.handle_frame(Frame::whole(&arp), Time::from_ns(10));
        // It goes before what waits, and takes its time on the link.
        assert_eq!(ready(&mut port, Time::from_ns(1_999)), [1]);
        port.advance(Time::from_ns(5_000));
        assert_eq!(ready(&mut port, Time::from_ns(2_000)), [9]);
        assert!(ready(&mut port, Time::from_ns(2_999)).is_empty());
        assert_eq!(ready(&mut port, Time::from_ns(3_000)), [2]);
        let counters = port.counters();
        assert_eq!((counters.bypassed.packets, counters.dropped_full.packets), (1, 1));
        assert!(counters.balance(0));
    }

    /// Offers twice the link in frames that are not IP (of which every tenth is ARP), and as much in IP frames. Returns the
    /// shares of the link of IP, of ARP and of the others.
    fn flood(mut port: Port<Fifo>, flood: [u8; 2]) -> [f64; 3] {
        let length = 10_000_u64;
        let mut sent = [0.0; 3];
        for step in 0..length {
            let now = Time::from_ns(step * 500);
            let mut other = frame(0, 9);
            other[12..14].copy_from_slice(if step % 10 == 0 { &[0x08, 0x06] } else { &flood });
            port.handle_frame(Frame::whole(&other), now);
            if step % 2 == 0 {
                port.handle_frame(Frame::whole(&frame(0, 1)), now);
            }
            while let Some(slot) = port.poll_ready(now) {
                let kind = match port.frame(slot)[12..14] {
                    [0x08, 0x00] => 0,
                    [0x08, 0x06] => 1,
                    _ => 2,
                };
                sent[kind] += 1.0;
                port.release(slot);
            }
        }
        assert!(port.counters().balance(port.scheduler().len() as u64));
        // A frame takes 1 us, an arrival comes every half.
        sent.map(|frames| frames / (length as f64 / 2.0))
    }

    #[test]
    fn a_flood_that_is_not_ip_gets_its_share_of_the_link_and_no_more_and_arp_lives() {
        // Every tenth of twice the link is ARP: four times its share of 5 %, so that both halves are in use.
        let [ip, arp, others] = flood(port(20, Span::ZERO), [0x88, 0xb5]);
        assert!((0.94..=0.955).contains(&ip), "IP {ip}, ARP {arp}, others {others}");
        assert!((0.02..=0.03).contains(&arp) && (0.02..=0.03).contains(&others), "ARP {arp}, others {others}");
    }

    #[test]
    fn a_broken_ip_header_is_no_way_past_the_scheduler() {
        let mut port = port(1, Span::ZERO);
        let mut broken = frame(0, 9);
        broken[14] = 0x44;
        for _ in 0..1000 {
            port.handle_frame(Frame::whole(&broken), Time::ZERO);
        }
        let counters = port.counters();
        assert!(counters.bypassed.packets < 50, "{counters:?}");
        assert_eq!(counters.bypassed.packets + counters.dropped_not_ip.packets, 1000);
    }

    #[test]
    fn frames_that_are_not_ip_can_have_a_rank_like_others() {
        let mut port = port(4, Span::ZERO);
        port.config.rank.not_ip = Some(Rank::from(7));
        let mut arp = frame(0, 9);
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        for _ in 0..10 {
            port.handle_frame(Frame::whole(&arp), Time::ZERO);
        }
        let counters = port.counters();
        assert_eq!((counters.bypassed.packets, counters.not_ip, counters.dropped_full.packets), (0, 10, 5));
        assert!(counters.balance(4));
    }

    #[test]
    fn a_flow_that_gets_the_number_of_another_does_not_inherit_its_past() {
        use pifolab_sched::Ranked;
        use pifolab_sched::ranks::Las;
        use pifolab_sched::schedulers::{Pifo, PifoParams};
        let pifo = Pifo::new(PifoParams::packets(100)).expect("valid");
        let mut port = Port::new(Ranked::new(Las::new(), pifo), port(1, Span::ZERO).config);
        let mut rank_of = |source_port: u16| {
            let frame = udp_frame(0, source_port, &[0; 83]);
            match port.offer(Frame::whole(&frame), Time::ZERO) {
                Some(Enqueued::Admitted { rank, .. }) => rank.get(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([rank_of(0), rank_of(0), rank_of(0)], [0, 125, 250]);
        // The table has room for 16 flows.
        for port in 1..17 {
            assert_eq!(rank_of(port), 0, "flow {port} is new");
        }
        assert_eq!(rank_of(0), 0, "it was forgotten");
        assert_eq!(port.counters().flows_forgotten, 2);
    }

    #[test]
    fn a_flow_that_was_silent_for_long_begins_anew() {
        use pifolab_sched::Ranked;
        use pifolab_sched::ranks::Las;
        use pifolab_sched::schedulers::{Pifo, PifoParams};
        let pifo = Pifo::new(PifoParams::packets(100)).expect("valid");
        let config = PortConfig { flow_timeout: Span::from_us(60_000_000), ..port(1, Span::ZERO).config };
        let mut port = Port::new(Ranked::new(Las::new(), pifo), config);
        let mut rank_at = |second: u64| match port
            .offer(Frame::whole(&udp_frame(0, 7, &[0; 83])), Time::ZERO + Span::from_us(1_000_000 * second))
        {
            Some(Enqueued::Admitted { rank, .. }) => rank.get(),
            other => panic!("{other:?}"),
        };
        assert_eq!([rank_at(0), rank_at(59), rank_at(119), rank_at(180), rank_at(181)], [0, 125, 250, 0, 125]);
        assert_eq!(port.counters().flows_forgotten, 1);
    }

    #[test]
    fn cut_frames_are_dropped_and_counted() {
        let mut port = port(1, Span::ZERO);
        let bytes = frame(0, 1);
        port.handle_frame(Frame { wire_length: 64_000, ..Frame::whole(&bytes) }, Time::ZERO);
        assert_eq!(port.counters().oversized, crate::switch::counters::Tally { packets: 1, bytes: 64_000 });
        assert!(port.counters().balance(0));
    }

    #[test]
    fn every_slot_comes_back() {
        let mut port = port(8, Span::from_us(3));
        let mut now = Time::ZERO;
        for round in 0..10_000_u64 {
            now += Span::from_ns(300 + round % 7 * 150);
            port.handle_frame(Frame::whole(&frame(0, round as u8)), now);
            ready(&mut port, now);
            assert!(port.counters().balance(port.scheduler().len() as u64));
        }
        now += Span::from_us(100);
        port.advance(now);
        ready(&mut port, now);
        assert_eq!(port.arena.held(), 0);
        assert!(port.counters().dropped_full.packets > 0);
    }
}

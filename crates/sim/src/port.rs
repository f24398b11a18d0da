//! An output port: a scheduler, a serialiser, accounts, and one timer. Networks and the single link use the same port
//! with different engines.
//!
//! All outcomes of packets are booked here and nowhere else. [`Port::enqueue`] handles every outcome of a scheduler's
//! `enqueue`, [`Port::serve`] every outcome of its `dequeue`; both may drop a packet, for any reason. Without an
//! observer, the ports of a network store handles: [`Port::enqueue_handle`], [`Port::enqueue_sorted`] and
//! [`Port::pop`].
//!
//! A scheduler that holds packets but may send none before some time sets the port's only timer ([`Port::wait_until`]).
//! A packet sent before that stops the timer.

use crate::event_queue::EventId;
use crate::network::Link;
use crate::observer::{Loss, PacketView};
use crate::replay::{IdlePort, WireTime};
use pifolab_params::Choice;
use pifolab_sched::{Dequeued, DropReason, Enqueued, Handle, Inspect, InspectExt, Packet};
use pifolab_units::{Bytes, Rank, Rounding, Span, Time};
use std::hint::select_unpredictable;

/// The scheduler of a port that stores packets.
pub(crate) trait Order {
    /// Offers a packet.
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued;

    /// Takes the next packet. `unqueued`: an idle port has just admitted it and sends it past the queue, so
    /// `on_dequeue` of the rank function is not called.
    fn dequeue(&mut self, unqueued: bool, now: Time) -> Dequeued;

    /// Whether to mark the packet that was just admitted or taken.
    fn take_mark(&mut self) -> bool {
        false
    }

    /// The new label of the packet that was just admitted or taken, if there is one.
    fn take_label(&mut self) -> Option<u64> {
        None
    }

    /// The view of the scheduler for observers.
    fn inspect(&self) -> &dyn Inspect;
}

/// The scheduler of a port that stores handles.
pub(crate) trait Handles: Order {
    /// Offers a handle to a queue ordered by rank.
    fn offer_sorted(&mut self, rank: Rank, handle: Handle) -> Enqueued<Handle>;

    /// Takes the next handle; the default handle if there is none.
    fn pop(&mut self) -> Handle;
}

/// Gets the outcomes of packets.
pub(crate) trait Listener {
    /// `packet` was stored in `queue` with its rank at this port.
    fn admitted(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time);

    /// The scheduler marks the packet with this id, which it has just admitted or returned.
    fn marked(&mut self, id: u64) {
        let _ = id;
    }

    /// The scheduler writes `label` into the packet with this id, which it has just admitted or returned.
    fn labelled(&mut self, id: u64, label: u64) {
        let _ = (id, label);
    }

    /// The packet of `handle` is lost, and booked as lost.
    fn lost(&mut self, handle: Handle, reason: DropReason) {
        let _ = (handle, reason);
    }

    /// `packet` is lost, and booked as lost.
    fn dropped(&mut self, packet: &Packet, loss: Loss, scheduler: &dyn Inspect, now: Time);
}

/// The next packet for an idle wire.
pub(crate) enum Served {
    /// This packet, from this queue.
    Packet(Packet, u32),
    /// Packets wait, but none may leave before this instant.
    NotBefore(Time),
    /// Nothing.
    Nothing,
}

/// The accounts of one output port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortResult {
    /// Packets that arrived.
    pub arrived_packets: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that were put on the wire.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped, in the order of [`DropReason::ALL`].
    pub dropped_packets: [u64; DropReason::ALL.len()],
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Packets that waited here when the link failed.
    pub link_down_packets: u64,
    /// Packets that were put on the wire and lost there because the link failed.
    pub lost_on_wire_packets: u64,
    /// Packets that were marked (congestion experienced).
    pub marked_packets: u64,
    /// The largest number of waiting packets.
    pub most_waiting: u32,
    /// Packets that wait at the end.
    pub waiting: u32,
    /// Time during which the wire was busy, up to the end of the run.
    pub busy: Span,
}

impl PortResult {
    /// Joins the accounts of a port in another part of the network, which owns it or not: the part at the other end of its link
    /// books the packets lost on the wire.
    pub(crate) fn join(&mut self, other: &Self, owns: bool) {
        let lost_on_wire_packets = self.lost_on_wire_packets + other.lost_on_wire_packets;
        *self = Self { lost_on_wire_packets, ..if owns { *other } else { *self } };
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_packets.iter().sum::<u64>() + self.link_down_packets
    }
}

/// Counters that every packet updates.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Traffic {
    arrived_packets: u64,
    arrived_bytes: u64,
    sent_packets: u64,
    sent_bytes: u64,
    /// The total idle time of the wire before the last transmission. It needs no update for a packet that directly
    /// follows another.
    idle: Span,
}

/// Counters that few packets update.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    marked_packets: u64,
    link_down_packets: u64,
    lost_on_wire_packets: u64,
    dropped_packets: [u64; DropReason::ALL.len()],
    dropped_bytes: u64,
}

/// The time at which a port calls a scheduler again that holds its packets back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wakeup {
    pub(crate) time: Time,
    /// Its event, if the engine has an event queue.
    pub(crate) event: Option<EventId>,
}

/// One output port. Every packet reads the first cache line and updates the traffic; in a network the queue starts on
/// the second line.
#[repr(C, align(64))]
pub(crate) struct Port<Q> {
    /// The time at which the wire becomes free.
    pub(crate) busy_until: Time,
    pub(crate) delay: Span,
    /// Picoseconds per byte, or 0 if that is not a whole number or does not fit.
    ps_per_byte: u32,
    /// Smaller packets (in bytes) bypass the scheduler while nothing waits and the wire is idle.
    pub(crate) passes_below: u32,
    /// Bytes in the queue.
    backlog: u64,
    pub(crate) ecn_threshold: u64,
    pub(crate) ecn_threshold_packets: u32,
    /// Packets in the queue.
    waiting: u32,
    /// The node at the far end.
    pub(crate) to: u32,
    most_waiting: u32,
    /// The packet on the wire if departures are events, or [`NOTHING`].
    serving: u32,
    /// Whether the last packet sent affects the next one: it takes room in the buffer, or its size sets the next wire
    /// time.
    looks_back: bool,
    /// Whether the scheduler holds packets but releases none yet: the timer runs.
    pub(crate) held_back: bool,
    /// Whether its link leads to another part of the network.
    pub(crate) crosses: bool,
    pub(crate) idle: IdlePort,
    pub(crate) queue: Q,
    traffic: Traffic,
    /// Bytes of the last packet sent; kept only if they set the wire time of the next one.
    size_before: u32,
    /// Bytes of the packet on the wire, if it takes room in the buffer.
    serving_bytes: u32,
    /// Whether the packet on the wire takes room in the buffer.
    counts_serving: bool,
    wire_time: WireTime,
    pub(crate) at_host: bool,
    pub(crate) wants_hints: bool,
    /// Whether the scheduler may mark packets or write labels.
    pub(crate) may_mark: bool,
    pub(crate) cold: Box<Cold>,
}

/// No packet is on the wire.
const NOTHING: u32 = u32::MAX;

/// Fields that few packets of a port access.
pub(crate) struct Cold {
    /// Capacity of a drop-tail queue; without limit otherwise.
    pub(crate) most_packets: u32,
    pub(crate) most_bytes: u64,
    link: Link,
    timer: Wakeup,
    losses: Losses,
}

impl<Q: Order> Port<Q> {
    /// An idle port on this link. A network sets further options by field.
    pub(crate) fn new(queue: Q, link: Link) -> Self {
        const BIT_PS_PER_S: u64 = 8_000_000_000_000;
        let bps = link.rate.as_bps();
        Self {
            busy_until: Time::ZERO,
            delay: link.delay,
            ps_per_byte: if BIT_PS_PER_S.is_multiple_of(bps) {
                u32::try_from(BIT_PS_PER_S / bps).unwrap_or(0)
            } else {
                0
            },
            passes_below: 0,
            backlog: 0,
            ecn_threshold: u64::MAX,
            ecn_threshold_packets: u32::MAX,
            waiting: 0,
            to: link.to,
            most_waiting: 0,
            serving: NOTHING,
            looks_back: false,
            held_back: false,
            crosses: false,
            idle: IdlePort::Scheduler,
            traffic: Traffic::default(),
            queue,
            size_before: 0,
            serving_bytes: 0,
            counts_serving: false,
            wire_time: WireTime::Own,
            at_host: false,
            wants_hints: false,
            may_mark: false,
            cold: Box::new(Cold {
                most_packets: u32::MAX,
                most_bytes: u64::MAX,
                link,
                timer: Wakeup { time: Time::ZERO, event: None },
                losses: Losses::default(),
            }),
        }
    }

    /// Books a packet that arrives. Returns whether it is marked.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, size: u32) -> bool {
        self.traffic.arrived_packets += 1;
        self.traffic.arrived_bytes += u64::from(size);
        // One branch for both thresholds, of which one is usually out of reach.
        let marked = (self.backlog >= self.ecn_threshold) | (self.waiting >= self.ecn_threshold_packets);
        if marked {
            self.cold.losses.marked_packets += 1;
        }
        marked
    }

    /// Offers a packet to the scheduler.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Time, listener: &mut impl Listener) {
        let mut view = PacketView::from(&packet);
        let (queue, rank) = match self.queue.enqueue(packet, now) {
            Enqueued::Admitted { queue, rank } => (queue, rank),
            Enqueued::Evicted { queue, rank, victims } => {
                for victim in victims.iter() {
                    self.give_up(victim, DropReason::PushedOut, now, listener);
                }
                (queue, rank)
            }
            Enqueued::Dropped { packet, reason } => return self.refuse(&packet, reason, now, listener),
        };
        self.waiting += 1;
        self.backlog += u64::from(view.size);
        if self.may_mark {
            self.mark(view.id, listener);
        }
        view.rank = rank;
        listener.admitted(view, queue, self.queue.inspect(), now);
    }

    /// Takes the next packet from the scheduler.
    ///
    /// # Panics
    /// If the scheduler returns a time that is not in the future.
    #[inline]
    pub(crate) fn serve(&mut self, unqueued: bool, now: Time, listener: &mut impl Listener) -> Served {
        loop {
            match self.queue.dequeue(unqueued, now) {
                Dequeued::Packet { packet, queue } => {
                    self.leave(packet.size);
                    if self.may_mark {
                        self.mark(packet.id, listener);
                    }
                    return Served::Packet(packet, queue);
                }
                Dequeued::Dropped { packet, reason } => self.give_up(&packet, reason, now, listener),
                Dequeued::NotBefore(time) => {
                    assert!(time > now, "the scheduler may not serve before {time}, yet it is {now}");
                    return Served::NotBefore(time);
                }
                Dequeued::Empty => return Served::Nothing,
            }
        }
    }

    /// Books and reports the mark and the new label of the packet that the scheduler has just admitted or returned, if
    /// it has any.
    #[cold]
    fn mark(&mut self, id: u64, listener: &mut impl Listener) {
        if self.queue.take_mark() {
            self.cold.losses.marked_packets += 1;
            listener.marked(id);
        }
        if let Some(label) = self.queue.take_label() {
            listener.labelled(id, label);
        }
    }

    /// Books and reports a refused packet, by the scheduler or before it.
    #[inline]
    pub(crate) fn refuse(&mut self, packet: &Packet, reason: DropReason, now: Time, listener: &mut impl Listener) {
        let loss = Loss::refused_by(self.queue.inspect(), packet, reason);
        self.drop_packet(packet, loss, now, listener);
    }

    /// Books and reports the loss of a packet that waited.
    #[inline]
    pub(crate) fn give_up(&mut self, packet: &Packet, reason: DropReason, now: Time, listener: &mut impl Listener) {
        self.leave(packet.size);
        let loss = Loss::given_up_by(self.queue.inspect(), reason);
        self.drop_packet(packet, loss, now, listener);
    }

    /// Books and reports a drop.
    #[inline]
    pub(crate) fn drop_packet(&mut self, packet: &Packet, loss: Loss, now: Time, listener: &mut impl Listener) {
        self.lose(packet.size, loss.reason);
        listener.dropped(packet, loss, self.queue.inspect(), now);
    }

    /// The account that does not balance, if any.
    pub(crate) fn imbalance(&self) -> Option<String> {
        let Traffic { arrived_packets, arrived_bytes, sent_packets, sent_bytes, .. } = self.traffic;
        let dropped = self.cold.losses.dropped_packets.iter().sum::<u64>() + self.cold.losses.link_down_packets;
        let packets = sent_packets + dropped + u64::from(self.waiting);
        let bytes = sent_bytes + self.cold.losses.dropped_bytes + self.backlog;
        let queue = self.queue.inspect();
        let (held_packets, held_bytes) = (queue.len(), queue.backlog().0);
        let problem = if arrived_packets != packets {
            format!("{arrived_packets} packets arrived, {packets} are accounted for")
        } else if arrived_bytes != bytes {
            format!("{arrived_bytes} B arrived, {bytes} B are accounted for")
        } else if self.waiting as usize != held_packets {
            format!("{} packets should wait, the scheduler holds {held_packets}", self.waiting)
        } else if self.backlog != held_bytes {
            format!("{} B should wait, the scheduler holds {held_bytes} B", self.backlog)
        } else {
            return None;
        };
        Some(format!("port {} -> {}: {problem}", self.cold.link.from, self.cold.link.to))
    }
}

impl<Q: Handles> Port<Q> {
    /// Offers a handle to a queue ordered by rank. Returns whether the port sends it at once.
    #[inline(always)]
    pub(crate) fn enqueue_sorted(
        &mut self,
        rank: Rank,
        handle: Handle,
        idle: bool,
        listener: &mut impl Listener,
    ) -> bool {
        match self.queue.offer_sorted(rank, handle) {
            Enqueued::Admitted { .. } if idle => {
                self.queue.pop();
                return true;
            }
            Enqueued::Admitted { .. } => self.admit(handle.size),
            Enqueued::Evicted { victims, .. } => {
                self.waiting += 1;
                self.backlog += u64::from(handle.size);
                for victim in victims {
                    self.leave(victim.size);
                    self.lose_handle(victim, DropReason::PushedOut, listener);
                }
            }
            Enqueued::Dropped { reason, .. } => self.lose_handle(handle, reason, listener),
        }
        false
    }

    /// Takes the next handle.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Handle {
        let next = self.queue.pop();
        self.leave(next.size);
        next
    }

    /// Books and reports a drop.
    fn lose_handle(&mut self, handle: Handle, reason: DropReason, listener: &mut impl Listener) {
        self.lose(handle.size, reason);
        listener.lost(handle, reason);
    }
}

impl<Q> Port<Q> {
    /// The number of waiting packets.
    #[inline(always)]
    pub(crate) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The number of waiting bytes.
    #[inline(always)]
    pub(crate) const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// The number of packets that have arrived.
    #[inline(always)]
    pub(crate) const fn arrived(&self) -> u64 {
        self.traffic.arrived_packets
    }

    /// Books a packet that waited when the link failed.
    pub(crate) fn lose_to_link(&mut self, size: u32) {
        self.cold.losses.link_down_packets += 1;
        self.cold.losses.dropped_bytes += u64::from(size);
    }

    /// Books a packet that was on the wire when the link failed.
    pub(crate) fn lose_on_wire(&mut self) {
        self.cold.losses.lost_on_wire_packets += 1;
    }

    /// Updates the largest number of waiting packets, after it is decided whether the arrival waits.
    #[inline]
    pub(crate) fn note_waiting(&mut self) {
        self.most_waiting = self.most_waiting.max(self.waiting);
    }

    /// The time that `bytes` take on the wire.
    #[inline]
    pub(crate) fn serialisation(&self, bytes: u32, rounding: Rounding) -> Span {
        if self.ps_per_byte == 0 {
            return self.cold.link.rate.serialisation(Bytes(bytes.into()), rounding);
        }
        let ps = u64::from(self.ps_per_byte) * u64::from(bytes);
        Span::from_ps(match rounding {
            Rounding::UpToPicosecond => ps,
            Rounding::DownToNanosecond => ps / 1_000 * 1_000,
        })
    }

    /// Books the transmission of a packet of `size` bytes, from the queue or not, that begins at `now`.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, size: u32, queued: bool, now: Time, rounding: Rounding) {
        let mut timed = size;
        if self.looks_back {
            self.serving_bytes = size;
            let before = std::mem::replace(&mut self.size_before, size);
            if self.wire_time == WireTime::OfPacketBefore && queued && before > 0 {
                timed = before;
            }
        }
        self.traffic.idle += now.since(self.busy_until);
        self.busy_until = now.saturating_add(self.serialisation(timed, rounding));
        self.traffic.sent_packets += 1;
        self.traffic.sent_bytes += u64::from(size);
    }

    /// The packet on the wire, if departures are events.
    #[inline(always)]
    pub(crate) fn serving(&self) -> Option<u32> {
        (self.serving != NOTHING).then_some(self.serving)
    }

    /// Puts a packet on the wire, if departures are events.
    #[inline(always)]
    pub(crate) fn set_serving(&mut self, packet: u32) {
        debug_assert_ne!(packet, NOTHING);
        self.serving = packet;
    }

    /// Takes the packet from the wire.
    #[inline(always)]
    pub(crate) fn take_serving(&mut self) -> Option<u32> {
        let serving = self.serving();
        self.serving = NOTHING;
        serving
    }

    /// Sets whether the packet on the wire takes room in the buffer, and whose wire time a packet takes.
    pub(crate) fn set_service(&mut self, counts_serving: bool, wire_time: WireTime) {
        (self.counts_serving, self.wire_time) = (counts_serving, wire_time);
        self.looks_back = counts_serving || wire_time == WireTime::OfPacketBefore;
    }

    /// Books a packet that begins to wait.
    #[inline(always)]
    pub(crate) fn admit(&mut self, size: u32) {
        self.waiting += 1;
        self.backlog += u64::from(size);
        self.note_waiting();
    }

    /// Whether it should have started to send a waiting packet by `now`, unless its scheduler holds it back.
    #[inline(always)]
    pub(crate) fn is_behind(&self, now: Time) -> bool {
        // A single branch, since neither condition can be predicted.
        select_unpredictable(self.waiting > 0, self.busy_until, Time::MAX) <= now
    }

    /// Books a packet that stops waiting.
    #[inline(always)]
    fn leave(&mut self, size: u32) {
        self.waiting -= 1;
        self.backlog -= u64::from(size);
    }

    /// Books a drop.
    #[inline]
    pub(crate) fn lose(&mut self, size: u32, reason: DropReason) {
        self.cold.losses.dropped_packets[reason as usize] += 1;
        self.cold.losses.dropped_bytes += u64::from(size);
    }

    /// Whether a packet has no room because the packet on the wire takes some.
    #[inline]
    pub(crate) fn no_room_beside_serving(&self, bytes: u32) -> bool {
        self.looks_back
            && self.counts_serving
            && (self.waiting + 1 >= self.cold.most_packets
                || self.backlog + u64::from(self.serving_bytes) + u64::from(bytes) > self.cold.most_bytes)
    }

    /// Sets the timer.
    #[cold]
    pub(crate) fn wait_until(&mut self, time: Time, event: Option<EventId>) {
        self.held_back = true;
        self.cold.timer = Wakeup { time, event };
    }

    /// The timer, if it runs.
    pub(crate) fn timer(&self) -> Option<Wakeup> {
        self.held_back.then_some(self.cold.timer)
    }

    /// Stops the timer and returns it, if it ran.
    #[inline]
    pub(crate) fn stop_timer(&mut self) -> Option<Wakeup> {
        std::mem::take(&mut self.held_back).then_some(self.cold.timer)
    }

    /// The accounts of the port in a run that ends at `end`.
    pub(crate) fn result(&self, end: Time) -> PortResult {
        PortResult {
            arrived_packets: self.traffic.arrived_packets,
            arrived_bytes: self.traffic.arrived_bytes,
            sent_packets: self.traffic.sent_packets,
            sent_bytes: self.traffic.sent_bytes,
            dropped_packets: self.cold.losses.dropped_packets,
            dropped_bytes: self.cold.losses.dropped_bytes,
            marked_packets: self.cold.losses.marked_packets,
            link_down_packets: self.cold.losses.link_down_packets,
            lost_on_wire_packets: self.cold.losses.lost_on_wire_packets,
            most_waiting: self.most_waiting,
            waiting: self.waiting,
            busy: Span::from_ps(self.busy_until.min(end).as_ps().saturating_sub(self.traffic.idle.as_ps())),
        }
    }
}

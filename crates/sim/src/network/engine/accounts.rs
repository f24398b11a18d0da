//! The accounts of a run: counters, trace hashes, and the check that they balance with the contents of the ports; and
//! the listener for packets of a port.

use super::events::{Event, Packed};
use super::mode::Mode;
use super::packets::{InFlight, Packets};
use super::queue::Port;
use crate::network::result::{Counters, RunError};
use crate::network::trace_hashes::{Ingredient, TraceHashes};
use crate::observer::{Loss, Observer, PacketView, PortId};
use crate::port::Listener;
use crate::trace_hash::code;
use pifolab_sched::{DropReason, Handle, Inspect, Packet};
use pifolab_transport::{Flags, Segment};
use pifolab_units::Time;
use std::marker::PhantomData;

/// The accounts are checked each time this many events have happened, and at the end.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// The number of last events kept for the report of a violation.
const REMEMBERED: usize = 32;

/// The accounts of a run.
pub(super) struct Accounts {
    pub(super) counters: Counters,
    pub(super) trace_hashes: TraceHashes,
    /// The packets that came from other parts of the network, less those that left for them.
    pub(super) came: i64,
    recent: [(Time, Packed); REMEMBERED],
    /// The next check is due when this many events have happened.
    next_check: u64,
    /// The event loop calls `look_up` when this many events have happened, to check the accounts or to stop.
    look_up: u64,
}

impl Accounts {
    pub(super) fn new() -> Self {
        Self {
            counters: Counters::default(),
            trace_hashes: TraceHashes::default(),
            came: 0,
            recent: [(Time::ZERO, Event::Start { flow: 0 }.pack()); REMEMBERED],
            next_check: 0,
            look_up: 0,
        }
    }

    /// Adds an event to the trace.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Time, event: Packed) {
        self.count(now, event);
        self.trace_hashes.fold(Ingredient::Events, now.as_ps() ^ event.word().rotate_left(9));
    }

    /// Counts an event without its hash.
    #[inline(always)]
    pub(super) fn count(&mut self, now: Time, event: Packed) {
        self.recent[self.counters.events as usize % REMEMBERED] = (now, event);
        self.counters.events += 1;
    }

    /// Whether the event loop should call `look_up`.
    #[inline(always)]
    pub(super) fn wants_look(&self) -> bool {
        self.counters.events >= self.look_up
    }

    /// Makes the event loop call `look_up` before the next event.
    pub(super) fn look_up_soon(&mut self) {
        self.look_up = 0;
    }

    /// Checks the accounts if that is due; returns whether the event loop continues, which stops after `stop` events.
    #[cold]
    #[inline(never)]
    pub(super) fn look_up(&mut self, stop: u64, ports: &[Port], packets: &Packets) -> Result<bool, RunError> {
        if self.counters.events >= self.next_check {
            self.check(ports, packets)?;
        }
        self.look_up = self.next_check.min(stop);
        Ok(self.counters.events < stop)
    }

    /// Schedules a check of the accounts after the present event.
    pub(super) fn check_soon(&mut self) {
        (self.next_check, self.look_up) = (0, 0);
    }

    /// Checks that all accounts balance.
    pub(super) fn check(&mut self, ports: &[Port], packets: &Packets) -> Result<(), RunError> {
        self.next_check = self.counters.events + EVENTS_PER_CHECK;
        let in_flight = packets.len() as u64;
        self.counters.most_in_flight = packets.most() as u64;
        let Counters { created, delivered, dropped, lost_on_wire, unreachable, .. } = self.counters;
        let account = match ports.iter().find_map(Port::imbalance) {
            Some(account) => account,
            None if created.wrapping_add_signed(self.came)
                != delivered + dropped + lost_on_wire + unreachable + in_flight =>
            {
                format!(
                    "the network: {created} packets created, but {delivered} delivered, {dropped} dropped, \
                 {lost_on_wire} lost on wires, {unreachable} without a way, {in_flight} under way"
                )
            }
            None => return Ok(()),
        };
        let events = (0..REMEMBERED as u64)
            .map(|back| (self.counters.events + back) as usize % REMEMBERED)
            .skip(REMEMBERED.saturating_sub(self.counters.events as usize))
            .map(|slot| format!("{}: {:?}", self.recent[slot].0, self.recent[slot].1.unpack()))
            .collect();
        Err(RunError::NotConserved { account, events })
    }
}

/// The observer, the accounts of the network and its trace.
pub(super) struct Told<'n, O, M> {
    pub(super) number: u32,
    pub(super) at_host: bool,
    pub(super) observer: &'n mut O,
    pub(super) packets: &'n mut Packets,
    pub(super) accounts: &'n mut Accounts,
    pub(super) mode: PhantomData<M>,
}

impl<O, M: Mode> Told<'_, O, M> {
    /// Removes a packet that was dropped. `reason` is the code of a drop reason or one of
    /// [`loss`](crate::network::trace_hashes::loss).
    pub(super) fn forget(&mut self, packet: u32, reason: u64) {
        let InFlight { segment, flow, .. } = *self.packets.remove(packet);
        let place = u64::from(self.number) << 8 | reason;
        self.accounts.trace_hashes.note_loss(M::BY_PLACE, flow, segment.seq, place);
        self.accounts.counters.dropped += 1;
        self.accounts.counters.dropped_at_source += u64::from(self.at_host);
    }
}

impl<O: Observer, M: Mode> Told<'_, O, M> {
    /// Reports a packet that left its queue for the wire.
    #[inline]
    pub(super) fn sent(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if !M::PLAIN {
            self.observer.on_dequeue(PortId(self.number), packet, queue, scheduler, now);
        }
    }

    /// Reports a packet that bypassed the queue of an idle port.
    #[inline]
    pub(super) fn passed(&mut self, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        if !M::PLAIN {
            self.observer.on_admit(PortId(self.number), packet, 0, scheduler, now);
            self.observer.on_dequeue(PortId(self.number), packet, 0, scheduler, now);
        }
    }
}

impl<O: Observer, M: Mode> Listener for Told<'_, O, M> {
    #[inline]
    fn admitted(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let number = packet.id as u32;
        let Segment { rank: carried, seq, .. } = self.packets[number].segment;
        let name = if M::BY_PLACE { seq } else { number };
        self.accounts.trace_hashes.note_rank(M::BY_PLACE, self.number, name, carried, packet.rank);
        if !M::PLAIN {
            self.observer.on_admit(PortId(self.number), packet, queue, scheduler, now);
        }
    }

    fn marked(&mut self, id: u64) {
        let flags = &mut self.packets[id as u32].segment.flags;
        *flags = flags.with(Flags::CE);
    }

    fn labelled(&mut self, id: u64, label: u64) {
        self.packets.set_label(id as u32, label);
    }

    #[inline]
    fn lost(&mut self, handle: Handle, reason: DropReason) {
        self.forget(handle.number, code(reason));
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        if !M::PLAIN {
            self.observer.on_drop(PortId(self.number), packet.into(), loss, scheduler, now);
        }
        self.forget(packet.id as u32, code(loss.reason));
    }
}

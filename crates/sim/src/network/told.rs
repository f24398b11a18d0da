//! Who is told what a scheduler did with the packets of one port.

use super::accounts::Accounts;
use super::in_flight::{InFlight, Packets};
use super::mode::Mode;
use crate::observer::{Loss, Observer, PacketView, PortId};
use crate::port::Listener;
use pifolab_sched::{Inspect, Packet};
use pifolab_transport::Flags;
use pifolab_units::Time;
use std::marker::PhantomData;

/// The observer, the accounts of the network and its trace.
pub(super) struct Told<'n, O, M> {
    pub(super) number: u32,
    pub(super) at_host: bool,
    pub(super) observer: &'n mut O,
    pub(super) packets: &'n mut Packets,
    pub(super) accounts: &'n mut Accounts,
    pub(super) mode: PhantomData<M>,
}

impl<O, M> Told<'_, O, M> {
    /// Forgets a packet that was dropped, for this reason or as [`loss`](super::trace_hashes::loss) has it.
    pub(super) fn forget(&mut self, packet: u32, reason: u64) {
        let InFlight { segment, flow, .. } = self.packets.remove(packet);
        self.accounts.trace_hashes.note_loss(flow, segment.seq, u64::from(self.number) << 8 | reason);
        self.accounts.counters.dropped += 1;
        self.accounts.counters.dropped_at_source += u64::from(self.at_host);
    }
}

impl<O: Observer, M: Mode> Told<'_, O, M> {
    /// A packet left for the wire.
    #[inline]
    pub(super) fn sent(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if !M::PLAIN {
            self.observer.on_dequeue(PortId(self.number), packet, queue, scheduler, now);
        }
    }

    /// A packet went to the wire of an idle port and past the queue.
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
        let carried = self.packets[number].segment.rank;
        self.accounts.trace_hashes.note_rank(self.number, number, carried, packet.rank);
        if !M::PLAIN {
            self.observer.on_admit(PortId(self.number), packet, queue, scheduler, now);
        }
    }

    fn marked(&mut self, id: u64) {
        let flags = &mut self.packets[id as u32].segment.flags;
        *flags = flags.with(Flags::CE);
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        if !M::PLAIN {
            self.observer.on_drop(PortId(self.number), packet.into(), loss, scheduler, now);
        }
        self.forget(packet.id as u32, loss.reason as u64);
    }
}

//! One output port and its link: packets arrive from a source, a scheduler holds them, a serialiser sends them.
//!
//! The setting of the single-link experiments of SP-PIFO section 4.2 and PACKS section 6.1. Every arrival passes
//! through the scheduler, also when the link is idle. A packet leaves the buffer when its first bit goes on the wire:
//! the packet in service is not in the buffer and counts against no capacity. (Counting it is not supported: a scheduler
//! that has handed a packet out no longer knows in which queue to keep its room.)
//!
//! Two things can happen at the same instant: the wire falls free, and packets arrive. [`Tie`] says which goes first.
//! Nothing else is left to order: arrivals of one instant are taken in the order of their source.
//!
//! Cost: O(1) per packet beside scheduler and observers; no allocation. In debug builds conservation of packets and
//! bytes is asserted after every event.

use crate::observer::{Observer, PacketView, PortId, queue_of_loss};
use crate::trace_hash::TraceHash;
use pifolab_sched::{Dequeued, DropReason, Enqueued, Hints, Packet, Scheduler};
use pifolab_units::{Bytes, Rate, Rounding, Span, Time};
use pifolab_workload::Arrival;

/// The link and the rules of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneLink {
    /// Rate of the link.
    pub rate: Rate,
    /// How serialisation times are rounded.
    pub rounding: Rounding,
    /// What goes first at equal times.
    pub tie: Tie,
    /// When the run ends.
    pub end: End,
}

pifolab_params::choices! {
    /// What goes first if the wire falls free at the instant of an arrival.
    #[derive(Default)]
    pub enum Tie {
        /// The next packet is taken from the buffer before the arrival is offered to it. The default.
        #[default]
        DepartureFirst = "departure-first": "the next packet leaves the buffer before the arrival is offered",
        /// All arrivals of the instant are offered to the buffer before the next packet is taken from it.
        ArrivalFirst = "arrival-first": "all arrivals of the instant are offered first",
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Before the first event at or after this time; packets may still wait in the buffer.
    Horizon(Time),
    /// When arrivals have ended and the buffer is empty, or at the last instant that a time can hold: see
    /// [`Totals::is_drained`].
    Drain,
}

/// Where packets come from: any iterator over [`Arrival`]s in order of time, or a source that also knows [`Hints`].
pub trait Arrivals {
    /// The next packet; times never decrease.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// What is known about the packet returned last. Only asked for if the scheduler wants hints.
    fn hints(&self) -> Hints {
        Hints::default()
    }
}

impl<I: Iterator<Item = Arrival>> Arrivals for I {
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next()
    }
}

/// What a run came to. Every packet that arrived was dropped, sent or still waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Arrivals.
    pub arrived: Count,
    /// Refused, pushed out or given up.
    pub dropped: Count,
    /// Put on the wire, also if the run ended before their last bit.
    pub sent: Count,
    /// Still in the buffer at the end.
    pub waiting: Count,
    /// How long the wire was busy.
    pub busy: Span,
    /// When the run ended: the horizon, or the last event if it drained.
    pub end: Time,
    /// Events: arrivals, and instants at which the wire fell free.
    pub events: u64,
    /// The fingerprint of every outcome.
    pub trace_hash: u64,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Totals {
    /// Whether nothing waits any more. A run that ends when it has [drained](End::Drain) is not if it reached the last
    /// instant of time before.
    pub const fn is_drained(&self) -> bool {
        self.waiting.packets == 0
    }
}

impl Count {
    #[inline]
    fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl OneLink {
    /// Runs `arrivals` through `scheduler` onto the link and lets `observer` watch.
    ///
    /// The scheduler is used as it is: state that it brings along (a window, say) stays. Packet ids count arrivals
    /// from 0.
    ///
    /// # Panics
    /// If arrivals go back in time, if a packet takes more than 213 days on the wire, or if the scheduler breaks its contract: it holds packets, says that it is empty, and
    /// the like.
    pub fn run<S, O, A>(&self, mut arrivals: A, scheduler: &mut S, observer: &mut O) -> Totals
    where
        S: Scheduler,
        O: Observer,
        A: Arrivals,
    {
        let wants_hints = scheduler.wants_hints();
        let mut port = Port {
            link: self,
            scheduler,
            observer,
            hash: TraceHash::new(),
            totals: Totals::default(),
            wire: Wire::Idle,
            last_sent: (0, Span::ZERO),
        };
        let horizon = match self.end {
            End::Horizon(horizon) => horizon,
            End::Drain => Time::MAX,
        };
        let mut now = Time::ZERO;
        let mut next = arrivals.next_arrival();
        loop {
            let arrival = next.map_or(Time::MAX, |arrival| arrival.time);
            let departure = port.wire.next_event();
            let departs = match self.tie {
                Tie::DepartureFirst => departure <= arrival,
                Tie::ArrivalFirst => departure < arrival,
            };
            let time = arrival.min(departure);
            if time >= horizon || (next.is_none() && departure == Time::MAX) {
                break;
            }
            assert!(time >= now, "an arrival at {time} after an event at {now}");
            now = time;
            port.totals.events += 1;
            if departs {
                port.wire = Wire::Idle;
            } else {
                let arrival = next.take().expect("it is the next event");
                if wants_hints {
                    port.scheduler.hint(port.totals.arrived.packets, &arrivals.hints());
                }
                port.arrive(arrival);
                next = arrivals.next_arrival();
            }
            let more_arrivals_now = self.tie == Tie::ArrivalFirst && next.is_some_and(|arrival| arrival.time == now);
            if !more_arrivals_now {
                port.serve(now);
            }
            port.assert_conservation();
        }
        let end = match self.end {
            End::Horizon(horizon) => horizon,
            End::Drain => now,
        };
        port.finish(end)
    }
}

/// What the wire is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    /// Nothing; the buffer is empty or was not asked yet.
    Idle,
    /// Nothing, because no packet may leave before this time.
    Waiting(Time),
    /// Sending until this time.
    Busy(Time),
}

impl Wire {
    fn next_event(self) -> Time {
        match self {
            Self::Idle => Time::MAX,
            Self::Waiting(until) | Self::Busy(until) => until,
        }
    }
}

struct Port<'a, S, O> {
    link: &'a OneLink,
    scheduler: &'a mut S,
    observer: &'a mut O,
    hash: TraceHash,
    totals: Totals,
    wire: Wire,
    /// Size and time on the wire of the packet sent last: most are alike, and a division is not cheap.
    last_sent: (u32, Span),
}

impl<S: Scheduler, O: Observer> Port<'_, S, O> {
    #[inline]
    fn arrive(&mut self, Arrival { time: now, bytes: size, rank, flow }: Arrival) {
        let packet = Packet { id: self.totals.arrived.packets, flow, size, rank, arrival: now };
        self.totals.arrived.add(size);
        let mut view = PacketView::from(&packet);
        match self.scheduler.enqueue(packet, now) {
            Enqueued::Admitted { queue, rank } => {
                view.rank = rank;
                self.admitted(view, queue, now);
            }
            Enqueued::Evicted { queue, rank, victims } => {
                for victim in victims.iter() {
                    self.dropped(victim, DropReason::PushedOut, now);
                }
                view.rank = rank;
                self.admitted(view, queue, now);
            }
            Enqueued::Dropped { packet, reason } => self.dropped(&packet, reason, now),
        }
    }

    #[inline]
    fn admitted(&mut self, view: PacketView, queue: u32, now: Time) {
        self.hash.on_admit(PORT, view, queue, &*self.scheduler, now);
        self.observer.on_admit(PORT, view, queue, &*self.scheduler, now);
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, reason: DropReason, now: Time) {
        self.totals.dropped.add(packet.size);
        let queue = queue_of_loss(&*self.scheduler, packet, reason);
        self.hash.on_drop(PORT, packet.into(), reason, queue, &*self.scheduler, now);
        self.observer.on_drop(PORT, packet.into(), reason, queue, &*self.scheduler, now);
    }

    /// Puts the next packet on the wire, unless the wire is busy or there is none.
    #[inline]
    fn serve(&mut self, now: Time) {
        if matches!(self.wire, Wire::Busy(_)) {
            return;
        }
        self.wire = loop {
            match self.scheduler.dequeue(now) {
                Dequeued::Packet { packet, queue } => {
                    self.totals.sent.add(packet.size);
                    let view = PacketView::from(&packet);
                    self.hash.on_dequeue(PORT, view, queue, &*self.scheduler, now);
                    self.observer.on_dequeue(PORT, view, queue, &*self.scheduler, now);
                    if self.last_sent.0 != packet.size {
                        let bytes = Bytes(u64::from(packet.size));
                        self.last_sent = (packet.size, self.link.rate.serialisation(bytes, self.link.rounding));
                    }
                    let until = now.saturating_add(self.last_sent.1);
                    self.totals.busy += until.since(now);
                    break Wire::Busy(until);
                }
                Dequeued::Dropped { packet, reason } => {
                    assert_eq!(reason, DropReason::PushedOut, "a resident packet is lost as pushed out");
                    self.dropped(&packet, reason, now);
                }
                Dequeued::NotBefore(time) => {
                    assert!(time > now, "the scheduler may not serve before {time}, yet it is {now}");
                    break Wire::Waiting(time);
                }
                Dequeued::Empty => {
                    assert!(self.scheduler.is_empty(), "the scheduler holds packets and says that it is empty");
                    break Wire::Idle;
                }
            }
        };
    }

    /// Every packet and byte that arrived was dropped, sent or waits.
    #[inline]
    fn assert_conservation(&self) {
        if cfg!(debug_assertions) {
            let Totals { arrived, dropped, sent, .. } = &self.totals;
            let held = (self.scheduler.len() as u64, self.scheduler.backlog().0);
            let expected =
                (arrived.packets - dropped.packets - sent.packets, arrived.bytes - dropped.bytes - sent.bytes);
            assert_eq!(held, expected, "packets and bytes held against arrived - dropped - sent");
        }
    }

    fn finish(self, end: Time) -> Totals {
        let Self { scheduler, observer, hash, mut totals, wire, .. } = self;
        observer.on_end(end);
        if let Wire::Busy(until) = wire
            && until > end
        {
            totals.busy = totals.busy - until.since(end);
        }
        totals.waiting = Count { packets: scheduler.len() as u64, bytes: scheduler.backlog().0 };
        totals.end = end;
        totals.trace_hash = hash.value();
        totals
    }
}

/// The one port there is.
const PORT: PortId = PortId(0);

#[cfg(test)]
mod tests;

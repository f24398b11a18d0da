//! One output port and its link: a source of packets, a scheduler and a serialiser.
//!
//! The setting of the single-link experiments of SP-PIFO section 4.2 and PACKS section 6.1. Every arrival passes
//! through the scheduler, even if the link is idle. A packet leaves the buffer when its first bit goes on the wire: the
//! packet in service is not in the buffer and counts against no capacity. (Counting it is not supported, since the
//! scheduler does not keep the queue of a packet that has left.)
//!
//! Two events can have the same time: the wire becomes free, and packets arrive. [`EqualTimesOnLink`] is their order.
//! Arrivals of one instant are taken in the order of their source.
//!
//! Cost: O(1) per packet beside scheduler and observers; no allocation. In debug builds conservation of packets and
//! bytes is asserted after every event.

use crate::equal_times::EqualTimesOnLink;
use crate::network::Link;
use crate::observer::{Loss, Observer, PacketView, PortId};
use crate::port::{Listener, Order, Port, Served};
use crate::trace_hash::TraceHash;
use pifolab_sched::{Dequeued, Enqueued, Hints, Inspect, InspectExt, Packet, Scheduler};
use pifolab_units::{Rate, Rounding, Span, Time};
use pifolab_workload::Arrival;

/// The link and the rules of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneLink {
    /// Rate of the link.
    pub rate: Rate,
    /// How serialisation times are rounded.
    pub rounding: Rounding,
    /// The order of events of equal time.
    pub equal_times: EqualTimesOnLink,
    /// When the run ends.
    pub end: End,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Before the first event at or after this time; packets may still wait in the buffer.
    Horizon(Time),
    /// When arrivals have ended and the buffer is empty, or at the largest time: see [`Totals::is_drained`].
    Drain,
}

/// A source of packets: any iterator over [`Arrival`]s in order of time, or a source that also has [`Hints`].
pub trait Arrivals {
    /// The next packet; times never decrease.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// Hints about the packet returned last. Called only if the scheduler reads hints.
    fn hints(&self) -> Hints {
        Hints::default()
    }

    /// The earliest time at which the packet returned last may leave, for schedulers that use it (PIEO).
    #[inline]
    fn eligible(&self) -> Time {
        Time::ZERO
    }
}

impl<I: Iterator<Item = Arrival>> Arrivals for I {
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next()
    }
}

/// The totals of a run. Every packet that arrived was dropped, was sent or still waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Arrivals.
    pub arrived: Count,
    /// Packets refused, pushed out or dropped at dequeue.
    pub dropped: Count,
    /// Packets put on the wire, even if the run ended before their last bit.
    pub sent: Count,
    /// Still in the buffer at the end.
    pub waiting: Count,
    /// The time during which the wire was busy.
    pub busy: Span,
    /// The end of the run: the horizon, or the last event if it drained.
    pub end: Time,
    /// Events: arrivals, and times at which the wire became free.
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
    /// Whether the buffer is empty. A run that ends when it has [drained](End::Drain) may reach the largest time before
    /// that.
    pub const fn is_drained(&self) -> bool {
        self.waiting.packets == 0
    }
}

impl OneLink {
    /// Runs `arrivals` through `scheduler` onto the link, observed by `observer`.
    ///
    /// The scheduler keeps its previous state (such as a window), but must hold no packet. Packet ids count arrivals
    /// from 0.
    ///
    /// # Panics
    /// If arrivals go back in time, if a packet takes more than 213 days on the wire, or if the scheduler breaks its
    /// contract, for example returns `Empty` while it holds packets.
    pub fn run<S, O, A>(&self, mut arrivals: A, scheduler: &mut S, observer: &mut O) -> Totals
    where
        S: Scheduler,
        O: Observer,
        A: Arrivals,
    {
        let wants_hints = scheduler.wants().has_hints();
        assert!(scheduler.is_empty(), "the scheduler holds packets before the run");
        let link = Link { from: 0, to: 1, rate: self.rate, delay: Span::ZERO };
        let told = Told { observer, hash: TraceHash::new() };
        let queue = Queue { scheduler, eligible: Time::ZERO };
        let mut engine = Engine { rounding: self.rounding, port: Port::new(queue, link), told };
        let horizon = match self.end {
            End::Horizon(horizon) => horizon,
            End::Drain => Time::MAX,
        };
        let mut now = Time::ZERO;
        let mut events = 0;
        let mut next = arrivals.next_arrival();
        loop {
            let arrival = next.map_or(Time::MAX, |arrival| arrival.time);
            let departure = engine.next_event();
            let departs = match self.equal_times {
                EqualTimesOnLink::DeparturesFirst => departure <= arrival,
                EqualTimesOnLink::ArrivalsFirst => departure < arrival,
            };
            let time = arrival.min(departure);
            if time >= horizon || (next.is_none() && departure == Time::MAX) {
                break;
            }
            assert!(time >= now, "an arrival at {time} after an event at {now}");
            now = time;
            events += 1;
            if departs {
                engine.port.take_serving();
                engine.port.stop_timer();
            } else {
                let arrival = next.take().expect("it is the next event");
                if wants_hints {
                    engine.port.queue.scheduler.hint(engine.port.arrived(), &arrivals.hints());
                }
                engine.port.queue.eligible = arrivals.eligible();
                engine.arrive(arrival);
                next = arrivals.next_arrival();
            }
            let more_arrivals_now =
                self.equal_times == EqualTimesOnLink::ArrivalsFirst && next.is_some_and(|arrival| arrival.time == now);
            if !more_arrivals_now {
                engine.serve(now);
            }
            if cfg!(debug_assertions) {
                assert_eq!(engine.port.imbalance(), None);
            }
        }
        let end = match self.end {
            End::Horizon(horizon) => horizon,
            End::Drain => now,
        };
        engine.told.observer.on_end(end);
        Totals::of(&engine.port, end, events, engine.told.hash.value())
    }
}

impl Totals {
    fn of<Q>(port: &Port<Q>, end: Time, events: u64, trace_hash: u64) -> Self {
        let result = port.result(end);
        Self {
            arrived: Count { packets: result.arrived_packets, bytes: result.arrived_bytes },
            dropped: Count { packets: result.dropped(), bytes: result.dropped_bytes },
            sent: Count { packets: result.sent_packets, bytes: result.sent_bytes },
            waiting: Count { packets: result.waiting.into(), bytes: port.backlog() },
            busy: result.busy,
            end,
            events,
            trace_hash,
        }
    }
}

/// The engine of this one port.
struct Engine<'a, S, O> {
    rounding: Rounding,
    port: Port<Queue<'a, S>>,
    told: Told<'a, O>,
}

impl<S: Scheduler, O: Observer> Engine<'_, S, O> {
    /// The time at which the wire becomes free or the port's timer expires.
    #[inline]
    fn next_event(&self) -> Time {
        if self.port.serving().is_some() {
            return self.port.busy_until;
        }
        self.port.timer().map_or(Time::MAX, |timer| timer.time)
    }

    #[inline]
    fn arrive(&mut self, Arrival { time: now, bytes: size, rank, flow }: Arrival) {
        let packet = Packet { id: self.port.arrived(), flow, size, rank, arrival: now };
        self.port.arrive(size);
        self.port.enqueue(packet, now, &mut self.told);
    }

    /// Puts the next packet on the wire, unless the wire is busy or no packet waits.
    #[inline]
    fn serve(&mut self, now: Time) {
        if self.port.serving().is_some() {
            return;
        }
        match self.port.serve(false, now, &mut self.told) {
            Served::Packet(packet, queue) => {
                self.told.sent(&packet, queue, &*self.port.queue.scheduler, now);
                self.port.stop_timer();
                self.port.transmit(packet.size, true, now, self.rounding);
                self.port.set_serving(0);
            }
            Served::NotBefore(time) => self.port.wait_until(time, None),
            Served::Nothing => {
                assert!(self.port.queue.scheduler.is_empty(), "the scheduler holds packets and says that it is empty");
                self.port.stop_timer();
            }
        }
    }
}

/// The scheduler of the port, and the eligibility time of the next arrival.
struct Queue<'a, S> {
    scheduler: &'a mut S,
    eligible: Time,
}

impl<S: Scheduler> Order for Queue<'_, S> {
    #[inline]
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        if self.eligible == Time::ZERO {
            self.scheduler.enqueue(packet, now)
        } else {
            self.scheduler.enqueue_eligible(packet, self.eligible, now)
        }
    }

    /// No packet bypasses the queue.
    #[inline]
    fn dequeue(&mut self, _unqueued: bool, now: Time) -> Dequeued {
        self.scheduler.dequeue(now)
    }

    #[inline]
    fn inspect(&self) -> &dyn Inspect {
        &*self.scheduler
    }
}

/// The observer, and the fingerprint of every outcome.
struct Told<'a, O> {
    observer: &'a mut O,
    hash: TraceHash,
}

impl<O: Observer> Told<'_, O> {
    #[inline]
    fn sent(&mut self, packet: &Packet, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.hash.on_dequeue(PORT, packet.into(), queue, scheduler, now);
        self.observer.on_dequeue(PORT, packet.into(), queue, scheduler, now);
    }
}

impl<O: Observer> Listener for Told<'_, O> {
    #[inline]
    fn admitted(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.hash.on_admit(PORT, packet, queue, scheduler, now);
        self.observer.on_admit(PORT, packet, queue, scheduler, now);
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        self.hash.on_drop(PORT, packet.into(), loss, scheduler, now);
        self.observer.on_drop(PORT, packet.into(), loss, scheduler, now);
    }
}

/// The only port.
const PORT: PortId = PortId(0);

#[cfg(test)]
mod tests;

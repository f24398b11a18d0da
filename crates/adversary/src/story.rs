//! A trace step by step at one scheduler, for drawings and explanations.

use crate::machine::{Machine, Order, Subject};
use crate::step::Probe;
use crate::trace::Trace;
use pifolab_sched::{Dequeued, DropReason, Enqueued, InspectExt};

/// The event of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet arrived and was stored in this queue; others may have been pushed out.
    Stored {
        /// The packet, by its index in the trace.
        packet: usize,
        /// The queue.
        queue: u32,
        /// The packets pushed out, by their indices in the trace.
        victims: Vec<usize>,
    },
    /// A packet was refused on arrival, or dropped at dequeue.
    Dropped {
        /// The packet.
        packet: usize,
        /// The reason.
        reason: DropReason,
        /// Whether the packet was dropped at dequeue.
        at_dequeue: bool,
    },
    /// A packet left.
    Sent {
        /// The packet.
        packet: usize,
        /// The queue that held it.
        queue: u32,
    },
    /// The link requested a packet, but none was available.
    Idle,
}

/// One step, and the scheduler's state after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The event.
    pub event: Event,
    /// The packets in each queue, in order of departure.
    pub queues: Vec<Vec<usize>>,
    /// The bound of each queue, if the scheduler has bounds.
    pub bounds: Vec<Option<i64>>,
    /// The ranks of the window, oldest first.
    pub window: Vec<u64>,
}

/// The initial state, as a moment without an event, and every step of the trace and of the drain.
pub fn tell(subject: &dyn Subject, trace: &Trace, window: Option<&[u64]>) -> Vec<Moment> {
    let mut machine = subject.start(window);
    let mut teller =
        Teller { queues: vec![Vec::new(); machine.inspect().queues()], by_rank: false, ranks: &trace.ranks };
    teller.by_rank = subject.order() == Order::Ranks;
    let mut moments = vec![teller.moment(Event::Idle, machine.as_ref())];
    for (index, rank) in trace.ranks.iter().enumerate() {
        let event = match machine.enqueue(Probe::new(index, *rank)) {
            Enqueued::Admitted { queue, .. } => {
                teller.store(index, queue);
                Event::Stored { packet: index, queue, victims: Vec::new() }
            }
            Enqueued::Evicted { queue, victims, .. } => {
                let victims: Vec<usize> = victims.iter().map(|victim| victim.place as usize).collect();
                victims.iter().for_each(|victim| teller.remove(*victim));
                teller.store(index, queue);
                Event::Stored { packet: index, queue, victims }
            }
            Enqueued::Dropped { reason, .. } => Event::Dropped { packet: index, reason, at_dequeue: false },
        };
        moments.push(teller.moment(event, machine.as_ref()));
        let mut departures = trace.departures_after(index);
        while departures > 0 {
            let (moment, went_on) = teller.depart(machine.as_mut());
            departures -= u32::from(!matches!(moment.event, Event::Dropped { .. }));
            moments.push(moment);
            if !went_on {
                break;
            }
        }
    }
    loop {
        match teller.depart(machine.as_mut()) {
            (moment, true) => moments.push(moment),
            (_, false) => return moments,
        }
    }
}

struct Teller<'a> {
    queues: Vec<Vec<usize>>,
    by_rank: bool,
    ranks: &'a [u64],
}

impl Teller<'_> {
    fn store(&mut self, packet: usize, queue: u32) {
        let queue = &mut self.queues[queue as usize];
        let rank = self.ranks[packet];
        let place = if self.by_rank { queue.partition_point(|held| self.ranks[*held] <= rank) } else { queue.len() };
        queue.insert(place, packet);
    }

    fn remove(&mut self, packet: usize) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|held| *held != packet));
    }

    fn depart(&mut self, machine: &mut dyn Machine) -> (Moment, bool) {
        let (event, went_on) = match machine.dequeue() {
            Dequeued::Packet { packet, queue } => (Event::Sent { packet: packet.place as usize, queue }, true),
            Dequeued::Dropped { packet, reason } => {
                (Event::Dropped { packet: packet.place as usize, reason, at_dequeue: true }, true)
            }
            Dequeued::NotBefore(_) | Dequeued::Empty => (Event::Idle, false),
        };
        if let Event::Sent { packet, .. } | Event::Dropped { packet, .. } = event {
            self.remove(packet);
        }
        (self.moment(event, machine), went_on)
    }

    fn moment(&self, event: Event, machine: &dyn Machine) -> Moment {
        let scheduler = machine.inspect();
        let mut window = Vec::new();
        scheduler.visit_window(&mut |rank| window.push(rank.get()));
        let bounds = (0..scheduler.queues()).map(|queue| scheduler.queue_bound(queue)).collect();
        Moment { event, queues: self.queues.clone(), bounds, window }
    }
}

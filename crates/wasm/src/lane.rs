//! One scheduler, its offered packets, and its counters.

use pifolab_metrics::{Departures, Drops, Inversions};
use pifolab_params::ParamError;
use pifolab_registry::conformance::Answer;
use pifolab_registry::{BoxedScheduler, SchedulerEntry, find_scheduler, text};
use pifolab_sched::{Dequeued, DropReason, Enqueued, Packet};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Bytes, Rank, Rate, Rounding, Time};

use crate::trace::Offered;

/// The only port.
const PORT: PortId = PortId(0);

/// A scheduler's registry entry, and its parameters as written.
#[derive(Clone)]
pub struct Choice {
    /// The scheduler.
    pub entry: &'static SchedulerEntry,
    /// The parameters as written, for example `queues = 4, window = 20`.
    pub params: String,
}

impl Choice {
    /// Finds the scheduler and checks the parameters.
    ///
    /// # Errors
    /// If the name is unknown, or the scheduler rejects the parameters.
    pub fn new(name: &str, params: &str) -> Result<Self, String> {
        let choice = Self { entry: find_scheduler(name)?, params: params.to_owned() };
        choice.build().map_err(|error| error.to_string())?;
        Ok(choice)
    }

    fn build(&self) -> Result<BoxedScheduler, ParamError> {
        self.entry.build(text::arguments(self.entry.info, &self.params)?)
    }

    /// Whether the scheduler serves each queue in order of arrival. The test enqueues two packets, the second with a
    /// lower rank; the queue is in order if they leave in order of arrival.
    fn is_in_order(&self) -> Result<bool, ParamError> {
        let mut tried = self.build()?;
        let mut queues = Vec::new();
        for (id, rank) in [(0u64, 9u32), (1, 1)] {
            let packet = Packet { id, flow: 0, size: 64, rank: rank.into(), arrival: Time::ZERO };
            if let Enqueued::Admitted { queue, .. } = tried.enqueue(packet, Time::ZERO) {
                queues.push(queue);
            }
        }
        let together = queues.len() == 2 && queues[0] == queues[1];
        let first = tried.dequeue(Time::ZERO);
        Ok(!(together && matches!(first, Dequeued::Packet { packet, .. } if packet.id == 1)))
    }
}

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The packet waits.
    Waiting,
    /// The packet was sent.
    Sent,
    /// The packet was refused, pushed out, or dropped at a dequeue.
    Lost(DropReason),
}

/// The state and times of a packet. Times count events of the lane: offers and departures of packets.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// The time of the offer.
    pub came: u32,
    /// The time of the departure or loss; the largest number while the packet waits.
    pub went: u32,
    /// The queue that stored the packet; `None` if it was refused.
    pub queue: Option<u32>,
    /// The packet's state.
    pub state: State,
}

/// The last event of a lane.
#[derive(Clone, Debug, Default)]
pub enum Last {
    /// No event yet.
    #[default]
    Nothing,
    /// This packet was offered, with this answer. Ids are indices in the trace.
    Offered(usize, Answer),
    /// A packet was requested, with this answer.
    Asked(Answer),
}

/// One scheduler during a session.
pub struct Lane {
    /// The scheduler's entry and parameters.
    pub choice: Choice,
    /// The scheduler.
    pub scheduler: BoxedScheduler,
    /// Whether the scheduler serves each queue in order of arrival, or else of rank.
    pub in_order: bool,
    /// The fate of each offered packet of the trace.
    pub fates: Vec<Fate>,
    /// The rank of each offered packet of the trace.
    pub ranks: Vec<Rank>,
    /// The sent packets, in order.
    pub sent: Vec<u32>,
    /// For each sent packet, whether a packet of lower rank waited.
    pub overtook: Vec<bool>,
    /// The lost packets, in order.
    pub lost: Vec<u32>,
    /// The counter of inversions.
    pub inversions: Inversions,
    /// The counter of losses.
    pub drops: Drops,
    /// The counter of departures.
    pub departures: Departures,
    /// The last event.
    pub last: Last,
    /// The time at which the wire becomes free; `None` if it is free.
    pub busy_until: Option<Time>,
    /// The time of the next call to the scheduler.
    timer: Option<Time>,
    clock: u32,
    /// The index of the first packet that may still wait.
    oldest: usize,
}

impl Lane {
    /// Creates an empty lane.
    ///
    /// # Panics
    /// Never, because the choice is checked.
    pub fn new(choice: Choice) -> Self {
        let scheduler = choice.build().expect("it was tried");
        let in_order = choice.is_in_order().expect("it was tried");
        Self {
            choice,
            scheduler,
            in_order,
            fates: Vec::new(),
            ranks: Vec::new(),
            sent: Vec::new(),
            overtook: Vec::new(),
            lost: Vec::new(),
            inversions: Inversions::default(),
            drops: Drops::default(),
            departures: Departures::default(),
            last: Last::Nothing,
            busy_until: None,
            timer: None,
            clock: 0,
            oldest: 0,
        }
    }

    /// Offers packet `index` of the trace, which must be the next one.
    pub fn offer(&mut self, index: usize, packets: &[Offered], now: Time) -> &Last {
        let packet = packets[index].packet(index, now);
        let view = PacketView::from(&packet);
        let came = self.tick();
        self.ranks.push(view.rank);
        let mut fate = Fate { came, went: u32::MAX, queue: None, state: State::Waiting };
        let answer = match self.scheduler.enqueue_eligible(packet, packets[index].eligible, now) {
            Enqueued::Admitted { queue, .. } => {
                fate.queue = Some(queue);
                self.fates.push(fate);
                self.inversions.on_admit(PORT, view, queue, &self.scheduler, now);
                Answer::Admitted { queue, evicted: Vec::new() }
            }
            Enqueued::Evicted { queue, victims, .. } => {
                fate.queue = Some(queue);
                self.fates.push(fate);
                // The counters receive the arrival first, as in a simulation.
                self.inversions.on_admit(PORT, view, queue, &self.scheduler, now);
                let mut evicted = Vec::new();
                for victim in victims {
                    evicted.push(victim.id);
                    self.lose((&victim).into(), DropReason::PushedOut, true, now);
                }
                Answer::Admitted { queue, evicted }
            }
            Enqueued::Dropped { packet, reason } => {
                self.fates.push(fate);
                self.lose((&packet).into(), reason, false, now);
                Answer::Dropped(reason)
            }
        };
        self.last = Last::Offered(index, answer);
        &self.last
    }

    /// Requests one packet from the scheduler, and records the answer.
    pub fn ask(&mut self, now: Time) -> &Last {
        let answer = match self.scheduler.dequeue(now) {
            Dequeued::Packet { packet, queue } => {
                let before = self.inversions.total().inversions;
                let view = PacketView::from(&packet);
                self.inversions.on_dequeue(PORT, view, queue, &self.scheduler, now);
                self.departures.on_dequeue(PORT, view, queue, &self.scheduler, now);
                self.sent.push(packet.id as u32);
                self.overtook.push(self.inversions.total().inversions > before);
                self.leave(packet.id, State::Sent);
                Answer::Sent(Some(packet.id))
            }
            Dequeued::Dropped { packet, reason } => {
                let id = packet.id;
                self.lose((&packet).into(), reason, true, now);
                Answer::GivenUp(id, reason)
            }
            Dequeued::NotBefore(time) => Answer::NotBefore(time),
            Dequeued::Empty => Answer::Sent(None),
        };
        self.last = Last::Asked(answer);
        &self.last
    }

    /// The time of the link's next event: the wire becomes free, or the scheduler must be called again.
    pub fn next_event(&self) -> Option<Time> {
        self.busy_until.or(self.timer)
    }

    /// Frees the wire, if it was busy until `now` at the latest, and sends the next packet.
    pub fn serve(&mut self, rate: Rate, packets: &[Offered], now: Time) {
        if self.busy_until.is_some_and(|until| until > now) {
            return;
        }
        (self.busy_until, self.timer) = (None, None);
        loop {
            match self.ask(now) {
                Last::Asked(Answer::GivenUp(..)) => {}
                Last::Asked(Answer::Sent(Some(id))) => {
                    let size = Bytes(packets[*id as usize].size.into());
                    self.busy_until = Some(now.saturating_add(rate.serialisation(size, Rounding::UpToPicosecond)));
                    return;
                }
                Last::Asked(Answer::NotBefore(time)) => {
                    self.timer = Some(*time);
                    return;
                }
                _ => return,
            }
        }
    }

    /// The waiting packets, in order of arrival.
    pub fn waiting(&mut self) -> impl Iterator<Item = (usize, &Fate)> {
        let gone = self.fates[self.oldest..].iter().take_while(|fate| fate.state != State::Waiting).count();
        self.oldest += gone;
        let rest = self.fates[self.oldest..].iter().enumerate();
        let oldest = self.oldest;
        rest.filter(|(_, fate)| fate.state == State::Waiting).map(move |(at, fate)| (oldest + at, fate))
    }

    /// Delta (AIFO eq. 1) between the packets sent by the two lanes.
    pub fn delta(&self, other: &Self) -> f64 {
        self.departures.delta(&other.departures)
    }

    const fn tick(&mut self) -> u32 {
        self.clock += 1;
        self.clock
    }

    fn leave(&mut self, id: u64, state: State) {
        let went = self.tick();
        let fate = &mut self.fates[id as usize];
        (fate.went, fate.state) = (went, state);
    }

    fn lose(&mut self, packet: PacketView, reason: DropReason, admitted: bool, now: Time) {
        let loss = if admitted { Loss::of_admitted(reason, None) } else { Loss::refused(reason, None) };
        self.inversions.on_drop(PORT, packet, loss, &self.scheduler, now);
        self.drops.on_drop(PORT, packet, loss, &self.scheduler, now);
        self.lost.push(packet.id as u32);
        self.leave(packet.id, State::Lost(reason));
    }
}

//! One scheduler, the packets that it was offered, and what was counted.

use pifolab_metrics::{Departures, Drops, Inversions};
use pifolab_params::ParamError;
use pifolab_registry::conformance::Answer;
use pifolab_registry::{BoxedScheduler, SchedulerEntry, find_scheduler, text};
use pifolab_sched::{Dequeued, DropReason, Enqueued, Packet};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Bytes, Rank, Rate, Rounding, Time};

use crate::trace::Offered;

/// There is one port.
const PORT: PortId = PortId(0);

/// A scheduler by its name, and its parameters as they are written.
#[derive(Clone)]
pub struct Choice {
    /// The scheduler.
    pub entry: &'static SchedulerEntry,
    /// `queues = 4, window = 20`.
    pub params: String,
}

impl Choice {
    /// Finds the scheduler and tries the parameters.
    ///
    /// # Errors
    /// An unknown name, or parameters that it refuses.
    pub fn new(name: &str, params: &str) -> Result<Self, String> {
        let choice = Self { entry: find_scheduler(name)?, params: params.to_owned() };
        choice.build().map_err(|error| error.to_string())?;
        Ok(choice)
    }

    fn build(&self) -> Result<BoxedScheduler, ParamError> {
        self.entry.build(text::arguments(self.entry.info, &self.params)?)
    }

    /// Whether a queue is served in order of arrival: two packets that enter one queue leave it so, the second of which has the
    /// lower rank.
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

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits.
    Waiting,
    /// It was sent.
    Sent,
    /// It was refused, pushed out, or dropped when it should have left.
    Lost(DropReason),
}

/// What became of a packet, and when: in events of its lane, each of which is a packet that comes or goes.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// When it was offered.
    pub came: u32,
    /// When it left, or was lost; the largest number as long as it waits.
    pub went: u32,
    /// The queue that it was put into; `None` if it was refused.
    pub queue: Option<u32>,
    /// What became of it.
    pub state: State,
}

/// What happened last.
#[derive(Clone, Debug, Default)]
pub enum Last {
    /// Nothing yet.
    #[default]
    Nothing,
    /// This packet was offered, with this answer; ids are places in the trace.
    Offered(usize, Answer),
    /// A packet was asked for, with this answer.
    Asked(Answer),
}

/// One scheduler at work.
pub struct Lane {
    /// Which scheduler.
    pub choice: Choice,
    /// The scheduler.
    pub scheduler: BoxedScheduler,
    /// Whether each of its queues is served in order of arrival; otherwise in order of rank.
    pub in_order: bool,
    /// Of each packet of the trace that was offered.
    pub fates: Vec<Fate>,
    /// Of each packet of the trace that was offered.
    pub ranks: Vec<Rank>,
    /// Packets sent, in order.
    pub sent: Vec<u32>,
    /// Of the packets sent, whether one of lower rank waited.
    pub overtook: Vec<bool>,
    /// Packets lost, in order.
    pub lost: Vec<u32>,
    /// Inversions.
    pub inversions: Inversions,
    /// Losses.
    pub drops: Drops,
    /// What was sent.
    pub departures: Departures,
    /// What happened last.
    pub last: Last,
    /// When the wire falls free; `None` if nothing is on it.
    pub busy_until: Option<Time>,
    /// When the scheduler wants to be asked again.
    timer: Option<Time>,
    clock: u32,
    /// No packet before this one waits.
    oldest: usize,
}

impl Lane {
    /// An empty one.
    ///
    /// # Panics
    /// Never: the choice was tried.
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

    /// Offers packet `index` of the trace, the one after the last that was offered.
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
                // The counters hear of the arrival first, as they do in a simulation.
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

    /// Asks for packets until one is sent or none may be.
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

    /// When something happens on its link by itself: the wire falls free, or the scheduler may be asked again.
    pub fn next_event(&self) -> Option<Time> {
        self.busy_until.or(self.timer)
    }

    /// The wire has fallen free, if it was busy until `now`, and takes the next packet.
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

    /// The packets that wait, in the order in which they came.
    pub fn waiting(&mut self) -> impl Iterator<Item = (usize, &Fate)> {
        let gone = self.fates[self.oldest..].iter().take_while(|fate| fate.state != State::Waiting).count();
        self.oldest += gone;
        let rest = self.fates[self.oldest..].iter().enumerate();
        let oldest = self.oldest;
        rest.filter(|(_, fate)| fate.state == State::Waiting).map(move |(at, fate)| (oldest + at, fate))
    }

    /// Delta (AIFO eq. 1) between what the two have sent.
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

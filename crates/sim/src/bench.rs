//! The benchmark runs: the papers' fabric, one simulated second, web search at 19,000 flows/s.
//!
//! The caller (`pifolab bench sim`) measures the time of [`Prepared::run`] alone:
//!
//! ```
//! use pifolab_sim::bench::{Case, Prepared};
//! use pifolab_units::Span;
//! let prepared = Prepared::new(Case::Dctcp, Span::from_us(200));
//! let result = prepared.run();
//! assert!(result.counters.hops > 0);
//! ```

use crate::equal_times::EqualTimes;
use crate::event_queue::{EventQueue, PlainEventQueue};
use crate::network::{Config, LeafSpine, NetbenchTransport, Network, PortConfig, Profile, RunResult};
use pifolab_fast::{self as fast, Form, Twin};
use pifolab_params::choices;
use pifolab_sched::ranks::{Stfq, StfqParams};
use pifolab_sched::schedulers::{Pifo, PifoParams, SpPifoParams};
use pifolab_sched::{Capacity, Ranked};
use pifolab_transport::TransportParams;
use pifolab_units::{Span, Time};
use pifolab_workload::Stream;
use pifolab_workload::flows::{Flow, FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs};

/// Flow starts per second in the whole network: just beyond saturation of the access links.
pub const FLOWS_PER_S: f64 = 19_000.0;

choices! {
    /// A benchmark run.
    #[derive(Hash)]
    pub enum Case {
        Dctcp = "dctcp": "DCTCP over drop-tail ports that mark, default options.",
        PfabricPifo = "pfabric-pifo": "pFabric over PIFO of 80 packets, default options.",
        PfabricSpPifo = "pfabric-sp-pifo": "pFabric over SP-PIFO with 8 queues of 10 packets, default options.",
        FairPifo = "fair-pifo": "DCTCP with STFQ ranks over PIFO of 320 packets: fair queueing, where every port has state per flow.",
        NetbenchDctcp = "netbench-dctcp": "As `Dctcp`, with the options of [`Profile::NetbenchSpPifo`].",
    }
}

impl Case {
    fn config(self, end: Time, form: Form) -> Config {
        let topology = LeafSpine::papers(1).topology().expect("the papers' fabric is sound");
        let marking = PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600);
        match self {
            Self::Dctcp => Config::new(topology, TransportParams::dctcp(), marking, end),
            Self::PfabricPifo => {
                let pifo = || <Pifo>::new(PifoParams::packets(80)).expect("a sound capacity");
                Config::new(topology, TransportParams::pfabric(), PortConfig::scheduler(move |_| pifo()), end)
            }
            Self::PfabricSpPifo => {
                let sp_pifo = move || fast::SpPifo::parts(SpPifoParams::uniform(8, 10), form).expect("sound queues");
                let ports = PortConfig::scheduler(move |_| sp_pifo());
                Config::new(topology, TransportParams::pfabric(), ports, end)
            }
            Self::FairPifo => {
                let fair = || {
                    let pifo = <Pifo>::new(PifoParams::packets(320)).expect("a sound capacity");
                    Ranked::new(Stfq::new(StfqParams::default()).expect("sound weights"), pifo)
                };
                let ports = PortConfig::scheduler(move |_| fair()).with_ecn(48_000);
                Config::new(topology, TransportParams::dctcp(), ports, end)
            }
            Self::NetbenchDctcp => {
                let profile = Profile::NetbenchSpPifo;
                let transport = profile.transport(NetbenchTransport::Dctcp);
                let mut config = Config::new(topology, transport, marking, end);
                profile.apply(&mut config);
                config
            }
        }
    }
}

/// A case with its network and its flows, ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    network: Network,
    flows: Vec<Flow>,
}

impl Prepared {
    /// Makes the network and draws the flows of `simulated` time (seed 1).
    pub fn new(case: Case, simulated: Span) -> Self {
        Self::in_form(case, simulated, Form::Twins)
    }

    /// The same with schedulers in this form.
    pub fn in_form(case: Case, simulated: Span, form: Form) -> Self {
        let end = Time::ZERO + simulated;
        let source = FlowSource {
            hosts: 144,
            arrivals: FlowArrivals::Poisson { starts_per_s: FLOWS_PER_S },
            sizes: FlowSizes::web_search(Interpolation::StepLower),
            pairs: Pairs::Uniform,
            start: Time::ZERO,
            end,
            flows: u64::MAX,
        };
        let flows = source.stream(1, "bench").expect("a sound source").collect();
        Self { network: Network::new(case.config(end, form)).expect("a sound network"), flows }
    }

    /// The flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Runs them, with full flow statistics.
    pub fn run(&self) -> RunResult {
        self.network.run(&self.flows, &mut ()).expect("packets are conserved")
    }
}

choices! {
    /// The delays with which a benchmark of event queues schedules events.
    pub enum Delays {
        Uniform = "uniform": "0 to 2 us",
        Bursty = "bursty": "1 us; all begin at one instant, and happen together from then on",
        Bimodal = "bimodal": "1 us, and every tenth 10 ms: links and timers",
    }
}

/// The number of drawn delays, which are used in turn.
const DELAYS: usize = 1 << 12;

/// An event queue with a constant number of waiting events: each event schedules another one.
pub struct Events {
    queue: Box<dyn HappenNext>,
    delays: Vec<Span>,
    next: usize,
}

/// An event queue of either kind.
trait HappenNext {
    /// Schedules an event at this time.
    fn schedule_at(&mut self, time: Time);

    /// Runs `events` events, each of which schedules one after the next delay, from place `next` on.
    fn happen(&mut self, events: usize, delays: &[Span], next: usize);
}

impl HappenNext for EventQueue<u64> {
    fn schedule_at(&mut self, time: Time) {
        self.push(time, 0);
    }

    fn happen(&mut self, events: usize, delays: &[Span], next: usize) {
        for event in next..next + events {
            let (now, number) = self.pop_in_order(Time::MAX).expect("events wait");
            self.push(now + delays[event % DELAYS], number + 1);
        }
    }
}

impl HappenNext for PlainEventQueue<u64> {
    fn schedule_at(&mut self, time: Time) {
        self.schedule(time, 0);
    }

    fn happen(&mut self, events: usize, delays: &[Span], next: usize) {
        for event in next..next + events {
            let (now, number) = self.pop_until(Time::MAX).expect("events wait");
            self.schedule(now + delays[event % DELAYS], number + 1);
        }
    }
}

impl Events {
    /// A queue of `waiting` events; with `plain` the binary heap.
    pub fn new(delays: Delays, waiting: usize, plain: bool) -> Self {
        let reach = Span::from_us(if matches!(delays, Delays::Uniform) { 2 } else { 1 }) + Span::from_ps(1);
        let mut queue: Box<dyn HappenNext> = if plain {
            Box::new(PlainEventQueue::default())
        } else {
            Box::new(EventQueue::new(reach, EqualTimes::Insertion))
        };
        let mut draws = Stream::named(1, "bench-events");
        let mut delay = |_| match delays {
            Delays::Uniform => Span::from_ps(draws.below(2_000_000)),
            Delays::Bursty => Span::from_us(1),
            Delays::Bimodal if draws.below(10) == 0 => Span::from_us(10_000),
            Delays::Bimodal => Span::from_us(1),
        };
        let delays: Vec<Span> = (0..DELAYS).map(&mut delay).collect();
        let mut first: Vec<Span> = (0..waiting).map(|event| delays[event % DELAYS]).collect();
        first.sort_unstable();
        for delay in first {
            queue.schedule_at(Time::ZERO + delay);
        }
        Self { queue, delays, next: waiting }
    }

    /// Runs `events` events.
    pub fn run(&mut self, events: usize) {
        self.queue.happen(events, &self.delays, self.next);
        self.next += events;
    }
}

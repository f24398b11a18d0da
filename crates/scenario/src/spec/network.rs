//! A scenario on a network: reads and checks the text for [`run`](NetworkSpec::run).

use super::common::{Common, read_form, read_seeds, written_keys};
use super::failure::{read_failures, read_switch_buffer};
use super::flows::{Expected, FlowContext, Flows, draw_flows, read_workload};
use super::network_fields::{self, ENGINE, HOST_PORT, NETWORK, NETWORK_METRICS, PORT};
use super::record::{Record, read_record};
use super::schedulers::{
    Chosen, SchedulerSpec, build, build_both, controllers, port_maker, read_rank, read_scheduler, read_schedulers,
    take_schedulers,
};
#[cfg(not(target_family = "wasm"))]
use super::switch::{forwarders, read_switch};
use super::topology::{Layout, read_topology};
use super::transport::{Transport, read_transport};
use super::words::{HostQueueKind, RoutingKind, SampledRanks};
use super::written::Spec;
use crate::error::{Error, SpecError};
use crate::extras::Extras;
use crate::fields::Reader;
#[cfg(not(target_family = "wasm"))]
use crate::registry::switch::SwitchProgram;
use crate::registry::{Form, LiveWindow};
use pifolab_params::{Misfit, Place, Table};
use pifolab_sched::{Fact, Facts, Ranked};
use pifolab_sim::network::{
    Config, EngineOptions, EqualTimes, Flow, IdlePort, Link, LinkChange, NetbenchLiveWindow, PortConfig, PortScheduler,
    Profile, Ranks, Routing, SharedBuffer,
};
use pifolab_transport::Congestion;
use pifolab_units::{Rounding, Span, Time};
use serde_json::{Map, Value as Json};
use std::sync::Mutex;

/// The facts about each packet at ports of a network.
const FACTS: Facts = Facts::one(Fact::CarriedRank)
    .with(Fact::FlowSize)
    .with(Fact::Remaining)
    .with(Fact::Unacknowledged)
    .with(Fact::DelaySoFar)
    .with(Fact::RemainingTransmission)
    .with(Fact::Hosts)
    .with(Fact::Ecn)
    .with(Fact::CarriedLabel);

/// A checked scenario on a network.
#[derive(Debug)]
pub struct NetworkSpec {
    pub(crate) common: Common,
    pub(crate) layout: Layout,
    pub(crate) transport: Transport,
    profile: Option<Profile>,
    flows: Vec<Flows>,
    pub(crate) rank: Option<Chosen>,
    pub(crate) schedulers: Vec<SchedulerSpec>,
    port: PortOptions,
    host_port: HostPort,
    sampled_ranks: Option<SampledRanks>,
    engine: EngineOptions,
    pub(crate) switch_buffer: Option<SharedBuffer>,
    #[cfg(not(target_family = "wasm"))]
    switch: Option<SwitchProgram>,
    pub(crate) link_changes: Vec<LinkChange>,
    pub(crate) metrics: NetworkMetrics,
    pub(crate) record: Option<Record>,
    pub(crate) end: Time,
}

/// The measured flows and classes.
#[derive(Clone, Debug)]
pub(crate) struct NetworkMetrics {
    /// Borders of the size classes, ascending.
    pub(crate) classes: Vec<u64>,
    /// Flows that start at or after this time,
    pub(crate) from: Time,
    /// and before this, are measured.
    pub(crate) until: Time,
    pub(crate) watch_ports: bool,
}

/// The options of an output port besides its scheduler; `None` for the default of the profile.
#[derive(Clone, Copy, Debug)]
struct PortOptions {
    ecn_threshold_bytes: Option<u64>,
    ecn_threshold_packets: Option<u32>,
    idle: Option<IdlePort>,
    in_service_occupies_buffer: bool,
}

#[derive(Clone, Debug)]
struct HostPort {
    queue: HostQueue,
    port: PortOptions,
}

#[derive(Clone, Debug)]
enum HostQueue {
    Unlimited,
    AsSwitch,
    Own { scheduler: Box<Chosen>, rank: Option<Chosen> },
}

impl NetworkSpec {
    pub(crate) fn new(spec: Spec, extras: &dyn Extras) -> Result<Self, Error> {
        let Spec { root, file, text, overrides, .. } = spec;
        let written = written_keys(&root);
        let mut top = Reader::new(root, &file, NETWORK)?;
        top.get::<String>("title")?;
        top.get::<String>("description")?;
        let seeds = read_seeds(&mut top)?;
        let form = read_form(&mut top)?;
        let duration = top.time("duration")?.expect("duration is required");
        if duration == Span::ZERO {
            return Err(top.fault(&top.written("duration"), Misfit::of(0, "expected a time above 0")).into());
        }
        let end = Time::ZERO + duration;
        let profile = top.get("profile")?;
        let mut resolved = Map::new();

        let (layout, shown) = read_topology(given_table(&mut top, "topology")?, &file)?;
        resolved.insert("topology".to_owned(), shown);
        let (transport, shown) =
            read_transport(given_table(&mut top, "transport")?, layout.topology.hosts, &file, profile, extras)?;
        resolved.insert("transport".to_owned(), shown);
        let context = FlowContext {
            file: &file,
            hosts: layout.topology.hosts,
            host_ids: &layout.host_ids,
            switches: layout.topology.nodes - layout.topology.hosts,
            rack: layout.rack,
            access: layout.access,
            end,
            profile: profile.is_some(),
            extras,
        };
        let (flows, shown) = read_workload(given_table(&mut top, "workload")?, &context)?;
        resolved.insert("workload".to_owned(), shown);
        let rank = match top.table("rank")? {
            Some(section) => {
                let (rank, shown) = read_port_rank(section, &file, extras)?;
                resolved.insert("rank".to_owned(), shown);
                Some(rank)
            }
            None => None,
        };
        let schedulers = read_schedulers(take_schedulers(&mut top)?, &file, extras, FACTS, form)?;
        if schedulers.is_empty() {
            return Err(top.fault("scheduler", "is an empty list: expected at least one").into());
        }
        let drop_tail = rank.is_none() && schedulers.iter().all(|scheduler| scheduler.chosen.is_tail_drop());
        let (port, sampled_ranks, shown) = read_port(top.table_or_empty("port")?, &file, drop_tail)?;
        resolved.insert("port".to_owned(), shown);
        let host = top.table_or_empty("host_port")?;
        let (host_port, shown) = read_host_port(host, &file, profile, drop_tail, extras, form)?;
        resolved.insert("host_port".to_owned(), shown);
        let engine = top.table_or_empty("engine")?;
        let routes_by_rule = engine.contains("routing").then(|| engine.place_of("routing"));
        let (engine, shown) = read_engine(engine, &file, profile)?;
        resolved.insert("engine".to_owned(), shown);
        check_times(&layout, transport.params.segment_bytes() + engine.header_bytes, engine.rounding, end, &top)?;
        let (switch_buffer, shown) = read_switch_buffer(top.table("switch_buffer")?, &file)?;
        resolved.insert("switch_buffer".to_owned(), shown);
        let (link_changes, shown) = read_failures(top.tables("link_failure")?, &file, &layout, end)?;
        resolved.insert("link_failure".to_owned(), shown);
        let (metrics, shown) = read_metrics(top.table_or_empty("metrics")?, &file, end)?;
        resolved.insert("metrics".to_owned(), shown);
        #[cfg(not(target_family = "wasm"))]
        let switch = match top.table("switch")? {
            Some(section) => {
                let refused = |key: &str, problem: &str| Spec::fault(&file, key, problem.to_owned()).into();
                if profile.is_some() {
                    return Err(refused("profile", "has no effect beside [switch]: expected no profile"));
                }
                if matches!(port.idle, Some(IdlePort::Bypass | IdlePort::Ranked)) {
                    let problem =
                        "expected scheduler or admission beside [switch], so that egress runs for every packet";
                    return Err(refused("port.idle", problem));
                }
                if !link_changes.is_empty() {
                    let problem = "is not supported beside [switch], where the program has the routes";
                    return Err(refused("link_failure", problem));
                }
                if switch_buffer.is_some() {
                    return Err(refused("switch_buffer", "is not supported beside [switch]: remove it"));
                }
                if port.in_service_occupies_buffer {
                    return Err(refused(
                        "port.in_service_occupies_buffer",
                        "is not supported beside [switch]: remove it",
                    ));
                }
                if let Some(place) = routes_by_rule {
                    let (key, problem) =
                        ("engine.routing".to_owned(), "has no effect beside [switch]: remove it".into());
                    return Err(SpecError { file, place, key, problem }.into());
                }
                let (switch, shown) = read_switch(section, &file, &layout)?;
                resolved.insert("switch".to_owned(), shown);
                Some(switch)
            }
            None => None,
        };
        let has_program = resolved.contains_key("switch");
        let (record, shown) = read_record(top.table("record")?, &file, &layout, has_program)?;
        resolved.insert("record".to_owned(), shown);

        let mut all = top.finish()?;
        all.extend(resolved);
        let mut spec = Self {
            common: Common { file, text, overrides, seeds, written, resolved: Json::Null },
            layout,
            transport,
            profile,
            flows,
            rank,
            schedulers,
            port,
            host_port,
            sampled_ranks,
            engine,
            switch_buffer,
            #[cfg(not(target_family = "wasm"))]
            switch,
            link_changes,
            metrics,
            record,
            end,
        };
        if spec.sampled_ranks == Some(SampledRanks::Live)
            && let Some(scheduler) = spec.schedulers.iter().find(|scheduler| spec.live_window(scheduler).is_none())
        {
            let problem = format!("sampled_ranks = live: not supported for {}; see its description", scheduler.label);
            return Err(Spec::fault(&spec.common.file, "port", problem).into());
        }
        spec.check_marks()?;
        let shown: Vec<Json> = spec.schedulers.iter().map(|scheduler| spec.show(scheduler)).collect();
        all.insert("scheduler".to_owned(), shown.into());
        spec.common.resolved = all.into();
        Ok(spec)
    }

    /// Whether ports mark packets by the length of their queues.
    pub(crate) fn has_ecn_threshold(&self) -> bool {
        let marks = |port: &PortOptions| port.ecn_threshold_bytes.is_some() || port.ecn_threshold_packets.is_some();
        marks(&self.port) || marks(&self.host_port.port)
    }

    /// Refuses a transport that reacts to marks if no port marks packets: it would silently be another transport.
    fn check_marks(&self) -> Result<(), SpecError> {
        let own = self.hosts_own_scheduler().and_then(Chosen::looked_at).map(|scheduler| scheduler.wants());
        let mut wants = self.schedulers.iter().map(|scheduler| scheduler.wants).chain(own);
        #[cfg(not(target_family = "wasm"))]
        let program_marks = self.switch.as_ref().is_some_and(SwitchProgram::marks);
        #[cfg(target_family = "wasm")]
        let program_marks = false;
        if !self.transport.params.is_ecn_capable()
            || program_marks
            || self.has_ecn_threshold()
            || wants.any(|wants| wants.needs.contains(Fact::Ecn))
        {
            return Ok(());
        }
        // DCTCP (SIGCOMM 2010), section 3.4: 20 packets at 1 Gb/s, 65 at 10 Gb/s.
        let gbps = self.layout.access.as_bps() as f64 / 1e9;
        let packets = (6.5 * gbps).max(20.0).round();
        let problem = format!(
            "is missing: the transport answers to marks, and nothing marks packets: expected the bytes from which a port marks, \
             such as {} ({packets} packets of 1500 bytes, usual at {gbps} Gb/s), or a scheduler that marks",
            packets * 1500.0
        );
        Err(Spec::fault(&self.common.file, "port.ecn_threshold_bytes", problem))
    }

    /// Whether anything depends on the seed of the run.
    pub(crate) fn is_drawn(&self) -> bool {
        self.flows.iter().any(Flows::is_drawn)
            || self.transport.packet_ranks.as_ref().is_some_and(|ranks| ranks.min() != ranks.max())
    }

    /// The flows of the run with seed `seed`.
    pub(crate) fn flows(&self, seed: u64) -> Vec<Flow> {
        draw_flows(&self.flows, seed)
    }

    /// The expected totals of the flows of a run.
    pub(crate) fn expected_flows(&self) -> Expected {
        let each = self.flows.iter().map(|source| source.expected(self.layout.topology.hosts));
        each.reduce(Expected::and).expect("a workload has a source of flows")
    }

    /// Segments that a flow has under way at first, and at most.
    pub(crate) fn window_segments(&self) -> (f64, f64) {
        let tcp = &self.transport.params.tcp;
        let most = tcp.max_window_bytes as f64 / f64::from(self.segment_bytes());
        (f64::from(tcp.initial_window_segments), most.max(1.0))
    }

    /// How flows are sent: the time between two datagrams where they are sent without feedback, else `None`. Of
    /// several hosts that send datagrams, the shortest time and the longest.
    pub(crate) fn datagram_intervals(&self) -> impl Iterator<Item = Option<Span>> {
        let all = match &self.transport.params.congestion {
            Congestion::Udp(udp) => Some(udp.interval),
            _ => None,
        };
        let some = || self.transport.udp_hosts.iter().map(|udp| udp.interval);
        std::iter::once(all).chain(some().min().map(Some)).chain(some().max().map(Some))
    }

    /// The approximate number of packets that the hosts create to send these flows, if none is lost.
    pub(crate) fn expected_packets(&self, flows: &[Flow]) -> f64 {
        flows.iter().map(|flow| self.transport.params.packets_of(flow.bytes) as f64).sum()
    }

    /// The largest number of queues of a scheduler.
    pub(crate) fn most_queues(&self) -> f64 {
        let queues = self.schedulers.iter().filter_map(|scheduler| scheduler.resolved["built"]["queues"].as_f64());
        queues.fold(1.0, f64::max)
    }

    /// The separate scheduler of the hosts, if they have one.
    pub(crate) const fn hosts_own_scheduler(&self) -> Option<&Chosen> {
        match &self.host_port.queue {
            HostQueue::Unlimited | HostQueue::AsSwitch => None,
            HostQueue::Own { scheduler, .. } => Some(scheduler),
        }
    }

    /// Whether hosts have the scheduler of the switches.
    pub(crate) const fn hosts_are_like_switches(&self) -> bool {
        matches!(self.host_port.queue, HostQueue::AsSwitch)
    }

    /// Whether events of equal time happen in the order of their places, so that a run may use several threads.
    pub(crate) const fn is_by_place(&self) -> bool {
        matches!(self.engine.equal_times, EqualTimes::ByPlace)
    }

    /// Rounding of serialisation times and header bytes.
    pub(crate) const fn wire(&self) -> (Rounding, u32) {
        (self.engine.rounding, self.engine.header_bytes)
    }

    /// Payload bytes of a full segment.
    pub(crate) const fn segment_bytes(&self) -> u32 {
        self.transport.params.segment_bytes()
    }

    /// Whether the [`config`](Self::config) of a scheduler can be used for any number of runs. It can be used only once
    /// if its ports hold objects of the user's.
    pub(crate) fn is_rebuildable(&self, scheduler: &SchedulerSpec) -> bool {
        let own = match &self.host_port.queue {
            HostQueue::Unlimited | HostQueue::AsSwitch => true,
            HostQueue::Own { scheduler, rank } => is_rebuildable(scheduler, rank.as_ref()),
        };
        own && is_rebuildable(&scheduler.chosen, self.rank.as_ref())
    }

    /// The configuration of the engine for one scheduler. It can be used only once unless
    /// [`is_rebuildable`](Self::is_rebuildable).
    pub(crate) fn config(&self, scheduler: &SchedulerSpec, seed: u64, extras: &dyn Extras) -> Result<Config, String> {
        let ports = self.layout.topology.links.len();
        let live = self.live_window(scheduler);
        let mut switch = match live {
            Some(live) => self.port.around(live.ports()),
            None => self.port.config(&scheduler.chosen, self.rank.as_ref(), ports, seed, extras)?,
        };
        // Ports with live windows have their own treatment of an idle wire.
        let idle = if live.is_some() { switch.idle } else { self.idle(&scheduler.chosen) };
        switch.idle = idle;
        let mut config = Config::new(self.layout.topology.clone(), self.transport.params, switch, self.end);
        if let Some(controller) = &self.transport.controller {
            config.controller = Some(controllers(controller, extras).map_err(|(_, problem)| problem.to_string())?);
        }
        config.udp_hosts.clone_from(&self.transport.udp_hosts);
        if let Some(profile) = self.profile {
            profile.apply(&mut config);
            config.switch_port.idle = idle;
        }
        let HostPort { queue, port } = &self.host_port;
        let marking = port.ecn_threshold_bytes.or(self.port.ecn_threshold_bytes);
        config.host_port = match queue {
            HostQueue::Unlimited => config.switch_port.for_hosts(),
            HostQueue::AsSwitch => config.switch_port.clone(),
            HostQueue::Own { scheduler, rank } => {
                let own = port.config(scheduler, rank.as_ref(), ports, seed, extras)?;
                PortConfig { idle: self.idle(scheduler), ..own }
            }
        };
        config.host_port.ecn_threshold_bytes = marking;
        config.host_port.ecn_threshold_packets = port.ecn_threshold_packets.or(self.port.ecn_threshold_packets);
        config.host_port.idle = port.idle.unwrap_or(config.host_port.idle);
        if !matches!(queue, HostQueue::Unlimited) {
            config.host_port.in_service_occupies_buffer |= port.in_service_occupies_buffer;
        }
        self.engine.apply(&mut config);
        config.shared_buffer = self.switch_buffer;
        config.link_changes.clone_from(&self.link_changes);
        #[cfg(not(target_family = "wasm"))]
        {
            config.forwarders = self.switch.clone().map(forwarders);
        }
        if let Some(distribution) = &self.transport.packet_ranks {
            config.ranks = Ranks::Drawn { distribution: distribution.clone(), seed };
        }
        Ok(config)
    }

    /// The ports whose windows follow their packets, if they are selected and exist.
    fn live_window(&self, scheduler: &SchedulerSpec) -> Option<NetbenchLiveWindow> {
        let wanted = self.sampled_ranks.unwrap_or(network_fields::sampled_ranks(self.profile));
        if wanted == SampledRanks::Kept || !self.hosts_are_like_switches() {
            return None;
        }
        let LiveWindow { test, window, sample, k } = self.rank.as_ref()?.live_window(&scheduler.chosen)?;
        let ports = NetbenchLiveWindow { test, window, sample, k, hosts: self.layout.topology.hosts };
        (self.idle(&scheduler.chosen) == ports.idle()).then_some(ports)
    }

    /// The treatment of a packet at an idle port of this scheduler.
    fn idle(&self, scheduler: &Chosen) -> IdlePort {
        let tests_when_idle = scheduler.traits().is_some_and(|traits| traits.tests_when_idle);
        self.port.idle.unwrap_or(network_fields::idle(self.profile, tests_when_idle))
    }

    fn show(&self, scheduler: &SchedulerSpec) -> Json {
        let mut shown = scheduler.resolved.clone();
        shown["idle"] = self.idle(&scheduler.chosen).word().into();
        if self.live_window(scheduler).is_some() {
            shown["sampled_ranks"] = SampledRanks::Live.word().into();
        }
        shown
    }
}

/// Refuses links and durations with which a time of the run would overflow.
fn check_times(layout: &Layout, bytes: u32, rounding: Rounding, end: Time, top: &Reader<'_>) -> Result<(), SpecError> {
    let slowest = layout.topology.slowest_link(bytes, rounding).map_err(|link| {
        let (from, to) = (layout.name(link.from), layout.name(link.to));
        let Link { rate, delay, .. } = link;
        let problem = format!(
            "a packet of {bytes} bytes takes more than 106 days over {from}-{to}, with {rate} and a delay of {delay}: \
             expected a faster or shorter link"
        );
        top.fault("topology", problem)
    })?;
    let last = Time::MAX - slowest;
    if end <= last {
        return Ok(());
    }
    let expected = format!("expected at most {last}, so that the last packet is over its link within 213 days");
    Err(top.fault(&top.written("duration"), Misfit::of(end, expected)))
}

impl PortOptions {
    /// The port of a scheduler, with its idle state left at the default.
    fn config(
        &self,
        scheduler: &Chosen,
        rank: Option<&Chosen>,
        ports: usize,
        seed: u64,
        extras: &dyn Extras,
    ) -> Result<PortConfig, String> {
        let config = if scheduler.is_tail_drop() && rank.is_none() {
            PortConfig::drop_tail(build(scheduler, None, (seed, 0), extras)?.capacity())
        } else {
            if let Some(make) = port_maker(scheduler, rank) {
                return Ok(self.around(PortConfig::scheduler(move |_| make())));
            }
            // All are built here and taken one by one, since the engine's calls cannot report errors.
            let made =
                (0..ports as u32).map(|port| Ok(Mutex::new(Some(build_both(scheduler, rank, (seed, port), extras)?))));
            let made = made.collect::<Result<Vec<_>, String>>()?;
            PortConfig::scheduler(move |info| {
                let slot = made[info.port as usize].lock();
                match slot
                    .expect("no thread panics while it holds the lock")
                    .take()
                    .expect("a network that is not rebuildable is run once")
                {
                    (scheduler, None) => PortScheduler::from(scheduler),
                    (scheduler, Some(rank)) => PortScheduler::from(Ranked::new(rank, scheduler)),
                }
            })
        };
        Ok(self.around(config))
    }

    /// The options of this port around a discipline.
    fn around(&self, config: PortConfig) -> PortConfig {
        PortConfig {
            ecn_threshold_bytes: self.ecn_threshold_bytes,
            ecn_threshold_packets: self.ecn_threshold_packets,
            in_service_occupies_buffer: self.in_service_occupies_buffer,
            ..config
        }
    }
}

/// Whether ports with this scheduler can be made any number of times.
fn is_rebuildable(scheduler: &Chosen, rank: Option<&Chosen>) -> bool {
    port_maker(scheduler, rank).is_some()
}

fn given_table(top: &mut Reader<'_>, name: &str) -> Result<Table, SpecError> {
    Ok(top.table(name)?.expect("the table is required"))
}

fn read_port_keys(reader: &mut Reader<'_>, drop_tail: bool) -> Result<PortOptions, SpecError> {
    let ecn_threshold_bytes = reader.get::<u64>("ecn_threshold_bytes")?;
    let ecn_threshold_packets = reader.get::<u32>("ecn_threshold_packets")?;
    let idle = reader.get("idle")?;
    let in_service_occupies_buffer = reader.given::<bool>("in_service_occupies_buffer")?;
    if in_service_occupies_buffer && !drop_tail {
        let problem = Misfit::of(true, "expected false; only fifo without a rank function can count it");
        return Err(reader.fault("in_service_occupies_buffer", problem));
    }
    Ok(PortOptions { ecn_threshold_bytes, ecn_threshold_packets, idle, in_service_occupies_buffer })
}

fn read_port(section: Table, file: &str, drop_tail: bool) -> Result<(PortOptions, Option<SampledRanks>, Json), Error> {
    let mut reader = Reader::new(section, file, PORT)?;
    let port = read_port_keys(&mut reader, drop_tail)?;
    let sampled_ranks = reader.get("sampled_ranks")?;
    Ok((port, sampled_ranks, reader.finish()?.into()))
}

fn read_host_port(
    section: Table,
    file: &str,
    profile: Option<Profile>,
    drop_tail: bool,
    extras: &dyn Extras,
    form: Form,
) -> Result<(HostPort, Json), Error> {
    let mut reader = Reader::new(section, file, HOST_PORT)?;
    let kind = reader.get("queue")?.unwrap_or(network_fields::host_queue(profile));
    reader.resolve("queue", kind);
    let mut drop_tail = drop_tail || kind == HostQueueKind::Unlimited;
    let queue = match kind {
        HostQueueKind::Unlimited => HostQueue::Unlimited,
        HostQueueKind::AsSwitch => HostQueue::AsSwitch,
        HostQueueKind::Own => {
            let section = reader.table("scheduler")?.expect("scheduler is required");
            let (scheduler, shown) = read_scheduler(section, file, extras, FACTS, form)?;
            reader.resolved.insert("scheduler".to_owned(), shown);
            let rank = match reader.table("rank")? {
                Some(section) => {
                    let (rank, shown) = read_port_rank(section, file, extras)?;
                    reader.resolved.insert("rank".to_owned(), shown);
                    Some(rank)
                }
                None => None,
            };
            drop_tail = scheduler.is_tail_drop() && rank.is_none();
            HostQueue::Own { scheduler: Box::new(scheduler), rank }
        }
    };
    let port = if matches!(queue, HostQueue::Unlimited) {
        // An unlimited queue has neither an idle treatment nor a capacity that the packet on the wire could occupy.
        let ecn_threshold_bytes = reader.get::<u64>("ecn_threshold_bytes")?;
        let ecn_threshold_packets = reader.get::<u32>("ecn_threshold_packets")?;
        PortOptions { ecn_threshold_bytes, ecn_threshold_packets, idle: None, in_service_occupies_buffer: false }
    } else {
        read_port_keys(&mut reader, drop_tail)?
    };
    Ok((HostPort { queue, port }, reader.finish()?.into()))
}

/// Reads a rank function, which must need only facts that ports of a network have.
fn read_port_rank(section: Table, file: &str, extras: &dyn Extras) -> Result<(Chosen, Json), SpecError> {
    let (place, key) = (section.place_of("name"), format!("{}.name", section.path));
    let (rank, shown, facts) = read_rank(section, file, extras)?;
    let missing = match (facts.needs - FACTS).first() {
        None => return Ok((rank, shown)),
        Some(Fact::Deadline) => "flows do not have deadlines: expected another rank function, such as remaining-size",
        Some(_) => "packets belong to no class with a mean delay: expected another rank function, such as fcfs",
    };
    let problem = Misfit::of(format_args!("{:?}", rank.name), format!("has no effect on a network, where {missing}"));
    Err(SpecError { file: file.to_owned(), place, key, problem })
}

fn read_engine(section: Table, file: &str, profile: Option<Profile>) -> Result<(EngineOptions, Json), Error> {
    let mut reader = Reader::new(section, file, ENGINE)?;
    let absent = network_fields::engine(profile);
    let equal_times = reader.get("equal_times")?.unwrap_or(absent.equal_times);
    let rounding = reader.get("rounding")?.unwrap_or(absent.rounding);
    let wire_time = reader.get("wire_time")?.unwrap_or(absent.wire_time);
    let header_bytes = reader.get("header_bytes")?.unwrap_or(absent.header_bytes);
    let kind = reader.get("routing")?.unwrap_or(network_fields::routing_kind(absent.routing));
    let routing = match kind {
        RoutingKind::FlowHash => Routing::FlowHash { seed: reader.given("routing_seed")? },
        RoutingKind::NetbenchHash => Routing::NetbenchHash,
        RoutingKind::NetbenchHashHostsLast => Routing::NetbenchHashHostsLast,
        RoutingKind::Spray => Routing::Spray { seed: reader.given("routing_seed")? },
    };
    reader.resolve("equal_times", equal_times);
    reader.resolve("rounding", rounding);
    reader.resolve("routing", kind);
    let mut resolved = reader.finish()?;
    resolved.insert("header_bytes".to_owned(), header_bytes.into());
    Ok((EngineOptions { equal_times, rounding, wire_time, header_bytes, routing }, resolved.into()))
}

fn read_metrics(section: Table, file: &str, end: Time) -> Result<(NetworkMetrics, Json), Error> {
    let mut reader = Reader::new(section, file, NETWORK_METRICS)?;
    let classes = reader.usual::<Vec<u64>>("size_classes_bytes")?;
    if let Some(pair) = classes.windows(2).find(|pair| pair[1] <= pair[0]) {
        let problem = format!("has {} after {}: expected ascending sizes", pair[1], pair[0]);
        return Err(reader.fault("size_classes_bytes", problem).into());
    }
    let watch_ports = reader.given::<bool>("watch_ports")?;
    let from = Time::ZERO + reader.time("warm_up")?.expect("it has a default");
    let until = reader.time("measure_until")?.map_or(end, |until| Time::ZERO + until);
    if until > end {
        let problem = Misfit::of(until, format!("expected a time up to the end of the run, {end}"));
        return Err(reader.fault(&reader.written("measure_until"), problem).into());
    }
    if from >= until {
        let key = reader.written(if reader.has("warm_up") { "warm_up" } else { "measure_until" });
        return Err(reader.fault(&key, format!("leaves nothing to measure between {from} and {until}")).into());
    }
    let mut resolved = reader.finish()?;
    resolved.insert("size_classes_bytes".to_owned(), classes.clone().into());
    Ok((NetworkMetrics { classes, from, until, watch_ports }, resolved.into()))
}

/// The error of flows of a run.
pub(crate) fn flows_fault(file: &str, problem: String) -> SpecError {
    SpecError { file: file.to_owned(), place: Place::File, key: "workload.flows".to_owned(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_params::{Absent, Choice};

    /// The defaults of the keys of `[engine]`, and of `queue` in `[host_port]`, under a profile.
    fn defaults(profile: Option<Profile>) -> Vec<(&'static str, String)> {
        let table = |name: &str| Table::new(name.to_owned(), Place::File);
        let (engine, shown) = read_engine(table("engine"), "test.toml", profile).unwrap();
        let (_, host) = read_host_port(table("host_port"), "test.toml", profile, true, &(), Form::Twins).unwrap();
        let word = |json: &Json, key: &str| json[key].as_str().unwrap().to_owned();
        vec![
            ("equal_times", word(&shown, "equal_times")),
            ("rounding", word(&shown, "rounding")),
            ("wire_time", engine.wire_time.as_word().to_owned()),
            ("header_bytes", shown["header_bytes"].to_string()),
            ("routing", word(&shown, "routing")),
            ("queue", word(&host, "queue")),
        ]
    }

    #[test]
    fn the_description_of_idle_names_the_schedulers_that_test_when_idle() {
        let row = PORT.iter().find(|row| row.name == "idle").unwrap();
        let those = crate::registry::SCHEDULERS.iter().filter(|entry| entry.traits.tests_when_idle);
        let names: Vec<_> = those.map(|entry| entry.info.name).collect();
        assert!(row.doc.contains(&format!("With a profile {} have admission", names.join(" and "))), "{names:?}");
    }

    #[test]
    fn what_an_absent_key_means_is_what_it_comes_to() {
        for (place, (name, own)) in defaults(None).into_iter().enumerate() {
            let row = ENGINE.iter().chain(HOST_PORT).find(|row| row.name == name).unwrap();
            let Absent::Depends(depends) = row.absent else { panic!("{name}: {:?}", row.absent) };
            assert_eq!(depends.without.to_string(), own, "{name}");
            assert_eq!(depends.with.len(), Profile::ALL.len());
            for (word, literal) in depends.with {
                let theirs = defaults(Profile::from_word(word)).swap_remove(place);
                assert_eq!(theirs, (name, literal.to_string()), "{word}");
            }
        }
    }
}

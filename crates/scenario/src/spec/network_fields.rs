//! The keys of a scenario on a network.

use super::common::{MAX_PACKETS, MAX_SEED, PLAIN};
use super::topology::TOPOLOGY;
use super::topology_fields::{LINK_FAILURE, RECORD, SWITCH_BUFFER};
use super::transport::TRANSPORT;
use super::words::{FlowArrival, FlowSize, HostQueueKind, ListFormat, PairKind, RoutingKind, SampledRanks};
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::registry::switch::SWITCH;
use pifolab_params::{Choice, Depends, Kind, Literal, Param, Role, rounding_word};
use pifolab_sim::network::{EngineOptions, EqualTimes, IdlePort, Profile, Routing, WireTime};
use pifolab_units::{Rounding, Span};
use pifolab_workload::flows::MAX_FLOW_BYTES;
use pifolab_workload::flows::{Interpolation, SizeUnit};

/// The most bytes of a buffer or a threshold.
const MAX_BYTES: u64 = 1 << 40;

/// The keys at the top of a scenario on a network.
pub(crate) const NETWORK: &[Param] = &[
    Param::new("title", Kind::Text).means("none").doc("A heading for reports."),
    Param::new("description", Kind::Text).means("none").doc("What the scenario is about, for reports."),
    Param::new("duration", Kind::Time).doc("The run ends here: flows that are not complete by then stay unfinished."),
    Param::integers("seeds", 0, MAX_SEED)
        .usually(Literal::Integers(&[1]), "")
        .doc("The seeds to run with, unless one is given on the command line."),
    PLAIN,
    Param::choice::<Profile>("profile").means("pifolab's own defaults").doc(
        "A set of options that changes what absent keys of transport, port, host_port and engine mean; keys that \
              are written keep what they say.",
    ),
    Param::new("topology", Kind::Table(TOPOLOGY)).doc("Hosts, switches, and the links between them."),
    Param::new("transport", Kind::Table(TRANSPORT)).doc("The transport of every flow."),
    Param::new("workload", Kind::Table(WORKLOAD))
        .doc("Which flows are sent; pifolab run --flows FILE replaces it by a list."),
    #[cfg(not(target_family = "wasm"))]
    Param::new("switch", Kind::Table(SWITCH)).means("the network forwards packets along shortest paths").doc(
        "A P4 program that forwards packets at all switches; each port has its scheduler between ingress and egress.",
    ),
    Param::new("rank", Kind::Component(Role::RankFunction))
        .means("packets carry the ranks of the transport")
        .doc("The rank function that computes ranks at each port."),
    Param::new("scheduler", Kind::Components(Role::Scheduler))
        .doc("The schedulers of the switches' output ports; several are run one by one on the same flows."),
    Param::new("port", Kind::Table(PORT))
        .means("the defaults of its keys")
        .doc("The switches' output ports besides their scheduler."),
    Param::new("switch_buffer", Kind::Table(SWITCH_BUFFER))
        .means("memory is not shared: each port has the capacity of its scheduler")
        .doc("Memory that the ports of a switch share; the capacity of each port's scheduler applies as well."),
    Param::new("link_failure", Kind::Tables(LINK_FAILURE))
        .means("no link fails")
        .doc("Links that fail during the run, and may be repaired."),
    Param::new("host_port", Kind::Table(HOST_PORT)).means("the defaults of its keys").doc("The hosts' output ports."),
    Param::new("engine", Kind::Table(ENGINE))
        .means("the defaults of its keys")
        .doc("Details of the network in which simulators differ."),
    Param::new("metrics", Kind::Table(NETWORK_METRICS)).means("the defaults of its keys").doc("What is measured."),
    Param::new("record", Kind::Table(RECORD))
        .means("nothing is recorded")
        .doc("What is recorded over time, packet by packet or sample by sample."),
];

/// The keys of `[workload]`.
pub(crate) const WORKLOAD: &[Param] = &[Param::new("flows", Kind::Tables(FLOWS))
    .doc("The source of flows, or [[workload.flows]] for several in the same network.")];

/// The keys of `[workload.flows]`.
pub(crate) const FLOWS: &[Param] = &[
    Param::new("list", Kind::Text)
        .means("flows are drawn")
        .doc("A file that lists the flows (gzip allowed), relative to the scenario's own file."),
    Param::choice::<ListFormat>("format").or_word(ListFormat::Csv.word()).doc("How the list is written."),
    Param::new("start_within", Kind::Time)
        .means("flows start when the list says")
        .doc("Each flow of the list starts up to this much later, drawn from the seed of the run."),
    Param::choice::<FlowArrival>("arrivals")
        .or_word(FlowArrival::Poisson.word())
        .doc("When flows start. With a profile it must be given."),
    Param::new("starts_per_s", Kind::Positive).means("load is given").doc("Starts per second in the whole network."),
    Param::new("load", Kind::Positive).means("starts_per_s is given").doc(
        "The payload that hosts offer on average, as a share of their links' rate; headers and acknowledgements \
              come on top.",
    ),
    Param::new("shape", Kind::Positive).doc("The tail exponent of pareto arrivals, above 1."),
    Param::new("period", Kind::Time).doc("Time from start to start."),
    Param::integer("netbench_seed", 0, MAX_SEED)
        .or_integer(83599)
        .doc("The seed of netbench arrivals, which do not depend on the seed of the run; the default is the papers'."),
    Param::choice::<FlowSize>("sizes").doc("The distribution of flow sizes."),
    Param::choice::<Interpolation>("interpolation").or_word(Interpolation::Linear.word()).doc(
        "What lies between two points of a size table: it changes the mean of web-search from 0.99 to 1.71 to \
              2.43 MB. With a profile it must be given.",
    ),
    Param::new("file", Kind::Text)
        .doc("The size table: a size and the share of flows up to it (fraction or percent) on each line."),
    Param::choice::<SizeUnit>("file_unit").or_word(SizeUnit::Bytes.word()).doc("The unit of the sizes in the file."),
    Param::integer("size_bytes", 1, MAX_FLOW_BYTES).doc("The size of every flow."),
    Param::integer("low_bytes", 1, MAX_FLOW_BYTES).doc("The smallest size."),
    Param::integer("high_bytes", 1, MAX_FLOW_BYTES).doc("The largest size."),
    Param::new("mean_bytes", Kind::Positive).doc("The mean of Pareto sizes before the cap."),
    Param::new("size_shape", Kind::Positive).doc("The tail exponent of Pareto sizes, above 1."),
    Param::integer("cap_bytes", 1, MAX_FLOW_BYTES).doc("The cap: larger Pareto sizes are set to it."),
    Param::choice::<PairKind>("pairs")
        .or_word(PairKind::Uniform.word())
        .doc("The pairs of senders and receivers. With a profile it must be given."),
    Param::integer("senders", 1, 1 << 30).doc("How many hosts of an incast send at once."),
    Param::integer("receiver", 0, 1 << 30).means("drawn at each start").doc("The receiver of an incast."),
    Param::new("inside", Kind::Share).doc("The share of the flows that stay in the rack."),
    Param::integer("hosts_per_rack", 1, 1 << 30)
        .doc("How many hosts have a share together if pairs are pareto-skewed."),
    Param::new("pairs_file", Kind::Text)
        .doc("CSV with the header src,dst,weight, relative to the scenario's own file."),
    Param::new("start", Kind::Time).or(Literal::Time(Span::from_ps(0))).doc("No flow starts before this."),
    Param::new("stop", Kind::Time).means("the duration").doc("No flow starts at or after this."),
    Param::integer("max_flows", 1, MAX_PACKETS)
        .means("as many as start within the run")
        .doc("No more flows than this."),
];

const ECN: Param = Param::integer("ecn_threshold_bytes", 0, MAX_BYTES)
    .means("packets are never marked; at hosts: as at switches")
    .doc("Packets that arrive when at least this many bytes wait are marked (congestion experienced).");

const ECN_PACKETS: Param = Param::integer("ecn_threshold_packets", 0, MAX_PACKETS)
    .means("packets are not marked by their number; at hosts: as at switches")
    .doc("Packets that arrive when at least this many wait are marked, beside those of ecn_threshold_bytes.");

const IN_SERVICE: Param = Param::flag("in_service_occupies_buffer")
    .or_flag(false)
    .doc("Whether the packet on the wire counts against the capacity; only fifo without a rank function can do that.");

/// The default options of the engine.
pub(super) const fn engine(profile: Option<Profile>) -> EngineOptions {
    match profile {
        None => EngineOptions::DEFAULT,
        Some(profile) => profile.engine(),
    }
}

/// The word of a routing.
pub(super) const fn routing_kind(routing: Routing) -> RoutingKind {
    match routing {
        Routing::FlowHash { .. } => RoutingKind::FlowHash,
        Routing::NetbenchHash => RoutingKind::NetbenchHash,
        Routing::NetbenchHashHostsLast => RoutingKind::NetbenchHashHostsLast,
        Routing::Spray { .. } => RoutingKind::Spray,
    }
}

/// The default queue of hosts: in the published simulators hosts have the ports of switches.
pub(super) const fn host_queue(profile: Option<Profile>) -> HostQueueKind {
    if profile.is_some() { HostQueueKind::AsSwitch } else { HostQueueKind::Unlimited }
}

/// The default treatment of a packet at an idle port. In the published simulators most ports send it at once; some
/// schedulers test it even then.
pub(super) const fn idle(profile: Option<Profile>, tests_when_idle: bool) -> IdlePort {
    match profile {
        None => IdlePort::Scheduler,
        Some(_) if tests_when_idle => IdlePort::Admission,
        Some(_) => IdlePort::Bypass,
    }
}

/// The default of `sampled_ranks` for schedulers that have both.
pub(super) const fn sampled_ranks(profile: Option<Profile>) -> SampledRanks {
    match profile {
        None | Some(Profile::NetbenchSpPifo) => SampledRanks::Kept,
        Some(Profile::NetbenchAifo | Profile::NetbenchPacks | Profile::NetbenchRifo) => SampledRanks::Live,
    }
}

/// A default from a function of the profile.
macro_rules! by_profile {
    (|$profile:ident| $value:expr) => {
        Depends {
            key: "profile",
            without: {
                let $profile = None;
                $value
            },
            with: &const {
                let mut with = [("", Literal::Flag(false)); <Profile as Choice>::ALL.len()];
                let mut place = 0;
                while place < with.len() {
                    let theirs = <Profile as Choice>::ALL[place];
                    let $profile = Some(theirs);
                    with[place] = (theirs.word(), $value);
                    place += 1;
                }
                with
            },
        }
    };
}

/// The keys of `[port]`.
pub(crate) const PORT: &[Param] = &[
    ECN,
    ECN_PACKETS,
    Param::choice::<IdlePort>("idle")
        .depends(by_profile!(|profile| Literal::Word(idle(profile, false).word())))
        .doc("How a packet is handled that arrives at an idle port. With a profile aifo and rifo have admission if it is absent."),
    Param::choice::<SampledRanks>("sampled_ranks").depends(by_profile!(|profile| Literal::Word(sampled_ranks(profile).word()))).doc("live repeats published simulators; where it does not exist, a profile means kept. It exists under stfq with scale = 1 and virtual_time = follow, with hosts \
              like switches, compare = lt and arithmetic = netbench: for aifo with capacity_packets and update = after, or \
              with update = before and headroom = false, and for packs with occupancy = global."),
    IN_SERVICE,
];

/// The keys of `[host_port]`.
pub(crate) const HOST_PORT: &[Param] = &[
    Param::choice::<HostQueueKind>("queue")
        .depends(by_profile!(|profile| Literal::Word(host_queue(profile).word())))
        .doc("The queue of a host, which orders and drops packets."),
    Param::new("scheduler", Kind::Component(Role::Scheduler)).doc("With queue = \"own\": the scheduler."),
    Param::new("rank", Kind::Component(Role::RankFunction))
        .means("packets carry the ranks of the transport")
        .doc("With queue = \"own\": the rank function."),
    ECN,
    ECN_PACKETS,
    Param::choice::<IdlePort>("idle")
        .means("as at switches")
        .doc("How a packet is handled that arrives at an idle port."),
    IN_SERVICE,
];

/// The keys of `[engine]`.
pub(crate) const ENGINE: &[Param] = &[
    Param::choice::<EqualTimes>("equal_times")
        .depends(by_profile!(|profile| Literal::Word(engine(profile).equal_times.word())))
        .doc("The order of events at the same time."),
    Param::choice::<Rounding>("rounding")
        .depends(by_profile!(|profile| Literal::Word(rounding_word(engine(profile).rounding))))
        .doc("How the time that a packet takes on the wire is rounded."),
    Param::choice::<WireTime>("wire_time")
        .depends(by_profile!(|profile| Literal::Word(engine(profile).wire_time.word())))
        .doc("Whose transmission time applies to a packet that leaves a port's queue."),
    Param::integer("header_bytes", 0, 65_535)
        .depends(by_profile!(|profile| Literal::Integer(engine(profile).header_bytes as i64)))
        .doc("Bytes of every packet on top of the payload. IPv4 and TCP without options have 40."),
    Param::choice::<RoutingKind>("routing")
        .depends(by_profile!(|profile| Literal::Word(routing_kind(engine(profile).routing).word())))
        .doc("The choice among several shortest paths."),
    Param::integer("routing_seed", 0, MAX_SEED)
        .or_integer(0)
        .doc("The seed of flow-hash and spray; it does not depend on the seed of the run."),
];

/// The keys of `[metrics]` in a network.
pub(crate) const NETWORK_METRICS: &[Param] = &[
    Param::integers("size_classes_bytes", 1, MAX_FLOW_BYTES).usually(Literal::Integers(&[100_000, 1_000_000]), "").doc(
        "Where the classes of flow sizes begin and end, ascending; a flow of exactly such a size is in the upper.",
    ),
    Param::new("warm_up", Kind::Time)
        .or(Literal::Time(Span::from_ps(0)))
        .doc("Only flows that start at or after this time are measured; loads and utilisations begin here."),
    Param::new("measure_until", Kind::Time).means("the duration").doc(
        "Only flows that start before this time are measured, even if they complete later; loads and utilisations end here.",
    ),
    Param::flag("watch_ports").or_flag(true).doc(
        "Whether inversions, mean occupancy, and what happens to each queue and rank are measured at every port. \
              Runs are faster without, with the same results.",
    ),
];

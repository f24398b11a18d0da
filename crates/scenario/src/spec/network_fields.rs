//! The keys of a scenario on a network, written down once.

use super::network_topology_fields::{LINK_FAILURE, RECORD, SWITCH_BUFFER, TOPOLOGY};
use super::{MAX_PACKETS, MAX_SEED};
use crate::fields::{Absent, Field, What};
use pifolab_workload::flows::MAX_FLOW_BYTES;

/// The most bytes of a buffer or a threshold.
const MAX_BYTES: u64 = 1 << 40;

/// The keys at the top of a scenario on a network.
pub(crate) const NETWORK: &[Field] = &[
    Field { name: "title", what: What::Text, absent: Absent::Means("none"), doc: "A heading for reports." },
    Field {
        name: "description",
        what: What::Text,
        absent: Absent::Means("none"),
        doc: "What the scenario is about, for reports.",
    },
    Field {
        name: "duration",
        what: What::Time,
        absent: Absent::Required,
        doc: "The run ends here: flows that are not complete by then stay unfinished.",
    },
    Field {
        name: "seeds",
        what: What::Integers(0, MAX_SEED),
        absent: Absent::Means("[1]"),
        doc: "The seeds to run with, unless one is given on the command line.",
    },
    Field {
        name: "profile",
        what: What::Choice(&[
            ("netbench-sp-pifo", "the options of the SP-PIFO paper's simulator"),
            ("netbench-aifo", "the options of the AIFO paper's simulator"),
        ]),
        absent: Absent::Means("pifolab's own defaults"),
        doc: "A set of options that changes what absent keys of transport, port, host_port and engine mean; keys that \
              are written keep what they say.",
    },
    Field {
        name: "topology",
        what: What::Table(TOPOLOGY),
        absent: Absent::Required,
        doc: "Hosts, switches, and the links between them.",
    },
    Field {
        name: "transport",
        what: What::Table(TRANSPORT),
        absent: Absent::Required,
        doc: "What every flow is sent with.",
    },
    Field {
        name: "workload",
        what: What::Table(WORKLOAD),
        absent: Absent::Required,
        doc: "Which flows are sent; pifolab run --flows FILE replaces it by a list.",
    },
    Field {
        name: "rank",
        what: What::RankFunction,
        absent: Absent::Means("packets carry the ranks of the transport"),
        doc: "The rank function that computes ranks at each port.",
    },
    Field {
        name: "scheduler",
        what: What::Schedulers,
        absent: Absent::Required,
        doc: "The schedulers of the switches' output ports; several are run one by one on the same flows.",
    },
    Field {
        name: "port",
        what: What::Table(PORT),
        absent: Absent::Means("the defaults of its keys"),
        doc: "The switches' output ports besides their scheduler.",
    },
    Field {
        name: "switch_buffer",
        what: What::Table(SWITCH_BUFFER),
        absent: Absent::Means("each port has what its scheduler holds, and no more is shared"),
        doc: "Memory that the ports of a switch share; what each port's scheduler may hold limits it besides.",
    },
    Field {
        name: "link_failure",
        what: What::Tables(LINK_FAILURE),
        absent: Absent::Means("no link fails"),
        doc: "Links that fail, and perhaps are repaired, while the run goes on.",
    },
    Field {
        name: "host_port",
        what: What::Table(HOST_PORT),
        absent: Absent::Means("the defaults of its keys"),
        doc: "The hosts' output ports.",
    },
    Field {
        name: "engine",
        what: What::Table(ENGINE),
        absent: Absent::Means("the defaults of its keys"),
        doc: "How the network itself behaves where simulators differ.",
    },
    Field {
        name: "metrics",
        what: What::Table(NETWORK_METRICS),
        absent: Absent::Means("the defaults of its keys"),
        doc: "What is measured.",
    },
    Field {
        name: "record",
        what: What::Table(RECORD),
        absent: Absent::Means("nothing is recorded over time"),
        doc: "What is recorded over time, packet by packet or sample by sample.",
    },
];

/// The keys of `[transport]`. What they mean is said at `pifolab_transport::TcpParams`.
pub(crate) const TRANSPORT: &[Field] = &[
    Field {
        name: "name",
        what: What::Choice(&[
            ("newreno", "TCP NewReno"),
            ("dctcp", "DCTCP: TCP that cuts its window in proportion to the marked fraction"),
            ("cubic", "TCP CUBIC"),
            ("pfabric", "TCP that starts with 30 segments and ranks by remaining size"),
            ("udp", "an open loop at a constant rate, without feedback"),
            ("rank-per-packet", "TCP NewReno whose packets each draw a rank (SP-PIFO Fig. 5 and 6)"),
        ]),
        absent: Absent::Required,
        doc: "Which transport.",
    },
    Field {
        name: "controller",
        what: What::Controller,
        absent: Absent::Means("the transport's own"),
        doc: "The congestion controller, written in Python, that steers the window in the place of the transport's own.",
    },
    Field {
        name: "mss_bytes",
        what: What::Integer(1, 65_535),
        absent: Absent::Means("1460; 1380 in the profiles"),
        doc: "The payload of a full segment.",
    },
    Field {
        name: "initial_window_segments",
        what: What::Integer(1, 65_535),
        absent: Absent::Means("10, for pfabric 30; 3 and 30 in the profiles"),
        doc: "The congestion window at the start.",
    },
    Field {
        name: "initial_ssthresh_segments",
        what: What::Integer(1, u32::MAX as u64),
        absent: Absent::Means("none, for pfabric 30; 30 in the profiles"),
        doc: "The slow-start threshold at the start.",
    },
    Field {
        name: "max_window_bytes",
        what: What::Integer(1, MAX_BYTES),
        absent: Absent::Means("65535"),
        doc: "The window never grows beyond this.",
    },
    Field {
        name: "initial_rto",
        what: What::Time,
        absent: Absent::Means("10 ms; in the profiles 300 us, for pfabric 96.384 us"),
        doc: "The retransmission timeout before the first round-trip sample.",
    },
    Field {
        name: "min_rto",
        what: What::Time,
        absent: Absent::Means("1 ms; 0 in the profiles"),
        doc: "The floor of the timeout.",
    },
    Field {
        name: "max_rto",
        what: What::Time,
        absent: Absent::Means("60 s; none in the profiles"),
        doc: "The ceiling of the timeout.",
    },
    Field {
        name: "unlimited_rto",
        what: What::Flag,
        absent: Absent::Means("false; true in the profiles"),
        doc: "The timeout has no ceiling; instead of max_rto.",
    },
    Field {
        name: "duplicate_threshold",
        what: What::Integer(1, 255),
        absent: Absent::Means("3"),
        doc: "Duplicate acknowledgements that reveal a loss.",
    },
    Field {
        name: "limited_transmit",
        what: What::Flag,
        absent: Absent::Means("true"),
        doc: "Send new data on the first two duplicates (RFC 3042).",
    },
    Field {
        name: "count_first_duplicates",
        what: What::Flag,
        absent: Absent::Means("true; false in the profiles"),
        doc: "Count duplicates also before the first new acknowledgement, so that a lost first segment is repaired \
              without a timeout.",
    },
    Field {
        name: "accept_data_in_handshake",
        what: What::Flag,
        absent: Absent::Means("true; false in the profiles"),
        doc: "The receiver takes data that arrives before the handshake's last segment.",
    },
    Field {
        name: "restart_timer_on_send",
        what: What::Flag,
        absent: Absent::Means("false; true in the profiles"),
        doc: "Restart the timer at every transmission, not only when it is not running.",
    },
    Field {
        name: "timeout_sets_recover",
        what: What::Flag,
        absent: Absent::Means("true; false in the profiles"),
        doc: "After a timeout, losses of what was outstanding do not start a fast recovery (RFC 6582).",
    },
    Field {
        name: "rank",
        what: What::Choice(&[
            ("zero", "0"),
            ("remaining-size", "flow size minus the first byte of the segment (pFabric)"),
            ("remaining-by-sequence", "the same by TCP sequence number, smaller by one (the profiles' pFabric)"),
            ("flow-size", "the size of the flow"),
            ("unacknowledged", "bytes not acknowledged yet (SRPT)"),
        ]),
        absent: Absent::Means("zero; for pfabric remaining-size, in the profiles remaining-by-sequence"),
        doc: "The rank that a sender writes into its segments, in bytes.",
    },
    Field {
        name: "ack_rank",
        what: What::Choice(&[
            ("zero", "0, the highest priority"),
            ("remaining", "the bytes of the flow that have not arrived in order yet"),
        ]),
        absent: Absent::Means("zero"),
        doc: "The rank of what receivers send.",
    },
    Field {
        name: "packet_ranks",
        what: What::Distribution,
        absent: Absent::Required,
        doc: "For rank-per-packet: what the rank of each packet, data or not, is drawn from.",
    },
    Field {
        name: "gain",
        what: What::Positive,
        absent: Absent::Means("1/16"),
        doc: "For dctcp: g, the gain of the moving average of the marked fraction, at most 1.",
    },
    Field {
        name: "initial_alpha",
        what: What::Share,
        absent: Absent::Means("1; 0 in the profiles"),
        doc: "For dctcp: the marked fraction that is assumed at the start.",
    },
    Field {
        name: "cut",
        what: What::Choice(&[
            ("once-per-window", "at most once per window of data (RFC 8257)"),
            ("every-mark", "on every marked acknowledgement"),
        ]),
        absent: Absent::Means("once-per-window; every-mark in the profiles"),
        doc: "For dctcp: when a mark cuts the window.",
    },
    Field {
        name: "payload_bytes",
        what: What::Integer(1, 65_535),
        absent: Absent::Required,
        doc: "For udp: the payload of a datagram.",
    },
    Field {
        name: "interval",
        what: What::Time,
        absent: Absent::Required,
        doc: "For udp: the time between two datagrams of a flow.",
    },
];

/// The keys of `[workload]`.
pub(crate) const WORKLOAD: &[Field] = &[Field {
    name: "flows",
    what: What::Tables(FLOWS),
    absent: Absent::Required,
    doc: "Where flows come from: one source, or [[workload.flows]] for several in the same network.",
}];

/// The keys of `[workload.flows]`.
pub(crate) const FLOWS: &[Field] = &[
    Field {
        name: "list",
        what: What::Text,
        absent: Absent::Means("flows are drawn"),
        doc: "A file that lists the flows (gzip allowed), relative to the scenario's own file.",
    },
    Field {
        name: "format",
        what: What::Choice(&[
            ("csv", "flow,src,dst,size_bytes,start_ns; further columns are ignored"),
            ("hpcc", "the flow file of the HPCC simulator"),
        ]),
        absent: Absent::Default("csv"),
        doc: "How the list is written.",
    },
    Field {
        name: "arrivals",
        what: What::Choice(&[
            ("poisson", "independent exponential gaps"),
            ("pareto", "independent Pareto gaps: bursts and silences"),
            ("periodic", "one start each period, the first at the beginning"),
            ("netbench-sp-pifo", "flow by flow what the SP-PIFO paper's simulator draws, the last at the end included"),
            ("netbench-aifo", "flow by flow what the AIFO paper's simulator draws"),
        ]),
        absent: Absent::Required,
        doc: "When flows start.",
    },
    Field {
        name: "starts_per_s",
        what: What::Positive,
        absent: Absent::Means("load is given"),
        doc: "Starts per second in the whole network.",
    },
    Field {
        name: "load",
        what: What::Positive,
        absent: Absent::Means("starts_per_s is given"),
        doc: "The payload that hosts offer on average, as a share of their links' rate; headers and acknowledgements \
              come on top.",
    },
    Field {
        name: "shape",
        what: What::Positive,
        absent: Absent::Required,
        doc: "The tail exponent of pareto arrivals, above 1.",
    },
    Field { name: "period", what: What::Time, absent: Absent::Required, doc: "Time from start to start." },
    Field {
        name: "netbench_seed",
        what: What::Integer(0, MAX_SEED),
        absent: Absent::Default("83599"),
        doc: "The seed of netbench arrivals, which do not depend on the seed of the run; the default is the papers'.",
    },
    Field {
        name: "sizes",
        what: What::Choice(&[
            ("web-search", "the DCTCP paper's web search"),
            ("data-mining", "the VL2 paper's data mining"),
            ("hadoop", "Facebook's Hadoop cluster"),
            ("storage", "Alibaba's storage cluster"),
            ("file", "a cumulative distribution from a file"),
            ("fixed", "all alike"),
            ("uniform", "low_bytes to high_bytes, all alike"),
            ("pareto", "Pareto with a mean and a cap"),
        ]),
        absent: Absent::Required,
        doc: "How large flows are.",
    },
    Field {
        name: "interpolation",
        what: What::Choice(&[
            ("step-lower", "the size of the point below (the SP-PIFO and AIFO papers)"),
            ("step-upper", "the size of the point above"),
            ("linear", "a size in between (most simulators)"),
        ]),
        absent: Absent::Required,
        doc: "What lies between two points of a size table: it changes the mean of web-search from 0.99 to 1.71 to \
              2.43 MB.",
    },
    Field {
        name: "file",
        what: What::Text,
        absent: Absent::Required,
        doc: "The size table: a size and the share of flows up to it (fraction or percent) on each line.",
    },
    Field {
        name: "file_unit",
        what: What::Choice(&[("bytes", "bytes"), ("packets", "packets of 1460 bytes")]),
        absent: Absent::Default("bytes"),
        doc: "What the sizes in the file count.",
    },
    Field {
        name: "size_bytes",
        what: What::Integer(1, MAX_FLOW_BYTES),
        absent: Absent::Required,
        doc: "The size of every flow.",
    },
    Field {
        name: "low_bytes",
        what: What::Integer(1, MAX_FLOW_BYTES),
        absent: Absent::Required,
        doc: "The smallest size.",
    },
    Field {
        name: "high_bytes",
        what: What::Integer(1, MAX_FLOW_BYTES),
        absent: Absent::Required,
        doc: "The largest size.",
    },
    Field {
        name: "mean_bytes",
        what: What::Positive,
        absent: Absent::Required,
        doc: "The mean of Pareto sizes before the cap.",
    },
    Field {
        name: "size_shape",
        what: What::Positive,
        absent: Absent::Required,
        doc: "The tail exponent of Pareto sizes, above 1.",
    },
    Field {
        name: "cap_bytes",
        what: What::Integer(1, MAX_FLOW_BYTES),
        absent: Absent::Required,
        doc: "Larger Pareto sizes become this.",
    },
    Field {
        name: "pairs",
        what: What::Choice(&[
            ("uniform", "each ordered pair of different hosts alike"),
            ("permutation", "each host has one partner, drawn once per run"),
            ("incast", "senders hosts start together to one receiver"),
            ("all-to-all", "a start brings one flow for every ordered pair"),
            ("rack-skewed", "the share inside stays below the sender's leaf"),
            ("file", "weights from a file"),
        ]),
        absent: Absent::Required,
        doc: "Who sends to whom.",
    },
    Field {
        name: "senders",
        what: What::Integer(1, 1 << 30),
        absent: Absent::Required,
        doc: "How many hosts of an incast send at once.",
    },
    Field {
        name: "receiver",
        what: What::Integer(0, 1 << 30),
        absent: Absent::Means("drawn at each start"),
        doc: "The receiver of an incast.",
    },
    Field {
        name: "inside",
        what: What::Share,
        absent: Absent::Required,
        doc: "The share of the flows that stay in the rack.",
    },
    Field {
        name: "pairs_file",
        what: What::Text,
        absent: Absent::Required,
        doc: "CSV with the header src,dst,weight, relative to the scenario's own file.",
    },
    Field { name: "start", what: What::Time, absent: Absent::Default("0"), doc: "No flow starts before this." },
    Field {
        name: "stop",
        what: What::Time,
        absent: Absent::Means("the duration"),
        doc: "No flow starts at or after this.",
    },
    Field {
        name: "max_flows",
        what: What::Integer(1, MAX_PACKETS),
        absent: Absent::Means("as many as start in time"),
        doc: "No more flows than this.",
    },
];

const IDLE: What = What::Choice(&[
    ("scheduler", "its scheduler, like every packet"),
    ("bypass", "the wire: the scheduler never hears of it"),
    ("admission", "the scheduler's admission test, then the wire at once"),
]);

const ECN: Field = Field {
    name: "ecn_threshold_bytes",
    what: What::Integer(0, MAX_BYTES),
    absent: Absent::Means("packets are never marked; at hosts: as at switches"),
    doc: "Packets that arrive when at least this much waits are marked (congestion experienced).",
};

const IN_SERVICE: Field = Field {
    name: "in_service_occupies_buffer",
    what: What::Flag,
    absent: Absent::Default("false"),
    doc: "Whether the packet on the wire counts against the capacity; only fifo without a rank function can do that.",
};

/// The keys of `[port]`.
pub(crate) const PORT: &[Field] = &[
    ECN,
    Field {
        name: "idle",
        what: IDLE,
        absent: Absent::Means("scheduler; in the profiles bypass, for aifo admission"),
        doc: "What a packet meets that arrives at an idle port.",
    },
    Field {
        name: "sampled_ranks",
        what: What::Choice(&[
            ("kept", "a window keeps the ranks that it sampled"),
            ("live", "the entries of a window follow their packets, whose ranks later ports overwrite"),
        ]),
        absent: Absent::Means("kept; in the profile netbench-aifo live, where that exists"),
        doc: "live repeats the AIFO paper's simulator; it exists for aifo with capacity_packets, update = after, compare \
              = lt and arithmetic = netbench, under stfq with scale = 1 and virtual_time = follow, with hosts like \
              switches.",
    },
    IN_SERVICE,
];

/// The keys of `[host_port]`.
pub(crate) const HOST_PORT: &[Field] = &[
    Field {
        name: "queue",
        what: What::Choice(&[
            (
                "unlimited",
                "as much as comes, by rank where the switches schedule, first in first out where they do not",
            ),
            ("as-switch", "the scheduler and capacity of the switches' ports"),
            ("own", "a scheduler of its own"),
        ]),
        absent: Absent::Means("unlimited; as-switch in the profiles"),
        doc: "What orders and drops packets in a host.",
    },
    Field {
        name: "scheduler",
        what: What::Scheduler,
        absent: Absent::Required,
        doc: "With queue = \"own\": the scheduler.",
    },
    Field {
        name: "rank",
        what: What::RankFunction,
        absent: Absent::Means("packets carry the ranks of the transport"),
        doc: "With queue = \"own\": the rank function.",
    },
    ECN,
    Field {
        name: "idle",
        what: IDLE,
        absent: Absent::Means("as at switches"),
        doc: "What a packet meets that arrives at an idle port.",
    },
    IN_SERVICE,
];

/// The keys of `[engine]`.
pub(crate) const ENGINE: &[Field] = &[
    Field {
        name: "equal_times",
        what: What::Choice(&[
            ("departures-first", "a departure at a port goes before an arrival at the same port"),
            ("insertion", "in the order in which events were scheduled"),
            ("netbench-batch", "the order of the AIFO paper's simulator"),
        ]),
        absent: Absent::Means("departures-first; insertion and netbench-batch in the profiles"),
        doc: "What happens first among events of equal time.",
    },
    Field {
        name: "rounding",
        what: What::Choice(&[
            ("up-to-picosecond", "up: a link is never faster than its rate"),
            ("down-to-nanosecond", "down to whole nanoseconds"),
        ]),
        absent: Absent::Means("up-to-picosecond; down-to-nanosecond in the profiles"),
        doc: "How the time that a packet takes on the wire is rounded.",
    },
    Field {
        name: "header_bytes",
        what: What::Integer(0, 65_535),
        absent: Absent::Means("40 (IPv4 and TCP without options); 120 in the profiles"),
        doc: "Bytes of every packet on top of the payload.",
    },
    Field {
        name: "routing",
        what: What::Choice(&[
            ("flow-hash", "a flow keeps its path, its acknowledgements have their own"),
            ("netbench-hash", "the same with the hash of the published simulators"),
            ("spray", "every packet by itself"),
        ]),
        absent: Absent::Means("flow-hash; netbench-hash in the profiles"),
        doc: "Which of several shortest paths a packet takes.",
    },
    Field {
        name: "routing_seed",
        what: What::Integer(0, MAX_SEED),
        absent: Absent::Default("0"),
        doc: "The seed of flow-hash and spray; it does not depend on the seed of the run.",
    },
];

/// The keys of `[metrics]` in a network.
pub(crate) const NETWORK_METRICS: &[Field] = &[
    Field {
        name: "size_classes_bytes",
        what: What::Integers(1, MAX_FLOW_BYTES),
        absent: Absent::Means("[100000, 1000000]"),
        doc: "Where the classes of flow sizes begin and end, ascending; a flow of exactly such a size is in the upper.",
    },
    Field {
        name: "warm_up",
        what: What::Time,
        absent: Absent::Default("0"),
        doc: "Measured are the flows that start from here on; loads and utilisations are those from here on.",
    },
    Field {
        name: "measure_until",
        what: What::Time,
        absent: Absent::Means("the duration"),
        doc: "Measured are the flows that start before this, even if they complete later; loads and utilisations end here.",
    },
    Field {
        name: "watch_ports",
        what: What::Flag,
        absent: Absent::Default("true"),
        doc: "Whether inversions, mean occupancy, and what happens to each queue and rank are measured at every port. \
              Runs are faster without, with the same results.",
    },
];

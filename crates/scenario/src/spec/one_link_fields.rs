//! The keys of a scenario on one link.

use super::common::{MAX_PACKETS, MAX_SEED, PLAIN};
use super::words::End;
use super::workload;
use pifolab_params::{Kind, Literal, Param, Role, rounding_word};
use pifolab_sim::equal_times::EqualTimesOnLink;
use pifolab_units::Rounding;

/// The keys at the top of a scenario on one link.
pub(crate) const TOP: &[Param] = &[
    Param::new("title", Kind::Text).means("none").doc("A heading for reports."),
    Param::new("description", Kind::Text).means("none").doc("What the scenario is about, for reports."),
    Param::new("duration", Kind::Time)
        .means("arrivals end with packets, the trace or the sequence of ranks")
        .doc("No packet arrives at or after this time; with end = \"horizon\" the run stops here."),
    Param::integer("packets", 1, MAX_PACKETS)
        .means("as many as arrive within the duration")
        .doc("No more packets than this arrive, over all sources."),
    Param::choice::<End>("end").means("horizon if there is a duration, drain otherwise").doc("When the run ends."),
    Param::integers("seeds", 0, MAX_SEED)
        .usually(Literal::Integers(&[1]), "")
        .doc("The seeds to run with, unless one is given on the command line."),
    PLAIN,
    Param::new("link", Kind::Table(LINK)).doc("The link that packets leave on."),
    Param::new("workload", Kind::Tables(workload::SOURCE))
        .doc("Where packets come from: one source, or [[workload]] for several on the same link."),
    Param::new("rank", Kind::Component(Role::RankFunction))
        .means("packets carry the ranks of the workload")
        .doc("The rank function that computes ranks on arrival."),
    Param::new("scheduler", Kind::Components(Role::Scheduler)).doc("The schedulers to run, each on the same arrivals."),
    Param::new("metrics", Kind::Table(METRICS))
        .means("the defaults of its keys")
        .doc("What is measured beside the standard tables."),
];

/// The keys of `[link]`.
pub(crate) const LINK: &[Param] = &[
    Param::new("rate", Kind::Rate).doc("The rate of the link."),
    Param::choice::<Rounding>("rounding")
        .or_word(rounding_word(Rounding::UpToPicosecond))
        .doc("How the time that a packet takes on the wire is rounded."),
    Param::choice::<EqualTimesOnLink>("tie")
        .or_word(EqualTimesOnLink::DeparturesFirst.word())
        .doc("The order of events if the wire becomes free at the instant of an arrival."),
];

/// The keys of `[metrics]`.
pub(crate) const METRICS: &[Param] = &[
    Param::integer("sample_every_packets", 1, MAX_PACKETS).usually(Literal::Integer(1000), ", unless sample_every_us is given").doc("Occupancy and queue bounds are sampled after every n-th arrival."),
    Param::new("sample_every", Kind::Time).means("samples are taken by arrivals").doc("Occupancy and queue bounds are sampled at the first event at or after each multiple of this time."),
    Param::integer("max_samples", 0, 100_000_000).or_integer(100000).doc("No more samples than this are kept for each scheduler; the manifest says how many were left out."),
    Param::flag("sample_window").or_flag(false).doc("Samples also hold the smallest and largest rank of the scheduler's window (AIFO, PACKS, RIFO)."),
    Param::integer("unpifoness_window_packets", 1, MAX_PACKETS).means("not measured").doc("The unpifoness of the mapping to queues (SP-PIFO eq. 5) is measured over windows of this many admitted packets."),
    Param::new("throughput_interval", Kind::Time).means("not measured").doc("The bytes that each flow sends are summed up over intervals of this length."),
    Param::new("delta_to", Kind::Text).means("the first scheduler called pifo, if there is one").doc("The label of the scheduler that Delta (AIFO eq. 1) compares the others with."),
];

//! The algorithms, one file each. Those that choose a queue on arrival are [`deciders`]; joined to queues they are the schedulers
//! of the same names here.
//!
//! A short algorithm has its options and tests in the same file. AIFO, Exp-PIFO, PACKS, RIFO and SP-PIFO have outgrown it and are
//! all laid out alike: the file that carries the name has the header, the decider and the paper's lines, 150 lines of code at
//! most; the folder of the same name has `options.rs`, what a user writes with its table, its defaults and its checks,
//! `tests.rs`, and further files for what makes the paper's lines fast and for variants that repeat published runs or a switch's
//! arithmetic. What several of them share is beside them: `admission`, `delayed`, `geometric`, `headroom` and `netbench`.

mod admission;
mod afq;
mod aifo;
mod delayed;
mod drr;
mod exp_pifo;
mod fifo;
mod fq_codel;
mod geometric;
mod headroom;
mod live_window;
mod netbench;
mod packs;
mod pieo;
mod pifo;
mod rifo;
mod scrr;
mod slack_sp;
mod sp_pifo;
mod sp_pifo_greedy;
mod sp_pifo_optimal;
mod spring;
mod strict_priority;

use crate::entry::{
    BY_RANK, LiveTest, LiveWindow, SchedulerEntry, Settings, Traits, counted, in_parts, look, scheduler,
};
use crate::store::Queue;
use crate::{Packet, Queued};
use alloc::format;

pub use admission::{Arithmetic, Quantile, Update};
pub use afq::{AfqParams, Counters as AfqCounters, Horizon};
pub use aifo::{AifoParams, Compare};
pub use drr::{Drr, DrrParams};
pub use exp_pifo::{BetaRounding, BetaZero, ExpPifoParams, Mapping, MappingKind, Reset};
pub use fifo::FifoParams;
pub use fq_codel::{FqCodel, FqCodelParams};
pub use geometric::GeometricMap;
pub use headroom::{Headroom, ShelteredPower};
pub use live_window::{LiveAdmission, LiveRank};
pub use packs::{Occupancy, PacksParams};
pub use pieo::{Pieo, PieoParams};
pub use pifo::{HandlePifo, Pifo, PifoParams, Ties};
pub use rifo::{ResetCounter, RifoMode, RifoParams};
pub use scrr::{Scrr, ScrrParams};
pub use slack_sp::{SlackAdmission, SlackShares, SlackSpParams, StepScale};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifoParams};
pub use sp_pifo_greedy::{SpPifoGreedyParams, Steps};
pub use sp_pifo_optimal::{Combine, QueueCost, SpPifoOptimalParams, most_weights, optimal_bounds};
pub use spring::{Decays, Force, SpringParams};
pub use strict_priority::StrictPriorityParams;

/// The algorithms themselves, without the queues: see [`Decider`](crate::Decider).
pub mod deciders {
    pub use super::afq::Afq;
    pub use super::aifo::Aifo;
    pub use super::exp_pifo::ExpPifo;
    pub use super::fifo::Fifo;
    pub use super::packs::Packs;
    pub use super::rifo::Rifo;
    pub use super::slack_sp::SlackSp;
    pub use super::sp_pifo::SpPifo;
    pub use super::sp_pifo_greedy::SpPifoGreedy;
    pub use super::sp_pifo_optimal::SpPifoOptimal;
    pub use super::spring::Spring;
    pub use super::strict_priority::StrictPriority;
}

/// A first-in first-out queue with tail drop.
pub type Fifo<T = Packet> = Queued<deciders::Fifo, T, Queue<T>>;
/// Strict-priority queues with fixed bounds.
pub type StrictPriority<T = Packet> = Queued<deciders::StrictPriority, T>;
/// SP-PIFO.
pub type SpPifo<T = Packet> = Queued<deciders::SpPifo, T>;
/// Greedy SP-PIFO.
pub type SpPifoGreedy<T = Packet> = Queued<deciders::SpPifoGreedy, T>;
/// Strict-priority queues with the best fixed bounds for a rank distribution.
pub type SpPifoOptimal<T = Packet> = Queued<deciders::SpPifoOptimal, T>;
/// Slack-SP.
pub type SlackSp<T = Packet> = Queued<deciders::SlackSp, T>;
/// Spring.
pub type Spring<T = Packet> = Queued<deciders::Spring, T>;
/// AIFO.
pub type Aifo<T = Packet> = Queued<deciders::Aifo, T, Queue<T>>;
/// PACKS.
pub type Packs<T = Packet> = Queued<deciders::Packs, T>;
/// RIFO.
pub type Rifo<T = Packet> = Queued<deciders::Rifo, T, Queue<T>>;
/// Exp-PIFO.
pub type ExpPifo<T = Packet> = Queued<deciders::ExpPifo, T>;
/// AFQ.
pub type Afq<T = Packet> = Queued<deciders::Afq, T>;

/// The window of a published simulation: its comparison and arithmetic, and none of the `other` keys.
fn published_window(settings: &Settings<'_>, other: &[&str], test: LiveTest) -> Option<LiveWindow> {
    let published = [("compare", "lt"), ("arithmetic", "netbench"), ("quantile", "lt")];
    let is_published = published.iter().all(|(name, word)| settings.is(name, word)) && settings.lacks(other);
    let on_time = settings.integer("occupancy_delay_packets") == Some(0u64);
    (is_published && on_time).then_some(LiveWindow {
        test,
        window: settings.integer("window")?,
        sample: settings.integer("sample")?,
        k: settings.fraction("k") as f32,
    })
}

/// Headrooms and sizes of windows that the papers use.
const HEADROOMS: &[&str] = &["0", "1/10", "3/10"];
const WINDOWS: &[&str] = &["20", "100", "1000"];

/// By rank, behind an admission test.
const TESTED: Traits = Traits { tests_arrivals: true, ..BY_RANK };
/// What fair queueing goes by.
const BY_FLOW: Traits = Traits { reads_ranks: false, reads_flows: true, ..BY_RANK };

/// Every scheduler.
pub const SCHEDULERS: &[SchedulerEntry] = &[
    in_parts::<Pifo>(Traits { ideal: true, ..BY_RANK }, look("PIFO", "#000000", &[], "o")),
    SchedulerEntry {
        advice: Some(&[]),
        cost: Some(|_| counted(0, 0.0, "nothing")),
        ..in_parts::<Fifo>(
            Traits { reads_ranks: false, tail_drop: true, ..BY_RANK },
            look("FIFO", "#8c8c8c", &[1, 1], "s"),
        )
    },
    SchedulerEntry {
        cost: Some(|_| counted(0, 0.0, "fixed bounds are entries of a match table, not state").doing(1)),
        ..in_parts::<StrictPriority>(BY_RANK, look("Fixed bounds", "#332288", &[3, 1], "h"))
    },
    SchedulerEntry {
        advice: Some(&[("push_down", &["cost", "one", "queue-bound"])]),
        cost: Some(|settings| counted(settings.queues, 0.0, "one bound for each queue").doing(2 * settings.queues)),
        ..in_parts::<SpPifo>(BY_RANK, look("SP-PIFO", "#e69f00", &[5, 1], "^"))
    },
    SchedulerEntry {
        cost: Some(|settings| {
            counted(5 * settings.queues, 0.0, "for each queue a bound and four counters (SP-PIFO, appendix A)")
                .doing(settings.queues + 5)
        }),
        ..in_parts::<SpPifoGreedy>(BY_RANK, look("SP-PIFO greedy", "#999933", &[5, 1, 2, 1], "p"))
    },
    in_parts::<SpPifoOptimal>(BY_RANK, look("SP-PIFO optimal", "#aa4499", &[1, 2], "*")),
    SchedulerEntry {
        advice: Some(&[("eps", &["1/50", "1/10"])]),
        cost: Some(|settings| {
            if settings.is("map", "shares") {
                let registers: u64 = settings.integer("registers").unwrap_or_default();
                let what = "registers of quantiles, the counter of packets and the share of crowded arrivals";
                // A comparison and a move for each; the division of the interpolation; a comparison for each queue.
                return counted(registers + 2, 0.0, what).doing(2 * registers + 3 + settings.queues);
            }
            let bounds = settings.queues - 1;
            match settings.lacks(&["admission_gain"]) {
                true => {
                    counted(bounds, 0.0, "one bound fewer than queues; their lengths come from the traffic manager")
                        .doing(2 * bounds)
                }
                false => counted(bounds + 2, 0.0, "one bound fewer than queues, the limit and the highest rank")
                    .doing(2 * bounds + 3),
            }
        }),
        ..in_parts::<SlackSp>(BY_RANK, look("Slack-SP", "#117733", &[], "d"))
    },
    SchedulerEntry {
        cost: Some(|settings| {
            let more = u64::from(settings.is("force_from", "inversions"));
            counted(
                (2 + more) * settings.queues + 1,
                0.0,
                "for each queue a bound and a force (with inversions the rank before), and the highest rank",
            )
            .doing((3 + more) * settings.queues + 1)
        }),
        ..in_parts::<Spring>(BY_RANK, look("Spring", "#ddcc77", &[4, 2, 1, 2], "8"))
    },
    SchedulerEntry {
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        cost: Some(|settings| {
            let slots: u64 = settings.integer("window").expect("it has a default");
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position")).doing(slots + 3)
        }),
        live_window: |settings| {
            let other = ["capacity_bytes", "target_packets", "target_bytes", "start_window"];
            let packets = settings.integer("capacity_packets").unwrap_or(80);
            let test = match (settings.is("update", "after"), settings.flag("headroom")) {
                (true, true) => LiveTest::Aifo { packets },
                (false, false) => LiveTest::AifoOfPacks { packets },
                _ => return None,
            };
            published_window(settings, &other, test)
        },
        ..in_parts::<Aifo>(Traits { tests_when_idle: true, ..TESTED }, look("AIFO", "#0072b2", &[3, 1, 1, 1], "v"))
    },
    SchedulerEntry {
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        live_window: |settings| {
            if settings.is_list("queue_capacity_packets") {
                return None;
            }
            let other = ["queue_capacity_bytes", "start_window"];
            let published = settings.is("update", "before") && settings.is("occupancy", "global");
            let unshifted = settings.integer("shift") == Some(0u32) && settings.flag("fall_through");
            let queue_packets = settings.integer("queue_capacity_packets").unwrap_or(10);
            let queues = settings.integer("queues").unwrap_or(8);
            let test = LiveTest::Packs { queues, queue_packets };
            (published && unshifted).then(|| published_window(settings, &other, test))?
        },
        cost: Some(|settings| {
            let slots: u64 = settings.integer("window").expect("it has a default");
            let queues = settings.queues;
            let lengths = format!("{queues} queue lengths come from the traffic manager");
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position; {lengths}"))
                .doing(slots + queues + 2)
        }),
        ..in_parts::<Packs>(TESTED, look("PACKS", "#d55e00", &[], "D"))
    },
    SchedulerEntry {
        advice: Some(&[("tracking_range_packets", &["100", "500", "1000"]), ("k", HEADROOMS)]),
        // RIFO section V: three tables of 15 ternary entries of 36 bits, one of 16 x 16 products of 4 bytes.
        cost: Some(|_| {
            let how = "Min, Max and a counter; 3 x 15 entries of 36 bits, 256 of 4 bytes";
            counted(3, 3.0 * 15.0 * 36.0 / 8.0 + 256.0 * 4.0, how).doing(2 + 3 + 4)
        }),
        ..in_parts::<Rifo>(Traits { tests_when_idle: true, ..TESTED }, look("RIFO", "#009e73", &[5, 1, 1, 1], "P"))
    },
    SchedulerEntry {
        advice: Some(&[("window_packets", &["1000", "5000"]), ("r_min", &["1", "64", "1500"])]),
        // Exp-PIFO section 2.3: 2^12 entries of 5 bits for the queue; 33 range entries of 33 bits for the logarithm.
        cost: Some(|_| {
            let how = "exponent and counter; 4096 entries of 5 bits (the logarithm takes 1089 bits more)";
            counted(2, 4096.0 * 5.0 / 8.0, how).doing(2 + 2)
        }),
        ..in_parts::<ExpPifo>(BY_RANK, look("Exp-PIFO", "#cc79a7", &[4, 1, 1, 1, 1, 1], "X"))
    },
    SchedulerEntry {
        advice: Some(&[("bytes_per_round", &["320", "1500", "3000"])]),
        cost: Some(|_| {
            counted(2 * 16_384 + 1, 0.0, "the round and a count-min sketch of 2 x 16,384 bids").doing(1 + 4)
        }),
        ..in_parts::<Afq>(BY_FLOW, look("AFQ", "#56b4e9", &[2, 1], "<"))
    },
    scheduler::<Drr>(BY_FLOW, look("DRR", "#44aa99", &[4, 2], "H")),
    scheduler::<Scrr>(BY_FLOW, look("SCRR", "#661100", &[2, 2], "x")),
    scheduler::<FqCodel>(Traits { reads_time: true, ..BY_FLOW }, look("FQ-CoDel", "#cc6677", &[6, 1, 1, 1], "1")),
    scheduler::<Pieo>(
        Traits { reads_time: true, conserves_work: false, ..BY_RANK },
        look("PIEO", "#882255", &[7, 1], ">"),
    ),
];

/// Calls `$each!` with the names of all types of [`SCHEDULERS`], for code that is generic in them.
#[macro_export]
macro_rules! each_scheduler {
    ($each:ident) => {
        $each! { Pifo, Fifo, StrictPriority, SpPifo, SpPifoGreedy, SpPifoOptimal, SlackSp, Spring, Aifo, Packs, Rifo, ExpPifo, Afq, Drr, Scrr, FqCodel, Pieo }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_that_carries_a_papers_name_is_its_algorithm_and_no_more() {
        for (name, text) in [
            ("aifo", include_str!("aifo.rs")),
            ("exp_pifo", include_str!("exp_pifo.rs")),
            ("packs", include_str!("packs.rs")),
            ("rifo", include_str!("rifo.rs")),
            ("sp_pifo", include_str!("sp_pifo.rs")),
        ] {
            let (code, tests) = text.split_once("#[cfg(test)]").expect("it ends with its tests");
            assert_eq!(tests.trim(), "mod tests;", "the tests of {name} are in a file of their own");
            let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
            let lines = code.lines().map(str::trim).filter(is_code).count();
            assert!(
                lines <= 150,
                "{name}.rs has {lines} lines of code: expected at most 150, with its options in {name}/options.rs"
            );
            assert!(!code.contains("Param::"), "the parameters of {name} are in {name}/options.rs");
        }
    }
}

//! The schedulers of the library, a row for each.

use crate::entry::{
    BY_RANK, SchedulerEntry, Traits, counted, decider, in_parts, look, scheduler as by_rank, scheduler as other,
};
use crate::variants;
use pifolab_sched::schedulers::{Force, SlackSpParams, SpPifoGreedyParams, SpPifoParams, SpringParams};
use types::*;

/// The headrooms and window sizes that the papers use.
const HEADROOMS: &[&str] = &["0", "1/10", "3/10"];
const WINDOWS: &[&str] = &["20", "100", "1000"];

/// By rank, behind an admission test.
const TESTED: Traits = Traits { tests_arrivals: true, ..BY_RANK };

/// The traits of fair queueing.
const BY_FLOW: Traits = Traits { reads_ranks: false, reads_flows: true, ..BY_RANK };

/// Makes the table of all schedulers, and the macro `each_row!`, from one list. A row has the kind of the scheduler,
/// its type (for a decider its twin, or [`NoTwin`]), what its decisions depend on, how figures draw it, and other
/// fields.
///
/// The kinds: a `decider`; a scheduler in rank order that can be taken apart (`in_parts`) or not (`by_rank`); any `other` one.
macro_rules! rows {
    ($dollar:tt $($kind:ident [$($type:tt)+] $traits:expr, $look:expr, { $($field:ident: $value:expr),* $(,)? };)*) => {
        /// Every scheduler.
        pub const SCHEDULERS: &[SchedulerEntry] =
            &[$(SchedulerEntry { $($field: $value,)* ..$kind::<$($type)+>($traits, $look) }),*];

        /// Calls `$each!` with the kinds and types of all rows; the types are names in [`types`](crate::rows::types).
        #[macro_export]
        macro_rules! each_row {
            ($dollar each:ident) => { $dollar each! { $($kind [$($type)+];)* } };
        }
    };
}

/// The names in the types of rows.
pub mod types {
    pub use pifolab_aqm::FqCodel;
    pub use pifolab_fast::{self as fast, NoTwin, Predicted};
    pub use pifolab_sched::schedulers::{Drr, Pieo, Pifo, Scrr, deciders};
    pub use pifolab_sched::store::Queue;
}

rows! { $
    in_parts [Pifo] Traits { ideal: true, ..BY_RANK }, look("PIFO", "#000000", &[], "o"), {};
    decider [Predicted<deciders::Fifo, Queue>] Traits { reads_ranks: false, tail_drop: true, ..BY_RANK }, look("FIFO", "#8c8c8c", &[1, 1], "s"), {
        advice: Some(&[]),
        cost: Some(|_| counted(0, 0.0, "nothing")),
    };
    decider [NoTwin<deciders::StrictPriority>] BY_RANK, look("Fixed bounds", "#332288", &[3, 1], "h"), {
        cost: Some(|_| counted(0, 0.0, "fixed bounds are entries of a match table, not state").doing(1)),
    };
    decider [fast::SpPifo] BY_RANK, look("SP-PIFO", "#e69f00", &[5, 1], "^"), {
        advice: Some(&[("push_down", &["cost", "one", "queue-bound"])]),
        cost: Some(|made| {
            let queues = made.known::<SpPifoParams>().capacities.len() as u64;
            counted(queues, 0.0, "one bound for each queue").doing(2 * queues)
        }),
    };
    decider [NoTwin<deciders::SpPifoGreedy>] BY_RANK, look("SP-PIFO greedy", "#999933", &[5, 1, 2, 1], "p"), {
        cost: Some(|made| {
            let queues = made.known::<SpPifoGreedyParams>().capacities.len() as u64;
            counted(5 * queues, 0.0, "for each queue a bound and four counters (SP-PIFO, appendix A)").doing(queues + 5)
        }),
    };
    decider [NoTwin<deciders::SpPifoOptimal>] BY_RANK, look("SP-PIFO optimal", "#aa4499", &[1, 2], "*"), {};
    decider [NoTwin<deciders::SlackSp>] BY_RANK, look("Slack-SP", "#117733", &[], "d"), {
        advice: Some(&[("eps", &["1/50", "1/10"])]),
        cost: Some(|made| {
            let params: &SlackSpParams = made.known();
            let queues = params.capacities.len() as u64;
            if let Some(shares) = params.shares {
                let (registers, recent) = (u64::from(shares.registers), u64::from(shares.recent));
                let what = "registers of quantiles, the counter of packets, bursts, idle times, the load, packets \
                            admitted last";
                // A comparison and three products for each register; two ends, a point between them and a comparison for
                // each queue; two comparisons for each recent packet; 16 for limits and the other registers.
                let operations = 4 * (registers + queues) + 2 * recent + 16;
                return counted(registers + 4 + recent, 0.0, what).doing(operations);
            }
            let bounds = queues - 1;
            match params.admission {
                None => {
                    counted(bounds, 0.0, "one bound fewer than queues; their lengths come from the traffic manager")
                        .doing(2 * bounds)
                }
                Some(_) => counted(bounds + 2, 0.0, "one bound fewer than queues, the limit and the highest rank")
                    .doing(2 * bounds + 3),
            }
        }),
    };
    decider [NoTwin<deciders::Spring>] BY_RANK, look("Spring", "#ddcc77", &[4, 2, 1, 2], "8"), {
        cost: Some(|made| {
            let params: &SpringParams = made.known();
            let (queues, more) = (params.capacities.len() as u64, u64::from(params.force == Force::Inversions));
            counted(
                (2 + more) * queues + 1,
                0.0,
                "for each queue a bound and a force (with inversions the rank before), and the highest rank",
            )
            .doing((3 + more) * queues + 1)
        }),
    };
    decider [fast::Aifo] Traits { tests_when_idle: true, ..TESTED }, look("AIFO", "#0072b2", &[3, 1, 1, 1], "v"), {
        info: &variants::AIFO,
        read: variants::aifo,
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        cost: Some(|made| {
            let slots = u64::from(made.known::<variants::Aifo>().params.window);
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position")).doing(slots + 3)
        }),
    };
    decider [fast::Packs] TESTED, look("PACKS", "#d55e00", &[], "D"), {
        info: &variants::PACKS,
        read: variants::packs,
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        cost: Some(|made| {
            let params = &made.known::<variants::Packs>().params;
            let (slots, queues) = (u64::from(params.window), params.capacities.len() as u64);
            let lengths = format!("{queues} queue lengths come from the traffic manager");
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position; {lengths}"))
                .doing(slots + queues + 2)
        }),
    };
    decider [fast::Rifo] Traits { tests_when_idle: true, ..TESTED }, look("RIFO", "#009e73", &[5, 1, 1, 1], "P"), {
        info: &variants::RIFO,
        read: variants::rifo,
        advice: Some(&[("tracking_range_packets", &["100", "500", "1000"]), ("k", HEADROOMS)]),
        // RIFO section V: three tables of 15 ternary entries of 36 bits, one of 16 x 16 products of 4 bytes.
        cost: Some(|_| {
            let how = "Min, Max and a counter; 3 x 15 entries of 36 bits, 256 of 4 bytes";
            counted(3, 3.0 * 15.0 * 36.0 / 8.0 + 256.0 * 4.0, how).doing(2 + 3 + 4)
        }),
    };
    decider [NoTwin<deciders::ExpPifo>] BY_RANK, look("Exp-PIFO", "#cc79a7", &[4, 1, 1, 1, 1, 1], "X"), {
        advice: Some(&[("window_packets", &["1000", "5000"]), ("r_min", &["1", "64", "1500"])]),
        // Exp-PIFO section 2.3: 2^12 entries of 5 bits for the queue; 33 range entries of 33 bits for the logarithm.
        cost: Some(|_| {
            let how = "exponent and counter; 4096 entries of 5 bits (the logarithm takes 1089 bits more)";
            counted(2, 4096.0 * 5.0 / 8.0, how).doing(2 + 2)
        }),
    };
    decider [Predicted<deciders::Afq>] BY_FLOW, look("AFQ", "#56b4e9", &[2, 1], "<"), {
        advice: Some(&[("bytes_per_round", &["320", "1500", "3000"])]),
        cost: Some(|_| {
            counted(2 * 16_384 + 1, 0.0, "the round and a count-min sketch of 2 x 16,384 bids").doing(1 + 4)
        }),
    };
    other [Drr] BY_FLOW, look("DRR", "#44aa99", &[4, 2], "H"), {};
    other [Scrr] BY_FLOW, look("SCRR", "#661100", &[2, 2], "x"), {};
    other [FqCodel] Traits { reads_time: true, tests_arrivals: true, ..BY_FLOW }, look("FQ-CoDel", "#cc6677", &[6, 1, 1, 1], "1"), {};
    by_rank [Pieo] Traits { reads_time: true, conserves_work: false, ..BY_RANK }, look("PIEO", "#882255", &[7, 1], ">"), {};
}

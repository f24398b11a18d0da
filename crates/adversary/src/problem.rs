//! The problem of a search, and its limits.

use crate::constraint::Constraint;
use crate::machine::Subject;
use crate::metric::{Metric, Ranks};
use crate::step::Probe;
use pifolab_sched::params::{Misfit, choices};
use pifolab_sched::{Capacity, DropReason, Enqueued};
use pifolab_units::{Rank, Ratio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The problem: find the trace that maximises metric(a) - metric(b), or metric(a) alone.
pub struct Problem<'a> {
    /// The scheduler whose cost is maximised.
    pub a: &'a dyn Subject,
    /// The scheduler whose cost is subtracted, if any.
    pub b: Option<&'a dyn Subject>,
    /// The metric of the cost.
    pub metric: &'a dyn Metric,
    /// The ranks of packets.
    pub ranks: Ranks,
    /// The number of packets.
    pub packets: usize,
    /// Whether neither scheduler may drop a packet.
    pub no_drops: bool,
    /// Whether the initial ranks of windows are searched, too.
    pub free_window: bool,
    /// The packets that the adversary may send.
    pub constraint: Constraint,
}

impl Problem<'_> {
    /// The alphabet in ascending order.
    pub fn alphabet(&self) -> Vec<u64> {
        (self.ranks.lowest..=self.ranks.highest).collect()
    }

    /// The schedulers, `a` first.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &dyn Subject> {
        [Some(self.a), self.b].into_iter().flatten()
    }

    /// The size of the searched start window, which is the larger window; `None` if it is not searched.
    pub fn searched_window(&self) -> Option<usize> {
        self.subjects().filter_map(|subject| subject.window()).max().filter(|_| self.free_window)
    }

    /// The largest number of packets that `subject` can send: for a batch, at most its capacity.
    pub(crate) fn sent(&self, subject: &dyn Subject) -> usize {
        match subject.start(None).inspect().capacity() {
            Capacity::Packets(packets) if self.constraint.load.is_none() => self.packets.min(packets as usize),
            _ => self.packets,
        }
    }

    /// Checks that the parts fit together.
    pub fn check(&self) -> Result<(), Refused> {
        let refuse = |key, problem| Err(Refused { key, problem });
        let Ranks { lowest, highest, counted } = self.ranks;
        let refuse_ranks =
            |expected: String| refuse("ranks", Misfit::of(format_args!("{lowest}..{highest}"), expected));
        let constraint = &self.constraint;
        if self.packets == 0 {
            return refuse("packets", Misfit::of(0, "expected an integer >= 1"));
        }
        if lowest > highest || highest > Rank::MAX.get() {
            return refuse_ranks(format!("expected two ranks from 0 to {}, the lower first", Rank::MAX));
        }
        const MOST: u64 = 4096;
        if highest - lowest >= MOST {
            return refuse_ranks(format!("expected at most {MOST} ranks"));
        }
        if counted == 0 {
            return refuse("lowest", Misfit::of(0, "expected an integer >= 1"));
        }
        let out_of_range = |rank: &u64| !(lowest..=highest).contains(rank);
        if let Some((place, rank)) =
            constraint.benign.iter().find(|(place, rank)| *place >= self.packets || out_of_range(rank))
        {
            let last = self.packets - 1;
            let expected = format!("expected a place from 0 to {last} and a rank from {lowest} to {highest}");
            return refuse("benign", Misfit::of(format_args!("{place}:{rank}"), expected));
        }
        let own = self.packets - constraint.benign.len();
        if let Some(multiset) = &constraint.multiset {
            let total: u64 = multiset.iter().map(|count| u64::from(*count)).sum();
            if total != own as u64 {
                let expected = format!("expected {own} packets, the adversary's share");
                return refuse("multiset", format!("has {total} packets: {expected}").into());
            }
        }
        if constraint.flows.is_some_and(|(flows, _)| flows == 0) {
            return refuse("flows", Misfit::of(0, "expected an integer >= 1"));
        }
        if constraint.load.is_some_and(|load| load == Ratio::ZERO) {
            return refuse("load", Misfit::of(0, "expected a fraction above 0"));
        }
        for subject in self.subjects() {
            let refused = |rank: &u64| {
                let outcome = subject.start(None).enqueue(Probe::new(0, *rank));
                matches!(outcome, Enqueued::Dropped { reason: DropReason::RankOutOfRange, .. })
            };
            if let Some(rank) = [lowest, highest].into_iter().find(refused) {
                let name = subject.name();
                return refuse_ranks(format!("rank {rank} is outside the range of {name}"));
            }
        }
        Ok(())
    }
}

/// A part of a problem that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The part: `packets`, `ranks`, and so on.
    pub key: &'static str,
    /// The given value and the valid ones; printed after the part.
    pub problem: Misfit,
}

/// The limits at which a search ends with its best result.
#[derive(Debug)]
pub struct Limits {
    /// The time at which the search ends.
    pub deadline: Option<Instant>,
    /// The approximate memory in bytes that the search may use.
    pub memory: usize,
    /// The number of threads.
    pub workers: usize,
    /// Set from outside to end the search.
    pub cancelled: Arc<AtomicBool>,
    /// Whether the search used up its memory.
    full: AtomicBool,
    /// Whether the search exceeded its time.
    late: AtomicBool,
}

choices! {
    /// The event that ended a search before a proof.
    pub enum End {
        Interrupt = "interrupt": "an interrupt from outside",
        Time = "time": "the time limit",
        Memory = "memory": "the memory limit",
    }
}

impl Limits {
    /// Limits of `time`, `memory` bytes and `workers` threads.
    pub fn new(time: Option<Duration>, memory: usize, workers: usize) -> Self {
        let deadline = time.map(|time| Instant::now() + time);
        let [full, late] = [const { AtomicBool::new(false) }; 2];
        Self { deadline, memory, workers: workers.max(1), cancelled: Arc::default(), full, late }
    }

    /// The same limits for a part of the search, with this fraction of the remaining time.
    pub(crate) fn part(&self, numerator: u32, denominator: u32) -> Self {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let part = Self::new(left.map(|left| left * numerator / denominator), self.memory, self.workers);
        Self { cancelled: Arc::clone(&self.cancelled), ..part }
    }

    /// Whether the search must end.
    pub fn is_over(&self) -> bool {
        if self.cancelled.load(Ordering::Relaxed) {
            return true;
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late {
            self.late.store(true, Ordering::Relaxed);
        }
        late
    }

    /// Records that the memory is used up.
    pub(crate) fn fill(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// The limit that ended the search. After running out of memory, a search continues with another method. If the
    /// time then ends it, the limit is the time.
    pub fn reached(&self) -> Option<End> {
        [(&*self.cancelled, End::Interrupt), (&self.late, End::Time), (&self.full, End::Memory)]
            .into_iter()
            .find_map(|(flag, end)| flag.load(Ordering::Relaxed).then_some(end))
    }
}

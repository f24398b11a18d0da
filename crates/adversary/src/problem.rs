//! What is searched for, and how long.

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

/// The trace that makes metric(a) - metric(b), or metric(a) alone, as large as possible.
pub struct Problem<'a> {
    /// The scheduler that the trace is to hurt.
    pub a: &'a dyn Subject,
    /// The scheduler that it is to spare, if any.
    pub b: Option<&'a dyn Subject>,
    /// The cost.
    pub metric: &'a dyn Metric,
    /// The ranks that packets may have.
    pub ranks: Ranks,
    /// The number of packets.
    pub packets: usize,
    /// Whether neither scheduler may drop a packet.
    pub no_drops: bool,
    /// Whether the ranks that windows start with are searched, too.
    pub free_window: bool,
    /// What the adversary may send.
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

    /// The size of the start window that is searched: that of the larger window. `None` if none is searched.
    pub fn searched_window(&self) -> Option<usize> {
        self.subjects().filter_map(|subject| subject.window()).max().filter(|_| self.free_window)
    }

    /// The most packets that `subject` can send: of a batch, those that fit in at once.
    pub(crate) fn sent(&self, subject: &dyn Subject) -> usize {
        match subject.start(None).inspect().capacity() {
            Capacity::Packets(packets) if self.constraint.load.is_none() => self.packets.min(packets as usize),
            _ => self.packets,
        }
    }

    /// Whether the parts fit together.
    ///
    /// # Errors
    /// The part that does not.
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
    /// What was given, and what would be right; it follows the part.
    pub problem: Misfit,
}

/// When a search ends with what it has.
#[derive(Debug)]
pub struct Limits {
    /// The moment at which it ends.
    pub deadline: Option<Instant>,
    /// The memory that it may take, about, in bytes.
    pub memory: usize,
    /// Threads.
    pub workers: usize,
    /// Set from outside to end it.
    pub cancelled: Arc<AtomicBool>,
    /// Whether the search found its memory used up.
    full: AtomicBool,
    /// Whether the search saw that its time was over.
    late: AtomicBool,
}

choices! {
    /// What ended a search before it had a proof.
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

    /// The same limits for a part of the search, which has this fraction of the time that is left.
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

    /// Notes that the memory is used up.
    pub(crate) fn fill(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// The limit that the search with these limits ran into. A search that runs out of memory goes on with another method, which
    /// the time may end; then it is the time.
    pub fn reached(&self) -> Option<End> {
        [(&*self.cancelled, End::Interrupt), (&self.late, End::Time), (&self.full, End::Memory)]
            .into_iter()
            .find_map(|(flag, end)| flag.load(Ordering::Relaxed).then_some(end))
    }
}

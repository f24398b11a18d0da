//! One source of packets on a link: times, sizes, ranks and flows, drawn from four independent random streams.
//!
//! Cost: no allocation, no hashing; 15 to 30 ns per packet. The rank distribution can change over time, by a schedule
//! of (time, distribution, shift).

use crate::arrivals::Clock;
use crate::{ArrivalProcess, Distribution, ParameterError, Stream};
use pifolab_units::{Rank, Time};

/// A packet of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The arrival time of its last bit at the scheduler.
    pub time: Time,
    /// Its size on the wire in bytes.
    pub bytes: u32,
    /// Its rank; 0 if a rank function computes the rank later.
    pub rank: Rank,
    /// Its flow; traces number flows from 0 without gaps.
    pub flow: u32,
}

/// From `from` on, ranks are drawn from `ranks` and shifted by `shift`. Ranks outside of the range become 0 or the
/// largest rank.
#[derive(Clone, Debug)]
pub struct RankPhase {
    /// The start of the phase.
    pub from: Time,
    /// The distribution of the ranks.
    pub ranks: Distribution,
    /// The number added to each rank.
    pub shift: i64,
}

/// The source of ranks.
#[derive(Clone, Debug)]
pub enum RankSource {
    /// Drawn ranks, by phases in ascending order of time; the first phase starts at 0.
    Drawn(Vec<RankPhase>),
    /// A list of ranks. The stream ends after the last rank unless `repeat` is set.
    Sequence {
        /// The ranks in order of arrival.
        ranks: Vec<Rank>,
        /// Whether the list restarts after the last rank.
        repeat: bool,
    },
}

impl RankSource {
    /// Draws all ranks of the run from one distribution.
    pub fn drawn(ranks: Distribution) -> Self {
        Self::Drawn(vec![RankPhase { from: Time::ZERO, ranks, shift: 0 }])
    }
}

/// The assignment of packets to flows.
#[derive(Clone, Debug)]
pub enum FlowAssignment {
    /// All packets belong to one flow.
    One(u32),
    /// The flows `first` to `first + count - 1` in turn.
    RoundRobin {
        /// The first flow.
        first: u32,
        /// The number of flows.
        count: u32,
    },
    /// Drawn independently from a distribution over flow numbers.
    Drawn(Distribution),
}

/// The definition of one source.
///
/// ```
/// use pifolab_units::{Rate, Span, Time};
/// use pifolab_workload::{ArrivalProcess, Distribution, FlowAssignment, RankSource, Source};
/// let source = Source {
///     process: ArrivalProcess::ConstantBitRate { rate: Rate::from_gbps(11) },
///     sizes: Distribution::constant(1500)?,
///     ranks: RankSource::drawn(Distribution::uniform(0, 99)?),
///     flows: FlowAssignment::One(0),
///     start: Time::ZERO,
///     end: Time::ZERO + Span::from_s(1),
///     packets: u64::MAX,
/// };
/// assert_eq!(source.stream(1, "source-0")?.count(), 916_667);
/// # Ok::<(), pifolab_workload::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    /// The arrival process.
    pub process: ArrivalProcess,
    /// The distribution of sizes in bytes.
    pub sizes: Distribution,
    /// The source of ranks.
    pub ranks: RankSource,
    /// The assignment to flows.
    pub flows: FlowAssignment,
    /// No packet arrives before this time.
    pub start: Time,
    /// No packet arrives at or after this time.
    pub end: Time,
    /// The largest number of packets.
    pub packets: u64,
}

impl Source {
    /// The packets of the run with seed `seed`. The random streams are `name/arrivals`, `name/sizes`, `name/ranks` and
    /// `name/flows`. Sources with different names are independent, and a change of one part leaves the draws of the
    /// other parts unchanged.
    ///
    /// # Errors
    /// If a part is invalid: a size of 0 or above 2^32 - 1 bytes, no rank phase at time 0 or phases out of order, an
    /// empty sequence, a flow above 2^32 - 1, an empty on-off period or batch.
    pub fn stream(&self, seed: u64, name: &str) -> Result<ArrivalStream, ParameterError> {
        self.check()?;
        let stream = |part: &str| Stream::named(seed, &format!("{name}/{part}"));
        let mut arrivals = stream("arrivals");
        let (clock, next) = Clock::start(&self.process, &self.sizes, self.start, &mut arrivals);
        let ranks = match &self.ranks {
            RankSource::Drawn(phases) => Ranks::Drawn {
                phases: phases.clone(),
                current: 0,
                changes: phases.get(1).map_or(Time::MAX, |p| p.from),
            },
            RankSource::Sequence { ranks, repeat } => Ranks::Sequence { ranks: ranks.clone(), at: 0, repeat: *repeat },
        };
        let flows = match &self.flows {
            FlowAssignment::One(flow) => Flows::One(*flow),
            FlowAssignment::RoundRobin { first, count } => {
                Flows::RoundRobin { first: *first, last: first + (count - 1), next: *first }
            }
            FlowAssignment::Drawn(distribution) => Flows::Drawn(distribution.clone()),
        };
        Ok(ArrivalStream {
            clock,
            next,
            end: self.end,
            left: self.packets,
            sizes: self.sizes.clone(),
            ranks,
            flows,
            arrival_draws: arrivals,
            size_draws: stream("sizes"),
            rank_draws: stream("ranks"),
            flow_draws: stream("flows"),
        })
    }

    fn check(&self) -> Result<(), ParameterError> {
        self.process.check()?;
        for size in [self.sizes.min(), self.sizes.max()] {
            if size == 0 || size > u64::from(u32::MAX) {
                return Err(ParameterError::new("sizes", format!("{size} B"), "packets of 1 to 2^32 - 1 bytes"));
            }
        }
        match &self.ranks {
            RankSource::Drawn(phases) => {
                if phases.first().is_none_or(|phase| phase.from != Time::ZERO) {
                    return Err(ParameterError::new("ranks", "no phase at 0", "a first phase that begins at 0"));
                }
                if let Some(pair) = phases.windows(2).find(|pair| pair[0].from >= pair[1].from) {
                    let value = format!("a phase at {} after one at {}", pair[1].from, pair[0].from);
                    return Err(ParameterError::new("ranks", value, "phases in ascending order of time"));
                }
            }
            RankSource::Sequence { ranks, .. } if ranks.is_empty() => {
                return Err(ParameterError::new("ranks", "an empty sequence", "at least one rank"));
            }
            RankSource::Sequence { .. } => {}
        }
        match &self.flows {
            FlowAssignment::RoundRobin { count: 0, .. } => {
                Err(ParameterError::new("flows", "0 flows", "at least one flow"))
            }
            FlowAssignment::RoundRobin { first, count } if first.checked_add(count - 1).is_none() => {
                Err(ParameterError::new("flows", format!("{count} flows from {first}"), "flows up to 2^32 - 1"))
            }
            FlowAssignment::Drawn(distribution) if distribution.max() > u64::from(u32::MAX) => {
                Err(ParameterError::new("flows", format!("flow {}", distribution.max()), "flows up to 2^32 - 1"))
            }
            _ => Ok(()),
        }
    }
}

/// The packets of a [`Source`] in order of arrival.
#[derive(Clone, Debug)]
pub struct ArrivalStream {
    clock: Clock,
    next: Time,
    end: Time,
    left: u64,
    sizes: Distribution,
    ranks: Ranks,
    flows: Flows,
    arrival_draws: Stream,
    size_draws: Stream,
    rank_draws: Stream,
    flow_draws: Stream,
}

#[derive(Clone, Debug)]
enum Ranks {
    Drawn { phases: Vec<RankPhase>, current: usize, changes: Time },
    Sequence { ranks: Vec<Rank>, at: usize, repeat: bool },
}

#[derive(Clone, Debug)]
enum Flows {
    One(u32),
    RoundRobin { first: u32, last: u32, next: u32 },
    Drawn(Distribution),
}

impl Iterator for ArrivalStream {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        let time = self.next;
        if time >= self.end || self.left == 0 {
            return None;
        }
        let rank = self.ranks.next(time, &mut self.rank_draws)?;
        let bytes = self.sizes.draw(&mut self.size_draws) as u32;
        let flow = self.flows.next(&mut self.flow_draws);
        self.left -= 1;
        self.next = time.saturating_add(self.clock.gap(bytes, &mut self.arrival_draws));
        Some(Arrival { time, bytes, rank, flow })
    }
}

impl Ranks {
    #[inline]
    fn next(&mut self, now: Time, draws: &mut Stream) -> Option<Rank> {
        match self {
            Self::Drawn { phases, current, changes } => {
                while now >= *changes && *current + 1 < phases.len() {
                    *current += 1;
                    *changes = phases.get(*current + 1).map_or(Time::MAX, |phase| phase.from);
                }
                let phase = &phases[*current];
                Some(Rank::saturating(phase.ranks.draw(draws).saturating_add_signed(phase.shift)))
            }
            Self::Sequence { ranks, at, repeat } => {
                if *at == ranks.len() {
                    if !*repeat {
                        return None;
                    }
                    *at = 0;
                }
                *at += 1;
                Some(ranks[*at - 1])
            }
        }
    }
}

impl Flows {
    #[inline]
    fn next(&mut self, draws: &mut Stream) -> u32 {
        match self {
            Self::One(flow) => *flow,
            Self::RoundRobin { first, last, next } => {
                let flow = *next;
                *next = if flow == *last { *first } else { flow + 1 };
                flow
            }
            Self::Drawn(distribution) => distribution.draw(draws) as u32,
        }
    }
}

/// Several sources on one link, merged by time. At equal times, the source first in the list has priority.
///
/// Cost: one comparison per source and packet; intended for a few sources.
#[derive(Clone, Debug)]
pub struct Merged {
    sources: Vec<(Option<Arrival>, ArrivalStream)>,
}

impl Merged {
    /// Merges `sources`.
    pub fn new(sources: impl IntoIterator<Item = ArrivalStream>) -> Self {
        Self { sources: sources.into_iter().map(|mut source| (source.next(), source)).collect() }
    }
}

impl Iterator for Merged {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let heads = self.sources.iter_mut().filter(|(head, _)| head.is_some());
        let (head, source) = heads.min_by_key(|(head, _)| head.map(|arrival| arrival.time))?;
        core::mem::replace(head, source.next())
    }
}

#[cfg(test)]
mod tests;

//! The guided search, for traces that are too long for a proof. Several islands, each with a strategy and a random
//! stream, exchange their best traces after each round. A round is a fixed number of evaluations, so the answer depends
//! on the seed and on the number of rounds, but not on the number of workers.

use crate::answer::{Answer, Error, Progress};
use crate::meter::Judge;
use crate::problem::{Limits, Problem};
use crate::variation::{Candidate, Variation};
use pifolab_sched::params::choices;
use pifolab_workload::Stream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

choices! {
    /// The strategy of an island.
    pub enum Strategy {
        /// Accepts a worse trace up to a threshold that falls during the round.
        Local = "local": "small changes of one trace",
        Evolution = "evolution": "a population of traces that are crossed and changed",
        Beam = "beam": "traces grown packet by packet, of which those with the largest gap so far are kept",
    }
}

/// The parameters of the guided search.
#[derive(Clone, Debug)]
pub struct Guidance {
    /// The seed of every random choice.
    pub seed: u64,
    /// The number of evaluations after which the search ends with the current round, without those of an earlier
    /// search.
    pub evaluations: u64,
    /// The strategies, which islands use in turn.
    pub strategies: Vec<Strategy>,
    /// The initial trace.
    pub initial: Option<Initial>,
    /// Initial start windows for a search of the window, before those of [`fixed_windows`](crate::fixed_windows). Each
    /// has the size of the larger window of the two schedulers.
    pub windows: Vec<Vec<u64>>,
}

/// The answer of an earlier search.
#[derive(Clone, Debug)]
pub struct Initial {
    /// The ranks of its trace.
    pub ranks: Vec<u64>,
    /// The initial ranks of the windows, if they were searched.
    pub window: Option<Vec<u64>>,
    /// The number of evaluations of the earlier search. A continued search uses it to draw other random numbers.
    pub evaluations: u64,
}

const ISLANDS: usize = 6;
/// The approximate number of packets that an island sends through each scheduler per round.
const ROUND: u64 = 1 << 20;
/// The approximate number of packets sent through each scheduler before the search gives up finding a first valid
/// trace.
const FIRST: u64 = 1 << 24;
const POPULATION: usize = 24;
const BEAM: usize = 8;

/// Searches for a trace with a large gap.
///
/// # Errors
/// If no trace that satisfies the constraints was found, or not within the limits.
pub fn guide(
    problem: &Problem<'_>,
    guidance: &Guidance,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<Answer, Error> {
    let variation = Variation::new(problem);
    let begun = guidance.initial.as_ref().map_or(0, |initial| initial.evaluations);
    let resumed = if begun > 0 { format!(" after {begun} evaluations") } else { String::new() };
    let islands: Vec<Mutex<Island>> = (0..ISLANDS)
        .map(|number| {
            let strategy = guidance.strategies[number % guidance.strategies.len()];
            let stream = Stream::named(guidance.seed, &format!("adversary island {number}{resumed}"));
            Mutex::new(Island { strategy, stream, population: Vec::new(), nearest: None, grown: false })
        })
        .collect();
    let mut best: Option<Candidate> = None;
    if let Some(Initial { ranks, window, .. }) = &guidance.initial {
        let own = variation.own_of(ranks);
        let mut judge = Judge::new(problem);
        let gap = judge.gap(&variation.trace(&own), window.as_deref());
        best = gap.map(|gap| Candidate { own, window: window.clone(), gap });
    }
    let (mut evaluations, mut told) = (0, None);
    let first = (FIRST / problem.packets.max(1) as u64).clamp(64, 1 << 16);
    loop {
        let share = (guidance.evaluations / ISLANDS as u64).saturating_add(1);
        let quota = (ROUND / problem.packets.max(1) as u64).clamp(64, 1 << 16).min(share);
        let next = AtomicUsize::new(0);
        let spent = Mutex::new(0);
        let (shared, variation_ref) = (&best, &variation);
        let work = || {
            let mut judge = Judge::new(problem);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(island) = islands.get(number) else { break };
                let mut island = island.lock().expect("no thread panics while it holds the lock");
                island.round(variation_ref, &mut judge, shared.as_ref(), quota, limits);
            }
            *spent.lock().expect("no thread panics while it holds the lock") += judge.evaluations;
        };
        crate::exact::run_on(limits.workers.min(ISLANDS), &work);
        evaluations += spent.into_inner().expect("no thread panics while it holds the lock");
        // In the order of islands, so that the first of equal traces wins, independent of the order in which islands
        // finish.
        for island in &islands {
            let island = island.lock().expect("no thread panics while it holds the lock");
            if let Some(candidate) = island.population.first()
                && best.as_ref().is_none_or(|best| candidate.gap > best.gap)
            {
                best = Some(candidate.clone());
            }
        }
        if let Some(best) = &best {
            progress(best.gap, begun + evaluations);
            told = Some(best.gap);
        }
        // Without any trace to report, the search continues for a while.
        let most = if told.is_some() { guidance.evaluations } else { guidance.evaluations.clamp(first, 1 << 22) };
        if limits.is_over() || evaluations >= most {
            break;
        }
    }
    let Some(best) = best else {
        return Err(if limits.is_over() { Error::Limits(None) } else { Error::NoneFound(begun + evaluations, None) });
    };
    Ok(Answer {
        gap: best.gap,
        bound: None,
        proven: false,
        trace: variation.trace(&best.own),
        start_window: best.window,
        evaluations: begun + evaluations,
    })
}

struct Island {
    strategy: Strategy,
    stream: Stream,
    /// Sorted by gap, the largest first.
    population: Vec<Candidate>,
    /// Used while no trace without drops is known: the best trace, its start window, and its number of excess drops.
    nearest: Option<(Vec<u64>, Option<Vec<u64>>, u64)>,
    /// Whether a beam has been grown.
    grown: bool,
}

impl Island {
    fn round(
        &mut self,
        variation: &Variation<'_>,
        judge: &mut Judge<'_>,
        shared: Option<&Candidate>,
        quota: u64,
        limits: &Limits,
    ) {
        let end = judge.evaluations + quota;
        if let Some(shared) = shared
            && self.population.first().is_none_or(|own| own.gap < shared.gap)
        {
            self.add(shared.clone());
        }
        while self.population.len() < self.size() && judge.evaluations < end && !limits.is_over() {
            let (own, window) = self.next(variation);
            if !self.judge(variation, judge, own.clone(), window.clone()) {
                let least = self.nearest.as_ref().map_or(u64::MAX, |(_, _, least)| *least);
                if judge.excess <= least {
                    self.nearest = Some((own, window, judge.excess));
                }
            }
        }
        match self.strategy {
            Strategy::Beam if !self.grown => {
                self.grown = true;
                for own in variation.beam(judge, BEAM, &mut self.stream, &|| limits.is_over()) {
                    self.judge(variation, judge, own, None);
                }
                self.local(variation, judge, end, limits);
            }
            Strategy::Local | Strategy::Beam => self.local(variation, judge, end, limits),
            Strategy::Evolution => {
                while judge.evaluations < end && !self.population.is_empty() && !limits.is_over() {
                    let (mut own, mut window) = {
                        let (mother, father) = (self.pick(), self.pick());
                        let own = variation.cross(&mother.own, &father.own, &mut self.stream);
                        (own, mother.window)
                    };
                    variation.change(&mut own, &mut window, &mut self.stream);
                    self.judge(variation, judge, own, window);
                }
            }
        }
    }

    fn size(&self) -> usize {
        if self.strategy == Strategy::Evolution { POPULATION } else { 1 }
    }

    /// Draws two candidates and returns the better one.
    fn pick(&mut self) -> Candidate {
        let mut draw = || self.stream.below(self.population.len() as u64) as usize;
        let place = draw().min(draw());
        self.population[place].clone()
    }

    /// A random trace, or a change of the nearest trace, which may have fewer drops.
    fn next(&mut self, variation: &Variation<'_>) -> (Vec<u64>, Option<Vec<u64>>) {
        // Restarts now and then, because the nearest trace may be a dead end.
        if self.nearest.is_some() && self.stream.below(1024) == 0 {
            self.nearest = None;
        }
        let Some((own, window, _)) = &self.nearest else { return variation.random(&mut self.stream) };
        let (mut own, mut window) = (own.clone(), window.clone());
        variation.change(&mut own, &mut window, &mut self.stream);
        (own, window)
    }

    /// Adds a trace, unless it has forbidden drops.
    fn judge(
        &mut self,
        variation: &Variation<'_>,
        judge: &mut Judge<'_>,
        own: Vec<u64>,
        window: Option<Vec<u64>>,
    ) -> bool {
        let Some(gap) = judge.gap(&variation.trace(&own), window.as_deref()) else { return false };
        self.nearest = None;
        self.add(Candidate { own, window, gap });
        true
    }

    fn add(&mut self, candidate: Candidate) {
        if self.population.iter().any(|known| known.own == candidate.own && known.window == candidate.window) {
            return;
        }
        let place = self.population.partition_point(|known| known.gap >= candidate.gap);
        self.population.insert(place, candidate);
        self.population.truncate(self.size().max(1));
    }

    fn local(&mut self, variation: &Variation<'_>, judge: &mut Judge<'_>, end: u64, limits: &Limits) {
        let Some(mut current) = self.population.first().cloned() else { return };
        let start = judge.evaluations;
        let span = end.saturating_sub(start).max(1) as f64;
        // Half of the rounds begin with a random trace.
        if self.stream.below(2) == 0 {
            let (own, window) = variation.random(&mut self.stream);
            if let Some(gap) = judge.gap(&variation.trace(&own), window.as_deref()) {
                current = Candidate { own, window, gap };
            }
        }
        let heat = 0.05 * (1 + self.stream.below(4)) as f64;
        let mut trace = variation.trace(&current.own);
        let mut own = current.own.clone();
        let mut window = current.window.clone();
        while judge.evaluations < end {
            if judge.evaluations.is_multiple_of(64) && limits.is_over() {
                return;
            }
            own.clone_from(&current.own);
            window.clone_from(&current.window);
            variation.change(&mut own, &mut window, &mut self.stream);
            variation.write(&own, &mut trace);
            let Some(gap) = judge.gap(&trace, window.as_deref()) else { continue };
            let left = end.saturating_sub(judge.evaluations) as f64 / span;
            let scale = current.gap.to_f64().abs().max(1.0);
            if gap.to_f64() >= current.gap.to_f64() - heat * left * left * scale {
                std::mem::swap(&mut current.own, &mut own);
                std::mem::swap(&mut current.window, &mut window);
                current.gap = gap;
                if self.population.first().is_none_or(|best| gap > best.gap) {
                    self.add(current.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Constraint;
    use crate::library::library;
    use crate::metric::{Ranks, find_metric};
    use pifolab_sched::params::Args;
    use pifolab_units::Ratio;
    use std::cell::Cell;

    #[test]
    fn a_beam_that_is_cut_short_gives_whole_traces_that_go_on_as_they_began() {
        let subject = |name: &str| library(name, &Args::new(name)).unwrap().unwrap();
        let (a, b) = (subject("sp-pifo"), subject("pifo"));
        let problem = Problem {
            a: &*a,
            b: Some(&*b),
            metric: find_metric("WI").unwrap(),
            ranks: Ranks { lowest: 1, highest: 9, counted: 1 },
            packets: 400,
            no_drops: false,
            free_window: false,
            constraint: Constraint { load: Ratio::new(11, 10), ..Constraint::default() },
        };
        let (variation, mut judge) = (Variation::new(&problem), Judge::new(&problem));
        // The number of grown packets and the best gap, for a limit on the places.
        let mut grow = |places: usize| {
            let looked = Cell::new(0);
            let is_over = || looked.replace(looked.get() + 1) >= places;
            let traces = variation.beam(&mut judge, BEAM, &mut Stream::named(1, "beam"), &is_over);
            assert!(traces.iter().all(|own| own.len() == problem.packets), "{places}");
            let gaps = traces.iter().filter_map(|own| judge.gap(&variation.trace(own), None));
            (traces[0][..places.min(problem.packets)].to_vec(), gaps.max().expect("no constraint forbids it"))
        };
        for places in [0, 1, 399] {
            grow(places);
        }
        let (half, gap) = grow(200);
        assert_eq!(grow(200).0, half);
        // Random traces of this length are less than half as bad.
        let mut stream = Stream::named(1, "random");
        let random =
            (0..32).filter_map(|_| Judge::new(&problem).gap(&variation.trace(&variation.random(&mut stream).0), None));
        let by_chance = random.max().unwrap();
        assert!(gap > by_chance, "{} {}", gap.to_f64(), by_chance.to_f64());
    }
}

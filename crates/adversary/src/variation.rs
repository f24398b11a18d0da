//! Random traces and random changes of traces, within the constraints.

use crate::constraint::Trend;
use crate::meter::{Judge, Run};
use crate::metric::Amount;
use crate::problem::{Limits, Problem};
use crate::trace::Trace;
use pifolab_workload::Stream;

/// A trace under search: the ranks of the adversary's packets, and the start window if it is searched.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub own: Vec<u64>,
    pub window: Option<Vec<u64>>,
    pub gap: Amount,
}

pub(crate) struct Variation<'a> {
    problem: &'a Problem<'a>,
    /// The indices of the adversary's packets in the trace.
    own: Vec<usize>,
    template: Trace,
    /// The size of the start window, if it is searched.
    window: Option<usize>,
}

impl<'a> Variation<'a> {
    pub(crate) fn new(problem: &'a Problem<'a>) -> Self {
        let constraint = &problem.constraint;
        let mut ranks = vec![problem.ranks.lowest; problem.packets];
        for (place, rank) in &constraint.benign {
            ranks[*place] = *rank;
        }
        Self {
            problem,
            own: (0..problem.packets).filter(|place| constraint.fixed(*place).is_none()).collect(),
            template: Trace { ranks, departures: constraint.departures(problem.packets) },
            window: problem.searched_window(),
        }
    }

    /// The ranks of the adversary's packets in a whole trace.
    pub(crate) fn own_of(&self, ranks: &[u64]) -> Vec<u64> {
        let mut own: Vec<u64> = self.own.iter().map(|place| ranks[*place]).collect();
        self.settle(&mut own);
        own
    }

    pub(crate) fn trace(&self, own: &[u64]) -> Trace {
        let mut trace = self.template.clone();
        self.write(own, &mut trace);
        trace
    }

    /// Writes the adversary's packets into a trace of this problem.
    pub(crate) fn write(&self, own: &[u64], trace: &mut Trace) {
        for (place, rank) in self.own.iter().zip(own) {
            trace.ranks[*place] = *rank;
        }
    }

    fn rank(&self, stream: &mut Stream) -> u64 {
        let ranks = &self.problem.ranks;
        // The ends of the alphabet are more frequent in the worst traces than in random ones.
        match stream.below(8) {
            0 => ranks.lowest,
            1 => ranks.highest,
            _ => ranks.lowest + stream.below(ranks.highest - ranks.lowest + 1),
        }
    }

    /// Sorts the ranks of each flow by its trend.
    fn settle(&self, own: &mut [u64]) {
        let Some((flows, trend)) = self.problem.constraint.flows else { return };
        for flow in 0..flows {
            let mut ranks: Vec<u64> = own.iter().skip(flow).step_by(flows).copied().collect();
            ranks.sort_unstable();
            if trend == Trend::Falling {
                ranks.reverse();
            }
            own.iter_mut().skip(flow).step_by(flows).zip(ranks).for_each(|(own, rank)| *own = rank);
        }
    }

    pub(crate) fn random(&self, stream: &mut Stream) -> (Vec<u64>, Option<Vec<u64>>) {
        let mut own: Vec<u64> = match &self.problem.constraint.multiset {
            Some(counts) => {
                let ranks = self.problem.ranks.lowest..=self.problem.ranks.highest;
                let each = ranks.zip(counts).flat_map(|(rank, count)| std::iter::repeat_n(rank, *count as usize));
                let mut own: Vec<u64> = each.collect();
                for last in (1..own.len()).rev() {
                    own.swap(last, stream.below(last as u64 + 1) as usize);
                }
                own
            }
            None => {
                // A repeated pattern: long random traces are rarely bad throughout.
                let period = 1 + stream.below(self.own.len().clamp(1, 48) as u64) as usize;
                let pattern: Vec<u64> = (0..period).map(|_| self.rank(stream)).collect();
                pattern.into_iter().cycle().take(self.own.len()).collect()
            }
        };
        self.settle(&mut own);
        let window = self.window.map(|size| (0..size).map(|_| self.rank(stream)).collect());
        (own, window)
    }

    /// Makes one or a few random changes.
    pub(crate) fn change(&self, own: &mut [u64], window: &mut Option<Vec<u64>>, stream: &mut Stream) {
        loop {
            self.change_once(own, window, stream);
            if stream.below(3) > 0 {
                break;
            }
        }
        self.settle(own);
    }

    fn change_once(&self, own: &mut [u64], window: &mut Option<Vec<u64>>, stream: &mut Stream) {
        if let Some(window) = window
            && stream.below(8) == 0
        {
            let place = stream.below(window.len() as u64) as usize;
            window[place] = self.rank(stream);
            return;
        }
        let count = own.len();
        if count == 0 {
            return;
        }
        let place = |stream: &mut Stream| stream.below(count as u64) as usize;
        let fixed = self.problem.constraint.multiset.is_some();
        let from = place(stream);
        // In long traces, some changes affect long blocks.
        let most = (count - from).min(if stream.below(4) == 0 { count } else { 8 }) as u64;
        let block = from..from + 1 + stream.below(most) as usize;
        match stream.below(if fixed { 4 } else { 8 }) {
            0 => own.swap(from, place(stream)),
            1 => {
                let to = place(stream);
                if from < to { own[from..=to].rotate_left(1) } else { own[to..=from].rotate_right(1) }
            }
            2 => own[block].reverse(),
            3 => own[block].rotate_left(1),
            4 => {
                let rank = self.rank(stream);
                own[block].fill(rank);
            }
            5 => {
                let to = place(stream);
                let length = block.len().min(count - to);
                own.copy_within(block.start..block.start + length, to);
            }
            _ => own[from] = self.rank(stream),
        }
    }

    pub(crate) fn cross(&self, mother: &[u64], father: &[u64], stream: &mut Stream) -> Vec<u64> {
        let mut child = mother.to_vec();
        if self.problem.constraint.multiset.is_none() && !child.is_empty() {
            let (from, to) = (stream.below(child.len() as u64) as usize, stream.below(child.len() as u64) as usize);
            let range = from.min(to)..=from.max(to);
            child[range.clone()].copy_from_slice(&father[range]);
        }
        child
    }

    /// Grows traces packet by packet, and keeps those with the largest gaps if they ended there. Ties are broken at
    /// random, because most first packets do not affect the gap. If `is_over` becomes true before the traces are
    /// complete, the best ones are completed by repeating their packets.
    pub(crate) fn beam(
        &self,
        judge: &mut Judge<'_>,
        width: usize,
        stream: &mut Stream,
        is_over: &dyn Fn() -> bool,
    ) -> Vec<Vec<u64>> {
        let constraint = &self.problem.constraint;
        let (Some(tariff), None, None) = (judge.tariff(), &constraint.multiset, constraint.flows) else {
            return Vec::new();
        };
        let (metric, alphabet) = (self.problem.metric, self.problem.alphabet());
        struct Node {
            a: Run,
            b: Option<Run>,
            own: Vec<u64>,
        }
        let start = || (judge.a.start(tariff), judge.b.as_ref().map(|b| b.start(tariff)));
        let node = || {
            let (a, b) = start();
            Node { a, b, own: Vec::new() }
        };
        let mut nodes = vec![node()];
        let (mut a, mut b) = start();
        for place in 0..self.problem.packets {
            if is_over() {
                // Only a few, so that the caller does not wait: evaluating a long trace also takes time.
                nodes.truncate(FEW);
                break;
            }
            let fixed = constraint.fixed(place);
            let departures = self.template.departures_after(place);
            let mut children: Vec<(Amount, u64, usize, u64)> = Vec::new();
            for (parent, node) in nodes.iter().enumerate() {
                for rank in alphabet.iter().copied().filter(|rank| fixed.is_none_or(|fixed| fixed == *rank)) {
                    let cost = |run: &mut Run, from: &Run| {
                        run.restore(from);
                        run.arrive(rank, departures, tariff);
                        run.drain(tariff);
                        (metric.finish(run.tally.sum, run.tally.sent), run.tally.dropped)
                    };
                    let (mut gap, mut dropped) = cost(&mut a, &node.a);
                    if let (Some(b), Some(from)) = (&mut b, &node.b) {
                        let (other, lost) = cost(b, from);
                        (gap, dropped) = (gap - other, dropped + lost);
                    }
                    if dropped == 0 || !self.problem.no_drops {
                        children.push((gap, stream.next_u64(), parent, rank));
                    }
                }
            }
            children.sort_unstable_by(|left, right| right.cmp(left));
            children.truncate(width);
            nodes = children
                .into_iter()
                .map(|(_, _, parent, rank)| {
                    let parent = &nodes[parent];
                    let mut child = node();
                    child.a.restore(&parent.a);
                    child.a.arrive(rank, departures, tariff);
                    if let (Some(b), Some(from)) = (&mut child.b, &parent.b) {
                        b.restore(from);
                        b.arrive(rank, departures, tariff);
                    }
                    child.own = Vec::with_capacity(self.own.len());
                    child.own.extend_from_slice(&parent.own);
                    if fixed.is_none() {
                        child.own.push(rank);
                    }
                    child
                })
                .collect();
        }
        let whole = |node: Node| {
            let mut own = node.own;
            if own.is_empty() && !self.own.is_empty() {
                return self.random(stream).0;
            }
            let grown = own.len();
            while own.len() < self.own.len() {
                own.push(own[own.len() - grown]);
            }
            own
        };
        nodes.into_iter().map(whole).collect()
    }
}

/// The number of traces of an interrupted beam that are completed.
const FEW: usize = 2;

/// Evaluates every trace that the constraints allow, one by one.
pub(crate) fn enumerate(
    problem: &Problem<'_>,
    limits: &Limits,
    windows: &[Option<Vec<u64>>],
) -> (Option<Candidate>, u64, bool) {
    let alphabet = problem.alphabet();
    let mut judge = Judge::new(problem);
    let mut trace = Trace { ranks: Vec::new(), departures: problem.constraint.departures(problem.packets) };
    let mut best: Option<Candidate> = None;
    let mut complete = true;
    for window in windows {
        let mut states = vec![problem.constraint.start()];
        let mut symbols = vec![0usize];
        trace.ranks.clear();
        while let Some(symbol) = symbols.last_mut() {
            let place = states.len() - 1;
            if place == problem.packets || *symbol == alphabet.len() {
                if place == problem.packets && problem.constraint.is_complete(&states[place]) {
                    if judge.evaluations.is_multiple_of(256) && limits.is_over() {
                        complete = false;
                        break;
                    }
                    if let Some(gap) = judge.gap(&trace, window.as_deref())
                        && best.as_ref().is_none_or(|best| gap > best.gap)
                    {
                        best = Some(Candidate { own: trace.ranks.clone(), window: window.clone(), gap });
                    }
                }
                states.pop();
                symbols.pop();
                trace.ranks.pop();
                continue;
            }
            let chosen = *symbol;
            *symbol += 1;
            let mut state = states[place].clone();
            if problem.constraint.step(&mut state, place, chosen, &alphabet) {
                states.push(state);
                symbols.push(0);
                trace.ranks.push(alphabet[chosen]);
            }
        }
    }
    (best, judge.evaluations, complete)
}

//! A scheduler as a layered automaton: its canonical states after 0, 1, ..., n arrivals, and the transition of each
//! state for each arriving rank. The scheduler itself runs from snapshots, once per state and rank, to build the
//! automaton. The searches then look transitions up instead of running the scheduler.
//!
//! States with equal effects on the metric are merged, from the last layer to the first: they answer every rank alike,
//! and lead to merged states. The searches therefore need no knowledge about a scheduler's state. For example, they
//! need not know that PACKS drops like AIFO, or that the oldest rank of a full window leaves next.

use crate::constraint::{Constraint, State};
use crate::machine::{Machine, Order, Subject};
use crate::metric::{Metric, Ranks};
use crate::problem::{Limits, Problem};
use crate::step::Probe;
use pifolab_sched::{Enqueued, Item};
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// No transition: the rank is not allowed in this state.
pub(crate) const FORBIDDEN: u32 = u32::MAX;

/// The effect of one arrival on the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Out {
    /// The queue that stores the packet. `None` if the packet is dropped, or if queues have no price.
    pub queue: Option<u8>,
    /// The price of the drops of this arrival.
    pub price: i64,
}

/// The transitions of one layer, with `symbols` entries per state.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub next: Vec<u32>,
    pub out: Vec<u16>,
}

impl Layer {
    /// The size in memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.next.len() * 4 + self.out.len() * 2
    }
}

/// A scheduler for traces of one length over one alphabet.
#[derive(Debug)]
pub(crate) struct Automaton {
    /// The number of ranks.
    pub symbols: usize,
    /// The state of the first layer for each start.
    pub start: Vec<u32>,
    /// One layer per packet.
    pub layers: Vec<Layer>,
    /// The values to which the indices in [`Layer::out`] refer.
    pub outs: Vec<Out>,
    /// The number of queues that store packets, if queues have a price; else 0.
    pub queues: usize,
    /// The number of packets that the scheduler was run with.
    pub offers: u64,
}

/// The reason why there is no automaton.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The states exceed the memory, or the time is over.
    TooLarge,
    /// The order of departures has a price, but is unknown before the drain.
    Order,
}

impl Automaton {
    /// The approximate size in memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(Layer::bytes).sum()
    }

    /// Runs `subject` from `starts` (one start per given window) through every trace of the problem's length.
    pub(crate) fn build(
        subject: &dyn Subject,
        problem: &Problem<'_>,
        starts: &[Option<Vec<u64>>],
        alphabet: &[u64],
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let Problem { metric, ref ranks, packets, .. } = *problem;
        let lanes = lanes(subject.order(), alphabet, metric, ranks, problem.no_drops)?;
        let mut explorer = Explorer::new(lanes, problem, alphabet);
        let mut first = Vec::with_capacity(starts.len());
        for window in starts {
            first.push(explorer.index.place(subject.start(window.as_deref()).as_ref(), packets));
        }
        let (mut start, mut reached) = (Vec::new(), Vec::new());
        let mut places = Places::default();
        for state in first {
            start.push(places.place(state, &mut reached));
        }
        let mut layers = Vec::with_capacity(packets);
        let mut bytes = 0;
        for arrived in 0..packets {
            let remaining = packets - arrived - 1;
            if reached.is_empty() {
                return Err(Failure::TooLarge);
            }
            // If packets leave through queues, keys do not depend on the number of remaining packets. A state that was
            // explored before is then reused.
            if subject.order() != Order::Queues {
                explorer.forget();
            }
            let held = bytes + reached.len() * alphabet.len() * BYTES_PER_STEP;
            explorer.explore(arrived, remaining, limits, held)?;
            let mut layer = Layer::default();
            let mut following = Vec::new();
            places.clear();
            for state in &reached {
                let (next, out) = explorer.row(*state);
                layer.out.extend_from_slice(out);
                layer.next.extend(next.iter().map(|next| match (*next, remaining) {
                    (FORBIDDEN, _) => FORBIDDEN,
                    (_, 0) => 0,
                    (next, _) => places.place(next, &mut following),
                }));
            }
            bytes += layer.next.len() * BYTES_PER_STEP;
            layers.push(layer);
            reached = following;
        }
        let Explorer { outs, offers, queues, .. } = explorer;
        let mut automaton = Self { symbols: alphabet.len(), start, layers, outs, queues, offers };
        merge_alike(&mut automaton.layers, &mut automaton.start, alphabet.len());
        Ok(automaton)
    }

    /// Returns the automaton with only the ranks that `constraint` allows.
    pub(crate) fn constrained(&self, constraint: &Constraint, alphabet: &[u64]) -> Self {
        let mut known: HashMap<(u32, State), u32> = HashMap::new();
        let mut states: Vec<(u32, State)> = Vec::new();
        let mut start = Vec::with_capacity(self.start.len());
        let place = |state: (u32, State), known: &mut HashMap<_, u32>, states: &mut Vec<_>| {
            *known.entry(state).or_insert_with_key(|state| {
                states.push(state.clone());
                (states.len() - 1) as u32
            })
        };
        for state in &self.start {
            start.push(match *state {
                FORBIDDEN => FORBIDDEN,
                state => place((state, constraint.start()), &mut known, &mut states),
            });
        }
        let mut layers = Vec::with_capacity(self.layers.len());
        for (arrived, layer) in self.layers.iter().enumerate() {
            let is_last = arrived + 1 == self.layers.len();
            let mut made = Layer::default();
            let mut following = Vec::new();
            known.clear();
            for (state, sent) in &states {
                for symbol in 0..self.symbols {
                    let from = *state as usize * self.symbols + symbol;
                    let mut sent = sent.clone();
                    let allowed = layer.next[from] != FORBIDDEN
                        && constraint.step(&mut sent, arrived, symbol, alphabet)
                        && (!is_last || constraint.is_complete(&sent));
                    made.out.push(layer.out[from]);
                    made.next.push(match (allowed, is_last) {
                        (false, _) => FORBIDDEN,
                        (true, true) => 0,
                        (true, false) => place((layer.next[from], sent), &mut known, &mut following),
                    });
                }
            }
            layers.push(made);
            states = following;
        }
        merge_alike(&mut layers, &mut start, self.symbols);
        Self { symbols: self.symbols, start, layers, outs: self.outs.clone(), queues: self.queues, offers: self.offers }
    }

    /// The number of states of layer `layer`.
    pub(crate) fn states(&self, layer: usize) -> usize {
        match self.layers.get(layer) {
            Some(layer) => layer.next.len() / self.symbols.max(1),
            None => 1,
        }
    }

    /// The next state and the effect if the rank with number `symbol` arrives in `state` of `layer`.
    #[inline(always)]
    pub(crate) fn step(&self, layer: usize, state: u32, symbol: usize) -> (u32, Out) {
        let place = state as usize * self.symbols + symbol;
        let layer = &self.layers[layer];
        let next = layer.next[place];
        if next == FORBIDDEN {
            return (FORBIDDEN, Out { queue: None, price: 0 });
        }
        (next, self.outs[usize::from(layer.out[place])])
    }
}

/// Merges states with equal effects for all continuations, and removes transitions to states without a continuation.
pub(crate) fn merge_alike(layers: &mut [Layer], start: &mut [u32], symbols: usize) {
    // A single state after the last packet.
    let mut classes: Vec<u32> = vec![0];
    for layer in layers.iter_mut().rev() {
        let states = layer.next.len() / symbols;
        let mut merged = Layer::default();
        let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let mut own = Vec::with_capacity(states);
        for state in 0..states {
            let range = state * symbols..(state + 1) * symbols;
            let mut hash = Mix::default();
            let mut dead = true;
            for place in range.clone() {
                let next = &mut layer.next[place];
                if *next != FORBIDDEN {
                    *next = classes[*next as usize];
                }
                if *next == FORBIDDEN {
                    layer.out[place] = 0;
                } else {
                    dead = false;
                }
                hash.write_u64(u64::from(*next) << 16 | u64::from(layer.out[place]));
            }
            if dead {
                own.push(FORBIDDEN);
                continue;
            }
            let alike = known.entry(hash.finish()).or_default();
            let equal = |class: &&u32| {
                let class = **class as usize * symbols;
                merged.next[class..class + symbols] == layer.next[range.clone()]
                    && merged.out[class..class + symbols] == layer.out[range.clone()]
            };
            let class = alike.iter().find(equal).copied();
            own.push(class.unwrap_or_else(|| {
                let class = (merged.next.len() / symbols) as u32;
                merged.next.extend_from_slice(&layer.next[range.clone()]);
                merged.out.extend_from_slice(&layer.out[range.clone()]);
                alike.push(class);
                class
            }));
        }
        *layer = merged;
        classes = own;
    }
    for start in start.iter_mut().filter(|start| **start != FORBIDDEN) {
        *start = classes[*start as usize];
    }
}

/// The approximate bytes of a state's key and its entry in the index.
const KEY_BYTES: usize = 200;
/// The bytes of a step: a state's number and an effect's number.
const BYTES_PER_STEP: usize = 6;

/// The property of stored packets that determines their order of departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lanes {
    /// The queue, and within a queue the arrival.
    Queues,
    /// The rank, as if each rank had a queue.
    Ranks,
    /// The order has no price.
    Free,
}

/// Finds the property that determines the price of the drain.
fn lanes(order: Order, alphabet: &[u64], metric: &dyn Metric, ranks: &Ranks, no_drops: bool) -> Result<Lanes, Failure> {
    let mut pairs = alphabet.iter().flat_map(|first| alphabet.iter().map(move |later| (*first, *later)));
    let mut costs = |in_rank_order: bool| {
        pairs
            .any(|(first, later)| (!in_rank_order || first <= later) && metric.overtake_price(first, later, ranks) != 0)
    };
    match order {
        Order::Queues if costs(false) => Ok(Lanes::Queues),
        // Sent in the order of ranks, packets have no price, except under prices of this kind. These require that no
        // stored packet is pushed out.
        Order::Ranks if costs(true) => {
            if no_drops {
                Ok(Lanes::Ranks)
            } else {
                Err(Failure::Order)
            }
        }
        Order::Unknown if costs(false) => Err(Failure::Order),
        _ => Ok(Lanes::Free),
    }
}

/// The transitions of each state for each rank, from one run of the scheduler per state and rank.
struct Explorer<'a> {
    problem: &'a Problem<'a>,
    alphabet: &'a [u64],
    lanes: Lanes,
    index: Index,
    /// The explored transitions, by state number from `base`.
    rows: Layer,
    base: u32,
    outs: Vec<Out>,
    known: HashMap<Out, u16>,
    queues: usize,
    offers: u64,
}

impl<'a> Explorer<'a> {
    fn new(lanes: Lanes, problem: &'a Problem<'a>, alphabet: &'a [u64]) -> Self {
        Self {
            problem,
            alphabet,
            lanes,
            index: Index::default(),
            rows: Layer::default(),
            base: 0,
            outs: Vec::new(),
            known: HashMap::new(),
            queues: 0,
            offers: 0,
        }
    }

    /// Runs every new state from its snapshot. `held` is the number of bytes used elsewhere.
    fn explore(&mut self, arrived: usize, remaining: usize, limits: &Limits, held: usize) -> Result<(), Failure> {
        let states = std::mem::take(&mut self.index.fresh);
        let Some(first) = states.first() else { return Ok(()) };
        let mut machine = first.snapshot();
        let footprint = first.footprint();
        for (done, state) in states.iter().enumerate() {
            for rank in self.alphabet {
                machine.restore(state.as_ref());
                let (out, drops) = self.offer(machine.as_mut(), arrived, *rank);
                if drops && self.problem.no_drops {
                    self.rows.next.push(FORBIDDEN);
                    self.rows.out.push(0);
                    continue;
                }
                let outs = &mut self.outs;
                let code = *self.known.entry(out).or_insert_with(|| {
                    outs.push(out);
                    (outs.len() - 1) as u16
                });
                self.rows.out.push(code);
                self.rows.next.push(if remaining == 0 { 0 } else { self.index.place(machine.as_ref(), remaining) });
            }
            let machines = (states.len() + self.index.fresh.len()) * footprint;
            let own = machines + self.index.places.len() * KEY_BYTES + self.rows.next.len() * BYTES_PER_STEP;
            if held + own > limits.memory / 2 {
                limits.fill();
                return Err(Failure::TooLarge);
            }
            if done % 64 == 0 && limits.is_over() {
                return Err(Failure::TooLarge);
            }
        }
        self.index.spare = states;
        Ok(())
    }

    /// The effect of a packet of `rank`, and whether a packet is dropped.
    fn offer(&mut self, machine: &mut dyn Machine, arrived: usize, rank: u64) -> (Out, bool) {
        let Problem { metric, ref ranks, .. } = *self.problem;
        self.offers += 1;
        let (queue, price, drops) = match machine.enqueue(Probe::new(arrived, rank)) {
            Enqueued::Admitted { queue, .. } => (Some(queue), 0, false),
            // Only schedulers with order `Ranks` push packets out, and then the order has no price.
            Enqueued::Evicted { queue, victims, .. } => {
                (Some(queue), victims.iter().map(|victim| metric.drop_price(victim.rank().get(), ranks)).sum(), true)
            }
            Enqueued::Dropped { .. } => (None, metric.drop_price(rank, ranks), true),
        };
        let lane = queue.and_then(|queue| match self.lanes {
            Lanes::Queues => Some(queue as u8),
            Lanes::Ranks => Some((rank - ranks.lowest) as u8),
            Lanes::Free => None,
        });
        self.queues = self.queues.max(lane.map_or(0, |lane| usize::from(lane) + 1));
        (Out { queue: lane, price }, drops)
    }

    /// Removes the explored states.
    fn forget(&mut self) {
        self.rows = Layer::default();
        self.index.places.clear();
        self.base = self.index.numbers - self.index.fresh.len() as u32;
    }

    /// The row of `state`: the next states and the effects.
    fn row(&self, state: u32) -> (&[u32], &[u16]) {
        let first = (state - self.base) as usize * self.alphabet.len();
        let row = first..first + self.alphabet.len();
        (&self.rows.next[row.clone()], &self.rows.out[row])
    }
}

/// States by key.
#[derive(Default)]
struct Index {
    places: FxHashMap<Box<[u64]>, u32>,
    numbers: u32,
    key: Vec<u64>,
    /// Snapshots of the unexplored states, which have the highest numbers.
    fresh: Vec<Box<dyn Machine>>,
    /// Unused snapshots, which are overwritten.
    spare: Vec<Box<dyn Machine>>,
}

impl Index {
    /// Returns the number of this state; stores the state if it is new.
    fn place(&mut self, machine: &dyn Machine, remaining: usize) -> u32 {
        self.key.clear();
        machine.key(remaining, &mut self.key);
        if let Some(place) = self.places.get(&self.key[..]) {
            return *place;
        }
        let place = self.numbers;
        self.numbers += 1;
        self.fresh.push(match self.spare.pop() {
            Some(mut spare) => {
                spare.restore(machine);
                spare
            }
            None => machine.snapshot(),
        });
        self.places.insert(self.key.as_slice().into(), place);
        place
    }
}

/// The indices of states in a layer, in the order in which they are reached.
#[derive(Default)]
struct Places {
    /// For each state number, a layer and the index in it.
    of: Vec<(u32, u32)>,
    layer: u32,
}

impl Places {
    fn clear(&mut self) {
        self.layer += 1;
    }

    fn place(&mut self, state: u32, reached: &mut Vec<u32>) -> u32 {
        let number = state as usize;
        if number >= self.of.len() {
            self.of.resize(number + 1, (u32::MAX, 0));
        }
        if self.of[number].0 != self.layer {
            self.of[number] = (self.layer, reached.len() as u32);
            reached.push(state);
        }
        self.of[number].1
    }
}

/// Hashes words by multiplications; equal inputs have equal hashes.
#[derive(Default, Clone, Copy)]
pub(crate) struct Mix(u64);

impl Mix {
    pub(crate) fn finish(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    pub(crate) fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
}

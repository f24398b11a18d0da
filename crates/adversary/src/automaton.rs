//! A scheduler as a layered automaton: its canonical states after 0, 1, ..., n arrivals, and what each arriving rank
//! does in each of them. It is made by running the scheduler itself from snapshots, once for each state and rank; the
//! searches then look transitions up instead of running it.
//!
//! States that a metric cannot tell apart are merged, from the last layer to the first (they answer every rank alike,
//! and lead to states that do so as well). The searches thus need no knowledge of their own of what matters in a
//! scheduler's state: that PACKS drops as AIFO does, or that the oldest rank of a full window is about to leave.

use crate::constraint::{Constraint, State};
use crate::machine::{Machine, Order, Subject};
use crate::metric::{Metric, Ranks};
use crate::problem::{Limits, Problem};
use crate::step::Probe;
use pifolab_sched::{Enqueued, Item};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No transition: the rank may not arrive here.
pub(crate) const FORBIDDEN: u32 = u32::MAX;

/// What one arrival gives, as far as the metric sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Out {
    /// The queue that stores the packet; `None` if it is dropped, or if queues have no price.
    pub queue: Option<u8>,
    /// What the drops of this arrival cost.
    pub price: i64,
}

/// The transitions of one layer: `symbols` entries for each state.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub next: Vec<u32>,
    pub out: Vec<u16>,
}

/// A scheduler on traces of a given length over a given alphabet.
#[derive(Debug)]
pub(crate) struct Automaton {
    /// The number of ranks.
    pub symbols: usize,
    /// The state of the first layer for each start.
    pub start: Vec<u32>,
    /// One layer for each packet.
    pub layers: Vec<Layer>,
    /// What [`Layer::out`] stands for.
    pub outs: Vec<Out>,
    /// The number of queues that packets are stored in, if queues have a price; else 0.
    pub queues: usize,
    /// How often the scheduler was run by one packet.
    pub offers: u64,
}

/// Why there is no automaton.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// More states than the memory holds, or more time than allowed.
    TooLarge,
    /// The order in which it hands packets out has a price, and is not known before it is drained.
    Order,
}

impl Automaton {
    /// Runs `subject` from `starts` (one start for each given window) through every trace of the problem's length.
    pub(crate) fn build(
        subject: &dyn Subject,
        problem: &Problem<'_>,
        starts: &[Option<Vec<u64>>],
        alphabet: &[u64],
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let Problem { metric, ref ranks, packets, no_drops, .. } = *problem;
        let queues_matter = queues_matter(subject.order(), alphabet, metric, ranks)?;
        let mut outs: Vec<Out> = Vec::new();
        let mut known: HashMap<Out, u16> = HashMap::new();
        let (mut offers, mut queues, mut bytes) = (0u64, 0usize, 0usize);
        let mut states: Vec<Box<dyn Machine>> = Vec::new();
        let mut index = Index::default();
        let mut key = Vec::new();
        let mut start = Vec::with_capacity(starts.len());
        for window in starts {
            let machine = subject.start(window.as_deref());
            start.push(index.place(machine.as_ref(), packets, &mut key, &mut states));
        }
        let mut layers = Vec::with_capacity(packets);
        for arrived in 0..packets {
            let remaining = packets - arrived - 1;
            let mut layer = Layer::default();
            let mut following: Vec<Box<dyn Machine>> = Vec::new();
            index.clear();
            let Some(first) = states.first() else { return Err(Failure::TooLarge) };
            let mut machine = first.snapshot();
            let footprint = first.footprint() + KEY_BYTES;
            for state in &states {
                for rank in alphabet {
                    machine.restore(state.as_ref());
                    offers += 1;
                    let mut price = 0;
                    let mut drops = false;
                    let mut queue = None;
                    match machine.enqueue(Probe::new(arrived, *rank)) {
                        Enqueued::Admitted { queue: chosen, .. } => queue = Some(chosen),
                        Enqueued::Evicted { queue: chosen, victims, .. } => {
                            // In such a scheduler queues have no price: only a `Ranks` order pushes out.
                            queue = Some(chosen);
                            drops = true;
                            for victim in victims.iter() {
                                price += metric.drop_price(victim.rank().get(), ranks);
                            }
                        }
                        Enqueued::Dropped { .. } => {
                            drops = true;
                            price += metric.drop_price(*rank, ranks);
                        }
                    }
                    if drops && no_drops {
                        layer.next.push(FORBIDDEN);
                        layer.out.push(0);
                        continue;
                    }
                    let queue = queue.filter(|_| queues_matter).map(|queue| queue as u8);
                    queues = queues.max(queue.map_or(0, |queue| usize::from(queue) + 1));
                    let out = Out { queue, price };
                    let code = *known.entry(out).or_insert_with(|| {
                        outs.push(out);
                        (outs.len() - 1) as u16
                    });
                    layer.out.push(code);
                    layer.next.push(if remaining == 0 {
                        0
                    } else {
                        index.place(machine.as_ref(), remaining, &mut key, &mut following)
                    });
                }
                let held = (states.len() + following.len()) * footprint;
                if bytes + layer.next.len() * 6 + held > limits.memory / 2 || limits.is_over() {
                    return Err(Failure::TooLarge);
                }
            }
            bytes += layer.next.len() * 6;
            layers.push(layer);
            states = following;
        }
        let mut automaton = Self { symbols: alphabet.len(), start, layers, outs, queues, offers };
        merge_alike(&mut automaton.layers, &mut automaton.start, alphabet.len());
        Ok(automaton)
    }

    /// The same automaton where only those ranks may arrive that `constraint` allows.
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

    /// The states of layer `layer`.
    pub(crate) fn states(&self, layer: usize) -> usize {
        match self.layers.get(layer) {
            Some(layer) => layer.next.len() / self.symbols.max(1),
            None => 1,
        }
    }

    /// The next state and the answer if the rank with the number `symbol` arrives in `state` of `layer`.
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

/// Merges states that answer alike now and ever after, and closes the ways to states with no way on.
pub(crate) fn merge_alike(layers: &mut [Layer], start: &mut [u32], symbols: usize) {
    // After the last packet there is one state.
    let mut classes: Vec<u32> = vec![0];
    for layer in layers.iter_mut().rev() {
        let states = layer.next.len() / symbols;
        let mut merged = Layer::default();
        let mut known: HashMap<u64, Vec<u32>, Plain> = HashMap::default();
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

/// What the key of a state and its place in the index take, about.
const KEY_BYTES: usize = 200;

/// Whether the queue that stores a packet decides what the drain will cost.
fn queues_matter(order: Order, alphabet: &[u64], metric: &dyn Metric, ranks: &Ranks) -> Result<bool, Failure> {
    let mut pairs = alphabet.iter().flat_map(|first| alphabet.iter().map(move |later| (*first, *later)));
    let mut costs = |in_rank_order: bool| {
        pairs
            .any(|(first, later)| (!in_rank_order || first <= later) && metric.overtake_price(first, later, ranks) != 0)
    };
    match order {
        Order::Queues => Ok(costs(false)),
        // Sent in the order of their ranks, packets cost nothing under all prices but those of this kind.
        Order::Ranks if costs(true) => Err(Failure::Order),
        Order::Ranks => Ok(false),
        Order::Unknown if costs(false) => Err(Failure::Order),
        Order::Unknown => Ok(false),
    }
}

/// States by key.
#[derive(Default)]
struct Index {
    places: HashMap<Box<[u64]>, u32, Plain>,
}

impl Index {
    fn clear(&mut self) {
        self.places.clear();
    }

    /// The number of this state, which is stored if it is new.
    fn place(
        &mut self,
        machine: &dyn Machine,
        remaining: usize,
        key: &mut Vec<u64>,
        states: &mut Vec<Box<dyn Machine>>,
    ) -> u32 {
        key.clear();
        machine.key(remaining, key);
        if let Some(place) = self.places.get(&key[..]) {
            return *place;
        }
        let place = states.len() as u32;
        states.push(machine.snapshot());
        self.places.insert(key.as_slice().into(), place);
        place
    }
}

/// A hasher for integers that mixes each word by a multiplication; the iteration order of tables never shows.
#[derive(Default, Clone, Copy)]
pub(crate) struct Mix(u64);

pub(crate) type Plain = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
}

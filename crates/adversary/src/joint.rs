//! Two automata side by side for the exact search: the effect of each rank on both, and upper limits of the further
//! gain.

use crate::automaton::{Automaton, FORBIDDEN, Layer, merge_alike};
use crate::metric::{Metric, Ranks};
use crate::problem::Limits;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// The effect of one arrival on both schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Both {
    /// The queue of the first scheduler; its number of queues if the packet is dropped or queues have no price.
    pub a: u8,
    /// The queue of the second scheduler, likewise.
    pub b: u8,
    /// The contribution of this arrival's drops to the gap.
    pub gain: i32,
}

/// The prices of pairs of sent packets. A packet's *kind* is its queues and its rank.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// The number of queues of the first scheduler.
    pub qa: usize,
    /// The number of queues of the second scheduler.
    pub qb: usize,
    /// The number of ranks.
    pub symbols: usize,
    /// `price[first * symbols + later]`.
    price: Vec<i32>,
    /// For prices of two packets of different ranks that depend only on the lower rank, in the worse of the two orders.
    /// Holds this price for each rank, and the price of two packets of this rank.
    chain: Option<Vec<(i32, i32)>>,
}

impl Pairs {
    pub(crate) fn new(qa: usize, qb: usize, alphabet: &[u64], metric: &dyn Metric, ranks: &Ranks) -> Self {
        let price = |first: &u64, later: &u64| metric.overtake_price(*first, *later, ranks) as i32;
        let row = |first| alphabet.iter().map(move |later| price(first, later));
        let price: Vec<i32> = alphabet.iter().flat_map(row).collect();
        let symbols = alphabet.len();
        let worse = |r: usize, s: usize| price[r * symbols + s].max(price[s * symbols + r]);
        let link = |r: usize| {
            let first = if r + 1 < symbols { worse(r, r + 1) } else { 0 };
            ((r + 1)..symbols).all(|s| worse(r, s) == first).then_some((first, price[r * symbols + r]))
        };
        let free = alphabet.iter().all(|rank| metric.drop_price(*rank, ranks) == 0);
        let chain = if free && price.iter().all(|price| *price >= 0) { (0..symbols).map(link).collect() } else { None };
        Self { qa, qb, symbols, price, chain }
    }

    /// The largest possible gain of `left` later packets, among themselves and with arrived packets, if their queues
    /// and order are free. `with_held` returns the gain of one packet of a rank with the arrived packets. The sum adds
    /// packets from the highest rank to the lowest; each packet gains its own price from all packets added before.
    pub(crate) fn unbound(&self, left: usize, with_held: impl Fn(usize) -> i32, sums: &mut Vec<i64>) -> Option<i64> {
        let chain = self.chain.as_ref()?;
        sums.clear();
        sums.resize(left + 1, i64::MIN);
        sums[0] = 0;
        for (rank, (price, own)) in chain.iter().enumerate().rev() {
            let held = i64::from(with_held(rank));
            let (price, own) = (i64::from(*price), i64::from(*own));
            for total in (1..=left).rev() {
                let mut best = sums[total];
                for (before, sum) in sums[..total].iter().enumerate().filter(|(_, sum)| **sum != i64::MIN) {
                    let added = (total - before) as i64;
                    let gain = added * (held + price * before as i64) + own * added * (added - 1) / 2;
                    best = best.max(sum + gain);
                }
                sums[total] = best;
            }
        }
        sums.iter().copied().max()
    }

    /// Whether pairs have a price.
    pub(crate) fn matter(&self) -> bool {
        self.qa + self.qb > 0
    }

    /// The number of combinations of the two queues (or none) of a packet.
    pub(crate) fn places(&self) -> usize {
        (self.qa + 1) * (self.qb + 1)
    }

    pub(crate) fn place(&self, both: Both) -> usize {
        usize::from(both.a) * (self.qb + 1) + usize::from(both.b)
    }

    /// The number of kinds of packets.
    pub(crate) fn kinds(&self) -> usize {
        self.places() * self.symbols
    }

    pub(crate) fn kind(&self, both: Both, symbol: usize) -> u16 {
        (self.place(both) * self.symbols + symbol) as u16
    }

    pub(crate) fn parts(&self, kind: u16) -> (usize, usize, usize) {
        let (place, symbol) = (usize::from(kind) / self.symbols, usize::from(kind) % self.symbols);
        (place / (self.qb + 1), place % (self.qb + 1), symbol)
    }

    /// The cost of a pair for one scheduler: the earlier packet of rank `s` is in queue `i`, the later one of rank `r`
    /// in queue `k`.
    #[inline]
    pub(crate) fn cost(&self, queues: usize, (i, s): (usize, usize), (k, r): (usize, usize)) -> i32 {
        if i == queues || k == queues {
            0
        } else if i <= k {
            self.price[s * self.symbols + r]
        } else {
            self.price[r * self.symbols + s]
        }
    }

    /// The contribution to the gap of a pair of an earlier packet of kind `x` and a later one at `(a, b)` of rank `r`.
    pub(crate) fn effect(&self, x: u16, (a, b, r): (usize, usize, usize)) -> i32 {
        let (i, j, s) = self.parts(x);
        self.cost(self.qa, (i, s), (a, r)) - self.cost(self.qb, (j, s), (b, r))
    }
}

/// The interface of a pair of automata for the search.
pub(crate) trait Graph: Sync {
    fn symbols(&self) -> usize;
    fn packets(&self) -> usize;
    /// The initial states, one per start.
    fn start(&self) -> Vec<u64>;
    /// The step if `symbol` arrives in `state` after `layer` arrivals; `None` if it is not allowed.
    fn step(&self, layer: usize, state: u64, symbol: usize) -> Option<(u64, Both)>;
    /// The places that later packets can take, one bit each.
    fn open(&self, layer: usize, state: u64) -> u64;
    /// An upper limit of the gain from drops and from pairs of two later packets.
    fn future(&self, layer: usize, state: u64) -> i64;
    /// An upper limit of the gain from pairs of an arrived packet of kind `kind` and later packets.
    fn interaction(&self, layer: usize, state: u64, kind: u16) -> i64;
    /// An upper limit of the number of later packets at this place.
    fn uses(&self, layer: usize, state: u64, place: usize) -> u32;
    /// An upper limit of the number of later packets that the first scheduler stores.
    fn stored(&self, layer: usize, state: u64) -> u32;
}

/// The product of both automata: all reachable joint states, with exact tables.
pub(crate) struct Product {
    symbols: usize,
    start: Vec<u32>,
    layers: Vec<Layer>,
    tables: Vec<Tables>,
    outs: Vec<Both>,
    kinds: usize,
    places: usize,
}

/// The upper limits for the states of one layer.
struct Tables {
    open: Vec<u64>,
    future: Vec<i64>,
    /// `kinds` entries per state.
    interaction: Vec<i32>,
    /// `places` entries per state.
    uses: Vec<u8>,
    stored: Vec<u8>,
}

impl Product {
    /// The approximate size in memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let states: usize = self.tables.iter().map(|tables| tables.open.len()).sum();
        let steps: usize = self.layers.iter().map(Layer::bytes).sum();
        // In addition to the rows of kinds and places: two words of eight bytes, and one byte.
        steps + states * (17 + self.kinds * 4 + self.places)
    }

    /// Builds the product; `None` if the joint states exceed the memory.
    pub(crate) fn build(a: &Automaton, b: &Automaton, pairs: &Pairs, limits: &Limits) -> Option<Self> {
        let symbols = a.symbols;
        let packets = a.layers.len();
        let tables = if pairs.matter() { pairs.kinds() * 4 + pairs.places() + 8 } else { 0 };
        let most = limits.memory / 3 / (symbols * 6 + tables + 48);
        let mut outs: Vec<Both> = Vec::new();
        let mut codes: HashMap<Both, u16> = HashMap::new();
        let mut index: FxHashMap<u64, u32> = FxHashMap::default();
        let mut states: Vec<u64> = Vec::new();
        let mut start = Vec::with_capacity(a.start.len());
        for (a, b) in a.start.iter().zip(&b.start) {
            if *a == FORBIDDEN || *b == FORBIDDEN {
                start.push(FORBIDDEN);
                continue;
            }
            start.push(place(u64::from(*a) | u64::from(*b) << 32, &mut index, &mut states));
        }
        let mut layers: Vec<Layer> = Vec::with_capacity(packets);
        let mut total = 0;
        for layer in 0..packets {
            index.clear();
            let mut following = Vec::new();
            let mut made = Layer::default();
            for state in &states {
                for symbol in 0..symbols {
                    let Some((next, both)) = step(a, b, layer, *state, symbol, pairs) else {
                        made.next.push(FORBIDDEN);
                        made.out.push(0);
                        continue;
                    };
                    let code = *codes.entry(both).or_insert_with(|| {
                        outs.push(both);
                        (outs.len() - 1) as u16
                    });
                    made.next.push(place(next, &mut index, &mut following));
                    made.out.push(code);
                }
                if total + following.len() > most {
                    return None;
                }
            }
            if limits.is_over() {
                return None;
            }
            total += states.len();
            states = following;
            layers.push(made);
        }
        let kinds = if pairs.matter() { pairs.kinds() } else { 0 };
        let places = if pairs.matter() { pairs.places() } else { 0 };
        let mut product = Self { symbols, start, layers, tables: Vec::new(), outs, kinds, places };
        merge_alike(&mut product.layers, &mut product.start, symbols);
        product.tabulate(pairs);
        Some(product)
    }

    /// Computes the tables from the last layer to the first.
    fn tabulate(&mut self, pairs: &Pairs) {
        let (symbols, kinds, places) = (self.symbols, self.kinds, self.places);
        // effect[(place * symbols + symbol) * kinds + kind]
        let mut effect = vec![0i32; places * symbols * kinds];
        for (later, row) in effect.chunks_mut(kinds.max(1)).enumerate().take(places * symbols) {
            let (a, b, r) = pairs.parts(later as u16);
            for (kind, effect) in row.iter_mut().enumerate() {
                *effect = pairs.effect(kind as u16, (a, b, r));
            }
        }
        let end = Tables {
            open: vec![0],
            future: vec![0],
            interaction: vec![0; kinds],
            uses: vec![0; places],
            stored: vec![0],
        };
        let mut tables = vec![end];
        for layer in self.layers.iter().rev() {
            let after = tables.last().expect("the end is there");
            let states = layer.next.len() / symbols;
            let mut made = Tables {
                open: vec![0; states],
                future: vec![i64::MIN; states],
                interaction: vec![i32::MIN; states * kinds],
                uses: vec![0; states * places],
                stored: vec![0; states],
            };
            for state in 0..states {
                for symbol in 0..symbols {
                    let next = layer.next[state * symbols + symbol];
                    if next == FORBIDDEN {
                        continue;
                    }
                    let next = next as usize;
                    let both = self.outs[usize::from(layer.out[state * symbols + symbol])];
                    let mut future = i64::from(both.gain) + after.future[next];
                    let stored = after.stored[next] + u8::from(usize::from(both.a) < pairs.qa);
                    made.stored[state] = made.stored[state].max(stored);
                    if kinds > 0 {
                        let place = pairs.place(both);
                        let kind = usize::from(pairs.kind(both, symbol));
                        made.open[state] |= after.open[next] | bit(place);
                        future += i64::from(after.interaction[next * kinds + kind]);
                        let row = &effect[(place * symbols + symbol) * kinds..][..kinds];
                        let next_row = &after.interaction[next * kinds..][..kinds];
                        let own_row = &mut made.interaction[state * kinds..][..kinds];
                        for ((own, next), effect) in own_row.iter_mut().zip(next_row).zip(row) {
                            *own = (*own).max(next + effect);
                        }
                        for other in 0..places {
                            let uses = after.uses[next * places + other] + u8::from(other == place);
                            let own = &mut made.uses[state * places + other];
                            *own = (*own).max(uses);
                        }
                    }
                    made.future[state] = made.future[state].max(future);
                }
            }
            tables.push(made);
        }
        tables.reverse();
        self.tables = tables;
    }
}

impl Graph for Product {
    fn symbols(&self) -> usize {
        self.symbols
    }
    fn packets(&self) -> usize {
        self.layers.len()
    }
    fn start(&self) -> Vec<u64> {
        self.start.iter().map(|start| if *start == FORBIDDEN { u64::MAX } else { u64::from(*start) }).collect()
    }
    #[inline]
    fn step(&self, layer: usize, state: u64, symbol: usize) -> Option<(u64, Both)> {
        let layer = &self.layers[layer];
        let place = state as usize * self.symbols + symbol;
        let next = layer.next[place];
        (next != FORBIDDEN).then(|| (u64::from(next), self.outs[usize::from(layer.out[place])]))
    }
    #[inline]
    fn open(&self, layer: usize, state: u64) -> u64 {
        self.tables[layer].open[state as usize]
    }
    #[inline]
    fn future(&self, layer: usize, state: u64) -> i64 {
        self.tables[layer].future[state as usize]
    }
    #[inline]
    fn interaction(&self, layer: usize, state: u64, kind: u16) -> i64 {
        i64::from(self.tables[layer].interaction[state as usize * self.kinds + usize::from(kind)])
    }
    #[inline]
    fn uses(&self, layer: usize, state: u64, place: usize) -> u32 {
        self.tables[layer].uses[state as usize * self.places + place].into()
    }
    #[inline]
    fn stored(&self, layer: usize, state: u64) -> u32 {
        self.tables[layer].stored[state as usize].into()
    }
}

/// The bit of a place; all places beyond the last bit share it.
pub(crate) fn bit(place: usize) -> u64 {
    1 << place.min(63)
}

fn place(state: u64, index: &mut FxHashMap<u64, u32>, states: &mut Vec<u64>) -> u32 {
    *index.entry(state).or_insert_with(|| {
        states.push(state);
        (states.len() - 1) as u32
    })
}

/// The transition of the joint state `state` for `symbol`.
#[inline]
fn step(a: &Automaton, b: &Automaton, layer: usize, state: u64, symbol: usize, pairs: &Pairs) -> Option<(u64, Both)> {
    let (next_a, out_a) = a.step(layer, state as u32, symbol);
    let (next_b, out_b) = b.step(layer, (state >> 32) as u32, symbol);
    if next_a == FORBIDDEN || next_b == FORBIDDEN {
        return None;
    }
    let both = Both {
        a: out_a.queue.unwrap_or(pairs.qa as u8),
        b: out_b.queue.unwrap_or(pairs.qb as u8),
        gain: (out_a.price - out_b.price) as i32,
    };
    Some((u64::from(next_a) | u64::from(next_b) << 32, both))
}

/// The two automata without a product: the search creates states as it reaches them, and limits treat each scheduler
/// separately.
pub(crate) struct Apart<'a> {
    a: &'a Automaton,
    b: &'a Automaton,
    pairs: &'a Pairs,
    first: Alone,
    second: Alone,
    /// Shares of each arrival's price that are subtracted from one scheduler's drops and added to the other's.
    splits: Vec<(ByState, ByState)>,
}

/// A number per state of each layer.
type ByState = Vec<Vec<i32>>;

/// The largest further contribution of one scheduler.
struct Alone {
    /// `[layer][state]`: from drops and pairs of later packets.
    future: Vec<Vec<i32>>,
    /// `[layer][state * kinds + kind]`: from pairs with an arrived packet.
    interaction: Vec<Vec<i32>>,
    /// `[layer][state * places + place]`
    uses: Vec<Vec<u8>>,
    /// `[layer][state]`: the later packets that are stored.
    stored: Vec<Vec<u8>>,
    kinds: usize,
    places: usize,
}

impl Alone {
    fn new(automaton: &Automaton, pairs: &Pairs, first: bool) -> Self {
        let symbols = automaton.symbols;
        let queues = if first { pairs.qa } else { pairs.qb };
        let sign = if first { 1 } else { -1 };
        let places = queues + 1;
        let kinds = if pairs.matter() { places * symbols } else { 0 };
        let place_of = |queue: Option<u8>| queue.map_or(queues, usize::from);
        let layers = automaton.layers.len();
        let mut alone = Self {
            future: vec![Vec::new(); layers + 1],
            interaction: vec![Vec::new(); layers + 1],
            uses: vec![Vec::new(); layers + 1],
            stored: vec![Vec::new(); layers + 1],
            kinds,
            places,
        };
        alone.future[layers] = vec![0];
        alone.interaction[layers] = vec![0; kinds];
        alone.uses[layers] = vec![0; places];
        alone.stored[layers] = vec![0];
        for layer in (0..layers).rev() {
            let states = automaton.states(layer);
            let mut future = vec![i32::MIN; states];
            let mut interaction = vec![i32::MIN; states * kinds];
            let mut uses = vec![0u8; states * places];
            let mut stored = vec![0u8; states];
            for state in 0..states {
                for symbol in 0..symbols {
                    let (next, out) = automaton.step(layer, state as u32, symbol);
                    if next == FORBIDDEN {
                        continue;
                    }
                    let next = next as usize;
                    let place = place_of(out.queue);
                    stored[state] = stored[state].max(alone.stored[layer + 1][next] + u8::from(place < queues));
                    let mut gain = sign * out.price as i32 + alone.future[layer + 1][next];
                    if kinds > 0 {
                        let after = &alone.interaction[layer + 1][next * kinds..][..kinds];
                        gain += after[place * symbols + symbol];
                        for (kind, after) in after.iter().enumerate() {
                            let x = (kind / symbols, kind % symbols);
                            let own = &mut interaction[state * kinds + kind];
                            *own = (*own).max(after + sign * pairs.cost(queues, x, (place, symbol)));
                        }
                        for other in 0..places {
                            let after = alone.uses[layer + 1][next * places + other] + u8::from(other == place);
                            let own = &mut uses[state * places + other];
                            *own = (*own).max(after);
                        }
                    }
                    future[state] = future[state].max(gain);
                }
            }
            alone.future[layer] = future;
            alone.interaction[layer] = interaction;
            alone.uses[layer] = uses;
            alone.stored[layer] = stored;
        }
        alone
    }
}

impl<'a> Apart<'a> {
    pub(crate) fn new(a: &'a Automaton, b: &'a Automaton, pairs: &'a Pairs, drop_price: &[i64]) -> Self {
        let (first, second) = (Alone::new(a, pairs, true), Alone::new(b, pairs, false));
        // With a share s of each arrival's price: max of (drops of a - s arrivals) + max of (s arrivals - drops of b).
        let splits = if pairs.matter() {
            Vec::new()
        } else {
            let share = |eighths: i64| drop_price.iter().map(|price| (price * eighths / 8) as i32).collect::<Vec<_>>();
            let table = |automaton: &Automaton, sign: i32, share: &[i32]| split(automaton, sign, share);
            (1..=8).map(share).map(|share| (table(a, 1, &share), table(b, -1, &share))).collect()
        };
        Self { a, b, pairs, first, second, splits }
    }
}

/// `[layer][state]`: the maximum of sign * (drops - shares of arrivals).
fn split(automaton: &Automaton, sign: i32, share: &[i32]) -> ByState {
    let layers = automaton.layers.len();
    let mut table = vec![Vec::new(); layers + 1];
    table[layers] = vec![0];
    for layer in (0..layers).rev() {
        let best = |state: usize| {
            let gain = |(symbol, share): (usize, &i32)| {
                let (next, out) = automaton.step(layer, state as u32, symbol);
                (next != FORBIDDEN).then(|| sign * (out.price as i32 - share) + table[layer + 1][next as usize])
            };
            share.iter().enumerate().filter_map(gain).max().expect("states without a way on are closed")
        };
        let row = (0..automaton.states(layer)).map(best).collect();
        table[layer] = row;
    }
    table
}

impl Graph for Apart<'_> {
    fn symbols(&self) -> usize {
        self.a.symbols
    }
    fn packets(&self) -> usize {
        self.a.layers.len()
    }
    fn start(&self) -> Vec<u64> {
        let join = |(a, b): (&u32, &u32)| {
            if *a == FORBIDDEN || *b == FORBIDDEN { u64::MAX } else { u64::from(*a) | u64::from(*b) << 32 }
        };
        self.a.start.iter().zip(&self.b.start).map(join).collect()
    }
    #[inline]
    fn step(&self, layer: usize, state: u64, symbol: usize) -> Option<(u64, Both)> {
        step(self.a, self.b, layer, state, symbol, self.pairs)
    }
    #[inline]
    fn open(&self, layer: usize, state: u64) -> u64 {
        let mut open = 0;
        for place in 0..self.pairs.places() {
            if self.uses(layer, state, place) > 0 {
                open |= bit(place);
            }
        }
        open
    }
    #[inline]
    fn future(&self, layer: usize, state: u64) -> i64 {
        let (a, b) = (state as u32 as usize, (state >> 32) as usize);
        let apart = self.first.future[layer][a] + self.second.future[layer][b];
        let split = self.splits.iter().map(|(first, second)| first[layer][a] + second[layer][b]).min();
        i64::from(split.map_or(apart, |split| split.min(apart)))
    }
    #[inline]
    fn interaction(&self, layer: usize, state: u64, kind: u16) -> i64 {
        let (a, b) = (state as u32 as usize, (state >> 32) as usize);
        let (i, j, s) = self.pairs.parts(kind);
        let first = self.first.interaction[layer][a * self.first.kinds + i * self.pairs.symbols + s];
        let second = self.second.interaction[layer][b * self.second.kinds + j * self.pairs.symbols + s];
        i64::from(first) + i64::from(second)
    }
    #[inline]
    fn uses(&self, layer: usize, state: u64, place: usize) -> u32 {
        let (a, b) = (state as u32 as usize, (state >> 32) as usize);
        let (i, j) = (place / (self.pairs.qb + 1), place % (self.pairs.qb + 1));
        let first = self.first.uses[layer][a * self.first.places + i];
        u32::from(first.min(self.second.uses[layer][b * self.second.places + j]))
    }
    #[inline]
    fn stored(&self, layer: usize, state: u64) -> u32 {
        self.first.stored[layer][state as u32 as usize].into()
    }
}

//! The exact search: all traces at once, layer by layer, over joint canonical states.
//!
//! After each arrival, a *node* holds a joint state of both schedulers, the gap so far, and the kinds of the arrived
//! packets (their queues and their rank). Kinds are kept while pairs with later packets have a price. Of nodes with
//! equal state and kinds, only the one with the largest gap is kept. A node is removed in two cases: its possible gain
//! does not exceed the best known trace, or another node of the same state leads by at least the amount that this one
//! can catch up. Successive passes keep more and more nodes. A pass that cuts no node proves its result.

use crate::automaton::Mix;
use crate::joint::{Graph, Pairs, bit};
use crate::problem::Limits;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Mutex;

/// The largest gap found, its trace, and an upper limit of the gap.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The gap, the trace by numbers of ranks, and the start; `None` if no trace is allowed.
    pub best: Option<(i64, Vec<u8>, usize)>,
    /// No trace has a larger gap.
    pub bound: i64,
    /// The number of joint steps.
    pub steps: u64,
}

/// No kind: the packet's pairs with later packets have no price.
const NONE: u16 = u16::MAX;
/// The number of parts in which nodes are merged. It is fixed, so that the result does not depend on the number of
/// workers.
const SHARDS: usize = 64;
/// The largest number of leading nodes of a state with which another node of the state is compared.
const COMPARED: usize = 48;
const FIRST_WIDTH: usize = 1_000;
const WIDER: usize = 8;

/// Searches `graph` in ever wider passes, of at most `most` nodes and about `memory` bytes. Ends when the result is
/// proven or the limits are reached. The trace `known` is the result until a better one is found.
pub(crate) fn search(
    graph: &dyn Graph,
    pairs: &Pairs,
    limits: &Limits,
    memory: usize,
    most: usize,
    known: Option<(i64, Vec<u8>, usize)>,
    told: &mut dyn FnMut(i64, u64),
) -> Found {
    let starts = graph.start();
    let roots: Vec<(usize, u64)> = starts.iter().copied().enumerate().filter(|(_, state)| *state != u64::MAX).collect();
    let Some(bound) = roots.iter().map(|(_, state)| graph.future(0, *state)).max() else {
        return Found { best: None, bound: i64::MIN, steps: 0 };
    };
    let mut found = Found { best: known, bound, steps: 0 };
    let stride = if pairs.matter() { graph.packets() } else { 0 };
    // A child needs its own size, its kinds, and about as much again during the sort.
    let child = size_of::<Child>() * 2 + stride * 4;
    let widest = (memory / child / graph.symbols().max(1)).max(FIRST_WIDTH).min(most);
    let mut width = FIRST_WIDTH;
    loop {
        let mut pass = Pass { graph, pairs, limits, stride, width, maps: Maps::default(), steps: 0, cut: i64::MIN };
        let result = pass.run(&roots, found.best.as_ref().map(|best| best.0));
        found.steps += pass.steps;
        if let Some(best) = result.best {
            told(best.0, found.steps);
            found.best = Some(best);
        }
        if !result.complete {
            return found;
        }
        let best = found.best.as_ref().map_or(i64::MIN, |best| best.0);
        found.bound = found.bound.min(pass.cut.max(best));
        if found.bound <= best {
            return found;
        }
        if width >= widest {
            if widest < most {
                limits.fill();
            }
            return found;
        }
        width = (width * WIDER).min(widest);
    }
}

struct Pass<'a> {
    graph: &'a dyn Graph,
    pairs: &'a Pairs,
    limits: &'a Limits,
    /// The number of kinds per node: one per packet, if pairs have a price.
    stride: usize,
    width: usize,
    maps: Maps,
    steps: u64,
    /// The largest promise of the nodes cut.
    cut: i64,
}

struct PassResult {
    best: Option<(i64, Vec<u8>, usize)>,
    complete: bool,
}

/// The nodes of one layer.
#[derive(Default)]
struct Nodes {
    state: Vec<u64>,
    gap: Vec<i64>,
    /// Sorted, `NONE` last.
    kinds: Vec<u16>,
}

#[derive(Clone, Copy)]
struct Child {
    state: u64,
    hash: u64,
    gap: i64,
    /// The gap plus the largest possible further gain.
    promise: i64,
    parent: u32,
    symbol: u8,
    /// The index of its kinds in its batch.
    kinds: u32,
}

impl Child {
    /// The sort key for merging: equal states adjacent, the largest gap first, and no two keys equal.
    fn order(&self) -> (u64, Reverse<i64>, u64, u32, u8) {
        (self.state, Reverse(self.gap), self.hash, self.parent, self.symbol)
    }
}

#[derive(Default)]
struct Batch {
    children: Vec<Child>,
    kinds: Vec<u16>,
}

/// For each set of open places, the replacement of each kind.
#[derive(Default)]
struct Maps {
    maps: Mutex<HashMap<u64, std::sync::Arc<Vec<u16>>>>,
}

impl Maps {
    /// Maps kinds with equal effects on all possible later packets to one kind, and kinds without effects to `NONE`.
    fn get(&self, open: u64, pairs: &Pairs) -> std::sync::Arc<Vec<u16>> {
        let mut maps = self.maps.lock().expect("no thread panics while it holds the lock");
        maps.entry(open)
            .or_insert_with(|| {
                let mut known: HashMap<Vec<i32>, u16> = HashMap::new();
                let kinds = 0..pairs.kinds() as u16;
                let map = kinds.map(|kind| {
                    let effects = effects(kind, open, pairs);
                    if effects.iter().all(|effect| *effect == 0) { NONE } else { *known.entry(effects).or_insert(kind) }
                });
                std::sync::Arc::new(map.collect())
            })
            .clone()
    }
}

fn effects(kind: u16, open: u64, pairs: &Pairs) -> Vec<i32> {
    let later = (0..pairs.kinds() as u16).map(|later| (later, pairs.parts(later)));
    let open = later.filter(|(later, _)| open & bit(usize::from(*later) / pairs.symbols) != 0);
    open.map(|(_, later)| pairs.effect(kind, later)).collect()
}

impl Pass<'_> {
    fn run(&mut self, roots: &[(usize, u64)], known: Option<i64>) -> PassResult {
        let packets = self.graph.packets();
        let mut nodes = Nodes::default();
        for (_, state) in roots {
            nodes.state.push(*state);
            nodes.gap.push(0);
        }
        nodes.kinds = vec![NONE; roots.len() * self.stride];
        let mut backs: Vec<Vec<(u32, u8)>> = Vec::with_capacity(packets);
        for layer in 0..packets {
            let batches = self.expand(layer, &nodes, known);
            let Some(batches) = batches else { return PassResult { best: None, complete: false } };
            self.steps += (nodes.state.len() * self.graph.symbols()) as u64;
            let Some((following, back)) = self.merge(layer + 1, batches) else {
                return PassResult { best: None, complete: false };
            };
            nodes = following;
            backs.push(back);
            if nodes.state.is_empty() {
                return PassResult { best: None, complete: true };
            }
        }
        let best = (0..nodes.gap.len()).max_by_key(|node| (nodes.gap[*node], Reverse(*node)));
        let best = best.map(|node| {
            let mut trace = vec![0; packets];
            let mut place = node as u32;
            for (layer, back) in backs.iter().enumerate().rev() {
                let (parent, symbol) = back[place as usize];
                trace[layer] = symbol;
                place = parent;
            }
            (nodes.gap[node], trace, roots[place as usize].0)
        });
        PassResult { best, complete: true }
    }

    /// The children of all nodes, in batches; `None` if the time is over.
    fn expand(&self, layer: usize, nodes: &Nodes, known: Option<i64>) -> Option<Vec<Batch>> {
        const CHUNK: usize = 4096;
        let chunks = nodes.state.len().div_ceil(CHUNK);
        let batches: Vec<Mutex<Batch>> = (0..chunks).map(|_| Mutex::default()).collect();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let over = std::sync::atomic::AtomicBool::new(false);
        let work = || {
            let mut bench = Bench::new(self.pairs, self.stride);
            loop {
                let chunk = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if chunk >= chunks {
                    return;
                }
                if self.limits.is_over() {
                    over.store(true, std::sync::atomic::Ordering::Relaxed);
                    return;
                }
                let mut batch = Batch::default();
                for node in chunk * CHUNK..((chunk + 1) * CHUNK).min(nodes.state.len()) {
                    self.expand_node(layer, nodes, node, known, &mut bench, &mut batch);
                }
                *batches[chunk].lock().expect("no thread panics while it holds the lock") = batch;
            }
        };
        run_on(self.limits.workers.min(chunks), &work);
        if over.into_inner() {
            return None;
        }
        Some(
            batches
                .into_iter()
                .map(|batch| batch.into_inner().expect("no thread panics while it holds the lock"))
                .collect(),
        )
    }

    fn expand_node(
        &self,
        layer: usize,
        nodes: &Nodes,
        node: usize,
        known: Option<i64>,
        bench: &mut Bench,
        batch: &mut Batch,
    ) {
        let (graph, stride) = (self.graph, self.stride);
        let kinds = &nodes.kinds[node * stride..(node + 1) * stride];
        let held = kinds.iter().position(|kind| *kind == NONE).unwrap_or(stride);
        bench.lay_out(&kinds[..held]);
        for symbol in 0..graph.symbols() {
            let Some((state, both)) = graph.step(layer, nodes.state[node], symbol) else { continue };
            let mut gap = nodes.gap[node] + i64::from(both.gain);
            let mut promise = 0;
            let mut hash = Mix::default();
            let place = batch.kinds.len();
            if stride > 0 {
                gap += i64::from(bench.effect(both, symbol, self.pairs));
                let open = graph.open(layer + 1, state);
                let map = bench.map(open, &self.maps, self.pairs);
                let added = map[usize::from(self.pairs.kind(both, symbol))];
                let alive = kinds[..held].iter().map(|kind| map[usize::from(*kind)]).chain([added]);
                batch.kinds.extend(alive.filter(|kind| *kind != NONE));
                batch.kinds[place..].sort_unstable();
                let mut interaction = 0;
                for kind in &batch.kinds[place..] {
                    hash.write_u64(u64::from(*kind));
                    interaction += graph.interaction(layer + 1, state, *kind);
                }
                batch.kinds.resize(place + stride, NONE);
                promise = interaction;
            }
            promise += gap + graph.future(layer + 1, state);
            if stride > 0 && known.is_none_or(|known| promise > known) {
                let free = bench.unbound(both, symbol, layer + 1, state, self);
                promise = promise.min(free.map_or(i64::MAX, |free| gap + free));
            }
            if known.is_some_and(|known| promise <= known) {
                batch.kinds.truncate(place);
                continue;
            }
            batch.children.push(Child {
                state,
                hash: hash.finish(),
                gap,
                promise,
                parent: node as u32,
                symbol: symbol as u8,
                kinds: place as u32,
            });
        }
    }

    /// Merges children, removes the ones that cannot lead, and cuts those beyond the width; `None` if the time is over.
    fn merge(&mut self, layer: usize, batches: Vec<Batch>) -> Option<(Nodes, Vec<(u32, u8)>)> {
        let mut shards: Vec<Mutex<Vec<(u32, Child)>>> = (0..SHARDS).map(|_| Mutex::default()).collect();
        for (number, batch) in batches.iter().enumerate() {
            for child in &batch.children {
                let mut mix = Mix::default();
                mix.write_u64(child.state);
                let shard = (mix.finish() >> 20) as usize % SHARDS;
                shards[shard]
                    .get_mut()
                    .expect("no thread panics while it holds the lock")
                    .push((number as u32, *child));
            }
        }
        let next = std::sync::atomic::AtomicUsize::new(0);
        let over = std::sync::atomic::AtomicBool::new(false);
        let (this, shards_ref, batches_ref) = (&*self, &shards, &batches);
        let work = || {
            let mut bench = Bench::new(this.pairs, this.stride);
            loop {
                let shard = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(shard) = shards_ref.get(shard) else { return };
                let mut shard = shard.lock().expect("no thread panics while it holds the lock");
                shard.sort_unstable_by_key(|(_, child)| child.order());
                if !this.thin(layer, &mut shard, batches_ref, &mut bench) {
                    over.store(true, std::sync::atomic::Ordering::Relaxed);
                    return;
                }
            }
        };
        run_on(self.limits.workers, &work);
        if over.into_inner() {
            return None;
        }
        let mut kept: Vec<(u32, Child)> = Vec::new();
        for shard in shards {
            kept.append(&mut shard.into_inner().expect("no thread panics while it holds the lock"));
        }
        if kept.len() > self.width {
            // The children with the largest promise remain; of equal promises the first in order.
            let order = |(_, child): &(u32, Child)| (Reverse(child.promise), child.order());
            kept.select_nth_unstable_by_key(self.width, order);
            let most = kept[self.width..].iter().map(|(_, child)| child.promise).max();
            self.cut = self.cut.max(most.unwrap_or(i64::MIN));
            kept.truncate(self.width);
            kept.sort_unstable_by_key(|(_, child)| child.order());
        }
        let mut nodes = Nodes::default();
        let mut back = Vec::with_capacity(kept.len());
        for (batch, child) in kept {
            nodes.state.push(child.state);
            nodes.gap.push(child.gap);
            let kinds = child.kinds as usize..child.kinds as usize + self.stride;
            nodes.kinds.extend_from_slice(&batches[batch as usize].kinds[kinds]);
            back.push((child.parent, child.symbol));
        }
        Some((nodes, back))
    }

    /// Removes the children that another child of their state certainly beats. `children` is sorted, the best of each
    /// state first. Returns `false` if the time is over.
    fn thin(&self, layer: usize, children: &mut Vec<(u32, Child)>, batches: &[Batch], bench: &mut Bench) -> bool {
        let kinds = |(batch, child): &(u32, Child)| {
            &batches[*batch as usize].kinds[child.kinds as usize..child.kinds as usize + self.stride]
        };
        let mut kept = 0;
        let mut first = 0;
        // The hash of each kept child of this state, to find duplicates quickly.
        let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
        for place in 0..children.len() {
            if place % 4096 == 4095 && self.limits.is_over() {
                return false;
            }
            let candidate = children[place];
            if kept == 0 || children[first].1.state != candidate.1.state {
                first = kept;
                seen.clear();
            } else if self.stride == 0 {
                continue;
            } else {
                if seen.get(&candidate.1.hash).is_some_and(|twin| {
                    let twin = children[*twin as usize];
                    kinds(&twin) == kinds(&candidate)
                }) {
                    continue;
                }
                let ahead = &children[first..kept.min(first + COMPARED)];
                let beaten = ahead.iter().any(|other| {
                    let lead = other.1.gap - candidate.1.gap;
                    bench.catches_up(kinds(&candidate), kinds(other), layer, candidate.1.state, self) <= lead
                });
                if beaten {
                    continue;
                }
            }
            seen.entry(candidate.1.hash).or_insert(kept as u32);
            children[kept] = candidate;
            kept += 1;
        }
        children.truncate(kept);
        true
    }
}

/// The tables of one worker.
struct Bench {
    /// Effects of each kind on each place and rank, in rows of `places * symbols`.
    effects: Vec<i32>,
    row: usize,
    difference: Vec<i32>,
    gains: Vec<(i32, u32)>,
    best: Vec<i32>,
    sums: Vec<i64>,
    map: (u64, std::sync::Arc<Vec<u16>>),
}

impl Bench {
    fn new(pairs: &Pairs, stride: usize) -> Self {
        let row = if stride > 0 { pairs.kinds() } else { 0 };
        let mut effects = Vec::with_capacity(row * row);
        for kind in 0..row as u16 {
            effects.extend((0..row as u16).map(|later| pairs.effect(kind, pairs.parts(later))));
        }
        Self {
            effects,
            row,
            difference: vec![0; row],
            gains: Vec::new(),
            best: Vec::new(),
            sums: Vec::new(),
            map: (u64::MAX, std::sync::Arc::default()),
        }
    }

    /// Sums the costs for each scheduler of pairs with packets of these kinds.
    fn lay_out(&mut self, kinds: &[u16]) {
        self.difference.fill(0);
        for kind in kinds {
            let row = &self.effects[usize::from(*kind) * self.row..][..self.row];
            for (sum, effect) in self.difference.iter_mut().zip(row) {
                *sum += effect;
            }
        }
    }

    fn effect(&self, both: crate::joint::Both, symbol: usize, pairs: &Pairs) -> i32 {
        self.difference[usize::from(pairs.kind(both, symbol))]
    }

    /// The largest possible gain after a packet of rank `symbol` is added to those laid out, for any decisions of the
    /// schedulers; see [`Pairs::unbound`].
    fn unbound(
        &mut self,
        both: crate::joint::Both,
        symbol: usize,
        layer: usize,
        state: u64,
        pass: &Pass<'_>,
    ) -> Option<i64> {
        let (graph, pairs) = (pass.graph, pass.pairs);
        let open = graph.open(layer, state);
        let row = &self.effects[usize::from(pairs.kind(both, symbol)) * self.row..][..self.row];
        let stored = 0..pairs.qa * (pairs.qb + 1);
        self.best.clear();
        self.best.resize(pairs.symbols, 0);
        for place in stored.filter(|place| open & bit(*place) != 0) {
            let range = place * pairs.symbols..(place + 1) * pairs.symbols;
            let sums = self.difference[range.clone()].iter().zip(&row[range]);
            for (best, (held, own)) in self.best.iter_mut().zip(sums) {
                *best = (*best).max(held + own);
            }
        }
        let best = &self.best;
        pairs.unbound(graph.stored(layer, state) as usize, |rank| best[rank], &mut self.sums)
    }

    fn map(&mut self, open: u64, maps: &Maps, pairs: &Pairs) -> std::sync::Arc<Vec<u16>> {
        if self.map.0 != open || self.map.1.is_empty() {
            self.map = (open, maps.get(open, pairs));
        }
        self.map.1.clone()
    }

    /// An upper limit of the additional gain of packets of the kinds `behind` over the kinds `ahead` from later
    /// packets.
    fn catches_up(&mut self, behind: &[u16], ahead: &[u16], layer: usize, state: u64, pass: &Pass<'_>) -> i64 {
        let (graph, pairs) = (pass.graph, pass.pairs);
        self.difference.fill(0);
        for (kinds, sign) in [(behind, 1), (ahead, -1)] {
            for kind in kinds.iter().take_while(|kind| **kind != NONE) {
                let row = &self.effects[usize::from(*kind) * self.row..][..self.row];
                for (sum, effect) in self.difference.iter_mut().zip(row) {
                    *sum += sign * effect;
                }
            }
        }
        let remaining = (graph.packets() - layer) as u32;
        self.gains.clear();
        for place in 0..pairs.places() {
            let most = self.difference[place * pairs.symbols..][..pairs.symbols].iter().copied().max().unwrap_or(0);
            if most > 0 {
                let uses = graph.uses(layer, state, place);
                if uses > 0 {
                    self.gains.push((most, uses));
                }
            }
        }
        self.gains.sort_unstable_by_key(|gain| Reverse(gain.0));
        let (mut left, mut sum) = (remaining, 0);
        for (most, uses) in &self.gains {
            let uses = (*uses).min(left);
            sum += i64::from(*most) * i64::from(uses);
            left -= uses;
        }
        sum
    }
}

/// Runs `work` on `workers` threads.
pub(crate) fn run_on(workers: usize, work: &(dyn Fn() + Sync)) {
    if workers <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
}

//! Patterns of senders and receivers.

use crate::input::{Lines, decimal, from_reader, quoted, whole};
use crate::{Distribution, FileError, ParameterError, Stream};
use std::collections::BTreeMap;
use std::io::Read;

/// A pattern of senders and receivers. A *start* is one event of the arrival process. Some patterns start several flows
/// per start.
#[derive(Clone, Debug)]
pub enum Pairs {
    /// One flow between two different hosts; all ordered pairs have equal probability.
    Uniform,
    /// One flow from a uniformly drawn host to its partner in a random permutation without fixed points. The
    /// permutation is drawn once per run.
    Permutation,
    /// One flow each from `senders` different hosts to one receiver.
    Incast {
        /// The number of senders per start.
        senders: u32,
        /// The receiver; drawn uniformly at each start if `None`.
        receiver: Option<u32>,
    },
    /// One flow for every ordered pair of different hosts.
    AllToAll,
    /// One flow. Racks are groups of `rack` hosts with consecutive numbers. The share `inside` of the flows stays in
    /// the sender's rack.
    RackSkewed {
        /// Hosts per rack; divides the number of hosts.
        rack: u32,
        /// Share from 0 to 1.
        inside: f64,
    },
    /// One flow between a pair drawn from weights; see [`Pairs::weighted`].
    Weighted(Distribution),
}

impl Pairs {
    /// Creates a pattern from (source, destination, weight) triples among `hosts` hosts.
    ///
    /// # Errors
    /// If a pair contains a host that does not exist or the same host twice, or the weights are not a valid
    /// distribution.
    pub fn weighted(hosts: u32, weights: &[(u32, u32, u64)]) -> Result<Self, ParameterError> {
        let mut indexed = Vec::with_capacity(weights.len());
        for &(src, dst, weight) in weights {
            if src >= hosts || dst >= hosts || src == dst {
                let value = format!("{src} to {dst} of {hosts} hosts");
                return Err(ParameterError::new("pairs", value, "two different hosts that exist"));
            }
            indexed.push((u64::from(src) * u64::from(hosts) + u64::from(dst), weight));
        }
        Ok(Self::Weighted(Distribution::histogram(&indexed)?))
    }

    /// Reads pair weights from CSV (gzip allowed); errors name it `file`. The header is `src,dst,weight`; each further
    /// line is a pair. Weights are integers or fractions such as `0.25` and `1e-05`, exact as far as their sum has no
    /// more than 18 digits, and rounded there.
    ///
    /// # Errors
    /// If it cannot be read, a row is not a pair of different hosts below `hosts`, a pair occurs twice, or a weight is
    /// not a number. The error contains file and line.
    pub fn from_reader(content: impl Read + Send, file: &str, hosts: u32) -> Result<Self, FileError> {
        read(Lines::new(from_reader(content, file)?), hosts)
    }

    /// The number of flows per start among `hosts` hosts.
    pub fn flows_per_start(&self, hosts: u32) -> u64 {
        match self {
            Self::Incast { senders, .. } => u64::from(*senders),
            Self::AllToAll => u64::from(hosts) * u64::from(hosts - 1),
            _ => 1,
        }
    }

    pub(crate) fn check(&self, hosts: u32) -> Result<(), ParameterError> {
        if hosts < 2 {
            return Err(ParameterError::new("hosts", hosts, "at least 2"));
        }
        match self {
            Self::Incast { senders, .. } if *senders == 0 || *senders >= hosts => {
                Err(ParameterError::new("senders", senders, "at least 1 and fewer than the hosts"))
            }
            Self::Incast { receiver: Some(receiver), .. } if *receiver >= hosts => {
                Err(ParameterError::new("receiver", receiver, "a host that exists"))
            }
            Self::RackSkewed { inside, .. } if !(0.0..=1.0).contains(inside) => {
                Err(ParameterError::new("inside", inside, "a share from 0 to 1"))
            }
            Self::RackSkewed { rack, .. } if *rack < 2 || *rack >= hosts || !hosts.is_multiple_of(*rack) => {
                Err(ParameterError::new("rack", rack, "at least 2 hosts, in racks of one size, and two racks or more"))
            }
            Self::Weighted(weights) if weights.max() >= u64::from(hosts) * u64::from(hosts) => {
                Err(ParameterError::new("pairs", weights.max(), "weights that were made for this number of hosts"))
            }
            _ => Ok(()),
        }
    }
}

fn read(mut lines: Lines<'_>, hosts: u32) -> Result<Pairs, FileError> {
    match lines.next()? {
        Some(header) if header.split(',').map(str::trim).eq(["src", "dst", "weight"]) => {}
        Some(header) => {
            let problem = format!("{}: expected the header src,dst,weight", quoted(header));
            return Err(lines.error(problem));
        }
        None => return Err(lines.file_error("empty: expected the header src,dst,weight")),
    }
    let mut weights = BTreeMap::new();
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let row = match *fields.as_slice() {
            [src, dst, weight] => whole(src).zip(whole(dst)).zip(decimal(weight)),
            _ => None,
        };
        let Some(((src, dst), weight)) = row else {
            let problem = format!("{}: expected two hosts and a weight, 0 or above", quoted(line));
            return Err(lines.error(problem));
        };
        if src >= u64::from(hosts) || dst >= u64::from(hosts) || src == dst {
            return Err(lines.error(format!("{src} to {dst}: expected two different hosts below {hosts}")));
        }
        if weights.insert((src as u32, dst as u32), weight).is_some() {
            return Err(lines.error(format!("duplicate pair {src} to {dst}")));
        }
    }
    // The weights in units of the last of so many decimals, as many as are written and as their sum has room for.
    let most = weights.values().map(|weight| weight.1).max().unwrap_or(0);
    let in_units = |places: u32| -> Option<Vec<(u32, u32, u64)>> {
        let scaled = weights.iter().map(|(&(src, dst), &weight)| Some((src, dst, scaled(weight, places)?)));
        let scaled: Vec<_> = scaled.collect::<Option<_>>()?;
        let sum: u128 = scaled.iter().map(|(.., weight)| u128::from(*weight)).sum();
        (sum <= i64::MAX as u128).then_some(scaled)
    };
    let weights = (0..=most).rev().find_map(in_units);
    let weights = weights.ok_or_else(|| lines.file_error("weights: expected a sum of 2^63 - 1 at most"))?;
    Pairs::weighted(hosts, &weights).map_err(|error| lines.file_error(error.to_string()))
}

/// A decimal number in units of 10^-`places`, to the nearest.
fn scaled((digits, written): (u128, u32), places: u32) -> Option<u64> {
    let units = if written <= places {
        digits.checked_mul(10u128.checked_pow(places - written)?)?
    } else {
        // More digits than a number has are below half a unit.
        let Some(scale) = 10u128.checked_pow(written - places) else { return Some(0) };
        digits / scale + u128::from(digits % scale >= scale - digits % scale)
    };
    u64::try_from(units).ok()
}

/// A pattern in progress: returns the pairs of one start after another.
#[derive(Clone, Debug)]
pub(crate) struct PairDraws {
    pairs: Pairs,
    hosts: u32,
    stream: Stream,
    /// The permutation, or the hosts from which an incast draws its senders.
    order: Vec<u32>,
    receiver: u32,
    /// The number of pairs of this start returned so far.
    given: u64,
    total: u64,
}

impl PairDraws {
    pub(crate) fn new(pairs: &Pairs, hosts: u32, mut stream: Stream) -> Self {
        let mut order: Vec<u32> = Vec::new();
        if matches!(pairs, Pairs::Permutation | Pairs::Incast { .. }) {
            order = (0..hosts).collect();
        }
        if matches!(pairs, Pairs::Permutation) {
            // Shuffled until no host sends to itself: about e attempts. All such permutations have equal probability.
            while order.iter().enumerate().any(|(src, &dst)| src == dst as usize) {
                for i in (1..order.len()).rev() {
                    order.swap(i, stream.below(i as u64 + 1) as usize);
                }
            }
        }
        let total = pairs.flows_per_start(hosts);
        Self { pairs: pairs.clone(), hosts, stream, order, receiver: 0, given: 0, total }
    }

    /// Returns the next pair, and whether it is the last of its start.
    pub(crate) fn next(&mut self) -> ((u32, u32), bool) {
        let hosts = u64::from(self.hosts);
        let pair = match &self.pairs {
            Pairs::Uniform => {
                let src = self.stream.below(hosts) as u32;
                (src, self.stream.below(hosts - 1) as u32).skip_own()
            }
            Pairs::Permutation => {
                let src = self.stream.below(hosts) as u32;
                (src, self.order[src as usize])
            }
            Pairs::Incast { receiver, .. } => {
                if self.given == 0 {
                    self.receiver = receiver.unwrap_or_else(|| self.stream.below(hosts) as u32);
                    // The receiver moves to the end, from which no sender is drawn.
                    let at = self.order.iter().position(|&host| host == self.receiver);
                    let last = self.order.len() - 1;
                    self.order.swap(at.expect("the order holds every host"), last);
                }
                let given = self.given as usize;
                let drawn = given + self.stream.below(hosts - 1 - self.given) as usize;
                self.order.swap(given, drawn);
                (self.order[given], self.receiver)
            }
            Pairs::AllToAll => ((self.given / (hosts - 1)) as u32, (self.given % (hosts - 1)) as u32).skip_own(),
            Pairs::RackSkewed { rack, inside } => {
                use crate::Uniform;
                let src = self.stream.below(hosts) as u32;
                let first = src - src % rack;
                if self.stream.uniform() < *inside {
                    let dst = self.stream.below(u64::from(rack - 1)) as u32;
                    (src, first + (src - first, dst).skip_own().1)
                } else {
                    let dst = self.stream.below(u64::from(self.hosts - rack)) as u32;
                    (src, if dst >= first { dst + rack } else { dst })
                }
            }
            Pairs::Weighted(weights) => {
                let index = weights.draw(&mut self.stream);
                ((index / hosts) as u32, (index % hosts) as u32)
            }
        };
        self.given += 1;
        let last = self.given == self.total;
        if last {
            self.given = 0;
        }
        (pair, last)
    }
}

/// Converts an index among the other hosts to the destination's host number.
trait SkipOwn {
    fn skip_own(self) -> Self;
}

impl SkipOwn for (u32, u32) {
    fn skip_own(self) -> Self {
        let (src, other) = self;
        (src, other + u32::from(other >= src))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draws(pairs: &Pairs, hosts: u32, n: usize) -> Vec<(u32, u32)> {
        pairs.check(hosts).unwrap();
        let mut draws = PairDraws::new(pairs, hosts, Stream::named(3, "pairs"));
        (0..n).map(|_| draws.next().0).collect()
    }

    #[test]
    fn uniform_pairs_are_all_alike_and_never_own() {
        let mut counts = BTreeMap::new();
        for pair in draws(&Pairs::Uniform, 5, 200_000) {
            assert_ne!(pair.0, pair.1);
            *counts.entry(pair).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 20);
        // Five standard deviations of a count with n = 200,000 and p = 1/20 are 487.
        assert!(counts.values().all(|count| count.abs_diff(10_000) < 487), "{counts:?}");
    }

    #[test]
    fn a_permutation_keeps_its_partners() {
        let pairs: BTreeMap<_, _> = draws(&Pairs::Permutation, 16, 2_000).into_iter().collect();
        assert!(draws(&Pairs::Permutation, 16, 2_000).iter().all(|(src, dst)| pairs[src] == *dst && src != dst));
        let mut receivers: Vec<_> = pairs.values().copied().collect();
        receivers.sort_unstable();
        assert_eq!(receivers, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn incast_senders_differ_and_are_never_the_receiver() {
        for receiver in [None, Some(3)] {
            let pairs = draws(&Pairs::Incast { senders: 4, receiver }, 6, 4 * 500);
            let mut seen = [0; 6];
            for start in pairs.chunks(4) {
                let mut hosts: Vec<_> = start.iter().map(|pair| pair.0).chain([start[0].1]).collect();
                assert!(start.iter().all(|pair| pair.1 == start[0].1));
                assert!(receiver.is_none_or(|receiver| receiver == start[0].1));
                seen[start[0].1 as usize] += 1;
                hosts.sort_unstable();
                hosts.dedup();
                assert_eq!(hosts.len(), 5);
            }
            assert_eq!(seen.iter().filter(|&&count| count > 0).count(), if receiver.is_some() { 1 } else { 6 });
        }
    }

    #[test]
    fn all_to_all_names_each_ordered_pair_once() {
        let mut pairs = draws(&Pairs::AllToAll, 4, 12);
        assert_eq!(pairs[..4], [(0, 1), (0, 2), (0, 3), (1, 0)]);
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 12);
    }

    #[test]
    fn the_stated_share_stays_in_the_rack() {
        let pairs = draws(&Pairs::RackSkewed { rack: 4, inside: 0.8 }, 12, 100_000);
        assert!(pairs.iter().all(|(src, dst)| src != dst && *dst < 12));
        let inside = pairs.iter().filter(|(src, dst)| src / 4 == dst / 4).count();
        assert!(inside.abs_diff(80_000) < 640, "{inside}");
    }

    #[test]
    fn weights_from_a_file_rule_the_pairs() {
        let file = "src,dst,weight\n0,1,3\n2,0,1\n1,2,0\n";
        let pairs = draws(&Pairs::from_reader(file.as_bytes(), "p", 3).unwrap(), 3, 10_000);
        let first = pairs.iter().filter(|&&pair| pair == (0, 1)).count();
        assert!(pairs.iter().all(|pair| [(0, 1), (2, 0)].contains(pair)) && first.abs_diff(7_500) < 220, "{first}");
    }

    proptest! {
        #[test]
        fn fractions_weigh_as_the_integers_that_they_are_multiples_of(
            weights in proptest::collection::vec(0u64..1_000_000, 5), places in 0u32..12, first in 1u64..1_000_000,
        ) {
            let mut weights = weights;
            weights.insert(0, first);
            let ends = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
            let rows = |written: &dyn Fn(u64) -> String| {
                let all = ends.iter().zip(&weights);
                let rows = all.map(|((src, dst), &weight)| format!("{src},{dst},{}\n", written(weight)));
                format!("src,dst,weight\n{}", rows.collect::<String>())
            };
            let drawn = |text: String| draws(&Pairs::from_reader(text.as_bytes(), "p", 3).unwrap(), 3, 50);
            let integers = drawn(rows(&|weight| weight.to_string()));
            let fraction = |weight: u64| {
                let text = format!("{weight:0>width$}", width = places as usize + 1);
                format!("{}.{}", &text[..text.len() - places as usize], &text[text.len() - places as usize..])
            };
            prop_assert_eq!(&integers, &drawn(rows(&fraction)));
            prop_assert_eq!(&integers, &drawn(rows(&|weight| format!("{weight}e-{places}"))));
        }
    }

    #[test]
    fn shares_of_more_digits_than_a_sum_has_room_for_are_rounded() {
        let share = 1.0 / 96.0 / 1e3;
        let file = format!("src,dst,weight\n0,1,{share:e}\n1,2,{}\n2,0,1e-40\n", 1.0 - share);
        let pairs = draws(&Pairs::from_reader(file.as_bytes(), "p", 3).unwrap(), 3, 1_000_000);
        let few = pairs.iter().filter(|&&pair| pair == (0, 1)).count();
        assert!((2..30).contains(&few), "{few}");
    }

    #[test]
    fn impossible_pairs_are_refused() {
        let message = |pairs: Pairs, hosts| pairs.check(hosts).unwrap_err().to_string();
        assert_eq!(message(Pairs::Uniform, 1), "hosts = 1: expected at least 2");
        let incast = |senders, receiver| Pairs::Incast { senders, receiver };
        assert_eq!(message(incast(4, None), 4), "senders = 4: expected at least 1 and fewer than the hosts");
        assert_eq!(message(incast(1, Some(4)), 4), "receiver = 4: expected a host that exists");
        let racks = |rack, inside| Pairs::RackSkewed { rack, inside };
        assert_eq!(message(racks(2, 1.5), 4), "inside = 1.5: expected a share from 0 to 1");
        assert!(message(racks(3, 0.5), 4).starts_with("rack = 3: expected"));
        let weighted = Pairs::weighted(10, &[(9, 8, 1)]).unwrap();
        assert_eq!(message(weighted, 9), "pairs = 98: expected weights that were made for this number of hosts");
        let file = |text: &str| Pairs::from_reader(text.as_bytes(), "p", 3).unwrap_err().to_string();
        assert_eq!(file(""), "p: empty: expected the header src,dst,weight");
        assert_eq!(file("a\n"), "p:1: \"a\": expected the header src,dst,weight");
        assert_eq!(file("src,dst,weight\n0,1\n"), "p:2: \"0,1\": expected two hosts and a weight, 0 or above");
        assert_eq!(file("src,dst,weight\n0,1,-1\n"), "p:2: \"0,1,-1\": expected two hosts and a weight, 0 or above");
        assert_eq!(file("src,dst,weight\n0,1,1e19\n"), "p: weights: expected a sum of 2^63 - 1 at most");
        assert_eq!(file("src,dst,weight\n0,3,1\n"), "p:2: 0 to 3: expected two different hosts below 3");
        assert_eq!(file("src,dst,weight\n0,1,1\n0,1,1\n"), "p:3: duplicate pair 0 to 1");
        assert_eq!(file("src,dst,weight\n0,1,0\n"), "p: weights = a sum of 0: expected at least one weight above 0");
        let same = Pairs::weighted(3, &[(1, 1, 1)]).unwrap_err().to_string();
        assert_eq!(same, "pairs = 1 to 1 of 3 hosts: expected two different hosts that exist");
    }
}

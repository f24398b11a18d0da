//! The flow lists of the reference simulator (the Netbench forks of SP-PIFO and AIFO), flow by flow.
//!
//! Arrivals are Poisson with gaps of whole nanoseconds (rounded down). The first flow starts at time 0; the list ends
//! when a start exceeds the end. Pairs are uniform over ordered pairs of different hosts, or follow racks with
//! Pareto-distributed shares. Three independent streams ensure that all schedulers with the same arrival rate get the
//! same flows. The AIFO fork draws and discards one gap before the first flow.
//!
//! Deviation: none known; all flows of the published runs are identical. The logarithm comes from `libm` and may differ
//! from the Java platform's in the last bit. After rounding down to nanoseconds, no flow of those runs differs.

use super::{Flow, FlowSizes};
use crate::{JavaRandom, ParameterError, Uniform};
use pifolab_units::Time;

/// The seed of the papers' runs.
pub const NETBENCH_SEED: i64 = 83_599;

/// The fork of the reference simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetbenchFork {
    /// SP-PIFO's fork.
    SpPifo,
    /// AIFO's fork: draws and discards one gap first.
    Aifo,
}

/// The pattern of senders and receivers in the reference simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetbenchPairs {
    /// All ordered pairs of different hosts with equal probability.
    #[default]
    Uniform,
    /// Each rack sends and receives a share drawn once from a Pareto distribution of shape 1; no flow stays in its
    /// rack. RIFO's public code uses this pattern in a network that numbers hosts after switches.
    ParetoSkewed {
        /// The number of hosts in a rack; their numbers are consecutive.
        hosts_per_rack: u32,
        /// The number of switches before the first host in the reference's numbering.
        switches: u32,
    },
}

/// The flow list of a run of the reference simulator.
///
/// ```
/// use pifolab_units::Time;
/// use pifolab_workload::flows::{FlowSizes, Interpolation, NETBENCH_SEED, NetbenchFlows, NetbenchFork};
/// let sizes = FlowSizes::web_search(Interpolation::StepLower);
/// let end = Time::from_ns(1_000_000_000);
/// let flows = NetbenchFlows::new(NetbenchFork::SpPifo, NETBENCH_SEED, 3600, 144, sizes, end)?;
/// assert_eq!(flows.count(), 3542);
/// # Ok::<(), pifolab_workload::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NetbenchFlows {
    seed: i64,
    gaps: JavaRandom,
    pairs: JavaRandom,
    size_draws: JavaRandom,
    sizes: FlowSizes,
    /// The running sums of the pairs' shares, in the order of the pairs.
    shares: Vec<f64>,
    /// The pairs in the order of their shares. Empty if the pairs follow the rows of the matrix of all pairs.
    skewed: Vec<(u32, u32)>,
    hosts: u32,
    flows_per_ns: f64,
    next_ns: u64,
    end: Time,
    id: u64,
}

impl NetbenchFlows {
    /// Creates the list with `flows_per_s` flow starts per second in the whole network of `hosts` hosts, until `end`
    /// (inclusive).
    ///
    /// # Errors
    /// If `flows_per_s` is 0, or `hosts` is not from 2 to 4096.
    pub fn new(
        fork: NetbenchFork,
        seed: i64,
        flows_per_s: u64,
        hosts: u32,
        sizes: FlowSizes,
        end: Time,
    ) -> Result<Self, ParameterError> {
        if flows_per_s == 0 {
            return Err(ParameterError::new("flows_per_s", flows_per_s, "at least 1"));
        }
        if !(2..=4096).contains(&hosts) {
            return Err(ParameterError::new("hosts", hosts, "2 to 4096 hosts"));
        }
        let pairs = u64::from(hosts) * u64::from(hosts - 1);
        let share = 1.0 / pairs as f64;
        // Summed one by one, as in the reference: the rounding errors of the sums decide draws at the borders.
        let shares = (0..pairs).scan(0.0, |sum, _| {
            *sum += share;
            Some(*sum)
        });
        let mut gaps = JavaRandom::netbench(seed, "poisson_inter_arrival");
        if fork == NetbenchFork::Aifo {
            gaps.uniform();
        }
        Ok(Self {
            seed,
            gaps,
            pairs: JavaRandom::netbench(seed, "pair_probabilities_draw"),
            size_draws: JavaRandom::netbench(seed, "flow_size"),
            sizes,
            shares: shares.collect(),
            skewed: Vec::new(),
            hosts,
            flows_per_ns: flows_per_s as f64 / 1e9,
            next_ns: 0,
            end,
            id: 0,
        })
    }

    /// Returns the same list with other pairs.
    ///
    /// # Errors
    /// If the hosts do not form two or more racks of equal size.
    pub fn with_pairs(mut self, pairs: NetbenchPairs) -> Result<Self, ParameterError> {
        if let NetbenchPairs::ParetoSkewed { hosts_per_rack, switches } = pairs {
            if hosts_per_rack == 0 || !self.hosts.is_multiple_of(hosts_per_rack) || self.hosts == hosts_per_rack {
                let expected = "a number of hosts that makes two racks or more of all hosts";
                return Err(ParameterError::new("hosts_per_rack", hosts_per_rack, expected));
            }
            (self.shares, self.skewed) = skewed_pairs(self.seed, self.hosts, hosts_per_rack, switches);
        }
        Ok(self)
    }
}

/// The running sums of the shares of all pairs of hosts in different racks, and the pairs, in the reference's order.
fn skewed_pairs(seed: i64, hosts: u32, hosts_per_rack: u32, switches: u32) -> (Vec<f64>, Vec<(u32, u32)>) {
    let mut random = JavaRandom::netbench(seed, "skew_pareto_distribution");
    let mut racks: Vec<u32> = (0..hosts / hosts_per_rack).collect();
    for place in (1..racks.len()).rev() {
        racks.swap(place, random.next_int(place as i32 + 1) as usize);
    }
    let mut shares: Vec<f64> = racks.iter().map(|_| 10.0 / random.uniform()).collect();
    let sum: f64 = shares.iter().fold(0.0, |sum, share| sum + share);
    shares.iter_mut().for_each(|share| *share /= sum);
    shares.sort_by(f64::total_cmp);
    // The share that pairs within one rack would have.
    let lost: f64 = shares.iter().fold(0.0, |lost, share| lost + share * share);
    // Java's hash table orders a rack's hosts by the lowest bits of their numbers.
    let buckets = (hosts_per_rack as usize * 4 / 3 + 1).next_power_of_two().max(16) as u32;
    let members = |rack: u32| {
        let mut members: Vec<u32> = (rack * hosts_per_rack..(rack + 1) * hosts_per_rack).collect();
        members.sort_by_key(|host| (host + switches) % buckets);
        members
    };
    let members: Vec<Vec<u32>> = racks.into_iter().map(members).collect();
    let (mut sums, mut pairs, mut total) = (Vec::new(), Vec::new(), 0.0);
    for (from, sources) in shares.iter().zip(&members) {
        for (to, sinks) in shares.iter().zip(&members) {
            if sources == sinks {
                continue;
            }
            let share = from * to / (1.0 - lost) / f64::from(hosts_per_rack * hosts_per_rack);
            for src in sources {
                for dst in sinks {
                    total += share;
                    sums.push(total);
                    pairs.push((*src, *dst));
                }
            }
        }
    }
    (sums, pairs)
}

impl Iterator for NetbenchFlows {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.next_ns > self.end.as_ns() {
            return None;
        }
        let last = self.shares.len() - 1;
        let drawn = self.pairs.uniform() * if self.skewed.is_empty() { self.shares[last] } else { 1.0 };
        let pair = self.shares.partition_point(|&sum| sum < drawn).min(last);
        let (src, dst) = self.skewed.get(pair).copied().unwrap_or_else(|| {
            // By rows through the matrix of ordered pairs, without its diagonal.
            let (src, column) = (pair as u32 / (self.hosts - 1), pair as u32 % (self.hosts - 1));
            (src, column + u32::from(column >= src))
        });
        let bytes = self.sizes.draw_as_netbench(&mut self.size_draws);
        let flow = Flow { id: self.id, src, dst, bytes, start: Time::from_ns(self.next_ns) };
        let gap = -libm::log(self.gaps.uniform()) / self.flows_per_ns;
        self.next_ns = self.next_ns.saturating_add(gap as u64);
        self.id += 1;
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Interpolation;

    fn flows(fork: NetbenchFork, per_s: u64, end_ms: u64) -> Vec<Flow> {
        let sizes = FlowSizes::web_search(Interpolation::StepLower);
        let end = Time::from_ns(end_ms * 1_000_000);
        NetbenchFlows::new(fork, NETBENCH_SEED, per_s, 144, sizes, end).unwrap().collect()
    }

    /// FNV-1a over source, destination, size and start in nanoseconds of every flow.
    fn fingerprint(flows: &[Flow]) -> u64 {
        let numbers = flows.iter().flat_map(|f| [u64::from(f.src), u64::from(f.dst), f.bytes, f.start.as_ns()]);
        numbers
            .flat_map(u64::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    #[test]
    fn every_flow_of_the_published_runs_comes_out() {
        // Counts and fingerprints of the flow lists that the two forks print with these settings.
        use NetbenchFork::{Aifo, SpPifo};
        for (fork, per_s, end_ms, count, expected) in [
            (SpPifo, 3_600, 1_000, 3_542, 13_928_667_494_985_633_489),
            (SpPifo, 14_150, 1_000, 14_162, 1_016_865_818_689_135_546),
            (Aifo, 36_000, 200, 7_223, 16_327_498_151_740_913_821),
            (Aifo, 3_600, 1_000, 3_542, 9_773_803_971_004_955_332),
        ] {
            let flows = flows(fork, per_s, end_ms);
            assert_eq!((flows.len(), fingerprint(&flows)), (count, expected), "{fork:?} at {per_s}/s");
        }
    }

    #[test]
    fn the_first_flows_are_those_of_the_reference() {
        let first = |fork, per_s| {
            flows(fork, per_s, 1).iter().map(|f| (f.src, f.dst, f.bytes, f.start.as_ns())).take(3).collect::<Vec<_>>()
        };
        assert_eq!(
            first(NetbenchFork::SpPifo, 3_600),
            [(35, 131, 200_000, 0), (62, 89, 2_000_000, 166_074), (119, 141, 1_000_000, 520_216)]
        );
        assert_eq!(
            first(NetbenchFork::Aifo, 36_000),
            [(35, 131, 200_000, 0), (62, 89, 2_000_000, 35_414), (119, 141, 1_000_000, 37_166)]
        );
    }

    /// The numbers of flows below 100 kB and of at least 1 MB agree with the means that RIFO's authors published.
    #[test]
    fn pareto_sizes_are_those_of_the_reference() {
        let sizes = FlowSizes::pareto(1.05, 100_000.0, 1 << 30).unwrap();
        let end = Time::from_ns(1_000_000_000);
        let flows: Vec<_> =
            NetbenchFlows::new(NetbenchFork::Aifo, NETBENCH_SEED, 36_000, 720, sizes, end).unwrap().collect();
        let counted = |which: fn(u64) -> bool| flows.iter().filter(|flow| which(flow.bytes)).count();
        assert_eq!((counted(|bytes| bytes < 100_000), counted(|bytes| bytes >= 1_000_000)), (34_302, 125));
    }

    #[test]
    fn skewed_pairs_leave_their_racks_and_have_the_shares_of_racks() {
        let (sums, pairs) = skewed_pairs(NETBENCH_SEED, 720, 5, 157);
        assert_eq!((sums.len(), pairs.len()), (144 * 143 * 25, 144 * 143 * 25));
        assert!((sums[sums.len() - 1] - 1.0).abs() < 1e-9);
        assert!(pairs.iter().all(|(src, dst)| src / 5 != dst / 5));
        // Hosts 157 to 161 of the reference leave a hash table of 16 in the order 160, 161, 157, 158, 159.
        let first = pairs.iter().position(|(src, _)| *src < 5).unwrap();
        let order: Vec<u32> = pairs[first..].iter().step_by(5).take(5).map(|(src, _)| *src).collect();
        assert_eq!(order, [3, 4, 0, 1, 2]);
        let sizes = FlowSizes::fixed(1).unwrap();
        let new = |hosts_per_rack| {
            let flows = NetbenchFlows::new(NetbenchFork::Aifo, 1, 1, 720, sizes.clone(), Time::ZERO).unwrap();
            flows.with_pairs(NetbenchPairs::ParetoSkewed { hosts_per_rack, switches: 157 }).map(Iterator::count)
        };
        assert_eq!(new(5).unwrap(), 1);
        for racks in [0, 7, 720] {
            let error = new(racks).unwrap_err().to_string();
            assert!(error.starts_with(&format!("hosts_per_rack = {racks}: expected a number of hosts")), "{error}");
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        let new = |per_s, hosts| {
            let sizes = FlowSizes::fixed(1).unwrap();
            NetbenchFlows::new(NetbenchFork::Aifo, 1, per_s, hosts, sizes, Time::ZERO).unwrap_err().to_string()
        };
        assert_eq!(new(0, 2), "flows_per_s = 0: expected at least 1");
        assert_eq!(new(1, 1), "hosts = 1: expected 2 to 4096 hosts");
    }
}

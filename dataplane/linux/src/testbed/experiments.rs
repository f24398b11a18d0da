//! The papers' testbed experiments, scaled to what software can carry: who sends what, when, with which rank.
//!
//! Carried ranks are powers of two, since Exp-PIFO sorts ranks into powers of two, and each flow's is half of the one
//! before. Only the second's is a quarter of the first's: Exp-PIFO's queue of x of the exponents 0 to beta, of M queues, is
//! ((x+1)(M-1)) div beta + 1 cut to M, which for beta and beta - 1 is the last queue; the two largest exponents in use
//! always share it.

use super::traffic::Flow;
use super::udp::RANK_PLACE;
use crate::{Error, Result};
use clap::ValueEnum;

/// The name of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Four UDP flows at line rate, started one by one with falling ranks (AIFO Fig. 15, RIFO Fig. 5, Exp-PIFO Fig. 18, PACKS Fig. 14)
    UdpFourFlows,
    /// Eight UDP flows at twice the line rate on four queues (SP-PIFO Fig. 11)
    UdpEightFlows,
    /// Four TCP (CUBIC) flows, started one by one with falling ranks (AIFO Fig. 16)
    TcpFourFlows,
    /// TCP flows of many sizes at once, rank = size (SP-PIFO Fig. 12, scaled down)
    Fct,
    /// Four UDP flows of unequal rates under start-time fair queueing: max-min fair shares
    FairShares,
    /// What the data plane can carry: four UDP flows that together offer 110 % of the rate
    Throughput,
}

/// What a user may change about an experiment.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Changes {
    /// Rate of the bottleneck [default: 100; udp-eight-flows 20, throughput 500]
    #[arg(long)]
    pub rate_mbps: Option<f64>,
    /// Seconds from one flow's start to the next; the whole length for fair-shares and throughput; the
    /// limit for fct [default: 2; fair-shares and throughput 4; fct 30]
    #[arg(long)]
    pub phase_s: Option<f64>,
    /// Ranks of the flows, first to start first, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub flow_ranks: Option<Vec<u32>>,
    /// fct: number of flows; their sizes are 1, 2, ... steps (at most 63: the DSCP must tell them apart) [default: 50]
    #[arg(long)]
    pub flows: Option<u32>,
    /// fct: size of the largest flow [default: 1000]
    #[arg(long)]
    pub largest_kb: Option<u32>,
}

/// An experiment with all numbers settled.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: Name,
    /// Rate of the bottleneck, in Mb/s.
    pub rate_mbps: f64,
    /// Who sends.
    pub flows: Vec<Flow>,
    /// When it ends.
    pub length_s: f64,
    /// How ranks travel: the `--rank` of both data planes.
    pub rank: &'static str,
    /// Scheduler parameters that differ from the library's defaults.
    pub parameters: Vec<(&'static str, String)>,
}

impl Name {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UdpFourFlows => "udp-four-flows",
            Self::UdpEightFlows => "udp-eight-flows",
            Self::TcpFourFlows => "tcp-four-flows",
            Self::Fct => "fct",
            Self::FairShares => "fair-shares",
            Self::Throughput => "throughput",
        }
    }

    /// Whether its flows are TCP.
    pub const fn is_tcp(self) -> bool {
        matches!(self, Self::TcpFourFlows | Self::Fct)
    }
}

fn wrong(key: &str, value: impl std::fmt::Display, expected: &str) -> Error {
    Error::Usage(format!("--{key} {value}: expected {expected}"))
}

impl Experiment {
    /// Settles the numbers of experiment `name`.
    ///
    /// # Errors
    /// A change that is out of range, or has no effect on this experiment.
    pub fn new(name: Name, changes: &Changes) -> Result<Self> {
        let rate_mbps = changes.rate_mbps.unwrap_or(match name {
            Name::UdpEightFlows => 20.0,
            Name::Throughput => 500.0,
            _ => 100.0,
        });
        if !(1.0..=10_000.0).contains(&rate_mbps) {
            return Err(wrong("rate-mbps", rate_mbps, "from 1 to 10000 Mb/s"));
        }
        let phase_s = changes.phase_s.unwrap_or(match name {
            Name::FairShares | Name::Throughput => 4.0,
            Name::Fct => 30.0,
            _ => 2.0,
        });
        if !(0.2..=600.0).contains(&phase_s) {
            return Err(wrong("phase-s", phase_s, "from 0.2 to 600 seconds"));
        }
        if name != Name::Fct && (changes.flows.is_some() || changes.largest_kb.is_some()) {
            return Err(Error::Usage(format!("--flows and --largest-kb have no effect on {}", name.as_str())));
        }
        if changes.flow_ranks.is_some() && matches!(name, Name::Fct | Name::FairShares) {
            return Err(Error::Usage(format!(
                "--flow-ranks has no effect on {}: its ranks are computed",
                name.as_str()
            )));
        }
        let line = rate_mbps * 1e6;
        let experiment = |flows, length_s, rank| Self { name, rate_mbps, flows, length_s, rank, parameters: vec![] };
        let mut settled = match name {
            Name::UdpFourFlows => {
                let ranks = ranks(changes, 4, u32::MAX)?;
                experiment(staggered(&ranks, phase_s, Some(line)), 4.0 * phase_s, RANK_PLACE)
            }
            Name::UdpEightFlows => {
                let ranks = ranks(changes, 8, u32::MAX)?;
                experiment(staggered(&ranks, phase_s, Some(2.0 * line)), 8.0 * phase_s, RANK_PLACE)
            }
            Name::TcpFourFlows => experiment(staggered(&ranks(changes, 4, 63)?, phase_s, None), 4.0 * phase_s, "dscp"),
            Name::Fct => experiment(sizes(changes)?, phase_s, "dscp"),
            Name::FairShares => {
                // Max-min fair shares of 100 among 80, 40, 20, 10: 35, 35, 20, 10.
                let flow = |share: f64| Flow {
                    rank: 0,
                    start_s: 0.0,
                    offered_bps: Some((line * share) as u64),
                    size_bytes: None,
                };
                experiment([0.8, 0.4, 0.2, 0.1].map(flow).to_vec(), phase_s, "stfq")
            }
            Name::Throughput => {
                let flows = staggered(&ranks(changes, 4, u32::MAX)?, 0.0, Some(0.275 * line));
                experiment(flows, phase_s, RANK_PLACE)
            }
        };
        if name == Name::UdpEightFlows {
            // Four queues of ten; a single buffer gets the same room.
            settled.parameters.extend([("queues", "4".to_owned()), ("capacity_packets", "40".to_owned())]);
            // Algorithm 1 as printed, and what the paper's switch must do: it moves the bounds at ingress, where it cannot
            // know that the queue is full. Bounds that stay give the newest flow everything, whatever the number of flows.
            settled.parameters.push(("on_full", "update".to_owned()));
        }
        // Windows that the papers' switches have; over four flows more would say nothing more.
        settled.parameters.extend([("window", "20".to_owned()), ("k", "0.1".to_owned())]);
        Ok(settled)
    }

    /// The times between which the set of senders does not change, without the first quarter (at most 0.5 s) of each, in
    /// which queues still hold what came before.
    pub fn phases(&self) -> Vec<(f64, f64)> {
        let mut starts: Vec<f64> = self.flows.iter().map(|flow| flow.start_s).collect();
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([self.length_s]);
        starts.iter().zip(ends).map(|(start, end)| (start + ((end - start) / 4.0).min(0.5), end)).collect()
    }
}

/// The ranks given, or powers of two that end at 2, with a gap after the first.
fn ranks(changes: &Changes, count: usize, largest: u32) -> Result<Vec<u32>> {
    let Some(ranks) = &changes.flow_ranks else {
        let falling = (0..count - 1).rev().map(|power| 2 << power);
        return Ok(std::iter::once(2 << count).chain(falling).collect());
    };
    if ranks.len() != count || ranks.iter().any(|rank| *rank > largest) {
        let shown: Vec<_> = ranks.iter().map(ToString::to_string).collect();
        return Err(wrong("flow-ranks", shown.join(","), &format!("{count} ranks from 0 to {largest}")));
    }
    Ok(ranks.clone())
}

fn staggered(ranks: &[u32], phase_s: f64, offered: Option<f64>) -> Vec<Flow> {
    let flow = |(number, rank): (usize, &u32)| Flow {
        rank: *rank,
        start_s: number as f64 * phase_s,
        offered_bps: offered.map(|bps| bps as u64),
        size_bytes: None,
    };
    ranks.iter().enumerate().map(flow).collect()
}

fn sizes(changes: &Changes) -> Result<Vec<Flow>> {
    let count = changes.flows.unwrap_or(50);
    if !(2..=63).contains(&count) {
        return Err(wrong("flows", count, "from 2 to 63, since six bits of DSCP carry the rank"));
    }
    let largest = changes.largest_kb.unwrap_or(1000);
    if !(count..=1_000_000).contains(&largest) {
        return Err(wrong("largest-kb", largest, "from the number of flows to 1000000"));
    }
    let step = u64::from(largest) * 1000 / u64::from(count);
    let flow = |steps| Flow { rank: steps, start_s: 0.0, offered_bps: None, size_bytes: Some(step * u64::from(steps)) };
    Ok((1..=count).map(flow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_falling_powers_of_two() {
        let four = Experiment::new(Name::UdpFourFlows, &Changes::default()).expect("the defaults are valid");
        let ranks: Vec<_> = four.flows.iter().map(|flow| flow.rank).collect();
        assert_eq!(ranks, [32, 8, 4, 2]);
        assert_eq!(four.phases(), [(0.5, 2.0), (2.5, 4.0), (4.5, 6.0), (6.5, 8.0)]);
        let eight = Experiment::new(Name::UdpEightFlows, &Changes::default()).expect("the defaults are valid");
        assert_eq!(eight.flows[0].rank, 512);
        assert_eq!(eight.flows[7].offered_bps, Some(40_000_000));
    }

    #[test]
    fn flow_sizes_are_proportional_to_ranks() {
        let fct = Experiment::new(Name::Fct, &Changes::default()).expect("the defaults are valid");
        assert!(fct.flows.iter().all(|flow| flow.size_bytes == Some(20_000 * u64::from(flow.rank))));
        assert_eq!(fct.phases(), [(0.5, 30.0)]);
    }

    #[test]
    fn changes_out_of_range_or_without_effect_are_refused() {
        let refused = |name, changes: Changes| Experiment::new(name, &changes).expect_err("wrong").to_string();
        let four = Name::UdpFourFlows;
        assert!(refused(four, Changes { rate_mbps: Some(0.0), ..Changes::default() }).contains("--rate-mbps 0"));
        assert!(refused(four, Changes { phase_s: Some(0.1), ..Changes::default() }).contains("--phase-s 0.1"));
        assert!(
            refused(four, Changes { flow_ranks: Some(vec![1, 2]), ..Changes::default() }).contains("--flow-ranks 1,2")
        );
        assert!(refused(four, Changes { flows: Some(3), ..Changes::default() }).contains("no effect"));
        assert!(refused(Name::Fct, Changes { flow_ranks: Some(vec![1]), ..Changes::default() }).contains("no effect"));
        assert!(refused(Name::Fct, Changes { flows: Some(64), ..Changes::default() }).contains("--flows 64"));
        let tcp = Changes { flow_ranks: Some(vec![64, 8, 4, 2]), ..Changes::default() };
        assert!(refused(Name::TcpFourFlows, tcp).contains("0 to 63"));
    }
}

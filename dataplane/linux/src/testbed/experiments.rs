//! The papers' testbed experiments, scaled to the capacity of software: the flows, their times and their ranks.
//!
//! Carried ranks are powers of two, because Exp-PIFO sorts ranks into powers of two. Each flow's rank is half of the
//! previous one, except that the second's is a quarter of the first's. With M queues, Exp-PIFO's queue for x of the
//! exponents 0 to beta is ((x+1)(M-1)) div beta + 1, at most M. This is the last queue for both beta and beta - 1, so
//! the two largest exponents in use always share it.

use super::traffic::{Flow, PacketMix};
use super::udp::RANK_PLACE;
use crate::{Error, Result};
use clap::ValueEnum;

/// The length of the Ethernet header before an IP packet.
pub const ETHERNET_HEADER: u32 = 14;
/// The largest number of flows, which limits ports, sockets and time series.
const MOST_FLOWS: usize = 10_000;

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
    /// Flows of your own (--flow), perhaps from a sender of your own (--sender)
    Custom,
}

/// The transport protocol of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// Paced datagrams
    Udp,
    /// CUBIC
    Tcp,
}

/// What a user may change about an experiment.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Changes {
    /// Rate of the bottleneck [default: 100; udp-eight-flows 20, throughput 500]
    #[arg(long)]
    pub rate_mbps: Option<f64>,
    /// Seconds from one flow's start to the next; the whole length for fair-shares and throughput; the
    /// limit for fct; from the last flow's start or stop to the end for custom [default: 2; fair-shares, throughput and custom 4; fct 30]
    #[arg(long)]
    pub phase_s: Option<f64>,
    /// Ranks of the flows, first to start first, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub flow_ranks: Option<Vec<u32>>,
    /// UDP: what the flows offer, in the order of their starts, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "MBPS")]
    pub offered_mbps: Option<Vec<f64>>,
    /// UDP: sizes of the IP packets, with weights if there are several, as in 64:7/576:4/1500:1 [default: the MTU]
    #[arg(long, value_name = "SIZES")]
    pub packet_bytes: Option<String>,
    /// The longest IP packet
    #[arg(long, default_value_t = 1500)]
    pub mtu: u32,
    /// custom: a flow, of rank=N,rate-mbps=R,start-s=S,stop-s=S,packet-bytes=SIZES (or size-kb=N for TCP),count=N; may
    /// be repeated
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub flow: Vec<String>,
    /// custom: how its flows travel [default: udp]
    #[arg(long, value_enum)]
    pub protocol: Option<Protocol>,
    /// custom: where ranks come from, as for the data planes [default: payload:4:4, where the sender writes them; dscp for TCP]
    #[arg(long, value_name = "RANK")]
    pub rank: Option<String>,
    /// custom: a shell command that sends the flows, to UDP ports $PIFOLAB_FIRST_PORT and following of $PIFOLAB_RECEIVER; it is
    /// ended after the experiment
    #[arg(long, value_name = "COMMAND")]
    pub sender: Option<String>,
    /// fct: number of flows; their sizes are 1, 2, ... steps; beyond 63 of them several share a rank [default: 50]
    #[arg(long)]
    pub flows: Option<u32>,
    /// fct: size of the largest flow [default: 1000]
    #[arg(long)]
    pub largest_kb: Option<u32>,
}

/// An experiment with all numbers determined.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: Name,
    /// Rate of the bottleneck, in Mb/s.
    pub rate_mbps: f64,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The length in seconds.
    pub length_s: f64,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The user's command that sends the flows.
    pub sender: Option<String>,
    /// The length of the longest IP packet.
    pub mtu: u32,
    /// The place of ranks in packets: the `--rank` of both data planes.
    pub rank: String,
    /// Scheduler parameters that differ from the library's defaults.
    pub parameters: Vec<(&'static str, String)>,
}

impl Name {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UdpFourFlows => "udp-four-flows",
            Self::UdpEightFlows => "udp-eight-flows",
            Self::TcpFourFlows => "tcp-four-flows",
            Self::Fct => "fct",
            Self::FairShares => "fair-shares",
            Self::Throughput => "throughput",
            Self::Custom => "custom",
        }
    }

    const fn protocol(self) -> Protocol {
        match self {
            Self::TcpFourFlows | Self::Fct => Protocol::Tcp,
            _ => Protocol::Udp,
        }
    }
}

fn wrong(key: &str, value: impl std::fmt::Display, expected: &str) -> Error {
    Error::Usage(format!("--{key} {value}: expected {expected}"))
}

impl Experiment {
    /// Determines the numbers of experiment `name`.
    pub fn new(name: Name, changes: &Changes) -> Result<Self> {
        let rate_mbps = changes.rate_mbps.unwrap_or(match name {
            Name::UdpEightFlows => 20.0,
            Name::Throughput => 500.0,
            _ => 100.0,
        });
        if !(0.1..=10_000.0).contains(&rate_mbps) {
            return Err(wrong("rate-mbps", rate_mbps, "from 0.1 to 10000 Mb/s"));
        }
        let phase_s = changes.phase_s.unwrap_or(match name {
            Name::FairShares | Name::Throughput | Name::Custom => 4.0,
            Name::Fct => 30.0,
            _ => 2.0,
        });
        if !(0.2..=600.0).contains(&phase_s) {
            return Err(wrong("phase-s", phase_s, "from 0.2 to 600 seconds"));
        }
        if name != Name::Fct && (changes.flows.is_some() || changes.largest_kb.is_some()) {
            return Err(Error::Usage(format!("--flows and --largest-kb have no effect on {}", name.as_str())));
        }
        if changes.flow_ranks.is_some() && matches!(name, Name::Fct | Name::FairShares | Name::Custom) {
            return Err(Error::Usage(format!(
                "--flow-ranks has no effect on {}: its ranks are computed, or part of --flow",
                name.as_str()
            )));
        }
        if !(576..=9000).contains(&changes.mtu) {
            return Err(wrong("mtu", changes.mtu, "from 576 to 9000 bytes"));
        }
        let given = [
            ("flow", !changes.flow.is_empty()),
            ("protocol", changes.protocol.is_some()),
            ("rank", changes.rank.is_some()),
            ("sender", changes.sender.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, given)| *given).filter(|_| name != Name::Custom) {
            return Err(Error::Usage(format!("--{key} has no effect on {}, only on custom", name.as_str())));
        }
        let protocol = changes.protocol.unwrap_or_else(|| name.protocol());
        let sizes = changes.packet_bytes.as_deref().map(str::parse::<PacketMix>).transpose()?;
        if protocol == Protocol::Tcp && (sizes.is_some() || changes.offered_mbps.is_some()) {
            let message = "--packet-bytes and --offered-mbps have no effect on TCP flows";
            return Err(Error::Usage(message.to_owned()));
        }
        let mtu = changes.mtu;
        let line = rate_mbps * 1e6;
        let sender = changes.sender.clone();
        let experiment = |flows, length_s, rank: &str| Self {
            name,
            rate_mbps,
            flows,
            length_s,
            protocol,
            sender: sender.clone(),
            mtu,
            rank: rank.to_owned(),
            parameters: vec![],
        };
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
            Name::Fct => experiment(flows_of_all_sizes(changes)?, phase_s, "dscp"),
            Name::FairShares => {
                // Max-min fair shares of 100 among 80, 40, 20, 10: 35, 35, 20, 10.
                let flow = |share: f64| Flow {
                    rank: 0,
                    start_s: 0.0,
                    stop_s: None,
                    offered_bps: Some((line * share) as u64),
                    size_bytes: None,
                    packets: PacketMix::of(mtu),
                };
                experiment([0.8, 0.4, 0.2, 0.1].map(flow).to_vec(), phase_s, "stfq")
            }
            Name::Throughput => {
                let flows = staggered(&ranks(changes, 4, u32::MAX)?, 0.0, Some(0.275 * line));
                experiment(flows, phase_s, RANK_PLACE)
            }
            Name::Custom => {
                let flows = own_flows(changes, protocol, sizes.as_ref())?;
                let last = flows.iter().map(|flow| flow.stop_s.unwrap_or(flow.start_s)).fold(0.0, f64::max);
                let default = if protocol == Protocol::Tcp { "dscp" } else { RANK_PLACE };
                experiment(flows, last + phase_s, changes.rank.as_deref().unwrap_or(default))
            }
        };
        settled.apply(changes, sizes)?;
        if name == Name::UdpEightFlows {
            // Four queues of ten packets. A single buffer has the same total.
            settled.parameters.extend([("queues", "4".to_owned()), ("capacity_packets", "40".to_owned())]);
            // Algorithm 1 as printed, and the only option of the paper's switch: it moves the bounds at ingress, where
            // it cannot know whether the queue is full. Bounds that do not move would give the newest flow everything,
            // for any number of flows.
            settled.parameters.push(("on_full", "update".to_owned()));
        }
        if matches!(name, Name::FairShares | Name::UdpFourFlows) {
            // A quarter of the buffer for each flow, if a scheduler has such a limit.
            settled.parameters.push(("flow_packets", "20".to_owned()));
        }
        // The windows of the papers' switches. Larger windows give no more information about four flows.
        settled.parameters.extend([("window", "20".to_owned()), ("k", "0.1".to_owned())]);
        Ok(settled)
    }

    /// Sets the flows' rates and packet sizes to the user's values.
    fn apply(&mut self, changes: &Changes, sizes: Option<PacketMix>) -> Result<()> {
        if let Some(rates) = &changes.offered_mbps {
            let shown = || rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            if rates.len() != self.flows.len() || self.name == Name::Custom {
                let expected = match self.name {
                    Name::Custom => "rate-mbps in each --flow".to_owned(),
                    _ => format!("{} rates", self.flows.len()),
                };
                return Err(wrong("offered-mbps", shown(), &expected));
            }
            for (flow, mbps) in self.flows.iter_mut().zip(rates) {
                flow.offered_bps = Some(bps("offered-mbps", &mbps.to_string())?);
            }
        }
        // Packets as long as the path allows. The user's own flows already have sizes.
        let sizes = sizes.unwrap_or_else(|| PacketMix::of(changes.mtu));
        for flow in &mut self.flows {
            if self.name != Name::Custom {
                flow.packets = sizes.clone();
            }
            if self.protocol == Protocol::Udp && flow.packets.largest() > self.mtu {
                let most = format!("at most the MTU of {} bytes (--mtu)", self.mtu);
                return Err(wrong("packet-bytes", flow.packets.largest(), &most));
            }
        }
        Ok(())
    }

    /// Whether the flows are TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == Protocol::Tcp
    }

    /// The width of the bins of the time series: 50 ms, or a quarter of the shortest judged interval if that is less.
    pub fn bin_ns(&self) -> u64 {
        let shortest = self.phases().iter().map(|(from, until)| until - from).fold(f64::INFINITY, f64::min);
        ((shortest * 1000.0 / 4.0).floor().clamp(1.0, 50.0) as u64) * 1_000_000
    }

    /// The intervals with a constant set of senders, without the first quarter (at most 0.5 s) of each, in which queues
    /// still hold earlier packets.
    pub fn phases(&self) -> Vec<(f64, f64)> {
        let stops = self.flows.iter().filter_map(|flow| flow.stop_s);
        let mut starts: Vec<f64> = self.flows.iter().map(|flow| flow.start_s).chain(stops).collect();
        starts.sort_by(f64::total_cmp);
        starts.dedup();
        starts.retain(|start| *start < self.length_s);
        let ends = starts.iter().skip(1).copied().chain([self.length_s]);
        starts.iter().zip(ends).map(|(start, end)| (start + ((end - start) / 4.0).min(0.5), end)).collect()
    }
}

/// The given ranks, or powers of two down to 2, with a gap after the first.
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
        stop_s: None,
        offered_bps: offered.map(|bps| bps as u64),
        size_bytes: None,
        packets: PacketMix::of(1500),
    };
    ranks.iter().enumerate().map(flow).collect()
}

fn flows_of_all_sizes(changes: &Changes) -> Result<Vec<Flow>> {
    let count = changes.flows.unwrap_or(50);
    if !(2..=1000).contains(&count) {
        return Err(wrong("flows", count, "from 2 to 1000"));
    }
    let largest = changes.largest_kb.unwrap_or(1000);
    if !(count..=1_000_000).contains(&largest) {
        return Err(wrong("largest-kb", largest, "from the number of flows to 1000000"));
    }
    let step = u64::from(largest) * 1000 / u64::from(count);
    let flow = |steps: u32| Flow {
        // The rank is in the six bits of the DSCP.
        rank: if count <= 63 { steps } else { (steps * 63).div_ceil(count) },
        start_s: 0.0,
        stop_s: None,
        offered_bps: None,
        size_bytes: Some(step * u64::from(steps)),
        packets: PacketMix::of(1500),
    };
    Ok((1..=count).map(flow).collect())
}

fn bps(key: &str, text: &str) -> Result<u64> {
    let mbps = text.parse().ok().filter(|mbps| (0.001..=100_000.0).contains(mbps));
    mbps.map(|mbps: f64| (mbps * 1e6) as u64).ok_or_else(|| wrong(key, text, "from 0.001 to 100000 Mb/s"))
}

/// The flows of `custom`.
fn own_flows(changes: &Changes, protocol: Protocol, sizes: Option<&PacketMix>) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    let sizes = sizes.cloned().unwrap_or_else(|| PacketMix::of(changes.mtu));
    for text in &changes.flow {
        let in_flow = |message: String| Error::Usage(format!("--flow {text}: {message}"));
        let mut flow =
            Flow { rank: 0, start_s: 0.0, stop_s: None, offered_bps: None, size_bytes: None, packets: sizes.clone() };
        let mut count = 1_usize;
        let mut seen = Vec::new();
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(|| in_flow(format!("{pair:?}: expected key=value")))?;
            if seen.contains(&key) {
                return Err(in_flow(format!("duplicate {key}")));
            }
            seen.push(key);
            let expected = |range: &str| in_flow(format!("{key}={value}: expected {range}"));
            match (key, protocol) {
                ("rank", Protocol::Udp) => {
                    flow.rank = value.parse().map_err(|_| expected("from 0 to 4294967295"))?;
                }
                ("rank", Protocol::Tcp) => {
                    let rank = value.parse().ok().filter(|rank| *rank < 64);
                    flow.rank = rank.ok_or_else(|| expected("from 0 to 63, which the DSCP holds"))?;
                }
                ("start-s", _) => {
                    let start = value.parse().ok().filter(|start| (0.0..=3600.0).contains(start));
                    flow.start_s = start.ok_or_else(|| expected("from 0 to 3600 seconds"))?;
                }
                ("stop-s", Protocol::Udp) => {
                    let stop = value.parse().ok().filter(|stop| (0.0..=3600.0).contains(stop));
                    flow.stop_s = Some(stop.ok_or_else(|| expected("from 0 to 3600 seconds"))?);
                }
                ("count", _) => {
                    let number = value.parse().ok().filter(|number| (1..=MOST_FLOWS).contains(number));
                    count = number.ok_or_else(|| expected("from 1 to 10000 flows"))?;
                }
                ("rate-mbps", Protocol::Udp) => {
                    flow.offered_bps = Some(bps("rate-mbps", value).map_err(|error| in_flow(error.to_string()))?);
                }
                ("packet-bytes", Protocol::Udp) => {
                    flow.packets = value.parse().map_err(|error: Error| in_flow(error.to_string()))?;
                }
                ("size-kb", Protocol::Tcp) => {
                    let size = value.parse().ok().filter(|kb: &u64| (1..=1_000_000_000).contains(kb));
                    flow.size_bytes = Some(size.ok_or_else(|| expected("from 1 to 1000000000 kB"))? * 1000);
                }
                _ => {
                    let keys = match protocol {
                        Protocol::Udp => "rank, rate-mbps, start-s, stop-s, packet-bytes and count",
                        Protocol::Tcp => "rank, start-s, size-kb and count",
                    };
                    return Err(in_flow(format!("unknown key {key:?}; the keys of this protocol are {keys}")));
                }
            }
        }
        if let Some(stop_s) = flow.stop_s.filter(|stop_s| *stop_s <= flow.start_s) {
            return Err(in_flow(format!("stop-s={stop_s}: expected more than start-s={}", flow.start_s)));
        }
        match (protocol, flow.offered_bps.is_some(), changes.sender.is_some()) {
            (Protocol::Udp, false, false) => return Err(in_flow("rate-mbps is missing".to_owned())),
            (Protocol::Udp, true, true) => {
                return Err(in_flow("rate-mbps has no effect: --sender decides what is sent".to_owned()));
            }
            (Protocol::Udp, false, true) if flow.stop_s.is_some() => {
                return Err(in_flow("stop-s has no effect: --sender decides what is sent".to_owned()));
            }
            _ => {}
        }
        flows.extend(std::iter::repeat_n(flow, count));
        if flows.len() > MOST_FLOWS {
            return Err(Error::Usage(format!("--flow: more than {MOST_FLOWS} flows")));
        }
    }
    if flows.is_empty() {
        return Err(Error::Usage("custom: expected at least one --flow, as in --flow rank=2,rate-mbps=50".to_owned()));
    }
    if changes.sender.is_some() && protocol == Protocol::Tcp {
        return Err(Error::Usage("--sender: expected UDP flows; TCP flows are not counted".to_owned()));
    }
    // Sorted by start, as in the other experiments.
    flows.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Changes {
        Changes { mtu: 1500, ..Changes::default() }
    }

    #[test]
    fn ranks_are_falling_powers_of_two() {
        let four = Experiment::new(Name::UdpFourFlows, &defaults()).expect("the defaults are valid");
        let ranks: Vec<_> = four.flows.iter().map(|flow| flow.rank).collect();
        assert_eq!(ranks, [32, 8, 4, 2]);
        assert_eq!(four.phases(), [(0.5, 2.0), (2.5, 4.0), (4.5, 6.0), (6.5, 8.0)]);
        let eight = Experiment::new(Name::UdpEightFlows, &defaults()).expect("the defaults are valid");
        assert_eq!(eight.flows[0].rank, 512);
        assert_eq!(eight.flows[7].offered_bps, Some(40_000_000));
    }

    #[test]
    fn flow_sizes_are_proportional_to_ranks() {
        let fct = Experiment::new(Name::Fct, &defaults()).expect("the defaults are valid");
        assert!(fct.flows.iter().all(|flow| flow.size_bytes == Some(20_000 * u64::from(flow.rank))));
        assert_eq!(fct.phases(), [(0.5, 30.0)]);
    }

    fn custom(flows: &[&str], more: Changes) -> Result<Experiment> {
        let flow = flows.iter().map(|flow| (*flow).to_owned()).collect();
        Experiment::new(Name::Custom, &Changes { flow, mtu: 1500, ..more })
    }

    #[test]
    fn flows_of_the_user_s_own_may_be_of_any_number_rate_and_size() {
        let flows = ["rank=7,rate-mbps=2.5,start-s=3,packet-bytes=64:7/576:4/1500:1", "rank=1,rate-mbps=0.5,count=200"];
        let found = custom(&flows, defaults()).expect("valid");
        assert_eq!(found.flows.len(), 201);
        assert_eq!((found.flows[0].rank, found.flows[200].rank), (1, 7));
        assert_eq!(found.flows[200].offered_bps, Some(2_500_000));
        assert_eq!((found.flows[200].packets.largest(), found.length_s), (1500, 7.0));
        assert_eq!(found.phases(), [(0.5, 3.0), (3.5, 7.0)]);
        let stops =
            custom(&["rank=1,rate-mbps=1,stop-s=3", "rank=2,rate-mbps=1,start-s=1"], defaults()).expect("valid");
        assert_eq!(stops.phases(), [(0.25, 1.0), (1.5, 3.0), (3.5, 7.0)]);
        let sized = Changes { protocol: Some(Protocol::Tcp), ..defaults() };
        assert_eq!(custom(&["rank=3,size-kb=20"], sized).expect("valid").flows[0].size_bytes, Some(20_000));
        let four = Changes { offered_mbps: Some(vec![1.0, 2.0, 3.0, 4.0]), ..defaults() };
        let four = Experiment::new(Name::UdpFourFlows, &four).expect("valid");
        assert_eq!(four.flows[3].offered_bps, Some(4_000_000));
    }

    #[test]
    fn flows_of_the_user_s_own_that_are_wrong_are_refused_with_what_would_be_right() {
        for (flow, word) in [
            ("rank=1", "rate-mbps is missing"),
            ("rank=x,rate-mbps=1", "rank=x: expected from 0"),
            ("rank=1,rate-mbps=0", "rate-mbps 0: expected"),
            ("rank=1,rate-mbps=1,packet-bytes=20", "from 52"),
            ("rank=1,rate-mbps=1,packet-bytes=1501", "at most the MTU of 1500"),
            ("rank=1,rate-mbps=1,size=3", "unknown key \"size\""),
            ("rank=1,rate-mbps=1,start-s=2,stop-s=2", "stop-s=2: expected more than start-s=2"),
            ("rank", "expected key=value"),
            ("rank=1,rate-mbps=1,rank=2", "duplicate rank"),
        ] {
            let said = custom(&[flow], defaults()).expect_err("wrong").to_string();
            assert!(said.contains(word), "{flow}: {said}");
        }
        assert!(custom(&[], defaults()).expect_err("none").to_string().contains("at least one --flow"));
        let sender = || Changes { sender: Some("true".to_owned()), ..defaults() };
        assert!(custom(&["rank=1,rate-mbps=1"], sender()).expect_err("a rate").to_string().contains("no effect"));
        assert!(custom(&["rank=1"], sender()).is_ok());
    }

    #[test]
    fn bins_are_narrow_enough_for_the_shortest_phase() {
        let bin = |phase_s| {
            let changes = Changes { phase_s: Some(phase_s), ..defaults() };
            Experiment::new(Name::UdpFourFlows, &changes).expect("valid").bin_ns() / 1_000_000
        };
        assert_eq!([0.2, 0.25, 0.3, 2.0].map(bin), [37, 46, 50, 50]);
    }

    #[test]
    fn changes_out_of_range_or_without_effect_are_refused() {
        let refused = |name, changes: Changes| Experiment::new(name, &changes).expect_err("wrong").to_string();
        let four = Name::UdpFourFlows;
        assert!(refused(four, Changes { rate_mbps: Some(0.0), ..defaults() }).contains("--rate-mbps 0"));
        assert!(refused(four, Changes { phase_s: Some(0.1), ..defaults() }).contains("--phase-s 0.1"));
        assert!(refused(four, Changes { flow_ranks: Some(vec![1, 2]), ..defaults() }).contains("--flow-ranks 1,2"));
        assert!(refused(four, Changes { flows: Some(3), ..defaults() }).contains("no effect"));
        assert!(refused(Name::Fct, Changes { flow_ranks: Some(vec![1]), ..defaults() }).contains("no effect"));
        assert!(refused(Name::Fct, Changes { flows: Some(1001), ..defaults() }).contains("--flows 1001"));
        let tcp = Changes { flow_ranks: Some(vec![64, 8, 4, 2]), ..defaults() };
        assert!(refused(Name::TcpFourFlows, tcp).contains("0 to 63"));
    }
}

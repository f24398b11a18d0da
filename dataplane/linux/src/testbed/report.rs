//! The results of an experiment: a JSON summary, a CSV time series per run, and a table for the terminal.

use super::experiments::{ETHERNET_HEADER, Experiment};
use super::losses::{Losses, MOST_LOST_OUTSIDE};
use super::traffic::{Bins, Flow};
use super::udp::UdpCounts;
use crate::Result;
use crate::error::Trying;
use crate::whole::write_whole;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the summary's format, which increases when a field changes its meaning.
pub const FORMAT: &str = "pifolab-testbed/1";

/// The largest number of flows per line of the terminal's table.
const SHOWN_FLOWS: usize = 12;

/// The results of one command.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The version of this program.
    pub version: &'static str,
    /// The experiment's name.
    pub experiment: &'static str,
    /// The rate of the bottleneck.
    pub rate_bps: u64,
    /// The one-way delay that the switch adds; the kernel's data plane adds none.
    pub delay_us: u64,
    /// The length of a run.
    pub length_s: f64,
    /// The bin width of the time series.
    pub bin_s: f64,
    /// The place of ranks in packets.
    pub rank: String,
    /// The length of the longest IP packet.
    pub mtu_bytes: u32,
    /// The user's command that sends the flows.
    pub sender: Option<String>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The judged intervals, as pairs of start and end.
    pub phases_s: Vec<(f64, f64)>,
    /// The machine.
    pub machine: Machine,
    /// One entry per scheduler, data plane and repeat.
    pub runs: Vec<Run>,
    /// The requested combinations that cannot run on this machine.
    pub skipped: Vec<Skipped>,
}

/// A scheduler that a data plane cannot run on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    /// The scheduler.
    pub scheduler: String,
    /// The data plane.
    pub data_plane: &'static str,
    /// The reason.
    pub reason: String,
}

/// The machine's properties that affect the results.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// The number of available processors.
    pub processors: usize,
    /// Whether the command ran in a user namespace, without real-time priority.
    pub unprivileged: bool,
}

impl Machine {
    /// The properties of this machine.
    pub fn this(unprivileged: bool) -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        Self { kernel, processors: std::thread::available_parallelism().map_or(1, usize::from), unprivileged }
    }
}

/// One run.
#[derive(Debug, Serialize)]
pub struct Run {
    /// The scheduler.
    pub scheduler: String,
    /// The data plane.
    pub data_plane: &'static str,
    /// The number of the repeat, from 0.
    pub repeat: u32,
    /// The parameters set; others have the library's defaults.
    pub parameters: BTreeMap<String, String>,
    /// The number of attempts, because senders did not get the processor or packets were lost outside.
    pub attempts: u32,
    /// Whether senders were late in the last attempt, too, so that the link was not overloaded as intended, or a sender
    /// offered less than intended. Rates then have little meaning.
    pub starved: bool,
    /// One entry per phase.
    pub phases: Vec<Phase>,
    /// Packets lost outside the scheduler.
    pub losses: Losses,
    /// Whether too many packets for a verdict were lost there, in the last attempt, too.
    pub lost_outside: bool,
    /// UDP: one entry per flow.
    pub udp: Option<Vec<UdpCounts>>,
    /// fct: one entry per flow, in seconds from its start; null if the flow did not complete in time.
    pub completion_s: Option<Vec<Option<f64>>>,
    /// The data plane's own counters.
    pub counters: serde_json::Value,
    /// The file of the time series.
    pub series: String,
}

/// The rates of one phase, flow by flow. UDP counts frame bytes, TCP payload bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// UDP: the offered rate.
    pub offered_mbps: Option<Vec<f64>>,
    /// The delivered rate.
    pub delivered_mbps: Vec<f64>,
    /// The share of all delivered bytes.
    pub share: Vec<f64>,
}

/// The time series of one flow.
#[derive(Clone, Debug)]
pub struct Series {
    /// UDP: the bytes sent.
    pub sent: Option<Bins>,
    /// UDP: the bytes of the timetable that the sender skipped.
    pub given_up: Option<Bins>,
    /// The bytes received.
    pub received: Bins,
}

/// Sums the series over each phase.
pub fn phases(experiment: &Experiment, series: &[Series]) -> Vec<Phase> {
    let mbps = |bins: &Bins, (from, until): (f64, f64)| bins.mbps(from, until);
    let phase = |interval| {
        let delivered: Vec<f64> = series.iter().map(|flow| mbps(&flow.received, interval)).collect();
        let total: f64 = delivered.iter().sum();
        let offered = series.iter().map(|flow| flow.sent.as_ref().map(|sent| mbps(sent, interval))).collect();
        let share = delivered.iter().map(|rate| if total > 0.0 { rate / total } else { 0.0 }).collect();
        Phase { offered_mbps: offered, delivered_mbps: delivered, share }
    };
    experiment.phases().into_iter().map(phase).collect()
}

/// The share of the link above which a phase is intended to overload it.
const OVERLOAD: f64 = 1.05;
/// The smallest excess over the link's rate, in frames, that counts. Fewer frames may be on their way at the start and
/// the end of a phase.
const FEWEST_FRAMES: f64 = 4.0;

/// Whether late senders spoiled some phase. Either a sender skipped more than a tenth of its timetable. Or the
/// timetable overloads the link, but less than half of the excess was sent and not delivered, so that the scheduler
/// made few decisions. The timetable counts the bytes that were due, not the nominal rate, because a slow flow has few
/// packets per phase, in varying number.
pub fn starved(experiment: &Experiment, series: &[Series]) -> bool {
    experiment.phases().into_iter().any(|(from, until)| {
        let bytes = |bins: &Option<Bins>| bins.as_ref().map_or(0, |bins| bins.between(from, until));
        let (mut due, mut kept) = (0, 0);
        let gave_up = series.iter().any(|flow| {
            let (sent, given_up) = (bytes(&flow.sent), bytes(&flow.given_up));
            due += sent + given_up;
            kept += sent.saturating_sub(flow.received.between(from, until));
            given_up * 10 > sent + given_up
        });
        // The bins do not cover all of the phase, and the sums above count only bins.
        let seconds = series.first().map_or(0.0, |flow| flow.received.seconds(from, until));
        let link = experiment.rate_mbps * 1e6 / 8.0 * seconds;
        let excess = due as f64 - link;
        let frame = f64::from(experiment.mtu + ETHERNET_HEADER);
        let overloads = due as f64 > OVERLOAD * link && excess > FEWEST_FRAMES * frame;
        gave_up || (overloads && (kept as f64) < excess / 2.0)
    })
}

/// A folder for results.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder.
    ///
    /// # Errors
    /// If the folder contains results already, or cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let summary = path.join("summary.json");
        if summary.exists() {
            return Err(crate::Error::Usage(format!(
                "--out {}: it holds the results of an earlier run; give another folder",
                path.display()
            )));
        }
        fs::create_dir_all(path).map_err(|error| {
            crate::Error::Usage(format!("--out {}: cannot make the folder: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned() })
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        write_whole(&path, text.as_bytes()).trying(|| format!("cannot write {}", path.display()))
    }

    /// Writes the time series of a run as CSV, and returns the file's name.
    pub fn write_series(&self, run: &str, experiment: &Experiment, bin_s: f64, series: &[Series]) -> Result<String> {
        let mut text = String::from("time_s,flow,rank,sent_bytes,received_bytes\n");
        for (number, (flow, series)) in experiment.flows.iter().zip(series).enumerate() {
            for (bin, received) in series.received.bytes().iter().enumerate() {
                let sent = series.sent.as_ref().map_or(String::new(), |sent| sent.bytes()[bin].to_string());
                let time = bin as f64 * bin_s;
                writeln!(text, "{time:.3},{number},{},{sent},{received}", flow.rank)
                    .expect("writing to a String succeeds");
            }
        }
        let name = format!("{run}.csv");
        self.write(&name, &text)?;
        Ok(name)
    }

    /// Writes the summary.
    pub fn write_summary(&self, summary: &Summary) -> Result<()> {
        let text = serde_json::to_string_pretty(summary).expect("a summary is plain data");
        self.write("summary.json", &(text + "\n"))
    }
}

/// The table for the terminal: one line per run, with the shares of the last phase (or the completion times).
pub fn table(summary: &Summary) -> String {
    let mut text = String::new();
    for run in &summary.runs {
        write!(text, "{:<10} {:<7} #{:<2}", run.scheduler, run.data_plane, run.repeat)
            .expect("writing to a String succeeds");
        let numbers = if let Some(times) = &run.completion_s {
            let done: Vec<f64> = times.iter().flatten().copied().collect();
            let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
            let small: Vec<f64> = times.iter().take(times.len() / 4).flatten().copied().collect();
            let last = done.iter().copied().fold(0.0, f64::max);
            format!(
                "{}/{} flows done; mean FCT {:.3} s, smallest quarter {:.3} s, last {last:.3} s",
                done.len(),
                times.len(),
                mean(&done),
                mean(&small)
            )
        } else {
            let phase = run.phases.last().map(|phase| phase.share.as_slice()).unwrap_or_default();
            let mut shares: Vec<_> = phase.iter().map(|share| format!("{:5.1} %", share * 100.0)).collect();
            if shares.len() > SHOWN_FLOWS {
                shares.truncate(SHOWN_FLOWS);
                shares.push(format!("and {} flows more", phase.len() - SHOWN_FLOWS));
            }
            let total: f64 = run.phases.last().map_or(0.0, |phase| phase.delivered_mbps.iter().sum());
            format!("{} of {total:.1} Mb/s", shares.join(" "))
        };
        let mut note = String::new();
        if run.starved {
            note += "  (senders starved of processor time)";
        }
        if run.lost_outside {
            let (lost, most) = (run.losses.share * 100.0, MOST_LOST_OUTSIDE * 100.0);
            write!(note, "  ({lost:.1} % lost outside the scheduler, more than {most} %: no verdict)")
                .expect("writing to a String succeeds");
        }
        writeln!(text, "{numbers}{note}").expect("writing to a String succeeds");
    }
    for Skipped { scheduler, data_plane, reason } in &summary.skipped {
        writeln!(text, "{scheduler:<10} {data_plane:<7} skipped: {reason}").expect("writing to a String succeeds");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::experiments::{Changes, Name};
    use super::*;

    #[test]
    fn senders_are_starved_by_what_they_gave_up_not_by_what_chance_gave_them() {
        let changes = Changes { phase_s: Some(0.3), mtu: 1500, ..Changes::default() };
        let experiment = Experiment::new(Name::UdpFourFlows, &changes).expect("valid");
        let bins = |bytes: u64| {
            let mut bins = Bins::new(50_000_000, 1_200_000_000);
            (0..24).for_each(|bin| bins.add(bin * 50_000_000, bytes));
            Some(bins)
        };
        let flow = |sent, given_up| Series {
            sent: bins(sent),
            given_up: bins(given_up),
            received: Bins::new(50_000_000, 1_200_000_000),
        };
        // Less than its nominal rate, but all of the bytes that were due.
        assert!(!starved(&experiment, &[flow(1000, 0), flow(700, 0)]));
        assert!(!starved(&experiment, &[flow(1000, 100)]));
        assert!(starved(&experiment, &[flow(1000, 0), flow(1000, 200)]));
    }

    #[test]
    fn senders_are_starved_that_should_overload_the_link_and_do_not() {
        for mbps in [20.0, 100.0, 500.0, 700.0, 2000.0] {
            let changes = Changes { phase_s: Some(0.8), mtu: 1500, rate_mbps: Some(mbps), ..Changes::default() };
            let experiment = Experiment::new(Name::Throughput, &changes).expect("valid");
            let bin_ns = experiment.bin_ns();
            let bins = |bytes: f64| {
                let mut bins = Bins::new(bin_ns, 800_000_000);
                (0..800_000_000 / bin_ns).for_each(|bin| bins.add(bin * bin_ns, bytes as u64));
                bins
            };
            // In percent of the link's rate: the rates that four flows sent, skipped, and delivered.
            let run = |sent: f64, given_up: f64, received: f64| {
                let flow_bytes = |percent: f64| bins(percent / 100.0 * mbps * 1e6 / 8.0 * bin_ns as f64 / 1e9 / 4.0);
                let (sent, given_up) = (Some(flow_bytes(sent)), Some(flow_bytes(given_up)));
                let flow = Series { sent, given_up, received: flow_bytes(received) };
                starved(&experiment, &vec![flow; 4])
            };
            assert!(!run(110.0, 0.0, 100.0), "{mbps}: all was sent, a tenth of the rate was dropped");
            assert!(!run(106.0, 4.0, 100.0), "{mbps}");
            assert!(!run(90.0, 0.0, 90.0), "{mbps}: nothing overloads the link, nothing is dropped");
            assert!(run(110.0, 0.0, 110.0), "{mbps}: nothing queued");
            assert!(run(100.9, 9.1, 100.0), "{mbps}: 8.3 % were given up, and with them the overload");
            assert!(run(100.0, 10.0, 100.0), "{mbps}");
            assert!(run(104.0, 6.0, 100.0), "{mbps}");
        }
    }

    #[test]
    fn at_any_rate_a_phase_that_should_overload_the_link_and_drops_nothing_is_starved_and_one_that_drops_the_excess_is_not()
     {
        let mut state = 1u64;
        let mut draw = |from: f64, until: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            from + (until - from) * (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut judged = [0, 0];
        for number in 0..3_000 {
            let (mbps, phase_s) = (10f64.powf(draw(-1.0, 4.0)), draw(0.2, 3.0));
            let changes = Changes { phase_s: Some(phase_s), mtu: 1500, rate_mbps: Some(mbps), ..Changes::default() };
            let name = if number % 2 == 0 { Name::Throughput } else { Name::UdpFourFlows };
            let experiment = Experiment::new(name, &changes).expect("valid");
            let (bin_ns, length_ns) = (experiment.bin_ns(), (experiment.length_s * 1e9) as u64);
            let link = mbps * 1e6 / 8.0;
            // The flows' total rate relative to the link's, and the share of it that they skip: never a tenth.
            let (load, late) = (draw(1.06, 4.0), draw(0.0, 0.09));
            let excess_frames = (load - 1.0) * link * phase_s * 0.75 / 1514.0;
            if excess_frames < 6.0 {
                continue;
            }
            let bins = |share: f64| {
                let (mut bins, mut before) = (Bins::new(bin_ns, length_ns), 0);
                for bin in 1..=length_ns.div_ceil(bin_ns) {
                    let sum = (share * link * (bin * bin_ns) as f64 / 1e9) as u64;
                    bins.add((bin - 1) * bin_ns, sum - before);
                    before = sum;
                }
                bins
            };
            let run = |given_up: f64, received: f64| {
                let sent = load * (1.0 - given_up);
                let flow = |share: f64| Series {
                    sent: Some(bins(share * sent)),
                    given_up: Some(bins(share * load * given_up)),
                    received: bins(share * received.min(sent)),
                };
                starved(&experiment, &[flow(0.4), flow(0.3), flow(0.2), flow(0.1)])
            };
            let told = format!("{mbps} Mb/s, {phase_s} s, {load} of the rate, {late} given up");
            assert!(run(0.0, load) && run(late, load), "nothing was dropped: {told}");
            assert!(
                run(late, load * (1.0 - late) - 0.4 * (load - 1.0)),
                "less than half of the excess was dropped: {told}"
            );
            assert!(!run(0.0, 1.0), "the excess was dropped: {told}");
            assert!(run(0.11, 1.0), "a tenth was given up: {told}");
            judged[number % 2] += 1;
        }
        assert!(judged.iter().all(|judged| *judged > 500), "{judged:?}");
    }
}

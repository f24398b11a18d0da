//! The papers' testbed experiments in network namespaces. Sender, router and receiver are three namespaces of this
//! process, connected by virtual Ethernet. The bottleneck is the router's interface to the receiver.

pub mod experiments;
pub mod linux;
pub mod losses;
pub mod namespace;
pub mod plane;
pub mod report;
mod sender;
pub mod tcp;
pub mod traffic;
pub mod udp;

use crate::error::Trying;
use crate::switch::{self, LinkArgs, STOP, choice::SchedulerOptions};
use crate::{Error, Result, say, tell};
use experiments::{Changes, ETHERNET_HEADER, Experiment, Name};
use linux::LinuxQdisc;
use losses::Losses;
use namespace::{Lab, RECEIVER, gain_network_rights};
use plane::{Bottleneck, DataPlane};
use report::{FORMAT, Folder, Machine, Run, Series, Skipped, Summary};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use traffic::{now_ns, sleep_until};
use udp::{Timetable, UdpCounts};

/// The schedulers of the five papers, Slack-SP, the baseline, and the ideal PIFO.
const ALL: &str = "fifo,sp-pifo,aifo,packs,rifo,exp-pifo,slack-sp,pifo";
/// The time between the last preparation and the first packet, in nanoseconds.
const LEAD_NS: u64 = 50_000_000;
/// The silence after which the data plane counts as empty.
const QUIET: Duration = Duration::from_millis(200);
/// The port of [`wait_until_connected`]; nothing else uses it.
const PROBE_PORT: u16 = 4999;

/// The arguments of `pifolab-dataplane testbed`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Experiment
    #[arg(value_enum)]
    name: Name,
    /// Schedulers, separated by commas
    #[arg(long, alias = "scheduler", value_delimiter = ',', default_value = ALL)]
    schedulers: Vec<String>,
    /// Data planes to run, separated by commas [default: ebpf if this machine and the scheduler support it, else
    /// switch]
    #[arg(long, value_enum, value_delimiter = ',')]
    data_plane: Vec<DataPlane>,
    /// Runs of each scheduler
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Folder for the results
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// One-way delay that the switch adds in each direction
    #[arg(long, default_value_t = 0)]
    delay_us: u64,
    /// Attempts for each run if the senders lack processor time, or packets are lost outside the scheduler
    #[arg(long, default_value_t = 3)]
    attempts: u32,
    /// Memory of the receiver for each UDP flow, which must hold the packets that arrive while the receiver waits
    #[arg(long, default_value_t = 32_768)]
    receiver_buffer_kb: u32,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    parameters: SchedulerOptions,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    switch::stop_on_signals();
    let experiment = Experiment::new(args.name, &args.changes)?;
    if args.repeat == 0 || args.attempts == 0 {
        return Err(Error::Usage("--repeat and --attempts: expected 1 or more".to_owned()));
    }
    let mut parameters = SchedulerOptions::default();
    for (name, value) in &experiment.parameters {
        parameters.set(name, value);
    }
    for (name, value) in args.parameters.written() {
        let used = args.schedulers.iter().map(|scheduler| {
            let mut one = SchedulerOptions::default();
            one.set(name, value);
            one.kept_by(scheduler).map(|kept| kept.contains(name))
        });
        if !used.collect::<Result<Vec<_>>>()?.contains(&true) {
            let option = name.replace('_', "-");
            return Err(Error::Usage(format!("--{option}: none of the schedulers has this parameter")));
        }
        parameters.set(name, value);
    }
    let link = LinkArgs { rate_mbps: experiment.rate_mbps, delay_us: args.delay_us, overhead_bytes: 0 };
    expect_once("--schedulers", &args.schedulers)?;
    expect_once("--data-plane", &args.data_plane.iter().map(|plane| plane.as_str().to_owned()).collect::<Vec<_>>())?;
    let (mut bottlenecks, mut skipped) = (Vec::new(), Vec::new());
    for scheduler in &args.schedulers {
        let parameters = parameters.kept_by(scheduler)?;
        // Checked before any run.
        drop(switch::choice::build_scheduler(scheduler, &parameters)?);
        let (scheduler, rank) = (scheduler.clone(), experiment.rank.clone());
        let mut bottleneck = Bottleneck { plane: DataPlane::Switch, scheduler, parameters, rank, link, linux: None };
        let best = [bottleneck.best_plane()];
        for plane in if args.data_plane.is_empty() { &best[..] } else { &args.data_plane } {
            bottleneck.plane = *plane;
            bottleneck.linux = match plane {
                DataPlane::Linux => match LinuxQdisc::new(&bottleneck.scheduler, &bottleneck.parameters, &experiment) {
                    Ok(qdisc) => Some(qdisc),
                    Err(reason) => {
                        let scheduler = bottleneck.scheduler.clone();
                        skipped.push(Skipped { scheduler, data_plane: plane.as_str(), reason });
                        continue;
                    }
                },
                _ => None,
            };
            bottlenecks.push(bottleneck.clone());
        }
    }
    for bottleneck in &bottlenecks {
        bottleneck.check()?;
    }
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let unprivileged = gain_network_rights()?;
    bottlenecks.retain(|bottleneck| match bottleneck.linux.as_ref().map_or(Ok(()), LinuxQdisc::probe) {
        Ok(()) => true,
        Err(reason) => {
            let (scheduler, data_plane) = (bottleneck.scheduler.clone(), bottleneck.plane.as_str());
            skipped.push(Skipped { scheduler, data_plane, reason });
            false
        }
    });
    for Skipped { scheduler, data_plane, reason } in &skipped {
        say(&format!("{scheduler} ({data_plane}): skipped: {reason}"));
    }
    if bottlenecks.is_empty() {
        return Err(Error::Unsupported("none of the requested runs can run here".to_owned()));
    }
    raise_limit_of_open_files();
    let mut summary = Summary {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        experiment: args.name.as_str(),
        rate_bps: (experiment.rate_mbps * 1e6) as u64,
        delay_us: args.delay_us,
        length_s: experiment.length_s,
        bin_s: experiment.bin_ns() as f64 / 1e9,
        rank: experiment.rank.clone(),
        mtu_bytes: experiment.mtu,
        sender: experiment.sender.clone(),
        flows: experiment.flows.clone(),
        phases_s: experiment.phases(),
        machine: Machine::this(unprivileged),
        runs: Vec::new(),
        skipped,
    };
    for repeat in 0..args.repeat {
        for bottleneck in &bottlenecks {
            let run = run_often(&experiment, bottleneck, repeat, &args, folder.as_ref());
            let run = run.map_err(|error| match STOP.load(Ordering::Relaxed) {
                true if summary.runs.is_empty() => Error::Failed("interrupted before a run was finished".to_owned()),
                true => Error::Failed("interrupted; finished runs are kept".to_owned()),
                false => error,
            })?;
            summary.runs.push(run);
            // After each run, so that an interrupted command keeps its results.
            if let Some(folder) = &folder {
                folder.write_summary(&summary)?;
            }
        }
    }
    tell(report::table(&summary).trim_end());
    Ok(())
}

/// Checks for duplicates, because these names identify runs and their files.
fn expect_once(option: &str, names: &[String]) -> Result<()> {
    match names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
        Some((_, name)) => Err(Error::Usage(format!("{option} {}: duplicate {name}", names.join(",")))),
        None => Ok(()),
    }
}

/// Raises the limit of open files, because each flow needs two sockets.
fn raise_limit_of_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or fill in `limit`. If they fail, opening a socket later returns an error.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
}

/// Repeats a run until the senders met their timetable and almost no packets were lost outside of the scheduler, with
/// the largest number of attempts in `args`.
fn run_often(
    experiment: &Experiment,
    bottleneck: &Bottleneck,
    repeat: u32,
    args: &Args,
    folder: Option<&Folder>,
) -> Result<Run> {
    let (scheduler, plane) = (&bottleneck.scheduler, bottleneck.plane.as_str());
    let mut attempt = 1;
    loop {
        let (outcome, counters) = run_once(experiment, bottleneck, u64::from(repeat * 100 + attempt), args)?;
        let Outcome { series, udp, completion_s, sent, received, wires } = outcome;
        let phases = report::phases(experiment, &series);
        let starved = report::starved(experiment, &series);
        let by_sockets = udp.iter().flatten().map(|flow| flow.receiver_lost_packets).sum();
        let losses = Losses::new(&counters, wires, sent, received, by_sockets);
        let mut problems = Vec::new();
        if starved {
            problems.push("the senders did not get the processor".to_owned());
        }
        if losses.too_many() {
            problems.push(format!("{:.1} % were lost outside the scheduler", losses.share * 100.0));
        }
        let problem = match problems.is_empty() {
            true => String::new(),
            false => format!(", attempt {attempt}: {}", problems.join(", ")),
        };
        eprintln!("{} {scheduler} ({plane}) repeat {repeat}{problem}", experiment.name.as_str());
        if !problems.is_empty() && attempt < args.attempts {
            attempt += 1;
            continue;
        }
        let name = format!("{scheduler}-{plane}-{repeat}");
        let series = match folder {
            Some(folder) => folder.write_series(&name, experiment, experiment.bin_ns() as f64 / 1e9, &series)?,
            None => String::new(),
        };
        return Ok(Run {
            scheduler: scheduler.clone(),
            data_plane: plane,
            repeat,
            parameters: bottleneck.parameters.written().iter().cloned().collect(),
            attempts: attempt,
            starved,
            lost_outside: losses.too_many(),
            losses,
            phases,
            udp,
            completion_s,
            counters,
            series,
        });
    }
}

/// The counts of senders and receivers.
struct Outcome {
    series: Vec<Series>,
    udp: Option<Vec<UdpCounts>>,
    completion_s: Option<Vec<Option<f64>>>,
    /// Packets sent, if they are counted.
    sent: Option<u64>,
    /// Packets received.
    received: u64,
    /// Packets dropped by the wires.
    wires: u64,
}

fn run_once(
    experiment: &Experiment,
    bottleneck: &Bottleneck,
    seed: u64,
    args: &Args,
) -> Result<(Outcome, serde_json::Value)> {
    let lab = Lab::new(bottleneck.plane != DataPlane::Switch, experiment.mtu)?;
    let result = bottleneck.carry(&lab, || {
        let probe = wait_until_connected(&lab, experiment.flows.first().map_or(0, |flow| flow.rank))?;
        let mut outcome =
            if experiment.is_tcp() { run_tcp(experiment, &lab) } else { run_udp(experiment, &lab, seed, args) }?;
        // The probe datagrams also went through the scheduler.
        outcome.sent = outcome.sent.map(|sent| sent + probe.sent);
        outcome.received += probe.received();
        outcome.wires = losses::dropped_by_wires(&lab);
        Ok(outcome)
    })?;
    if STOP.load(Ordering::Relaxed) {
        return Err(Error::Failed("interrupted".to_owned()));
    }
    Ok(result)
}

/// The probe datagrams.
struct Probe {
    sent: u64,
    received: u64,
    receiver: UdpSocket,
}

impl Probe {
    /// The number that has arrived so far.
    fn received(&self) -> u64 {
        // On failure the only effect is a wait for the time-out.
        let _ = self.receiver.set_nonblocking(true);
        self.received + std::iter::from_fn(|| self.receiver.recv(&mut [0; 32]).ok()).count() as u64
    }
}

/// Sends datagrams until one arrives, which proves that addresses are resolved and the data plane works. The datagrams
/// have the rank of the first flow as DSCP, because a tree may have no leaf for another rank.
fn wait_until_connected(lab: &Lab, rank: u32) -> Result<Probe> {
    let failed = || "cannot try the path".to_owned();
    let receiver = lab.receiver.enter(|| UdpSocket::bind((RECEIVER, PROBE_PORT))).trying(failed)?;
    receiver.set_read_timeout(Some(Duration::from_millis(50))).trying(failed)?;
    let sender = lab.sender.enter(|| UdpSocket::bind("0.0.0.0:0")).trying(failed)?;
    udp::set_dscp(sender.as_raw_fd(), rank);
    for sent in 1..=100 {
        sender.send_to(&[0; 32], (RECEIVER, PROBE_PORT)).trying(failed)?;
        if receiver.recv(&mut [0; 32]).is_ok() {
            return Ok(Probe { sent, received: 1, receiver });
        }
    }
    Err(Error::Failed("nothing arrived through the data plane in five seconds".to_owned()))
}

fn timetable(experiment: &Experiment) -> Timetable {
    Timetable {
        origin_ns: now_ns() + LEAD_NS,
        length_ns: (experiment.length_s * 1e9) as u64,
        bin_ns: experiment.bin_ns(),
    }
}

fn run_udp(experiment: &Experiment, lab: &Lab, seed: u64, args: &Args) -> Result<Outcome> {
    let flows = &experiment.flows;
    let buffer = args.receiver_buffer_kb.saturating_mul(1024);
    let receivers = lab.receiver.enter(|| udp::receiver_sockets(flows.len(), buffer))?;
    let senders = match experiment.sender {
        Some(_) => Vec::new(),
        None => lab.sender.enter(|| udp::sender_sockets(flows))?,
    };
    // A slow link may need longer for one packet.
    let packet_s = f64::from(experiment.mtu + ETHERNET_HEADER) * 8e-6 / experiment.rate_mbps;
    let quiet = QUIET.max(Duration::from_secs_f64(4.0 * packet_s)) + 2 * Duration::from_micros(args.delay_us);
    let table = timetable(experiment);
    let done = AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| udp::receive(&receivers, table, quiet, &done));
        let sent = match &experiment.sender {
            Some(command) => sender::run(command, flows.len(), lab, table, &STOP).map(|()| None),
            None => {
                let sending = scope.spawn(|| udp::send(&senders, flows, table, seed, &STOP));
                Ok(Some(sending.join().expect("the sender does not panic")))
            }
        };
        done.store(true, Ordering::Relaxed);
        sent.map(|sent| (sent, receiving.join().expect("the receiver does not panic")))
    })?;
    let total_received = received.iter().map(|(_, counts)| counts.received_packets).sum();
    let total_sent = sent.as_ref().map(|sent| sent.iter().map(|flow| flow.packets).sum());
    let mut sent = sent.into_iter().flatten();
    let (mut series, mut counts) = (Vec::new(), Vec::new());
    for (received, taken) in received {
        let sent = sent.next();
        counts.push(UdpCounts {
            sent_packets: sent.as_ref().map_or(0, |sent| sent.packets),
            given_up_packets: sent.as_ref().map_or(0, |sent| sent.given_up_packets),
            ..taken
        });
        let (sent, given_up) = sent.map(|flow| (flow.sent, flow.given_up)).unzip();
        series.push(Series { sent, given_up, received });
    }
    let (sent, received) = (total_sent, total_received);
    Ok(Outcome { series, udp: Some(counts), completion_s: None, sent, received, wires: 0 })
}

fn run_tcp(experiment: &Experiment, lab: &Lab) -> Result<Outcome> {
    let listener = lab.receiver.enter(tcp::listen)?;
    let flows = &experiment.flows;
    let (done, mut table) = (AtomicBool::new(false), timetable(experiment));
    // Time for the handshakes.
    table.origin_ns += 500_000_000;
    let stop = &done;
    let received = thread::scope(|scope| {
        let receiving = scope.spawn(|| tcp::receive(&listener, flows, table, &done));
        let senders: Vec<_> = flows
            .iter()
            .enumerate()
            .map(|(number, flow)| lab.sender.spawn(scope, move || tcp::send(flow, number, table, stop)))
            .collect();
        let end = table.origin_ns + table.length_ns;
        while now_ns() < end && !STOP.load(Ordering::Relaxed) && !receiving.is_finished() {
            sleep_until(end.min(now_ns() + 20_000_000), &STOP);
        }
        done.store(true, Ordering::Relaxed);
        let sent: Result<Vec<()>> =
            senders.into_iter().map(|sender| sender.join().expect("the sender does not panic")).collect();
        let received = receiving.join().expect("the receiver does not panic");
        sent.map(|_| received)
    })?;
    let sized = flows.iter().any(|flow| flow.size_bytes.is_some());
    let completion = received.iter().map(|flow| flow.completion_ns.map(|ns| ns as f64 / 1e9)).collect();
    let series =
        received.into_iter().map(|flow| Series { sent: None, given_up: None, received: flow.received }).collect();
    let completion_s = sized.then_some(completion);
    Ok(Outcome { series, udp: None, completion_s, sent: None, received: 0, wires: 0 })
}

//! The papers' testbed experiments in network namespaces: sender, router and receiver are three namespaces of this
//! process, joined by virtual Ethernet; the bottleneck is the router's interface to the receiver.

pub mod experiments;
pub mod namespace;
pub mod plane;
pub mod report;
pub mod tcp;
pub mod traffic;
pub mod udp;

use crate::error::Trying;
use crate::switch::{self, LinkArgs, STOP, choice::SchedulerOptions};
use crate::{Error, Result};
use experiments::{Changes, Experiment, Name};
use namespace::{Lab, RECEIVER, gain_network_rights};
use plane::{Bottleneck, DataPlane};
use report::{FORMAT, Folder, Machine, Run, Series, Summary};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use traffic::{now_ns, sleep_until};
use udp::{Timetable, UdpCounts};

/// The schedulers of the five papers, the baseline, and the ideal.
const ALL: &str = "fifo,sp-pifo,aifo,packs,rifo,exp-pifo,pifo";
const BIN_NS: u64 = 50_000_000;
/// Between the last preparation and the first packet.
const LEAD_NS: u64 = 50_000_000;
/// An Ethernet frame of 1514 bytes.
const MTU: u32 = 1500;
const UDP_PAYLOAD: usize = MTU as usize - 28;
/// A port where nothing but [`wait_until_connected`] listens.
const PROBE_PORT: u16 = 4999;

/// The arguments of `pifolab-dataplane testbed`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Experiment
    #[arg(value_enum)]
    name: Name,
    /// Schedulers, separated by commas
    #[arg(long, value_delimiter = ',', default_value = ALL)]
    scheduler: Vec<String>,
    /// What carries the packets [default: ebpf where this machine can and the scheduler is one that it has, else switch]
    #[arg(long, value_enum)]
    data_plane: Option<DataPlane>,
    /// Runs of each scheduler
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Folder for the results
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// One-way delay that the switch adds in each direction
    #[arg(long, default_value_t = 0)]
    delay_us: u64,
    /// How often a run is made again if the senders did not get the processor
    #[arg(long, default_value_t = 3)]
    attempts: u32,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    parameters: SchedulerOptions,
}

/// Runs the command.
///
/// # Errors
/// Wrong arguments, a machine that cannot run the experiment, or results that cannot be written.
pub fn run(args: Args) -> Result<()> {
    let experiment = Experiment::new(args.name, &args.changes)?;
    if args.repeat == 0 || args.attempts == 0 {
        return Err(Error::Usage("--repeat and --attempts: expected 1 or more".to_owned()));
    }
    let mut parameters = SchedulerOptions::default();
    for (name, value) in &experiment.parameters {
        parameters.set(name, value);
    }
    for (name, value) in args.parameters.written() {
        let used = args.scheduler.iter().map(|scheduler| {
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
    let mut bottlenecks = Vec::new();
    for scheduler in &args.scheduler {
        let parameters = parameters.kept_by(scheduler)?;
        // Found out before anything runs.
        drop(switch::choice::build_scheduler(scheduler, &parameters)?);
        let plane = args.data_plane.unwrap_or_else(|| DataPlane::best_for(scheduler, link.delay_us));
        let rank = experiment.rank.to_owned();
        bottlenecks.push(Bottleneck { plane, scheduler: scheduler.clone(), parameters, rank, link });
    }
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let unprivileged = gain_network_rights()?;
    switch::stop_on_signals();
    let mut summary = Summary {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        experiment: args.name.as_str(),
        rate_bps: (experiment.rate_mbps * 1e6) as u64,
        delay_us: args.delay_us,
        length_s: experiment.length_s,
        bin_s: BIN_NS as f64 / 1e9,
        rank: experiment.rank,
        flows: experiment.flows.clone(),
        phases_s: experiment.phases(),
        machine: Machine::this(unprivileged),
        runs: Vec::new(),
    };
    for repeat in 0..args.repeat {
        for bottleneck in &bottlenecks {
            let run = run_often(&experiment, bottleneck, repeat, args.attempts, folder.as_ref())?;
            summary.runs.push(run);
            // After each run, so that an interrupted command leaves what it has.
            if let Some(folder) = &folder {
                folder.write_summary(&summary)?;
            }
        }
    }
    print!("{}", report::table(&summary));
    Ok(())
}

/// Runs until the senders kept to their timetable, at most `attempts` times.
fn run_often(
    experiment: &Experiment,
    bottleneck: &Bottleneck,
    repeat: u32,
    attempts: u32,
    folder: Option<&Folder>,
) -> Result<Run> {
    let (scheduler, plane) = (&bottleneck.scheduler, bottleneck.plane.as_str());
    let mut attempt = 1;
    loop {
        let (outcome, counters) = run_once(experiment, bottleneck, u64::from(repeat * 100 + attempt))?;
        let phases = report::phases(experiment, &outcome.series);
        let starved = report::starved(experiment, &phases);
        eprintln!(
            "{} {scheduler} ({plane}) repeat {repeat}{}",
            experiment.name.as_str(),
            if starved { format!(", attempt {attempt}: the senders did not get the processor") } else { String::new() }
        );
        if starved && attempt < attempts {
            attempt += 1;
            continue;
        }
        let name = format!("{scheduler}-{plane}-{repeat}");
        let series = match folder {
            Some(folder) => folder.write_series(&name, experiment, BIN_NS as f64 / 1e9, &outcome.series)?,
            None => String::new(),
        };
        return Ok(Run {
            scheduler: scheduler.clone(),
            data_plane: plane,
            repeat,
            parameters: bottleneck.parameters.written().iter().cloned().collect(),
            attempts: attempt,
            starved,
            phases,
            udp: outcome.udp,
            completion_s: outcome.completion_s,
            counters,
            series,
        });
    }
}

struct Outcome {
    series: Vec<Series>,
    udp: Option<Vec<UdpCounts>>,
    completion_s: Option<Vec<Option<f64>>>,
}

fn run_once(experiment: &Experiment, bottleneck: &Bottleneck, seed: u64) -> Result<(Outcome, serde_json::Value)> {
    let lab = Lab::new(bottleneck.plane != DataPlane::Switch, MTU)?;
    let result = bottleneck.carry(&lab, || {
        wait_until_connected(&lab)?;
        if experiment.name.is_tcp() { run_tcp(experiment, &lab) } else { run_udp(experiment, &lab, seed) }
    })?;
    if STOP.load(Ordering::Relaxed) {
        return Err(Error::Failed("interrupted; finished runs are kept".to_owned()));
    }
    Ok(result)
}

/// Sends datagrams until one arrives: addresses are resolved then, and the data plane works.
fn wait_until_connected(lab: &Lab) -> Result<()> {
    let trouble = || "cannot try the path".to_owned();
    let receiver = lab.receiver.enter(|| UdpSocket::bind((RECEIVER, PROBE_PORT))).trying(trouble)?;
    receiver.set_read_timeout(Some(Duration::from_millis(50))).trying(trouble)?;
    let sender = lab.sender.enter(|| UdpSocket::bind("0.0.0.0:0")).trying(trouble)?;
    for _ in 0..100 {
        sender.send_to(&[0; 32], (RECEIVER, PROBE_PORT)).trying(trouble)?;
        if receiver.recv(&mut [0; 32]).is_ok() {
            return Ok(());
        }
    }
    Err(Error::Failed("nothing arrives through the data plane within five seconds".to_owned()))
}

fn timetable(experiment: &Experiment) -> Timetable {
    Timetable { origin_ns: now_ns() + LEAD_NS, length_ns: (experiment.length_s * 1e9) as u64, bin_ns: BIN_NS }
}

fn run_udp(experiment: &Experiment, lab: &Lab, seed: u64) -> Result<Outcome> {
    let receivers = lab.receiver.enter(|| udp::receiver_sockets(experiment.flows.len()))?;
    let senders = lab.sender.enter(|| udp::sender_sockets(&experiment.flows))?;
    let table = timetable(experiment);
    let done = AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| udp::receive(&receivers, table, &done));
        let sending = scope.spawn(|| udp::send(&senders, &experiment.flows, UDP_PAYLOAD, table, seed, &STOP));
        let sent = sending.join().expect("the sender does not panic");
        done.store(true, Ordering::Relaxed);
        (sent, receiving.join().expect("the receiver does not panic"))
    });
    let mut series = Vec::new();
    let mut counts = Vec::new();
    for ((sent, given), (received, taken)) in sent.into_iter().zip(received) {
        series.push(Series { sent: Some(sent), received });
        counts.push(UdpCounts { sent_packets: given.sent_packets, given_up_packets: given.given_up_packets, ..taken });
    }
    Ok(Outcome { series, udp: Some(counts), completion_s: None })
}

fn run_tcp(experiment: &Experiment, lab: &Lab) -> Result<Outcome> {
    let listener = lab.receiver.enter(tcp::listen)?;
    let flows = &experiment.flows;
    let (done, mut table) = (AtomicBool::new(false), timetable(experiment));
    // Handshakes come first.
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
    let series = received.into_iter().map(|flow| Series { sent: None, received: flow.received }).collect();
    Ok(Outcome { series, udp: None, completion_s: sized.then_some(completion) })
}

//! The command `pifolab-dpdk`, which `pifolab dataplane dpdk` calls: any scheduler of the library between two devices of DPDK.

mod node;
mod replay;

use clap::{Parser, ValueEnum};
use node::{Counters, Device, Node, Nodes, Tally, state};
use pifolab_c::{pifolab_reader, pifolab_scheduler};
use pifolab_dataplane::control::metrics::Metrics;
use pifolab_dataplane::rank::{GivenRank, NotIp, RankOptions, RankSource};
use pifolab_dataplane::record::node::NodeRecord;
use pifolab_dataplane::switch::change::{Followed, link_rate};
use pifolab_dataplane::switch::choice::{SchedulerOptions, build_scheduler, join_rank, params};
use pifolab_dataplane::switch::chosen::Chosen;
use pifolab_dataplane::switch::conformance::LONGEST;
use pifolab_dataplane::switch::parameters::ParameterFile;
use pifolab_dataplane::switch::{FLOW_TIMEOUT_S, FLOWS, PlaneArgs, STOP, reader, span, stop_on_signals};
use pifolab_dataplane::whole::write_whole;
use pifolab_dataplane::{Error, Result, say};
use pifolab_frames::flows::FlowTable;
use pifolab_registry::{find_scheduler, usual_form};
use pifolab_sched::{Capacity, Fact, Facts, InspectExt, Scheduler};
use pifolab_units::{Rank, Time};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time that the loop in C runs between checks of signals, files and links.
const TURN_US: u64 = 5_000;
/// The same as long as a link was not seen up: a peer may be there for a few milliseconds only.
const FIRST_TURN_US: u64 = 100;
/// The longest time in which a driver detects that its peer is gone, and cleans up.
const DISCONNECTING: Duration = Duration::from_millis(100);
/// The interval between writes of the file of `--metrics`.
const METRICS_EVERY: Duration = Duration::from_secs(1);
/// mbufs of a queue beyond those in its scheduler: the rings of two devices, bursts, and the per-core cache of memory pools.
const MORE_MBUFS: u64 = 8_191;
/// The most packets of a scheduler without a capacity in packets.
const MOST_HELD: u64 = 65_536;
const SHORTEST_FRAME: u64 = 60;
/// The most memory of DPDK, in megabytes.
const MOST_MEMORY_MB: i64 = 1 << 19;
/// The time after which a link without a peer is reported.
const ALONE: Duration = Duration::from_secs(2);
/// The bytes of an mbuf, DPDK's default.
const FRAME_BYTES: u16 = 2048;
/// The most packets that a vector holds at once.
const REPLAY_MBUFS: u32 = 4_095;

/// The source of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Clock {
    /// The processor's time stamp counter
    Tsc,
    /// The capture that --in replays (net_pcap): decisions are those of `pifolab compare --trace`
    Capture,
}

/// Any scheduler of the library between two devices of DPDK, one for each of their queues, each on a core.
#[derive(Parser)]
#[command(name = "pifolab dataplane dpdk", version, max_term_width = 100)]
struct Args {
    /// Input device: a name of --vdev, or a PCI address
    #[arg(long = "in", value_name = "DEVICE", required_unless_present = "replay")]
    input: Option<String>,
    /// Output device, likewise
    #[arg(long = "out", value_name = "DEVICE", required_unless_present = "replay")]
    output: Option<String>,
    /// Create a virtual device, in DPDK's syntax: net_memif0,role=client,socket=/run/a.sock; may be repeated
    #[arg(long, value_name = "DEVICE,KEY=VALUE,...")]
    vdev: Vec<String>,
    /// Rate of the link, such as 10G or 2.5M (bit/s) [default: as fast as --out takes frames]
    #[arg(long, value_name = "RATE", value_parser = bits_per_second)]
    rate: Option<u64>,
    /// Bytes on the link for each frame beyond the frame itself (24 for Ethernet's preamble, check sum and gap)
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1000))]
    overhead_bytes: u64,
    /// Queues of both devices, each with a scheduler and a core of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=128))]
    device_queues: u16,
    /// Source of times
    #[arg(long, value_enum, default_value_t = Clock::Tsc)]
    clock: Clock,
    /// Keep the counters in this file, in the text format of Prometheus
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Stop when this many frames were received and none is held
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Replay vectors through the node, instead of carrying frames
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["input", "output", "vdev"])]
    replay: Vec<PathBuf>,
    /// With --replay: print the counts as JSON
    #[arg(long, conflicts_with_all = ["input", "output"])]
    json: bool,
    /// Work without huge pages, as --replay always does
    #[arg(long, help_heading = "DPDK")]
    no_huge: bool,
    /// Memory for DPDK, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 256, help_heading = "DPDK")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_MEMORY_MB))]
    memory_mb: u32,
    /// Processor of each queue, such as 2,3, which is then always busy [default: the kernel chooses]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "DPDK")]
    core: Vec<u32>,
    /// A further argument of DPDK's own, such as --eal=--log-level=8; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = "DPDK")]
    eal: Vec<String>,
    #[command(flatten)]
    plane: PlaneArgs,
}

/// `10G`, `2.5M`, `800k`, or bits per second.
fn bits_per_second(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?}: expected a rate from 1k to 1000G, such as 10G or 2.5M (bit/s)");
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.parse::<f64>().map_err(|_| wrong())? * unit;
    if (1e3..=1e12).contains(&rate) { Ok(rate.round() as u64) } else { Err(wrong()) }
}

/// The processors on which this process may run, as "0-3,8".
fn allowed_processors() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map_or("0", str::trim).to_owned()
}

/// The processors in "0-3,8".
fn processors_in(list: &str) -> Vec<u32> {
    let number = |text: &str| text.parse().unwrap_or(0);
    let ends = |part: &str| part.split_once('-').map_or((number(part), number(part)), |(a, b)| (number(a), number(b)));
    list.split(',').map(ends).flat_map(|(first, last)| first..=last).collect()
}

/// Refuses more queues than processors, processors that do not match the queues, and several queues of a capture.
fn check_queues(args: &Args) -> Result<()> {
    let (queues, allowed) = (usize::from(args.device_queues), allowed_processors());
    let processors = processors_in(&allowed);
    let wrong = if queues > processors.len() {
        format!("there are {} processors ({allowed}), and each queue takes one", processors.len())
    } else if let Some(core) = args.core.iter().find(|core| !processors.contains(core)) {
        return Err(Error::Usage(format!("--core {core}: expected one of the processors {allowed}")));
    } else if !args.core.is_empty() && args.core.len() != queues {
        format!("--core has {} processors: expected one for each queue", args.core.len())
    } else if let Some(twice) = args.core.iter().enumerate().find(|(at, core)| args.core[..*at].contains(core)) {
        format!("--core: processor {} twice: expected another one for each queue", twice.1)
    } else if queues > 1 && args.clock == Clock::Capture {
        "--clock capture: expected 1, since a capture has one order".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Usage(format!("--device-queues {queues}: {wrong}")))
}

/// The arguments of DPDK. Nothing is shared between processes.
fn eal_arguments(args: &Args) -> Vec<String> {
    let mut words: Vec<String> = ["pifolab-dpdk", "--no-telemetry", "--log-level=5"].map(str::to_owned).into();
    words.push(format!("--file-prefix=pifolab-{}", std::process::id()));
    let allowed = allowed_processors();
    let lcores = (0..args.device_queues).map(|queue| match args.core.get(usize::from(queue)) {
        Some(core) => format!("{queue}@{core}"),
        None => format!("{queue}@({allowed})"),
    });
    words.push(format!("--lcores={}", lcores.collect::<Vec<_>>().join(",")));
    words.extend(["-m".to_owned(), args.memory_mb.to_string()]);
    // Both leave no file behind. rte_eal_cleanup would remove files, but unmaps memory that a thread of the memif
    // driver still reads.
    words.extend(
        if works_without_huge_pages(args) { vec!["--no-huge", "--no-shconf"] } else { vec!["--in-memory"] }
            .into_iter()
            .map(str::to_owned),
    );
    // A PCI address has colons, and names of virtual devices have none.
    if [&args.input, &args.output].into_iter().flatten().all(|name| !name.contains(':')) {
        words.push("--no-pci".to_owned());
    }
    words.extend(args.eal.iter().cloned());
    words
}

const fn works_without_huge_pages(args: &Args) -> bool {
    args.no_huge || !args.replay.is_empty()
}

fn start_dpdk(args: &Args) -> Result<()> {
    let has_huge_pages = || {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("HugePages_Free:").map(str::trim).map(str::to_owned));
        line.is_some_and(|count| count != "0")
    };
    if !works_without_huge_pages(args) && !has_huge_pages() {
        return Err(Error::Unsupported(
            "DPDK: no huge page is free: --no-huge works without, and `sysctl vm.nr_hugepages=512` makes some"
                .to_owned(),
        ));
    }
    node::start_dpdk(&eal_arguments(args)).map_err(|said| {
        Error::Unsupported(format!(
            "DPDK does not start: {said} (its own lines above; --memory-mb {} and --eal are given to it)",
            args.memory_mb
        ))
    })?;
    args.vdev.iter().try_for_each(|device| node::make_device(device)).map_err(Error::Usage)
}

/// The most mbufs that a queue needs.
fn mbufs(capacity: Capacity) -> u32 {
    let held = match capacity {
        Capacity::Packets(packets) => u64::from(packets),
        Capacity::Bytes(bytes) => (bytes / SHORTEST_FRAME + 1).min(MOST_HELD),
        Capacity::Unlimited => MOST_HELD,
    };
    (held + MORE_MBUFS).min(u64::from(u32::MAX / 2)) as u32
}

/// The scheduler of the options, and the source of ranks in frames.
fn scheduler(plane: &PlaneArgs, options: &SchedulerOptions) -> Result<(pifolab_scheduler, Option<RankSource>, bool)> {
    let plain = build_scheduler(&plane.scheduler, options)?;
    if let Some(fact) = (plain.wants().needs - Facts::one(Fact::CarriedRank)).first() {
        return Err(Error::Usage(format!(
            "{} needs the fact {} of each packet, which the node does not give it; the switch does (pifolab dataplane switch)",
            plane.scheduler,
            fact.word()
        )));
    }
    let entry = find_scheduler(&plane.scheduler).map_err(Error::Usage)?;
    let (chosen, source) = join_rank(plain, &plane.rank)?;
    let reads_flows = entry.traits.reads_flows || source.is_none();
    // If parameters may change, the scheduler is the paper's loop; otherwise its twin with the same decisions.
    let made = match chosen {
        Chosen::Plain(_) if plane.parameters.is_none() => {
            let made =
                (entry.read)(params(entry.info, options.written())).map_err(|error| Error::Usage(error.to_string()))?;
            pifolab_scheduler::of_parts(made.parts(usual_form()))
        }
        chosen => pifolab_scheduler::of(chosen),
    };
    Ok((made, source, reads_flows))
}

/// The files of a device with this key: `rx_pcap=` of those that it replays, `tx_pcap=` of those that it writes.
fn captures_of<'a>(device: &str, vdevs: &'a [String], key: &'a str) -> impl Iterator<Item = &'a str> {
    let of_device = vdevs.iter().find(|vdev| vdev.split(',').next() == Some(device));
    of_device.into_iter().flat_map(|vdev| vdev.split(',')).filter_map(move |word| word.strip_prefix(key))
}

/// Counts the frames in the files that the driver wrote, since it does not say that the disk is full. Pipes and character
/// devices cannot be read again.
fn check_captures(device: &str, vdevs: &[String], sent: u64) -> Result<()> {
    let files: Vec<_> = captures_of(device, vdevs, "tx_pcap=").collect();
    let is_other = |file: &&&str| std::fs::metadata(file).is_ok_and(|found| !found.is_file());
    if let Some(other) = files.iter().find(is_other) {
        say(&format!("{other} is not a file: whether it has all {sent} frames was not checked"));
        return Ok(());
    }
    let written: u64 = files.iter().map(|file| node::frames_in(file).unwrap_or(0)).sum();
    if files.is_empty() || written >= sent {
        return Ok(());
    }
    Err(Error::Failed(format!("{}: {written} of the {sent} frames were written: is the disk full?", files.join(", "))))
}

fn unlisted(error: &Error) {
    say(&format!("pifolab dataplane status does not list this node: {error}"));
}

/// The number of frames that the node receives before it ends.
fn most(args: &Args, input: &str) -> Result<u64> {
    if args.clock == Clock::Tsc {
        return Ok(args.packets.unwrap_or(u64::MAX));
    }
    if args.rate.is_none() && args.plane.parameters.is_none() {
        return Err(Error::Usage("--clock capture: --rate is missing: the link's, such as 10G".to_owned()));
    }
    let file = captures_of(input, &args.vdev, "rx_pcap=").next().ok_or_else(|| {
        Error::Usage(format!(
            "--clock capture: --in {input}: expected a device that replays a capture: --vdev {input},rx_pcap=FILE"
        ))
    })?;
    // A pipe could be read only once.
    let frames = Some(file).filter(|file| Path::new(file).is_file()).and_then(node::frames_in);
    let frames = frames.ok_or_else(|| Error::Usage(format!("{file}: not a capture in a file that can be read")))?;
    Ok(args.packets.map_or(frames, |packets| packets.min(frames)))
}

/// Runs the nodes of all queues once.
struct Run {
    args: Args,
    nodes: Nodes,
    input: Device,
    output: Device,
    most: u64,
    followed: Option<Followed>,
    begun: Instant,
    record: Option<NodeRecord>,
}

/// The scheduler and the reader of one queue, and the rank of frames that are not IP, beyond their share if they have one.
fn queue_of(plane: &PlaneArgs, options: &SchedulerOptions) -> Result<(pifolab_scheduler, pifolab_reader, Rank)> {
    let (made, source, reads_flows) = scheduler(plane, options)?;
    let given = match plane.rank_options.rank_not_ip {
        NotIp::Share(_) => GivenRank::Worst,
        NotIp::Rank(rank) => rank,
    };
    let options = RankOptions { rank_not_ip: NotIp::Rank(given), ..plane.rank_options.clone() };
    let mut ranks = reader(source, &options)?;
    let not_ip = ranks.not_ip.take().expect("a rank was given");
    let timeout = span("flow-timeout-s", plane.flow_timeout_s)?;
    if !reads_flows && plane.flow_timeout_s != FLOW_TIMEOUT_S {
        let PlaneArgs { flow_timeout_s, scheduler, rank, .. } = plane;
        let message = format!("--flow-timeout-s {flow_timeout_s}: has no effect: {scheduler} by {rank} has no flows");
        return Err(Error::Usage(message));
    }
    let flows = reads_flows.then(|| FlowTable::new(FLOWS, timeout));
    let first = if matches!(plane.rank_options.rank_not_ip, NotIp::Share(_)) { Rank::ZERO } else { not_ip };
    Ok((made, pifolab_reader::of(ranks, first, flows), not_ip))
}

impl Run {
    fn new(args: Args, input: &str, output: &str) -> Result<Self> {
        check_queues(&args)?;
        let file = args.plane.parameters.as_deref().map(ParameterFile::read).transpose()?.unwrap_or_default();
        let options = file.over(&args.plane.scheduler_options);
        let queues = (0..args.device_queues).map(|_| queue_of(&args.plane, &options)).collect::<Result<Vec<_>>>()?;
        let most = most(&args, input)?;
        let rate = link_rate(&file)?.map_or(args.rate.unwrap_or(0), |rate| rate.as_bps());
        if args.overhead_bytes > 0 && rate == 0 && args.plane.parameters.is_none() {
            let message = format!("--overhead-bytes {}: has no effect without --rate", args.overhead_bytes);
            return Err(Error::Usage(message));
        }
        span("interval-s", args.plane.interval_s)?;
        span("duration-s", args.plane.duration_s)?;
        let needed = mbufs(queues[0].0.inspect().capacity()).saturating_mul(args.device_queues.into());
        start_dpdk(&args)?;
        let find = |option: &str, name: &str| {
            let device = Device::find(name).ok_or_else(|| {
                let known = node::devices();
                let known = if known.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("there are {}", known.join(", "))
                };
                Error::Usage(format!("--{option} {name}: no such device; {known} (--vdev makes virtual ones)"))
            })?;
            let has = device.queues();
            if u32::from(args.device_queues) > has {
                return Err(Error::Usage(format!(
                    "--device-queues {}: --{option} {name} has at most {has}",
                    args.device_queues
                )));
            }
            Ok(device)
        };
        let (input, output) = (find("in", input)?, find("out", output)?);
        let pool = node::pool(needed, FRAME_BYTES).map_err(|said| {
            Error::Unsupported(format!(
                "--memory-mb {}: no memory for {needed} frames ({said}): expected more, or a smaller buffer",
                args.memory_mb
            ))
        })?;
        for (option, device) in
            [("in", &input), ("out", &output)].into_iter().take(1 + usize::from(input.port != output.port))
        {
            let spreads = device
                .start(args.device_queues, pool)
                .map_err(|said| Error::Failed(format!("--{option} {}: {said}", device.name)))?;
            if option == "in" && !spreads {
                say(&format!("--in {}: no RSS: the sender picks the queue of each frame", device.name));
            }
        }
        let mut nodes = Vec::new();
        for (number, (made, reader, not_ip)) in (0..).zip(queues) {
            let mut node = Node::new(made, reader, &STOP);
            (node.input, node.output, node.queue, node.rate) = (input.port, output.port, number, rate);
            node.overhead = args.overhead_bytes;
            node.by_capture = args.clock == Clock::Capture;
            if let NotIp::Share(share) = args.plane.rank_options.rank_not_ip {
                (node.share, node.rank_over_share) = (share.into(), not_ip.get());
            }
            if node.by_capture {
                let stamp = node::stamp();
                node.stamp =
                    stamp.ok_or_else(|| Error::Usage(format!("--clock capture: {} has no times", input.name)))?;
            }
            nodes.push(node);
        }
        let PlaneArgs { parameters, scheduler, scheduler_options, .. } = &args.plane;
        let followed = parameters.clone().map(|path| Followed::new(path, scheduler, scheduler_options));
        let record = NodeRecord::new().map_err(|error| unlisted(&error)).ok();
        let nodes = Nodes::new(nodes);
        Ok(Self { args, nodes, input, output, most, followed, begun: Instant::now(), record })
    }

    /// The number of frames in the schedulers and on their way to the device.
    fn held(&self) -> u64 {
        self.nodes.iter().map(|node| node.held()).sum()
    }

    /// The counters of a queue or of all, with the names of the Linux data plane's metrics.
    fn counts(counters: &Counters, held: u64) -> Value {
        let Counters { received, sent, dropped, dropped_at_dequeue, lost_at_change, held_at_end, .. } = *counters;
        let tally = |Tally { packets, bytes }: Tally| json!({ "packets": packets, "bytes": bytes });
        let [admission, full, pushed_out, out_of_range, aqm] = dropped.map(tally);
        json!({
            "received": tally(received),
            "sent": tally(sent),
            "admitted": tally(counters.admitted()),
            "dropped": { "admission": admission, "full": full, "pushed_out": pushed_out, "rank_out_of_range": out_of_range, "aqm": aqm,
                "at_dequeue": tally(dropped_at_dequeue), "at_change": tally(lost_at_change) },
            "held": held,
            "held_at_end": tally(held_at_end),
            "unranked": counters.unranked,
            "neighbour": counters.neighbour,
            "not_ip": counters.not_ip,
            "over_share": counters.over_share,
            "device_full": counters.device_full,
        })
    }

    fn snapshot(&self) -> Value {
        let mut value = Self::counts(&self.nodes.counters(), self.held());
        let queues = self.nodes.iter().flat_map(|node| {
            let inspect = node.scheduler().inspect();
            (0..inspect.queues())
                .map(move |queue| json!({ "occupancy": inspect.queue_len(queue), "bound": inspect.queue_bound(queue) }))
        });
        value["queues"] = queues.collect();
        value["device_queues"] = self.nodes.iter().map(|node| Self::counts(&node.counters, node.held())).collect();
        value["time_s"] = self.begun.elapsed().as_secs_f64().into();
        value["input"] = self.input.name.clone().into();
        value["output"] = self.output.name.clone().into();
        value["scheduler"] = self.args.plane.scheduler.clone().into();
        value["flows_forgotten"] = self.nodes.iter().map(|node| node.reader().forgotten()).sum::<u64>().into();
        value["missed"] = self.input.missed().into();
        value
    }

    /// Writes the file of --metrics and the record for `pifolab dataplane status`. The node does without the record: the user
    /// may lack the right, or the disk may be full.
    fn keep(&mut self) -> Result<()> {
        let counters = self.nodes.counters();
        let mut value = self.snapshot();
        let [admission, full, pushed_out, out_of_range, aqm] = counters.dropped.map(|tally| tally.packets);
        for (key, count) in [
            ("received_packets", counters.received.packets),
            ("sent_packets", counters.sent.packets),
            ("admitted_packets", counters.admitted().packets),
            ("dropped_admission", admission),
            ("dropped_full", full),
            ("evicted_packets", pushed_out),
            ("dropped_rank_out_of_range", out_of_range),
            ("dropped_aqm", aqm + counters.dropped_at_dequeue.packets),
            ("occupancy_packets", self.held()),
        ] {
            value[key] = count.into();
        }
        if let Some(path) = &self.args.metrics {
            let mut metrics = Metrics::default();
            metrics.count(1);
            metrics.plane(&self.output.name, &self.args.plane.scheduler, Some(&value));
            write_whole(path, metrics.text().as_bytes())
                .map_err(|error| Error::Usage(format!("--metrics {}: {error}", path.display())))?;
        }
        if let Some(Err(error)) = self.record.as_ref().map(|record| record.write(&value)) {
            self.record = None;
            unlisted(&error);
        }
        Ok(())
    }

    /// Applies other parameters, if the file has changed.
    fn change(&mut self) {
        let Some((schedulers, rate)) = self.followed.as_ref().and_then(|followed| followed.take(self.nodes.len()))
        else {
            return;
        };
        for (node, mut scheduler) in self.nodes.iter_mut().zip(schedulers) {
            let now = Time::from_ps(node.now_ps());
            let chosen: &mut Chosen = node.scheduler_mut().inner_mut().expect("it was made of this type");
            let inner = chosen.inner_mut();
            let mut lost = Vec::new();
            std::mem::swap(inner, &mut scheduler);
            inner.succeed(&mut *scheduler, now, &mut |packet| lost.push((packet.id, packet.size)));
            for (frame, bytes) in lost {
                // SAFETY: the frame of a packet that no scheduler holds.
                unsafe { node.lose(frame, bytes) };
            }
            node.not_before = 0;
            node.rate = rate.map_or(node.rate, |rate| rate.as_bps());
        }
        self.followed.as_ref().expect("it has said so").told();
    }

    /// Carries frames; returns the reason of an unrequested end.
    fn carry(&mut self) -> Result<Option<String>> {
        let every = |seconds: f64| (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
        let (interval, duration) = (every(self.args.plane.interval_s), every(self.args.plane.duration_s));
        let (mut printed, mut written, mut waited) = (self.begun, None::<Instant>, false);
        for number in 0.. {
            if STOP.load(Ordering::Relaxed) || duration.is_some_and(|duration| self.begun.elapsed() >= duration) {
                break;
            }
            let turn = if self.input.was_up() && self.output.was_up() { TURN_US } else { FIRST_TURN_US };
            self.nodes.share_out(self.most, number);
            self.nodes.turn(turn);
            for node in &*self.nodes {
                match node.state {
                    state::GOES_ON | state::ALL_RECEIVED => {}
                    state::IN_IS_GONE => return Ok(Some(self.input.name.clone())),
                    state::OUT_IS_GONE => return Ok(Some(self.output.name.clone())),
                    _ => return Err(Error::Failed(node.error())),
                }
            }
            let all = self.nodes.counters().received.packets == self.most;
            if all && self.nodes.iter().all(|node| node.state == state::ALL_RECEIVED) {
                return Ok(None);
            }
            self.change();
            if interval.is_some_and(|interval| printed.elapsed() >= interval) {
                printed = Instant::now();
                self.print();
            }
            if written.is_none_or(|at| at.elapsed() >= METRICS_EVERY) {
                written = Some(Instant::now());
                self.keep()?;
            }
            let alone = !waited && self.begun.elapsed() >= ALONE;
            waited |= alone;
            for device in [&mut self.input, &mut self.output] {
                if device.has_lost_its_link() {
                    return Ok(Some(device.name.clone()));
                }
                if alone && !device.was_up() {
                    say(&format!("{}: the link is not up yet: no process is connected, or it serves another one", device.name));
                }
            }
        }
        Ok(None)
    }

    fn print(&self) {
        use std::io::Write;
        // A closed output ends the node, as any other filter.
        if writeln!(std::io::stdout(), "{}", self.snapshot()).is_err() {
            STOP.store(true, Ordering::Relaxed);
        }
    }

    fn end(&mut self, gone: Option<String>) -> Result<()> {
        self.nodes.iter_mut().for_each(|node| node.end());
        self.print();
        self.keep()?;
        if gone.is_some() {
            // The driver shuts its half of the link down in its own thread.
            std::thread::sleep(DISCONNECTING);
        }
        self.input.close();
        if self.input.port != self.output.port {
            self.output.close();
        }
        let counters = self.nodes.counters();
        if !counters.balance(counters.held_at_end.packets) {
            return Err(Error::Failed(format!("frames are not conserved, which is a defect of pifolab: {counters:?}")));
        }
        match gone {
            None => check_captures(&self.output.name, &self.args.vdev, counters.sent.packets),
            Some(device) => Err(Error::Failed(format!(
                "{device}: the link is down, since the process at its other end is gone; what its rings held is counted by nobody; the node has ended"
            ))),
        }
    }
}

fn run(args: Args) -> Result<()> {
    if !args.replay.is_empty() {
        start_dpdk(&args)?;
        let pool = node::pool(REPLAY_MBUFS, LONGEST as u16).map_err(|said| {
            Error::Unsupported(format!("--memory-mb {}: no memory for frames ({said}): expected more", args.memory_mb))
        })?;
        return replay::run(&args.replay, pool, args.json);
    }
    let (input, output) = (args.input.clone(), args.output.clone());
    let (input, output) = input.zip(output).expect("clap requires both without --replay");
    let mut run = Run::new(args, &input, &output)?;
    // Set here, since DPDK installs its own handlers before.
    stop_on_signals();
    let gone = run.carry()?;
    run.end(gone)
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pifolab: {error}");
            error.exit_code()
        }
    }
}

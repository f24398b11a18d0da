//! The user-space switch: a bump in the wire between two interfaces that runs any scheduler of the library.
//!
//! Frames come in through packet-socket rings ([`socket`]), wait in an arena ([`arena`]) while the scheduler of the
//! [`port`] decides about their descriptors, and leave at the pace of a link of the given rate. The other direction
//! passes without a scheduler. No memory is allocated per frame (schedulers with a capacity in bytes may, when one arrival
//! pushes out several packets).
//!
//! Needs CAP_NET_RAW in the user namespace that owns the network namespace: root, or anybody inside `unshare -Urnm`.

pub mod arena;
pub mod bridge;
pub mod change;
pub mod choice;
pub mod chosen;
pub mod conformance;
pub mod counters;
mod interface_lock;
pub mod parameters;
pub mod port;
pub mod share;
pub mod socket;

use crate::error::Trying;
use crate::net::namespace::NetNamespace;
use crate::net::offload::{self, Offload};
use crate::rank::{NotIp, RankOptions, RankSource, table};
use crate::record::offloads::{TurnedOff, restore_after_crashes};
use crate::{Error, Result, say};
use bridge::{Bridge, OnTurn, Snapshot, prefer_this_thread};
use change::Followed;
use choice::{SchedulerOptions, build_scheduler, join_rank};
use chosen::Chosen;
use interface_lock::InterfaceLock;
use parameters::ParameterFile;
use pifolab_frames::reader::RankReader;
use pifolab_units::{Bytes, Rate, Span};
use port::PortConfig;
use socket::PacketSocket;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Flows that get a number of their own; see [`pifolab_frames::flows::FlowTable`].
pub const FLOWS: u32 = 65_536;
/// How long a flow may be silent: longer than the time-outs of transport protocols, and of most firewalls.
pub const FLOW_TIMEOUT_S: f64 = 300.0;

/// The arguments of `pifolab-dataplane switch`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Interface whose frames pass through the scheduler
    #[arg(long = "in", value_name = "IF")]
    input: String,
    /// Interface that the scheduler sends to
    #[arg(long = "out", value_name = "IF")]
    output: String,
    #[command(flatten)]
    link: LinkArgs,
    /// Turn receive offloads of both interfaces off while it runs
    #[arg(long)]
    offloads_off: bool,
    #[command(flatten)]
    plane: PlaneArgs,
}

/// The options that the switch and the DPDK node share.
#[derive(clap::Args, Clone, Debug)]
pub struct PlaneArgs {
    /// Scheduler: any that `pifolab show schedulers` lists
    #[arg(long, default_value = "pifo")]
    pub scheduler: String,
    /// Rank: dscp, dscp:phb (per-hop behaviours), dscp:46=0,34=1, payload:OFFSET:WIDTH, vlan, mpls, table, or a rank function such as stfq, las or fcfs (with parameters: stfq,weights=1/2)
    #[arg(long, default_value = "dscp")]
    pub rank: String,
    /// Frames without a rank.
    #[command(flatten)]
    pub rank_options: RankOptions,
    /// A file with parameters of the scheduler (and rate_mbps), one `name = value` per line; they override those given here; read
    /// again whenever the file changes
    #[arg(long, value_name = "FILE")]
    pub parameters: Option<PathBuf>,
    /// The silence after which a flow is forgotten and counts as new for rank functions (0: never)
    #[arg(long, value_name = "SECONDS", default_value_t = FLOW_TIMEOUT_S)]
    pub flow_timeout_s: f64,
    /// Print the counters as a JSON line at this interval
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub interval_s: f64,
    /// Stop after this time (0: run until a signal)
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub duration_s: f64,
    /// The scheduler's parameters.
    #[command(flatten)]
    pub scheduler_options: SchedulerOptions,
}

/// The simulated link.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct LinkArgs {
    /// Rate of the link
    #[arg(long, default_value_t = 100.0)]
    pub rate_mbps: f64,
    /// One-way delay added in each direction
    #[arg(long, default_value_t = 0)]
    pub delay_us: u64,
    /// Bytes on the link for each frame beyond the frame itself (24 for Ethernet's preamble, check sum and gap)
    #[arg(long, default_value_t = 0)]
    pub overhead_bytes: u64,
}

impl LinkArgs {
    /// The link for the port.
    pub fn port_config(&self, rank: RankReader, not_ip: NotIp) -> Result<PortConfig> {
        let wrong = |key: &str, value: String, range: &str| Error::Usage(format!("--{key} {value}: expected {range}"));
        if !(1e-3..=1e6).contains(&self.rate_mbps) {
            return Err(wrong("rate-mbps", self.rate_mbps.to_string(), "a rate from 0.001 to 1000000 Mb/s"));
        }
        if self.delay_us > 10_000_000 {
            return Err(wrong("delay-us", self.delay_us.to_string(), "at most 10000000 us"));
        }
        if self.overhead_bytes > 1_000 {
            return Err(wrong("overhead-bytes", self.overhead_bytes.to_string(), "at most 1000 bytes"));
        }
        Ok(PortConfig {
            rank,
            not_ip_share: match not_ip {
                NotIp::Share(share) => share,
                NotIp::Rank(_) => 0,
            },
            rate: Rate::from_bps((self.rate_mbps * 1e6).round() as u64).expect("checked above"),
            overhead: Bytes(self.overhead_bytes),
            delay: Span::from_us(self.delay_us),
            frame_bytes: 0,
            flows: FLOWS,
            flow_timeout: Span::from_us((FLOW_TIMEOUT_S * 1e6) as u64),
        })
    }
}

/// What [`open`] opens.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// Interface whose frames pass through the scheduler.
    pub input: String,
    /// Interface that the scheduler sends to.
    pub output: String,
    /// Its name.
    pub scheduler: String,
    /// Its parameters.
    pub parameters: SchedulerOptions,
    /// A file with further parameters, which go before those, and which is followed.
    pub parameter_file: Option<PathBuf>,
    /// The source of ranks: a field of packets, `table`, or a rank function.
    pub rank: String,
    /// The treatment of frames without a rank.
    pub rank_options: RankOptions,
    /// The link.
    pub link: LinkArgs,
    /// The silence after which a flow counts as another one; `None`: the default.
    pub flow_timeout: Option<Span>,
}

/// A switch that is ready to carry frames.
pub type Switch = Bridge<Chosen>;

/// What reads the ranks of frames. A table is read again whenever its file changes.
pub fn reader(source: Option<RankSource>, options: &RankOptions) -> Result<RankReader> {
    let read = options.read_table(source)?;
    // Where a rank function computes the ranks, none is missing.
    let of = source.unwrap_or(RankSource::Las);
    let missing = options.missing(of, read.as_ref());
    let not_ip = options.not_ip(of, read.as_ref());
    let path = options.rank_table.clone();
    let table = read.zip(path).map(|(read, path)| table::followed(read, path));
    Ok(RankReader { source, missing, not_ip, table })
}

/// Opens both interfaces, in the calling thread's network namespace, and builds the scheduler.
pub fn open(config: &SwitchConfig) -> Result<Switch> {
    let file = config.parameter_file.as_deref().map(ParameterFile::read).transpose()?.unwrap_or_default();
    let scheduler = build_scheduler(&config.scheduler, &file.over(&config.parameters))?;
    let (scheduler, source) = join_rank(scheduler, &config.rank)?;
    let mut port = config.link.port_config(reader(source, &config.rank_options)?, config.rank_options.rank_not_ip)?;
    port.rate = change::link_rate(&file)?.unwrap_or(port.rate);
    if let Some(timeout) = config.flow_timeout {
        port.flow_timeout = timeout;
    }
    if config.input == config.output {
        return Err(Error::Usage(format!("--in {0} --out {0}: expected two interfaces", config.input)));
    }
    let locks = InterfaceLock::take(&[&config.input, &config.output])?;
    let open = |interface: &str| {
        PacketSocket::open(interface).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => Error::Unsupported(error.to_string()),
            _ => Error::Failed(error.to_string()),
        })
    };
    let follow = |path: &PathBuf| -> OnTurn<Chosen> {
        let followed = Followed::new(path.clone(), &config.scheduler, &config.parameters);
        Box::new(move |port, now| followed.apply(port, now))
    };
    let bridge = Bridge::new(scheduler, open(&config.input)?, open(&config.output)?, port);
    Ok(bridge.holding(locks).with_turns(config.parameter_file.as_ref().map(follow)))
}

/// Set by a signal: everything that runs ends in good order.
pub static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn handle_signal(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Lets SIGINT and SIGTERM (and SIGHUP, when the terminal closes) set [`STOP`].
pub fn stop_on_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, handle_signal as *const () as libc::sighandler_t) };
    }
}

fn print(snapshot: &Snapshot) {
    let line = serde_json::to_string(snapshot).expect("counters serialize as numbers");
    // A reader that went away ends the switch, like any other filter.
    if writeln!(std::io::stdout(), "{line}").is_err() {
        STOP.store(true, Ordering::Relaxed);
    }
}

/// The seconds that the option `key` has.
pub fn span(key: &str, seconds: f64) -> Result<Span> {
    if (0.0..=1e6).contains(&seconds) {
        return Ok(Span::from_us((seconds * 1e6).round() as u64));
    }
    Err(Error::Usage(format!("--{key} {seconds}: expected from 0 to 1000000 seconds")))
}

/// Looks for offloads that make bundles of received frames, which are longer than any frame may be; turns them off if `off`,
/// as long as what it returns lives, and else says what to do.
fn look_at_offloads(config: &SwitchConfig, off: bool) -> Result<Vec<TurnedOff>> {
    let mut turned = Vec::new();
    let namespace = NetNamespace::current()?;
    for name in [&config.input, &config.output] {
        // A user who may not read such notes, or not write there, has left none.
        let _ = restore_after_crashes(&namespace, Some(name));
        if off {
            turned.push(TurnedOff::new(name, &Offload::INCOMING)?);
            continue;
        }
        let on = offload::enabled(name, &Offload::INCOMING);
        let on = on.trying(|| format!("asking about the offloads of {name}"))?;
        if !on.is_empty() {
            say(&format!(
                "{name}: {} on: merged frames are too long for the switch and are lost; --offloads-off turns them \
                 off while it runs (for good: ethtool -K {name} {})",
                offload::in_words(&on),
                offload::as_off(&on)
            ));
        }
    }
    Ok(turned)
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let plane = args.plane;
    let interval = span("interval-s", plane.interval_s)?;
    let duration = span("duration-s", plane.duration_s)?;
    let config = SwitchConfig {
        input: args.input,
        output: args.output,
        scheduler: plane.scheduler,
        parameters: plane.scheduler_options,
        parameter_file: plane.parameters,
        rank: plane.rank,
        rank_options: plane.rank_options,
        link: args.link,
        flow_timeout: Some(span("flow-timeout-s", plane.flow_timeout_s)?),
    };
    let mut switch = open(&config)?;
    stop_on_signals();
    let _off = look_at_offloads(&config, args.offloads_off)?;
    prefer_this_thread();
    if duration != Span::ZERO {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_nanos(duration.as_ns()));
            STOP.store(true, Ordering::Relaxed);
        });
    }
    let gone = switch.run(&STOP, interval, |snapshot| print(&snapshot));
    let snapshot = switch.snapshot();
    print(&snapshot);
    let oversized = snapshot.forward.oversized.packets + snapshot.reverse.oversized.packets;
    if oversized > 0 {
        eprintln!(
            "pifolab: {oversized} frames were longer than the MTU and are lost: switch segmentation and receive offload off on both \
             sides (ethtool -K IF tso off gso off gro off)"
        );
    }
    match gone {
        Some(interface) => Err(Error::Failed(format!("{interface}: the interface is gone; the switch has ended"))),
        None => Ok(()),
    }
}

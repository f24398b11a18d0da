//! `pifolab-dataplane up`: a scheduler on an interface until the command ends.

use crate::ebpf::plane::best_occupancy;
use crate::ebpf::{KernelPlane, Occupancy, Plane, PlaneConfig, QdiscConfig, QdiscPlane, RankSource, Settings};
use crate::error::Trying;
use crate::net::monitor::Change;
use crate::net::offload;
use crate::rank::RankOptions;
use crate::rank::table::{self, Values};
use crate::record::Record;
use crate::switch::choice::{SchedulerOptions, params};
use crate::switch::parameters::ParameterFile;
use crate::switch::{FLOW_TIMEOUT_S, span};
use crate::watched::Watched;
use crate::{Error, Result, say, tell};
use nix::fcntl::{FcntlArg, OFlag};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use pifolab_registry::find_scheduler;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// The arguments of `pifolab-dataplane up`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Interface whose outgoing packets are scheduled
    #[arg(long, value_name = "IF")]
    dev: String,
    /// Rate of the link, to which the interface is limited so that queues build up here and nowhere else
    #[arg(long, value_name = "MBPS")]
    rate_mbps: f64,
    /// Scheduler with a program for the chosen --qdisc; any other name lists the schedulers that have one
    #[arg(long, value_name = "NAME")]
    scheduler: String,
    /// Rank of a packet: dscp, dscp:phb (per-hop behaviours), dscp:46=0,34=1, payload:OFFSET:WIDTH (bytes of the UDP or TCP payload), vlan, mpls, mark, table, las or stfq
    #[arg(long, default_value = "dscp")]
    rank: RankSource,
    #[command(flatten)]
    rank_options: RankOptions,
    /// With --rank stfq: a file of flows and prefixes with their weights; read again whenever it changes
    #[arg(long, value_name = "FILE")]
    flow_weights: Option<PathBuf>,
    /// With --rank las or stfq: the silence after which a flow counts as new (0: never)
    #[arg(long, value_name = "SECONDS", default_value_t = FLOW_TIMEOUT_S)]
    flow_timeout_s: f64,
    /// Queues: htb, with the program as its filter, or bpf, pifolab's own qdisc (also for pifo)
    #[arg(long, value_enum, default_value = "htb")]
    qdisc: Qdisc,
    /// Source of the queue lengths for the program [default: walk, or clock if the kernel has no BTF]
    #[arg(long, value_enum)]
    occupancy_from: Option<Occupancy>,
    /// A file with parameters of the scheduler (and rate_mbps), one `name = value` per line; they override those given here; read
    /// again whenever the file changes
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// Replace a root qdisc that pifolab did not create
    #[arg(long)]
    force: bool,
    /// Turn the interface's segmentation offloads off while it is up
    #[arg(long)]
    offloads_off: bool,
    /// A scheduler for each transmit queue, under `mq`, with an equal part of the rate: ranks order the packets of a queue only
    #[arg(long)]
    per_queue: bool,
    /// Return when it is up; `down` ends it
    #[arg(long)]
    background: bool,
    #[command(flatten)]
    scheduler_options: SchedulerOptions,
}

/// The kind of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Qdisc {
    /// The kernel's HTB, an eBPF program in front
    Htb,
    /// A BPF qdisc (Linux >= 6.16 with CONFIG_NET_SCH_BPF)
    Bpf,
}

/// The interval, in milliseconds, at which the file of parameters is checked for changes.
const LOOK_EVERY_MS: u16 = 250;

/// Waits for one of the signals `ends`, and reports changes of the interface by others meanwhile.
fn wait(plane: &mut dyn KernelPlane, args: &Args, mut parameters: Option<Watched>, ends: &SigSet) -> Result<()> {
    let signals = SignalFd::with_flags(ends, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
    let signals = signals.trying(|| "waiting for a signal".to_owned())?;
    let mut monitor = plane.installed().monitor()?;
    let Args { dev, scheduler, .. } = args;
    // No event announces a change of a file.
    let timeout = if parameters.is_some() { PollTimeout::from(LOOK_EVERY_MS) } else { PollTimeout::NONE };
    loop {
        if parameters.as_mut().is_some_and(Watched::changed) {
            match args.settings().and_then(|(settings, rate_bps)| plane.change(settings, rate_bps)) {
                Ok(()) => say(&format!("{dev}: {scheduler} now has the new parameters")),
                Err(error) => say(&format!("{dev}: {error}; the parameters are unchanged")),
            }
        }
        if signals.read_signal().trying(|| "waiting for a signal".to_owned())?.is_some() {
            return Ok(());
        }
        let Record { parts, .. } = &plane.installed().record;
        for change in monitor.poll(parts)? {
            match change {
                Change::Renamed(name) => say(&format!("{dev}: its name is {name} now; {scheduler} stays up")),
                Change::LeafReplaced(queue) => {
                    say(&format!("{dev}: the qdisc of queue {queue} was changed; {scheduler} reads its new state"))
                }
                Change::OffloadsOn(on) => say(&format!(
                    "{dev}: {} turned on while {scheduler} is up: a packet in a queue may be a bundle of up to 64 kB (off \
                     again: ethtool -K {dev} {})",
                    offload::in_words(&on),
                    offload::as_off(&on)
                )),
                Change::FilterRemoved => {
                    let message = "its filter was removed, and with it what decides about packets";
                    return Err(Error::Failed(format!("{dev}: {message}; {scheduler} has ended")));
                }
                Change::FilterAfter(place) => say(&format!(
                    "{dev}: {}; {scheduler} does not work as it was put up",
                    place.in_words().unwrap_or_default()
                )),
                Change::Classes(classes) => {
                    say(&format!("{dev}: {}; {scheduler} does not work as it was put up", classes.in_words()))
                }
                Change::Gone => {
                    return Err(Error::Failed(format!("{dev}: the interface is gone; {scheduler} has ended")));
                }
                Change::QueueReplaced(replaced) => {
                    return Err(Error::Failed(format!("{dev}: {replaced}; {scheduler} has ended")));
                }
                Change::RootReplaced(root) => {
                    let root = root.map_or_else(|| "the kernel's default".to_owned(), |root| root.to_string());
                    return Err(Error::Failed(format!(
                        "{dev}: the root qdisc was replaced (now {root}); {scheduler} has ended"
                    )));
                }
            }
        }
        let mut polled = [signals.as_fd(), monitor.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut polled, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(Error::failed("waiting for a signal", error)),
        }
    }
}

/// The data plane to put up.
enum Wanted {
    Htb(Box<PlaneConfig>),
    Bpf(Box<QdiscConfig>),
}

impl Wanted {
    fn up(self) -> Result<Box<dyn KernelPlane>> {
        match self {
            Self::Htb(config) => Ok(Box::new(Plane::up(*config)?)),
            Self::Bpf(config) => Ok(Box::new(QdiscPlane::up(*config)?)),
        }
    }
}

impl Args {
    /// The scheduler's parameters and the rate: those of the command line, overridden by those of the file.
    fn options(&self) -> Result<(SchedulerOptions, u64)> {
        let file = self.parameters.as_deref().map(ParameterFile::read).transpose()?.unwrap_or_default();
        let rate_mbps = file.rate_mbps.unwrap_or(self.rate_mbps);
        if !(0.008..=400_000.0).contains(&rate_mbps) {
            return Err(Error::Usage(format!("--rate-mbps {rate_mbps}: expected a rate from 0.008 to 400000 Mb/s")));
        }
        Ok((file.over(&self.scheduler_options), (rate_mbps * 1e6).round() as u64))
    }

    /// The settings of the eBPF program, and the rate.
    fn settings(&self) -> Result<(Settings, u64)> {
        let info = find_scheduler(&self.scheduler).map_err(Error::Usage)?.info;
        let (options, rate_bps) = self.options()?;
        let occupancy = self.occupancy_from.unwrap_or_else(best_occupancy);
        let settings = Settings::new(&self.scheduler, params(info, options.written()), self.rank, occupancy)?;
        let settings = settings.with_ranks(self.rank, &self.rank_options, self.flow_weights.as_deref())?;
        Ok((settings.with_flow_timeout(span("flow-timeout-s", self.flow_timeout_s)?), rate_bps))
    }

    fn wanted(&self) -> Result<Wanted> {
        if self.qdisc == Qdisc::Bpf {
            let info = find_scheduler(&self.scheduler).map_err(Error::Usage)?.info;
            let (options, rate_bps) = self.options()?;
            if self.per_queue {
                return Err(Error::Usage("--per-queue: expected --qdisc htb, the kernel's queues".to_owned()));
            }
            if self.occupancy_from.is_some() {
                let message = "--occupancy-from has no effect on --qdisc bpf: it holds the packets itself";
                return Err(Error::Usage(message.to_owned()));
            }
            return Ok(Wanted::Bpf(Box::new(QdiscConfig {
                interface: self.dev.clone(),
                rate_bps,
                scheduler: self.scheduler.clone(),
                args: params(info, options.written()),
                rank: self.rank,
                rank_options: self.rank_options.clone(),
                force: self.force,
            })));
        }
        let (settings, rate_bps) = self.settings()?;
        let interface = self.dev.clone();
        let per_queue = self.per_queue;
        Ok(Wanted::Htb(Box::new(PlaneConfig { interface, rate_bps, settings, per_queue, force: self.force })))
    }
}

impl Args {
    /// Updates the maps whenever the file of ranks or weights changes.
    fn watch_table(&self, plane: &dyn KernelPlane) -> Result<()> {
        let (path, values) = match (&self.rank_options.rank_table, &self.flow_weights) {
            (Some(path), _) => (path, Values::Ranks),
            (None, Some(path)) => (path, Values::Weights),
            (None, None) => return Ok(()),
        };
        let mut maps = plane.flow_maps()?;
        table::watch(path.clone(), values, move |table| {
            for maps in &mut maps {
                if let Err(error) = maps.hold(table.clone()) {
                    eprintln!("pifolab: {error}");
                }
            }
            true
        });
        Ok(())
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    // Created before the file is read, so that no change during the setup is missed.
    let parameters = args.parameters.as_deref().map(Watched::new);
    let wanted = args.wanted()?;
    if args.background {
        return in_background();
    }
    // Blocked before the setup, so that a signal waits until the clean-up is prepared.
    let mut ends = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        ends.add(signal);
    }
    ends.thread_block().trying(|| "blocking signals".to_owned())?;
    let mut plane = wanted.up()?;
    if args.qdisc == Qdisc::Htb && args.occupancy_from.is_none() && best_occupancy() == Occupancy::Clock {
        say(&format!(
            "{}: the kernel's queues cannot be read (pifolab doctor says why): what they hold is estimated from the link rate \
             (--occupancy-from clock avoids this message)",
            args.dev
        ));
    }
    plane.installed().look_at_offloads(args.offloads_off)?;
    let mut out = std::io::stdout();
    let said = writeln!(
        out,
        "{}: {} on {} queues at {} Mb/s is up; Ctrl-C or `pifolab dataplane down --dev {}` ends it",
        args.dev,
        args.scheduler,
        plane.queues(),
        args.rate_mbps,
        args.dev
    );
    // The parent process may no longer read the output.
    let _ = said.and_then(|()| out.flush());
    notify_ready();
    args.watch_table(&*plane)?;
    wait(&mut *plane, &args, parameters, &ends)?;
    let last = plane.shown();
    drop(plane);
    if let Ok((_, last)) = last {
        let _ = writeln!(out, "{last}");
    }
    Ok(())
}

/// Notifies the service manager, if one started this process (systemd's `Type=notify`).
fn notify_ready() {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_encoded_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&name),
    };
    let sent = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address));
    if let Err(error) = sent {
        say(&format!("NOTIFY_SOCKET {}: {error}", name.display()));
    }
}

/// Starts the same command in a new session, and returns when it reports that it is up.
fn in_background() -> Result<()> {
    let program = std::env::current_exe().trying(|| "finding this program".to_owned())?;
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--background");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let detach = || {
        // SAFETY: a system call without arguments.
        if unsafe { libc::setsid() } < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: after fork the closure only makes a system call.
    unsafe { command.pre_exec(detach) };
    let mut child = command.spawn().trying(|| "starting in the background".to_owned())?;
    let mut line = String::new();
    let out = child.stdout.take().expect("it is piped");
    BufReader::new(out).read_line(&mut line).trying(|| "listening to the background process".to_owned())?;
    if line.is_empty() {
        let output = child.wait_with_output().trying(|| "waiting for the background process".to_owned())?;
        return Err(ended(output.status, &String::from_utf8_lossy(&output.stderr)));
    }
    // Forward the warnings written before.
    if let Some(mut said) = child.stderr.take() {
        nix::fcntl::fcntl(&said, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).trying(|| "listening to it".to_owned())?;
        let mut text = Vec::new();
        // The read ends with an error when no more data is available.
        let _ = said.read_to_end(&mut text);
        let _ = std::io::stderr().write_all(&text);
    }
    // No name of an interface has a space.
    let at = line.find("; ").unwrap_or(line.trim_end().len());
    tell(&format!("{} (process {})", &line[..at], child.id()));
    Ok(())
}

/// The reason why a background process ended during the setup. A killed process cannot report it.
fn ended(status: ExitStatus, said: &str) -> Error {
    let said = said.trim().trim_start_matches("pifolab: ").to_owned();
    if said.is_empty() {
        let perhaps = if status.signal() == Some(libc::SIGKILL) { "; perhaps it had too little memory" } else { "" };
        return Error::Failed(format!("the background process ended before it was up: {status}{perhaps}"));
    }
    match status.code() {
        Some(2) => Error::Held(said),
        Some(3) => Error::Denied(said),
        _ => Error::Failed(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_process_that_is_killed_before_it_is_up_is_told_of_by_its_signal() {
        let said = |status, said| ended(ExitStatus::from_raw(status), said).to_string();
        let killed = said(libc::SIGKILL, "");
        assert!(killed.contains("signal: 9") && killed.contains("too little memory"), "{killed}");
        let aborted = said(libc::SIGABRT, " ");
        assert!(aborted.contains("signal: 6") && !aborted.contains("memory"), "{aborted}");
        assert!(said(7 << 8, "").contains("exit status: 7"));
        assert_eq!(said(1 << 8, "pifolab: v0: no\n"), "v0: no");
        assert!(matches!(ended(ExitStatus::from_raw(2 << 8), "x"), Error::Held(_)));
        assert!(matches!(ended(ExitStatus::from_raw(3 << 8), "x"), Error::Denied(_)));
    }
}

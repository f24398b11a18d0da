//! The command `tc`, in a namespace.

use super::namespace::NetNamespace;
use super::root::RootQdisc;
use crate::{Error, Result};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// The minor number of the parent of all other classes; queue i is class i + 1.
const ROOT_CLASS: &str = "fff0";

/// Tests whether `tc` can install `kind` on an interface, in a temporary namespace.
pub fn try_qdisc(kind: &'static str) -> std::result::Result<String, String> {
    let attempt = move || -> std::result::Result<String, String> {
        // A new thread, with which the namespace ends.
        let root = nix::unistd::geteuid().is_root();
        if !root {
            return Err("only root can try this; run it again inside `unshare -Urn`".to_owned());
        }
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).map_err(|error| format!("unshare: {error}"))?;
        let namespace = NetNamespace::current().map_err(|error| error.to_string())?;
        let mut command = Command::new("tc");
        command.args(["qdisc", "add", "dev", "lo", "root", "handle", "1:", kind]).stdin(Stdio::null());
        namespace.enter_before(&mut command);
        let output = command.output().map_err(|error| format!("tc: {error}"))?;
        if output.status.success() {
            return Ok(format!("{kind} works"));
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
    };
    std::thread::spawn(attempt).join().unwrap_or_else(|_| Err("the probe ended early".to_owned()))
}

fn run(namespace: &NetNamespace, args: &[&str]) -> Result<Output> {
    let mut command = Command::new("tc");
    command.args(args).stdin(Stdio::null());
    namespace.enter_before(&mut command);
    command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Unsupported(
            "the command tc is missing: install iproute2 (`pifolab doctor` tells what else)".to_owned(),
        ),
        _ => Error::failed(format!("tc {}", args.join(" ")), error),
    })
}

/// Runs each line as a separate command, up to the first failure. `tc -batch` would treat text after a `#` as a
/// comment, but an interface's name may contain one.
fn run_lines(namespace: &NetNamespace, lines: &str, what: &str) -> Result<()> {
    lines.lines().try_for_each(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        expect(run(namespace, &words)?, what).map(drop)
    })
}

fn expect(output: Output, what: &str) -> Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    Err(if said.contains("Operation not permitted") {
        Error::Denied(format!(
            "{what}: not permitted: it requires root (or CAP_NET_ADMIN); the user-space switch works without: pifolab \
             dataplane switch"
        ))
    } else if said.contains("qdisc kind is unknown") || said.contains("No such file or directory") {
        Error::Unsupported(format!("{what}: this kernel has no HTB (CONFIG_NET_SCH_HTB): {said}"))
    } else {
        Error::failed(what, said)
    })
}

/// The queues of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueTree {
    /// The link rate in bits per second.
    pub rate_bps: u64,
    /// The bytes that may leave immediately.
    pub burst_bytes: u64,
    /// The length of the longest frame in bytes.
    pub frame_bytes: u32,
    /// The capacity of each leaf, highest priority first.
    pub capacities: Vec<u64>,
    /// The number of existing queues: at least those with a capacity.
    pub made: usize,
    /// Whether capacities are in bytes.
    pub in_bytes: bool,
    /// The share of the link for frames that are not IP, in 65536ths; 0 without a share.
    pub not_ip_share: u32,
}

impl QueueTree {
    /// Installs an HTB `root` with one leaf class per queue on `dev`, at its root or under a class of an `mq`.
    pub fn install(&self, namespace: &NetNamespace, dev: &str, root: &RootQdisc, parent: Option<u32>) -> Result<()> {
        let place = match parent {
            None => format!("qdisc add dev {dev} root"),
            // In the place of the kernel's default.
            Some(parent) => format!("qdisc replace dev {dev} parent {:x}:{:x}", parent >> 16, parent & 0xFFFF),
        };
        let lines = format!("{place} handle {:x}: htb default 1\n", root.major()) + &self.lines(dev, root, None);
        run_lines(namespace, &lines, &format!("installing the queues on {dev}"))
    }

    /// Changes the existing tree `old` to this one: rate, capacities, additional queues. No packet is dropped: removed
    /// queues remain, and are unused once empty.
    ///
    /// # Errors
    /// If the user lacks the right, or a leaf was replaced. Then the old state is restored as far as the kernel allows.
    pub fn change(&self, old: &Self, namespace: &NetNamespace, dev: &str, root: &RootQdisc) -> Result<()> {
        let change = |to: &Self, from: &Self| {
            let lines = to.lines(dev, root, Some(from.made));
            run_lines(namespace, &lines, &format!("changing the queues on {dev}"))
        };
        change(self, old).inspect_err(|_| {
            // If the restore fails, no other remedy exists.
            let _ = change(old, old);
        })
    }

    /// The classes and leaves, with `existing` queues already present; `None` if nothing is present.
    fn lines(&self, dev: &str, root: &RootQdisc, existing: Option<usize>) -> String {
        let Self { rate_bps: rate, burst_bytes: burst, frame_bytes: frame, .. } = self;
        let major = root.major();
        let verb = |there: bool| if there { "change" } else { "add" };
        let any = verb(existing.is_some());
        let mut lines = format!(
            "class {any} dev {dev} parent {major:x}: classid {major:x}:{ROOT_CLASS} htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum {frame}\n"
        );
        let fifo = if self.in_bytes { "bfifo" } else { "pfifo" };
        // Unused queues send their remaining packets at the same rate as the others.
        for queue in 0..self.made.max(self.capacities.len()) {
            let class = format!("{major:x}:{:x}", queue + 1);
            let verb = verb(existing.is_some_and(|existing| queue < existing));
            // 8bit is the smallest rate that tc accepts. A class sends almost nothing at its own rate, and borrows the
            // rest in the order of prio.
            lines += &format!(
                "class {verb} dev {dev} parent {major:x}:{ROOT_CLASS} classid {class} htb rate 8bit ceil {rate}bit burst {frame} cburst {burst} prio {queue} quantum {frame}\n"
            );
            if let Some(capacity) = self.capacities.get(queue) {
                let handle = major as usize + 1 + queue;
                lines += &format!("qdisc {verb} dev {dev} parent {class} handle {handle:x}: {fifo} limit {capacity}\n");
            }
        }
        if self.not_ip_share > 0 {
            lines += &self.not_ip_classes(dev, major, any);
        }
        lines
    }
}

/// The minor numbers of the class for the share of frames that are not IP, and of its two leaf classes.
///
/// The first leaf class is for neighbour discovery and address resolution, the second for all other frames. `CLASS_NEIGHBOUR` and `CLASS_OTHER` in intf.h.
const NOT_IP_CLASS: &str = "ffe0";
const NOT_IP_LEAVES: [&str; 2] = ["ffe1", "ffe2"];
/// The capacity of each leaf in frames.
const NOT_IP_LIMIT: u32 = 32;
/// The handles of their queues relative to the root's, after those of HTB's eight priorities.
const NOT_IP_HANDLES: usize = 0x20;

impl QueueTree {
    /// A class that sends at its own rate precedes those that borrow from the root, so the share precedes all queues.
    /// It never borrows, so it gets at most the share. Each of the two leaf classes has half, and lends it.
    fn not_ip_classes(&self, dev: &str, major: u32, verb: &str) -> String {
        let Self { burst_bytes, frame_bytes: frame, .. } = self;
        let share = ((u128::from(self.rate_bps) * u128::from(self.not_ip_share)) >> 16) as u64;
        // 8 bit/s is the smallest rate that tc accepts.
        let (share, half) = (share.max(16), (share / 2).max(8));
        let burst = ((u128::from(*burst_bytes) * u128::from(self.not_ip_share)) >> 16).max(u128::from(*frame));
        let parent = format!("{major:x}:{NOT_IP_CLASS}");
        let mut lines = format!(
            "class {verb} dev {dev} parent {major:x}:{ROOT_CLASS} classid {parent} htb rate {share}bit ceil {share}bit burst {burst} cburst {burst} quantum {frame}\n"
        );
        for (number, leaf) in NOT_IP_LEAVES.iter().enumerate() {
            let handle = major as usize + NOT_IP_HANDLES + number;
            lines += &format!(
                "class {verb} dev {dev} parent {parent} classid {major:x}:{leaf} htb rate {half}bit ceil {share}bit burst {burst} cburst {burst} prio 0 quantum {frame}\n\
                 qdisc {verb} dev {dev} parent {major:x}:{leaf} handle {handle:x}: pfifo limit {NOT_IP_LIMIT}\n"
            );
        }
        lines
    }
}

/// The prefix of pifolab's kinds of qdisc.
pub const QDISC_PREFIX: &str = "pifolab_";

/// Installs a `root` qdisc without options on `dev`: `mq`, or one of pifolab's kinds.
///
/// # Errors
/// If the user lacks the right, or there is another root qdisc.
pub fn install_qdisc(namespace: &NetNamespace, dev: &str, root: &RootQdisc) -> Result<()> {
    let handle = format!("{:x}:", root.major());
    let output = run(namespace, &["qdisc", "add", "dev", dev, "root", "handle", &handle, &root.kind])?;
    expect(output, &format!("installing the qdisc on {dev}")).map(drop)
}

/// The kernel's counters of the root qdisc of `dev`.
pub fn root_counters(namespace: &NetNamespace, dev: &str) -> Result<Leaf> {
    let what = format!("reading the counters of {dev}");
    let qdiscs = json(namespace, &["-s", "-j", "qdisc", "show", "dev", dev, "root"], &what)?;
    let root = qdiscs.first();
    let number = |key: &str| root.and_then(|root| root[key].as_u64()).unwrap_or(0);
    Ok(Leaf { packets: number("qlen"), bytes: number("backlog"), drops: number("drops") })
}

fn json(namespace: &NetNamespace, args: &[&str], what: &str) -> Result<Vec<Value>> {
    let text = expect(run(namespace, args)?, what)?;
    // Without qdiscs or filters, tc may print nothing.
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let values = serde_json::from_slice(&text).map_err(|error| Error::failed(what, error))?;
    match values {
        Value::Array(values) => Ok(values),
        other => Err(Error::failed(what, format!("expected a list, got {other}"))),
    }
}

/// The kernel's counters of one leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Packets refused after the filter admitted them.
    pub drops: u64,
}

/// The kernel's counters of the leaves under `root`, in the order of the queues.
pub fn leaves(namespace: &NetNamespace, dev: &str, root: &RootQdisc, queues: usize) -> Result<Vec<Leaf>> {
    let what = format!("reading the counters of {dev}");
    let qdiscs = json(namespace, &["-s", "-j", "qdisc", "show", "dev", dev], &what)?;
    let of = |queue: usize| {
        let parent = format!("{:x}:{:x}", root.major(), queue + 1);
        let leaf = qdiscs.iter().find(|qdisc| qdisc["parent"].as_str() == Some(&parent));
        let number = |key: &str| leaf.and_then(|leaf| leaf[key].as_u64()).unwrap_or(0);
        Leaf { packets: number("qlen"), bytes: number("backlog"), drops: number("drops") }
    };
    Ok((0..queues).map(of).collect())
}

//! Network namespaces that cannot outlive the process.
//!
//! A namespace here has no name in the file system; it exists while this process holds its descriptor. Any end of the
//! process, including kill -9, ends the namespace and every interface in it. Until then, a shell can enter it by the
//! path from [`Namespace::path`] (`nsenter --net=/proc/PID/fd/N`).

use crate::error::Trying;
use crate::net::offload::{self, Offload};
use crate::{Error, Result};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A network namespace without a name.
pub struct Namespace {
    file: File,
    /// The role in the experiment, for messages.
    role: &'static str,
}

impl Namespace {
    /// Creates an empty namespace, with the loopback interface up and IPv6 off, because neighbour discovery would add
    /// packets.
    pub fn new(role: &'static str) -> Result<Self> {
        let file = thread::scope(|scope| {
            let made = scope.spawn(|| -> io::Result<File> {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            made.join().expect("the thread does not panic")
        })
        .map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Error::Unsupported(format!(
                "cannot make a network namespace: {error}; run as root, or allow unprivileged user namespaces \
                 (sysctl kernel.unprivileged_userns_clone, user.max_net_namespaces)"
            )),
            _ => Error::failed("cannot make a network namespace", error),
        })?;
        let namespace = Self { file, role };
        namespace.enter(|| {
            for scope in ["all", "default"] {
                // A kernel without IPv6 does not have this file, and sends no neighbour discovery.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
            }
        });
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Runs `work` on a new thread inside the namespace, and waits for it.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| self.spawn(scope, work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    /// Starts `work` on a new thread inside the namespace.
    pub fn spawn<'scope, T: Send + 'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> thread::ScopedJoinHandle<'scope, T> {
        scope.spawn(move || {
            setns(&self.file, CloneFlags::CLONE_NEWNET).expect("a namespace that this process made can be entered");
            work()
        })
    }

    /// A path by which other processes can find the namespace while this process runs.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs `ip` with `arguments` inside the namespace.
    ///
    /// # Errors
    /// If there is no `ip` command, or it fails; the message contains its output.
    pub fn ip(&self, arguments: &str) -> Result<()> {
        self.command("ip", arguments)
    }

    /// Runs a command with `arguments`, split at spaces, inside the namespace.
    ///
    /// # Errors
    /// If the command does not exist, or it fails; the message contains its output.
    pub fn command(&self, program: &str, arguments: &str) -> Result<()> {
        self.command_with_input(program, arguments, "")
    }

    /// Like [`command`](Self::command), with `input` as standard input.
    pub fn command_with_input(&self, program: &str, arguments: &str, input: &str) -> Result<()> {
        let run = || -> io::Result<Output> {
            let mut command = Command::new(program);
            command.args(arguments.split_whitespace()).stdin(Stdio::piped());
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            // A command that ends without reading all input prints the reason to standard error.
            let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
            child.wait_with_output()
        };
        let output = self.enter(run).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Error::Unsupported(format!("there is no {program} command; install iproute2"))
            } else {
                Error::failed(program, error)
            }
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::failed(format!("{program} {arguments} (in the {}'s namespace)", self.role), said.trim()))
    }

    /// Writes a file below /proc/sys inside the namespace.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<()> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.enter(|| fs::write(&path, value)).trying(|| format!("cannot set {path} to {value}"))
    }

    /// Turns segmentation, receive and checksum offload of an interface off, because a queue must hold packets as on
    /// the wire, not bundles of 64 KB.
    pub fn offloads_off(&self, interface: &str) -> Result<()> {
        self.enter(|| offloads_off(interface)).trying(|| format!("cannot turn the offloads of {interface} off"))
    }
}

fn offloads_off(interface: &str) -> io::Result<()> {
    offload::checksums_off(interface)?;
    offload::set(interface, &[Offload::Tso, Offload::Gso, Offload::Gro], false)
}

/// Ensures that this process may create network namespaces. Root may; other users enter a new user namespace in which
/// they are root. Must be called before any thread is started. Returns whether a user namespace was needed.
///
/// # Errors
/// If user namespaces are not allowed; the message contains a remedy.
pub fn gain_network_rights() -> Result<bool> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    if user.is_root() && unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(false);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|error| {
        Error::Unsupported(format!(
            "not root, and without user namespaces: {error}; run as root, or allow unprivileged user namespaces (sysctl \
             kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0)"
        ))
    })?;
    let map = |file: &str, text: String| fs::write(file, text).trying(|| format!("cannot write {file}"));
    // A kernel before 3.19 has no setgroups file, and maps the group without it.
    let _ = fs::write("/proc/self/setgroups", "deny");
    map("/proc/self/uid_map", format!("0 {user} 1"))?;
    map("/proc/self/gid_map", format!("0 {group} 1"))?;
    Ok(true)
}

/// Three namespaces in a row, like the machines of a testbed: sender, router, receiver.
pub struct Lab {
    /// The sender; its interface is `s0`.
    pub sender: Namespace,
    /// The router; `r0` faces the sender, `r1` the receiver. The bottleneck is `r1`.
    pub router: Namespace,
    /// The receiver; its interface is `d0`.
    pub receiver: Namespace,
}

/// The sender's address.
pub const SENDER: &str = "10.78.1.2";
/// The receiver's address.
pub const RECEIVER: &str = "10.78.2.2";

impl Lab {
    /// Creates the namespaces and the wires. With `forward`, the router forwards IP packets (the kernel's data plane).
    /// Otherwise its interfaces have no addresses, and a program must move frames between them.
    pub fn new(forward: bool, mtu: u32) -> Result<Self> {
        let lab = Self {
            sender: Namespace::new("sender")?,
            router: Namespace::new("router")?,
            receiver: Namespace::new("receiver")?,
        };
        for (end, end_if, router_if) in [(&lab.sender, "s0", "r0"), (&lab.receiver, "d0", "r1")] {
            let router = lab.router.path();
            end.ip(&format!("link add {end_if} mtu {mtu} type veth peer name {router_if} mtu {mtu} netns {router}"))?;
            end.offloads_off(end_if)?;
            lab.router.offloads_off(router_if)?;
            end.ip(&format!("link set {end_if} up"))?;
            lab.router.ip(&format!("link set {router_if} up"))?;
        }
        // Without forwarding, both ends are in one 16-bit network. The addresses are the same in both cases.
        let bits = if forward { 24 } else { 16 };
        lab.sender.ip(&format!("addr add {SENDER}/{bits} dev s0"))?;
        lab.receiver.ip(&format!("addr add {RECEIVER}/{bits} dev d0"))?;
        if forward {
            lab.router.sysctl("net.ipv4.ip_forward", "1")?;
            lab.router.ip("addr add 10.78.1.1/24 dev r0")?;
            lab.router.ip("addr add 10.78.2.1/24 dev r1")?;
            lab.sender.ip("route add default via 10.78.1.1")?;
            lab.receiver.ip("route add default via 10.78.2.1")?;
        }
        Ok(lab)
    }
}

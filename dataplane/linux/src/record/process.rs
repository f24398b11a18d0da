//! The identity of a process. The pid alone does not suffice, because the kernel reuses it.

use crate::{Error, Result, say};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// The longest wait for a process to end, in milliseconds.
const PATIENCE_MS: i32 = 30_000;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The start time, in clock ticks since boot.
    started: u64,
    /// The PID namespace of the process id.
    pid_namespace: u64,
}

/// The start time of a process. `None` if it does not exist, or is a zombie until its parent waits for it (in a
/// container possibly never).
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain any text. After it are the state and, as the 20th field, the start time.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

impl Process {
    /// The identity of this process.
    pub fn this() -> Result<Self> {
        let pid = std::process::id();
        let started = start_of(pid).ok_or_else(|| Error::Failed("/proc does not show this process".to_owned()))?;
        Ok(Self { pid, started, pid_namespace: pid_namespace() })
    }

    /// Whether the process is alive. A process of another PID namespace is not visible; then the lock decides.
    pub fn is_alive(&self) -> bool {
        self.is_elsewhere() || start_of(self.pid) == Some(self.started)
    }

    fn is_elsewhere(&self) -> bool {
        self.pid_namespace != pid_namespace()
    }

    /// Ends the process and waits for its end; kills it if it does not end in time. Never signals another process:
    /// signals use a descriptor of the process whose start time was compared.
    pub fn stop(&self) -> Result<()> {
        self.stop_within(PATIENCE_MS)
    }

    fn stop_within(&self, patience_ms: i32) -> Result<()> {
        // To call after a failed system call.
        let ended_or_failed = || match std::io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(Error::failed(format!("ending process {}", self.pid), error)),
        };
        if self.is_elsewhere() {
            return Err(Error::Failed(format!(
                "process {} belongs to another PID namespace (a container): end it there",
                self.pid
            )));
        }
        // SAFETY: system calls with plain numbers; a new descriptor that nothing else owns.
        let fd = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, self.pid as libc::pid_t, 0);
            if fd < 0 {
                return ended_or_failed();
            }
            OwnedFd::from_raw_fd(fd as i32)
        };
        // The descriptor refers to one process. With the recorded start time, it is the right process.
        if start_of(self.pid) != Some(self.started) {
            return Ok(());
        }
        let send = |signal: libc::c_int| {
            let null = std::ptr::null::<libc::siginfo_t>();
            // SAFETY: no signal information is given.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd.as_raw_fd(), signal, null, 0) }
        };
        let has_ended = || {
            let mut ended = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the pointer describes `ended`.
            unsafe { libc::poll(&raw mut ended, 1, patience_ms) > 0 }
        };
        // A stopped process receives the first signal when it continues.
        for signal in [libc::SIGTERM, libc::SIGCONT] {
            if send(signal) < 0 {
                return ended_or_failed();
            }
        }
        if has_ended() {
            return Ok(());
        }
        say(&format!("process {} did not end within {} s: it is killed", self.pid, patience_ms / 1000));
        if send(libc::SIGKILL) < 0 {
            return ended_or_failed();
        }
        if has_ended() { Ok(()) } else { Err(Error::Failed(format!("process {} did not end", self.pid))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_process_is_gone_also_before_anybody_asks_how_it_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let start = start_of(child.id()).expect("it runs");
        assert!(start >= start_of(std::process::id()).expect("this process runs"));
        child.kill().expect("it can be killed");
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            start_of(child.id()).is_none()
        });
        child.wait().expect("it is there to be asked");
        assert!(gone, "it counts as alive");
    }

    #[test]
    fn a_stopped_process_ends_and_one_that_ignores_the_signal_is_killed() {
        for (script, stopped) in [("exec sleep 60", true), ("trap '' TERM; echo; while :; do sleep 1; done", false)] {
            let script = format!("echo; {script}");
            let mut command = std::process::Command::new("sh");
            let mut child =
                command.args(["-c", &script]).stdout(std::process::Stdio::piped()).spawn().expect("a child");
            let mut out = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
            for _ in 0..if stopped { 1 } else { 2 } {
                std::io::BufRead::read_line(&mut out, &mut String::new()).expect("it says that it runs");
            }
            if stopped {
                // SAFETY: a signal to a child that has not been waited for.
                unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
            }
            let started = start_of(child.id()).expect("it is there");
            let process = Process { pid: child.id(), started, pid_namespace: pid_namespace() };
            process.stop_within(if stopped { PATIENCE_MS } else { 200 }).expect("it ends");
            let status = child.wait().expect("a child");
            let signal = std::os::unix::process::ExitStatusExt::signal(&status);
            assert_eq!(signal, Some(if stopped { libc::SIGTERM } else { libc::SIGKILL }), "{script}");
        }
    }

    #[test]
    fn a_process_that_got_the_number_of_another_is_not_signalled() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let this = Process::this().expect("this process");
        let started = start_of(child.id()).expect("it runs");
        let other = Process { pid: child.id(), started: started - 1, ..this };
        assert!(!other.is_alive());
        other.stop().expect("there is nothing to end");
        let elsewhere = Process { started, pid_namespace: 1, ..other };
        let said = elsewhere.stop().expect_err("the number means another process there").to_string();
        assert!(said.contains("another PID namespace"), "{said}");
        assert!(child.try_wait().expect("a child").is_none(), "it was signalled");
        let right = Process { pid_namespace: pid_namespace(), ..elsewhere };
        right.stop().expect("it ends");
        assert!(!child.wait().expect("a child").success());
    }
}

//! A user's own sender: a shell command in the sender's namespace.

use super::namespace::{Lab, RECEIVER};
use super::traffic::sleep_until;
use super::udp::{FIRST_PORT, Timetable};
use crate::error::Trying;
use crate::{Error, Result};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

/// Runs `command` from the beginning of the timetable to its end, or until `stop`, and then ends all processes that it
/// started. A command that ends early has sent all of its packets.
pub fn run(command: &str, flows: usize, lab: &Lab, table: Timetable, stop: &AtomicBool) -> Result<()> {
    let tried = || format!("--sender {command}");
    if !sleep_until(table.origin_ns, stop) {
        return Ok(());
    }
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env("PIFOLAB_RECEIVER", RECEIVER)
        .env("PIFOLAB_FIRST_PORT", FIRST_PORT.to_string())
        .env("PIFOLAB_FLOWS", flows.to_string())
        .env("PIFOLAB_LENGTH_S", (table.length_ns as f64 / 1e9).to_string())
        .stdin(Stdio::null())
        // The testbed prints its table to standard output.
        .stdout(Stdio::null())
        .process_group(0);
    // SAFETY: after fork the closure only makes a system call.
    unsafe {
        shell.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    // PR_SET_PDEATHSIG ends the children of a thread with the thread, so the thread that starts the command also waits.
    lab.sender.enter(|| {
        let mut child = shell.spawn().trying(tried)?;
        let group = child.id() as libc::pid_t;
        let end = table.origin_ns + table.length_ns;
        let early = loop {
            if let Some(status) = child.try_wait().trying(tried)? {
                break Some(status);
            }
            if super::traffic::now_ns() >= end || !sleep_until(end.min(super::traffic::now_ns() + 20_000_000), stop) {
                break None;
            }
        };
        // SAFETY: the group is the child's. The child has not been waited for, or other processes of the group keep its
        // number.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        child.wait().trying(tried)?;
        match early {
            Some(status) if !status.success() => {
                Err(Error::Failed(format!("--sender {command}: it ended with {status}")))
            }
            _ => {
                sleep_until(end, stop);
                Ok(())
            }
        }
    })
}

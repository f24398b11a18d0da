//! A sender of the user's own: a shell command in the sender's namespace.

use super::namespace::{Lab, RECEIVER};
use super::traffic::sleep_until;
use super::udp::{FIRST_PORT, Timetable};
use crate::error::Trying;
use crate::{Error, Result};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

/// Runs `command` from the beginning of the timetable to its end, or until `stop`; then everything that it started is
/// ended. One that ends early has sent all that it wanted.
///
/// # Errors
/// It cannot be started, or ends with an error of its own.
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
        // Standard output is the testbed's table.
        .stdout(Stdio::null())
        .process_group(0);
    // SAFETY: after fork the closure only makes a system call.
    unsafe {
        shell.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    // A thread's children end with it (PR_SET_PDEATHSIG): the one that starts it waits, too.
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
        // SAFETY: the group is that of the child, which has not been waited for, or whose other processes keep its number.
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

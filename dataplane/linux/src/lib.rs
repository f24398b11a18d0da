//! pifolab's schedulers on real packets.
//!
//! Two data planes: eBPF programs in front of the strict-priority queues that the Linux kernel has ([`ebpf`]), the
//! setting for which the papers' algorithms were made; and a user-space switch ([`switch`]) that runs any scheduler of
//! the library, ideal PIFO included. [`testbed`] runs the papers' testbed experiments on both.

pub mod conformance;
pub mod control;
pub mod doctor;
#[cfg(feature = "ebpf")]
pub mod ebpf;
pub mod error;
pub mod net;
pub mod rank;
pub mod record;
mod replay;
pub mod switch;
pub mod testbed;
mod watched;

pub use error::{Error, Result};

/// Prints a line on standard error, if it is still read.
pub fn say(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("pifolab: {line}\n").as_bytes());
}

/// Prints a line on standard output, if it is still read: a command that changes something continues either way.
pub fn tell(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes());
}

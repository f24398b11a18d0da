//! pifolab's schedulers on real packets.
//!
//! There are two data planes. [`ebpf`] loads eBPF programs in front of the Linux kernel's strict-priority queues, the
//! setting of the papers' algorithms. [`switch`] is a user-space switch that runs any scheduler of the library,
//! including the ideal PIFO. [`testbed`] runs the papers' testbed experiments on both.

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
pub mod whole;

pub use error::{Error, Result};

/// Prints a line to standard error; ignores a closed stream.
pub fn say(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("pifolab: {line}\n").as_bytes());
}

/// Prints a line to standard output; ignores a closed stream, so that a command with effects continues.
pub fn tell(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes());
}

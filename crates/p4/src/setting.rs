//! A scheduler on a target, and why there may be no parameter file for it.

use crate::target::Target;
use pifolab_registry::{Form, Made};
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::ParamError;
use std::fmt;

/// Why there is no parameter file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The library refuses a parameter.
    Wrong(String),
    /// The program of this target does not support it.
    Unsupported(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(message) | Self::Unsupported(message) => f.write_str(message),
        }
    }
}

impl From<ParamError> for Refusal {
    fn from(error: ParamError) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// A scheduler of the library, with the parameters that it has read, on a target.
pub struct Setting<'a> {
    /// The scheduler's name.
    pub name: &'static str,
    pub target: Target,
    pub made: &'a Made,
    /// Whether capacities are in bytes; else in packets.
    pub in_bytes: bool,
    /// The capacity of each queue in that unit.
    pub capacities: Vec<u64>,
}

impl Setting<'_> {
    /// The scheduler's typed parameters.
    ///
    /// # Panics
    /// Their type is not `P`.
    pub fn params<P: 'static>(&self) -> &P {
        self.made.params().expect("the program names the schedulers that have these parameters")
    }

    /// The scheduler.
    pub fn scheduler(&self) -> BoxedScheduler {
        self.made.scheduler(Form::Plain)
    }

    /// Refuses any value of the parameter `key` but `only`.
    pub fn require<T: fmt::Display + PartialEq>(&self, key: &str, given: T, only: T) -> Result<(), Refusal> {
        if given == only { Ok(()) } else { Err(self.unsupported(format!("{key} = {given}: expected {only}"))) }
    }

    /// Refuses a delay of the lengths: it depends on the machine of the program, not on a parameter.
    pub fn refuse_late_lengths(&self, delay: u32) -> Result<(), Refusal> {
        self.require("occupancy_delay_packets", delay, 0)
    }

    pub fn unsupported(&self, what: impl fmt::Display) -> Refusal {
        Refusal::Unsupported(format!("{} on {}: {what}", self.name, self.target.label()))
    }
}

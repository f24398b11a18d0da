//! Parameters by the names of the library's tables, and why there may be no parameter file.

use crate::target::Target;
use pifolab_params::FromValue;
use pifolab_sched::params::{self, Args, Info, ParamError};
use pifolab_sched::{Capacity, Room};
use std::fmt;

/// Why there is no parameter file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The library refuses a parameter.
    Wrong(String),
    /// The program of this target cannot do it.
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

/// Reads parameters by the names of the library's table, each of which exists or the library has changed.
pub struct Reader {
    pub info: &'static Info,
    pub args: Args,
    pub target: Target,
}

impl Reader {
    pub fn get<T: FromValue>(&mut self, name: &str) -> Result<Option<T>, Refusal> {
        Ok(self.args.get(self.info.row(name))?)
    }

    pub fn given<T: FromValue>(&mut self, name: &str) -> Result<T, Refusal> {
        Ok(self.args.given(self.info.row(name))?)
    }

    /// Refuses another value of `name` than `only`, which is a number, a flag or a word as it is written.
    pub fn require(&mut self, name: &str, only: &str) -> Result<(), Refusal> {
        match self.text(name)? {
            Some(given) if given != only => Err(self.unsupported(format!("{name} = {given}: expected {only}"))),
            _ => Ok(()),
        }
    }

    /// The value of `name` as users write it: the given one or the default.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let value = self.args.value(self.info.row(name))?;
        Ok(value.map(|value| value.to_string().trim_matches('"').to_owned()))
    }

    /// How stale the lengths are is decided where the program runs, not by a parameter.
    pub fn refuse_late_lengths(&mut self) -> Result<(), Refusal> {
        match self.given::<u64>("occupancy_delay_packets")? {
            0 => Ok(()),
            delay => Err(self.unsupported(format!("occupancy_delay_packets = {delay}: expected 0"))),
        }
    }

    pub fn unsupported(&self, what: impl fmt::Display) -> Refusal {
        Refusal::Unsupported(format!("{} on {}: {what}", self.info.name, self.target.label()))
    }
}

/// The capacities, in the unit that they have in common.
pub fn read_capacities(reader: &mut Reader, single: bool) -> Result<(bool, Vec<u64>), Refusal> {
    let capacities = if single {
        vec![params::read_capacity(&mut reader.args)?]
    } else {
        params::read_queue_capacities(&mut reader.args)?
    };
    let in_bytes = matches!(capacities[0], Capacity::Bytes(_));
    Ok((in_bytes, capacities.into_iter().map(|capacity| Room::new(capacity).total()).collect()))
}

//! What a program reads of the library's parameters, and what it makes of them: the memory that it is loaded with.

use super::intf::{MAX_QUEUES, Shared};
use crate::{Error, Result};
use pifolab_params::FromValue;
use pifolab_sched::params::{self, Args, FromArgs, Info, ParamError};
use pifolab_sched::{Capacity, Room};
use std::fmt;

/// The queues, in numbers.
#[derive(Clone, Copy, Debug)]
pub struct Queues {
    /// How many there are.
    pub count: usize,
    /// The capacity of all of them.
    pub total: u64,
    /// Capacities are in bytes.
    pub in_bytes: bool,
}

/// Reads parameters by the names of the library's table, each of which exists or the library has changed.
pub struct Reader {
    info: &'static Info,
    args: Args,
    capacities: Vec<Capacity>,
}

impl Reader {
    pub(super) const fn new(info: &'static Info, args: Args) -> Self {
        Self { info, args, capacities: Vec::new() }
    }

    /// The parameter `name`, if it is given or has a default.
    ///
    /// # Errors
    /// The value is not what the table wants.
    pub fn get<T: FromValue>(&mut self, name: &str) -> Result<Option<T>> {
        self.args.get(self.info.row(name)).map_err(wrong)
    }

    /// The parameter `name`, which has a default or must be given.
    ///
    /// # Errors
    /// The value is not what the table wants.
    pub fn given<T: FromValue>(&mut self, name: &str) -> Result<T> {
        self.args.given(self.info.row(name)).map_err(wrong)
    }

    /// The capacity of the one queue of the scheduler.
    ///
    /// # Errors
    /// The value is not what the table wants.
    pub fn buffer(&mut self) -> Result<Queues> {
        let capacity = params::read_capacity(&mut self.args).map_err(wrong)?;
        self.with(vec![capacity])
    }

    /// The capacities of the scheduler's queues, highest priority first.
    ///
    /// # Errors
    /// The values are not what the table wants; more queues than a program has.
    pub fn queues(&mut self) -> Result<Queues> {
        let capacities = params::read_queue_capacities(&mut self.args).map_err(wrong)?;
        self.with(capacities)
    }

    /// Everything that the library makes the scheduler from. The capacities of its queues are then to be given to
    /// [`with`](Self::with).
    ///
    /// # Errors
    /// A value is not what the table wants.
    pub fn all<P: FromArgs>(&mut self) -> Result<P> {
        P::from_args(&mut self.args).map_err(wrong)
    }

    /// Queues of these capacities, highest priority first.
    ///
    /// # Errors
    /// They are more queues than a program has.
    pub fn with(&mut self, capacities: Vec<Capacity>) -> Result<Queues> {
        let count = capacities.len();
        if count > MAX_QUEUES {
            return Err(self.unsupported(format!("{count} queues: expected at most {MAX_QUEUES}")));
        }
        let in_bytes = matches!(capacities[0], Capacity::Bytes(_));
        let total = capacities.iter().map(|capacity| units(*capacity)).sum();
        self.capacities = capacities;
        Ok(Queues { count, total, in_bytes })
    }

    /// What [`buffer`](Self::buffer) or [`queues`](Self::queues) read, once all that was written has been.
    ///
    /// # Errors
    /// A parameter that the library knows and the program did not ask for.
    pub(super) fn into_capacities(self) -> Result<Vec<Capacity>> {
        let Self { info, args, capacities } = self;
        args.finish(info.params).map_err(|error| {
            let ParamError { owner, key, .. } = error;
            Error::Unsupported(format!(
                "{owner}: the eBPF program does not support the parameter {key}: leave it at its default"
            ))
        })?;
        Ok(capacities)
    }

    /// Refuses `occupancy_delay_packets`: the program runs where packets are queued and always knows the lengths of now.
    ///
    /// # Errors
    /// It is not 0.
    pub fn refuse_late_lengths(&mut self) -> Result<()> {
        match self.given::<u64>("occupancy_delay_packets")? {
            0 => Ok(()),
            _ => Err(self.unsupported("delayed queue lengths: expected occupancy_delay_packets = 0")),
        }
    }

    /// The error that says what the program does not have.
    pub fn unsupported(&self, what: impl fmt::Display) -> Error {
        Error::Unsupported(format!("{}: the eBPF program does not support {what}", self.info.name))
    }
}

/// A capacity in its own unit.
pub(super) fn units(capacity: Capacity) -> u64 {
    Room::new(capacity).total()
}

pub(super) fn wrong(error: params::ParamError) -> Error {
    Error::Usage(error.to_string())
}

/// The memory that a program starts with, by the names of its sections, and how much of it the papers count.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    sections: Vec<(&'static str, Vec<u8>)>,
    /// Registers as the papers count them: what the algorithm remembers from packet to packet.
    pub registers: u64,
    /// What they hold.
    pub registers_hold: &'static str,
    /// Bytes of look-up tables.
    pub table_bytes: u64,
}

impl Memory {
    /// Memory with `count` registers, which hold what `hold` says.
    pub fn with_registers(count: u64, hold: &'static str) -> Self {
        Self::default().registers(count, hold)
    }

    /// The same with `count` registers.
    #[must_use]
    pub const fn registers(mut self, count: u64, hold: &'static str) -> Self {
        (self.registers, self.registers_hold) = (count, hold);
        self
    }

    /// The same with `bytes` of look-up tables.
    #[must_use]
    pub const fn table_bytes(mut self, bytes: u64) -> Self {
        self.table_bytes = bytes;
        self
    }

    /// The same with `value` in the section `name`.
    #[must_use]
    pub fn section<T: Shared>(mut self, name: &'static str, value: &T) -> Self {
        self.set(name, value.bytes().to_vec());
        self
    }

    /// Puts `bytes` into the section `name`.
    pub(super) fn set(&mut self, name: &'static str, bytes: Vec<u8>) {
        self.sections.retain(|(known, _)| *known != name);
        self.sections.push((name, bytes));
    }

    /// The names of the sections.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.sections.iter().map(|(name, _)| *name)
    }

    /// The section `name`, if the program has it.
    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes.as_slice())
    }

    /// The section `name`.
    ///
    /// # Errors
    /// There is none, or it is of another type.
    pub fn get<T: Shared>(&self, name: &str) -> Result<T> {
        let found = self.bytes(name).and_then(T::from_bytes);
        found.ok_or_else(|| Error::Failed(format!("the program has no {name} of {} bytes", size_of::<T>())))
    }
}

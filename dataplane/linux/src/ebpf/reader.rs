//! Reads the library's parameters for a program, and computes the program's initial memory.

use super::intf::{MAX_QUEUES, Shared};
use crate::{Error, Result};
use pifolab_params::FromValue;
use pifolab_sched::params::{self, Args, FromArgs, Info, ParamError};
use pifolab_sched::{Capacity, Room};
use std::fmt;

/// The number and capacity of the queues.
#[derive(Clone, Copy, Debug)]
pub struct Queues {
    /// The number of queues.
    pub count: usize,
    /// The sum of the capacities.
    pub total: u64,
    /// Whether capacities are in bytes.
    pub in_bytes: bool,
}

/// Reads parameters by their names in the library's table.
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
    /// If the table does not allow the value.
    pub fn get<T: FromValue>(&mut self, name: &str) -> Result<Option<T>> {
        self.args.get(self.info.row(name)).map_err(wrong)
    }

    /// The parameter `name`, which is required or has a default.
    ///
    /// # Errors
    /// If the table does not allow the value.
    pub fn given<T: FromValue>(&mut self, name: &str) -> Result<T> {
        self.args.given(self.info.row(name)).map_err(wrong)
    }

    /// The capacity of the scheduler's single queue.
    ///
    /// # Errors
    /// If the table does not allow the value.
    pub fn buffer(&mut self) -> Result<Queues> {
        let capacity = params::read_capacity(&mut self.args).map_err(wrong)?;
        self.with(vec![capacity])
    }

    /// The capacities of the scheduler's queues, highest priority first.
    ///
    /// # Errors
    /// If the table does not allow the values, or there are more queues than a program supports.
    pub fn queues(&mut self) -> Result<Queues> {
        let capacities = params::read_queue_capacities(&mut self.args).map_err(wrong)?;
        self.with(capacities)
    }

    /// The scheduler's parameters as the library's struct. The capacities of its queues must then be passed to
    /// [`with`](Self::with).
    ///
    /// # Errors
    /// If the table does not allow a value.
    pub fn all<P: FromArgs>(&mut self) -> Result<P> {
        P::from_args(&mut self.args).map_err(wrong)
    }

    /// Queues of these capacities, highest priority first.
    ///
    /// # Errors
    /// If there are more queues than a program supports.
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

    /// The capacities that [`buffer`](Self::buffer) or [`queues`](Self::queues) read, after all written parameters were
    /// read.
    ///
    /// # Errors
    /// If the library knows a written parameter that the program has not read.
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

    /// Rejects `occupancy_delay_packets`: the program runs next to the queues, so its occupancies are always current.
    ///
    /// # Errors
    /// If the value is not 0.
    pub fn refuse_late_lengths(&mut self) -> Result<()> {
        match self.given::<u64>("occupancy_delay_packets")? {
            0 => Ok(()),
            _ => Err(self.unsupported("delayed queue lengths: expected occupancy_delay_packets = 0")),
        }
    }

    /// The error for an unsupported feature.
    pub fn unsupported(&self, what: impl fmt::Display) -> Error {
        Error::Unsupported(format!("{}: the eBPF program does not support {what}", self.info.name))
    }
}

/// The size of a capacity in its unit.
pub(super) fn units(capacity: Capacity) -> u64 {
    Room::new(capacity).total()
}

pub(super) fn wrong(error: params::ParamError) -> Error {
    Error::Usage(error.to_string())
}

/// The initial memory of a program by section, and the amounts that the papers count.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    sections: Vec<(&'static str, Vec<u8>)>,
    /// The registers as the papers count them: the algorithm's state between packets.
    pub registers: u64,
    /// The contents of the registers.
    pub registers_hold: &'static str,
    /// Bytes of look-up tables.
    pub table_bytes: u64,
}

impl Memory {
    /// Creates memory with `count` registers with the contents `hold`.
    pub fn with_registers(count: u64, hold: &'static str) -> Self {
        Self::default().registers(count, hold)
    }

    /// Sets the number and contents of the registers.
    #[must_use]
    pub const fn registers(mut self, count: u64, hold: &'static str) -> Self {
        (self.registers, self.registers_hold) = (count, hold);
        self
    }

    /// Sets the bytes of look-up tables.
    #[must_use]
    pub const fn table_bytes(mut self, bytes: u64) -> Self {
        self.table_bytes = bytes;
        self
    }

    /// Sets the section `name` to `value`.
    #[must_use]
    pub fn section<T: Shared>(mut self, name: &'static str, value: &T) -> Self {
        self.set(name, value.bytes().to_vec());
        self
    }

    /// Sets the section `name` to `bytes`.
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
    /// If the section does not exist or has another type.
    pub fn get<T: Shared>(&self, name: &str) -> Result<T> {
        let found = self.bytes(name).and_then(T::from_bytes);
        found.ok_or_else(|| Error::Failed(format!("the program has no {name} of {} bytes", size_of::<T>())))
    }
}

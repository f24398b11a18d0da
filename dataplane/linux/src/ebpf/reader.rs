//! The library's parameters for a program, and the program's initial memory.

use super::intf::{MAX_QUEUES, Shared};
use crate::{Error, Result};
use pifolab_registry::Made;
use pifolab_sched::params::{Info, ParamError};
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

/// A scheduler of the library with the parameters that it has read.
pub struct Reader {
    info: &'static Info,
    made: Made,
    capacities: Vec<Capacity>,
}

impl Reader {
    pub(super) const fn new(info: &'static Info, made: Made) -> Self {
        Self { info, made, capacities: Vec::new() }
    }

    /// The scheduler's parameters as the library's struct. The capacities of its queues must then be passed to
    /// [`with`](Self::with).
    ///
    /// # Panics
    /// If they are not a `P`.
    pub fn params<P: Clone + 'static>(&self) -> P {
        self.made.params::<P>().expect("the program has the name of its scheduler").clone()
    }

    /// Queues of these capacities, highest priority first.
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

    /// The capacities that were passed to [`with`](Self::with).
    pub(super) fn into_capacities(self) -> Vec<Capacity> {
        self.capacities
    }

    /// Rejects the parameter `key`, which the program has only with the default value, if it has another one.
    pub fn leave(&self, key: &str, is_default: bool) -> Result<()> {
        if is_default { Ok(()) } else { Err(self.unsupported(format!("the parameter {key}: leave it at its default"))) }
    }

    /// Rejects `occupancy_delay_packets`: the program runs next to the queues, so its occupancies are always current.
    pub fn refuse_late_lengths(&self, delay: u32) -> Result<()> {
        match delay {
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

pub(super) fn wrong(error: ParamError) -> Error {
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
    pub fn get<T: Shared>(&self, name: &str) -> Result<T> {
        let found = self.bytes(name).and_then(T::from_bytes);
        found.ok_or_else(|| Error::Failed(format!("the program has no {name} of {} bytes", size_of::<T>())))
    }
}

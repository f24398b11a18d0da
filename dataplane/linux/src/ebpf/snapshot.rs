//! What a data plane holds and has done, for people and for programs.

use super::intf::WindowState;
use super::intf::{Config, EXPONENTS, ExpPifoState, ExpTable, MAX_QUEUES, RifoState, Shared, SpPifoState, Stats};
use super::loaded::{self, Loaded, Source};
use super::settings::Program;
use crate::net::tc::Leaf;
use crate::{Error, Result};
use serde::Serialize;
use std::fmt;

/// Where the maps of a program are read: in this process, or in the kernel by their numbers.
pub(crate) trait Maps {
    fn get<T: Shared>(&self, name: &str) -> Result<T>;
}

impl Maps for Loaded {
    fn get<T: Shared>(&self, name: &str) -> Result<T> {
        self.get(name)
    }
}

impl Maps for Source<'_> {
    fn get<T: Shared>(&self, name: &str) -> Result<T> {
        self.read(name)
    }
}

impl Maps for [(String, u32)] {
    fn get<T: Shared>(&self, name: &str) -> Result<T> {
        let entry = self.iter().find(|(known, _)| known == name);
        let (_, id) = entry.ok_or_else(|| Error::Failed(format!("no map {name}")))?;
        loaded::read_by_id(*id, name)
    }
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueSnapshot {
    /// The most that it holds, in the unit of the snapshot.
    pub capacity: u64,
    /// What the kernel's queue holds, in that unit.
    pub occupancy: u64,
    /// Packets that the program let in.
    pub admitted_packets: u64,
    /// Their bytes.
    pub admitted_bytes: u64,
    /// Packets that passed the test but met this queue full.
    pub dropped_full: u64,
    /// Packets that the program let in and the kernel's queue refused.
    pub dropped_by_leaf: u64,
    /// The smallest rank that it takes (SP-PIFO) or the largest (PACKS eq. 11, Exp-PIFO with `mapping = bounds`).
    pub bound: Option<i64>,
}

/// The registers of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Registers {
    /// FIFO has none; SP-PIFO's are the bounds of its queues.
    Bounds,
    /// The window, oldest rank first.
    Window(Vec<u64>),
    /// RIFO's Min and Max, absent before the first packet, and its counter.
    Range {
        /// The smallest rank of the tracking range.
        min: Option<u64>,
        /// The largest.
        max: Option<u64>,
        /// Packets of the tracking range so far.
        counter: u64,
    },
    /// Exp-PIFO's exponent and counter.
    Exponent {
        /// The bounds reach r_min 2^beta.
        beta: u32,
        /// Packets of the window so far.
        counter: u64,
    },
}

/// A data plane at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// Of capacities and occupancies: `packets` or `bytes`.
    pub unit: &'static str,
    /// Highest priority first.
    pub queues: Vec<QueueSnapshot>,
    /// Packets whose rank the test refused.
    pub dropped_admission: u64,
    /// IP packets that carried no rank and got that of `--rank-missing`.
    pub unranked: u64,
    /// Frames of address resolution and neighbour discovery.
    pub neighbour: u64,
    /// Frames that were not IP.
    pub not_ip: u64,
    /// Times that the counters did not agree with the kernel and were set right (with `--occupancy-from counters`).
    pub resyncs: u64,
    /// The scheduler's registers.
    pub registers: Registers,
}

impl Snapshot {
    pub(crate) fn read(program: Program, maps: &(impl Maps + ?Sized), leaves: &[Leaf]) -> Result<Self> {
        let config: Config = maps.get(loaded::CONFIG)?;
        let stats: Stats = maps.get(loaded::STATS)?;
        let leaf = |queue: usize| leaves.get(queue).copied().unwrap_or_default();
        let queue = |queue: usize| QueueSnapshot {
            capacity: config.capacity[queue],
            occupancy: if config.in_bytes == 0 { leaf(queue).packets } else { leaf(queue).bytes },
            admitted_packets: stats.admitted_packets[queue],
            admitted_bytes: stats.admitted_bytes[queue],
            dropped_full: stats.full[queue],
            dropped_by_leaf: leaf(queue).drops,
            bound: None,
        };
        let mut snapshot = Self {
            scheduler: program.name(),
            unit: if config.in_bytes == 0 { "packets" } else { "bytes" },
            queues: (0..config.queues as usize).map(queue).collect(),
            dropped_admission: stats.admission,
            unranked: stats.unranked,
            neighbour: stats.neighbour,
            not_ip: stats.other,
            resyncs: stats.resyncs,
            registers: Registers::Bounds,
        };
        snapshot.read_registers(program, maps, &config)?;
        Ok(snapshot)
    }

    fn read_registers(&mut self, program: Program, maps: &(impl Maps + ?Sized), config: &Config) -> Result<()> {
        match program {
            Program::Fifo => {}
            Program::SpPifo => {
                let state: SpPifoState = maps.get(loaded::STATE)?;
                for (queue, bound) in self.queues.iter_mut().zip(state.bounds) {
                    queue.bound = Some(bound);
                }
            }
            Program::Aifo | Program::Packs => {
                let state: WindowState = maps.get(loaded::STATE)?;
                if program == Program::Packs {
                    self.packs_bounds(&state, config);
                }
                self.registers = Registers::Window(state.in_order(config.window as usize));
            }
            Program::Rifo => {
                let RifoState { min, max, counter } = maps.get(loaded::STATE)?;
                let seen = min <= max;
                self.registers = Registers::Range { min: seen.then_some(min), max: seen.then_some(max), counter };
            }
            Program::ExpPifo => {
                let state: ExpPifoState = maps.get(loaded::STATE)?;
                if config.by_bounds != 0 {
                    let table: ExpTable = maps.get(loaded::TABLE)?;
                    let row = &table.bounds[(state.beta as usize % EXPONENTS) * MAX_QUEUES..];
                    let last = self.queues.len() - 1;
                    for (queue, bound) in self.queues[..last].iter_mut().zip(row) {
                        queue.bound = i64::try_from(*bound).ok();
                    }
                }
                self.registers = Registers::Exponent { beta: state.beta, counter: state.counter };
            }
        }
        Ok(())
    }

    /// Equation 11: the largest rank up to the highest seen whose quantile passes; -1 if none does.
    fn packs_bounds(&mut self, state: &WindowState, config: &Config) {
        let mut ranks: Vec<i128> = state
            .in_order(config.window as usize)
            .into_iter()
            .map(|rank| i128::from(rank) + i128::from(config.shift))
            .collect();
        ranks.sort_unstable();
        let free = |queue: &QueueSnapshot| u128::from(queue.capacity.saturating_sub(queue.occupancy));
        let whole: u128 = self.queues.iter().map(free).sum();
        let mut free_parts = 0;
        for queue in &mut self.queues {
            free_parts += if config.global_occupancy == 0 { free(queue) } else { whole };
            let count =
                free_parts * u128::from(state.held.max(1)) * u128::from(config.scale) / u128::from(config.weight);
            let place = usize::try_from(count).ok().and_then(|count| ranks.get(count));
            let highest = i128::from(state.highest);
            let bound = place.map_or(highest, |rank| rank - i128::from(config.lower_or_equal));
            queue.bound = Some(bound.clamp(-1, highest) as i64);
        }
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_admission + self.queues.iter().map(|queue| queue.dropped_full + queue.dropped_by_leaf).sum::<u64>()
    }

    /// Packets that the program let in.
    pub fn admitted(&self) -> u64 {
        self.queues.iter().map(|queue| queue.admitted_packets).sum()
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = self.queues.iter().any(|queue| queue.bound.is_some());
        write!(
            f,
            "queue  {:>9}  capacity  {:>12}  {:>15}  {:>12}  {:>9}",
            "occupancy", "admitted", "bytes", "dropped full", "by leaf"
        )?;
        writeln!(f, "{}", if bounds { "  bound" } else { "" })?;
        for (index, queue) in self.queues.iter().enumerate() {
            write!(
                f,
                "{index:>5}  {:>9}  {:>8}  {:>12}  {:>15}  {:>12}  {:>9}",
                queue.occupancy,
                queue.capacity,
                queue.admitted_packets,
                queue.admitted_bytes,
                queue.dropped_full,
                queue.dropped_by_leaf
            )?;
            match queue.bound {
                Some(bound) => writeln!(f, "  {bound}")?,
                None if bounds => writeln!(f, "  -")?,
                None => writeln!(f)?,
            }
        }
        write!(
            f,
            "(in {}) dropped by admission {}, without a rank {}, ARP and neighbour discovery {}, not IP {}, resyncs {}",
            self.unit, self.dropped_admission, self.unranked, self.neighbour, self.not_ip, self.resyncs
        )?;
        match &self.registers {
            Registers::Bounds => Ok(()),
            Registers::Window(ranks) => {
                let newest = &ranks[ranks.len().saturating_sub(20)..];
                write!(f, "\nwindow: {} ranks, the newest {newest:?}", ranks.len())
            }
            Registers::Range { min: Some(min), max: Some(max), counter } => {
                write!(f, "\nMin {min}, Max {max}, counter {counter}")
            }
            Registers::Range { counter, .. } => write!(f, "\nno rank seen, counter {counter}"),
            Registers::Exponent { beta, counter } => write!(f, "\nbeta {beta}, counter {counter}"),
        }
    }
}

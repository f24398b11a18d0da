//! Converts the library's names and parameters to the memory of an eBPF program.
//!
//! The library reads and checks every parameter. This module checks the limits of the program,
//! and precomputes thresholds, exponents and tables.

use super::intf::{Config, Shared};
use super::program::Program;
use super::programs::find_filter;
use super::reader::{Memory, Reader, units, wrong};
use crate::rank::table::{Table, Values};
use crate::rank::{NotIp, RankOptions, RankSource};
use crate::{Error, Result};
use pifolab_registry::find_scheduler;
use pifolab_sched::Capacity;
use pifolab_sched::params::Args;
use pifolab_units::{Rank, Span};
use std::fmt;
use std::path::Path;

/// The program's source of the queues' occupancies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Occupancy {
    /// Counted by tracepoints at the qdisc's enqueue and dequeue, and set right when the qdisc disagrees
    Counters,
    /// Read from the kernel's leaf qdiscs at every packet: exact
    Walk,
    /// Reckoned from the link rate: a few packets off, needs nothing from the kernel
    Clock,
    /// Told by user space
    #[value(skip)]
    Harness,
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counters => "counters",
            Self::Walk => "walk",
            Self::Clock => "clock",
            Self::Harness => "harness",
        })
    }
}

/// The data with which a program is loaded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program.
    pub program: &'static dyn Program,
    /// The frozen configuration. The interface's part is set when the program is attached.
    pub config: Config,
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The scheduler's parameters, tables and initial registers.
    pub memory: Memory,
    /// Ranks or weights of flows.
    pub flow_table: Option<Table>,
}

impl Settings {
    /// The settings of the scheduler `name` with the library's parameters `args`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a parameter that the library rejects, [`Error::Unsupported`] for one that the program does
    /// not support.
    pub fn new(name: &str, args: Args, rank: RankSource, occupancy: Occupancy) -> Result<Self> {
        Self::of(find_filter(name)?, args, rank, occupancy)
    }

    /// The settings of `program`, a filter or a qdisc.
    pub fn of(program: &'static dyn Program, args: Args, rank: RankSource, occupancy: Occupancy) -> Result<Self> {
        let entry = find_scheduler(program.name()).map_err(Error::Usage)?;
        let mut reader = Reader::new(entry.info, (entry.read)(args).map_err(wrong)?);
        let memory = program.read(&mut reader)?;
        let capacities = reader.into_capacities();
        let mut settings = Self { program, config: Config::zeroed(), capacities, memory, flow_table: None };
        settings.set_capacities();
        settings.set_rank(rank);
        settings.config.occupancy = occupancy as u32;
        Ok(settings)
    }

    /// Whether capacities and occupancies are in bytes.
    pub const fn in_bytes(&self) -> bool {
        self.config.in_bytes != 0
    }

    fn set_capacities(&mut self) {
        self.config.queues = self.capacities.len() as u32;
        for (slot, capacity) in self.config.capacity.iter_mut().zip(&self.capacities) {
            *slot = units(*capacity);
        }
        self.config.in_bytes = matches!(self.capacities[0], Capacity::Bytes(_)).into();
        self.config.total = self.config.capacity.iter().sum();
    }

    fn set_rank(&mut self, rank: RankSource) {
        // `enum pf_rank_source`.
        self.config.rank_source = match rank {
            RankSource::Dscp | RankSource::DscpBy(_) => 0,
            RankSource::Payload { offset, width } => {
                (self.config.payload_offset, self.config.payload_width) = (offset.into(), width.into());
                1
            }
            RankSource::Vlan => 2,
            RankSource::Mpls => 3,
            RankSource::Mark => 4,
            RankSource::Table => 5,
            RankSource::Las => 6,
            RankSource::Stfq => 7,
        };
        self.config.dscp_ranks = match rank {
            RankSource::DscpBy(map) => map.ranks(),
            _ => std::array::from_fn(|dscp| dscp as u16),
        };
        self.set_without_rank(rank, &RankOptions::default());
    }

    pub(super) fn set_without_rank(&mut self, rank: RankSource, options: &RankOptions) {
        let table = self.flow_table.as_ref();
        self.config.rank_missing = options.missing(rank, table).get();
        self.config.rank_not_ip = options.not_ip(rank, table).map_or(0, Rank::get);
        self.config.not_ip_share = match options.rank_not_ip {
            NotIp::Share(share) => share,
            NotIp::Rank(_) => 0,
        };
    }

    /// Sets the options for packets without a rank, the table of `--rank table`, and STFQ's weights.
    pub fn with_ranks(mut self, rank: RankSource, options: &RankOptions, weights: Option<&Path>) -> Result<Self> {
        self.flow_table = options.read_table(Some(rank))?;
        if let Some(path) = weights {
            if rank != RankSource::Stfq {
                let message = format!("--flow-weights {}: has no effect without --rank stfq", path.display());
                return Err(Error::Usage(message));
            }
            self.flow_table = Some(Table::read(path, Values::Weights)?);
            self.config.weighted = 1;
        }
        self.set_without_rank(rank, options);
        Ok(self)
    }

    /// Sets the silence `timeout` after which flows restart; 0 for never.
    #[must_use]
    pub const fn with_flow_timeout(mut self, timeout: Span) -> Self {
        self.config.flow_timeout_ns = timeout.as_ns();
        self
    }

    /// Whether ranks are computed per flow.
    pub const fn computes_ranks(&self) -> bool {
        self.config.rank_source >= 6
    }

    /// Whether the program uses the table of flows and prefixes.
    pub const fn looks_up(&self) -> bool {
        self.config.rank_source == 5 || self.config.weighted != 0
    }

    /// Whether ranks also require the dequeue tracepoint.
    pub const fn needs_virtual_time(&self) -> bool {
        self.config.rank_source == 7
    }
}

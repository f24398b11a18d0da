//! Rows in the list of schedulers: how a scheduler is built from text, what its decisions depend on, how figures draw
//! it, its cost in a switch. Code reads these properties from the row, never from the name.

use crate::made::{Apart, Made, OfTwin, Whole, usual_form};
use pifolab_fast::Twin;
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, Construct, FromArgs, Info, ParamError};
use pifolab_sched::{FromParams, Parts, Scheduler};

/// A scheduler that can be built from text, with the properties that other crates read.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerEntry {
    /// Its description for users.
    pub info: &'static Info,
    /// What its decisions depend on.
    pub traits: Traits,
    /// How figures draw it.
    pub look: Look,
    /// The parameters that `pifolab advise` tries, each with its values as text. `None` if the scheduler is no
    /// candidate: no switch has it, or its parameters must be known in advance.
    pub advice: Option<&'static [(&'static str, &'static [&'static str])]>,
    /// Its cost in a switch, counted from its algorithm; `None` if no switch has it.
    pub cost: Option<fn(&Made) -> SwitchCost>,
    /// Its keys that name files, relative to the file in which the key is written.
    pub files: &'static [&'static str],
    /// Reads its arguments. Each must be known and have an effect.
    pub read: fn(Args) -> Result<Made, ParamError>,
}

impl SchedulerEntry {
    /// The scheduler with these arguments.
    pub fn build(&self, args: Args) -> Result<BoxedScheduler, ParamError> {
        Ok((self.read)(args)?.scheduler(usual_form()))
    }

    /// Its cost in a switch with these arguments; `None` if no switch has it.
    pub fn cost_of(&self, args: &Args) -> Result<Option<SwitchCost>, ParamError> {
        // Without a cost no argument is read, since arguments may name files.
        self.cost.map(|cost| Ok(cost(&(self.read)(args.clone())?))).transpose()
    }
}

/// What a scheduler's decisions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Ranks, for the order or for drops.
    pub reads_ranks: bool,
    /// The flow of a packet, and its size even if the capacity is in packets.
    pub reads_flows: bool,
    /// The time of a call.
    pub reads_time: bool,
    /// Whether it is work-conserving: it never leaves the link idle while it holds a packet.
    pub conserves_work: bool,
    /// Whether it is the ideal that others are compared with.
    pub ideal: bool,
    /// Whether it is a single first-in first-out queue with tail drop.
    pub tail_drop: bool,
    /// Whether it may refuse or mark packets for which there is room
    /// ([`DropReason::Admission`](pifolab_sched::DropReason::Admission)).
    pub tests_arrivals: bool,
    /// Whether the published network simulation calls its admission test even if the link is idle.
    pub tests_when_idle: bool,
}

/// By rank and work-conserving, as most schedulers.
pub const BY_RANK: Traits = Traits {
    reads_ranks: true,
    reads_flows: false,
    reads_time: false,
    conserves_work: true,
    ideal: false,
    tail_drop: false,
    tests_arrivals: false,
    tests_when_idle: false,
};

/// How figures draw a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its name in figures.
    pub label: &'static str,
    /// `#rrggbb`: Okabe and Ito's colours (2008) for the schedulers that most figures compare, Paul Tol's "muted" scheme
    /// for the others.
    pub colour: &'static str,
    /// Lengths of strokes and gaps, alternating; empty for a solid line.
    pub dash: &'static [u8],
    /// The marker, by its name in matplotlib.
    pub marker: &'static str,
}

/// The cost of a scheduler in a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchCost {
    /// Values that change with the packets.
    pub registers: u64,
    /// Bytes of the look-up tables that an implementation without multiplication needs.
    pub table_bytes: f64,
    /// Comparisons with registers, look-ups and changes of registers for one packet, in the most expensive case.
    pub operations: u64,
    /// How registers and bytes were counted.
    pub counted: String,
}

impl SwitchCost {
    /// Sets the number of operations for each packet.
    pub(crate) fn doing(self, operations: u64) -> Self {
        Self { operations, ..self }
    }
}

pub(crate) fn counted(registers: u64, table_bytes: f64, counted: impl Into<String>) -> SwitchCost {
    SwitchCost { registers, table_bytes, operations: 0, counted: counted.into() }
}

/// A row whose arguments `read` reads.
pub(crate) const fn row(
    info: &'static Info,
    read: fn(Args) -> Result<Made, ParamError>,
    traits: Traits,
    look: Look,
) -> SchedulerEntry {
    SchedulerEntry { info, traits, look, advice: None, cost: None, files: &[], read }
}

/// A row for the decider whose twin is `W`, joined to queues.
pub(crate) const fn decider<W: Twin>(traits: Traits, look: Look) -> SchedulerEntry {
    let read = |args| {
        let params = <W::Of as FromParams>::Params::build(args)?;
        W::Of::from_params(params.clone())?;
        Ok(Made::new(OfTwin::<W>(params)))
    };
    row(&<<W::Of as FromParams>::Params as FromArgs>::INFO, read, traits, look)
}

/// A row for any other scheduler.
pub(crate) const fn scheduler<S: Construct + Scheduler + Send + 'static>(traits: Traits, look: Look) -> SchedulerEntry {
    let read = |args| {
        let params = S::Params::build(args)?;
        S::construct(params.clone())?;
        Ok(Made::new(Whole::<S>::new(params)))
    };
    row(&<S::Params as FromArgs>::INFO, read, traits, look)
}

/// A row for a scheduler that is no decider but can be taken apart, so that ports of a network store less of each
/// packet.
pub(crate) const fn in_parts<S: Construct + Scheduler + Into<Parts> + Send + 'static>(
    traits: Traits,
    look: Look,
) -> SchedulerEntry {
    let read = |args| {
        let params = S::Params::build(args)?;
        S::construct(params.clone())?;
        Ok(Made::new(Apart::<S>::new(params)))
    };
    row(&<S::Params as FromArgs>::INFO, read, traits, look)
}

pub(crate) const fn look(label: &'static str, colour: &'static str, dash: &'static [u8], marker: &'static str) -> Look {
    Look { label, colour, dash, marker }
}

//! What a row in the list of schedulers or of rank functions says: how it is built from text, what its decisions depend on,
//! how figures draw it, what it keeps in a switch. Code that needs one of these asks the row, never the name.

use crate::params::{Args, FromArgs, Info, ParamError, Value};
use crate::{Facts, Parts, RankFn, Scheduler};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use pifolab_units::Ratio;

/// A scheduler that can be built from text, and what the rest of the project asks about it.
#[derive(Clone, Copy)]
pub struct SchedulerEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
    /// What its decisions depend on.
    pub traits: Traits,
    /// How figures draw it.
    pub look: Look,
    /// What `pifolab advise` tries: parameters, each with the values as they would be written. `None` if it is not a
    /// candidate, since no switch has it or its parameters must be known in advance.
    pub advice: Option<&'static [(&'static str, &'static [&'static str])]>,
    /// What it keeps in a switch, counted from its algorithm; `None` where no switch has it.
    pub cost: Option<fn(&Settings<'_>) -> SwitchCost>,
    /// With which settings the published network simulation has it with a window that follows its packets, and what
    /// that window is then.
    pub live_window: fn(&Settings<'_>) -> Option<LiveWindow>,
    /// Builds it from its arguments; every argument must be known and have an effect.
    pub build: fn(Args) -> Result<BoxedScheduler, ParamError>,
    /// As `build`, in parts: a port of a network stores less of each packet then.
    pub port: fn(Args) -> Result<Parts, ParamError>,
}

/// A window whose ranks change after they were sampled: it holds packets, and a packet's rank is written anew at each hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveWindow {
    /// Whose test is done against it, and with which capacity.
    pub test: LiveTest,
    /// Slots.
    pub window: u32,
    /// One packet in this many is sampled.
    pub sample: u32,
    /// The headroom.
    pub k: f32,
}

/// A test of the published network simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTest {
    /// AIFO in the AIFO paper's fork: ranks enter the window after the test, and all pass while c <= kC.
    Aifo {
        /// C: capacity and target, in packets, at least 1.
        packets: u32,
    },
    /// AIFO in the fork behind PACKS: ranks enter the window before the test, and every packet is tested.
    AifoOfPacks {
        /// C: capacity and target, in packets, at least 1.
        packets: u32,
    },
    /// PACKS: the first queue with room whose test passes, where the whole buffer's free space counts.
    Packs {
        /// n, at least 1.
        queues: u32,
        /// The capacity of each queue in packets, at least 1.
        queue_packets: u32,
    },
}

/// What a scheduler's decisions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Ranks, for the order or for drops.
    pub reads_ranks: bool,
    /// The flow of a packet, and its size even where the capacity is in packets.
    pub reads_flows: bool,
    /// The time of a call.
    pub reads_time: bool,
    /// It never leaves the link idle while it holds a packet.
    pub conserves_work: bool,
    /// It is the ideal that others are compared with.
    pub ideal: bool,
    /// It is one first-in first-out queue with tail drop and nothing else.
    pub tail_drop: bool,
    /// In the published network simulation its admission test is asked even where the wire is idle.
    pub tests_when_idle: bool,
    /// A test of its own refuses or marks packets that there is room for ([`DropReason::Admission`](crate::DropReason::Admission)).
    pub tests_arrivals: bool,
}

/// By rank, work-conserving: what most schedulers are.
pub const BY_RANK: Traits = Traits {
    reads_ranks: true,
    reads_flows: false,
    reads_time: false,
    conserves_work: true,
    ideal: false,
    tail_drop: false,
    tests_when_idle: false,
    tests_arrivals: false,
};

/// How figures draw a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The name that a reader knows it by.
    pub label: &'static str,
    /// `#rrggbb`: Okabe and Ito's colours (2008) for the schedulers that most figures compare, Paul Tol's "muted" scheme
    /// for the others.
    pub colour: &'static str,
    /// Lengths of strokes and gaps, in turns; none for an unbroken line.
    pub dash: &'static [u8],
    /// The marker, as matplotlib names it.
    pub marker: &'static str,
}

/// What a scheduler would keep in a switch.
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
    /// Of so many operations for each packet.
    pub(crate) fn doing(self, operations: u64) -> Self {
        Self { operations, ..self }
    }
}

/// The settings of a scheduler or a rank function that can be built: as they were written, or their defaults.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    info: &'static Info,
    written: &'a Args,
    /// The number of queues.
    pub queues: u64,
}

impl<'a> Settings<'a> {
    /// Those of `info` that `written` gives.
    pub const fn new(info: &'static Info, written: &'a Args) -> Self {
        Self { info, written, queues: 1 }
    }

    /// An integer; `None` if it was not written and has no default.
    ///
    /// # Panics
    /// If there is no such integer.
    pub fn integer<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        let integer = self.written.clone().get::<i128>(self.info.row(name)).expect("it was built with them")?;
        T::try_from(integer).ok()
    }

    /// Whether a list was written for `name`.
    pub fn is_list(&self, name: &str) -> bool {
        self.written.clone().get::<Vec<u64>>(self.info.row(name)).is_ok_and(|list| list.is_some())
    }

    /// A fraction, as the nearest number.
    ///
    /// # Panics
    /// If there is no such fraction.
    pub fn fraction(&self, name: &str) -> f64 {
        let fraction: Ratio = self.written.clone().given(self.info.row(name)).expect("it was built with them");
        fraction.as_f64()
    }

    /// Whether the choice `name` is `word`.
    ///
    /// # Panics
    /// If there is no such choice.
    pub fn is(&self, name: &str, word: &str) -> bool {
        let value = self.written.clone().value(self.info.row(name)).expect("it was built with them");
        value == Some(Value::Text(word.to_owned()))
    }

    /// Whether the flag `name` is set.
    ///
    /// # Panics
    /// If there is no such flag.
    pub fn flag(&self, name: &str) -> bool {
        self.written.clone().given(self.info.row(name)).expect("it was built with them")
    }

    /// Whether none of `names` was written.
    pub fn lacks(&self, names: &[&str]) -> bool {
        names.iter().all(|name| !self.written.contains(self.info.row(name)))
    }
}

impl SchedulerEntry {
    /// What it keeps in a switch with these arguments; `None` where no switch has it.
    ///
    /// # Errors
    /// Arguments that it refuses.
    pub fn cost_of(&self, args: &Args) -> Result<Option<SwitchCost>, ParamError> {
        let Some(cost) = self.cost else { return Ok(None) };
        let queues = (self.build)(args.clone())?.queues() as u64;
        Ok(Some(cost(&Settings { queues, ..Settings::new(self.info, args) })))
    }
}

pub(crate) fn counted(registers: u64, table_bytes: f64, counted: impl Into<String>) -> SwitchCost {
    SwitchCost { registers, table_bytes, operations: 0, counted: counted.into() }
}

/// A scheduler chosen at run time.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

/// A row for any scheduler.
pub(crate) const fn scheduler<S: FromArgs + Scheduler + Send + 'static>(traits: Traits, look: Look) -> SchedulerEntry {
    let build = |args| Ok(Box::new(S::build(args)?) as BoxedScheduler);
    let port = |args| Ok(Parts::from(Box::new(S::build(args)?)));
    SchedulerEntry { info: &S::INFO, traits, look, advice: None, cost: None, live_window: |_| None, build, port }
}

/// A row for a scheduler that ports of a network can take apart: a decider joined to queues, or a PIFO. They store less of
/// each packet then.
pub(crate) const fn in_parts<S: FromArgs + Scheduler + Into<Parts> + Send + 'static>(
    traits: Traits,
    look: Look,
) -> SchedulerEntry {
    SchedulerEntry { port: |args| Ok(S::build(args)?.into()), ..scheduler::<S>(traits, look) }
}

pub(crate) const fn look(label: &'static str, colour: &'static str, dash: &'static [u8], marker: &'static str) -> Look {
    Look { label, colour, dash, marker }
}

/// A rank function that can be built from text.
pub struct RankEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
    /// What its ranks are the size of, if they count bytes, for the axes of figures.
    pub size_of: Option<&'static str>,
    /// With which settings the published network simulation has it where windows follow their packets.
    pub live_window: fn(&Settings<'_>) -> bool,
    /// Builds it from its arguments; every argument must be known and have an effect.
    pub build: fn(Args) -> Result<BoxedRankFn, ParamError>,
}

impl RankEntry {
    /// What it must be told about each packet.
    ///
    /// # Panics
    /// If it cannot be built without arguments.
    pub fn needs(&self) -> Facts {
        (self.build)(Args::new(self.info.name)).expect("a rank function has defaults").needs()
    }
}

/// A row for a rank function whose ranks are sizes in bytes.
pub(crate) const fn size_rank<R: FromArgs + RankFn + Send + 'static>(size_of: &'static str) -> RankEntry {
    RankEntry { size_of: Some(size_of), ..rank::<R>() }
}

/// A rank function chosen at run time.
pub type BoxedRankFn = Box<dyn RankFn + Send>;

pub(crate) const fn rank<R: FromArgs + RankFn + Send + 'static>() -> RankEntry {
    RankEntry { info: &R::INFO, size_of: None, live_window: |_| false, build: |args| Ok(Box::new(R::build(args)?)) }
}

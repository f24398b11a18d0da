//! A scheduler of the suite: how it is built, its oracle, and what it promises.

use crate::{Oracle, Ranks, Settings, Source};
use pifolab_registry::{Form, find_scheduler};
use pifolab_sched::Scheduler;
use pifolab_sched::params::{Args, ParamError};

/// What a scheduler declares beyond the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// It pushes residents out, only ever for a lower rank.
    Evicts,
    /// It pushes residents out whatever their ranks.
    EvictsAnyRank,
    /// With `ties = heap` a resident of the arriving packet's own rank may leave.
    EvictsInHeapOrder,
    /// It sends the lowest rank first.
    LowestRankFirst,
    /// Of equal ranks it sends the earliest arrival first.
    TiesInArrivalOrder,
    /// Each of its queues is first-in first-out.
    QueuesInArrivalOrder,
    /// It serves the first queue that holds a packet.
    HighestPriorityFirst,
    /// It holds packets back until they are eligible.
    MayWait,
    /// It may drop a packet that it holds when it is asked for one.
    GivesUp,
}

/// One first-in first-out queue.
pub(crate) const FIFO: &[Property] = &[Property::QueuesInArrivalOrder];
/// Strict-priority queues.
pub(crate) const PRIORITIES: &[Property] = &[Property::QueuesInArrivalOrder, Property::HighestPriorityFirst];

/// One scheduler of the suite.
pub struct Line {
    /// Its name in the library.
    pub name: &'static str,
    pub(crate) build: fn(Args, Form) -> Result<Box<dyn Scheduler>, ParamError>,
    /// Draws settings that the library accepts.
    pub settings: fn(&mut Source<'_>) -> Settings,
    pub(crate) oracle: fn(&Settings) -> Box<dyn Oracle>,
    pub(crate) properties: &'static [Property],
}

/// The line of the scheduler `name` with the oracle `O`.
pub(crate) const fn line<O: Oracle + From<Settings> + 'static>(
    name: &'static str,
    settings: fn(&mut Source<'_>) -> Settings,
    properties: &'static [Property],
) -> Line {
    Line {
        name,
        build: |args, form| {
            let entry = find_scheduler(args.owner()).expect("the line has the name of a scheduler");
            Ok((entry.read)(args)?.scheduler(form))
        },
        settings,
        oracle: |settings| Box::new(O::from(settings.clone())),
        properties,
    }
}

impl Line {
    /// The library's scheduler in this form.
    ///
    /// # Errors
    /// Settings that it does not accept.
    pub fn build(&self, settings: &Settings, form: Form) -> Result<Box<dyn Scheduler>, String> {
        (self.build)(settings.to_args(self.name), form).map_err(|error| format!("{settings}: {error}"))
    }

    /// Its oracle.
    pub fn oracle(&self, settings: &Settings) -> Box<dyn Oracle> {
        (self.oracle)(settings)
    }

    /// Whether it declares `property`.
    pub fn has(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }
}

/// What an oracle's file brings into the suite: the lines of one scheduler, and the settings of its vectors.
pub(crate) struct Suite {
    pub lines: &'static [Line],
    pub vectors: fn(&mut Vectors),
}

/// One vector before it is written.
pub(crate) struct Vector {
    pub scheduler: &'static str,
    /// What is special about it.
    pub what: &'static str,
    pub settings: Settings,
    pub ranks: Ranks,
}

/// The vectors of one scheduler.
pub(crate) struct Vectors {
    pub scheduler: &'static str,
    pub all: Vec<Vector>,
}

impl Vectors {
    /// Adds one: `what` is special about it.
    pub fn vector(&mut self, what: &'static str, ranks: Ranks, settings: &dyn Fn(&mut Settings)) {
        let mut built = Settings::default();
        settings(&mut built);
        self.all.push(Vector { scheduler: self.scheduler, what, settings: built, ranks });
    }
}

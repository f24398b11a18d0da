//! A scheduler of the suite: its construction, its oracle, and its declared properties.

use crate::{Oracle, Ranks, Settings, Source};
use pifolab_registry::{Form, find_scheduler};
use pifolab_sched::Scheduler;
use pifolab_sched::params::{Args, ParamError};

/// A property that a scheduler declares beyond the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Pushes residents out only for lower ranks.
    Evicts,
    /// Pushes residents of any rank out.
    EvictsAnyRank,
    /// With `ties = heap`, may push out a resident with the arriving packet's rank.
    EvictsInHeapOrder,
    /// Sends the lowest rank first.
    LowestRankFirst,
    /// Sends the earliest arrival of equal ranks first.
    TiesInArrivalOrder,
    /// Each queue is first-in first-out.
    QueuesInArrivalOrder,
    /// Serves the first non-empty queue.
    HighestPriorityFirst,
    /// Holds packets back until they are eligible.
    MayWait,
    /// May drop a held packet at a dequeue.
    GivesUp,
}

/// The properties of one first-in first-out queue.
pub(crate) const FIFO: &[Property] = &[Property::QueuesInArrivalOrder];
/// The properties of strict-priority queues.
pub(crate) const PRIORITIES: &[Property] = &[Property::QueuesInArrivalOrder, Property::HighestPriorityFirst];

/// One scheduler of the suite.
pub struct Line {
    /// The scheduler's name in the library.
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
    /// Builds the library's scheduler in this form.
    pub fn build(&self, settings: &Settings, form: Form) -> Result<Box<dyn Scheduler>, String> {
        (self.build)(settings.to_args(self.name), form).map_err(|error| format!("{settings}: {error}"))
    }

    /// Builds the scheduler's oracle.
    pub fn oracle(&self, settings: &Settings) -> Box<dyn Oracle> {
        (self.oracle)(settings)
    }

    /// Whether the scheduler declares `property`.
    pub fn has(&self, property: Property) -> bool {
        self.properties.contains(&property)
    }
}

/// The part of the suite in an oracle's file: the lines of one scheduler, and the settings of its vectors.
pub(crate) struct Suite {
    pub lines: &'static [Line],
    pub vectors: fn(&mut Vectors),
}

/// One vector before it is written.
pub(crate) struct Vector {
    pub scheduler: &'static str,
    /// The name of the vector's special feature.
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
    /// Adds a vector; `what` names its special feature.
    pub fn vector(&mut self, what: &'static str, ranks: Ranks, settings: &dyn Fn(&mut Settings)) {
        let mut built = Settings::default();
        settings(&mut built);
        self.all.push(Vector { scheduler: self.scheduler, what, settings: built, ranks });
    }
}

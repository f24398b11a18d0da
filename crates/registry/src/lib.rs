//! The names that text may use: every scheduler and rank function, one line each. [`conformance`] replays vectors through
//! them.

pub mod conformance;

use pifolab_sched::params::{Args, FromArgs, Info, Param, ParamError, Value, closest};
use pifolab_sched::{Facts, Parts, RankFn, Scheduler, ranks, schedulers};
use pifolab_units::Ratio;

/// A scheduler that can be built from text, and what the rest of the project asks about it.
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
    pub test: PublishedTest,
    /// Slots.
    pub window: u32,
    /// One packet in this many is sampled.
    pub sample: u32,
    /// The headroom.
    pub k: f32,
}

/// A test of the published network simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedTest {
    /// AIFO in the AIFO paper's fork: ranks enter the window after the test, and all pass while c <= kC.
    Aifo {
        /// C: capacity and target, in packets, at least 1.
        packets: u32,
    },
    /// AIFO in the fork behind PACKS: ranks enter the window before the test, to which there is no exception.
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
}

/// By rank, work-conserving: what most schedulers are.
const BY_RANK: Traits = Traits {
    reads_ranks: true,
    reads_flows: false,
    reads_time: false,
    conserves_work: true,
    ideal: false,
    tail_drop: false,
    tests_when_idle: false,
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
    /// How they were counted.
    pub counted: String,
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

    fn row(&self, name: &str) -> &'static Param {
        self.info.params.iter().find(|param| param.name == name).expect("a row of the table")
    }

    /// An integer; `None` if it was not written and has no default.
    ///
    /// # Panics
    /// If there is no such integer.
    pub fn integer<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        let integer = self.written.clone().get::<i128>(self.row(name)).expect("it was built with them")?;
        T::try_from(integer).ok()
    }

    /// Whether a list was written for `name`.
    pub fn is_list(&self, name: &str) -> bool {
        self.written.clone().get::<Vec<u64>>(self.row(name)).is_ok_and(|list| list.is_some())
    }

    /// A fraction, as the nearest number.
    ///
    /// # Panics
    /// If there is no such fraction.
    pub fn fraction(&self, name: &str) -> f64 {
        let fraction: Ratio = self.written.clone().given(self.row(name)).expect("it was built with them");
        fraction.as_f64()
    }

    /// Whether the choice `name` is `word`.
    ///
    /// # Panics
    /// If there is no such choice.
    pub fn is(&self, name: &str, word: &str) -> bool {
        let value = self.written.clone().value(self.row(name)).expect("it was built with them");
        value == Some(Value::Text(word.to_owned()))
    }

    /// Whether the flag `name` is set.
    ///
    /// # Panics
    /// If there is no such flag.
    pub fn flag(&self, name: &str) -> bool {
        self.written.clone().given(self.row(name)).expect("it was built with them")
    }

    /// Whether none of `names` was written.
    pub fn lacks(&self, names: &[&str]) -> bool {
        names.iter().all(|name| !self.written.contains(self.row(name)))
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

fn counted(registers: u64, table_bytes: f64, counted: impl Into<String>) -> SwitchCost {
    SwitchCost { registers, table_bytes, counted: counted.into() }
}

/// A scheduler chosen at run time.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

/// A row for any scheduler.
const fn scheduler<S: FromArgs + Scheduler + Send + 'static>(traits: Traits, look: Look) -> SchedulerEntry {
    let build = |args| Ok(Box::new(S::build(args)?) as BoxedScheduler);
    let port = |args| Ok(Parts::from(Box::new(S::build(args)?)));
    SchedulerEntry { info: &S::INFO, traits, look, advice: None, cost: None, live_window: |_| None, build, port }
}

/// A row for a scheduler that ports of a network can take apart: a decider joined to queues, or a PIFO. They store less of
/// each packet then.
const fn in_parts<S: FromArgs + Scheduler + Into<Parts> + Send + 'static>(
    traits: Traits,
    look: Look,
) -> SchedulerEntry {
    SchedulerEntry { port: |args| Ok(S::build(args)?.into()), ..scheduler::<S>(traits, look) }
}

const fn look(label: &'static str, colour: &'static str, dash: &'static [u8], marker: &'static str) -> Look {
    Look { label, colour, dash, marker }
}

/// The window of a published simulation: its comparison and arithmetic, and none of the `other` keys.
fn published_window(settings: &Settings<'_>, other: &[&str], test: PublishedTest) -> Option<LiveWindow> {
    let published = [("compare", "lt"), ("arithmetic", "netbench"), ("quantile", "lt")];
    let is_published = published.iter().all(|(name, word)| settings.is(name, word)) && settings.lacks(other);
    let on_time = settings.integer("occupancy_delay_packets") == Some(0u64);
    (is_published && on_time).then_some(LiveWindow {
        test,
        window: settings.integer("window")?,
        sample: settings.integer("sample")?,
        k: settings.fraction("k") as f32,
    })
}

/// Headrooms and sizes of windows that the papers use.
const HEADROOMS: &[&str] = &["0", "1/10", "3/10"];
const WINDOWS: &[&str] = &["20", "100", "1000"];

/// Every scheduler.
pub const SCHEDULERS: &[SchedulerEntry] = &[
    in_parts::<schedulers::Pifo>(Traits { ideal: true, ..BY_RANK }, look("PIFO", "#000000", &[], "o")),
    SchedulerEntry {
        advice: Some(&[]),
        cost: Some(|_| counted(0, 0.0, "nothing")),
        ..in_parts::<schedulers::Fifo>(
            Traits { reads_ranks: false, tail_drop: true, ..BY_RANK },
            look("FIFO", "#8c8c8c", &[1, 1], "s"),
        )
    },
    SchedulerEntry {
        cost: Some(|_| counted(0, 0.0, "fixed bounds are entries of a match table, not state")),
        ..in_parts::<schedulers::StrictPriority>(BY_RANK, look("Fixed bounds", "#332288", &[3, 1], "h"))
    },
    SchedulerEntry {
        advice: Some(&[("push_down", &["cost", "one", "queue-bound"])]),
        cost: Some(|settings| counted(settings.queues, 0.0, "one bound for each queue")),
        ..in_parts::<schedulers::SpPifo>(BY_RANK, look("SP-PIFO", "#e69f00", &[5, 1], "^"))
    },
    SchedulerEntry {
        cost: Some(|settings| {
            counted(5 * settings.queues, 0.0, "for each queue a bound and four counters (SP-PIFO, appendix A)")
        }),
        ..in_parts::<schedulers::SpPifoGreedy>(BY_RANK, look("SP-PIFO greedy", "#999933", &[5, 1, 2, 1], "p"))
    },
    in_parts::<schedulers::SpPifoOptimal>(BY_RANK, look("SP-PIFO optimal", "#aa4499", &[1, 2], "*")),
    SchedulerEntry {
        advice: Some(&[("eps", &["1/50", "1/10"])]),
        cost: Some(|settings| {
            let bounds = settings.queues - 1;
            match settings.lacks(&["admission_gain"]) {
                true => {
                    counted(bounds, 0.0, "one bound fewer than queues; their lengths come from the traffic manager")
                }
                false => counted(bounds + 2, 0.0, "one bound fewer than queues, the limit and the highest rank"),
            }
        }),
        ..in_parts::<schedulers::SlackSp>(BY_RANK, look("Slack-SP", "#117733", &[], "d"))
    },
    SchedulerEntry {
        cost: Some(|settings| {
            let more = u64::from(settings.is("force", "inversions"));
            counted(
                (2 + more) * settings.queues + 1,
                0.0,
                "for each queue a bound and a force (with inversions the rank before), and the highest rank",
            )
        }),
        ..in_parts::<schedulers::Spring>(BY_RANK, look("Spring", "#ddcc77", &[4, 2, 1, 2], "8"))
    },
    SchedulerEntry {
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        cost: Some(|settings| {
            let slots: u64 = settings.integer("window").expect("it has a default");
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position"))
        }),
        live_window: |settings| {
            let other = ["capacity_bytes", "target_packets", "target_bytes", "start_window"];
            let packets = settings.integer("capacity_packets").unwrap_or(80);
            let test = match (settings.is("update", "after"), settings.flag("headroom")) {
                (true, true) => PublishedTest::Aifo { packets },
                (false, false) => PublishedTest::AifoOfPacks { packets },
                _ => return None,
            };
            published_window(settings, &other, test)
        },
        ..in_parts::<schedulers::Aifo>(
            Traits { tests_when_idle: true, ..BY_RANK },
            look("AIFO", "#0072b2", &[3, 1, 1, 1], "v"),
        )
    },
    SchedulerEntry {
        advice: Some(&[("window", WINDOWS), ("k", HEADROOMS)]),
        live_window: |settings| {
            if settings.is_list("queue_capacity_packets") {
                return None;
            }
            let other = ["queue_capacity_bytes", "start_window"];
            let published = settings.is("update", "before") && settings.is("occupancy", "global");
            let unshifted = settings.integer("shift") == Some(0u32) && settings.flag("fall_through");
            let queue_packets = settings.integer("queue_capacity_packets").unwrap_or(10);
            let queues = settings.integer("queues").unwrap_or(8);
            let test = PublishedTest::Packs { queues, queue_packets };
            (published && unshifted).then(|| published_window(settings, &other, test))?
        },
        cost: Some(|settings| {
            let slots: u64 = settings.integer("window").expect("it has a default");
            let queues = settings.queues;
            let lengths = format!("{queues} queue lengths come from the traffic manager");
            counted(slots + 1, 0.0, format!("{slots} ranks of the window and its position; {lengths}"))
        }),
        ..in_parts::<schedulers::Packs>(BY_RANK, look("PACKS", "#d55e00", &[], "D"))
    },
    SchedulerEntry {
        advice: Some(&[("tracking_range_packets", &["100", "500", "1000"]), ("k", HEADROOMS)]),
        // RIFO section V: three tables of 15 ternary entries of 36 bits, one of 16 x 16 products of 4 bytes.
        cost: Some(|_| {
            let how = "Min, Max and a counter; 3 x 15 entries of 36 bits, 256 of 4 bytes";
            counted(3, 3.0 * 15.0 * 36.0 / 8.0 + 256.0 * 4.0, how)
        }),
        ..in_parts::<schedulers::Rifo>(
            Traits { tests_when_idle: true, ..BY_RANK },
            look("RIFO", "#009e73", &[5, 1, 1, 1], "P"),
        )
    },
    SchedulerEntry {
        advice: Some(&[("window_packets", &["1000", "5000"]), ("r_min", &["1", "64", "1500"])]),
        // Exp-PIFO section 2.3: 2^12 entries of 5 bits for the queue; 33 range entries of 33 bits for the logarithm.
        cost: Some(|_| {
            let how = "exponent and counter; 4096 entries of 5 bits (the logarithm takes 1089 bits more)";
            counted(2, 4096.0 * 5.0 / 8.0, how)
        }),
        ..in_parts::<schedulers::ExpPifo>(BY_RANK, look("Exp-PIFO", "#cc79a7", &[4, 1, 1, 1, 1, 1], "X"))
    },
    SchedulerEntry {
        advice: Some(&[("bytes_per_round", &["320", "1500", "3000"])]),
        cost: Some(|_| counted(2 * 16_384 + 1, 0.0, "the round and a count-min sketch of 2 x 16,384 bids")),
        ..in_parts::<schedulers::Afq>(
            Traits { reads_ranks: false, reads_flows: true, ..BY_RANK },
            look("AFQ", "#56b4e9", &[2, 1], "<"),
        )
    },
    scheduler::<schedulers::Pieo>(
        Traits { reads_time: true, conserves_work: false, ..BY_RANK },
        look("PIEO", "#882255", &[7, 1], ">"),
    ),
];

/// The scheduler `name`.
///
/// # Errors
/// A message that lists the names, with the closest one first.
pub fn find_scheduler(name: &str) -> Result<&'static SchedulerEntry, String> {
    let names = || SCHEDULERS.iter().map(|entry| entry.info.name);
    SCHEDULERS.iter().find(|entry| entry.info.name == name).ok_or_else(|| unknown("scheduler", name, names))
}

/// A rank function that can be built from text.
pub struct RankEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
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

/// A rank function chosen at run time.
pub type BoxedRankFn = Box<dyn RankFn + Send>;

const fn rank<R: FromArgs + RankFn + Send + 'static>() -> RankEntry {
    RankEntry { info: &R::INFO, live_window: |_| false, build: |args| Ok(Box::new(R::build(args)?)) }
}

/// Every rank function.
pub const RANKS: &[RankEntry] = &[
    rank::<ranks::Carried>(),
    rank::<ranks::FlowSize>(),
    rank::<ranks::RemainingSize>(),
    rank::<ranks::Unacknowledged>(),
    RankEntry {
        live_window: |settings| {
            let published = settings.integer("scale") == Some(1) && settings.is("virtual_time", "follow");
            published && settings.flag("give_back") && !settings.flag("relative") && settings.lacks(&["weights"])
        },
        ..rank::<ranks::Stfq>()
    },
    rank::<ranks::Lstf>(),
    rank::<ranks::FifoPlus>(),
    rank::<ranks::Edf>(),
    rank::<ranks::Las>(),
    rank::<ranks::Pias>(),
    rank::<ranks::Fdpa>(),
    rank::<ranks::Fcfs>(),
];

/// The rank function `name`.
///
/// # Errors
/// A message that lists the names, with the closest one first.
pub fn find_rank(name: &str) -> Result<&'static RankEntry, String> {
    let names = || RANKS.iter().map(|entry| entry.info.name);
    RANKS.iter().find(|entry| entry.info.name == name).ok_or_else(|| unknown("rank function", name, names))
}

/// Says that no `what` is called `name`, with the closest of `names`, or all of them if none is close.
pub fn unknown<'a, I: Iterator<Item = &'a str>>(what: &str, name: &str, names: impl Fn() -> I) -> String {
    match closest(name, names()) {
        Some(closest) => format!("unknown {what} {name:?}; did you mean {closest}?"),
        None => format!("unknown {what} {name:?}; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

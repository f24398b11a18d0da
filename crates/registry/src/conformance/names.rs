//! The names in vectors and the names in the library.
//!
//! Vectors have short names for schedulers and parameters. An absent key has the default of the format, which is not
//! always the library's. Any parameter of the library may also be given by the library's name.

use super::fault::Fault;
use super::vector::Vector;
use crate::text::value_of_json;
use crate::{BoxedScheduler, SchedulerEntry};
use pifolab_sched::params::{self, Args, ParamError, unknown_key};
use serde_json::Value;

/// Builds the scheduler for a replay from the library's scheduler and its arguments.
pub type Build<'a> = dyn Fn(&'static SchedulerEntry, Args) -> Result<BoxedScheduler, ParamError> + 'a;

/// The names of one scheduler and its keys in vectors.
struct Dialect {
    vector: &'static str,
    library: &'static str,
    keys: &'static [Key],
}

/// One key of a vector's config.
struct Key {
    vector: &'static str,
    library: &'static str,
    absent: Absent,
    /// Words of the vector that have another name in the library.
    words: &'static [(&'static str, &'static str)],
    /// The library's words for `false` and `true`, if the vector has a flag and the library a choice.
    flags: &'static [&'static str],
}

/// The value of a key that a vector does not give.
enum Absent {
    Required,
    /// Required, unless this key of the library is given instead.
    Unless(&'static str),
    /// The library's default.
    None,
    Integer(i128),
    Word(&'static str),
    /// A word, unless another key has this word, with which the scheduler has no such choice.
    WordWithout(&'static str, (&'static str, &'static str)),
}

const fn key(vector: &'static str, library: &'static str, absent: Absent) -> Key {
    Key { vector, library, absent, words: &[], flags: &[] }
}

const fn worded(
    vector: &'static str,
    library: &'static str,
    absent: Absent,
    words: &'static [(&'static str, &'static str)],
) -> Key {
    Key { vector, library, absent, words, flags: &[] }
}

const CAPACITY: Key = key("capacity", "capacity_packets", Absent::Unless("capacity_bytes"));
const CAPACITIES: Key = key("capacities", "queue_capacity_packets", Absent::Unless("queue_capacity_bytes"));

const WINDOW: Key = key("window", "window", Absent::Required);
const HEADROOM: Key = key("k", "k", Absent::Integer(0));
const QUANTILE: Key = key("quantile", "quantile", Absent::Word("lt"));
const UPDATE: Key = key("update", "update", Absent::Word("before"));
const START_WINDOW: Key = key("start_window", "start_window", Absent::None);

const DIALECTS: &[Dialect] = &[
    Dialect { vector: "fifo", library: "fifo", keys: &[CAPACITY] },
    Dialect { vector: "pifo", library: "pifo", keys: &[CAPACITY] },
    Dialect {
        vector: "sppifo",
        library: "sp-pifo",
        keys: &[
            CAPACITIES,
            worded(
                "pushdown",
                "push_down",
                Absent::Word("cost"),
                &[("qbound", "queue-bound"), ("qbound_old", "queue-bound-old")],
            ),
            key("on_drop", "on_full", Absent::Word("update")),
            key("clamp", "clamp", Absent::None),
            worded(
                "order",
                "order",
                Absent::Word("scan-first"),
                &[("paper", "scan-first"), ("metaopt", "push-down-first")],
            ),
        ],
    },
    Dialect {
        vector: "spgreedy",
        library: "sp-pifo-greedy",
        keys: &[
            CAPACITIES,
            key("period", "window_packets", Absent::Required),
            key("init_bounds", "initial_bounds", Absent::Required),
            key("max_rank", "ranks", Absent::Required),
            Key { flags: &["one", "until-convergence"], ..key("repeat", "steps", Absent::Word("one")) },
        ],
    },
    Dialect {
        vector: "aifo",
        library: "aifo",
        keys: &[
            CAPACITY,
            WINDOW,
            HEADROOM,
            QUANTILE,
            UPDATE,
            START_WINDOW,
            key("compare", "compare", Absent::Word("le")),
            key("sample", "sample", Absent::Integer(1)),
        ],
    },
    Dialect {
        vector: "packs",
        library: "packs",
        keys: &[
            CAPACITIES,
            WINDOW,
            HEADROOM,
            QUANTILE,
            UPDATE,
            START_WINDOW,
            worded("mode", "occupancy", Absent::Word("per-queue"), &[("exact", "per-queue"), ("approx", "global")]),
            key("fallthrough", "fall_through", Absent::None),
        ],
    },
    Dialect {
        vector: "rifo",
        library: "rifo",
        keys: &[
            CAPACITY,
            key("T", "tracking_range_packets", Absent::Required),
            HEADROOM,
            key("mode", "mode", Absent::Word("alg1")),
            key("reset_counter", "reset_counter", Absent::Integer(1)),
        ],
    },
    Dialect {
        vector: "exppifo",
        library: "exp-pifo",
        keys: &[
            CAPACITIES,
            key("C", "window_packets", Absent::Required),
            key("rmin", "r_min", Absent::Integer(1)),
            key("beta0", "beta0", Absent::WordWithout("last", ("mapping", "bounds"))),
            key("reset", "reset", Absent::Word("gt")),
        ],
    },
    Dialect {
        vector: "afq",
        library: "afq",
        keys: &[
            key("queues", "queues", Absent::Required),
            key("capacity", "queue_capacity_packets", Absent::Unless("queue_capacity_bytes")),
            key("bytes_per_round", "bytes_per_round", Absent::Required),
            key("horizon", "horizon", Absent::Word("ge")),
        ],
    },
];

/// Builds the scheduler `name` of a vector; returns it with its name in the library.
pub(super) fn build(
    name: &str,
    config: &[(String, Value)],
    build: &Build<'_>,
) -> Result<(&'static str, BoxedScheduler), Fault> {
    let dialect = DIALECTS.iter().find(|dialect| dialect.vector == name || dialect.library == name);
    let library = dialect.map_or(name, |dialect| dialect.library);
    let entry = crate::find_scheduler(library).map_err(|message| Fault::new("scheduler", message))?;
    let keys = dialect.map_or(&[] as &[Key], |dialect| dialect.keys);
    let args = arguments(entry, keys, config)?;
    let scheduler = build(entry, args).map_err(|mut error| {
        // The message names the key in the file.
        if let Some(key) = keys.iter().find(|key| key.library == error.key && given(config, key.vector)) {
            error.key = key.vector.to_owned();
        }
        Fault::new("config", error.to_string())
    })?;
    Ok((entry.info.name, scheduler))
}

/// Whether the library has the scheduler `name` of a vector.
pub(super) fn is_known(name: &str) -> bool {
    DIALECTS.iter().any(|dialect| dialect.vector == name) || crate::find_scheduler(name).is_ok()
}

/// Reads the values of a vector's config.
pub(super) fn values(vector: &Vector) -> Result<Vec<(String, params::Value)>, Fault> {
    let read = |(name, value): &(String, Value)| Ok((name.clone(), read_value(&vector.scheduler, name, value)?));
    vector.config.iter().map(read).collect()
}

fn read_value(owner: &str, name: &str, value: &Value) -> Result<params::Value, Fault> {
    value_of_json(value).ok_or_else(|| {
        let expected = "expected a number, a text, true or false, a table, or a list of these";
        Fault::new("config", format!("{owner}: {name} = {value}: {expected}"))
    })
}

fn given(config: &[(String, Value)], name: &str) -> bool {
    config.iter().any(|(key, _)| key == name)
}

fn arguments(entry: &SchedulerEntry, keys: &[Key], config: &[(String, Value)]) -> Result<Args, Fault> {
    let owner = entry.info.name;
    let fault = |message: String| Fault::new("config", format!("{owner}: {message}"));
    let mut args = Args::new(owner);
    for (name, value) in config {
        let value = read_value(owner, name, value)?;
        if let Some(key) = keys.iter().find(|key| key.vector == name) {
            if key.library != key.vector && given(config, key.library) {
                return Err(fault(format!("{name} and {} mean the same: remove one", key.library)));
            }
            args.set(key.library, in_library_words(key, value));
        } else if entry.info.param(name).is_some() {
            args.set(name.as_str(), value);
        } else {
            let names = || keys.iter().map(|key| key.vector).chain(entry.info.params.iter().map(|param| param.name));
            return Err(fault(format!("{name}: {}", unknown_key(name, names, "pifolab show NAME"))));
        }
    }
    for key in keys.iter().filter(|key| !given(config, key.vector) && !given(config, key.library)) {
        let value = match key.absent {
            Absent::Integer(number) => params::Value::Integer(number),
            Absent::Word(word) => params::Value::Text(word.to_owned()),
            Absent::WordWithout(_, (other, word))
                if config.iter().any(|(key, value)| key == other && value == word) =>
            {
                continue;
            }
            Absent::WordWithout(word, _) => params::Value::Text(word.to_owned()),
            Absent::None => continue,
            Absent::Unless(other) if given(config, other) => continue,
            Absent::Required | Absent::Unless(_) => return Err(fault(format!("{} is missing", key.vector))),
        };
        args.set(key.library, value);
    }
    Ok(args)
}

fn in_library_words(key: &Key, value: params::Value) -> params::Value {
    match &value {
        params::Value::Flag(flag) if !key.flags.is_empty() => {
            params::Value::Text(key.flags[usize::from(*flag)].to_owned())
        }
        params::Value::Text(text) => match key.words.iter().find(|(vector, _)| vector == text) {
            Some((_, library)) => params::Value::Text((*library).to_owned()),
            None => value,
        },
        _ => value,
    }
}

/// Checks that every key names a parameter of the library, and every word a word of it.
#[cfg(test)]
pub(super) fn check_tables() {
    for dialect in DIALECTS {
        let entry = crate::find_scheduler(dialect.library).expect("the library has the scheduler");
        for key in dialect.keys {
            let param = entry.info.row(key.library);
            let default = match key.absent {
                Absent::Word(word) | Absent::WordWithout(word, _) => Some(word),
                _ => None,
            };
            let words = key.words.iter().map(|(_, library)| *library).chain(default).chain(key.flags.iter().copied());
            for word in words {
                let params::Kind::Choice(known) = param.kind else { panic!("{} takes no word", key.library) };
                assert!(known.iter().any(|(known, _)| *known == word), "{}: {} = {word}", dialect.library, key.library);
            }
        }
    }
}

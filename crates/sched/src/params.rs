//! Parameters from text: one table per scheduler and rank function feeds validation, `pifolab explain`, the JSON
//! Schema and the Python keywords, so that a range or a default is written down once.
//!
//! A table is a list of [`Param`]s inside an [`Info`]. What a user wrote arrives as [`Args`]; reading a parameter
//! checks it against its table row and marks it used; [`Args::finish`] refuses what nobody read. Rust callers skip the
//! text and fill the typed params of each scheduler, which are checked against the same rows.

use crate::Capacity;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use pifolab_units::Ratio;

/// The largest number of queues.
pub const MAX_QUEUES: u64 = 1024;
/// The largest capacity of one queue or buffer, in packets.
pub const MAX_PACKETS: u64 = 1 << 24;
/// The largest capacity of one queue or buffer, in bytes.
pub const MAX_BYTES: u64 = 1 << 40;
/// The largest rank, 2^63 - 1.
pub const MAX_RANK: u64 = i64::MAX as u64;

/// What a user can look up about a scheduler or a rank function.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in text: `sp-pifo`.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Paper, section and algorithm number.
    pub paper: &'static str,
    /// How its order and its drops depart from PIFO's (schedulers), or what the rank means (rank functions).
    pub departure: &'static str,
    /// The registers and tables that a switch needs for it.
    pub state: &'static str,
    /// Cost per operation.
    pub cost: &'static str,
    /// Its parameters, most important first.
    pub params: &'static [Param],
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key, with its unit where it has one: `capacity_packets`.
    pub name: &'static str,
    /// The unit in words: `packets`, `ranks`, `bytes`; empty for a pure number or a choice.
    pub unit: &'static str,
    /// What may be written.
    pub kind: Kind,
    /// What holds if the key is absent.
    pub absent: Absent,
    /// What it does, in one or two sentences, and where the default comes from.
    pub doc: &'static str,
}

/// What may be written for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An integer from `min` to `max`.
    Integer {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// An exact fraction from 0 up to, but not including, 1.
    Fraction,
    /// One of these words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// `true` or `false`.
    Flag,
    /// A list of integers from `min` to `max`.
    Integers {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// One integer for all queues, or a list with one for each.
    IntegerOrIntegers {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
}

/// What holds if a key is absent.
#[derive(Clone, Copy, Debug)]
pub enum Absent {
    /// This value, as it would be written.
    Default(&'static str),
    /// No value; the text says what that means.
    Means(&'static str),
    /// It must be given.
    Required,
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(i128),
    /// A decimal number, kept as text so that 0.1 stays 1/10.
    Decimal(String),
    /// A text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
    /// A list.
    List(Vec<Value>),
}

/// A parameter that cannot be accepted: who, which key, what was written, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The scheduler or rank function.
    pub owner: String,
    /// The key.
    pub key: String,
    /// What was written; `None` if the key is missing.
    pub value: Option<String>,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}: {} = {value}: {}", self.owner, self.key, self.expected),
            None => write!(f, "{}: {} is missing: {}", self.owner, self.key, self.expected),
        }
    }
}

impl core::error::Error for ParamError {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Decimal(text) => text.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Flag(flag) => flag.fmt(f),
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Param {
    /// What would be right, in words: `expected an integer from 1 to 1024 (queues)`.
    pub fn expected(&self) -> String {
        let range = |min: i64, max: u64| {
            if max == MAX_RANK { format!("from {min} to 2^63 - 1") } else { format!("from {min} to {max}") }
        };
        let what = match self.kind {
            Kind::Integer { min, max } => format!("an integer {}", range(min, max)),
            Kind::Fraction => "a fraction from 0 up to but not including 1, such as 0.1 or 1/10".to_string(),
            Kind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Flag => "true or false".to_string(),
            Kind::Integers { min, max } => format!("a list of integers {}", range(min, max)),
            Kind::IntegerOrIntegers { min, max } => {
                format!("an integer {}, or a list with one for each queue", range(min, max))
            }
        };
        if self.unit.is_empty() { format!("expected {what}") } else { format!("expected {what} ({})", self.unit) }
    }

    /// The error for `value` of this parameter.
    pub fn error(&self, owner: &str, value: impl fmt::Display) -> ParamError {
        self.error_because(owner, value, self.expected())
    }

    /// The error for `value` of this parameter, with its own explanation of what would be right.
    pub fn error_because(&self, owner: &str, value: impl fmt::Display, expected: impl Into<String>) -> ParamError {
        ParamError {
            owner: owner.to_owned(),
            key: self.name.to_owned(),
            value: Some(value.to_string()),
            expected: expected.into(),
        }
    }

    /// Checks an integer against the row's range.
    ///
    /// # Errors
    /// Outside the range, or if the row holds no integers.
    pub fn check(&self, owner: &str, value: impl Into<i128>) -> Result<(), ParamError> {
        let value = value.into();
        let (Kind::Integer { min, max } | Kind::Integers { min, max } | Kind::IntegerOrIntegers { min, max }) =
            self.kind
        else {
            return Err(self.error(owner, value));
        };
        if (i128::from(min)..=i128::from(max)).contains(&value) { Ok(()) } else { Err(self.error(owner, value)) }
    }

    /// Checks that a fraction is below 1.
    ///
    /// # Errors
    /// At 1 or above.
    pub fn check_fraction(&self, owner: &str, value: Ratio) -> Result<(), ParamError> {
        if value < Ratio::ONE { Ok(()) } else { Err(self.error(owner, value)) }
    }
}

/// What a user wrote for one scheduler or rank function, read key by key.
#[derive(Clone, Debug)]
pub struct Args {
    owner: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    value: Value,
    used: bool,
}

impl Args {
    /// No argument yet, for the scheduler or rank function `owner`.
    pub fn new(owner: impl Into<String>) -> Self {
        Self { owner: owner.into(), entries: Vec::new() }
    }

    /// Adds an argument; a later one of the same name replaces it.
    pub fn set(&mut self, name: impl Into<String>, value: Value) -> &mut Self {
        let name = name.into();
        match self.entries.iter_mut().find(|entry| entry.name == name) {
            Some(entry) => entry.value = value,
            None => self.entries.push(Entry { name, value, used: false }),
        }
        self
    }

    /// Whose arguments these are.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether `name` was written.
    pub fn contains(&self, param: &Param) -> bool {
        self.entries.iter().any(|entry| entry.name == param.name)
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let entry = self.entries.iter_mut().find(|entry| entry.name == name)?;
        entry.used = true;
        Some(entry.value.clone())
    }

    /// The written value, or the default, or `None` where absence has a meaning of its own.
    fn read(&mut self, param: &Param) -> Result<Option<Value>, ParamError> {
        if let Some(value) = self.take(param.name) {
            return Ok(Some(value));
        }
        match param.absent {
            Absent::Default(text) => Ok(Some(parse_default(param, text))),
            Absent::Means(_) => Ok(None),
            Absent::Required => Err(ParamError {
                owner: self.owner.clone(),
                key: param.name.to_owned(),
                value: None,
                expected: param.expected(),
            }),
        }
    }

    /// Reads an integer that may be absent; the caller converts it to its own width, which the row's range guards.
    ///
    /// # Errors
    /// No integer, or outside the range.
    pub fn optional_integer(&mut self, param: &Param) -> Result<Option<i128>, ParamError> {
        match self.read(param)? {
            None => Ok(None),
            Some(value) => integer(param, &self.owner, &value).map(Some),
        }
    }

    /// Reads an integer that has a default or is required.
    ///
    /// # Errors
    /// Missing, no integer, or outside the range.
    ///
    /// # Panics
    /// If the row has neither a default nor `Required`, or its range does not fit in `T`.
    pub fn integer<T: TryFrom<i128>>(&mut self, param: &Param) -> Result<T, ParamError> {
        let value = self.optional_integer(param)?.expect("the table gives a default or requires the key");
        Ok(T::try_from(value).ok().expect("the table's range fits in the field"))
    }

    /// Reads a fraction in [0, 1).
    ///
    /// # Errors
    /// No fraction, or 1 and above.
    ///
    /// # Panics
    /// If the row has no default.
    pub fn fraction(&mut self, param: &Param) -> Result<Ratio, ParamError> {
        let value = self.read(param)?.expect("the table gives a default");
        let fraction = match &value {
            Value::Integer(whole) => u64::try_from(*whole).ok().and_then(|whole| Ratio::new(whole, 1)),
            Value::Decimal(text) | Value::Text(text) => text.parse().ok(),
            Value::List(parts) => match parts.as_slice() {
                [Value::Integer(numerator), Value::Integer(denominator)] => u64::try_from(*numerator)
                    .ok()
                    .zip(u64::try_from(*denominator).ok())
                    .and_then(|(n, d)| Ratio::new(n, d)),
                _ => None,
            },
            Value::Flag(_) => None,
        };
        fraction.filter(|fraction| *fraction < Ratio::ONE).ok_or_else(|| param.error(&self.owner, &value))
    }

    /// Reads a word and returns its place in the row's list of choices.
    ///
    /// # Errors
    /// Not one of the words.
    ///
    /// # Panics
    /// If the row has no default.
    pub fn choice(&mut self, param: &Param) -> Result<usize, ParamError> {
        let value = self.read(param)?.expect("the table gives a default");
        let Kind::Choice(words) = param.kind else { panic!("{} is no choice", param.name) };
        let found = match &value {
            Value::Text(text) => words.iter().position(|(word, _)| word == text),
            _ => None,
        };
        found.ok_or_else(|| match &value {
            Value::Text(text) => match closest(text, words.iter().map(|(word, _)| *word)) {
                Some(word) => {
                    param.error_because(&self.owner, &value, format!("{}; did you mean {word}?", param.expected()))
                }
                None => param.error(&self.owner, &value),
            },
            _ => param.error(&self.owner, &value),
        })
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// Neither.
    ///
    /// # Panics
    /// If the row has no default.
    pub fn flag(&mut self, param: &Param) -> Result<bool, ParamError> {
        match self.read(param)?.expect("the table gives a default") {
            Value::Flag(flag) => Ok(flag),
            other => Err(param.error(&self.owner, &other)),
        }
    }

    /// Reads a list of integers that may be absent.
    ///
    /// # Errors
    /// No list, or a member that is no integer or out of range.
    pub fn integers(&mut self, param: &Param) -> Result<Option<Vec<i128>>, ParamError> {
        match self.read(param)? {
            None => Ok(None),
            Some(Value::List(values)) => {
                values.iter().map(|value| integer(param, &self.owner, value)).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(param.error(&self.owner, &other)),
        }
    }

    /// Checks that every argument was read.
    ///
    /// # Errors
    /// The first argument that `params` does not know (with the closest name that it does), or that had no effect
    /// beside the others.
    pub fn finish(self, params: &[Param]) -> Result<(), ParamError> {
        let Some(entry) = self.entries.into_iter().find(|entry| !entry.used) else { return Ok(()) };
        let names = || params.iter().map(|param| param.name);
        let expected = if names().any(|name| name == entry.name) {
            "this key has no effect beside the others: remove it".to_string()
        } else if let Some(name) = closest(&entry.name, names()) {
            format!("unknown key; did you mean {name}?")
        } else if params.is_empty() {
            "unknown key; there are no parameters".to_string()
        } else {
            format!("unknown key; the keys are {}", names().collect::<Vec<_>>().join(", "))
        };
        Err(ParamError { owner: self.owner, key: entry.name, value: Some(entry.value.to_string()), expected })
    }
}

fn integer(param: &Param, owner: &str, value: &Value) -> Result<i128, ParamError> {
    let Value::Integer(number) = value else { return Err(param.error(owner, value)) };
    param.check(owner, *number)?;
    Ok(*number)
}

/// Defaults are written as a user would write them.
fn parse_default(param: &Param, text: &str) -> Value {
    match param.kind {
        Kind::Integer { .. } | Kind::IntegerOrIntegers { .. } => {
            Value::Integer(text.parse().expect("the table's default is an integer"))
        }
        Kind::Fraction => Value::Decimal(text.to_owned()),
        Kind::Choice(_) => Value::Text(text.to_owned()),
        Kind::Flag => Value::Flag(text == "true"),
        Kind::Integers { .. } => panic!("a list has no default"),
    }
}

/// The candidate within two edits of `word` (or a third of its length), if there is one: for "did you mean".
pub fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, with `-` and `_` equal, since both stand in names.
fn edit_distance(a: &str, b: &str) -> usize {
    let fold = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    let b: Vec<char> = b.chars().map(fold).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().map(fold).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// `capacity_packets`: of a single buffer.
pub const CAPACITY_PACKETS: Param = Param {
    name: "capacity_packets",
    unit: "packets",
    kind: Kind::Integer { min: 1, max: MAX_PACKETS },
    absent: Absent::Means("80 packets, unless capacity_bytes is given"),
    doc: "The most packets that the buffer holds, without the one in service. 80 is what all five papers give PIFO.",
};

/// `capacity_bytes`: of a single buffer.
pub const CAPACITY_BYTES: Param = Param {
    name: "capacity_bytes",
    unit: "bytes",
    kind: Kind::Integer { min: 1, max: MAX_BYTES },
    absent: Absent::Means("the capacity is counted in packets"),
    doc: "The most bytes that the buffer holds: a packet fits if backlog + size stays within. Instead of capacity_packets.",
};

/// `queues`: how many strict-priority queues.
pub const QUEUES: Param = Param {
    name: "queues",
    unit: "queues",
    kind: Kind::Integer { min: 1, max: MAX_QUEUES },
    absent: Absent::Means("8, or as many as a list of capacities has"),
    doc: "The number of strict-priority queues; queue 0 is served first. 8 is what commodity switches offer per port.",
};

/// `queue_capacity_packets`: of each queue.
pub const QUEUE_CAPACITY_PACKETS: Param = Param {
    name: "queue_capacity_packets",
    unit: "packets",
    kind: Kind::IntegerOrIntegers { min: 1, max: MAX_PACKETS },
    absent: Absent::Means("10 packets in each queue, unless queue_capacity_bytes is given"),
    doc: "The most packets that each queue holds, or a list with one number for each queue, highest priority first. \
          8 x 10 packets is the papers' usual set-up.",
};

/// `queue_capacity_bytes`: of each queue.
pub const QUEUE_CAPACITY_BYTES: Param = Param {
    name: "queue_capacity_bytes",
    unit: "bytes",
    kind: Kind::IntegerOrIntegers { min: 1, max: MAX_BYTES },
    absent: Absent::Means("the capacities are counted in packets"),
    doc: "The most bytes that each queue holds, or a list with one number for each queue. Instead of \
          queue_capacity_packets.",
};

/// Reads `capacity_packets` or `capacity_bytes`.
///
/// # Errors
/// Out of range, or both given.
pub fn read_capacity(args: &mut Args) -> Result<Capacity, ParamError> {
    let bytes = args.optional_integer(&CAPACITY_BYTES)?;
    if let Some(bytes) = bytes {
        // A capacity in packets beside it stays unread, and `finish` says so.
        return Ok(Capacity::Bytes(fits(bytes)));
    }
    let packets = args.optional_integer(&CAPACITY_PACKETS)?;
    Ok(Capacity::Packets(packets.map_or(80, fits)))
}

/// Reads the capacity of each queue, highest priority first, from `queues` and `queue_capacity_packets` or
/// `queue_capacity_bytes`.
///
/// # Errors
/// Out of range, both units given, or a list whose length is not `queues`.
pub fn read_queue_capacities(args: &mut Args) -> Result<Vec<Capacity>, ParamError> {
    let queues = args.optional_integer(&QUEUES)?.map(fits::<usize>);
    let bytes = args.contains(&QUEUE_CAPACITY_BYTES);
    let param = if bytes { &QUEUE_CAPACITY_BYTES } else { &QUEUE_CAPACITY_PACKETS };
    let capacity = |value: i128| if bytes { Capacity::Bytes(fits(value)) } else { Capacity::Packets(fits(value)) };
    let owner = args.owner.clone();
    match args.read(param)? {
        Some(Value::List(values)) => {
            let values: Vec<i128> =
                values.iter().map(|value| integer(param, &owner, value)).collect::<Result<_, _>>()?;
            let shown = Value::List(values.iter().copied().map(Value::Integer).collect());
            if values.is_empty() || values.len() as u64 > MAX_QUEUES {
                return Err(param.error_because(&owner, shown, format!("expected from 1 to {MAX_QUEUES} queues")));
            }
            if let Some(queues) = queues.filter(|queues| *queues != values.len()) {
                let expected = format!("expected {queues} capacities, since queues = {queues}");
                return Err(param.error_because(&owner, shown, expected));
            }
            Ok(values.into_iter().map(capacity).collect())
        }
        one => {
            let one = one.unwrap_or(Value::Integer(10));
            Ok(alloc::vec![capacity(integer(param, &owner, &one)?); queues.unwrap_or(8)])
        }
    }
}

/// Checks the capacities that a Rust caller gave for the queues of `owner`.
///
/// # Errors
/// No queue, too many, one without room or without bound, or packets mixed with bytes.
pub fn check_queue_capacities(owner: &str, capacities: &[Capacity]) -> Result<(), ParamError> {
    QUEUES.check(owner, capacities.len() as i128)?;
    for capacity in capacities {
        if core::mem::discriminant(capacity) != core::mem::discriminant(&capacities[0]) {
            return Err(QUEUE_CAPACITY_PACKETS.error_because(
                owner,
                capacity,
                "expected the capacities of all queues in packets, or all in bytes",
            ));
        }
        check_in_rows(owner, *capacity, &QUEUE_CAPACITY_PACKETS, &QUEUE_CAPACITY_BYTES)?;
    }
    Ok(())
}

/// Checks the capacity that a Rust caller gave for the buffer of `owner`.
///
/// # Errors
/// Without room. [`Capacity::Unlimited`] passes.
pub fn check_capacity(owner: &str, capacity: Capacity) -> Result<(), ParamError> {
    if capacity == Capacity::Unlimited { Ok(()) } else { check_bounded_capacity(owner, capacity) }
}

/// As [`check_capacity`], for schedulers whose arithmetic needs a bound.
///
/// # Errors
/// Without room or without bound.
pub fn check_bounded_capacity(owner: &str, capacity: Capacity) -> Result<(), ParamError> {
    check_in_rows(owner, capacity, &CAPACITY_PACKETS, &CAPACITY_BYTES)
}

/// Checks a capacity against the row of its unit.
fn check_in_rows(owner: &str, capacity: Capacity, packets_row: &Param, bytes_row: &Param) -> Result<(), ParamError> {
    match capacity {
        Capacity::Packets(packets) => packets_row.check(owner, packets),
        Capacity::Bytes(bytes) => bytes_row.check(owner, bytes),
        Capacity::Unlimited => Err(packets_row.error(owner, capacity)),
    }
}

fn fits<T: TryFrom<i128>>(value: i128) -> T {
    T::try_from(value).ok().expect("the table's range fits in the field")
}

/// What can be built from text: a scheduler or a rank function.
pub trait FromArgs: Sized {
    /// What a user can look up about it.
    const INFO: Info;

    /// Reads its parameters.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn from_args(args: &mut Args) -> Result<Self, ParamError>;

    /// Reads its parameters and refuses every other.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted, is unknown, or has no effect.
    fn build(mut args: Args) -> Result<Self, ParamError> {
        let built = Self::from_args(&mut args)?;
        args.finish(Self::INFO.params)?;
        Ok(built)
    }
}

#[cfg(test)]
mod tests;

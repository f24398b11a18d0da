//! The parameters of a scheduler, readable by the library and by its oracle.

use crate::Source;
use num_rational::BigRational;
use pifolab_sched::Capacity;
use pifolab_sched::params::{Args, Value};
use std::collections::BTreeMap;
use std::fmt;

/// Parameters by name, as a user writes them. Oracles define their own defaults, so that a changed default in the
/// library fails a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Sets an integer.
    pub fn integer(&mut self, name: &'static str, value: impl Into<i128>) {
        self.values.insert(name, Value::Integer(value.into()));
    }

    /// Sets a word.
    pub fn word(&mut self, name: &'static str, value: &str) {
        self.values.insert(name, Value::Text(value.to_owned()));
    }

    /// Sets a flag.
    pub fn flag(&mut self, name: &'static str, value: bool) {
        self.values.insert(name, Value::Flag(value));
    }

    /// Sets a list of integers.
    pub fn list(&mut self, name: &'static str, values: impl IntoIterator<Item = u64>) {
        let values = values.into_iter().map(|value| Value::Integer(value.into())).collect();
        self.values.insert(name, Value::List(values));
    }

    /// Sets a word to one of `words`, or keeps the default.
    pub fn draw_word(&mut self, source: &mut Source<'_>, name: &'static str, words: &[&str]) {
        let choice = source.below(words.len() as u64 + 1) as usize;
        if choice > 0 {
            self.word(name, words[choice - 1]);
        }
    }

    /// Sets a fraction to one of a few values, or keeps the default.
    pub fn draw_fraction(&mut self, source: &mut Source<'_>, name: &'static str) {
        let choices =
            [None, Some((0, 1)), Some((1, 10)), Some((7, 10)), Some((1, 3)), Some((4_294_967_294, 4_294_967_295))];
        if let Some((numerator, denominator)) = source.pick(&choices) {
            self.list(name, [numerator, denominator]);
        }
    }

    /// Whether `name` is set.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The names and values, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// Converts the settings to the library's arguments.
    pub fn to_args(&self, owner: &str) -> Args {
        let mut args = Args::new(owner);
        for (name, value) in self.iter() {
            args.set(name, value.clone());
        }
        args
    }

    /// An integer, or `default`.
    pub fn get(&self, name: &str, default: i128) -> i128 {
        self.maybe(name).unwrap_or(default)
    }

    /// An integer, if it is set.
    pub fn maybe(&self, name: &str) -> Option<i128> {
        match self.values.get(name) {
            Some(Value::Integer(value)) => Some(*value),
            Some(other) => panic!("{name} = {other} is not an integer"),
            None => None,
        }
    }

    /// A word, or `default`.
    pub fn get_word<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        match self.values.get(name) {
            Some(Value::Text(text)) => text,
            Some(other) => panic!("{name} = {other} is not a word"),
            None => default,
        }
    }

    /// A flag, or `default`.
    pub fn get_flag(&self, name: &str, default: bool) -> bool {
        match self.values.get(name) {
            Some(Value::Flag(flag)) => *flag,
            Some(other) => panic!("{name} = {other} is not a flag"),
            None => default,
        }
    }

    /// A list of integers, if it is set.
    pub fn get_list(&self, name: &str) -> Option<Vec<i128>> {
        let integer = |value: &Value| match value {
            Value::Integer(value) => *value,
            other => panic!("{name} holds {other}"),
        };
        match self.values.get(name) {
            Some(Value::List(values)) => Some(values.iter().map(integer).collect()),
            Some(other) => panic!("{name} = {other} is not a list"),
            None => None,
        }
    }

    /// A fraction given as a pair, or `default`.
    pub fn get_fraction(&self, name: &str, default: (i128, i128)) -> BigRational {
        let (numerator, denominator) = match self.get_list(name).as_deref() {
            Some([numerator, denominator]) => (*numerator, *denominator),
            Some(other) => panic!("{name} = {other:?} is not a fraction"),
            None => default,
        };
        BigRational::new(numerator.into(), denominator.into())
    }

    /// The capacity of a single buffer.
    pub fn capacity(&self) -> Capacity {
        match (self.maybe("capacity_packets"), self.maybe("capacity_bytes")) {
            (None, Some(bytes)) => Capacity::Bytes(bytes as u64),
            (packets, None) => Capacity::Packets(packets.unwrap_or(80) as u32),
            (Some(_), Some(_)) => panic!("two capacities"),
        }
    }

    /// The capacity of each queue.
    pub fn capacities(&self) -> Vec<Capacity> {
        let bytes = self.values.contains_key("queue_capacity_bytes");
        let capacity =
            |value: i128| if bytes { Capacity::Bytes(value as u64) } else { Capacity::Packets(value as u32) };
        let name = if bytes { "queue_capacity_bytes" } else { "queue_capacity_packets" };
        match self.values.get(name) {
            Some(Value::List(_)) => self.get_list(name).unwrap_or_default().into_iter().map(capacity).collect(),
            _ => vec![capacity(self.get(name, 10)); self.get("queues", 8) as usize],
        }
    }
}

/// Prints JSON in the format of `conformance/`.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}\"{name}\": {value}")?;
        }
        f.write_str("}")
    }
}

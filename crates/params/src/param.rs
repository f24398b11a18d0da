//! The rows of a table of parameters.

use crate::{MAX_RANK, Value, closest};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use pifolab_units::{Ratio, Span};

/// A word of a choice, and its meaning.
pub type Word = (&'static str, &'static str);

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key, with its unit if it has one: `capacity_packets`. For a time or a rate, without its unit.
    pub name: &'static str,
    /// The unit in words: `packets`, `ranks`, `bytes`. Empty for a pure number or a choice.
    pub unit: &'static str,
    /// The kind of valid values.
    pub kind: Kind,
    /// The meaning of an absent key.
    pub absent: Absent,
    /// The effect in one or two sentences, and the source of the default.
    pub doc: &'static str,
}

/// The kind of valid values of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An integer from `min` to `max`.
    Integer {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// A list of integers from `min` to `max`.
    Integers {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// One integer for all queues, or a list with one integer per queue.
    IntegerOrIntegers {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// An exact fraction from 0 up to, but not including, 1.
    Fraction,
    /// An exact fraction from 0 to 1.
    Share,
    /// A number above 0.
    Positive,
    /// A time: the key ends in `_s`, `_ms`, `_us` or `_ns`.
    Time,
    /// A rate above 0: the key ends in `_gbps`, `_mbps` or `_bps`.
    Rate,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// An integer, a text, or a list of them.
    Values,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [Word]),
    /// One of these words. Each word allows further keys of the same table.
    OneOf(&'static [Word], &'static [Case]),
    /// A distribution over integers: its name, or a table of `distribution` and its parameters.
    Distribution,
    /// An integer from `min` to `max`, or a distribution.
    IntegerOrDistribution {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// A table with these keys.
    Table(&'static [Param]),
    /// A table with these keys, or a list of such tables.
    Tables(&'static [Param]),
    /// A named component with its own parameters: a table of `name` and the parameters.
    Component(Role),
    /// A list of such tables; each may have a `label`.
    Components(Role),
}

/// A word of a [`Kind::OneOf`], and the keys that it allows.
pub type Case = (&'static str, &'static [Param]);

/// The kind of component that a [`Kind::Component`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A scheduler.
    Scheduler,
    /// A rank function.
    RankFunction,
    /// A user's congestion controller.
    Controller,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduler => "scheduler",
            Self::RankFunction => "rank function",
            Self::Controller => "congestion controller",
        })
    }
}

/// A type that values can be converted to.
pub trait FromValue: Sized {
    /// Converts a value; `None` if `kind` does not allow it.
    fn from_value(kind: &Kind, value: &Value) -> Option<Self>;
}

/// An enum that is written as one word. [`choices!`](crate::choices) implements it.
pub trait Choice: Copy + 'static {
    /// The words, each with its meaning.
    const WORDS: &'static [Word];
    /// The variants in the order of their words.
    const ALL: &'static [Self];

    /// The variant with the word `word`.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.as_word() == word)
    }

    /// The word of this variant.
    fn as_word(self) -> &'static str;

    /// The variant's number in C.
    fn code(self) -> u32;
}

/// The units of a time whose key has no unit, as in `delay = "10us"`, with the power of ten of picoseconds.
pub const WRITTEN_TIMES: &[(&str, u32)] = &[("s", 12), ("ms", 9), ("us", 6), ("µs", 6), ("ns", 3), ("ps", 0)];
/// The units of a rate whose key has no unit, as in `rate = "10G"`, with the power of ten of bits per second.
pub const WRITTEN_RATES: &[(&str, u32)] = &[
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("K", 3),
    ("Tbps", 12),
    ("Gbps", 9),
    ("Mbps", 6),
    ("kbps", 3),
    ("Kbps", 3),
    ("bps", 0),
    ("Tb/s", 12),
    ("Gb/s", 9),
    ("Mb/s", 6),
    ("kb/s", 3),
    ("Kb/s", 3),
    ("b/s", 0),
    ("Tbit/s", 12),
    ("Gbit/s", 9),
    ("Mbit/s", 6),
    ("kbit/s", 3),
    ("Kbit/s", 3),
    ("bit/s", 0),
];
/// The units of a size in bytes, as in `size_bytes = "9kB"`, with the power of ten of bytes.
pub const WRITTEN_SIZES: &[(&str, u32)] = &[("B", 0), ("kB", 3), ("KB", 3), ("MB", 6), ("GB", 9)];

/// The units of time: the suffix of the key, and the power of ten of picoseconds.
pub const TIME_UNITS: [(&str, u32); 4] = [("_s", 12), ("_ms", 9), ("_us", 6), ("_ns", 3)];
/// The units of rate: the suffix of the key, and the power of ten of bits per second.
pub const RATE_UNITS: [(&str, u32); 3] = [("_gbps", 9), ("_mbps", 6), ("_bps", 0)];

/// The meaning of an absent key.
#[derive(Clone, Copy, Debug)]
pub enum Absent {
    /// This default value.
    Default(Literal),
    /// A default that depends on another key.
    Depends(Depends),
    /// This default value, under a condition that the text describes.
    Usually(Literal, &'static str),
    /// No value; the text describes the meaning.
    Means(&'static str),
    /// The key is required.
    Required,
}

/// A default that depends on the word of another key.
#[derive(Clone, Copy, Debug)]
pub struct Depends {
    /// The other key.
    pub key: &'static str,
    /// The default if the other key is absent.
    pub without: Literal,
    /// The default for each word of the other key.
    pub with: &'static [(&'static str, Literal)],
}

/// A value in a table of parameters. It prints in the written format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// An integer.
    Integer(i64),
    /// A numerator and a denominator.
    Fraction(u64, u64),
    /// A word of a choice, or a text.
    Word(&'static str),
    /// A list of integers.
    Integers(&'static [i64]),
    /// `true` or `false`.
    Flag(bool),
    /// A time.
    Time(Span),
}

impl Literal {
    /// The [`Value`] that is equal to this literal.
    ///
    /// # Panics
    /// If a denominator is 0.
    pub fn value(self) -> Value {
        match self {
            Self::Integer(integer) => Value::Integer(integer.into()),
            Self::Fraction(..) => Value::Decimal(self.to_string()),
            Self::Word(word) => Value::Text(word.to_owned()),
            Self::Integers(list) => Value::List(list.iter().map(|integer| Value::Integer((*integer).into())).collect()),
            Self::Flag(flag) => Value::Flag(flag),
            Self::Time(time) => Value::Integer(time.as_ps().into()),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(integer) => integer.fmt(f),
            // A decimal number, if it is exact.
            Self::Fraction(numerator, denominator) => match (0..10).find(|digits| {
                10u64.pow(*digits).checked_mul(numerator).is_some_and(|scaled| scaled.is_multiple_of(denominator))
            }) {
                Some(0) => (numerator / denominator).fmt(f),
                Some(digits) => {
                    let scale = 10u64.pow(digits);
                    let scaled = numerator * scale / denominator;
                    write!(f, "{}.{:0width$}", scaled / scale, scaled % scale, width = digits as usize)
                }
                None => Ratio::new(numerator, denominator).expect("a denominator is not 0").fmt(f),
            },
            Self::Word(word) => word.fmt(f),
            Self::Integers(list) => write!(f, "{list:?}"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Time(time) => time.fmt(f),
        }
    }
}

impl fmt::Display for Depends {
    /// `kept; live with profile = netbench-aifo, netbench-rifo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.without.fmt(f)?;
        let mut told = Vec::from([self.without]);
        for (_, literal) in self.with {
            if told.contains(literal) {
                continue;
            }
            told.push(*literal);
            let words: Vec<_> = self.with.iter().filter(|(_, with)| with == literal).map(|(word, _)| *word).collect();
            if words.len() == self.with.len() {
                write!(f, "; {literal} with any {}", self.key)?;
            } else {
                write!(f, "; {literal} with {} = {}", self.key, words.join(", "))?;
            }
        }
        Ok(())
    }
}

impl Absent {
    /// The meaning of absence, if it is not a single value.
    pub fn meaning(&self) -> Option<String> {
        match self {
            Self::Depends(depends) => Some(depends.to_string()),
            Self::Usually(literal, when) => Some(format!("{literal}{when}")),
            Self::Means(text) => Some((*text).to_owned()),
            Self::Default(_) | Self::Required => None,
        }
    }
}

impl fmt::Display for Absent {
    /// `default 8`, `if absent: 80 packets`, `required`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default(literal) => write!(f, "default {literal}"),
            Self::Required => f.write_str("required"),
            absent => write!(f, "if absent: {}", absent.meaning().unwrap_or_default()),
        }
    }
}

impl Param {
    /// A required row.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, unit: "", kind, absent: Absent::Required, doc: "" }
    }

    /// An integer from `min` to `max`.
    pub const fn integer(name: &'static str, min: i64, max: u64) -> Self {
        Self::new(name, Kind::Integer { min, max })
    }

    /// A list of integers from `min` to `max`.
    pub const fn integers(name: &'static str, min: i64, max: u64) -> Self {
        Self::new(name, Kind::Integers { min, max })
    }

    /// One of the words of `C`.
    pub const fn choice<C: Choice>(name: &'static str) -> Self {
        Self::new(name, Kind::Choice(C::WORDS))
    }

    /// One of the words of `C`. Each word allows further keys of the same table.
    pub const fn one_of<C: Choice>(name: &'static str, cases: &'static [Case]) -> Self {
        Self::new(name, Kind::OneOf(C::WORDS, cases))
    }

    /// `true` or `false`.
    pub const fn flag(name: &'static str) -> Self {
        Self::new(name, Kind::Flag)
    }

    /// Sets the unit in words.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Sets the description.
    #[must_use]
    pub const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    /// Makes the key optional without a value; `text` is the meaning of its absence.
    #[must_use]
    pub const fn means(self, text: &'static str) -> Self {
        Self { absent: Absent::Means(text), ..self }
    }

    /// Sets a default that applies under a condition. The text after the value describes the condition:
    /// `.usually(Literal::Integer(80), " packets, unless capacity_bytes is given")`.
    #[must_use]
    pub const fn usually(self, default: Literal, when: &'static str) -> Self {
        Self { absent: Absent::Usually(default, when), ..self }
    }

    /// Sets a default that depends on another key.
    #[must_use]
    pub const fn depends(self, depends: Depends) -> Self {
        Self { absent: Absent::Depends(depends), ..self }
    }

    /// Sets the default.
    #[must_use]
    pub const fn or(self, default: Literal) -> Self {
        Self { absent: Absent::Default(default), ..self }
    }

    /// Sets an integer as the default.
    #[must_use]
    pub const fn or_integer(self, default: i64) -> Self {
        self.or(Literal::Integer(default))
    }

    /// Sets a word of the choice as the default.
    #[must_use]
    pub const fn or_word(self, default: &'static str) -> Self {
        self.or(Literal::Word(default))
    }

    /// Sets a flag as the default.
    #[must_use]
    pub const fn or_flag(self, default: bool) -> Self {
        self.or(Literal::Flag(default))
    }

    /// The words of a choice; empty for other kinds.
    pub const fn words(&self) -> &'static [Word] {
        match self.kind {
            Kind::Choice(words) | Kind::OneOf(words, _) => words,
            _ => &[],
        }
    }

    /// The keys that each word allows; empty unless the row is a [`Kind::OneOf`].
    pub const fn cases(&self) -> &'static [Case] {
        if let Kind::OneOf(_, cases) = self.kind { cases } else { &[] }
    }

    /// The keys under which the parameter can be written. A time or a rate has one key per unit, and last its name
    /// without a unit, for a value with a unit.
    pub fn keys(&self) -> Vec<String> {
        let units: &[(&str, u32)] = match self.kind {
            Kind::Time => &TIME_UNITS,
            Kind::Rate => &RATE_UNITS,
            _ => &[],
        };
        units.iter().map(|(unit, _)| *unit).chain([""]).map(|unit| format!("{}{unit}", self.name)).collect()
    }

    /// The valid values in words: `an integer from 1 to 1024 (queues)`.
    pub fn allowed(&self) -> String {
        let range = |min: i64, max: u64| {
            let min = if min == i64::MIN { "-2^63".to_owned() } else { min.to_string() };
            if max == MAX_RANK { format!("from {min} to 2^63 - 1") } else { format!("from {min} to {max}") }
        };
        let what = match self.kind {
            Kind::Integer { min, max } => format!("an integer {}", range(min, max)),
            Kind::Integers { min, max } => format!("a list of integers {}", range(min, max)),
            Kind::IntegerOrIntegers { min, max } => {
                format!("an integer {}, or a list with one for each queue", range(min, max))
            }
            Kind::IntegerOrDistribution { min, max } => format!("an integer {}, or a distribution", range(min, max)),
            Kind::Fraction => "a fraction from 0 up to but not including 1, such as 0.1 or 1/10".to_owned(),
            Kind::Share => "a fraction from 0 to 1, such as 0.1 or \"1/10\"".to_owned(),
            Kind::Positive => "a number above 0".to_owned(),
            Kind::Time => "a time in whole picoseconds, at most 213 days".to_owned(),
            Kind::Rate => {
                "a rate in whole bits per second, from 1 b/s to 8000 Gb/s, at which a byte takes a picosecond"
                    .to_owned()
            }
            Kind::Text => "a text".to_owned(),
            Kind::Texts => "a list of texts".to_owned(),
            Kind::Values => "an integer, a text, or a list of them".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Choice(words) | Kind::OneOf(words, _) => {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Distribution => "a distribution: its name, or a table with its parameters".to_owned(),
            Kind::Table(_) | Kind::Component(_) => "a table".to_owned(),
            Kind::Tables(_) => "a table or a list of tables".to_owned(),
            Kind::Components(_) => format!("a list of tables, [[{}]]", self.name),
        };
        if self.unit.is_empty() { what } else { format!("{what} ({})", self.unit) }
    }

    /// The valid values for errors: `expected an integer from 1 to 1024 (queues)`.
    pub fn expected(&self) -> String {
        format!("expected {}", self.allowed())
    }

    /// The valid values for an error about `value`, with the word most likely intended.
    pub fn expected_not(&self, value: &Value) -> String {
        let meant = match value {
            Value::Text(text) => closest(text, self.words().iter().map(|(word, _)| *word)),
            _ => None,
        };
        match meant {
            Some(word) => format!("{}; did you mean {word}?", self.expected()),
            None => self.expected(),
        }
    }

    /// The value set by [`usually`](Self::usually).
    ///
    /// # Panics
    /// If the row has no usual value of this type.
    pub fn usual<T: FromValue>(&self) -> T {
        let Absent::Usually(literal, _) = self.absent else { panic!("{} has no usual value", self.name) };
        T::from_value(&self.kind, &literal.value()).expect("a row allows its own default")
    }

    /// The default, if the row has one.
    pub fn default_value(&self) -> Option<Value> {
        if let Absent::Default(literal) = self.absent { Some(literal.value()) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_defaults_print_as_they_would_be_written_and_read_back() {
        let ratio = |n, d| Ratio::new(n, d).unwrap();
        let row = Param::new("k", Kind::Share);
        for (literal, text, read) in [
            (Literal::Fraction(1, 10), "0.1", ratio(1, 10)),
            (Literal::Fraction(1, 16), "0.0625", ratio(1, 16)),
            (Literal::Fraction(0, 5), "0", Ratio::ZERO),
            (Literal::Fraction(1, 3), "1/3", ratio(1, 3)),
        ] {
            assert_eq!(literal.to_string(), text);
            assert_eq!(Ratio::from_value(&row.kind, &literal.value()), Some(read));
        }
        assert_eq!(Absent::Default(Literal::Time(Span::from_us(10))).to_string(), "default 10 us");
    }

    #[test]
    fn what_usually_holds_is_read_and_printed_from_one_value() {
        let row = Param::integer("n", 1, 100).usually(Literal::Integer(80), " packets, unless m is given");
        assert_eq!(row.usual::<u32>(), 80);
        assert_eq!(row.absent.to_string(), "if absent: 80 packets, unless m is given");
        assert_eq!(row.default_value(), None, "another key may take its place");
        let row = Param::integers("seeds", 0, 100).usually(Literal::Integers(&[1, 2]), "");
        assert_eq!((row.usual::<Vec<u64>>(), row.absent.meaning()), (Vec::from([1, 2]), Some("[1, 2]".to_owned())));
    }

    #[test]
    fn a_default_that_depends_says_on_which_words() {
        const A: Literal = Literal::Integer(1);
        const B: Literal = Literal::Integer(2);
        const C: Literal = Literal::Integer(3);
        let told = |with| Absent::Depends(Depends { key: "profile", without: A, with }).to_string();
        assert_eq!(told(&[("x", B), ("y", B)]), "if absent: 1; 2 with any profile");
        assert_eq!(told(&[("x", B), ("y", A), ("z", B)]), "if absent: 1; 2 with profile = x, z");
        assert_eq!(told(&[("x", B), ("y", C)]), "if absent: 1; 2 with profile = x; 3 with profile = y");
    }
}

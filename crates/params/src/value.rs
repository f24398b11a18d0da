//! Values as written, and tables of them. A table keeps its keys in the order of the text, with each key's place and
//! whether it was read.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A value as written.
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
    /// A table.
    Table(Table),
    /// A list of tables.
    Tables(Vec<Table>),
}

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
            Self::Table(_) => f.write_str("{ ... }"),
            Self::Tables(_) => f.write_str("[{ ... }]"),
        }
    }
}

/// The place where a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole file, or no file.
    File,
    /// A line, counted from 1.
    Line(usize),
    /// A flag of the command line that overrides the file.
    Flag(&'static str),
}

impl Place {
    /// The place of an override.
    pub const SET: Self = Self::Flag("--set");
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The table's name after the names of the outer tables: `workload.phase`; empty for the root.
    pub path: String,
    /// The place where the table begins.
    pub place: Place,
    /// The table's keys.
    pub entries: Vec<Entry>,
}

/// One key of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub place: Place,
    /// The value.
    pub value: Value,
    /// Whether the key was read.
    pub used: bool,
}

impl Entry {
    /// Creates an unread key.
    pub fn new(key: impl Into<String>, place: Place, value: Value) -> Self {
        Self { key: key.into(), place, value, used: false }
    }
}

impl Table {
    /// An empty table.
    pub fn new(path: impl Into<String>, place: Place) -> Self {
        Self { path: path.into(), place, entries: Vec::new() }
    }

    /// Creates a table with one key.
    pub fn of(path: impl Into<String>, place: Place, key: &str, value: Value) -> Self {
        let mut table = Self::new(path, place);
        table.put(key, place, value);
        table
    }

    /// Sets `key`, replacing an earlier value.
    pub fn put(&mut self, key: &str, place: Place, value: Value) {
        match self.entry_mut(key) {
            Some(entry) => (entry.value, entry.place) = (value, place),
            None => self.entries.push(Entry::new(key, place, value)),
        }
    }

    /// The entry of `key`.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// The value of `key`, without marking it as read.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Returns the value of `key` and marks it as read.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let entry = self.entry_mut(key)?;
        entry.used = true;
        Some(entry.value.clone())
    }

    /// Whether the table contains `key`.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The place of `key`, or of the table if it does not contain the key.
    pub fn place_of(&self, key: &str) -> Place {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.place, |entry| entry.place)
    }

    /// The first unread key.
    pub fn first_unused(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| !entry.used)
    }
}

/// Joins `path` and `key` to `path.key`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

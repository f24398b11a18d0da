//! Values as they were written, and tables of them: keys in the order of the text, each with its place, and whether it was
//! read.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

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

/// Where a key was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole, or no file at all.
    File,
    /// A line, counted from 1.
    Line(usize),
    /// A flag of the command line that puts something in the place of what the file says.
    Flag(&'static str),
}

impl Place {
    /// An override.
    pub const SET: Self = Self::Flag("--set");
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name with those of the tables around it: `workload.phase`; empty at the top.
    pub path: String,
    /// Where it begins.
    pub place: Place,
    /// Its keys.
    pub entries: Vec<Entry>,
}

/// One key of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where it was written.
    pub place: Place,
    /// What was written.
    pub value: Value,
    /// Whether it was read.
    pub used: bool,
}

impl Entry {
    /// A key that was not read yet.
    pub fn new(key: impl Into<String>, place: Place, value: Value) -> Self {
        Self { key: key.into(), place, value, used: false }
    }
}

impl Table {
    /// An empty table.
    pub fn new(path: impl Into<String>, place: Place) -> Self {
        Self { path: path.into(), place, entries: Vec::new() }
    }

    /// A table of one key.
    pub fn of(path: impl Into<String>, place: Place, key: &str, value: Value) -> Self {
        let mut table = Self::new(path, place);
        table.put(key, place, value);
        table
    }

    /// Writes `key`, in the place of what it was.
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

    /// The value of `key`; it does not count as read.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Reads the value of `key`.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let entry = self.entry_mut(key)?;
        entry.used = true;
        Some(entry.value.clone())
    }

    /// Whether `key` was written.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Where `key` was written; where the table begins if it was not.
    pub fn place_of(&self, key: &str) -> Place {
        self.entries.iter().find(|entry| entry.key == key).map_or(self.place, |entry| entry.place)
    }

    /// The first key that was not read.
    pub fn first_unused(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| !entry.used)
    }
}

/// `path.key`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

//! The arguments of one scheduler, rank function or similar, read key by key.

use crate::{Absent, Entry, FromValue, Kind, Param, Place, Role, Table, Value, WRITTEN_SIZES, exact_with_unit, meant};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use pifolab_units::Ratio;

/// A parameter error: the parameter's owner, its key, the written value and the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The scheduler or rank function; for a nested one, its path.
    pub owner: String,
    /// The key.
    pub key: String,
    /// The written value; `None` if the key is missing.
    pub value: Option<String>,
    /// The valid values.
    pub expected: String,
}

/// The largest number of characters of a value in an error, because a text may be long.
const LONGEST: usize = 160;

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.owner, self.key, self.problem())
    }
}

impl core::error::Error for ParamError {}

impl ParamError {
    /// The problem without owner and key: `= 3: expected ...` or `is missing: expected ...`.
    pub fn problem(&self) -> Misfit {
        let Some(value) = &self.value else { return format!("is missing: {}", self.expected).into() };
        match value.char_indices().nth(LONGEST) {
            Some((end, _)) => Misfit::of(format_args!("{}...", &value[..end]), self.expected.clone()),
            None => Misfit::of(value, self.expected.clone()),
        }
    }
}

/// The problem with a key, printed after the key's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The written value, if the value is the problem.
    pub value: Option<String>,
    /// The valid values; or the problem, if there is no value.
    pub expected: Box<str>,
    /// The kind of component, if no component has the written name.
    pub unknown: Option<Role>,
}

impl Misfit {
    /// The problem with a written value.
    pub fn of(value: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { value: Some(value.to_string()), expected: expected.into().into(), unknown: None }
    }

    /// The problem with a name that no component of kind `role` has.
    #[must_use]
    pub fn unknown(self, role: Role) -> Self {
        Self { unknown: Some(role), ..self }
    }
}

impl<T: Into<String>> From<T> for Misfit {
    fn from(expected: T) -> Self {
        Self { value: None, expected: expected.into().into(), unknown: None }
    }
}

/// Prints `= 3: expected ...`, or the problem if there is no value.
impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "= {value}: {}", self.expected),
            None => f.write_str(&self.expected),
        }
    }
}

/// A user's arguments, read key by key. A read checks the value against its row and marks the key as read;
/// [`finish`](Self::finish) returns an error for keys never read.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// The keys and values as written.
    pub table: Table,
}

impl From<Table> for Args {
    fn from(table: Table) -> Self {
        Self { table }
    }
}

impl Args {
    /// Creates an empty set of arguments for the scheduler or rank function `owner`.
    pub fn new(owner: impl Into<String>) -> Self {
        Self { table: Table::new(owner, Place::File) }
    }

    /// Adds an argument; a later one of the same name replaces it.
    pub fn set(&mut self, name: impl Into<String>, value: Value) -> &mut Self {
        self.table.put(&name.into(), Place::File, value);
        self
    }

    /// The owner of the arguments.
    pub fn owner(&self) -> &str {
        &self.table.path
    }

    /// Returns the arguments with another owner.
    #[must_use]
    pub fn owned_by(mut self, owner: impl Into<String>) -> Self {
        self.table.path = owner.into();
        self
    }

    /// The keys and values, in the written order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.table.entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
    }

    /// Whether `param` is written.
    pub fn contains(&self, param: &Param) -> bool {
        self.table.contains(param.name)
    }

    /// The error for the written value `value`.
    fn fault(&self, param: &Param, value: Option<&Value>, expected: String) -> ParamError {
        let value = value.map(Value::to_string);
        ParamError { owner: self.owner().to_owned(), key: param.name.to_owned(), value, expected }
    }

    /// The written value or the default. `None` if both are missing and the row's absence has a meaning.
    ///
    /// # Errors
    /// If the parameter is required and missing.
    pub fn value(&mut self, param: &Param) -> Result<Option<Value>, ParamError> {
        match (self.table.take(param.name), param.absent) {
            (None, Absent::Required) => Err(self.fault(param, None, param.expected())),
            (Some(Value::Text(text)), _) if param.name.ends_with("_bytes") => {
                let bytes = exact_with_unit(&text, WRITTEN_SIZES).map(|bytes| Value::Integer(bytes.into()));
                Ok(Some(bytes.unwrap_or(Value::Text(text))))
            }
            (value, _) => Ok(value.or_else(|| param.default_value())),
        }
    }

    /// Reads a parameter that may be absent.
    ///
    /// # Errors
    /// If the parameter is required and missing, or its row does not allow the value.
    pub fn get<T: FromValue>(&mut self, param: &Param) -> Result<Option<T>, ParamError> {
        self.value(param)?.map(|value| self.read(param, &value)).transpose()
    }

    /// Reads a parameter with a [usual](Param::usually) value.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Panics
    /// If the row has no usual value.
    pub fn usual<T: FromValue>(&mut self, param: &Param) -> Result<T, ParamError> {
        Ok(self.get(param)?.unwrap_or_else(|| param.usual()))
    }

    /// Converts `value`, which is written for `param`.
    ///
    /// # Errors
    /// If the row does not allow the value.
    pub fn read<T: FromValue>(&self, param: &Param, value: &Value) -> Result<T, ParamError> {
        T::from_value(&param.kind, value).ok_or_else(|| self.misfit(param, value))
    }

    /// The error for `value`, which `param` does not allow.
    pub fn misfit(&self, param: &Param, value: &Value) -> ParamError {
        let expected = param.expected_not(value);
        match (param.kind, value) {
            // Of a list of integers, only the integer out of range is printed.
            (Kind::Integers { .. } | Kind::IntegerOrIntegers { .. }, Value::List(members)) => {
                let wrong = members.iter().find(|member| i128::from_value(&param.kind, member).is_none());
                let integer = wrong.filter(|wrong| matches!(wrong, Value::Integer(_)));
                self.fault(param, Some(integer.unwrap_or(value)), expected)
            }
            (Kind::Integers { .. }, _) => self.fault(param, Some(value), format!("{expected}, such as [1, 2]")),
            _ => self.fault(param, Some(value), expected),
        }
    }

    /// Reads a parameter that is required or has a default.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Panics
    /// If the row is neither required nor has a default.
    pub fn given<T: FromValue>(&mut self, param: &Param) -> Result<T, ParamError> {
        Ok(self.get(param)?.expect("the table gives a default or requires the key"))
    }

    /// Reads a component inside of this one, such as a scheduler inside a scheduler. The owner of the returned
    /// arguments is the component's name; their path in errors includes the outer components.
    ///
    /// # Errors
    /// If it is missing, is not a table, or is a table without a name.
    pub fn component(&mut self, param: &Param) -> Result<Option<Component>, ParamError> {
        match self.value(param)? {
            None => Ok(None),
            Some(Value::Table(table)) => self.named(param, table).map(Some),
            Some(other) => Err(self.misfit(param, &other)),
        }
    }

    /// Like [`component`](Self::component), for a list of components.
    ///
    /// # Errors
    /// As [`component`](Self::component).
    pub fn components(&mut self, param: &Param) -> Result<Vec<Component>, ParamError> {
        match self.value(param)? {
            None => Ok(Vec::new()),
            Some(Value::Tables(tables)) => {
                let at = |(position, table)| {
                    self.named(param, table)
                        .map_err(|error| ParamError { owner: format!("{}.{position}", error.owner), ..error })
                };
                tables.into_iter().enumerate().map(at).collect()
            }
            Some(other) => Err(self.misfit(param, &other)),
        }
    }

    fn named(&self, param: &Param, mut table: Table) -> Result<Component, ParamError> {
        let owner = format!("{}.{}", self.owner(), param.name);
        let name = match table.take("name") {
            Some(Value::Text(name)) => name,
            other => {
                let value = other.as_ref().map(Value::to_string);
                let (key, expected) = ("name".to_owned(), "expected a name".to_owned());
                return Err(ParamError { owner, key, value, expected });
            }
        };
        table.entries.retain(|entry| entry.key != "name");
        table.path = owner;
        Ok(Component { name, args: Self { table } })
    }

    /// Checks that every argument was read.
    ///
    /// # Errors
    /// Returns the first argument that is not in `params`, with the closest known name, or that had no effect with the
    /// other arguments.
    pub fn finish(self, params: &[Param]) -> Result<(), ParamError> {
        match self.table.first_unused() {
            Some(entry) => Err(self.refused(entry, &[params])),
            None => Ok(()),
        }
    }

    /// Checks that every unread key is in one of these lists, for callers that pass the remaining keys on.
    ///
    /// # Errors
    /// Returns the first unread key that is in no list, with the closest known name.
    pub fn refuse_unknown(&self, lists: &[&[Param]]) -> Result<(), ParamError> {
        let known = |key: &str| lists.iter().any(|params| params.iter().any(|param| param.name == key));
        match self.table.entries.iter().find(|entry| !entry.used && !known(&entry.key)) {
            Some(entry) => Err(self.refused(entry, lists)),
            None => Ok(()),
        }
    }

    fn refused(&self, entry: &Entry, lists: &[&[Param]]) -> ParamError {
        let names = || lists.iter().flat_map(|params| params.iter().map(|param| param.name));
        let expected = if names().any(|name| name == entry.key) {
            "this key has no effect with the other keys: remove it".to_owned()
        } else {
            unknown_key(&entry.key, names, "pifolab show NAME")
        };
        let value = Some(entry.value.to_string());
        ParamError { owner: self.owner().to_owned(), key: entry.key.clone(), value, expected }
    }
}

/// The message for an unknown `key`, with the intended one of `names` (see [`meant`]). `listed_by` is the command that
/// prints all names.
pub fn unknown_key<'a, I: Iterator<Item = &'a str>>(key: &str, names: impl Fn() -> I, listed_by: &str) -> String {
    if names().next().is_none() {
        return "unknown key; there are no parameters".to_owned();
    }
    format!("unknown key; {}", meant(key, names, "the keys are", Some(listed_by)))
}

/// A named component inside another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The component's name.
    pub name: String,
    /// The component's arguments.
    pub args: Args,
}

impl Param {
    /// The error for `value` of this parameter.
    pub fn error(&self, owner: &str, value: impl fmt::Display) -> ParamError {
        self.error_because(owner, value, self.expected())
    }

    /// The error for `value` of this parameter, with the caller's description of valid values.
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
    /// If the value is outside the range, or the row holds no integers.
    pub fn check(&self, owner: &str, value: impl Into<i128>) -> Result<(), ParamError> {
        let value = value.into();
        match i128::from_value(&self.kind, &Value::Integer(value)) {
            Some(_) => Ok(()),
            None => Err(self.error(owner, value)),
        }
    }

    /// Checks that a fraction is below 1.
    ///
    /// # Errors
    /// If the value is 1 or above.
    pub fn check_fraction(&self, owner: &str, value: Ratio) -> Result<(), ParamError> {
        if value < Ratio::ONE { Ok(()) } else { Err(self.error(owner, value)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    const CHILD: Param = Param::new("child", Kind::Components(Role::Scheduler));
    const WEIGHT: Param = Param::integer("weight", 1, 10);

    #[test]
    fn a_scheduler_inside_a_scheduler_is_a_table_inside_a_table() {
        let child = |weight| {
            let mut table = Table::of("child", Place::Line(3), "name", Value::Text("fifo".to_owned()));
            table.put("weight", Place::Line(4), Value::Integer(weight));
            table
        };
        let mut args = Args::new("tree");
        args.set("child", Value::Tables([child(3), child(11)].into()));
        let mut children = args.components(&CHILD).unwrap();
        assert_eq!(children.iter().map(|child| child.name.as_str()).collect::<Vec<_>>(), ["fifo", "fifo"]);
        assert_eq!(children[0].args.given::<u64>(&WEIGHT), Ok(3));
        let error = children[1].args.given::<u64>(&WEIGHT).unwrap_err();
        assert_eq!(error.to_string(), "tree.child: weight = 11: expected an integer from 1 to 10");
        args.finish(&[CHILD]).unwrap();

        let mut args = Args::new("tree");
        args.set("child", Value::Tables([Table::new("child", Place::File)].into()));
        let error = args.components(&CHILD).unwrap_err();
        assert_eq!(error.to_string(), "tree.child.0: name is missing: expected a name");

        let error = CHILD.error("tree", "a".repeat(1_000));
        assert_eq!(error.to_string(), format!("tree: child = {}...: {}", "a".repeat(LONGEST), CHILD.expected()));
    }
}

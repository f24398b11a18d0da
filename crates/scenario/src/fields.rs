//! The keys of a scenario's tables, written down once: they feed validation, the manifest and the JSON Schema.
//!
//! Schedulers and rank functions bring their own tables ([`pifolab_sched::params`]); these are the others.

use crate::error::{Place, SpecError};
use crate::text::{Node, Section, join};
use pifolab_sched::params::{Value, closest};
use pifolab_units::{Rate, Ratio, Span};
use serde_json::{Map, Value as Json};

/// One key, or one quantity that may be written in several units.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key; of a time or a rate without its unit.
    pub name: &'static str,
    /// What may be written.
    pub what: What,
    /// What holds if it is absent.
    pub absent: Absent,
    /// What it does.
    pub doc: &'static str,
}

/// What may be written for a key.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// An integer in this range.
    Integer(u64, u64),
    /// An integer from -2^63 to 2^63 - 1.
    Signed,
    /// A list of integers in this range, at least one.
    Integers(u64, u64),
    /// A number above 0.
    Positive,
    /// An exact fraction from 0 to 1.
    Share,
    /// A time: the key ends in `_s`, `_ms`, `_us` or `_ns`.
    Time,
    /// A rate above 0: the key ends in `_gbps`, `_mbps` or `_bps`.
    Rate,
    /// A text.
    Text,
    /// A list of texts, at least one.
    Texts,
    /// `true` or `false`.
    Flag,
    /// One of these words, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// A distribution over integers: its name, or a table of `distribution` and its parameters.
    Distribution,
    /// An integer, or a distribution.
    IntegerOrDistribution(u64, u64),
    /// A table with these keys.
    Table(&'static [Field]),
    /// A table with these keys, or a list of such.
    Tables(&'static [Field]),
    /// A rank function: a table of `name` and its parameters.
    RankFunction,
    /// A congestion controller of the user's: a table of `name` and its parameters.
    Controller,
    /// A scheduler: a table of `name` and its parameters.
    Scheduler,
    /// A list of schedulers: tables of `name`, `label` and parameters.
    Schedulers,
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

/// Units of time: the end of the key, and the power of ten of picoseconds.
pub(crate) const TIME_UNITS: [(&str, u32); 4] = [("_s", 12), ("_ms", 9), ("_us", 6), ("_ns", 3)];
/// Units of rate: the end of the key, and the power of ten of bits per second.
pub(crate) const RATE_UNITS: [(&str, u32); 3] = [("_gbps", 9), ("_mbps", 6), ("_bps", 0)];

impl Field {
    /// The keys that it can be written as.
    pub(crate) fn keys(&self) -> Vec<String> {
        let units: &[(&str, u32)] = match self.what {
            What::Time => &TIME_UNITS,
            What::Rate => &RATE_UNITS,
            _ => &[("", 0)],
        };
        units.iter().map(|(unit, _)| format!("{}{unit}", self.name)).collect()
    }

    /// What would be right, in words.
    pub(crate) fn expected(&self) -> String {
        match self.what {
            What::Integer(min, max) => format!("expected an integer from {min} to {}", bound(max)),
            What::Signed => "expected an integer from -2^63 to 2^63 - 1".to_owned(),
            What::Integers(min, max) => format!("expected a list of integers from {min} to {}", bound(max)),
            What::Positive => "expected a number above 0".to_owned(),
            What::Share => "expected a fraction from 0 to 1, such as 0.1 or \"1/10\"".to_owned(),
            What::Time => "expected a time in whole picoseconds, at most 213 days".to_owned(),
            What::Rate => "expected a rate in whole bits per second, from 1 b/s to 8000 Gb/s, at which a byte takes a \
                           picosecond"
                .to_owned(),
            What::Text => "expected a text".to_owned(),
            What::Texts => "expected a list of texts".to_owned(),
            What::Flag => "expected true or false".to_owned(),
            What::Choice(words) => {
                format!("expected one of {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "))
            }
            What::Distribution => "expected a distribution: its name, or a table with its parameters".to_owned(),
            What::IntegerOrDistribution(min, max) => {
                format!("expected an integer from {min} to {}, or a distribution", bound(max))
            }
            What::Table(_) | What::RankFunction | What::Controller | What::Scheduler => "expected a table".to_owned(),
            What::Tables(_) => "expected a table or a list of tables".to_owned(),
            What::Schedulers => "expected a list of tables, [[scheduler]]".to_owned(),
        }
    }
}

fn bound(max: u64) -> String {
    if max == i64::MAX as u64 { "2^63 - 1".to_owned() } else { max.to_string() }
}

/// Reads the keys of one table, checks each against its field, and writes down what it came to.
pub(crate) struct Reader<'a> {
    pub(crate) section: Section,
    file: &'a str,
    fields: &'static [Field],
    /// All values, defaults filled in.
    pub(crate) resolved: Map<String, Json>,
}

impl<'a> Reader<'a> {
    /// Refuses keys that are none of the fields: a typo is told before what is missing because of it.
    pub(crate) fn new(section: Section, file: &'a str, fields: &'static [Field]) -> Result<Self, SpecError> {
        let reader = Self { section, file, fields, resolved: Map::new() };
        let keys: Vec<String> = fields.iter().flat_map(Field::keys).collect();
        let names = || keys.iter().map(String::as_str);
        let Some((key, place)) = reader.section.first_key_not_in(&keys) else { return Ok(reader) };
        let problem = match closest(key, names()) {
            Some(name) => format!("unknown key; did you mean {name}?"),
            None => format!("unknown key; the keys here are {}", keys.join(", ")),
        };
        Err(reader.fault_at(place, key, problem))
    }

    fn field(&self, name: &str) -> &'static Field {
        self.fields.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("no field {name}"))
    }

    /// A fault of `key`.
    pub(crate) fn fault(&self, key: &str, problem: impl Into<String>) -> SpecError {
        self.fault_at(self.section.place_of(key), key, problem)
    }

    fn fault_at(&self, place: Place, key: &str, problem: impl Into<String>) -> SpecError {
        SpecError { file: self.file.to_owned(), place, key: join(&self.section.path, key), problem: problem.into() }
    }

    /// `= value: expected ...`.
    fn misfit(&self, field: &Field, key: &str, value: &Value) -> SpecError {
        let hint = match (field.what, value) {
            (What::Choice(words), Value::Text(text)) => {
                closest(text, words.iter().map(|(word, _)| *word)).map(|word| format!("; did you mean {word}?"))
            }
            _ => None,
        };
        self.fault(key, format!("= {value}: {}{}", field.expected(), hint.unwrap_or_default()))
    }

    /// What was written for `key`, or the default.
    fn value(&mut self, field: &Field, key: &str) -> Result<Option<Value>, SpecError> {
        match self.section.take(key) {
            Some((Node::Value(value), _)) => Ok(Some(value)),
            Some(_) => Err(self.fault(key, format!("is a table: {}", field.expected()))),
            None => match field.absent {
                Absent::Default(text) => Ok(Some(default_value(text))),
                Absent::Means(_) => Ok(None),
                Absent::Required => {
                    Err(self.fault(field.name, format!("is missing: {}; {}", field.expected(), field.doc)))
                }
            },
        }
    }

    /// The key as which a time or a rate was written; with its first unit if it was not.
    pub(crate) fn written(&self, name: &str) -> String {
        let keys = self.field(name).keys();
        keys.iter().find(|key| self.section.contains(key)).unwrap_or(&keys[0]).clone()
    }

    /// The same for what may be no field of this table: then `name` itself.
    pub(crate) fn written_any(&self, name: &str) -> String {
        if self.fields.iter().any(|field| field.name == name) { self.written(name) } else { name.to_owned() }
    }

    /// Whether any spelling of the field was written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).keys().iter().any(|key| self.section.contains(key))
    }

    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<u64>, SpecError> {
        let field = self.field(name);
        let What::Integer(min, max) = field.what else { panic!("{name} is no integer") };
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let integer = in_range(&value, min, max).ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), integer.into());
        Ok(Some(integer))
    }

    /// An integer that has a default or is required.
    pub(crate) fn given_integer(&mut self, name: &str) -> Result<u64, SpecError> {
        Ok(self.integer(name)?.expect("the field has a default or is required"))
    }

    pub(crate) fn signed(&mut self, name: &str) -> Result<Option<i64>, SpecError> {
        let field = self.field(name);
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let signed = match &value {
            Value::Integer(integer) => i64::try_from(*integer).ok(),
            _ => None,
        };
        let signed = signed.ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), signed.into());
        Ok(Some(signed))
    }

    pub(crate) fn integers(&mut self, name: &str) -> Result<Option<Vec<u64>>, SpecError> {
        let field = self.field(name);
        let What::Integers(min, max) = field.what else { panic!("{name} is no list") };
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let members = match &value {
            Value::List(members) => members.iter().map(|member| in_range(member, min, max)).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let members = members.filter(|members| !members.is_empty()).ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), members.clone().into());
        Ok(Some(members))
    }

    pub(crate) fn positive(&mut self, name: &str) -> Result<Option<f64>, SpecError> {
        let field = self.field(name);
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let number = match &value {
            Value::Integer(integer) => Some(*integer as f64),
            Value::Decimal(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
        let number = number.ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), number.into());
        Ok(Some(number))
    }

    /// An exact fraction; `above_one` allows values beyond 1.
    pub(crate) fn ratio(&mut self, name: &str, above_one: bool) -> Result<Option<Ratio>, SpecError> {
        let field = self.field(name);
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let ratio = match &value {
            Value::Integer(integer) => u64::try_from(*integer).ok().and_then(|whole| Ratio::new(whole, 1)),
            Value::Decimal(text) | Value::Text(text) => text.parse().ok(),
            Value::Flag(_) | Value::List(_) => None,
        };
        let ratio = ratio.filter(|ratio| if above_one { *ratio > Ratio::ZERO } else { *ratio <= Ratio::ONE });
        let ratio = ratio.ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), ratio.to_string().into());
        Ok(Some(ratio))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, SpecError> {
        let field = self.field(name);
        match self.value(field, name)?.expect("a flag was written or has a default") {
            Value::Flag(flag) => {
                self.resolved.insert(name.to_owned(), flag.into());
                Ok(flag)
            }
            other => Err(self.misfit(field, name, &other)),
        }
    }

    /// A flag without a default.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Result<Option<bool>, SpecError> {
        if self.has(name) { self.flag(name).map(Some) } else { Ok(None) }
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, SpecError> {
        let field = self.field(name);
        match self.value(field, name)? {
            None => Ok(None),
            Some(Value::Text(text)) => {
                self.resolved.insert(name.to_owned(), text.clone().into());
                Ok(Some(text))
            }
            Some(other) => Err(self.misfit(field, name, &other)),
        }
    }

    pub(crate) fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, SpecError> {
        let field = self.field(name);
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let text = |member: &Value| if let Value::Text(text) = member { Some(text.clone()) } else { None };
        let texts = match &value {
            Value::List(members) if !members.is_empty() => members.iter().map(text).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let texts = texts.ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), texts.clone().into());
        Ok(Some(texts))
    }

    /// The place of the word in the field's list.
    pub(crate) fn choice(&mut self, name: &str) -> Result<Option<usize>, SpecError> {
        let field = self.field(name);
        let What::Choice(words) = field.what else { panic!("{name} is no choice") };
        let Some(value) = self.value(field, name)? else { return Ok(None) };
        let found = match &value {
            Value::Text(text) => words.iter().position(|(word, _)| word == text),
            _ => None,
        };
        let found = found.ok_or_else(|| self.misfit(field, name, &value))?;
        self.resolved.insert(name.to_owned(), words[found].0.into());
        Ok(Some(found))
    }

    /// A choice that has a default or is required.
    pub(crate) fn given_choice(&mut self, name: &str) -> Result<usize, SpecError> {
        Ok(self.choice(name)?.expect("the field has a default or is required"))
    }

    /// A time; in the manifest it stands in nanoseconds.
    pub(crate) fn time(&mut self, name: &str) -> Result<Option<Span>, SpecError> {
        Ok(self.quantity(name, &TIME_UNITS)?.map(|ps| {
            self.resolved.insert(format!("{name}_ns"), (ps as f64 / 1e3).into());
            Span::from_ps(ps)
        }))
    }

    /// A rate; in the manifest it stands in bits per second.
    pub(crate) fn rate(&mut self, name: &str) -> Result<Option<Rate>, SpecError> {
        Ok(self.quantity(name, &RATE_UNITS)?.map(|bps| {
            self.resolved.insert(format!("{name}_bps"), bps.into());
            Rate::from_bps(bps).expect("a quantity of rate is above 0")
        }))
    }

    /// A quantity in the smallest unit, read exactly from whichever key it was written with.
    fn quantity(&mut self, name: &str, units: &[(&str, u32)]) -> Result<Option<u64>, SpecError> {
        let field = self.field(name);
        let written: Vec<_> = field.keys().into_iter().filter(|key| self.section.contains(key)).collect();
        if let [first, second, ..] = written.as_slice() {
            return Err(self.fault(second, format!("says again what {first} says: remove one of them")));
        }
        let Some(key) = written.first() else {
            return match field.absent {
                Absent::Default(text) => Ok(Some(text.parse().expect("the default is in the smallest unit"))),
                Absent::Means(_) => Ok(None),
                Absent::Required => {
                    let key = &field.keys()[0];
                    Err(self.fault(key, format!("is missing: {}; {}", field.expected(), field.doc)))
                }
            };
        };
        let (_, power) = units.iter().find(|(unit, _)| *key == format!("{name}{unit}")).expect("the key has a unit");
        let value = self.value(field, key)?.expect("it was written");
        let quantity = match &value {
            Value::Integer(integer) => exact(&integer.to_string(), *power),
            Value::Decimal(text) => exact(text, *power),
            _ => None,
        };
        // A time of zero is a time; a rate of zero is none.
        let is_rate = |quantity: u64| (1..=Rate::FASTEST_LINK.as_bps()).contains(&quantity);
        let quantity = quantity.filter(|quantity| matches!(field.what, What::Time) || is_rate(*quantity));
        quantity.map(Some).ok_or_else(|| self.misfit(field, key, &value))
    }

    /// The table behind `name`.
    pub(crate) fn table(&mut self, name: &str) -> Result<Option<Section>, SpecError> {
        let field = self.field(name);
        match self.section.take(name) {
            Some((Node::Section(section), _)) => Ok(Some(section)),
            Some((Node::Sections(_), _)) => {
                Err(self.fault(name, format!("is a list of tables: expected one table, [{name}]")))
            }
            Some((Node::Value(value), _)) => Err(self.misfit(field, name, &value)),
            None => match field.absent {
                Absent::Required => Err(self.fault(name, format!("is missing: {}; {}", field.expected(), field.doc))),
                Absent::Default(_) | Absent::Means(_) => Ok(None),
            },
        }
    }

    /// The table or tables behind `name`.
    pub(crate) fn tables(&mut self, name: &str) -> Result<Vec<Section>, SpecError> {
        let field = self.field(name);
        match self.section.take(name) {
            Some((Node::Section(section), _)) => Ok(vec![section]),
            Some((Node::Sections(sections), _)) => Ok(sections),
            Some((Node::Value(value), _)) => Err(self.misfit(field, name, &value)),
            None => match field.absent {
                Absent::Required => Err(self.fault(name, format!("is missing: {}; {}", field.expected(), field.doc))),
                Absent::Default(_) | Absent::Means(_) => Ok(Vec::new()),
            },
        }
    }

    /// Takes what stands behind `name`, whatever it is.
    pub(crate) fn node(&mut self, name: &str) -> Option<Node> {
        self.section.take(name).map(|(node, _)| node)
    }

    /// Refuses what nobody read, and returns what everything came to.
    pub(crate) fn finish(self) -> Result<Map<String, Json>, SpecError> {
        match self.section.first_unused() {
            None => Ok(self.resolved),
            Some((key, place)) => Err(self.fault_at(place, key, "has no effect beside the others: remove it")),
        }
    }
}

fn in_range(value: &Value, min: u64, max: u64) -> Option<u64> {
    let Value::Integer(integer) = value else { return None };
    u64::try_from(*integer).ok().filter(|integer| (min..=max).contains(integer))
}

/// A default as it would be written: an integer, a flag, or a text.
fn default_value(text: &str) -> Value {
    match text {
        "true" => Value::Flag(true),
        "false" => Value::Flag(false),
        _ => match text.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) if text.parse::<f64>().is_ok() => Value::Decimal(text.to_owned()),
            Err(_) => Value::Text(text.to_owned()),
        },
    }
}

/// The decimal number in `text` times 10^`power`, if that is a whole number that fits.
fn exact(text: &str, power: u32) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{}{fraction}", whole.strip_prefix('+').unwrap_or(whole));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: u128 = digits.parse().ok()?;
    let shift = i64::from(power) + i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
    let scale = 10u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
    let value = match (shift >= 0, scale) {
        _ if digits == 0 => 0,
        (true, Some(scale)) => digits.checked_mul(scale)?,
        (false, Some(scale)) if digits.is_multiple_of(scale) => digits / scale,
        _ => return None,
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_or_refused() {
        assert_eq!(exact("0.1", 12), Some(100_000_000_000));
        assert_eq!(exact("1e-3", 12), Some(1_000_000_000));
        assert_eq!(exact("2.5", 0), None);
        assert_eq!(exact("2.50", 1), Some(25));
        assert_eq!(exact("1.090909", 3), None);
        assert_eq!(exact("+7", 0), Some(7));
        assert_eq!(exact("0e999999", 12), Some(0));
        for text in ["", "-1", "inf", "nan", "1e999", "1e-40", "99999999999999999999999999999999999999999", ".", "e1"] {
            assert_eq!(exact(text, 12), None, "{text}");
        }
    }
}

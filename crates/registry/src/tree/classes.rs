//! Values of the classifying field of packets, and names for them.

use super::rows::{CLASSES, TAKES};
use pifolab_sched::params::{self, Args, ParamError, Value};
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

type Values = RangeInclusive<u64>;

/// The word for all values that no other leaf takes.
const REST: &str = "rest";

/// The packets that a leaf takes.
pub(super) enum Taken {
    Values(Vec<Values>),
    Rest,
}

/// Named values.
pub(super) struct Classes {
    /// Each class: its name, its values, and whether a leaf takes it.
    named: Vec<(String, Values, bool)>,
    /// Whether values may be addresses.
    hosts: bool,
}

impl Classes {
    /// Reads the names among the arguments of a tree.
    pub(super) fn read(args: &mut Args, hosts: bool) -> Result<Self, ParamError> {
        let mut named: Vec<(String, Values, bool)> = Vec::new();
        for text in args.get::<Vec<String>>(&CLASSES)?.unwrap_or_default() {
            let wrong = |expected: &str| CLASSES.error_because(args.owner(), format!("{text:?}"), expected);
            let (name, values) = text
                .split_once('=')
                .map(|(name, values)| (name.trim(), values.trim()))
                .filter(|(name, _)| !name.is_empty() && *name != REST && values_of(name, true).is_none())
                .ok_or_else(|| wrong("expected a name and its values, such as \"voice = 46\" or \"web = 10-19\""))?;
            let values = values_of(values, hosts).ok_or_else(|| wrong(&format!("expected {}", what(hosts))))?;
            if named.iter().any(|(known, ..)| known == name) {
                return Err(wrong("duplicate class; expected each name once"));
            }
            named.push((name.to_owned(), values, false));
        }
        Ok(Self { named, hosts })
    }

    /// The values that `text` means.
    pub(super) fn values_of(&mut self, text: &str) -> Option<Values> {
        let named = self.named.iter_mut().find(|(name, ..)| name == text);
        let values = named.map(|(_, values, taken)| {
            *taken = true;
            values.clone()
        });
        values.or_else(|| values_of(text, self.hosts))
    }

    /// The first class that no leaf takes.
    pub(super) fn idle(&self) -> Option<&str> {
        self.named.iter().find(|(_, _, taken)| !taken).map(|(name, ..)| name.as_str())
    }

    /// The expected form, for messages.
    pub(super) fn expected(&self) -> String {
        match self.named.as_slice() {
            [] => what(self.hosts).to_owned(),
            named => {
                let names: Vec<_> = named.iter().map(|(name, ..)| name.as_str()).collect();
                format!("a value, a range of values such as 10-19, or one of the classes: {}", names.join(", "))
            }
        }
    }

    /// Reads `takes` of the leaf `path`.
    pub(super) fn taken(&mut self, path: &str, value: &Value) -> Result<Taken, ParamError> {
        if *value == Value::Text(REST.to_owned()) {
            return Ok(Taken::Rest);
        }
        let members = match value {
            Value::List(members) => members.as_slice(),
            other => std::slice::from_ref(other),
        };
        let mut values = Vec::new();
        for member in members {
            let read = match member {
                Value::Integer(value) => one(*value),
                Value::Text(text) => self.values_of(text),
                _ => None,
            };
            values.push(read.ok_or_else(|| {
                let expected = format!("expected {}, a list of them, or \"rest\"", self.expected());
                TAKES.error_because(path, member, expected)
            })?);
        }
        Ok(Taken::Values(values))
    }
}

/// The form of a value, for messages.
const fn what(hosts: bool) -> &'static str {
    if hosts {
        "an integer, a range of them such as 10-19, or an IPv4 address or prefix"
    } else {
        "an integer from 0 to 2^63 - 1, or a range of them such as 10-19"
    }
}

fn one(value: i128) -> Option<Values> {
    u64::try_from(value).ok().filter(|value| *value <= params::MAX_RANK).map(|value| value..=value)
}

/// A number, a range of numbers, or with `hosts` an IPv4 address or prefix.
fn values_of(text: &str, hosts: bool) -> Option<Values> {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|value| *value <= params::MAX_RANK);
    if let Some(value) = number(text) {
        return Some(value..=value);
    }
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (number(first)?, number(last)?);
        return (first <= last).then_some(first..=last);
    }
    if !hosts {
        return None;
    }
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let address = u32::from(address.trim().parse::<Ipv4Addr>().ok()?);
    let length = length.trim().parse::<u32>().ok().filter(|length| *length <= 32)?;
    let hosts = u32::MAX.checked_shr(length).unwrap_or(0);
    (address & hosts == 0).then(|| u64::from(address)..=u64::from(address | hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_ranges_addresses_and_prefixes() {
        assert_eq!(values_of("7", true), Some(7..=7));
        assert_eq!(values_of("10-19", true), Some(10..=19));
        assert_eq!(values_of("10.0.0.1", true), Some(0x0a00_0001..=0x0a00_0001));
        assert_eq!(values_of("10.0.0.0/8", true), Some(0x0a00_0000..=0x0aff_ffff));
        assert_eq!(values_of("0.0.0.0/0", true), Some(0..=0xffff_ffff));
        for text in ["", "x", "-1", "19-10", "10.0.0.1/8", "10.0.0.0/33", "9223372036854775808", "1-2-3"] {
            assert_eq!(values_of(text, true), None, "{text}");
        }
        assert_eq!(values_of("10-19", false), Some(10..=19));
        assert_eq!((values_of("10.0.0.1", false), values_of("10.0.0.0/8", false)), (None, None), "not a host");
    }
}

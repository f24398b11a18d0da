//! Reads JSON with the place of each value, so that every message names it.

use serde_json::Value;
use std::fmt;

/// Why a program, an entry or a packet file cannot be used: one line with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The place: a path such as `pipelines[0].tables[2].key[1]`, or `line 3`.
    pub place: String,
    /// The value there, and what was expected.
    pub problem: String,
}

impl Error {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.problem) } else { write!(f, "{}: {}", self.place, self.problem) }
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A value and its place.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    pub value: &'a Value,
    pub place: String,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, place: String::new() }
    }

    pub fn fail<T>(&self, problem: impl Into<String>) -> Result<T> {
        Err(Error::new(self.place.clone(), problem))
    }

    /// The message that names the value there and what is expected instead.
    pub fn expected<T>(&self, what: &str) -> Result<T> {
        let mut text = self.value.to_string();
        if text.len() > 60 {
            let end = (0..=57).rev().find(|&end| text.is_char_boundary(end)).expect("0 is a boundary");
            text.truncate(end);
            text.push_str("...");
        }
        self.fail(format!("{text}: expected {what}"))
    }

    /// The member `key`, unless it is absent or null.
    pub fn find(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let dot = if self.place.is_empty() { "" } else { "." };
        Some(Node { value, place: format!("{}{dot}{key}", self.place) })
    }

    pub fn get(&self, key: &str) -> Result<Node<'a>> {
        if !self.value.is_object() {
            return self.expected("an object");
        }
        match self.find(key) {
            Some(node) => Ok(node),
            None => self.fail(format!("\"{key}\" is missing")),
        }
    }

    pub fn items(&self) -> Result<Vec<Node<'a>>> {
        let Some(values) = self.value.as_array() else { return self.expected("an array") };
        let at = |(index, value)| Node { value, place: format!("{}[{index}]", self.place) };
        Ok(values.iter().enumerate().map(at).collect())
    }

    /// The members of the array `key`; none if there is no such key.
    pub fn list(&self, key: &str) -> Result<Vec<Node<'a>>> {
        self.find(key).map_or_else(|| Ok(Vec::new()), |node| node.items())
    }

    /// An array of exactly `N` values.
    pub fn tuple<const N: usize>(&self) -> Result<[Node<'a>; N]> {
        match <[Node<'a>; N]>::try_from(self.items()?) {
            Ok(items) => Ok(items),
            Err(_) => self.expected(&format!("an array of {N}")),
        }
    }

    pub fn str(&self) -> Result<&'a str> {
        self.value.as_str().map_or_else(|| self.expected("a string"), Ok)
    }

    pub fn int(&self, most: u64) -> Result<u64> {
        match self.value.as_u64() {
            Some(value) if value <= most => Ok(value),
            _ => self.expected(&format!("an integer from 0 to {most}")),
        }
    }

    /// A truth value; p4c also writes 0 and 1.
    pub fn bool(&self) -> Result<bool> {
        match (self.value.as_bool(), self.value.as_u64()) {
            (Some(value), _) => Ok(value),
            (None, Some(number @ 0..=1)) => Ok(number == 1),
            _ => self.expected("true or false"),
        }
    }

    /// The object's `name`.
    pub fn name(&self) -> Result<&'a str> {
        self.get("name")?.str()
    }

    /// A hexadecimal number, which may be negative.
    pub fn hex(&self) -> Result<Number> {
        Number::parse_hex(self.str()?).map_or_else(|| self.expected("a hexadecimal number such as 0x1f"), Ok)
    }
}

/// An integer of any size: 64-bit limbs, lowest first, without zeros at the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub negative: bool,
    pub limbs: Vec<u64>,
}

impl Number {
    pub fn of(value: u64) -> Self {
        Self::trimmed(false, vec![value])
    }

    fn trimmed(negative: bool, mut limbs: Vec<u64>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self { negative: negative && !limbs.is_empty(), limbs }
    }

    /// Bytes in network order.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let limbs = bytes.rchunks(8).map(|chunk| chunk.iter().fold(0, |limb, &byte| limb << 8 | u64::from(byte)));
        Self::trimmed(false, limbs.collect())
    }

    pub fn parse_hex(text: &str) -> Option<Self> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let limbs = digits.as_bytes().rchunks(16).map(|chunk| {
            chunk.iter().fold(0, |limb, &digit| {
                limb << 4 | u64::from((digit as char).to_digit(16).expect("checked to be a digit"))
            })
        });
        Some(Self::trimmed(negative, limbs.collect()))
    }

    /// A decimal number below 2^128, or a hexadecimal one of any size with its prefix.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with("0x") || text.starts_with("0X") {
            return Self::parse_hex(text);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let value: u128 = text.parse().ok()?;
        Some(Self::trimmed(false, vec![value as u64, (value >> 64) as u64]))
    }

    /// A number, an IPv4 address or a MAC address of at most `bits` bits.
    pub fn of_text(text: &str, bits: u32) -> std::result::Result<Self, String> {
        let wrong = || format!("{text}: expected a value of at most {bits} bits");
        let split = |separator, radix| -> Option<Self> {
            let bytes: Option<Vec<u8>> =
                text.split(separator).map(|part| u8::from_str_radix(part, radix).ok()).collect();
            Some(Self::from_bytes(&bytes?))
        };
        let number = if text.matches('.').count() == 3 {
            split('.', 10)
        } else if text.matches(':').count() == 5 {
            split(':', 16)
        } else if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
            Some(Self::from_bytes(&address.octets()))
        } else {
            Self::parse(text)
        };
        number.filter(|number| number.bits() <= bits).ok_or_else(wrong)
    }

    /// The number of bits of its magnitude.
    pub fn bits(&self) -> u32 {
        self.limbs.last().map_or(0, |top| self.limbs.len() as u32 * 64 - top.leading_zeros())
    }

    /// Its value, if it has at most 126 bits.
    pub fn small(&self) -> Option<i128> {
        if self.bits() > 126 {
            return None;
        }
        let limb = |index| i128::from(*self.limbs.get(index).unwrap_or(&0));
        let magnitude = limb(1) << 64 | limb(0);
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// `bits` bits from bit `from` on, in limbs, lowest first.
    pub fn slice(&self, from: u32, bits: u32) -> Vec<u64> {
        let limb = |at: u32| {
            let (index, by) = ((at / 64) as usize, at % 64);
            let get = |index: usize| self.limbs.get(index).copied().unwrap_or(0);
            if by == 0 { get(index) } else { get(index) >> by | get(index + 1) << (64 - by) }
        };
        let keep = |at: u32| u64::MAX >> (64 - (bits - at).min(64));
        (0..bits).step_by(64).map(|at| limb(from + at) & keep(at)).collect()
    }

    /// `count` limbs of its two's complement.
    pub fn two_complement(&self, count: usize) -> Vec<u64> {
        let mut limbs = self.limbs.clone();
        limbs.resize(count, 0);
        if self.negative {
            let mut carry = true;
            for limb in &mut limbs {
                let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
                *limb = sum;
                carry = over;
            }
        }
        limbs
    }
}

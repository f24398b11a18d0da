//! Policies as text: `strict[(fifo[voice], 1), (wfq[(fifo[a], 5), (fifo[b], 3)], 2)]`.
//!
//! A policy is `fifo[CLASS]`, a leaf for the packets of one class; `strict[(p, number), ...]`, the lowest number first;
//! `rr[p, ...]`, round robin; or `wfq[(p, weight), ...]`, weighted fair by the wall clock. The parser puts policies in
//! a normal order, bottom-up: strict by number and then content, rr by content, wfq by content and then weight.
//! Contents compare as fifo < strict < rr < wfq; two leaves by the bytes of their classes; lists element by element, a
//! prefix first; pairs by policy and then number.
//!
//! Source of the rules: the public simulator of Mohan et al., "Formal Abstractions for Packet Scheduling" (OOPSLA 2023)
//! and its successors. The vectors in `conformance/trees` come from it.

use super::discipline::DisciplineKind;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use pifolab_params::Choice;
use pifolab_units::Ratio;

/// A policy, as written or in its normal order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// A first-in first-out leaf for one class.
    Fifo(String),
    /// Children by their numbers, the lowest first.
    Strict(Vec<(Policy, Number)>),
    /// Children in turn.
    RoundRobin(Vec<Policy>),
    /// Children by the wall-clock finish times of their shares.
    WeightedFair(Vec<(Policy, Number)>),
}

/// An exact decimal number: a priority or a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    digits: i64,
    /// The number of digits after the point, without trailing zeros, so that equal numbers have equal fields.
    places: u32,
}

/// The largest number of digits.
const DIGITS: usize = 18;
/// The largest nesting depth that the parser accepts.
const DEPTH: usize = 256;

impl Number {
    /// An integer.
    pub const fn integer(value: i64) -> Self {
        Self { digits: value, places: 0 }
    }

    /// The number as a fraction; `None` if it is negative, or if either part does not fit in 32 bits.
    pub fn ratio(self) -> Option<Ratio> {
        Ratio::new(u64::try_from(self.digits).ok()?, 10u64.pow(self.places))
    }

    /// Parses `3`, `-1` or `0.25`, with at most 18 digits.
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let fraction_shown = fraction.trim_end_matches('0');
        if !digits(whole) || !digits(fraction) || whole.len() + fraction_shown.len() > DIGITS {
            return None;
        }
        let magnitude: i64 = format!("{whole}{fraction_shown}").parse().ok()?;
        let digits = if unsigned.len() < text.len() { -magnitude } else { magnitude };
        Some(Self { digits, places: fraction_shown.len() as u32 })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        // At most 18 digits shifted by at most 18 places: below 2^120.
        let shifted = |number: &Self, places: u32| i128::from(number.digits) * 10i128.pow(places);
        shifted(self, other.places).cmp(&shifted(other, self.places))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places == 0 {
            return self.digits.fmt(f);
        }
        let scale = 10u64.pow(self.places);
        let (sign, magnitude) = (if self.digits < 0 { "-" } else { "" }, self.digits.unsigned_abs());
        write!(f, "{sign}{}.{:0width$}", magnitude / scale, magnitude % scale, width = self.places as usize)
    }
}

/// The reason why a text is not a policy: the place, and the expected text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The place in the text, in characters from 1. For a fault of a parsed policy, the policy with the fault.
    pub place: String,
    /// The problem, and the expected text.
    pub problem: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy: {}: {}", self.place, self.problem)
    }
}

impl core::error::Error for PolicyError {}

impl Policy {
    /// Parses and checks a policy, and puts it in its normal order.
    ///
    /// ```
    /// use pifolab_tree::Policy;
    ///
    /// let policy = Policy::parse("rr[strict[(fifo[B], 2), (fifo[A], 1)], fifo[C]]").unwrap();
    /// assert_eq!(policy.to_string(), "rr[fifo[C], strict[(fifo[A], 1), (fifo[B], 2)]]");
    /// ```
    ///
    /// # Errors
    /// If the text is not a policy, two leaves have the same class, a list is empty, or a weight is not above 0.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let mut parser = Parser { text, at: 0 };
        let mut policy = parser.policy(0)?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.fault("expected the end of the policy"));
        }
        policy.normalise();
        let mut classes = policy.classes();
        classes.sort_unstable();
        match classes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(PolicyError {
                place: format!("fifo[{}]", pair[0]),
                problem: format!("duplicate class {:?}; expected each class in one leaf", pair[0]),
            }),
            None => Ok(policy),
        }
    }

    fn normalise(&mut self) {
        match self {
            Self::Fifo(_) => {}
            Self::Strict(children) => {
                children.iter_mut().for_each(|(child, _)| child.normalise());
                children.sort_unstable_by(|(a, of_a), (b, of_b)| (of_a, a).cmp(&(of_b, b)));
            }
            Self::RoundRobin(children) => {
                children.iter_mut().for_each(Self::normalise);
                children.sort_unstable();
            }
            Self::WeightedFair(children) => {
                children.iter_mut().for_each(|(child, _)| child.normalise());
                children.sort_unstable();
            }
        }
    }

    /// Whether a node uses the wall clock (`wfq`).
    pub fn has_wall_clock(&self) -> bool {
        matches!(self, Self::WeightedFair(_)) || self.children().into_iter().any(Self::has_wall_clock)
    }

    /// The children, in order.
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Fifo(_) => Vec::new(),
            Self::RoundRobin(children) => children.iter().collect(),
            Self::Strict(children) | Self::WeightedFair(children) => children.iter().map(|(child, _)| child).collect(),
        }
    }

    /// The classes of the leaves, from left to right: leaf i of the policy's tree receives class i.
    pub fn classes(&self) -> Vec<&str> {
        match self {
            Self::Fifo(class) => alloc::vec![class.as_str()],
            _ => self.children().into_iter().flat_map(Self::classes).collect(),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discipline = match self {
            Self::Fifo(class) => return write!(f, "{LEAF}[{class}]"),
            Self::Strict(_) => DisciplineKind::Strict,
            Self::RoundRobin(_) => DisciplineKind::RoundRobin,
            Self::WeightedFair(_) => DisciplineKind::WallClock,
        };
        write!(f, "{}[", discipline.word())?;
        match self {
            Self::Fifo(_) => {}
            Self::RoundRobin(children) => {
                for (index, child) in children.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{child}")?;
                }
            }
            Self::Strict(children) | Self::WeightedFair(children) => {
                for (index, (child, number)) in children.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}({child}, {number})")?;
                }
            }
        }
        f.write_str("]")
    }
}

/// The word of a leaf; an inner node begins with the word of its discipline.
const LEAF: &str = "fifo";

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn fault(&self, problem: impl Into<String>) -> PolicyError {
        let place = format!("character {}", self.text[..self.at].chars().count() + 1);
        PolicyError { place, problem: problem.into() }
    }

    /// Reads `token`, after optional space.
    fn expect(&mut self, token: &str) -> Result<(), PolicyError> {
        self.skip_space();
        if !self.rest().starts_with(token) {
            let found = self.rest().chars().next().map_or("the end".to_owned(), |found| format!("{found:?}"));
            return Err(self.fault(format!("expected {token:?}, got {found}")));
        }
        self.at += token.len();
        Ok(())
    }

    /// Reads `token` if it is next; returns whether it was.
    fn take(&mut self, token: &str) -> bool {
        self.expect(token).is_ok()
    }

    /// Reads the text before the next bracket or comma.
    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(['[', ']', '(', ')', ',']).unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim_end()
    }

    fn policy(&mut self, depth: usize) -> Result<Policy, PolicyError> {
        if depth > DEPTH {
            return Err(self.fault(format!("expected at most {DEPTH} policies inside one another")));
        }
        self.skip_space();
        let start = self.at;
        let word = self.word();
        let discipline = match DisciplineKind::from_word(word) {
            Some(known @ (DisciplineKind::Strict | DisciplineKind::RoundRobin | DisciplineKind::WallClock)) => {
                Some(known)
            }
            _ if word == LEAF => None,
            _ => {
                self.at = start;
                return Err(self.fault(format!("expected fifo, strict, rr or wfq, got {word:?}")));
            }
        };
        self.expect("[")?;
        let Some(discipline) = discipline else {
            let at = self.at;
            let class = self.word().to_string();
            if class.is_empty() {
                self.at = at;
                return Err(self.fault("expected the name of a class"));
            }
            self.expect("]")?;
            return Ok(Policy::Fifo(class));
        };
        if discipline == DisciplineKind::RoundRobin {
            return Ok(Policy::RoundRobin(self.list(|parser| parser.policy(depth + 1))?));
        }
        let weighted = discipline == DisciplineKind::WallClock;
        let children = self.list(|parser| {
            parser.expect("(")?;
            let child = parser.policy(depth + 1)?;
            parser.expect(",")?;
            let number = parser.number(weighted)?;
            parser.expect(")")?;
            Ok((child, number))
        })?;
        Ok(if weighted { Policy::WeightedFair(children) } else { Policy::Strict(children) })
    }

    /// Reads the members up to the closing bracket, at least one.
    fn list<M>(&mut self, mut member: impl FnMut(&mut Self) -> Result<M, PolicyError>) -> Result<Vec<M>, PolicyError> {
        self.skip_space();
        if self.rest().starts_with(']') {
            return Err(self.fault("expected at least one child"));
        }
        let mut members = Vec::new();
        loop {
            members.push(member(self)?);
            if !self.take(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(members)
    }

    fn number(&mut self, weighted: bool) -> Result<Number, PolicyError> {
        self.skip_space();
        let start = self.at;
        let word = self.word();
        let number = Number::parse(word);
        self.at = if number.is_some() { self.at } else { start };
        let number = number
            .ok_or_else(|| self.fault(format!("expected a decimal number of at most {DIGITS} digits, got {word:?}")))?;
        if weighted && number.ratio().is_none_or(|weight| weight == Ratio::ZERO) {
            self.at = start;
            let expected = match number > Number::integer(0) && number < Number::integer(1 << 32) {
                true => "a weight that is a fraction of integers below 2^32",
                false => "a weight above 0 and below 2^32",
            };
            return Err(self.fault(format!("expected {expected}, got {word}")));
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        Policy::parse(text).unwrap().to_string()
    }

    #[test]
    fn a_policy_is_put_in_its_normal_order_bottom_up() {
        // strict: by number, then content.
        assert_eq!(
            normal("strict[(fifo[A],3),( fifo[C] , 1),(fifo[B], 2)]"),
            "strict[(fifo[C], 1), (fifo[B], 2), (fifo[A], 3)]"
        );
        assert_eq!(normal("strict[(fifo[b], 1), (fifo[a], 1)]"), "strict[(fifo[a], 1), (fifo[b], 1)]");
        // rr: by content; fifo < strict < rr < wfq.
        assert_eq!(
            normal("rr[wfq[(fifo[A], 1)], rr[fifo[B]], strict[(fifo[C], 1)], fifo[Z]]"),
            "rr[fifo[Z], strict[(fifo[C], 1)], rr[fifo[B]], wfq[(fifo[A], 1)]]"
        );
        // wfq: by content, then weight, not by weight first.
        assert_eq!(normal("wfq[(fifo[B], 1), (fifo[A], 9)]"), "wfq[(fifo[A], 9), (fifo[B], 1)]");
        // The inner list is sorted first, and determines the order of the outer one.
        assert_eq!(
            normal("rr[rr[fifo[D], fifo[C]], rr[fifo[B], fifo[E]]]"),
            "rr[rr[fifo[B], fifo[E]], rr[fifo[C], fifo[D]]]"
        );
        // A prefix sorts first; pairs compare by policy before number.
        assert_eq!(normal("rr[rr[fifo[A], fifo[B]], rr[fifo[A2]]]"), "rr[rr[fifo[A], fifo[B]], rr[fifo[A2]]]");
        assert_eq!(
            normal("rr[strict[(fifo[B], 1)], strict[(fifo[A], 2), (fifo[C], 3)]]"),
            "rr[strict[(fifo[A], 2), (fifo[C], 3)], strict[(fifo[B], 1)]]"
        );
        // Classes compare by their bytes: capitals before small letters, letters of other scripts last.
        assert_eq!(
            normal("rr[fifo[é], fifo[a], fifo[Z], fifo[10], fifo[9]]"),
            "rr[fifo[10], fifo[9], fifo[Z], fifo[a], fifo[é]]"
        );
    }

    #[test]
    fn numbers_are_exact_decimals() {
        assert_eq!(normal("wfq[(fifo[A], 0.50), (fifo[B], 10.0)]"), "wfq[(fifo[A], 0.5), (fifo[B], 10)]");
        assert_eq!(
            normal("strict[(fifo[A], 0.5), (fifo[B], -1), (fifo[C], 0.05)]"),
            "strict[(fifo[B], -1), (fifo[C], 0.05), (fifo[A], 0.5)]"
        );
        assert!(Number::parse("0.1") < Number::parse("0.10000000000000001"));
    }

    #[test]
    fn what_is_not_a_policy_is_refused_with_its_place() {
        let error = |text: &str| Policy::parse(text).unwrap_err().to_string();
        assert_eq!(error(""), "policy: character 1: expected fifo, strict, rr or wfq, got \"\"");
        assert_eq!(error("rr[fifo[A], edf[B]]"), "policy: character 13: expected fifo, strict, rr or wfq, got \"edf\"");
        assert_eq!(error("fifo[]"), "policy: character 6: expected the name of a class");
        assert_eq!(error("rr[]"), "policy: character 4: expected at least one child");
        assert_eq!(error("rr[fifo[A]"), "policy: character 11: expected \"]\", got the end");
        assert_eq!(error("strict[fifo[A]]"), "policy: character 8: expected \"(\", got 'f'");
        assert_eq!(error("fifo[A] x"), "policy: character 9: expected the end of the policy");
        assert_eq!(error("wfq[(fifo[A], 0)]"), "policy: character 15: expected a weight above 0 and below 2^32, got 0");
        assert_eq!(
            error("wfq[(fifo[A], 0.3333333333)]"),
            "policy: character 15: expected a weight that is a fraction of integers below 2^32, got 0.3333333333"
        );
        assert_eq!(
            error("strict[(fifo[A], one)]"),
            "policy: character 18: expected a decimal number of at most 18 digits, got \"one\""
        );
        assert_eq!(
            error("rr[fifo[A], rr[fifo[A]]]"),
            "policy: fifo[A]: duplicate class \"A\"; expected each class in one leaf"
        );
        let deep = alloc::format!("{}fifo[A]{}", "rr[".repeat(300), "]".repeat(300));
        assert!(error(&deep).contains("at most 256 policies inside one another"));
    }
}

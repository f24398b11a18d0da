//! The text of a vector: JSON to typed operations and answers.

use super::fault::Fault;
use pifolab_sched::DropReason;
use pifolab_sched::params::Choice;
use pifolab_units::{Rank, Time};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// One file: the scheduler to build, and its expected answer to each operation.
#[derive(Debug)]
pub(super) struct Vector {
    pub scheduler: String,
    pub config: Vec<(String, Value)>,
    pub steps: Vec<(Op, Answer)>,
}

/// One call of the scheduler.
#[derive(Clone, Debug)]
pub enum Op {
    /// Offers a packet.
    Enqueue {
        /// Its id, unique among the packets held.
        id: u64,
        /// Its rank.
        rank: Rank,
        /// Its flow.
        flow: u32,
        /// Its size.
        bytes: u32,
        /// Whether the size was written.
        sized: bool,
        /// The earliest time at which it may leave.
        eligible: Time,
        /// The time of the call; by default that of the call before.
        now: Option<Time>,
    },
    /// Asks for a packet.
    Dequeue {
        /// The time of the call; by default that of the call before.
        now: Option<Time>,
    },
}

/// The answer of the scheduler. It prints in the form of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The packet was stored.
    Admitted {
        /// The queue that stores it.
        queue: u32,
        /// The packets that were pushed out, in this order.
        evicted: Vec<u64>,
    },
    /// The packet was refused.
    Dropped(DropReason),
    /// This packet was sent; `None`: nothing waits.
    Sent(Option<u64>),
    /// This packet was dropped instead of being sent.
    GivenUp(u64, DropReason),
    /// Packets wait, and none may leave before this time.
    NotBefore(Time),
}

/// The size of packets without a size, which take one slot: it has no effect.
const UNSIZED_BYTES: u32 = 1500;
/// The last whole nanosecond that fits in [`Time`].
const MAX_NS: u64 = u64::MAX / 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    scheduler: String,
    config: Entries,
    ops: Vec<Value>,
    expect: Vec<Value>,
}

/// A JSON object in its written order, each key once.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the scheduler's parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if entries.iter().any(|(known, _)| *known == key) {
                        return Err(A::Error::custom(format!("{key} is given twice")));
                    }
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Reads JSON; a fault names its line and column.
pub(super) fn json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Fault> {
    serde_json::from_slice(text).map_err(|error| {
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        let place = format!("line {} column {}", error.line(), error.column());
        Fault::new(place, message.strip_suffix(&suffix).unwrap_or(&message))
    })
}

impl Vector {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Fault> {
        let text: Text = json(text)?;
        if text.ops.len() != text.expect.len() {
            let message =
                format!("{} answers to {} operations; expected one answer to each", text.expect.len(), text.ops.len());
            return Err(Fault::new("expect", message));
        }
        let mut steps = Vec::with_capacity(text.ops.len());
        for (index, (op, expect)) in text.ops.iter().zip(&text.expect).enumerate() {
            let at = |list: &str, value: &Value, message: String| {
                Fault::new(format!("{list}[{index}]"), format!("{value}: {message}"))
            };
            let parsed = Op::parse(op).map_err(|message| at("ops", op, message))?;
            let answer = Answer::parse(expect).map_err(|message| at("expect", expect, message))?;
            let dequeues = matches!(parsed, Op::Dequeue { .. });
            if dequeues != matches!(answer, Answer::Sent(_) | Answer::NotBefore(_) | Answer::GivenUp(..)) {
                return Err(at("expect", expect, format!("is not an answer to {op}")));
            }
            steps.push((parsed, answer));
        }
        Ok(Self { scheduler: text.scheduler, config: text.config.0, steps })
    }
}

impl Op {
    fn parse(value: &Value) -> Result<Self, String> {
        const ENQUEUE: &str = "expected [\"enq\", id, rank], [\"enq\", id, rank, flow, bytes], or the same with \
                               eligible_ns and now_ns at the end";
        let (word, rest) = head(value).ok_or("expected [\"enq\", ...] or [\"deq\"]")?;
        match word {
            "enq" if matches!(rest.len(), 2 | 4 | 6) => {
                let numbers = |place: usize, what, max| match rest.get(place) {
                    Some(value) => number(value, what, max).map(Some),
                    None => Ok(None),
                };
                let small = |place, what| numbers(place, what, u64::from(u32::MAX));
                let bytes = small(3, "bytes")?;
                if bytes == Some(0) {
                    return Err("bytes is 0; expected at least 1".to_owned());
                }
                Ok(Self::Enqueue {
                    id: number(&rest[0], "id", u64::MAX)?,
                    rank: Rank::saturating(number(&rest[1], "rank", Rank::MAX.get())?),
                    flow: small(2, "flow")?.unwrap_or(0) as u32,
                    bytes: bytes.map_or(UNSIZED_BYTES, |bytes| bytes as u32),
                    sized: bytes.is_some(),
                    eligible: numbers(4, "eligible_ns", MAX_NS)?.map_or(Time::ZERO, Time::from_ns),
                    now: numbers(5, "now_ns", MAX_NS)?.map(Time::from_ns),
                })
            }
            "enq" => Err(ENQUEUE.to_owned()),
            "deq" => match rest {
                [] => Ok(Self::Dequeue { now: None }),
                [now] => Ok(Self::Dequeue { now: Some(Time::from_ns(number(now, "now_ns", MAX_NS)?)) }),
                _ => Err("expected [\"deq\"] or [\"deq\", now_ns]".to_owned()),
            },
            _ => Err("unknown operation; expected \"enq\" or \"deq\"".to_owned()),
        }
    }

    /// The time of the call, if it was written.
    pub fn now(&self) -> Option<Time> {
        match self {
            Self::Enqueue { now, .. } | Self::Dequeue { now } => *now,
        }
    }
}

impl Answer {
    /// Whether `got` is this answer. Old vectors call drops of queue management "admission".
    pub fn is(&self, got: &Self) -> bool {
        let old = (&Self::Dropped(DropReason::Admission), &Self::Dropped(DropReason::Aqm));
        self == got || (self, got) == old
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let words = || DropReason::ALL.iter().map(|reason| format!("\"{reason}\"")).collect::<Vec<_>>().join(", ");
        let (word, rest) =
            head(value).ok_or("expected [\"adm\", ...], [\"drop\", ...], [\"deq\", ...] or [\"wait\", ...]")?;
        match (word, rest) {
            ("adm", [queue, evicted @ ..]) => {
                let queue = number(queue, "queue", u64::from(u32::MAX))? as u32;
                let evicted = match evicted {
                    [] => Vec::new(),
                    [Value::String(word), ids @ ..] if word == "evict" && !ids.is_empty() => {
                        ids.iter().map(|id| number(id, "id", u64::MAX)).collect::<Result<_, _>>()?
                    }
                    _ => return Err("expected [\"adm\", queue] or [\"adm\", queue, \"evict\", id]".to_owned()),
                };
                Ok(Self::Admitted { queue, evicted })
            }
            ("adm", []) => Err("expected [\"adm\", queue] or [\"adm\", queue, \"evict\", id]".to_owned()),
            ("drop", [Value::String(word)]) => DropReason::from_word(word)
                .map(Self::Dropped)
                .ok_or_else(|| format!("unknown reason; expected one of {}", words())),
            ("drop", _) => Err(format!("expected [\"drop\", reason], the reason being one of {}", words())),
            ("deq", [Value::Null]) => Ok(Self::Sent(None)),
            ("deq", [id]) => Ok(Self::Sent(Some(number(id, "id", u64::MAX)?))),
            ("deq", _) => Err("expected [\"deq\", id] or [\"deq\", null]".to_owned()),
            ("wait", [time]) => Ok(Self::NotBefore(Time::from_ns(number(time, "time_ns", MAX_NS)?))),
            ("wait", _) => Err("expected [\"wait\", time_ns]".to_owned()),
            _ => Err("unknown answer; expected \"adm\", \"drop\", \"deq\" or \"wait\"".to_owned()),
        }
    }
}

/// The word at the start of a list, and the rest of the list.
fn head(value: &Value) -> Option<(&str, &[Value])> {
    let (first, rest) = value.as_array()?.split_first()?;
    Some((first.as_str()?, rest))
}

fn number(value: &Value, what: &str, max: u64) -> Result<u64, String> {
    let shown = match max {
        u64::MAX => "2^64 - 1".to_owned(),
        max if max == Rank::MAX.get() => "2^63 - 1".to_owned(),
        max => max.to_string(),
    };
    let number = value.as_u64().filter(|number| *number <= max);
    number.ok_or_else(|| format!("{what} is {value}; expected an integer from 0 to {shown}"))
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enqueue { id, rank, flow, bytes, sized, eligible, now } => {
                write!(f, "[\"enq\", {id}, {rank}")?;
                if *sized {
                    write!(f, ", {flow}, {bytes}")?;
                }
                if let Some(now) = now {
                    write!(f, ", {}, {}", eligible.as_ns(), now.as_ns())?;
                }
                f.write_str("]")
            }
            Self::Dequeue { now: None } => f.write_str("[\"deq\"]"),
            Self::Dequeue { now: Some(now) } => write!(f, "[\"deq\", {}]", now.as_ns()),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted { queue, evicted } => {
                write!(f, "[\"adm\", {queue}")?;
                for (index, id) in evicted.iter().enumerate() {
                    f.write_str(if index == 0 { ", \"evict\", " } else { ", " })?;
                    id.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Dropped(reason) => write!(f, "[\"drop\", \"{reason}\"]"),
            Self::Sent(Some(id)) => write!(f, "[\"deq\", {id}]"),
            Self::Sent(None) => f.write_str("[\"deq\", null]"),
            Self::GivenUp(id, reason) => write!(f, "packet {id} given up at dequeue ({reason})"),
            Self::NotBefore(time) => write!(f, "[\"wait\", {}]", time.as_ns()),
        }
    }
}

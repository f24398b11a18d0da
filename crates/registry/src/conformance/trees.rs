//! Vectors of policies: a tree as text, packets with their classes and times, and the packet of each pop.

use super::fault::Fault;
use super::outcome::{Mismatch, Outcome};
use super::vector::json;
use pifolab_params::Choice;
use pifolab_sched::{Dequeued, InspectExt, Packet, Scheduler};
use pifolab_tree::{Charge, Node, Policy, Tree};
use pifolab_units::{Rank, Ratio, Time};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A vector of a policy. Its other keys, which describe its source, are ignored.
#[derive(Deserialize)]
struct Text {
    policy: String,
    /// The packet that the tree charges: the arriving one by default.
    #[serde(default)]
    charge: Option<String>,
    ops: Vec<Value>,
    expect: Vec<Value>,
}

/// The key that distinguishes a vector of a policy from one of a scheduler.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    policy: Option<IgnoredAny>,
}

/// Whether `text` is a vector of a policy.
pub(super) fn is_policy(text: &[u8]) -> bool {
    serde_json::from_slice::<Kind>(text).is_ok_and(|kind| kind.policy.is_some())
}

enum Op {
    Push {
        id: u64,
        class: u32,
        bytes: u32,
        time: Decimal,
    },
    /// A pop and the expected packet.
    Pop(Option<u64>),
}

/// A decimal number that is not negative.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u64,
    places: u32,
}

/// The most decimal places of a time grid. Further digits are rounded.
const MAX_PLACES: u32 = 9;

impl Decimal {
    /// The number as written; a double prints with enough digits to identify it.
    fn read(value: &Value) -> Option<Self> {
        let text = match value.as_u64() {
            Some(integer) => integer.to_string(),
            None => value.as_f64()?.to_string(),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let kept = fraction.get(..MAX_PLACES as usize).unwrap_or(fraction);
        let digits: u64 = format!("{whole}{kept}").parse().ok()?;
        let up = fraction.as_bytes().get(MAX_PLACES as usize).is_some_and(|digit| *digit >= b'5');
        Some(Self { digits: digits.checked_add(u64::from(up))?, places: kept.len() as u32 })
    }

    /// In units of 10^-places, to the nearest; `None` if that does not fit.
    fn on_grid(self, places: u32) -> Option<u64> {
        if places >= self.places {
            return self.digits.checked_mul(10u64.checked_pow(places - self.places)?);
        }
        let scale = 10u64.pow(self.places - places);
        self.digits.checked_add(scale / 2).map(|digits| digits / scale)
    }
}

/// The grid of time on which a vector is replayed: units of 10^-places, in each of which ranks count at most `ticks`.
struct Grid {
    places: u32,
    ticks: u32,
}

/// The smallest weight of a policy, or 1.
fn smallest(policy: &Policy) -> f64 {
    let own = match policy {
        Policy::WeightedFair(children) => {
            children.iter().filter_map(|(_, weight)| weight.ratio()).map(Ratio::as_f64).fold(1.0, f64::min)
        }
        _ => 1.0,
    };
    policy.children().into_iter().map(smallest).fold(own, f64::min)
}

impl Grid {
    /// Takes as many places as the times have, then as many ticks as possible such that all finish times fit in a rank.
    /// A node is exact if its weights need no more ticks. Otherwise its ranks are rounded down: equal ranks stay equal,
    /// and a finer grid separates more of the others.
    fn new(policy: &Policy, ops: &[Op]) -> Self {
        let pushes = || {
            ops.iter().filter_map(|op| match op {
                Op::Push { bytes, time, .. } => Some((*bytes, *time)),
                Op::Pop(_) => None,
            })
        };
        let latest = pushes().map(|(_, time)| time.digits as f64 / 10f64.powi(time.places as i32)).fold(0.0, f64::max);
        let bytes: f64 = pushes().map(|(bytes, _)| f64::from(bytes)).sum();
        let horizon = (latest + bytes / smallest(policy)).max(1.0);
        let room = (1u64 << 62) as f64 / horizon;
        let written = pushes().map(|(_, time)| time.places).max().unwrap_or(0);
        let fits = |places: &u32| 10f64.powi(*places as i32) <= room;
        let places = (0..=written).rev().find(fits).unwrap_or(0);
        let ticks = (room / 10f64.powi(places as i32)).clamp(1.0, f64::from(u32::MAX));
        Self { places, ticks: ticks as u32 }
    }

    fn time(&self, time: Decimal) -> Option<Time> {
        time.on_grid(self.places).map(Time::from_ps)
    }

    fn tree(&self, policy: &Policy, charge: Charge) -> Tree {
        let unit = Ratio::new(10u64.pow(self.places), 1).expect("at most 10^9");
        Node::of_policy(policy, unit, self.ticks).charge(charge).build().expect("a policy that was parsed can be built")
    }
}

/// Replays a vector of a policy.
pub(super) fn replay(file: &str, text: &[u8]) -> Result<Outcome, Fault> {
    let text: Text = json(text)?;
    let policy = Policy::parse(&text.policy)
        .map_err(|error| Fault::new("policy", format!("{}: {}", error.place, error.problem)))?;
    let charge = match text.charge.as_deref() {
        None => Charge::Arrival,
        Some(word) => Charge::ALL.iter().copied().find(|charge| charge.word() == word).ok_or_else(|| {
            let words: Vec<_> = Charge::ALL.iter().map(|charge| charge.word()).collect();
            Fault::new("charge", format!("{word:?}: expected {}", words.join(" or ")))
        })?,
    };
    let ops = read(&policy, &text.ops, &text.expect)?;
    let grid = Grid::new(&policy, &ops);
    let mut times = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        let time = match op {
            Op::Push { time, .. } => grid.time(*time),
            Op::Pop(_) => times.last().copied().or(Some(Time::ZERO)),
        };
        times.push(time.ok_or_else(|| Fault::new(format!("ops[{index}]"), "the time does not fit in 64 bits"))?);
    }
    let mut tree = grid.tree(&policy, charge);
    let mut outcome = Outcome {
        file: file.to_owned(),
        scheduler: "tree".to_owned(),
        operations: ops.len(),
        mismatches: 0,
        first: None,
    };
    let mut held = HashSet::new();
    for (index, (op, time)) in ops.iter().zip(&times).enumerate() {
        let before = (outcome.first.is_none() && matches!(op, Op::Pop(_))).then(|| Lengths::of(&tree, &policy));
        match *op {
            Op::Push { id, class, bytes, .. } => {
                if !held.insert(id) {
                    let message = format!("{}: packet {id} is still held; expected another id", text.ops[index]);
                    return Err(Fault::new(format!("ops[{index}]"), message));
                }
                let packet = Packet { id, flow: class, size: bytes, rank: Rank::ZERO, arrival: *time };
                assert!(tree.enqueue(packet, *time).is_admitted(), "leaves without bound refuse nothing");
            }
            Op::Pop(expected) => {
                let got = match tree.dequeue(*time) {
                    Dequeued::Packet { packet, .. } => Some(packet.id),
                    _ => None,
                };
                if let Some(id) = got {
                    held.remove(&id);
                }
                if got != expected {
                    outcome.mismatches += 1;
                    outcome.first.get_or_insert_with(|| Mismatch {
                        file: file.to_owned(),
                        operation: index,
                        op: text.ops[index].to_string(),
                        expected: shown(expected),
                        got: shown(got),
                        before: before.map(|lengths| lengths.to_string()).unwrap_or_default(),
                        after: Lengths::of(&tree, &policy).to_string(),
                    });
                }
            }
        }
    }
    Ok(outcome)
}

fn shown(id: Option<u64>) -> String {
    id.map_or("null".to_owned(), |id| id.to_string())
}

/// The packets in each leaf.
struct Lengths(Vec<(String, usize)>);

impl Lengths {
    fn of(tree: &Tree, policy: &Policy) -> Self {
        Self(
            policy
                .classes()
                .into_iter()
                .enumerate()
                .map(|(leaf, class)| (class.to_owned(), tree.queue_len(leaf)))
                .collect(),
        )
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting: Vec<_> = self.0.iter().filter(|(_, packets)| *packets > 0).collect();
        if waiting.is_empty() {
            return f.write_str("no packet waits");
        }
        f.write_str("packets by class:")?;
        waiting.iter().try_for_each(|(class, packets)| write!(f, " {class} {packets}"))
    }
}

/// The operations, each pop with its expected packet.
fn read(policy: &Policy, ops: &[Value], expect: &[Value]) -> Result<Vec<Op>, Fault> {
    let classes: HashMap<&str, u32> = policy.classes().into_iter().zip(0..).collect();
    let is_pop = |op: &&Value| op.as_array().is_some_and(|op| op.len() == 1 && op[0] == "D");
    let pops = ops.iter().filter(is_pop).count();
    if pops != expect.len() {
        let message = format!("{} answers to {pops} pops; expected one answer to each [\"D\"]", expect.len());
        return Err(Fault::new("expect", message));
    }
    let mut answers = expect.iter().enumerate();
    let read = |(index, op): (usize, &Value)| {
        if is_pop(&op) {
            let (at, answer) = answers.next().expect("as many as there are pops");
            return match (answer, answer.as_u64()) {
                (Value::Null, _) => Ok(Op::Pop(None)),
                (_, Some(id)) => Ok(Op::Pop(Some(id))),
                _ => {
                    Err(Fault::new(format!("expect[{at}]"), format!("{answer}: expected the id of a packet, or null")))
                }
            };
        }
        let fault = |message: &str| Fault::new(format!("ops[{index}]"), format!("{op}: {message}"));
        let Some([word, id, class, bytes, time]) = op.as_array().map(Vec::as_slice) else {
            return Err(fault("expected [\"P\", id, class, bytes, time] or [\"D\"]"));
        };
        if word != "P" {
            return Err(fault("expected [\"P\", id, class, bytes, time] or [\"D\"]"));
        }
        let class = class.as_str().ok_or_else(|| fault("expected the class as a text"))?;
        Ok(Op::Push {
            id: id.as_u64().ok_or_else(|| fault("expected the id as an integer from 0 to 2^64 - 1"))?,
            class: *classes.get(class).ok_or_else(|| {
                let known: Vec<&str> = policy.classes();
                fault(&format!("class {class:?} is in no leaf of the policy; expected one of {}", known.join(", ")))
            })?,
            bytes: bytes
                .as_u64()
                .and_then(|bytes| u32::try_from(bytes).ok())
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| fault("expected bytes as an integer from 1 to 2^32 - 1"))?,
            time: Decimal::read(time).ok_or_else(|| fault("expected the time as a number that is not negative"))?,
        })
    };
    ops.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use crate::Form;
    use crate::conformance::replay;

    fn vector(policy: &str, ops: &str, expect: &str) -> String {
        format!("{{\"source\": \"here\", \"policy\": \"{policy}\", \"ops\": [{ops}], \"expect\": [{expect}]}}")
    }

    fn first(policy: &str, ops: &str, expect: &str) -> Option<String> {
        let outcome = replay("v.json", vector(policy, ops, expect).as_bytes(), Form::Twins).unwrap();
        outcome.first.map(|mismatch| mismatch.to_string())
    }

    #[test]
    fn a_policy_is_normalised_before_it_is_replayed() {
        // Round robin in the order of classes, not in that of the text.
        let ops = r#"["P", 7, "b", 64, 0.5], ["P", 8, "a", 64, 0.75], ["D"], ["D"], ["D"]"#;
        assert_eq!(first("rr[fifo[b], fifo[a]]", ops, "8, 7, null"), None);
    }

    #[test]
    fn finish_times_are_exact_fractions() {
        // Finish times 0.1 + 1/3, three times, against an arrival at 1.1: equal ranks leave in the order of arrival. In doubles
        // 0.1 + 1/3 + 1/3 + 1/3 is 1.0999999999999999.
        let pushes = r#"["P", 0, "a", 1, 0.1], ["P", 1, "a", 1, 0.1], ["P", 2, "a", 1, 0.1], ["P", 4, "b", 1, 1.1], ["P", 3, "a", 1, 0.1]"#;
        let ops = format!(r#"{pushes}, ["D"], ["D"], ["D"], ["D"], ["D"]"#);
        assert_eq!(first("wfq[(fifo[a], 3), (fifo[b], 7)]", &ops, "0, 1, 2, 4, 3"), None);
    }

    #[test]
    fn times_of_more_digits_than_fit_are_rounded() {
        let ops = r#"["P", 0, "a", 1, 1234567.12345678901], ["P", 1, "b", 1, 9876543210.5], ["D"], ["D"]"#;
        assert_eq!(first("wfq[(fifo[a], 9973), (fifo[b], 9967)]", ops, "0, 1"), None);
        let ops = r#"["P", 0, "a", 1, 3.0000000000000004], ["P", 1, "b", 1, 1e15], ["D"], ["D"]"#;
        assert_eq!(first("wfq[(fifo[a], 0.001), (fifo[b], 3)]", ops, "0, 1"), None);
    }

    #[test]
    fn times_keep_their_digits_whatever_weights_need() {
        // No grid of 64 bits has whole units for all these weights. The finish time of b's first packet, 15.5 + 64/553, is before 15.9.
        let others = "(fifo[c], 549), (fifo[d], 7), (fifo[e], 274), (fifo[f], 543), (fifo[g], 170), (fifo[h], 997), (fifo[i], 991)";
        let pushes =
            r#"["P", 0, "b", 64, 15.5], ["P", 1, "b", 64, 15.5], ["P", 2, "a", 64, 15.9], ["P", 3, "c", 1500, 90000]"#;
        let ops = format!(r#"{pushes}, ["D"], ["D"], ["D"], ["D"]"#);
        assert_eq!(first(&format!("wfq[(fifo[a], 701), (fifo[b], 553), {others}]"), &ops, "0, 1, 2, 3"), None);
        // Finish times that are equal, 549 / 549 and 553 / 553 after the same time, leave in the order of arrival.
        for (one, other) in [("a", "c"), ("c", "a")] {
            let push = |id: u32, class: &str, bytes: u32| format!(r#"["P", {id}, "{class}", {bytes}, 0.125]"#);
            let bytes = |class: &str| if class == "a" { 2 * 701 } else { 2 * 549 };
            let pushes = [(0, one, bytes(one)), (1, other, bytes(other)), (2, one, 1), (3, other, 1)];
            let ops: Vec<_> = pushes.iter().map(|(id, class, bytes)| push(*id, class, *bytes)).collect();
            let ops = format!("{}, [\"D\"], [\"D\"], [\"D\"], [\"D\"]", ops.join(", "));
            assert_eq!(first(&format!("wfq[(fifo[a], 701), (fifo[b], 553), {others}]"), &ops, "0, 1, 2, 3"), None);
        }
    }

    #[test]
    fn a_vector_may_charge_what_leaves() {
        // The packet of 900 bytes is the first to arrive below the strict node and the last to leave: it is charged at
        // its departure or at its arrival.
        let policy = "wfq[(strict[(fifo[a], 1), (fifo[b], 2)], 1), (fifo[c], 1)]";
        let ops = r#"["P", 0, "b", 900, 0], ["P", 1, "a", 100, 0], ["P", 2, "a", 100, 0], ["P", 3, "c", 150, 0], ["P", 4, "c", 150, 0], ["D"], ["D"], ["D"], ["D"], ["D"]"#;
        assert_eq!(first(policy, ops, "1, 3, 4, 2, 0"), None);
        let replayed = |charge: &str, expect: &str| {
            let text = vector(policy, ops, expect).replacen('{', &format!("{{\"charge\": \"{charge}\", "), 1);
            replay("v.json", text.as_bytes(), Form::Twins)
                .map(|outcome| outcome.first.map(|mismatch| mismatch.to_string()))
        };
        assert_eq!(replayed("arrival", "1, 3, 4, 2, 0").unwrap(), None);
        assert_eq!(replayed("departure", "3, 1, 2, 4, 0").unwrap(), None);
        let error = replayed("now", "").unwrap_err().to_string();
        assert_eq!(error, "v.json: charge: \"now\": expected departure or arrival");
    }

    #[test]
    fn a_mismatch_shows_what_waits_in_each_class() {
        let ops = r#"["P", 0, "x", 9, 0], ["P", 1, "y", 9, 0], ["D"], ["D"]"#;
        let shown = first("strict[(fifo[y], 2), (fifo[x], 1)]", ops, "1, 1").unwrap();
        let expected = "v.json: ops[2] = [\"D\"]\n  expected 1\n  got      0\n  before   packets by class: x 1 y 1\n  after    packets by class: y 1";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_vector_that_cannot_be_replayed_names_the_place() {
        let error = |policy: &str, ops: &str, expect: &str| {
            replay("v.json", vector(policy, ops, expect).as_bytes(), Form::Twins).unwrap_err().to_string()
        };
        let policy = "rr[fifo[A], fifo[B]]";
        assert_eq!(
            error("rr[fifo[A], fifo[A]]", "", ""),
            "v.json: policy: fifo[A]: duplicate class \"A\"; expected each class in one leaf"
        );
        assert_eq!(
            error("wfq[(fifo[A], 0)]", "", ""),
            "v.json: policy: character 15: expected a weight above 0 and below 2^32, got 0"
        );
        assert_eq!(
            error(policy, r#"["P", 0, "C", 64, 1.5]"#, ""),
            "v.json: ops[0]: [\"P\",0,\"C\",64,1.5]: class \"C\" is in no leaf of the policy; expected one of A, B"
        );
        assert_eq!(
            error(policy, r#"["D"]"#, ""),
            "v.json: expect: 0 answers to 1 pops; expected one answer to each [\"D\"]"
        );
        assert_eq!(error(policy, r#"["D"]"#, "1.5"), "v.json: expect[0]: 1.5: expected the id of a packet, or null");
        let push = |rest: &str| error(policy, &format!("[\"P\", {rest}]"), "");
        assert!(push("0, \"A\", 0, 1").ends_with("expected bytes as an integer from 1 to 2^32 - 1"));
        assert!(push("0, \"A\", 1, -1").ends_with("expected the time as a number that is not negative"));
        assert!(push("-1, \"A\", 1, 1").ends_with("expected the id as an integer from 0 to 2^64 - 1"));
        assert!(push("1, \"A\", 1").ends_with("expected [\"P\", id, class, bytes, time] or [\"D\"]"));
        let twice = r#"["P", 3, "A", 64, 1], ["P", 3, "B", 64, 2]"#;
        assert!(error(policy, twice, "").ends_with("packet 3 is still held; expected another id"));
    }
}

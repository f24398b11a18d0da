//! The vectors of `conformance/`: the answers of the oracles, in the format of its README.

use crate::case::decode_ops;
use crate::line::{Suite, Vector, Vectors};
use crate::oracles::SUITES;
use crate::{Answer, Op, Source, suite};
use std::fmt::Write as _;

/// The number of random bytes from which operations are drawn: about 220 operations.
const BYTES: usize = 1000;

/// All vectors with their file names and texts.
pub fn all() -> Vec<(String, String)> {
    let of_suite = |suite: &&Suite| {
        let mut vectors = Vectors { scheduler: suite.lines[0].name, all: Vec::new() };
        (suite.vectors)(&mut vectors);
        vectors.all
    };
    let vectors = SUITES.iter().flat_map(of_suite);
    vectors.map(|vector| (format!("{}_{}.json", vector.scheduler, vector.what), vector.text())).collect()
}

impl Vector {
    fn text(&self) -> String {
        let line = suite::lines_of(self.scheduler).next().expect("the suite knows the scheduler");
        let mut oracle = line.oracle(&self.settings);
        let bytes = random_bytes(&format!("{} {}", self.scheduler, self.what));
        let ops = decode_ops(&mut Source::new(&bytes), self.ranks, 4, false);
        let timed = line.has(suite::Property::MayWait);
        let written = ops.iter().map(|op| op_text(op, timed));
        let answers = ops.iter().map(|op| answer_text(op, &oracle.apply(op)));
        format!(
            "{{\n\"scheduler\": \"{}\",\n\"config\": {},\n\"ops\": [\n{}],\n\"expect\": [\n{}]\n}}\n",
            self.scheduler,
            self.settings,
            rows(written),
            rows(answers)
        )
    }
}

/// Joins the items, ten per line.
fn rows(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    items.chunks(10).map(|row| row.join(", ")).collect::<Vec<_>>().join(",\n")
}

fn op_text(op: &Op, timed: bool) -> String {
    match op {
        Op::Enqueue(offer, now) => {
            let mut text = format!("[\"enq\", {}, {}, {}, {}", offer.id, offer.rank, offer.flow, offer.size);
            if timed {
                write!(text, ", {}, {now}", offer.eligible_ns).expect("writing to a String succeeds");
            }
            text + "]"
        }
        Op::Dequeue(now) if timed => format!("[\"deq\", {now}]"),
        Op::Dequeue(_) => "[\"deq\"]".to_owned(),
    }
}

fn answer_text(op: &Op, answer: &Answer) -> String {
    match (op, answer) {
        (Op::Enqueue(..), Answer::Admitted { queue, evicted }) => {
            let evicted: String = evicted.iter().map(|id| format!(", {id}")).collect();
            let word = if evicted.is_empty() { "" } else { ", \"evict\"" };
            format!("[\"adm\", {queue}{word}{evicted}]")
        }
        (Op::Enqueue(..), Answer::Dropped(reason)) => format!("[\"drop\", \"{reason}\"]"),
        (Op::Dequeue(_), Answer::Sent(id)) => format!("[\"deq\", {id}]"),
        (Op::Dequeue(_), Answer::NotBefore(time)) => format!("[\"wait\", {time}]"),
        (Op::Dequeue(_), Answer::Empty) => "[\"deq\", null]".to_owned(),
        _ => panic!("{answer:?} answers no {op:?}"),
    }
}

/// SplitMix64 from a hash (FNV-1a) of the name, so that a vector keeps its operations if other vectors change.
fn random_bytes(name: &str) -> Vec<u8> {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let mut next = || {
        state = u64::wrapping_add(state, 0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..BYTES / 8).flat_map(|_| next().to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_vectors_in_the_tree_are_those_that_the_oracles_write() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        for (name, text) in all() {
            let found = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            assert!(found == text, "{name} differs: cargo run -p pifolab-testkit --example write_vectors");
        }
    }

    #[test]
    fn each_vector_meets_what_it_is_about() {
        for (name, text) in all() {
            assert!(text.matches("\"adm\"").count() > 20, "{name} admits too little");
            assert!(text.matches("\"drop\"").count() + text.matches("\"evict\"").count() > 5, "{name} is never full");
        }
    }
}

//! The vectors of `conformance/`: what the oracles answer, in the format that its README describes.

use crate::case::decode_ops;
use crate::{Answer, Op, Ranks, Settings, Source, suite};
use std::fmt::Write as _;

/// One vector before it is written.
struct Vector {
    scheduler: &'static str,
    /// What is special about it.
    what: &'static str,
    settings: Settings,
    ranks: Ranks,
}

/// The random bytes that operations are drawn from: about 220 operations.
const BYTES: usize = 1000;

/// Every vector: its file name and its text.
pub fn all() -> Vec<(String, String)> {
    vectors().iter().map(|vector| (format!("{}_{}.json", vector.scheduler, vector.what), vector.text())).collect()
}

fn vectors() -> Vec<Vector> {
    let mut all = Vec::new();
    let mut add = |scheduler, what, ranks, settings: &dyn Fn(&mut Settings)| {
        let mut built = Settings::default();
        settings(&mut built);
        all.push(Vector { scheduler, what, settings: built, ranks });
    };
    let three = [3, 2, 4];
    let three_bytes = [4_000, 2_500, 6_000];

    add("fifo", "packets", Ranks::Few, &|s| s.integer("capacity_packets", 5));
    add("fifo", "bytes", Ranks::Few, &|s| s.integer("capacity_bytes", 5_000));

    add("pifo", "packets_ties", Ranks::Few, &|s| s.integer("capacity_packets", 6));
    add("pifo", "bytes", Ranks::Hundred, &|s| s.integer("capacity_bytes", 8_000));
    add("pifo", "any_rank", Ranks::Any, &|s| s.integer("capacity_packets", 6));
    add("pifo", "rank_space", Ranks::HeavyTailed, &|s| {
        s.integer("capacity_packets", 6);
        s.integer("ranks", 65_536);
    });
    add("pifo", "heap_ties", Ranks::Few, &|s| {
        s.integer("capacity_packets", 9);
        s.word("ties", "heap");
    });

    add("pifo", "starvation_prevention", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 9);
        s.flag("starvation_prevention", true);
    });

    add("strict-priority", "bounds", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", three);
        s.list("bounds", [0, 20, 70]);
    });
    add("strict-priority", "bounds_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.list("bounds", [5, 30, 30]);
    });
    add("strict-priority", "even", Ranks::Hundred, &|s| {
        s.integer("queues", 6);
        s.integer("queue_capacity_packets", 2);
        s.integer("ranks", 100);
    });

    for (what, push_down, on_full, order) in [
        ("cost_keep", "cost", "keep", "scan-first"),
        ("cost_update", "cost", "update", "scan-first"),
        ("rank_keep", "rank", "keep", "scan-first"),
        ("one_update", "one", "update", "scan-first"),
        ("queue_bound_keep", "queue-bound", "keep", "scan-first"),
        ("queue_bound_old_update", "queue-bound-old", "update", "scan-first"),
        ("push_down_first_cost_keep", "cost", "keep", "push-down-first"),
        ("push_down_first_cost_update", "cost", "update", "push-down-first"),
        ("push_down_first_one_keep", "one", "keep", "push-down-first"),
        ("push_down_first_queue_bound_update", "queue-bound", "update", "push-down-first"),
    ] {
        add("sp-pifo", what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", three);
            s.word("push_down", push_down);
            s.word("on_full", on_full);
            s.word("order", order);
        });
    }
    add("sp-pifo", "clamp_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.word("on_full", "keep");
        s.integer("clamp", 0);
    });
    add("sp-pifo", "any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", three);
        s.word("on_full", "update");
    });

    for (what, steps) in [("one_step", "one"), ("until_convergence", "until-convergence")] {
        add("sp-pifo-greedy", what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", three);
            s.integer("window_packets", 20);
            s.list("initial_bounds", [0, 10, 20]);
            s.integer("ranks", 100);
            s.word("steps", steps);
        });
    }
    add("sp-pifo-greedy", "rank_out_of_range", Ranks::Few, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.integer("window_packets", 7);
        s.list("initial_bounds", [0, 2, 4]);
        s.integer("ranks", 6);
        s.word("steps", "one");
    });

    for (what, cost) in [("difference", "difference"), ("one", "one")] {
        add("sp-pifo-optimal", what, Ranks::Few, &|s| {
            s.list("queue_capacity_packets", three);
            s.list("weights", [9, 0, 3, 3, 1, 0, 0, 5]);
            s.word("cost", cost);
        });
    }
    add("sp-pifo-optimal", "bytes", Ranks::Few, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.list("weights", [1, 2, 3, 4, 5, 6, 7, 8]);
        s.word("cost", "difference");
    });

    for (what, cost, combine) in [
        ("upper_sum", "upper", "sum"),
        ("exact_sum", "exact", "sum"),
        ("upper_max", "upper", "max"),
        ("exact_max", "exact", "max"),
    ] {
        add("sp-pifo-optimal", what, Ranks::Few, &|s| {
            s.list("queue_capacity_packets", three);
            s.list("weights", [9, 0, 3, 3, 1, 0, 0, 5]);
            s.word("cost", cost);
            s.word("combine", combine);
        });
    }

    add("slack-sp", "packets", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", three);
        s.list("eps", [1, 10]);
        s.list("step", [4, 1]);
    });
    add("slack-sp", "bytes_without_fall_through", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.list("initial_bounds", [10, 60]);
        s.flag("fall_through", false);
    });
    add("slack-sp", "proportional_any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", three);
        s.word("steps", "proportional");
        s.list("step", [1, 8]);
        s.integer("ranks", 1i128 << 40);
    });
    add("slack-sp", "admission", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", three);
        s.list("admission_gain", [2, 1]);
        s.integer("target_packets", 4);
    });

    for (what, force, decays) in [
        ("packets", "packets", "all"),
        ("packets_hit", "packets", "hit"),
        ("inversions", "inversions", "all"),
        ("inversions_hit", "inversions", "hit"),
    ] {
        add("spring", what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", three);
            s.word("force", force);
            s.word("decays", decays);
            s.list("gain", [1, 8]);
            s.list("speed", [5, 1]);
        });
    }
    add("spring", "fill_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.word("force", "fill");
    });

    let window = |s: &mut Settings, window: u64, k: [u64; 2], quantile, update| {
        s.integer("window", window);
        s.list("k", k);
        s.word("quantile", quantile);
        s.word("update", update);
    };
    add("aifo", "bytes", Ranks::Hundred, &|s| {
        s.integer("capacity_bytes", 9_000);
        window(s, 16, [1, 10], "lt", "before");
    });
    add("aifo", "target_below_capacity", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 12);
        s.integer("target_packets", 8);
        window(s, 16, [1, 4], "lt", "before");
    });
    add("aifo", "strict_sampled", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 10);
        window(s, 8, [1, 5], "lt", "after");
        s.word("compare", "lt");
        s.integer("sample", 3);
    });
    add("aifo", "published_arithmetic", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 20);
        window(s, 20, [7, 10], "lt", "after");
        s.word("compare", "lt");
        s.word("arithmetic", "netbench");
    });
    add("aifo", "any_rank_wide_window", Ranks::Any, &|s| {
        s.integer("capacity_packets", 10);
        window(s, 100, [0, 1], "le", "before");
    });

    for (what, shift) in [("shift_up", 30), ("shift_down", -30)] {
        add("packs", what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", three);
            window(s, 20, [1, 10], "lt", "before");
            s.integer("shift", shift);
        });
    }
    add("packs", "geometric", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", three);
        window(s, 20, [1, 10], "lt", "before");
        s.word("map", "geometric");
        s.list("eps", [1, 10]);
    });
    add("packs", "bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        window(s, 20, [1, 10], "lt", "before");
    });
    add("packs", "global_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        window(s, 20, [0, 1], "le", "after");
        s.word("occupancy", "global");
    });
    add("packs", "global_no_fall_through", Ranks::Few, &|s| {
        s.list("queue_capacity_packets", three);
        window(s, 8, [1, 3], "lt", "before");
        s.word("occupancy", "global");
        s.flag("fall_through", false);
    });
    add("packs", "start_window_any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", three);
        window(s, 8, [0, 1], "lt", "before");
        s.list("start_window", [1 << 62, 1 << 61, 7]);
    });

    for (what, mode, ranks) in [
        ("alg1_bytes", "alg1", Ranks::Hundred),
        ("eq3_bytes_any_rank", "eq3", Ranks::Any),
        ("pow2_bytes", "pow2", Ranks::HeavyTailed),
    ] {
        add("rifo", what, ranks, &|s| {
            s.integer("capacity_bytes", 12_000);
            s.integer("tracking_range_packets", 25);
            s.list("k", [1, 10]);
            s.word("mode", mode);
        });
    }
    for (what, mode, k) in [("pow2_any_rank", "pow2", [0, 1]), ("eq3_reset_0", "eq3", [1, 3])] {
        add("rifo", what, Ranks::Any, &|s| {
            s.integer("capacity_packets", 11);
            s.integer("tracking_range_packets", 9);
            s.list("k", k);
            s.word("mode", mode);
            s.integer("reset_counter", 0);
        });
    }

    for (what, beta, mapping, reset, r_min, ranks) in [
        ("ceil", "ceil", "comment", "gt", 1, Ranks::HeavyTailed),
        ("bounds", "floor", "bounds", "gt", 1, Ranks::HeavyTailed),
        ("bounds_ceil", "ceil", "bounds", "ge", 1, Ranks::Hundred),
        ("bounds_r_min", "ceil", "bounds", "gt", 1_500, Ranks::HeavyTailed),
        ("bounds_any_rank", "floor", "bounds", "gt", 3, Ranks::Any),
    ] {
        add("exp-pifo", what, ranks, &|s| {
            s.list("queue_capacity_packets", [3, 2, 4, 2]);
            s.integer("window_packets", 12);
            s.integer("r_min", r_min);
            s.word("beta", beta);
            s.word("mapping", mapping);
            s.word("reset", reset);
            if mapping == "comment" {
                s.word("beta0", "first");
            }
        });
    }
    add("exp-pifo", "bytes", Ranks::HeavyTailed, &|s| {
        s.list("queue_capacity_bytes", three_bytes);
        s.integer("window_packets", 12);
        s.word("beta0", "last");
    });

    for (what, horizon, counters) in [("ge_exact", "ge", "exact"), ("gt_sketch", "gt", "sketch")] {
        add("afq", what, Ranks::Few, &|s| {
            s.integer("queues", 4);
            s.integer("queue_capacity_packets", 4);
            s.integer("bytes_per_round", 1_000);
            s.word("horizon", horizon);
            s.word("counters", counters);
        });
    }
    add("afq", "bytes", Ranks::Few, &|s| {
        s.integer("queues", 5);
        s.integer("queue_capacity_bytes", 3_000);
        s.integer("bytes_per_round", 1_500);
        s.word("horizon", "ge");
    });

    add("pieo", "packets", Ranks::Hundred, &|s| s.integer("capacity_packets", 6));
    add("pieo", "packets_ties", Ranks::Few, &|s| s.integer("capacity_packets", 9));
    add("pieo", "bytes", Ranks::Hundred, &|s| s.integer("capacity_bytes", 9_000));
    all
}

impl Vector {
    fn text(&self) -> String {
        let line = suite::lines_of(self.scheduler).next().expect("the suite knows the scheduler");
        let mut oracle = line.oracle(&self.settings);
        let bytes = random_bytes(&format!("{} {}", self.scheduler, self.what));
        let ops = decode_ops(&mut Source::new(&bytes), self.ranks, 4);
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

/// Ten to a line.
fn rows(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    items.chunks(10).map(|row| row.join(", ")).collect::<Vec<_>>().join(",\n")
}

fn op_text(op: &Op, timed: bool) -> String {
    match op {
        Op::Enqueue(offer, now) => {
            let mut text = format!("[\"enq\", {}, {}, {}, {}", offer.id, offer.rank, offer.flow, offer.size);
            if timed {
                write!(text, ", {}, {now}", offer.eligible_ns).expect("a text grows");
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

/// SplitMix64 from a hash (FNV-1a) of the name: a vector keeps its operations when others come or go.
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

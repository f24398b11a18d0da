use super::*;

const FIFO: &str = r#"{"scheduler": "fifo", "config": {"capacity": 1},
 "ops": [["enq", 0, 5], ["enq", 1, 3], ["deq"], ["deq"]],
 "expect": [["adm", 0], ["drop", "full"], ["deq", 0], ["deq", null]]}"#;

fn message(text: &str) -> String {
    replay("v.json", text.as_bytes(), Form::Twins).expect_err("the vector is broken").to_string()
}

#[test]
fn a_vector_that_the_scheduler_answers_has_no_mismatch() {
    let outcome = replay("v.json", FIFO.as_bytes(), Form::Twins).unwrap();
    let expected =
        Outcome { file: "v.json".into(), scheduler: "fifo".into(), operations: 4, mismatches: 0, first: None };
    assert_eq!(outcome, expected);
}

#[test]
fn the_first_mismatch_is_shown_in_full_and_all_are_counted() {
    let text = FIFO.replace("[\"deq\", 0]", "[\"deq\", 1]").replace("[\"deq\", null]", "[\"deq\", 9]");
    let outcome = replay("v.json", text.as_bytes(), Form::Twins).unwrap();
    assert_eq!(outcome.mismatches, 2);
    let shown = "v.json: ops[2] = [\"deq\"]\n  expected [\"deq\", 1]\n  got      [\"deq\", 0]\n  \
                 before   1 packets, 1500 B, queue lengths [1]\n  after    0 packets, 0 B, queue lengths [0]";
    assert_eq!(outcome.first.unwrap().to_string(), shown);
}

#[test]
fn a_mismatch_shows_bounds_where_there_are_some() {
    let text = r#"{"scheduler": "sppifo", "config": {"capacities": [2, 2]},
        "ops": [["enq", 0, 5]], "expect": [["adm", 0]]}"#;
    let first = replay("v.json", text.as_bytes(), Form::Twins).unwrap().first.unwrap();
    assert_eq!(first.before, "0 packets, 0 B, queue lengths [0, 0], bounds [0, 0]");
    assert_eq!(first.after, "1 packets, 1500 B, queue lengths [0, 1], bounds [0, 5]");
}

#[test]
fn a_scheduler_answers_to_both_its_names() {
    for (name, config) in [("sppifo", "\"pushdown\": \"qbound\""), ("sp-pifo", "\"push_down\": \"queue-bound\"")] {
        let text = format!(
            r#"{{"scheduler": "{name}", "config": {{"capacities": [2, 2], {config}}}, "ops": [], "expect": []}}"#
        );
        assert_eq!(replay("v.json", text.as_bytes(), Form::Twins).unwrap().scheduler, "sp-pifo");
    }
}

#[test]
fn schedulers_inside_others_are_objects() {
    let vector = |scheduler: &str, config: &str| {
        let ops = r#"[["enq", 0, 5, 0, 100], ["enq", 1, 9, 1, 100], ["enq", 2, 5, 0, 100], ["deq"], ["deq"], ["deq"]]"#;
        let expect = r#"[["adm", 0], ["adm", 1], ["adm", 0], ["deq", 0], ["deq", 1], ["deq", 2]]"#;
        format!(r#"{{"scheduler": "{scheduler}", "config": {{{config}}}, "ops": {ops}, "expect": {expect}}}"#)
    };
    let child = |takes: u32, more: &str| format!(r#"{{"name": "fifo", "takes": {takes}{more}}}"#);
    let tree = |more: &str| format!(r#""discipline": "rr", "child": [{}, {}]"#, child(0, ""), child(1, more));
    let managed = format!(r#""policy": "red", "scheduler": {{"name": "tree", {}}}"#, tree(""));
    for (scheduler, config) in [("tree", tree("")), ("managed", managed)] {
        let outcome = replay("v.json", vector(scheduler, &config).as_bytes(), Form::Twins).unwrap();
        assert_eq!((outcome.scheduler.as_str(), outcome.mismatches), (scheduler, 0), "{:?}", outcome.first);
    }
    let wrong = message(&vector("tree", &tree(", \"capacity\": 3")));
    assert!(wrong.starts_with("v.json: config: tree.1: capacity = 3: unknown key; "), "{wrong}");
}

#[test]
fn drops_of_queue_management_may_have_the_word_of_the_admission_test() {
    let replayed = |reason: &str| {
        let red = r#""policy": "red", "min_bytes": 1, "max_bytes": 2, "weight_log": 0, "scheduler": {"name": "fifo"}"#;
        let ops = r#"[["enq", 0, 5, 0, 100], ["enq", 1, 9, 1, 100]]"#;
        let expect = format!(r#"[["adm", 0], ["drop", "{reason}"]]"#);
        let text = format!(r#"{{"scheduler": "managed", "config": {{{red}}}, "ops": {ops}, "expect": {expect}}}"#);
        replay("v.json", text.as_bytes(), Form::Twins).unwrap().mismatches
    };
    assert_eq!(["aqm", "admission", "full"].map(replayed), [0, 0, 1]);
}

#[test]
fn a_key_without_effect_beside_another_has_no_default() {
    for mapping in ["", ", \"mapping\": \"comment\"", ", \"mapping\": \"bounds\""] {
        let text = format!(
            r#"{{"scheduler": "exppifo", "config": {{"capacities": [2, 2], "C": 9{mapping}}},
                "ops": [["enq", 0, 1]], "expect": [["adm", {}]]}}"#,
            // While beta is 0, a vector's default is the last queue; with `bounds` rank 1 belongs to the first.
            if mapping.contains("bounds") { 0 } else { 1 }
        );
        assert_eq!(replay("v.json", text.as_bytes(), Form::Twins).unwrap().first, None);
    }
}

#[test]
fn every_key_of_the_format_is_a_parameter_of_the_library() {
    names::check_tables();
}

#[test]
fn broken_files_are_refused_with_the_place_and_what_would_be_right() {
    let with = |from: &str, to: &str| {
        assert!(FIFO.contains(from), "{from}");
        message(&FIFO.replace(from, to))
    };
    let mut wrong = Vec::new();
    for (from, to, expected) in [
        ("\"ops\":", "\"ops\" ", "line 2 column 9: expected `:`"),
        (
            "\"ops\"",
            "\"opts\"",
            "line 2 column 7: unknown field `opts`, expected one of `scheduler`, `config`, `ops`, `expect`",
        ),
        ("\"fifo\"", "7", "line 1 column 15: invalid type: integer `7`, expected a string"),
        ("\"fifo\"", "\"fifa\"", "scheduler: unknown scheduler \"fifa\"; did you mean fifo?"),
        (
            "{\"capacity\": 1}",
            "[1]",
            "line 1 column 32: invalid type: sequence, expected an object with the scheduler's parameters",
        ),
        ("\"capacity\": 1", "\"capacity\": 1, \"capacity\": 2", "line 1 column 62: capacity is given twice"),
        ("\"capacity\": 1", "", "config: fifo: capacity is missing"),
        (
            "\"capacity\": 1",
            "\"capacity\": 0",
            "config: fifo: capacity = 0: expected an integer from 1 to 16777216 (packets)",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": -1",
            "config: fifo: capacity = -1: expected an integer from 1 to 16777216 (packets)",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": 1.5",
            "config: fifo: capacity = 1.5: expected an integer from 1 to 16777216 (packets)",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": null",
            "config: fifo: capacity = null: expected a number, a text, true or false, a table, or a list of these",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": 1, \"capacity_packets\": 1",
            "config: fifo: capacity and capacity_packets mean the same: remove one",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": 1, \"capacitty\": 1",
            "config: fifo: capacitty: unknown key; did you mean capacity?",
        ),
        (
            "\"capacity\": 1",
            "\"capacity\": 1, \"zzz\": 1",
            "config: fifo: zzz: unknown key; the keys are capacity, capacity_packets, capacity_bytes",
        ),
        (
            "\"capacity\": 1",
            "\"capacity_bytes\": 9000",
            "ops[0]: [\"enq\", 0, 5]: a capacity in bytes needs [\"enq\", id, rank, flow, bytes]",
        ),
        (
            "[\"enq\", 0, 5]",
            "[\"enq\", 0]",
            "ops[0]: [\"enq\",0]: expected [\"enq\", id, rank], [\"enq\", id, rank, flow, bytes], or the same with eligible_ns and now_ns at the end",
        ),
        (
            "[\"enq\", 0, 5]",
            "[\"enq\", 0, -5]",
            "ops[0]: [\"enq\",0,-5]: rank is -5; expected an integer from 0 to 2^63 - 1",
        ),
        (
            "[\"enq\", 0, 5]",
            "[\"enq\", 0, 9223372036854775808]",
            "ops[0]: [\"enq\",0,9223372036854775808]: rank is 9223372036854775808; expected an integer from 0 to 2^63 - 1",
        ),
        (
            "[\"enq\", 0, 5]",
            "[\"enq\", \"a\", 5]",
            "ops[0]: [\"enq\",\"a\",5]: id is \"a\"; expected an integer from 0 to 2^64 - 1",
        ),
        ("[\"enq\", 0, 5]", "[\"enq\", 0, 5, 0, 0]", "ops[0]: [\"enq\",0,5,0,0]: bytes is 0; expected at least 1"),
        (
            "[\"enq\", 0, 5]",
            "[\"enq\", 0, 5, 4294967296, 1]",
            "ops[0]: [\"enq\",0,5,4294967296,1]: flow is 4294967296; expected an integer from 0 to 4294967295",
        ),
        ("[\"enq\", 1, 3]", "[\"enq\", 0, 3]", "ops[1]: [\"enq\", 0, 3]: packet 0 is still held; expected another id"),
        (
            "[\"deq\"], [\"deq\"]",
            "[\"deq\", 9], [\"deq\", 8]",
            "ops[3]: [\"deq\", 8]: the time 8 ns follows 9 ns; expected times in order",
        ),
        (
            "[\"deq\"], [\"deq\"]",
            "[\"deq\", 9, 9], [\"deq\"]",
            "ops[2]: [\"deq\",9,9]: expected [\"deq\"] or [\"deq\", now_ns]",
        ),
        (
            "[\"deq\"], [\"deq\"]",
            "[\"pop\"], [\"deq\"]",
            "ops[2]: [\"pop\"]: unknown operation; expected \"enq\" or \"deq\"",
        ),
        ("[\"deq\"], [\"deq\"]", "3, [\"deq\"]", "ops[2]: 3: expected [\"enq\", ...] or [\"deq\"]"),
        ("[\"deq\"], [\"deq\"]", "[\"deq\"]", "expect: 4 answers to 3 operations; expected one answer to each"),
        ("[\"adm\", 0]", "[\"deq\", 0]", "expect[0]: [\"deq\",0]: is not an answer to [\"enq\",0,5]"),
        (
            "[\"adm\", 0]",
            "[\"adm\"]",
            "expect[0]: [\"adm\"]: expected [\"adm\", queue] or [\"adm\", queue, \"evict\", id]",
        ),
        (
            "[\"adm\", 0]",
            "[\"adm\", 0, 7]",
            "expect[0]: [\"adm\",0,7]: expected [\"adm\", queue] or [\"adm\", queue, \"evict\", id]",
        ),
        (
            "[\"adm\", 0]",
            "[\"adm\", -1]",
            "expect[0]: [\"adm\",-1]: queue is -1; expected an integer from 0 to 4294967295",
        ),
        (
            "[\"adm\", 0]",
            "[\"ok\", 0]",
            "expect[0]: [\"ok\",0]: unknown answer; expected \"adm\", \"drop\", \"deq\" or \"wait\"",
        ),
        (
            "[\"adm\", 0]",
            "0",
            "expect[0]: 0: expected [\"adm\", ...], [\"drop\", ...], [\"deq\", ...] or [\"wait\", ...]",
        ),
        (
            "[\"drop\", \"full\"]",
            "[\"drop\", \"fool\"]",
            "expect[1]: [\"drop\",\"fool\"]: unknown reason; expected one of \"admission\", \"full\", \"pushed-out\", \"rank-out-of-range\", \"aqm\"",
        ),
        (
            "[\"drop\", \"full\"]",
            "[\"drop\"]",
            "expect[1]: [\"drop\"]: expected [\"drop\", reason], the reason being one of \"admission\", \"full\", \"pushed-out\", \"rank-out-of-range\", \"aqm\"",
        ),
        ("[\"deq\", null]", "[\"deq\"]", "expect[3]: [\"deq\"]: expected [\"deq\", id] or [\"deq\", null]"),
        ("[\"deq\", null]", "[\"wait\"]", "expect[3]: [\"wait\"]: expected [\"wait\", time_ns]"),
    ] {
        let got = with(from, to);
        if got != format!("v.json: {expected}") {
            wrong.push(format!("{from} -> {to}\n     got {got}\nexpected v.json: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_that_is_no_vector_at_all_is_refused() {
    assert_eq!(message(""), "v.json: line 1 column 0: EOF while parsing a value");
    assert_eq!(message("{}"), "v.json: line 1 column 2: missing field `scheduler`");
    assert!(message("\u{feff}{}").starts_with("v.json: line 1 column 1: "));
    let error = replay_file(Path::new("/nowhere/v.json"), Form::Twins).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/v.json: cannot be read: "), "{error}");
}

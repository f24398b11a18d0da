//! Any text as a conformance vector: a replay, or an error on one line that names the file; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_scenario::conformance::replay;
use pifolab_scenario::registry::Form;

/// Beginnings that are right let the fuzzer get to the rest; the first has none.
const STARTS: [&str; 6] = [
    "",
    r#"{"scheduler": "fifo", "config": {"capacity": 2}, "ops": ["#,
    r#"{"scheduler": "pieo", "config": {"capacity_bytes": 2000}, "ops": ["#,
    r#"{"scheduler": "afq", "config": {"queues": 2, "capacity": 2, "bytes_per_round": 9}, "ops": ["#,
    r#"{"scheduler": "sppifo", "config": {"capacities": [2, 1], "#,
    r#"{"scheduler": "packs", "config": {"window": 4, "#,
];

fuzz_target!(|input: (u8, &str, Option<&str>)| {
    let (start, rest, expect) = input;
    let start = STARTS[usize::from(start) % STARTS.len()];
    let text = match expect {
        Some(expect) => format!("{start}{rest}], \"expect\": [{expect}]}}"),
        None => format!("{start}{rest}"),
    };
    match replay("fuzz", text.as_bytes(), Form::Twins) {
        Ok(outcome) => assert_eq!(outcome.first.is_some(), outcome.mismatches > 0),
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("fuzz: ") && !message.contains('\n'), "{message}");
        }
    }
});

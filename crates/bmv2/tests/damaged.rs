//! Damaged programs and entries: refused in one line, or run without a panic.

mod stored;

use pifolab_bmv2::{Limits, Program, Switch, entries};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

const NAMES: [&str; 8] = ["sp_pifo", "packs", "rifo", "ecn", "hops", "sp_pifo_stfq", "features", "wide"];

/// The stored programs.
fn programs() -> &'static [Value] {
    static READ: OnceLock<Vec<Value>> = OnceLock::new();
    READ.get_or_init(|| NAMES.map(stored::program).into())
}

/// How many nodes a value has, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the node number `at` by `change`; `None` takes it out of its list or object.
fn damage(value: &mut Value, at: &mut usize, change: &Option<Value>) -> bool {
    let number_of = |child: &mut Value, at: &mut usize| {
        *at -= 1;
        if *at == 0 { Some(()) } else { damage(child, at, change).then_some(()) }
    };
    match value {
        Value::Array(items) => {
            for place in 0..items.len() {
                if number_of(&mut items[place], at).is_some() {
                    if *at == 0 {
                        match change {
                            Some(new) => items[place] = new.clone(),
                            None => drop(items.remove(place)),
                        }
                        *at = usize::MAX;
                    }
                    return true;
                }
            }
        }
        Value::Object(members) => {
            let keys: Vec<String> = members.keys().cloned().collect();
            for key in keys {
                if number_of(&mut members[&key], at).is_some() {
                    if *at == 0 {
                        match change {
                            Some(new) => drop(members.insert(key, new.clone())),
                            None => drop(members.remove(&key)),
                        }
                        *at = usize::MAX;
                    }
                    return true;
                }
            }
        }
        _ => {}
    }
    false
}

/// Sends packets through a program that was loaded.
fn try_packets(program: Program) {
    let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 80, 0, 0]);
    bytes.extend(7u64.to_be_bytes());
    for length in [0, 13, 14, 33, bytes.len()] {
        switch.receive(0, &bytes[..length], 100, 0, 1_000);
        for port in 0..switch.ports().min(8) {
            switch.send(port, 2_000);
        }
    }
}

fn said(text: &[u8]) {
    match Program::load(text) {
        Ok(program) => try_packets(program),
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_program_is_refused_in_one_line_or_runs(
        program in 0..NAMES.len(),
        place in any::<prop::sample::Index>(),
        change in prop_oneof![
            2 => Just(None),
            1 => Just(Some(Value::Null)),
            1 => Just(Some(json!([]))),
            1 => Just(Some(json!({}))),
            1 => Just(Some(json!("x"))),
            1 => Just(Some(json!("0xffffffffffffffffffffff"))),
            2 => prop_oneof![Just(0i64), Just(-1), Just(1), 2..70i64, Just(1 << 20), any::<i64>()].prop_map(|n| Some(json!(n))),
        ],
    ) {
        let mut program = programs()[program].clone();
        let mut at = place.index(count(&program) - 1) + 1;
        damage(&mut program, &mut at, &change);
        prop_assert_eq!(at, usize::MAX, "the node was found");
        said(&serde_json::to_vec(&program).unwrap());
    }

    #[test]
    fn text_with_bytes_that_are_changed_is_refused_in_one_line_or_runs(
        program in 0..NAMES.len(),
        place in any::<prop::sample::Index>(),
        cut in 0usize..20,
        new in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let mut text = serde_json::to_vec(&programs()[program]).unwrap();
        let at = place.index(text.len());
        let end = (at + cut).min(text.len());
        text.splice(at..end, new);
        said(&text);
    }

    #[test]
    fn entries_of_any_words_are_refused_in_one_line_or_taken(
        program in 0..NAMES.len(),
        lines in prop::collection::vec(prop::collection::vec(prop_oneof![
            Just("table_add".to_owned()), Just("table_set_default".to_owned()), Just("register_write".to_owned()),
            Just("mirroring_add".to_owned()), Just("mc_mgrp_create".to_owned()), Just("mc_node_create".to_owned()),
            Just("mc_node_associate".to_owned()), Just("meter_set_rates".to_owned()), Just("route".to_owned()),
            Just("to_port".to_owned()), Just("identity".to_owned()), Just("write_hop".to_owned()), Just("=>".to_owned()),
            Just("bounds".to_owned()), "[0-9./&:x>-]{1,12}", any::<u64>().prop_map(|n| n.to_string()), "\\PC{0,6}",
        ], 0..8), 0..4),
    ) {
        let text: Vec<String> = lines.iter().map(|words| words.join(" ")).collect();
        let program = Program::load(&serde_json::to_vec(&programs()[program]).unwrap()).unwrap();
        let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
        if let Err(error) = entries::configure(&mut switch, &text.join("\n")) {
            let line = error.to_string();
            prop_assert!(line.starts_with("line ") && !line.contains('\n'), "{:?}", line);
        }
    }
}

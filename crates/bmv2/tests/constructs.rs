//! Constructs of the format that no stored program has, and those that are refused.

mod stored;

use pifolab_bmv2::{Limits, Program, Switch, entries};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn load(program: &Value) -> Result<Program, String> {
    Program::load(&serde_json::to_vec(program).unwrap()).map_err(|error| error.to_string())
}

/// Whether the parser of `wide` passes its state `second_union` with this frame: the program then pushes what was
/// extracted there out of its stack.
fn passes_second(switch: &mut Switch, answer: u8, kind: u8) -> bool {
    let mut frame = vec![0, 0, 64, answer];
    frame.extend([[7; 33].as_slice(), &[kind], &[1; 30]].concat());
    switch.receive(0, &frame, frame.len() as u32, 0, 0);
    let sent = switch.send(1, 0).expect("a whole packet leaves");
    match frame.len() - sent.bytes.len() {
        0 => false,
        2 => true,
        other => panic!("{other} bytes are missing"),
    }
}

proptest! {
    #[test]
    fn a_state_chooses_by_a_field_of_the_last_union_of_a_stack(answer in any::<u8>(), kind in any::<u8>()) {
        let mut program = stored::program("wide");
        let state = &mut program["parsers"][0]["parse_states"][2];
        state["transition_key"] = json!([{"type": "union_stack_field", "value": ["unions", "one", "kind"]}]);
        let mut switch = Switch::new(Arc::new(load(&program).unwrap()), Limits::default(), 0);
        prop_assert_eq!(passes_second(&mut switch, answer, kind), kind & 1 == 1);
    }

    #[test]
    fn a_state_chooses_by_all_bits_of_a_wide_value(bits in 1_usize..=240, flip in prop::option::of(0_usize..240)) {
        // What follows the first union is 30 bytes of 1; the last element has 32 of 7.
        let ahead = "00000001".repeat(30);
        let last = "00000111".repeat(32);
        for (key, text) in [
            (json!({"type": "lookahead", "value": [0, bits]}), &ahead[..bits]),
            (json!({"type": "stack_field", "value": ["elements", "wide"]}), &last[..]),
        ] {
            let mut digits: Vec<u8> = text.bytes().map(|digit| digit - b'0').collect();
            let flip = flip.map(|at| at % digits.len());
            if let Some(at) = flip {
                digits[at] ^= 1;
            }
            let padded = [vec![0; (4 - digits.len() % 4) % 4], digits].concat();
            let hex: String = padded.chunks(4).map(|four| format!("{:x}", four.iter().fold(0, |n, d| 2 * n + d))).collect();
            let mut program = stored::program("wide");
            let state = &mut program["parsers"][0]["parse_states"][2];
            state["transition_key"] = json!([key]);
            state["transitions"][0] =
                json!({"type": "hexstr", "value": format!("0x{hex}"), "mask": null, "next_state": null});
            let mut switch = Switch::new(Arc::new(load(&program).unwrap()), Limits::default(), 0);
            prop_assert_eq!(passes_second(&mut switch, 1, 0), flip.is_some(), "{}", hex);
        }
    }

    #[test]
    fn the_mask_of_a_value_set_holds_for_its_values_and_for_the_key(
        values in prop::collection::vec(any::<u8>(), 0..4),
        mask in any::<u8>(),
        answer in any::<u8>(),
    ) {
        let mut program = stored::program("wide");
        let transition = &mut program["parsers"][0]["parse_states"][2]["transitions"][0];
        *transition = json!({"type": "parse_vset", "value": "set", "mask": format!("{mask:#04x}"), "next_state": null});
        let mut switch = Switch::new(Arc::new(load(&program).unwrap()), Limits::default(), 0);
        for value in &values {
            entries::configure(&mut switch, &format!("pvs_add set {value}")).unwrap();
        }
        let held = values.iter().any(|value| value & mask == answer & mask);
        prop_assert_eq!(passes_second(&mut switch, answer, 0), !held);
    }
}

#[test]
fn what_is_not_supported_is_named_when_the_program_is_loaded() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 11] = [
        (
            |p| {
                let actions = p["actions"].as_array_mut().unwrap();
                let answer = actions.iter_mut().find(|one| one["name"].as_str().unwrap().ends_with("answer")).unwrap();
                answer["primitives"][0]["parameters"][1] = json!({"type": "lookahead", "value": [0, 8]});
            },
            "a lookahead outside of the parser",
        ),
        (
            |p| {
                let input = json!([{"type": "hexstr", "value": "0x0", "bitwidth": 0}]);
                p["calculations"] = json!([{"name": "hash", "id": 0, "algo": "crc16", "input": input}]);
            },
            "calculations[0].input[0].bitwidth: 0: expected at least 1",
        ),
        (
            |p| p["parsers"][0]["parse_states"][0]["parser_ops"][1]["parameters"][1]["value"][1] = json!(0),
            "parsers[0].parse_states[0].parser_ops[1].parameters[1].value[1]: 0: expected at least 1",
        ),
        (
            |p| {
                let op = json!({"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x0"}]});
                p["deparsers"][0]["primitives"] = json!([op]);
            },
            "deparsers[0].primitives[0]: a deparser neither jumps nor exits",
        ),
        (
            |p| {
                let key = json!([{"type": "union_stack_field", "value": ["unions", "three", "kind"]}]);
                p["parsers"][0]["parse_states"][2]["transition_key"] = key;
            },
            "[\"unions\",\"three\",\"kind\"]: expected the names of a stack of unions and of a member",
        ),
        (
            |p| {
                let copied =
                    json!({"type": "expression", "value": {"type": "stack_field", "value": ["elements", "next"]}});
                p["actions"][6]["primitives"][0]["parameters"][1] = copied;
            },
            "value[1]: \"next\": expected last",
        ),
        (
            |p| {
                let part = &mut p["pipelines"][0]["conditionals"][3]["expression"];
                let valid = json!({"type": "field", "value": [{"op": "+", "left": null, "right": null}, "$valid$"]});
                *part = json!({"type": "expression", "value": {"op": "d2b", "left": null, "right": valid}});
            },
            "expected an element of a header stack",
        ),
        (
            |p| p["actions"][10]["primitives"][0]["parameters"][0]["value"] = json!("request"),
            "parameters[0].value: \"request\": expected the name of a header stack",
        ),
        (|p| p["actions"][10]["primitives"][0]["op"] = json!("assign_union_stack"), "actions[10]"),
        (
            |p| {
                let read = json!({"type": "register", "value": ["r", {"type": "hexstr", "value": "0x0"}]});
                p["actions"][3]["primitives"][0]["parameters"][1] = read;
            },
            "\"register\": expected a kind of operand that is supported",
        ),
        (
            |p| p["pipelines"][0]["action_calls"] = json!([{"name": "call"}]),
            "pipelines[0].action_calls[0]: action_calls are not supported: p4c writes none",
        ),
    ];
    for (change, expected) in cases {
        let mut program = stored::program("wide");
        change(&mut program);
        let said = load(&program).expect_err(expected);
        assert!(said.contains(expected) && !said.contains('\n'), "{said}\n{expected}");
    }
}

//! Drawn expressions give the value of exact integers, whether operands are computed in 64 bits, 128 bits or limbs.

use num_bigint::{BigInt, BigUint, Sign};
use pifolab_bmv2::{Limits, Program, Switch};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Around the borders of 32, 64 and 126 bits, where another code computes.
const WIDTHS: [u32; 16] = [1, 2, 8, 31, 32, 33, 62, 63, 64, 65, 100, 125, 126, 127, 128, 192];

/// A field of a frame: its width, its sign and its bits.
#[derive(Clone, Debug)]
struct Input {
    bits: u32,
    signed: bool,
    value: BigUint,
}

#[derive(Clone, Debug)]
enum Tree {
    Field(usize),
    Constant(BigInt),
    Two(&'static str, Box<Tree>, Box<Tree>),
    ShiftLeft(Box<Tree>, Box<Tree>, u32),
    Masked(Box<Tree>, u32),
    One(&'static str, Box<Tree>),
    Cast(&'static str, Box<Tree>, u32),
    Choose(Box<Tree>, Box<Tree>, Box<Tree>),
}

fn ones(bits: u32) -> BigInt {
    (BigInt::from(1) << bits) - 1
}

/// The value that the lowest bits have with a sign.
fn with_sign(value: &BigInt, bits: u32) -> BigInt {
    let low = value & ones(bits);
    if low.bit(u64::from(bits - 1)) { low - (BigInt::from(1) << bits) } else { low }
}

fn distance(by: &BigInt) -> u32 {
    u32::try_from(by).unwrap_or(1 << 16).min(1 << 16)
}

impl Tree {
    fn value(&self, inputs: &[Input]) -> BigInt {
        let of = |tree: &Tree| tree.value(inputs);
        let holds = |tree: &Tree| of(tree) != BigInt::ZERO;
        match self {
            Tree::Field(at) => {
                let Input { bits, signed, value } = &inputs[at % inputs.len()];
                let value = BigInt::from(value.clone());
                if *signed { with_sign(&value, *bits) } else { value }
            }
            Tree::Constant(value) => value.clone(),
            Tree::Two(op, a, b) => match *op {
                "+" => of(a) + of(b),
                "-" => of(a) - of(b),
                "*" => of(a) * of(b),
                "&" => of(a) & of(b),
                "|" => of(a) | of(b),
                "^" => of(a) ^ of(b),
                "==" => (of(a) == of(b)).into(),
                "!=" => (of(a) != of(b)).into(),
                "<" => (of(a) < of(b)).into(),
                "<=" => (of(a) <= of(b)).into(),
                ">" => (of(a) > of(b)).into(),
                ">=" => (of(a) >= of(b)).into(),
                "and" => (holds(a) && holds(b)).into(),
                "or" => (holds(a) || holds(b)).into(),
                ">>" => match of(b) {
                    by if by < BigInt::ZERO => {
                        if of(a) < BigInt::ZERO {
                            BigInt::from(-1)
                        } else {
                            BigInt::ZERO
                        }
                    }
                    by => of(a) >> distance(&by),
                },
                other => unreachable!("{other}"),
            },
            Tree::ShiftLeft(a, by, bits) => match distance(&of(by)) {
                by if by >= *bits => BigInt::ZERO,
                by => (of(a) << by) & ones(*bits),
            },
            Tree::Masked(a, bits) => of(a) & ones(*bits),
            Tree::One("~", a) => !of(a),
            Tree::One("not", a) => (!holds(a)).into(),
            Tree::One(_, a) => holds(a).into(),
            Tree::Cast("two_comp_mod", a, bits) => with_sign(&of(a), *bits),
            Tree::Cast("usat_cast", a, bits) => of(a).clamp(BigInt::ZERO, ones(*bits)),
            Tree::Cast(_, a, bits) => of(a).clamp(-ones(bits - 1) - 1, ones(bits - 1)),
            Tree::Choose(condition, a, b) => {
                if holds(condition) {
                    of(a)
                } else {
                    of(b)
                }
            }
        }
    }

    /// The expression in the file's format, of fields that have at least `widest` bits.
    fn json(&self, inputs: &[Input], widest: u32) -> Value {
        let of = |tree: &Tree| tree.json(inputs, widest);
        let hex = |number: &BigInt| {
            let sign = if number.sign() == Sign::Minus { "-" } else { "" };
            json!({"type": "hexstr", "value": format!("{sign}0x{:x}", number.magnitude())})
        };
        let operation = |op: &str, left: Value, right: Value| json!({"type": "expression", "value": {"op": op, "left": left, "right": right}});
        match self {
            Tree::Field(at) => {
                let at = at % inputs.len();
                let field = json!({"type": "field", "value": ["in", format!("f{at}")]});
                let Input { bits, signed, .. } = inputs[at];
                if signed && widest > bits {
                    return operation("two_comp_mod", field, hex(&bits.into()));
                }
                field
            }
            Tree::Constant(value) => hex(value),
            Tree::Two(op, a, b) => operation(op, of(a), of(b)),
            Tree::ShiftLeft(a, by, bits) => operation("&", operation("<<", of(a), of(by)), hex(&ones(*bits))),
            Tree::Masked(a, bits) => operation("&", of(a), hex(&ones(*bits))),
            Tree::One(op, a) => operation(op, Value::Null, of(a)),
            Tree::Cast(op, a, bits) => operation(op, of(a), hex(&(*bits).into())),
            Tree::Choose(condition, a, b) => {
                let value = json!({"op": "?", "cond": of(condition), "left": of(a), "right": of(b)});
                json!({"type": "expression", "value": value})
            }
        }
    }
}

fn width() -> impl Strategy<Value = u32> {
    prop::sample::select(&WIDTHS[..])
}

/// A number of at most `bits` bits: often the least, the greatest or one beside.
fn number(bits: u32) -> impl Strategy<Value = BigUint> {
    let most = BigUint::from(2_u8).pow(bits) - 1_u8;
    let middle = BigUint::from(1_u8) << (bits - 1);
    prop_oneof![
        prop::sample::select(vec![
            BigUint::ZERO,
            1_u8.into(),
            most.clone(),
            middle.clone(),
            middle - BigUint::from((bits > 1) as u8)
        ]),
        prop::collection::vec(any::<u8>(), 24).prop_map(move |bytes| BigUint::from_bytes_be(&bytes) & &most),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    (width(), any::<bool>()).prop_flat_map(|(bits, signed)| {
        let signed = signed && bits <= 126;
        number(bits).prop_map(move |value| Input { bits, signed, value })
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let constant = || width().prop_flat_map(number);
    let leaf = prop_oneof![
        4 => any::<usize>().prop_map(Tree::Field),
        1 => constant().prop_map(|value| Tree::Constant(value.into())),
        1 => constant().prop_map(|value| Tree::Constant(-BigInt::from(value))),
        1 => (0_u32..140).prop_map(|value| Tree::Constant(value.into())),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let one = || inner.clone().prop_map(Box::new);
        let two = prop::sample::select(vec![
            "+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", ">>",
        ]);
        let cast = prop::sample::select(vec!["two_comp_mod", "usat_cast", "sat_cast"]);
        prop_oneof![
            6 => (two, one(), one()).prop_map(|(op, a, b)| Tree::Two(op, a, b)),
            1 => (one(), one(), width()).prop_map(|(a, by, bits)| Tree::ShiftLeft(a, by, bits)),
            2 => (one(), width()).prop_map(|(a, bits)| Tree::Masked(a, bits)),
            2 => (prop::sample::select(vec!["~", "not", "d2b", "b2d"]), one()).prop_map(|(op, a)| Tree::One(op, a)),
            2 => (cast, one(), width()).prop_map(|(op, a, bits)| Tree::Cast(op, a, bits)),
            1 => (one(), one(), one()).prop_map(|(condition, a, b)| Tree::Choose(condition, a, b)),
        ]
    })
}

/// A program that writes the first tree's value to a field and to a register, and 1 to a third field if the second tree's
/// value is not 0.
fn program(trees: [&Tree; 2], inputs: &[Input], widest: u32, to: (u32, bool), register: u32) -> Value {
    let standard = ["ingress_port", "egress_spec", "egress_port", "instance_type", "packet_length"];
    let standard: Vec<Value> = standard.iter().map(|name| json!([name, 32, false])).collect();
    let fields = inputs
        .iter()
        .enumerate()
        .map(|(at, input)| json!([format!("f{at}"), input.bits.max(widest), input.signed && widest <= input.bits]));
    let padded = |bits: u32| (8 - bits % 8) % 8;
    let mut fields: Vec<Value> = fields.collect();
    let rest = padded(inputs.iter().map(|input| input.bits.max(widest)).sum());
    if rest > 0 {
        fields.push(json!(["rest", rest, false]));
    }
    let mut out = vec![json!(["taken", 8, false]), json!(["to", to.0, to.1]), json!(["held", register, false])];
    if padded(to.0 + register) > 0 {
        out.push(json!(["rest", padded(to.0 + register), false]));
    }
    let field = |name: &str| json!({"type": "field", "value": ["out", name]});
    let hex = |number: u32| json!({"type": "hexstr", "value": format!("{number:#x}")});
    let cell = json!({"type": "register_array", "value": "r"});
    let [written, tested] = trees.map(|tree| tree.json(inputs, widest));
    let primitives = json!([
        {"op": "add_header", "parameters": [{"type": "header", "value": "out"}]},
        {"op": "assign", "parameters": [field("taken"), hex(0)]},
        {"op": "assign", "parameters": [field("to"), written]},
        {"op": "register_write", "parameters": [cell, hex(0), written]},
        {"op": "register_read", "parameters": [field("held"), cell, hex(0)]},
        {"op": "_jump_if_zero", "parameters": [tested, hex(7)]},
        {"op": "assign", "parameters": [field("taken"), hex(1)]},
        {"op": "no_op", "parameters": []},
    ]);
    let table = json!({
        "name": "table", "id": 0, "match_type": "exact", "type": "simple", "max_size": 1, "key": [],
        "action_ids": [0], "actions": ["act"], "next_tables": {"act": null}, "base_default_next": null,
        "default_entry": {"action_id": 0, "action_const": true, "action_data": [], "action_entry_const": true},
    });
    json!({
        "__meta__": {"version": [2, 24]},
        "header_types": [
            {"name": "standard", "id": 0, "fields": standard},
            {"name": "in", "id": 1, "fields": fields},
            {"name": "out", "id": 2, "fields": out},
        ],
        "headers": [
            {"name": "standard_metadata", "id": 0, "header_type": "standard", "metadata": true},
            {"name": "in", "id": 1, "header_type": "in", "metadata": false},
            {"name": "out", "id": 2, "header_type": "out", "metadata": false},
        ],
        "register_arrays": [{"name": "r", "id": 0, "size": 1, "bitwidth": register}],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{
            "name": "start", "id": 0, "transition_key": [],
            "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "in"}]}],
            "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}],
        }]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["out"], "primitives": []}],
        "actions": [{"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "table", "tables": [table], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": []},
        ],
    })
}

/// The values one after another, completed with zeros to whole bytes.
fn frame(values: impl Iterator<Item = (BigUint, u32)>) -> Vec<u8> {
    let (mut all, mut bits) = (BigUint::ZERO, 0);
    for (value, width) in values {
        all = all << width | value;
        bits += width;
    }
    all <<= (8 - bits % 8) % 8;
    let bytes = all.to_bytes_be();
    let mut padded = vec![0; bits.div_ceil(8) as usize - bytes.iter().skip_while(|&&byte| byte == 0).count()];
    padded.extend(bytes.into_iter().skip_while(|&byte| byte == 0));
    padded
}

proptest! {
    #[test]
    fn every_width_of_the_operands_gives_the_exact_value(
        inputs in prop::collection::vec(input(), 1..4),
        written in tree(),
        tested in tree(),
        to in width(),
        signed in any::<bool>(),
        register in width(),
    ) {
        let value = written.value(&inputs);
        let low = |bits: u32| ((&value & ones(bits)).to_biguint().expect("masked"), bits);
        let taken = BigUint::from(u8::from(tested.value(&inputs) != BigInt::ZERO));
        let expected = frame([(taken, 8), low(to), low(register)].into_iter());
        for widest in [1, 65, 126, 128, 320] {
            let program = program([&written, &tested], &inputs, widest, (to, signed && to <= 126), register);
            let program = match Program::load(&serde_json::to_vec(&program).unwrap()) {
                Ok(program) => program,
                Err(error) => {
                    let line = error.to_string();
                    let known = ["more than 16384 bits", "a saturating value", "a shift distance with a sign"];
                    let known = known.iter().any(|known| line.contains(known));
                    prop_assert!(known && line.starts_with("actions[0].primitives["), "{}", line);
                    continue;
                }
            };
            let sent_in = frame(inputs.iter().map(|input| (input.value.clone(), input.bits.max(widest))));
            let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
            switch.receive(0, &sent_in, sent_in.len() as u32, 0, 0);
            let sent = switch.send(0, 0).expect("no packet is dropped");
            prop_assert_eq!(sent.bytes, &expected[..], "fields of at least {} bits", widest);
        }
    }
}

//! Compiles parsers, and checksums of the parsed data.

use super::parts::{Checksum, Key, Loader, ParserOp, ParserState, SetUse, Taken};
use crate::code::Op;
use crate::expression::Expression;
use crate::json::{Node, Number, Result};
use crate::layout::{Field, Slot};
use crate::table::{KeyPart, Match};
use std::collections::HashMap;

impl<'a> Loader<'a> {
    pub(super) fn parser(&mut self, root: &Node<'a>) -> Result<(Vec<ParserState>, u32)> {
        let parsers = root.get("parsers")?;
        let list = parsers.items()?;
        let [node] = list.as_slice() else { return parsers.fail("expected exactly one parser") };
        let states = node.get("parse_states")?.items()?;
        let mut numbers = HashMap::new();
        for (number, state) in states.iter().enumerate() {
            numbers.insert(state.name()?, number as u32);
        }
        let find = |node: &Node| -> Result<u32> {
            numbers.get(node.str()?).map_or_else(|| node.expected("a state of the parser"), |&number| Ok(number))
        };
        let mut made = Vec::new();
        for state in &states {
            let mut to = ParserState::default();
            for operation in state.list("parser_ops")? {
                self.parser_operation(&operation, &mut to)?;
            }
            let mut parts = Vec::new();
            for node in state.list("transition_key")? {
                let part = match node.get("type")?.str()? {
                    "field" => {
                        let field = self.layout.field(&node.get("value")?)?;
                        KeyPart { name: field.name, slot: field.slot, bits: field.bits, how: Match::Exact, mask: None }
                    }
                    _ => {
                        let e = self.expression(&node, &[])?;
                        let bits = e.bits.max(1);
                        let field = Field { name: String::new(), slot: self.place(bits), bits, signed: false };
                        let start = self.here();
                        self.builder.assign(&field, &e, &node)?;
                        self.run(start, &mut to);
                        KeyPart { name: field.name, slot: field.slot, bits, how: Match::Exact, mask: None }
                    }
                };
                if let Slot::Var(_) = part.slot {
                    return node.fail("a field of variable length has no value");
                }
                parts.push(part);
            }
            to.key = Key::new(parts);
            for node in state.list("transitions")? {
                let next = node.find("next_state").map(|node| find(&node)).transpose()?;
                let kind = node.find("type").map_or(Ok("hexstr"), |node| node.str())?;
                if kind == "default" || node.find("value").is_some_and(|value| value.value == "default") {
                    to.otherwise = Some(next);
                    continue;
                }
                let every = || vec![u64::MAX; to.key.parts.iter().map(KeyPart::limbs).sum()];
                let mask = node.find("mask").map(|mask| cells(&to.key.parts, &mask)).transpose()?;
                let taken = match kind {
                    "hexstr" => {
                        let value = cells(&to.key.parts, &node.get("value")?)?;
                        to.key.cells(&value, &mask.unwrap_or_else(every)).map(Taken::Cells)
                    }
                    "parse_vset" => {
                        let set = node.get("value")?.str()?.to_owned();
                        self.set_uses.push(SetUse { set, key: to.key.clone(), mask });
                        Some(Taken::Set(self.set_uses.len() as u32 - 1))
                    }
                    _ => return node.get("type")?.expected("default, hexstr or parse_vset"),
                };
                to.transitions.extend(taken.map(|taken| (taken, next)));
            }
            made.push(to);
        }
        let start = find(&node.get("init_state")?)?;
        Ok((made, start))
    }

    /// The slot of a value that a parser computes.
    fn evaluated(&mut self, e: &Expression, node: &Node, state: &mut ParserState) -> Result<u32> {
        let start = self.here();
        let slot = self.builder.value(e, node)?;
        self.run(start, state);
        Ok(slot)
    }

    /// Ends the code that began at `start`, if there is any, and adds an operation that runs it.
    fn run(&mut self, start: u32, state: &mut ParserState) {
        let lookaheads = self.builder.lookaheads.drain(..);
        state.ops.extend(lookaheads.map(|(to, offset, bits)| ParserOp::Lookahead { to, offset, bits }));
        if self.here() > start {
            self.builder.code.push(Op::End);
            state.ops.push(ParserOp::Run(start));
        }
    }

    fn parser_operation(&mut self, node: &Node, state: &mut ParserState) -> Result<()> {
        let op = node.get("op")?;
        let parameters = node.get("parameters")?.items()?;
        let Some(first) = parameters.first() else { return node.get("parameters")?.expected("a parameter") };
        match op.str()? {
            "extract" | "extract_VL" => {
                let kind = first.get("type")?;
                let varying = op.str()? == "extract_VL";
                let named = first.get("value")?;
                let stack = match kind.str()? {
                    "regular" => None,
                    "stack" => Some(self.layout.stack(&named)?),
                    "union_stack" => Some(self.layout.union_stack(&named)?),
                    _ => return kind.expected("regular, stack or union_stack"),
                };
                let header = match stack {
                    Some(stack) => self.layout.stacks[stack as usize].headers[0],
                    None => self.layout.header(&named)?,
                };
                if self.layout.headers[header as usize].varies() != varying {
                    return node.fail("extract_VL is for a header with a field of variable length, and for no other");
                }
                if varying {
                    let [_, length] = node.get("parameters")?.tuple()?;
                    let e = self.expression(&length, &[])?;
                    let bits = self.evaluated(&e, &length, state)?;
                    state.ops.push(match stack {
                        Some(stack) => ParserOp::ExtractNextVarying { stack, bits },
                        None => ParserOp::ExtractVarying { header, bits },
                    });
                } else {
                    state.ops.push(stack.map_or(ParserOp::Extract(header), ParserOp::ExtractNext));
                }
            }
            "set" => {
                let [to, from] = node.get("parameters")?.tuple()?;
                let field = self.layout.field(&to.get("value")?)?;
                let e = self.expression(&from, &[])?;
                let start = self.here();
                self.builder.assign(&field, &e, node)?;
                self.run(start, state);
            }
            "verify" => {
                let [condition, error] = node.get("parameters")?.tuple()?;
                let (e, which) = (self.condition(&condition, &[])?, self.expression(&error, &[])?);
                let condition = self.evaluated(&e, &condition, state)?;
                let error = self.evaluated(&which, &error, state)?;
                state.ops.push(ParserOp::Verify { condition, error });
            }
            "advance" => {
                let e = self.expression(first, &[])?;
                let bits = self.evaluated(&e, first, state)?;
                state.ops.push(ParserOp::Advance(bits));
            }
            "shift" => {
                let bits = self.builder.constant(i128::from(first.int(1 << 16)? * 8));
                state.ops.push(ParserOp::Advance(bits));
            }
            "primitive" => {
                let start = self.here();
                let (mut jumps, mut exits) = (Vec::new(), Vec::new());
                self.primitive(first, &[], &mut jumps, &mut exits)?;
                if !jumps.is_empty() || !exits.is_empty() {
                    return first.fail("a parser neither jumps nor exits");
                }
                self.run(start, state);
            }
            _ => return op.expected("extract, extract_VL, set, verify, advance, shift or primitive"),
        }
        Ok(())
    }

    pub(super) fn checksums(&mut self, root: &Node) -> Result<Vec<Checksum>> {
        let mut made = Vec::new();
        for node in root.list("checksums")? {
            let named = node.get("calculation")?;
            let Some(&calculation) = self.calculation_names.get(named.str()?) else {
                return named.expected("the name of a calculation");
            };
            let target = self.layout.field(&node.get("target")?)?;
            let condition = match node.find("if_cond") {
                Some(node) => {
                    let e = self.condition(&node, &[])?;
                    let start = self.here();
                    let slot = self.builder.value(&e, &node)?;
                    self.builder.code.push(Op::End);
                    Some((start, slot))
                }
                None => None,
            };
            let flag = |key| node.find(key).map_or(Ok(true), |node| node.bool());
            made.push(Checksum { calculation, target, condition, update: flag("update")?, verify: flag("verify")? });
        }
        Ok(made)
    }
}

/// The limbs of a value of a parser's key: its fields in order, each padded to whole bytes.
fn cells(key: &[KeyPart], node: &Node) -> Result<Vec<u64>> {
    let number = node.hex()?;
    let bytes: u32 = key.iter().map(|part| part.bits.div_ceil(8)).sum();
    if number.negative || number.bits() > bytes * 8 {
        return node.expected(&format!("a number of {bytes} bytes"));
    }
    let limbs = number.two_complement((bytes as usize).div_ceil(8).max(1));
    let byte = |index: u32| (limbs[(index / 8) as usize] >> (index % 8 * 8)) as u8;
    let mut left = bytes;
    let mut cells = Vec::new();
    for part in key {
        let own = part.bits.div_ceil(8);
        let field: Vec<u8> = (left - own..left).rev().map(byte).collect();
        left -= own;
        cells.extend(Number::from_bytes(&field).two_complement(part.limbs()));
    }
    Ok(cells)
}

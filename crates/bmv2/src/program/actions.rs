//! Compiles the primitives of actions.

use super::parts::{Action, DROP_PORT, Effect, Loader};
use crate::code::{ALL, Op};
use crate::expression::{Expression, Scope};
use crate::json::{Error, Node, Result};
use crate::layout::{Field, NARROW, Slot};

impl<'a> Loader<'a> {
    pub(super) fn read_actions(&mut self, root: &Node<'a>) -> Result<()> {
        for node in root.get("actions")?.items()? {
            let mut parameters = Vec::new();
            for parameter in node.list("runtime_data")? {
                let bits = parameter.get("bitwidth")?.int(4096)? as u32;
                let slot = self.place(bits);
                parameters.push(Field { name: parameter.name()?.to_owned(), slot, bits: bits.max(1), signed: false });
            }
            let primitives = node.list("primitives")?;
            self.action_ids.insert(node.get("id")?.int(u64::MAX)?, self.actions.len());
            self.actions.push(Action { name: node.name()?.to_owned(), parameters, primitives });
        }
        Ok(())
    }

    /// A new place for a value of so many bits.
    pub(super) fn place(&mut self, bits: u32) -> Slot {
        if bits <= NARROW {
            return Slot::Narrow(self.builder.slot());
        }
        let limbs = bits.div_ceil(64);
        Slot::Wide { at: self.builder.wide_slot(limbs), limbs }
    }

    pub(super) fn expression(&self, node: &Node, locals: &[Field]) -> Result<Box<Expression>> {
        Scope { layout: &self.layout, locals }.read(node)
    }

    /// An expression whose value is 0 or 1.
    pub(super) fn condition(&self, node: &Node, locals: &[Field]) -> Result<Box<Expression>> {
        Scope { layout: &self.layout, locals }.condition(node)
    }

    pub(super) fn here(&self) -> u32 {
        self.builder.code.len() as u32
    }

    fn effect(&mut self, effect: Effect) {
        self.builder.code.push(Op::Effect(self.effects.len() as u32));
        self.effects.push(effect);
    }

    /// The slot of the parameter number `index` of a primitive.
    fn operand(&mut self, parameters: &[Node], index: usize, locals: &[Field], primitive: &Node) -> Result<u32> {
        let Some(node) = parameters.get(index) else {
            return primitive.fail(format!("expected at least {} parameters", index + 1));
        };
        let e = self.expression(node, locals)?;
        self.builder.value(&e, node)
    }

    fn copy(&mut self, to: u32, value: i128) {
        let a = self.builder.constant(value);
        self.builder.code.push(Op::Copy { to, a, bits: ALL });
    }

    /// Compiles one primitive. `jumps` collects jumps to other primitives, whose targets are set later.
    pub(super) fn primitive(
        &mut self,
        node: &Node,
        locals: &[Field],
        jumps: &mut Vec<(usize, usize)>,
        exits: &mut Vec<usize>,
    ) -> Result<()> {
        let op = node.get("op")?;
        let parameters = node.list("parameters")?;
        let parameter = |index: usize| -> Result<Node> {
            parameters
                .get(index)
                .cloned()
                .map_or_else(|| node.fail(format!("expected at least {} parameters", index + 1)), Ok)
        };
        let value = |index: usize| parameter(index)?.get("value");
        let jump_target = |index: usize| -> Result<usize> {
            match parameter(index)?.get("value")?.hex()?.small() {
                Some(target @ 0..=0xFFFF) => Ok(target as usize),
                _ => parameter(index)?.expected("the number of a primitive"),
            }
        };
        match op.str()? {
            "assign" | "modify_field" => {
                let to = parameter(0)?;
                let e = self.expression(&parameter(1)?, locals)?;
                if to.get("type")?.str()? == "field" {
                    let field = self.layout.field(&value(0)?)?;
                    self.builder.assign(&field, &e, node)?;
                } else {
                    self.assign_to_element(&to, &e, locals)?;
                }
            }
            "assign_VL" => {
                let (to, from) = (self.layout.field(&value(0)?)?, self.layout.field(&value(1)?)?);
                let (Slot::Var(to), Slot::Var(from)) = (to.slot, from.slot) else {
                    return node.fail("expected two fields of variable length");
                };
                self.effect(Effect::CopyVarying { to, from });
            }
            "assign_header" | "copy_header" => {
                match (self.element(&parameter(0)?, locals)?, self.element(&parameter(1)?, locals)?) {
                    (None, None) => {
                        let (to, from) = (self.layout.header(&value(0)?)?, self.layout.header(&value(1)?)?);
                        self.copy_header(to, from, node)?;
                    }
                    (Some((stack, index)), None) => {
                        let from = self.layout.header(&value(1)?)?;
                        self.effect(Effect::CopyToElement { stack, index, from });
                    }
                    (None, Some((stack, index))) => {
                        let to = self.layout.header(&value(0)?)?;
                        self.effect(Effect::CopyFromElement { stack, index, to });
                    }
                    (Some(to), Some(from)) => self.effect(Effect::CopyElement { to, from }),
                }
            }
            "assign_union" => {
                let (to, from) = (self.layout.union(&value(0)?)?.to_vec(), self.layout.union(&value(1)?)?.to_vec());
                if to.len() != from.len() {
                    return node.fail("expected two unions of the same type");
                }
                for (to, from) in to.into_iter().zip(from) {
                    self.copy_header(to, from, node)?;
                }
            }
            "assign_header_stack" => {
                let (to, from) = (self.layout.stack(&value(0)?)?, self.layout.stack(&value(1)?)?);
                let types = |stack: u32| {
                    let headers = self.layout.stacks[stack as usize].headers.iter();
                    headers.map(|&header| self.layout.headers[header as usize].of_type).collect::<Vec<_>>()
                };
                if types(to) != types(from) {
                    return node.fail("expected two stacks of the same type and size");
                }
                self.effect(Effect::CopyStack { to, from });
            }
            "add_header" | "remove_header" => {
                let added = op.str()? == "add_header";
                if let Some((stack, index)) = self.element(&parameter(0)?, locals)? {
                    self.effect(Effect::SetElementValid { stack, index, valid: added });
                } else {
                    let header = &self.layout.headers[self.layout.header(&value(0)?)? as usize];
                    let (valid, others) = (header.valid, header.others.clone());
                    self.copy(valid, i128::from(added));
                    others.into_iter().filter(|_| added).for_each(|other| self.copy(other, 0));
                }
            }
            "push" | "pop" => {
                let stacks = match self.layout.stack(&value(0)?) {
                    Ok(stack) => vec![stack],
                    Err(error) => self.layout.member_stacks(&value(0)?).map_err(|_| error)?,
                };
                let count = match value(1)?.hex()?.small() {
                    Some(count @ 0..=255) => count as u32,
                    _ => return value(1)?.expected("at most 0xff"),
                };
                // The stacks of a union's members share their count, which each of them would change.
                let next = self.layout.stacks[stacks[0] as usize].next;
                let before = self.builder.slot();
                self.builder.code.push(Op::Copy { to: before, a: next, bits: ALL });
                for stack in stacks {
                    self.builder.code.push(Op::Copy { to: next, a: before, bits: ALL });
                    self.effect(if op.str()? == "push" {
                        Effect::Push { stack, count }
                    } else {
                        Effect::Pop { stack, count }
                    });
                }
            }
            "mark_to_drop" | "drop" => {
                if let Some(spec) = self.egress_spec {
                    self.copy(spec, DROP_PORT);
                }
                if let Some(group) = self.multicast {
                    self.copy(group, 0);
                }
            }
            "no_op" | "log_msg" => {}
            "exit" => {
                exits.push(self.builder.code.len());
                self.builder.code.push(Op::Jump(0));
            }
            "_jump" => {
                jumps.push((self.builder.code.len(), jump_target(0)?));
                self.builder.code.push(Op::Jump(0));
            }
            "_jump_if_zero" => {
                let target = jump_target(1)?;
                let condition = self.condition(&parameter(0)?, locals)?;
                let places = self.builder.jump_unless(&condition, node)?;
                jumps.extend(places.into_iter().map(|place| (place, target)));
            }
            "register_read" => {
                let field = self.layout.field(&value(0)?)?;
                let array = self.register(&value(1)?)?;
                let index = self.operand(&parameters, 2, locals, node)?;
                let bits = self.registers[array as usize].bits;
                match field.slot {
                    Slot::Narrow(to) if bits <= NARROW => {
                        self.builder.code.push(Op::RegisterRead { to, array, index });
                        if field.signed {
                            self.builder.code.push(Op::Sign { to, a: to, bits: field.bits as u8 });
                        } else if field.bits < bits {
                            self.builder.code.push(Op::Copy { to, a: to, bits: field.bits as u8 });
                        }
                    }
                    Slot::Wide { at, .. } if bits == field.bits => {
                        self.effect(Effect::WideRegisterRead { array, index, at });
                    }
                    _ => return node.fail(format!("a field of {} bits of a register of {bits}", field.bits)),
                }
            }
            "register_write" => {
                let array = self.register(&value(0)?)?;
                let bits = self.registers[array as usize].bits;
                let index = self.operand(&parameters, 1, locals, node)?;
                let e = self.expression(&parameter(2)?, locals)?;
                if bits <= NARROW {
                    let cut =
                        Field { name: String::new(), slot: Slot::Narrow(self.builder.slot()), bits, signed: false };
                    let a = if !e.negative && e.bits <= bits {
                        self.builder.value(&e, node)?
                    } else {
                        self.builder.assign(&cut, &e, node)?;
                        let Slot::Narrow(a) = cut.slot else { unreachable!("made just above") };
                        a
                    };
                    self.builder.code.push(Op::RegisterWrite { array, index, a });
                } else {
                    let limbs = bits.div_ceil(64);
                    let at = self.builder.wide_slot(limbs);
                    let cut = Field { name: String::new(), slot: Slot::Wide { at, limbs }, bits, signed: false };
                    self.builder.assign(&cut, &e, node)?;
                    self.effect(Effect::WideRegisterWrite { array, index, at });
                }
            }
            "modify_field_with_hash_based_offset" => {
                let (to, bits) = self.narrow_field(&value(0)?)?;
                let base = self.operand(&parameters, 1, locals, node)?;
                let named = value(2)?;
                let Some(&calculation) = self.calculation_names.get(named.str()?) else {
                    return named.expected("the name of a calculation");
                };
                let size = self.operand(&parameters, 3, locals, node)?;
                self.effect(Effect::Hash { to, calculation, base, size, bits });
            }
            "modify_field_rng_uniform" => {
                let (to, bits) = self.narrow_field(&value(0)?)?;
                let (low, high) =
                    (self.operand(&parameters, 1, locals, node)?, self.operand(&parameters, 2, locals, node)?);
                self.effect(Effect::Random { to, low, high, bits });
            }
            "count" => {
                let named = value(0)?;
                let Some(counter) =
                    self.counters.iter().position(|counter| Some(counter.name.as_str()) == named.value.as_str())
                else {
                    return named.expected("the name of an indirect counter");
                };
                let index = self.operand(&parameters, 1, locals, node)?;
                self.effect(Effect::Count { counter: counter as u32, index });
            }
            "execute_meter" => {
                let named = value(0)?;
                let Some(meter) =
                    self.meters.iter().position(|meter| Some(meter.name.as_str()) == named.value.as_str())
                else {
                    return named.expected("the name of a meter");
                };
                let index = self.operand(&parameters, 1, locals, node)?;
                let (to, _) = self.narrow_field(&value(2)?)?;
                self.effect(Effect::Meter { meter: meter as u32, index, to });
            }
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
                let session = self.operand(&parameters, 0, locals, node)?;
                let list = self.list(&parameter(1)?)?;
                let ingress = op.str()? == "clone_ingress_pkt_to_egress";
                self.effect(if ingress {
                    Effect::CloneIngress { session, list }
                } else {
                    Effect::CloneEgress { session, list }
                });
            }
            "resubmit" => {
                let list = self.list(&parameter(0)?)?;
                self.effect(Effect::Resubmit { list });
            }
            "recirculate" => {
                let list = self.list(&parameter(0)?)?;
                self.effect(Effect::Recirculate { list });
            }
            "generate_digest" => {
                self.list(&parameter(1)?)?;
                self.effect(Effect::Digest);
            }
            "truncate" => {
                let bytes = self.operand(&parameters, 0, locals, node)?;
                self.effect(Effect::Truncate { bytes });
            }
            "assert" | "assume" => {
                let e = self.condition(&parameter(0)?, locals)?;
                let condition = self.builder.value(&e, node)?;
                self.effect(Effect::Assert { condition });
            }
            _ => return op.expected("a primitive that is supported"),
        }
        self.builder.release();
        Ok(())
    }

    fn register(&self, node: &Node) -> Result<u32> {
        self.register_names.get(node.str()?).map_or_else(|| node.expected("the name of a register"), |&array| Ok(array))
    }

    fn list(&self, node: &Node) -> Result<u32> {
        match node.get("value")?.hex()?.small() {
            Some(list @ 0..=0xFFFF_FFFF) => Ok(list as u32),
            _ => node.expected("the number of a list of fields"),
        }
    }

    fn narrow_field(&self, node: &Node) -> Result<(u32, u8)> {
        let field = self.layout.field(node)?;
        match field.slot {
            Slot::Narrow(slot) if !field.signed => Ok((slot, field.bits as u8)),
            _ => node.expected(&format!("a field of at most {NARROW} bits without a sign")),
        }
    }

    fn copy_header(&mut self, to: u32, from: u32, node: &Node) -> Result<()> {
        let (to, from) = (self.layout.headers[to as usize].clone(), self.layout.headers[from as usize].clone());
        if to.of_type != from.of_type {
            return node.fail(format!("{} and {} are of different types", to.name, from.name));
        }
        for (to, from) in to.fields.iter().zip(&from.fields) {
            match (to.slot, from.slot) {
                (Slot::Var(to), Slot::Var(from)) => self.effect(Effect::CopyVarying { to, from }),
                _ => self.builder.assign(to, &Expression::of_field(from.clone()), node)?,
            }
        }
        self.builder.code.push(Op::Copy { to: to.valid, a: from.valid, bits: ALL });
        if !to.others.is_empty() {
            let absent = self.builder.slot();
            self.builder.code.push(Op::Not { to: absent, a: from.valid });
            for &other in &to.others {
                self.builder.code.push(Op::And { to: other, a: other, b: absent, bits: ALL });
            }
        }
        Ok(())
    }

    /// The stack and the slot of the index, if this is an element of a stack at a computed index.
    fn element(&mut self, node: &Node, locals: &[Field]) -> Result<Option<(u32, u32)>> {
        if node.get("type")?.str()? != "expression" {
            return Ok(None);
        }
        let Some((stack, index)) = (Scope { layout: &self.layout, locals }).element(node)? else {
            return node.expected("a header, or an element of a header stack");
        };
        Ok(Some((stack, self.builder.value(&index, node)?)))
    }

    fn assign_to_element(&mut self, to: &Node, e: &Expression, locals: &[Field]) -> Result<()> {
        let Some((stack, index, field)) = (Scope { layout: &self.layout, locals }).element_field(to)? else {
            return to.expected("a field");
        };
        let found = self.layout.element_fields(stack)[field as usize].clone();
        if matches!(found.slot, Slot::Var(_)) {
            return to.fail("a field of variable length cannot be assigned a value");
        }
        let from = self.place(found.bits);
        self.builder.assign(&Field { slot: from, ..found }, e, to)?;
        let index = self.builder.value(&index, to)?;
        self.effect(Effect::SetElement { stack, index, field, from });
        Ok(())
    }

    /// Compiles an action's body, which falls through at its end. `exits` collects jumps whose targets are set later.
    pub(super) fn body(&mut self, action: usize, exits: &mut Vec<usize>) -> Result<()> {
        let locals = self.actions[action].parameters.clone();
        let primitives = self.actions[action].primitives.clone();
        let mut starts = Vec::new();
        let mut jumps = Vec::new();
        for primitive in &primitives {
            starts.push(self.here());
            self.primitive(primitive, &locals, &mut jumps, exits)?;
        }
        starts.push(self.here());
        for (place, primitive) in jumps {
            let Some(&target) = starts.get(primitive) else {
                return Err(Error::new(
                    self.actions[action].name.clone(),
                    format!("a jump to primitive {primitive}: expected at most {}", starts.len() - 1),
                ));
            };
            if target as usize <= place && matches!(self.builder.code[place], Op::Jump(_)) {
                self.builder.code[place] = Op::Back(target);
            } else {
                self.builder.land(place, target);
            }
        }
        Ok(())
    }
}

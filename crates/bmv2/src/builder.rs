//! Turns expressions into code.
//!
//! Two properties keep the code short. Only a write to a field truncates a value, so a write of `bits` bits needs its
//! operands only modulo 2^bits. This width is the argument `need`; with it, few values are wider than 128 bits.
//! The truncation is part of the step that computes the value.

use crate::code::{ALL, Op, Values, WideOp};
use crate::expression::{Compare, Expression, Kind, WIDEST};
use crate::json::{Node, Number, Result};
use crate::layout::{Field, Layout, NARROW, Slot};
use crate::wide::{Arithmetic, Wide};
use std::collections::HashMap;

/// The widest need that a narrow value serves.
const MODULAR: u32 = 127;

/// A value that is read outside of the slots of narrow and wide values, into `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub to: Slot,
    pub from: Source,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A stack element whose index is known only at run time.
    Element {
        stack: u32,
        /// The slot of the index; none for the last element.
        index: Option<u32>,
        /// The field; none for the validity.
        field: Option<u32>,
    },
    /// Whether two fields of variable length are equal.
    SameVarying(u32, u32),
}

/// The code that is being built.
pub(crate) struct Builder {
    pub code: Vec<Op>,
    pub wide_ops: Vec<WideOp>,
    pub initial: Values,
    pub reads: Vec<Read>,
    /// Lookaheads that the next expression reads: place, offset and width.
    pub lookaheads: Vec<(Slot, u32, u32)>,
    constants: HashMap<i128, u32>,
    wide_constants: HashMap<Vec<u64>, u32>,
    /// Slots of intermediate results, of at most 64 bits and of more.
    free: [Vec<u32>; 2],
    taken: [Vec<u32>; 2],
    wide_free: HashMap<u32, Vec<u32>>,
    wide_taken: Vec<(u32, u32)>,
}

type Target = Option<(u32, u8)>;

impl Builder {
    pub fn new(layout: &Layout) -> Self {
        let mut initial = Values {
            narrow: vec![[0; 2]; layout.narrow as usize],
            wide: vec![0; layout.wide as usize],
            vars: vec![Vec::new(); layout.vars as usize],
        };
        layout.headers.iter().filter(|header| header.metadata).for_each(|header| initial.set(header.valid, 1));
        Self {
            code: Vec::new(),
            wide_ops: Vec::new(),
            initial,
            reads: Vec::new(),
            lookaheads: Vec::new(),
            constants: HashMap::new(),
            wide_constants: HashMap::new(),
            free: [Vec::new(), Vec::new()],
            taken: [Vec::new(), Vec::new()],
            wide_free: HashMap::new(),
            wide_taken: Vec::new(),
        }
    }

    /// A new slot.
    pub fn slot(&mut self) -> u32 {
        self.initial.narrow.push([0; 2]);
        self.initial.narrow.len() as u32 - 1
    }

    pub fn wide_slot(&mut self, limbs: u32) -> u32 {
        let at = self.initial.wide.len() as u32;
        self.initial.wide.resize((at + limbs) as usize, 0);
        at
    }

    /// A slot for an intermediate result of `bits` bits.
    fn temporary(&mut self, bits: u8) -> u32 {
        let kind = usize::from(bits > 64);
        let slot = self.free[kind].pop().unwrap_or_else(|| self.slot());
        self.taken[kind].push(slot);
        slot
    }

    fn wide_temporary(&mut self, limbs: u32) -> u32 {
        let free = self.wide_free.entry(limbs).or_default().pop();
        let at = free.unwrap_or_else(|| self.wide_slot(limbs));
        self.wide_taken.push((limbs, at));
        at
    }

    /// Ends a statement and frees the slots of its intermediate results.
    pub fn release(&mut self) {
        for (free, taken) in self.free.iter_mut().zip(&mut self.taken) {
            free.append(taken);
        }
        for (limbs, at) in self.wide_taken.drain(..) {
            self.wide_free.entry(limbs).or_default().push(at);
        }
    }

    /// The value of a slot, if it is a constant.
    pub fn known(&self, slot: u32) -> Option<i128> {
        let value = self.initial.get(slot);
        (self.constants.get(&value) == Some(&slot)).then_some(value)
    }

    pub fn constant(&mut self, value: i128) -> u32 {
        if let Some(&slot) = self.constants.get(&value) {
            return slot;
        }
        let slot = self.slot();
        self.initial.set(slot, value);
        self.constants.insert(value, slot);
        slot
    }

    fn wide_constant(&mut self, number: &Number) -> Wide {
        let limbs = number.bits() / 64 + 1;
        let value = number.two_complement(limbs as usize);
        let at = match self.wide_constants.get(&value) {
            Some(&at) => at,
            None => {
                let at = self.wide_slot(limbs);
                self.initial.wide[at as usize..].copy_from_slice(&value);
                self.wide_constants.insert(value, at);
                at
            }
        };
        Wide { at, limbs, signed: true }
    }

    fn wide_op(&mut self, op: WideOp) {
        self.code.push(Op::Wide(self.wide_ops.len() as u32));
        self.wide_ops.push(op);
    }

    /// The slot and the width of the value of `e`.
    fn target(&mut self, target: Target, e: &Expression) -> (u32, u8) {
        target.unwrap_or_else(|| {
            // A value of at most 64 bits without a sign has no bits to remove; its width makes it a 64-bit slot.
            let bits = if e.negative || e.bits > 64 { ALL } else { e.bits.max(1) as u8 };
            (self.temporary(bits), bits)
        })
    }

    /// Copies a slot to the target, if there is one.
    fn moved(&mut self, slot: u32, bits: u32, negative: bool, target: Target) -> u32 {
        match target {
            Some((to, kept)) => {
                let kept = if !negative && bits <= u32::from(kept) { ALL } else { kept };
                self.code.push(Op::Copy { to, a: slot, bits: kept });
                to
            }
            None => slot,
        }
    }

    /// The slot of an expression's exact value, or of one that equals it modulo 2^`need`. It is stored in `target`, if
    /// there is one, truncated to its width.
    fn narrow(&mut self, e: &Expression, need: Option<u32>, target: Target) -> u32 {
        // Exact values have to fit; the callers ensure it.
        let below = if e.bits <= NARROW { None } else { need };
        match &e.kind {
            Kind::Constant(number) => {
                let value = match number.small() {
                    Some(value) => value,
                    None => {
                        let limbs = number.two_complement(2);
                        (u128::from(limbs[1]) << 64 | u128::from(limbs[0])) as i128
                    }
                };
                match target {
                    Some((to, kept)) => {
                        let slot = self.constant(crate::code::keep(value, kept));
                        self.code.push(Op::Copy { to, a: slot, bits: ALL });
                        to
                    }
                    None => self.constant(value),
                }
            }
            Kind::Field(Field { slot: Slot::Narrow(slot), bits, signed, .. }) => {
                self.moved(*slot, *bits, *signed, target)
            }
            Kind::Field(Field { slot: Slot::Wide { at, limbs }, .. }) => {
                let (to, bits) = self.target(target, e);
                self.wide_op(WideOp::Narrow { to, a: Wide { at: *at, limbs: *limbs, signed: false }, bits });
                to
            }
            Kind::Field(Field { slot: Slot::Var(_), .. }) => unreachable!("refused where expressions are read"),
            Kind::Lookahead { .. } | Kind::OfStack { .. } if e.bits > NARROW => self.narrowed(e, target),
            Kind::Lookahead { offset, bits } => {
                let slot = self.slot();
                self.lookaheads.push((Slot::Narrow(slot), *offset, *bits));
                self.moved(slot, *bits, false, target)
            }
            Kind::OfStack { stack, index, field } => {
                let index = index.as_ref().map(|index| self.narrow(index, None, None));
                self.read(Source::Element { stack: *stack, index, field: Some(*field) }, e, target)
            }
            Kind::ValidAt { stack, index } => {
                let index = Some(self.narrow(index, None, None));
                self.read(Source::Element { stack: *stack, index, field: None }, e, target)
            }
            Kind::SameVarying(a, b) => self.read(Source::SameVarying(*a, *b), e, target),
            Kind::Arithmetic(operation, a, b) => {
                let (mut need_a, mut need_b) = (below, below);
                if *operation == Arithmetic::And {
                    // A shorter operand that is not negative limits the bits of the other that matter.
                    let shorter_b = !b.negative && (a.negative || b.bits <= a.bits);
                    let mask = b.low_mask();
                    if mask.is_some_and(|ones| !a.negative && a.bits <= ones) {
                        return self.narrow(a, need, target);
                    }
                    if let Some(ones) = mask.filter(|&ones| shorter_b && ones <= MODULAR) {
                        let (to, kept) = self.target(target, e);
                        return self.narrow(a, Some(ones), Some((to, kept.min(ones as u8))));
                    }
                    if shorter_b && b.bits <= MODULAR {
                        need_a = Some(b.bits);
                    } else if !a.negative && a.bits <= MODULAR {
                        need_b = Some(a.bits);
                    }
                }
                let (a, b) = (self.narrow(a, need_a, None), self.narrow(b, need_b, None));
                let (to, bits) = self.target(target, e);
                self.code.push(match operation {
                    Arithmetic::Add => Op::Add { to, a, b, bits },
                    Arithmetic::Sub => Op::Sub { to, a, b, bits },
                    Arithmetic::Mul => Op::Mul { to, a, b, bits },
                    Arithmetic::And => Op::And { to, a, b, bits },
                    Arithmetic::Or => Op::Or { to, a, b, bits },
                    Arithmetic::Xor => Op::Xor { to, a, b, bits },
                });
                to
            }
            Kind::ShiftLeft(a, by) => {
                let (a, b) = (self.narrow(a, below, None), self.amount(by));
                let (to, bits) = self.target(target, e);
                self.code.push(Op::ShiftLeft { to, a, b, bits });
                to
            }
            Kind::ShiftRight(a, by) => {
                if a.bits <= NARROW {
                    let (a, b) = (self.narrow(a, None, None), self.amount(by));
                    let (to, bits) = self.target(target, e);
                    self.code.push(Op::ShiftRight { to, a, b, bits });
                    return to;
                }
                self.narrowed(e, target)
            }
            Kind::Invert(a) => {
                let a = self.narrow(a, below, None);
                let (to, bits) = self.target(target, e);
                self.code.push(Op::Invert { to, a, bits });
                to
            }
            Kind::Compare(how, a, b) => {
                if a.bits <= NARROW && b.bits <= NARROW {
                    let (a, b) = (self.narrow(a, None, None), self.narrow(b, None, None));
                    let (to, _) = self.target(target, e);
                    self.code.push(Op::Compare { to, a, b, how: *how });
                    return to;
                }
                let (a, b) = (self.wide(a, None), self.wide(b, None));
                let (to, _) = self.target(target, e);
                self.wide_op(WideOp::Compare { to, how: *how, a, b });
                to
            }
            Kind::Both(a, b) | Kind::Either(a, b) => {
                let both = matches!(e.kind, Kind::Both(..));
                let (a, b) = (self.narrow(a, None, None), self.narrow(b, None, None));
                let (to, _) = self.target(target, e);
                self.code.push(if both { Op::And { to, a, b, bits: ALL } } else { Op::Or { to, a, b, bits: ALL } });
                to
            }
            Kind::Not(a) => {
                let a = self.narrow(a, None, None);
                let (to, _) = self.target(target, e);
                self.code.push(Op::Not { to, a });
                to
            }
            Kind::Signed(a) => {
                if e.bits > NARROW {
                    return self.narrow(a, need, target);
                }
                let a = self.narrow(a, Some(e.bits), None);
                let (to, bits) = self.target(target, e);
                self.code.push(Op::Sign { to, a, bits: e.bits as u8 });
                if bits != ALL {
                    self.code.push(Op::Copy { to, a: to, bits });
                }
                to
            }
            Kind::Saturate(a) => {
                if a.bits <= NARROW {
                    let a = self.narrow(a, None, None);
                    let (to, bits) = self.target(target, e);
                    self.code.push(Op::Saturate { to, a, bits: e.bits.min(NARROW) as u8, signed: e.negative });
                    if u32::from(bits) < e.bits || e.negative && bits != ALL {
                        self.code.push(Op::Copy { to, a: to, bits });
                    }
                    return to;
                }
                self.narrowed(e, target)
            }
            Kind::Choose(condition, a, b) => {
                // The operands first, since the result replaces the slot of the condition.
                let (a, b) = (self.narrow(a, below, None), self.narrow(b, below, None));
                let (chosen, exact) = self.target(None, e);
                self.narrow(condition, None, Some((chosen, exact)));
                let bits = target.map_or(exact, |(_, bits)| bits);
                self.code.push(Op::Choose { to: chosen, a, b, bits });
                match target {
                    Some((to, _)) => {
                        self.code.push(Op::Copy { to, a: chosen, bits: ALL });
                        to
                    }
                    None => chosen,
                }
            }
        }
    }

    fn read(&mut self, from: Source, e: &Expression, target: Target) -> u32 {
        let to = self.temporary(ALL);
        self.read_to(Slot::Narrow(to), from);
        self.moved(to, e.bits, e.negative, target)
    }

    fn read_to(&mut self, to: Slot, from: Source) {
        self.code.push(Op::Effect(self.reads.len() as u32 | READ));
        self.reads.push(Read { to, from });
    }

    /// The lowest bits of an expression that needs more bits during its computation.
    fn narrowed(&mut self, e: &Expression, target: Target) -> u32 {
        let a = self.computed(e, None);
        let (to, bits) = self.target(target, e);
        self.wide_op(WideOp::Narrow { to, a, bits });
        to
    }

    /// The slot of a shift distance.
    fn amount(&mut self, by: &Expression) -> u32 {
        if by.bits <= NARROW {
            return self.narrow(by, None, None);
        }
        // All distances from 2^64 on have the same effect.
        let wide = self.wide(by, None);
        let (at, to) = (self.wide_temporary(1), self.temporary(ALL));
        self.wide_op(WideOp::Saturate { at, limbs: 1, a: wide, bits: 64 });
        self.wide_op(WideOp::Narrow { to, a: Wide { at, limbs: 1, signed: false }, bits: ALL });
        to
    }

    /// The limbs of an expression's exact value, or of one that equals it modulo 2^`need`.
    fn wide(&mut self, e: &Expression, need: Option<u32>) -> Wide {
        if let Kind::Constant(number) = &e.kind {
            return self.wide_constant(number);
        }
        if e.bits <= NARROW {
            let a = self.narrow(e, None, None);
            let at = self.wide_temporary(2);
            self.wide_op(WideOp::Widen { at, a });
            return Wide { at, limbs: 2, signed: true };
        }
        self.computed(e, need)
    }

    /// As [`wide`](Self::wide), for an expression that is neither a constant nor narrow.
    fn computed(&mut self, e: &Expression, need: Option<u32>) -> Wide {
        let limbs = need.map_or(e.bits / 64 + 1, |need| need.div_ceil(64).max(1));
        match &e.kind {
            Kind::Field(Field { slot: Slot::Wide { at, limbs }, .. }) => {
                return Wide { at: *at, limbs: *limbs, signed: false };
            }
            Kind::Lookahead { offset, bits } => {
                let limbs = bits.div_ceil(64);
                let at = self.wide_slot(limbs);
                self.lookaheads.push((Slot::Wide { at, limbs }, *offset, *bits));
                return Wide { at, limbs, signed: false };
            }
            Kind::OfStack { stack, index, field } => {
                let index = index.as_ref().map(|index| self.narrow(index, None, None));
                let limbs = e.bits.div_ceil(64);
                let at = self.wide_temporary(limbs);
                self.read_to(Slot::Wide { at, limbs }, Source::Element { stack: *stack, index, field: Some(*field) });
                return Wide { at, limbs, signed: false };
            }
            Kind::Arithmetic(Arithmetic::And, a, mask) if mask.low_mask().is_some() => {
                let ones = mask.low_mask().expect("just matched");
                let a = if !a.negative && a.bits <= ones { self.wide(a, need) } else { self.wide(a, Some(ones)) };
                let limbs = ones.div_ceil(64);
                let at = self.wide_temporary(limbs);
                self.wide_op(WideOp::Truncate { at, limbs, a, bits: ones });
                return Wide { at, limbs, signed: false };
            }
            Kind::Signed(a) => {
                // Shifted up and down again, since its bits need not fill whole limbs.
                let a = self.wide(a, Some(e.bits));
                let limbs = e.bits.div_ceil(64);
                let by = self.constant(i128::from(limbs * 64 - e.bits));
                let (up, at) = (self.wide_temporary(limbs), self.wide_temporary(limbs));
                self.wide_op(WideOp::ShiftLeft { at: up, limbs, a, by });
                self.wide_op(WideOp::ShiftRight { at, limbs, a: Wide { at: up, limbs, signed: true }, by });
                return Wide { at, limbs, signed: true };
            }
            _ => {}
        }
        let operation = match &e.kind {
            Kind::Arithmetic(operation, a, b) => {
                let (a, b) = (self.wide(a, need), self.wide(b, need));
                let at = self.wide_temporary(limbs);
                WideOp::Combine { operation: *operation, at, limbs, a, b }
            }
            Kind::ShiftLeft(a, by) => {
                let (a, by) = (self.wide(a, need), self.amount(by));
                let at = self.wide_temporary(limbs);
                WideOp::ShiftLeft { at, limbs, a, by }
            }
            Kind::ShiftRight(a, by) => {
                let (a, by) = (self.wide(a, None), self.amount(by));
                let at = self.wide_temporary(limbs);
                WideOp::ShiftRight { at, limbs, a, by }
            }
            Kind::Invert(a) => {
                let a = self.wide(a, need);
                let at = self.wide_temporary(limbs);
                WideOp::Invert { at, limbs, a }
            }
            Kind::Saturate(a) => {
                let a = self.wide(a, None);
                let limbs = e.bits.div_ceil(64);
                let at = self.wide_temporary(limbs);
                self.wide_op(WideOp::Saturate { at, limbs, a, bits: e.bits });
                return Wide { at, limbs, signed: false };
            }
            Kind::Choose(condition, a, b) => {
                let condition = self.narrow(condition, None, None);
                let (a, b) = (self.wide(a, need), self.wide(b, need));
                let at = self.wide_temporary(limbs);
                WideOp::Choose { at, limbs, condition, a, b }
            }
            _ => unreachable!("every other expression is a constant or narrow"),
        };
        let (WideOp::Combine { at, .. }
        | WideOp::ShiftLeft { at, .. }
        | WideOp::ShiftRight { at, .. }
        | WideOp::Invert { at, .. }
        | WideOp::Choose { at, .. }) = operation
        else {
            unreachable!("these are all that are made above")
        };
        self.wide_op(operation);
        Wide { at, limbs, signed: true }
    }

    /// The slot of a value that fits into one: an index, a condition, a port.
    pub fn value(&mut self, e: &Expression, node: &Node) -> Result<u32> {
        check(e, Some(NARROW), node)?;
        if e.bits <= NARROW {
            return Ok(self.narrow(e, None, None));
        }
        let to = self.temporary(NARROW as u8);
        Ok(self.narrow(e, Some(NARROW), Some((to, NARROW as u8))))
    }

    /// Adds jumps, one of which is taken unless `condition` holds, to a target that is not known yet; returns their
    /// places for [`land`](Self::land).
    pub fn jump_unless(&mut self, condition: &Expression, node: &Node) -> Result<Vec<usize>> {
        check(condition, None, node)?;
        let mut places = Vec::new();
        self.branch(condition, false, &mut places);
        self.release();
        Ok(places)
    }

    /// Adds jumps that are taken if `condition` is `taken`.
    fn branch(&mut self, condition: &Expression, taken: bool, places: &mut Vec<usize>) {
        match &condition.kind {
            Kind::Not(a) => return self.branch(a, !taken, places),
            Kind::Both(a, b) | Kind::Either(a, b) => {
                // The value of `a` that decides without `b`.
                let decides = matches!(condition.kind, Kind::Either(..));
                if decides == taken {
                    self.branch(a, taken, places);
                    self.branch(b, taken, places);
                } else {
                    let mut past = Vec::new();
                    self.branch(a, decides, &mut past);
                    self.branch(b, taken, places);
                    let here = self.code.len() as u32;
                    past.into_iter().for_each(|place| self.land(place, here));
                }
                return;
            }
            Kind::Compare(how, a, b) if a.bits <= NARROW && b.bits <= NARROW => {
                let (a, b) = (self.narrow(a, None, None), self.narrow(b, None, None));
                let (how, a, b) = match (taken, how) {
                    (false, how) => (*how, a, b),
                    (true, Compare::Equal) => (Compare::NotEqual, a, b),
                    (true, Compare::NotEqual) => (Compare::Equal, a, b),
                    (true, Compare::Less) => (Compare::LessOrEqual, b, a),
                    (true, Compare::LessOrEqual) => (Compare::Less, b, a),
                };
                self.code.push(Op::JumpUnless { a, b, how, to: 0 });
            }
            _ => {
                let (a, b) = (self.narrow(condition, None, None), self.constant(0));
                let how = if taken { Compare::Equal } else { Compare::NotEqual };
                self.code.push(Op::JumpUnless { a, b, how, to: 0 });
            }
        }
        places.push(self.code.len() - 1);
    }

    /// Sets the target of the jump at `place`.
    pub fn land(&mut self, place: usize, target: u32) {
        match &mut self.code[place] {
            Op::Jump(to) | Op::JumpIfZero { to, .. } | Op::JumpUnless { to, .. } => *to = target,
            other => unreachable!("{other:?} is no jump"),
        }
    }

    /// Writes an expression to a field.
    pub fn assign(&mut self, field: &Field, e: &Expression, node: &Node) -> Result<()> {
        check(e, Some(field.bits), node)?;
        match field.slot {
            Slot::Narrow(to) if field.signed => {
                let a = self.narrow(e, Some(field.bits), None);
                self.code.push(Op::Sign { to, a, bits: field.bits as u8 });
            }
            Slot::Narrow(to) => {
                self.narrow(e, Some(field.bits), Some((to, field.bits as u8)));
            }
            Slot::Wide { at, limbs } => {
                let a = self.wide(e, Some(field.bits));
                self.wide_op(WideOp::Truncate { at, limbs, a, bits: field.bits });
            }
            Slot::Var(_) => return node.fail("a field of variable length cannot be assigned a value"),
        }
        self.release();
        Ok(())
    }
}

/// Effects from this number on are [`Read`]s.
pub(crate) const READ: u32 = 1 << 31;

/// Refuses indices that do not fit into one slot.
fn check_index(e: &Expression, node: &Node) -> Result<()> {
    if e.bits > NARROW {
        return node.fail(format!("an index of more than {NARROW} bits is not supported"));
    }
    check(e, None, node)
}

/// Refuses shift distances that can be negative and do not fit into one slot.
fn check_distance(by: &Expression, node: &Node) -> Result<()> {
    if by.negative && by.bits > NARROW {
        return node.fail(format!("a shift distance with a sign of more than {NARROW} bits is not supported"));
    }
    check(by, None, node)
}

/// Refuses expressions whose values can exceed the widest computed width without being truncated.
fn check(e: &Expression, need: Option<u32>, node: &Node) -> Result<()> {
    if e.bits > WIDEST && need.is_none_or(|need| need > WIDEST) {
        return node.fail(format!("a value of more than {WIDEST} bits is not supported"));
    }
    let below = if e.bits <= NARROW { None } else { need };
    match &e.kind {
        Kind::Constant(_) | Kind::Field(_) | Kind::SameVarying(..) | Kind::Lookahead { .. } => Ok(()),
        Kind::OfStack { index, .. } => index.as_ref().map_or(Ok(()), |index| check_index(index, node)),
        Kind::ValidAt { index, .. } => check_index(index, node),
        Kind::Arithmetic(Arithmetic::And, a, b) => {
            let ones = |e: &Expression| if e.negative { WIDEST } else { e.bits };
            let least = ones(a).min(ones(b)).min(below.unwrap_or(WIDEST));
            check(a, Some(least), node)?;
            check(b, Some(least), node)
        }
        Kind::Arithmetic(_, a, b) => {
            check(a, below, node)?;
            check(b, below, node)
        }
        Kind::ShiftLeft(a, by) => {
            check(a, below, node)?;
            check_distance(by, node)
        }
        Kind::ShiftRight(a, by) => {
            check(a, None, node)?;
            check_distance(by, node)
        }
        Kind::Compare(_, a, b) | Kind::Both(a, b) | Kind::Either(a, b) => {
            check(a, None, node)?;
            check(b, None, node)
        }
        Kind::Invert(a) => check(a, below, node),
        Kind::Signed(a) => check(a, Some(e.bits), node),
        Kind::Saturate(a) => {
            if e.negative && (e.bits > NARROW || a.bits > NARROW) {
                return node
                    .fail(format!("a saturating value with a sign of more than {NARROW} bits is not supported"));
            }
            check(a, None, node)
        }
        Kind::Not(a) => check(a, None, node),
        Kind::Choose(condition, a, b) => {
            check(condition, None, node)?;
            check(a, below, node)?;
            check(b, below, node)
        }
    }
}

//! The flat code of expressions, actions and pipelines, and its interpreter.

use crate::expression::Compare;
use crate::wide::{self, Arithmetic, Wide};

/// `MASKS[bits]` keeps that many bits; the last one keeps all.
static MASKS: [i128; 129] = {
    let mut masks = [-1; 129];
    let mut bits = 0;
    while bits < 128 {
        masks[bits] = ((1u128 << bits) - 1) as i128;
        bits += 1;
    }
    masks
};

/// Keep every bit.
pub(crate) const ALL: u8 = 128;

/// One step. Operands and results are slots of the packet's values; a result keeps `bits` bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Add {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    Sub {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    Mul {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    And {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    Or {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    Xor {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    ShiftLeft {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    ShiftRight {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    Invert {
        to: u32,
        a: u32,
        bits: u8,
    },
    Copy {
        to: u32,
        a: u32,
        bits: u8,
    },
    /// The signed value of the lowest `bits` bits.
    Sign {
        to: u32,
        a: u32,
        bits: u8,
    },
    /// The nearest value of `bits` bits, with a sign or without.
    Saturate {
        to: u32,
        a: u32,
        bits: u8,
        signed: bool,
    },
    Compare {
        to: u32,
        a: u32,
        b: u32,
        how: Compare,
    },
    Not {
        to: u32,
        a: u32,
    },
    /// `a` if the slot `to` holds true, else `b`; `bits` bits of it replace the slot.
    Choose {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    // These operations read and write only the lowest 64 bits of slots; see [`quicken`].
    QuickAdd {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickSub {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickMul {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickAnd {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickOr {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickXor {
        to: u32,
        a: u32,
        b: u32,
        bits: u8,
    },
    QuickCopy {
        to: u32,
        a: u32,
        bits: u8,
    },
    QuickCompare {
        to: u32,
        a: u32,
        b: u32,
        how: Compare,
    },
    JumpUnlessEqual {
        a: u32,
        b: u32,
        to: u32,
    },
    JumpUnlessNotEqual {
        a: u32,
        b: u32,
        to: u32,
    },
    JumpUnlessLess {
        a: u32,
        b: u32,
        to: u32,
    },
    JumpUnlessLessOrEqual {
        a: u32,
        b: u32,
        to: u32,
    },
    /// A read of a cell of at most 64 bits whose place is known.
    CellRead {
        to: u32,
        cell: u32,
    },
    CellWrite {
        cell: u32,
        a: u32,
    },
    Wide(u32),
    Jump(u32),
    /// A jump to the start of an action's loop.
    Back(u32),
    JumpIfZero {
        a: u32,
        to: u32,
    },
    JumpUnless {
        a: u32,
        b: u32,
        how: Compare,
        to: u32,
    },
    RegisterRead {
        to: u32,
        array: u32,
        index: u32,
    },
    RegisterWrite {
        array: u32,
        index: u32,
        a: u32,
    },
    /// Looks up a table and jumps to the code of the action found.
    Apply(u32),
    Effect(u32),
    End,
}

/// A step over values of more than 128 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WideOp {
    Combine {
        operation: Arithmetic,
        at: u32,
        limbs: u32,
        a: Wide,
        b: Wide,
    },
    Invert {
        at: u32,
        limbs: u32,
        a: Wide,
    },
    ShiftLeft {
        at: u32,
        limbs: u32,
        a: Wide,
        by: u32,
    },
    ShiftRight {
        at: u32,
        limbs: u32,
        a: Wide,
        by: u32,
    },
    /// A copy of the lowest `bits` bits.
    Truncate {
        at: u32,
        limbs: u32,
        a: Wide,
        bits: u32,
    },
    /// The nearest value of `bits` bits.
    Saturate {
        at: u32,
        limbs: u32,
        a: Wide,
        bits: u32,
    },
    Choose {
        at: u32,
        limbs: u32,
        condition: u32,
        a: Wide,
        b: Wide,
    },
    Compare {
        to: u32,
        how: Compare,
        a: Wide,
        b: Wide,
    },
    /// The lowest bits of a wide value.
    Narrow {
        to: u32,
        a: Wide,
        bits: u8,
    },
    /// Two limbs of a narrow value.
    Widen {
        at: u32,
        a: u32,
    },
}

/// The values of one packet: fields, then constants, parameters and intermediate results.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// The lowest and the highest 64 bits of each slot.
    pub narrow: Vec<[u64; 2]>,
    pub wide: Vec<u64>,
    pub vars: Vec<Vec<u8>>,
}

impl Values {
    pub fn get(&self, slot: u32) -> i128 {
        value_of(self.narrow[slot as usize])
    }

    /// The lowest 64 bits.
    pub fn low(&self, slot: u32) -> u64 {
        self.narrow[slot as usize][0]
    }

    pub fn set(&mut self, slot: u32, value: i128) {
        self.narrow[slot as usize] = halves(value);
    }

    /// Sets a slot that never has more than 64 bits.
    pub fn set_low(&mut self, slot: u32, value: u64) {
        self.narrow[slot as usize][0] = value;
    }
}

/// The lowest and the highest 64 bits.
pub(crate) fn halves(value: i128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

/// The value of which these are the halves.
fn value_of([low, high]: [u64; 2]) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

/// The lowest bits, from 1 to 64.
pub(crate) fn keep_low(value: u64, bits: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(bits)))
}

pub(crate) fn keep(value: i128, bits: u8) -> i128 {
    value & MASKS[bits as usize]
}

pub(crate) fn sign(value: i128, bits: u8) -> i128 {
    let unused = 128 - u32::from(bits);
    (value << unused) >> unused
}

fn compare<T: PartialOrd>(a: T, b: T, how: Compare) -> bool {
    match how {
        Compare::Equal => a == b,
        Compare::NotEqual => a != b,
        Compare::Less => a < b,
        Compare::LessOrEqual => a <= b,
    }
}

/// Lets code compute with 64 bits where the result is the same: where it keeps at most 64 bits, or the operands have at
/// most 64. `small` is true for each slot that other writers than this code leave within 64 bits, without a sign.
/// `cell` returns the place of the cell of an array at the index in a slot, if it is known and has at most 64 bits.
pub(crate) fn quicken(code: &mut [Op], mut small: Vec<bool>, cell: impl Fn(u32, u32) -> Option<u32>) {
    // Every slot that code may make large; such slots may make others large.
    loop {
        let mut changed = false;
        let mut large = |small: &mut Vec<bool>, to: u32| {
            changed |= std::mem::replace(&mut small[to as usize], false);
        };
        for op in code.iter() {
            let is = |slot: u32| small[slot as usize];
            match *op {
                Op::Add { to, bits, .. }
                | Op::Sub { to, bits, .. }
                | Op::Mul { to, bits, .. }
                | Op::ShiftLeft { to, bits, .. }
                | Op::Invert { to, bits, .. }
                    if bits > 64 =>
                {
                    large(&mut small, to);
                }
                Op::And { to, a, b, bits } if bits > 64 && !is(a) && !is(b) => large(&mut small, to),
                Op::Or { to, a, b, bits } | Op::Xor { to, a, b, bits } if bits > 64 && !(is(a) && is(b)) => {
                    large(&mut small, to);
                }
                Op::Choose { to, a, b, bits } if bits > 64 && !(is(a) && is(b)) => large(&mut small, to),
                Op::ShiftRight { to, a, bits, .. } | Op::Copy { to, a, bits } if bits > 64 && !is(a) => {
                    large(&mut small, to);
                }
                Op::Sign { to, .. } | Op::Saturate { to, signed: true, .. } => large(&mut small, to),
                Op::Saturate { to, bits, .. } if bits > 64 => large(&mut small, to),
                _ => {}
            }
        }
        if !changed {
            break;
        }
    }
    let is = |slot: u32| small[slot as usize];
    for op in code {
        // The lowest bits of these results follow from the lowest bits of the operands.
        *op = match *op {
            Op::Add { to, a, b, bits: bits @ 1..=64 } if is(to) => Op::QuickAdd { to, a, b, bits },
            Op::Sub { to, a, b, bits: bits @ 1..=64 } if is(to) => Op::QuickSub { to, a, b, bits },
            Op::Mul { to, a, b, bits: bits @ 1..=64 } if is(to) => Op::QuickMul { to, a, b, bits },
            Op::And { to, a, b, bits } if is(to) && bits > 0 => Op::QuickAnd { to, a, b, bits: bits.min(64) },
            Op::Or { to, a, b, bits } if is(to) && bits > 0 => Op::QuickOr { to, a, b, bits: bits.min(64) },
            Op::Xor { to, a, b, bits } if is(to) && bits > 0 => Op::QuickXor { to, a, b, bits: bits.min(64) },
            Op::Copy { to, a, bits } if is(to) && bits > 0 => Op::QuickCopy { to, a, bits: bits.min(64) },
            Op::Compare { to, a, b, how } if is(to) && is(a) && is(b) => Op::QuickCompare { to, a, b, how },
            Op::JumpUnless { a, b, how, to } if is(a) && is(b) => match how {
                Compare::Equal => Op::JumpUnlessEqual { a, b, to },
                Compare::NotEqual => Op::JumpUnlessNotEqual { a, b, to },
                Compare::Less => Op::JumpUnlessLess { a, b, to },
                Compare::LessOrEqual => Op::JumpUnlessLessOrEqual { a, b, to },
            },
            Op::RegisterRead { to, array, index } if is(to) => {
                cell(array, index).map_or(*op, |cell| Op::CellRead { to, cell })
            }
            Op::RegisterWrite { array, index, a } => cell(array, index).map_or(*op, |cell| Op::CellWrite { cell, a }),
            other => other,
        };
    }
}

/// The distance of a shift: beyond 127 no bit of 128 is left.
fn distance(by: i128) -> u32 {
    u32::try_from(by).unwrap_or(128).min(128)
}

/// The most rounds of the loops that run for one packet.
const ROUNDS: u32 = 1 << 16;

/// The operations of a switch that code calls.
pub(crate) trait Environment {
    /// Reads a cell of a register, if there is one of that index.
    fn read(&mut self, array: u32, index: i128) -> Option<i128>;
    fn write(&mut self, array: u32, index: i128, value: i128);
    /// The cells of all registers.
    fn cells(&mut self) -> &mut [u64];
    /// Looks up a table, sets the parameters of the action found, and returns the start of its code.
    fn apply(&mut self, table: u32, values: &mut Values) -> u32;
    fn effect(&mut self, effect: u32, values: &mut Values);
    /// Counts a loop that is left after too many rounds.
    fn gives_up(&mut self);
}

/// Runs `code` from `start` to its end.
pub(crate) fn run<E: Environment>(code: &[Op], wide: &[WideOp], start: u32, values: &mut Values, environment: &mut E) {
    let mut at = start as usize;
    let mut rounds = ROUNDS;
    loop {
        let op = code[at];
        at += 1;
        match op {
            Op::Add { to, a, b, bits } => values.set(to, keep(values.get(a).wrapping_add(values.get(b)), bits)),
            Op::Sub { to, a, b, bits } => values.set(to, keep(values.get(a).wrapping_sub(values.get(b)), bits)),
            Op::Mul { to, a, b, bits } => values.set(to, keep(values.get(a).wrapping_mul(values.get(b)), bits)),
            Op::And { to, a, b, bits } => values.set(to, keep(values.get(a) & values.get(b), bits)),
            Op::Or { to, a, b, bits } => values.set(to, keep(values.get(a) | values.get(b), bits)),
            Op::Xor { to, a, b, bits } => values.set(to, keep(values.get(a) ^ values.get(b), bits)),
            Op::ShiftLeft { to, a, b, bits } => {
                values.set(to, keep(values.get(a).checked_shl(distance(values.get(b))).unwrap_or(0), bits));
            }
            Op::ShiftRight { to, a, b, bits } => {
                values.set(to, keep(values.get(a) >> distance(values.get(b)).min(127), bits));
            }
            Op::Invert { to, a, bits } => values.set(to, keep(!values.get(a), bits)),
            Op::Copy { to, a, bits } => values.set(to, keep(values.get(a), bits)),
            Op::Sign { to, a, bits } => values.set(to, sign(values.get(a), bits)),
            Op::Saturate { to, a, bits, signed } => {
                let most = MASKS[bits as usize - usize::from(signed)];
                values.set(to, values.get(a).clamp(if signed { !most } else { 0 }, most));
            }
            Op::Compare { to, a, b, how } => {
                values.set(to, i128::from(compare(values.get(a), values.get(b), how)));
            }
            Op::Not { to, a } => values.set(to, i128::from(values.get(a) == 0)),
            Op::Choose { to, a, b, bits } => {
                let chosen = if values.get(to) == 0 { b } else { a };
                values.set(to, keep(values.get(chosen), bits));
            }
            Op::QuickAdd { to, a, b, bits } => {
                values.set_low(to, keep_low(values.low(a).wrapping_add(values.low(b)), bits));
            }
            Op::QuickSub { to, a, b, bits } => {
                values.set_low(to, keep_low(values.low(a).wrapping_sub(values.low(b)), bits));
            }
            Op::QuickMul { to, a, b, bits } => {
                values.set_low(to, keep_low(values.low(a).wrapping_mul(values.low(b)), bits));
            }
            Op::QuickAnd { to, a, b, bits } => values.set_low(to, keep_low(values.low(a) & values.low(b), bits)),
            Op::QuickOr { to, a, b, bits } => values.set_low(to, keep_low(values.low(a) | values.low(b), bits)),
            Op::QuickXor { to, a, b, bits } => values.set_low(to, keep_low(values.low(a) ^ values.low(b), bits)),
            Op::QuickCopy { to, a, bits } => values.set_low(to, keep_low(values.low(a), bits)),
            Op::QuickCompare { to, a, b, how } => {
                values.set_low(to, compare(values.low(a), values.low(b), how).into());
            }
            Op::JumpUnlessEqual { a, b, to } => {
                if values.low(a) != values.low(b) {
                    at = to as usize;
                }
            }
            Op::JumpUnlessNotEqual { a, b, to } => {
                if values.low(a) == values.low(b) {
                    at = to as usize;
                }
            }
            Op::JumpUnlessLess { a, b, to } => {
                if values.low(a) >= values.low(b) {
                    at = to as usize;
                }
            }
            Op::JumpUnlessLessOrEqual { a, b, to } => {
                if values.low(a) > values.low(b) {
                    at = to as usize;
                }
            }
            Op::CellRead { to, cell } => values.set_low(to, environment.cells()[cell as usize]),
            Op::CellWrite { cell, a } => environment.cells()[cell as usize] = values.low(a),
            Op::Wide(number) => run_wide(wide[number as usize], values),
            Op::Jump(to) => at = to as usize,
            Op::Back(to) => {
                if rounds == 0 {
                    environment.gives_up();
                } else {
                    rounds -= 1;
                    at = to as usize;
                }
            }
            Op::JumpIfZero { a, to } => {
                if values.get(a) == 0 {
                    at = to as usize;
                }
            }
            Op::JumpUnless { a, b, how, to } => {
                if !compare(values.get(a), values.get(b), how) {
                    at = to as usize;
                }
            }
            Op::RegisterRead { to, array, index } => {
                if let Some(value) = environment.read(array, values.get(index)) {
                    values.set(to, value);
                }
            }
            Op::RegisterWrite { array, index, a } => environment.write(array, values.get(index), values.get(a)),
            Op::Apply(table) => at = environment.apply(table, values) as usize,
            Op::Effect(effect) => environment.effect(effect, values),
            Op::End => return,
        }
    }
}

fn run_wide(op: WideOp, values: &mut Values) {
    let Values { narrow, wide: all, .. } = values;
    let whole = |slot: u32| value_of(narrow[slot as usize]);
    match op {
        WideOp::Combine { operation, at, limbs, a, b } => wide::combine(all, operation, at, limbs, a, b),
        WideOp::Invert { at, limbs, a } => wide::invert(all, at, limbs, a),
        WideOp::ShiftLeft { at, limbs, a, by } => {
            wide::shift_left(all, at, limbs, a, u64::try_from(whole(by)).unwrap_or(u64::MAX));
        }
        WideOp::ShiftRight { at, limbs, a, by } => {
            wide::shift_right(all, at, limbs, a, u64::try_from(whole(by)).unwrap_or(u64::MAX));
        }
        WideOp::Truncate { at, limbs, a, bits } => {
            wide::copy(all, at, limbs, a);
            wide::truncate(all, at, limbs, bits);
        }
        WideOp::Saturate { at, limbs, a, bits } => {
            if a.is_negative(all) {
                all[at as usize..(at + limbs) as usize].fill(0);
            } else if wide::exceeds(all, a, bits) {
                all[at as usize..(at + limbs) as usize].fill(u64::MAX);
                wide::truncate(all, at, limbs, bits);
            } else {
                wide::copy(all, at, limbs, a);
            }
        }
        WideOp::Choose { at, limbs, condition, a, b } => {
            wide::copy(all, at, limbs, if narrow[condition as usize] == [0; 2] { b } else { a });
        }
        WideOp::Compare { to, how, a, b } => {
            let order = wide::compare(all, a, b);
            let holds = match how {
                Compare::Equal => order.is_eq(),
                Compare::NotEqual => order.is_ne(),
                Compare::Less => order.is_lt(),
                Compare::LessOrEqual => order.is_le(),
            };
            narrow[to as usize] = [holds.into(), 0];
        }
        WideOp::Narrow { to, a, bits } => narrow[to as usize] = halves(keep(a.low(all), bits)),
        WideOp::Widen { at, a } => {
            all[at as usize..at as usize + 2].copy_from_slice(&narrow[a as usize]);
        }
    }
}

//! Expressions of the file, with the largest size of each value.

use crate::json::{Node, Number, Result};
use crate::layout::{Field, Layout, Slot};
use crate::wide::Arithmetic;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Constant(Number),
    Field(Field),
    /// Bits of the packet after the extracted part.
    Lookahead {
        offset: u32,
        bits: u32,
    },
    /// A field of the last element of a stack, or of the one at an index.
    OfStack {
        stack: u32,
        index: Option<Box<Expression>>,
        field: u32,
    },
    /// The validity of the element of a stack at an index.
    ValidAt {
        stack: u32,
        index: Box<Expression>,
    },
    /// Whether two fields of variable length are equal.
    SameVarying(u32, u32),
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    ShiftLeft(Box<Expression>, Box<Expression>),
    ShiftRight(Box<Expression>, Box<Expression>),
    Invert(Box<Expression>),
    Compare(Compare, Box<Expression>, Box<Expression>),
    Both(Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    /// The signed value of the lowest bits.
    Signed(Box<Expression>),
    /// The nearest value that fits.
    Saturate(Box<Expression>),
    Choose(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// An expression. Its value is greater than -2^bits and less than 2^bits, and not negative unless `negative`.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub kind: Kind,
    pub bits: u32,
    pub negative: bool,
}

/// The widest value of an expression; wider ones must be truncated by a mask.
pub(crate) const WIDEST: u32 = 16384;

impl Expression {
    fn new(kind: Kind, bits: u32, negative: bool) -> Box<Self> {
        Box::new(Self { kind, bits: bits.min(WIDEST + 1), negative })
    }

    pub fn constant(number: Number) -> Box<Self> {
        let (bits, negative) = (number.bits(), number.negative);
        Self::new(Kind::Constant(number), bits, negative)
    }

    pub fn of_field(field: Field) -> Box<Self> {
        let (bits, negative) = (field.bits, field.signed);
        Self::new(Kind::Field(field), bits, negative)
    }

    /// The number of bits, if this is the mask 2^bits - 1.
    pub fn low_mask(&self) -> Option<u32> {
        let Kind::Constant(number) = &self.kind else { return None };
        let ones: u32 = number.limbs.iter().map(|limb| limb.count_ones()).sum();
        (!number.negative && ones > 0 && ones == number.bits()).then_some(ones)
    }
}

/// The meaning of names in an expression.
pub(crate) struct Scope<'a> {
    pub layout: &'a Layout,
    /// The parameters of the action.
    pub locals: &'a [Field],
}

impl Scope<'_> {
    fn local(&self, node: &Node) -> Result<Field> {
        let most = self.locals.len() as u64;
        if most == 0 {
            return node.fail("no parameter is known here");
        }
        Ok(self.locals[node.int(most - 1)? as usize].clone())
    }

    fn valid(&self, header: u32) -> Box<Expression> {
        let slot = Slot::Narrow(self.layout.headers[header as usize].valid);
        Expression::of_field(Field { name: "$valid$".to_owned(), slot, bits: 1, signed: false })
    }

    /// The expression of an object with `type` and `value`.
    pub fn read(&self, node: &Node) -> Result<Box<Expression>> {
        let kind = node.get("type")?;
        let value = node.get("value")?;
        Ok(match kind.str()? {
            // p4c writes the validity of an element at a computed index in this way.
            "field" if value.value[0].is_object() && value.value[1] == "$valid$" => {
                let [left, _] = value.tuple()?;
                let Some((stack, index)) = self.element_of(&left)? else {
                    return left.expected("an element of a header stack");
                };
                Expression::new(Kind::ValidAt { stack, index }, 1, false)
            }
            "field" => {
                let field = self.layout.field(&value)?;
                if matches!(field.slot, Slot::Var(_)) {
                    return value.fail("a field of variable length has no value");
                }
                Expression::of_field(field)
            }
            "hexstr" => Expression::constant(value.hex()?),
            "bool" => Expression::constant(Number::of(u64::from(value.bool()?))),
            "local" | "runtime_data" => Expression::of_field(self.local(&value)?),
            "expression" if value.find("type").is_some() => self.read(&value)?,
            "expression" => self.operation(&value)?,
            "lookahead" => {
                let [offset, bits] = value.tuple()?;
                let width = bits.int(4096)? as u32;
                if width == 0 {
                    return bits.expected("at least 1");
                }
                let offset = offset.int(1 << 20)? as u32;
                Expression::new(Kind::Lookahead { offset, bits: width }, width, false)
            }
            "stack_field" | "union_stack_field" => {
                let (stack, name) = if kind.value == "stack_field" {
                    let [stack, name] = value.tuple()?;
                    (self.layout.stack(&stack)?, name)
                } else {
                    let [stack, member, name] = value.tuple()?;
                    (self.layout.member_stack(&value, &stack, &member)?, name)
                };
                let fields = self.layout.element_fields(stack);
                let Some(field) = fields.iter().position(|field| field.name == name.str().unwrap_or_default()) else {
                    return name.expected("a field of the stack's headers");
                };
                let (bits, negative) = (fields[field].bits, fields[field].signed);
                if matches!(fields[field].slot, Slot::Var(_)) {
                    return name.fail("a field of variable length has no value");
                }
                Expression::new(Kind::OfStack { stack, index: None, field: field as u32 }, bits, negative)
            }
            _ => return kind.expected("a kind of operand that is supported"),
        })
    }

    /// An expression that is 1 where that of `node` is not 0, and else 0.
    pub fn condition(&self, node: &Node) -> Result<Box<Expression>> {
        let e = self.read(node)?;
        if e.bits <= 1 && !e.negative {
            return Ok(e);
        }
        let zero = Expression::constant(Number::of(0));
        Ok(Expression::new(Kind::Compare(Compare::NotEqual, e, zero), 1, false))
    }

    /// The stack and the index if `node` is an element of a header stack.
    pub fn element(&self, node: &Node) -> Result<Option<(u32, Box<Expression>)>> {
        let value = node.get("value")?;
        if value.find("type").is_some_and(|kind| kind.value == "stack_field") {
            let [stack, last] = value.get("value")?.tuple()?;
            if last.value != "last" {
                return last.expected("last");
            }
            let stack = self.layout.stack(&stack)?;
            return Ok(Some((stack, self.last_index(stack))));
        }
        if value.find("type").is_some() {
            return self.element(&value);
        }
        self.element_of(&value)
    }

    /// The stack and the index if `value` is the operation `dereference_header_stack`.
    fn element_of(&self, value: &Node) -> Result<Option<(u32, Box<Expression>)>> {
        let Some(op) = value.find("op") else { return Ok(None) };
        if op.str()? != "dereference_header_stack" {
            return Ok(None);
        }
        let stack = self.layout.stack(&value.get("left")?.get("value")?)?;
        Ok(Some((stack, self.read(&value.get("right")?)?)))
    }

    /// The number of a stack's elements.
    fn count(&self, stack: u32) -> Box<Expression> {
        let slot = Slot::Narrow(self.layout.stacks[stack as usize].next);
        Expression::of_field(Field { name: "next".to_owned(), slot, bits: 32, signed: false })
    }

    fn last_index(&self, stack: u32) -> Box<Expression> {
        let one = Expression::constant(Number::of(1));
        Expression::new(Kind::Arithmetic(Arithmetic::Sub, self.count(stack), one), 33, true)
    }

    /// The stack, the index and the field's number if `node` is a field of an element at a computed index.
    pub fn element_field(&self, node: &Node) -> Result<Option<(u32, Box<Expression>, u32)>> {
        let value = node.get("value")?;
        if value.find("type").is_some() {
            return self.element_field(&value);
        }
        if value.find("op").is_none_or(|op| op.value != "access_field") {
            return Ok(None);
        }
        let left = value.get("left")?;
        let Some((stack, index)) = self.element(&left)? else {
            return left.fail("expected an element of a header stack");
        };
        let fields = self.layout.element_fields(stack).len() as u64;
        Ok(Some((stack, index, value.get("right")?.int(fields - 1)? as u32)))
    }

    /// Both operands, if they are fields of variable length.
    fn varying(&self, node: &Node) -> Result<Option<(u32, u32)>> {
        let slot = |key| -> Result<Option<u32>> {
            let operand = node.get(key)?;
            if operand.get("type")?.value != "field" {
                return Ok(None);
            }
            let Slot::Var(slot) = self.layout.field(&operand.get("value")?)?.slot else { return Ok(None) };
            Ok(Some(slot))
        };
        Ok(slot("left")?.zip(slot("right")?))
    }

    fn operation(&self, node: &Node) -> Result<Box<Expression>> {
        let op = node.get("op")?;
        let right = || node.get("right");
        let operands = || Ok((self.read(&node.get("left")?)?, self.read(&right()?)?));
        let combined = |operation| -> Result<Box<Expression>> {
            let (a, b) = operands()?;
            let wider = a.bits.max(b.bits);
            let either = a.negative || b.negative;
            let (bits, negative) = match operation {
                Arithmetic::Add => (wider + 1, either),
                Arithmetic::Sub => (wider + 1, true),
                Arithmetic::Mul => (a.bits + b.bits, either),
                Arithmetic::And => match (a.negative, b.negative) {
                    (true, true) => (wider, true),
                    (true, false) => (b.bits, false),
                    (false, true) => (a.bits, false),
                    (false, false) => (a.bits.min(b.bits), false),
                },
                Arithmetic::Or | Arithmetic::Xor => (wider, either),
            };
            Ok(Expression::new(Kind::Arithmetic(operation, a, b), bits, negative))
        };
        let compared = |comparison, swapped: bool| -> Result<Box<Expression>> {
            let (a, b) = operands()?;
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            Ok(Expression::new(Kind::Compare(comparison, a, b), 1, false))
        };
        let width = || -> Result<u32> {
            match self.read(&right()?)?.kind {
                Kind::Constant(number) => match number.small() {
                    Some(width @ 1..=4096) => Ok(width as u32),
                    _ => right()?.expected("a width from 1 to 4096"),
                },
                _ => right()?.expected("a constant width"),
            }
        };
        if matches!(op.str()?, "==" | "!=")
            && let Some((a, b)) = self.varying(node)?
        {
            let same = Expression::new(Kind::SameVarying(a, b), 1, false);
            return Ok(if op.str()? == "==" { same } else { Expression::new(Kind::Not(same), 1, false) });
        }
        Ok(match op.str()? {
            "+" => combined(Arithmetic::Add)?,
            "-" => combined(Arithmetic::Sub)?,
            "*" => combined(Arithmetic::Mul)?,
            "&" => combined(Arithmetic::And)?,
            "|" => combined(Arithmetic::Or)?,
            "^" => combined(Arithmetic::Xor)?,
            "==" => compared(Compare::Equal, false)?,
            "!=" => compared(Compare::NotEqual, false)?,
            "<" => compared(Compare::Less, false)?,
            ">" => compared(Compare::Less, true)?,
            "<=" => compared(Compare::LessOrEqual, false)?,
            ">=" => compared(Compare::LessOrEqual, true)?,
            "<<" => {
                let (a, by) = operands()?;
                let most = match &by.kind {
                    Kind::Constant(number) => number.small().unwrap_or(i128::MAX),
                    _ => i128::from(1u32 << by.bits.min(20)),
                };
                let bits = u32::try_from(most.clamp(0, i128::from(WIDEST))).expect("clamped") + a.bits;
                let negative = a.negative;
                Expression::new(Kind::ShiftLeft(a, by), bits, negative)
            }
            ">>" => {
                let (a, by) = operands()?;
                let least = match &by.kind {
                    Kind::Constant(number) => number.small().unwrap_or(0).clamp(0, i128::from(a.bits)) as u32,
                    _ => 0,
                };
                let (bits, negative) = (if a.negative { a.bits } else { a.bits - least }, a.negative);
                Expression::new(Kind::ShiftRight(a, by), bits, negative)
            }
            "~" => {
                let a = self.read(&right()?)?;
                let bits = a.bits + 1;
                Expression::new(Kind::Invert(a), bits, true)
            }
            "and" => {
                Expression::new(Kind::Both(self.condition(&node.get("left")?)?, self.condition(&right()?)?), 1, false)
            }
            "or" => {
                Expression::new(Kind::Either(self.condition(&node.get("left")?)?, self.condition(&right()?)?), 1, false)
            }
            "not" => Expression::new(Kind::Not(self.condition(&right()?)?), 1, false),
            "d2b" | "b2d" => self.condition(&right()?)?,
            "valid" => {
                let operand = right()?;
                if let Some((stack, index)) =
                    (operand.get("type")?.str()? == "expression").then(|| self.element(&operand)).transpose()?.flatten()
                {
                    return Ok(Expression::new(Kind::ValidAt { stack, index }, 1, false));
                }
                self.valid(self.layout.header(&operand.get("value")?)?)
            }
            "valid_union" => {
                let headers = self.layout.union(&right()?.get("value")?)?;
                let valid = headers.iter().map(|&header| self.valid(header));
                valid.reduce(|a, b| Expression::new(Kind::Either(a, b), 1, false)).expect("a union has headers")
            }
            "two_comp_mod" => {
                let (a, bits) = (self.read(&node.get("left")?)?, width()?);
                Expression::new(Kind::Signed(a), bits, true)
            }
            "usat_cast" => {
                let (a, bits) = (self.read(&node.get("left")?)?, width()?);
                Expression::new(Kind::Saturate(a), bits, false)
            }
            "sat_cast" => {
                let (a, bits) = (self.read(&node.get("left")?)?, width()?);
                Expression::new(Kind::Saturate(a), bits, true)
            }
            "?" => {
                let condition = self.condition(&node.get("cond")?)?;
                let (a, b) = operands()?;
                let (bits, negative) = (a.bits.max(b.bits), a.negative || b.negative);
                Expression::new(Kind::Choose(condition, a, b), bits, negative)
            }
            "access_field" => {
                let left = node.get("left")?;
                let Some((stack, index)) = self.element(&left)? else {
                    return left.fail("expected an element of a header stack");
                };
                let fields = self.layout.element_fields(stack);
                let field = right()?.int(fields.len() as u64 - 1)? as u32;
                let (bits, negative) = (fields[field as usize].bits, fields[field as usize].signed);
                if matches!(fields[field as usize].slot, Slot::Var(_)) {
                    return right()?.fail("a field of variable length has no value");
                }
                Expression::new(Kind::OfStack { stack, index: Some(index), field }, bits, negative)
            }
            "last_stack_index" | "size_stack" => {
                let stack = self.layout.stack(&right()?.get("value")?)?;
                if op.str()? == "size_stack" { self.count(stack) } else { self.last_index(stack) }
            }
            _ => return op.expected("an operation that is supported"),
        })
    }
}

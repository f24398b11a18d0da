//! The places of headers, fields and stacks in the values of a packet.

use crate::json::{Error, Node, Result};
use std::collections::HashMap;

/// The widest field.
const WIDEST: u64 = 4096;
/// The widest value of the fast path: the sum of two fits into 128 bits with a sign.
pub(crate) const NARROW: u32 = 126;

/// The place of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Narrow(u32),
    /// Limbs from `at`.
    Wide {
        at: u32,
        limbs: u32,
    },
    /// A field of variable length.
    Var(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub slot: Slot,
    /// Its width, or its greatest width if it varies.
    pub bits: u32,
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub name: String,
    pub metadata: bool,
    /// The slot of its validity.
    pub valid: u32,
    /// The validities of the other headers of its union, of which at most one is valid.
    pub others: Vec<u32>,
    pub fields: Vec<Field>,
    /// The type's index: headers of one type have the same fields.
    pub of_type: usize,
    /// The bits of its fields of fixed width.
    pub fixed_bits: u32,
}

impl Header {
    /// Whether it has a field of variable length.
    pub fn varies(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.slot, Slot::Var(_)))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub headers: Vec<u32>,
    /// The slot of the number of its elements that were extracted or pushed.
    pub next: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub narrow: u32,
    pub wide: u32,
    pub vars: u32,
    by_name: HashMap<String, u32>,
    /// By its name, or by the name of a stack of unions and that of a member, separated by a dot.
    stack_by_name: HashMap<String, u32>,
    /// The headers of each union.
    unions: HashMap<String, Vec<u32>>,
    aliases: HashMap<String, (String, String)>,
}

struct Type {
    fields: Vec<(String, u32, bool, bool)>,
}

fn read_type(node: &Node) -> Result<Type> {
    let mut fields = Vec::new();
    for field in node.get("fields")?.items()? {
        let parts = field.items()?;
        let [name, width, rest @ ..] = parts.as_slice() else { return field.expected("a name and a width") };
        let varies = width.value.as_str() == Some("*");
        let bits = if varies { node.get("max_length")?.int(WIDEST)? * 8 } else { width.int(WIDEST)? };
        if bits == 0 {
            return width.expected(&format!("from 1 to {WIDEST} bits"));
        }
        let signed = rest.first().map_or(Ok(false), Node::bool)?;
        if signed && bits > u64::from(NARROW) {
            return width.expected(&format!("at most {NARROW} bits of a signed field"));
        }
        fields.push((name.str()?.to_owned(), bits as u32, signed, varies));
    }
    if fields.iter().filter(|field| field.3).count() > 1 {
        return node.get("fields")?.fail("two fields of variable length: expected at most one");
    }
    // `max_length` is the length of the whole header.
    let fixed: u32 = fields.iter().filter(|field| !field.3).map(|field| field.1).sum();
    for field in fields.iter_mut().filter(|field| field.3) {
        field.1 = field.1.saturating_sub(fixed);
    }
    Ok(Type { fields })
}

/// The numbers of the parts, at least one, that `node` lists under `key`.
fn listed(node: &Node, key: &str, numbers: &HashMap<u64, u32>, what: &str) -> Result<Vec<u32>> {
    let list = node.get(key)?;
    let mut found = Vec::new();
    for id in list.items()? {
        match numbers.get(&id.int(u64::MAX)?) {
            Some(&number) => found.push(number),
            None => return id.expected(&format!("the id of {what}")),
        }
    }
    if found.is_empty() { list.expected(&format!("at least one id of {what}")) } else { Ok(found) }
}

impl Layout {
    pub fn load(root: &Node) -> Result<Self> {
        let mut layout = Self::default();
        let mut types = HashMap::new();
        let mut read = Vec::new();
        for node in root.list("header_types")? {
            types.insert(node.name()?, read.len());
            read.push(read_type(&node)?);
        }
        if let Some(first) = root.list("extern_instances")?.first() {
            return first.fail("extern_instances are not supported");
        }
        let mut by_id = HashMap::new();
        for node in root.get("headers")?.items()? {
            let named = node.get("header_type")?;
            let Some(&of_type) = types.get(named.str()?) else { return named.expected("a header type") };
            let metadata = node.find("metadata").map_or(Ok(false), |node| node.bool())?;
            let number = layout.headers.len() as u32;
            let valid = layout.narrow;
            layout.narrow += 1;
            let fields: Vec<Field> = read[of_type]
                .fields
                .iter()
                .map(|(name, bits, signed, varies)| {
                    let slot = layout.place(*bits, *varies);
                    Field { name: name.clone(), slot, bits: *bits, signed: *signed }
                })
                .collect();
            let fixed = |field: &Field| if matches!(field.slot, Slot::Var(_)) { 0 } else { field.bits };
            let fixed_bits = fields.iter().map(fixed).sum();
            by_id.insert(node.get("id")?.int(u64::MAX)?, number);
            layout.by_name.insert(node.name()?.to_owned(), number);
            let (name, others) = (node.name()?.to_owned(), Vec::new());
            layout.headers.push(Header { name, metadata, valid, others, fields, of_type, fixed_bits });
        }
        for node in root.list("header_stacks")? {
            let headers = listed(&node, "header_ids", &by_id, "a header")?;
            layout.push_stack(node.name()?.to_owned(), headers);
            layout.narrow += 1;
        }
        layout.load_unions(root, &by_id)?;
        for node in root.list("field_aliases")? {
            let [name, target] = node.tuple()?;
            let [header, field] = target.tuple()?;
            layout.aliases.insert(name.str()?.to_owned(), (header.str()?.to_owned(), field.str()?.to_owned()));
        }
        Ok(layout)
    }

    /// Adds a stack whose number of extracted elements is in the next slot.
    fn push_stack(&mut self, name: String, headers: Vec<u32>) {
        self.stack_by_name.insert(name, self.stacks.len() as u32);
        self.stacks.push(Stack { headers, next: self.narrow });
    }

    /// Reads unions, and stacks of them: one stack for each member of the union, all with the same count.
    fn load_unions(&mut self, root: &Node, by_id: &HashMap<u64, u32>) -> Result<()> {
        let mut members: HashMap<&str, Vec<&str>> = HashMap::new();
        for node in root.list("header_union_types")? {
            let names = node.get("headers")?.items()?.into_iter().map(|member| member.tuple::<2>()?[0].str());
            members.insert(node.name()?, names.collect::<Result<_>>()?);
        }
        let mut union_ids = HashMap::new();
        let mut read: Vec<Vec<u32>> = Vec::new();
        for node in root.list("header_unions")? {
            let headers = listed(&node, "header_ids", by_id, "a header")?;
            for &header in &headers {
                let valid = |&other: &u32| self.headers[other as usize].valid;
                let others = headers.iter().filter(|&&other| other != header).map(valid).collect();
                self.headers[header as usize].others = others;
            }
            self.unions.insert(node.name()?.to_owned(), headers.clone());
            union_ids.insert(node.get("id")?.int(u64::MAX)?, read.len() as u32);
            read.push(headers);
        }
        for node in root.list("header_union_stacks")? {
            let named = node.get("union_type")?;
            let Some(members) = members.get(named.str()?) else { return named.expected("a union's type") };
            let unions = listed(&node, "header_union_ids", &union_ids, "a union")?;
            for (index, member) in members.iter().enumerate() {
                let headers: Option<Vec<u32>> =
                    unions.iter().map(|&union| read[union as usize].get(index).copied()).collect();
                let Some(headers) = headers else {
                    return node.get("header_union_ids")?.expected("unions of that type");
                };
                self.push_stack(format!("{}.{member}", node.name()?), headers);
            }
            self.narrow += 1;
        }
        Ok(())
    }

    fn place(&mut self, bits: u32, varies: bool) -> Slot {
        if varies {
            self.vars += 1;
            return Slot::Var(self.vars - 1);
        }
        if bits <= NARROW {
            self.narrow += 1;
            return Slot::Narrow(self.narrow - 1);
        }
        let limbs = bits.div_ceil(64);
        self.wide += limbs;
        Slot::Wide { at: self.wide - limbs, limbs }
    }

    pub fn header(&self, node: &Node) -> Result<u32> {
        self.by_name.get(node.str()?).map_or_else(|| node.expected("the name of a header"), |&header| Ok(header))
    }

    pub fn stack(&self, node: &Node) -> Result<u32> {
        self.stack_by_name.get(node.str()?).map_or_else(|| node.expected("the name of a header stack"), |&s| Ok(s))
    }

    /// The fields of each element of a stack.
    pub fn element_fields(&self, stack: u32) -> &[Field] {
        &self.headers[self.stacks[stack as usize].headers[0] as usize].fields
    }

    /// The stack of the headers of one member of a stack of unions: `[stack, member]`.
    pub fn union_stack(&self, node: &Node) -> Result<u32> {
        let [stack, member] = node.tuple()?;
        self.member_stack(node, &stack, &member)
    }

    /// As [`union_stack`](Self::union_stack), of a stack and a member; `node` is for the message.
    pub fn member_stack(&self, node: &Node, stack: &Node, member: &Node) -> Result<u32> {
        let name = format!("{}.{}", stack.str()?, member.str()?);
        self.stack_by_name
            .get(&name)
            .map_or_else(|| node.expected("the names of a stack of unions and of a member"), |&stack| Ok(stack))
    }

    /// The stacks of each member of a stack of unions.
    pub fn member_stacks(&self, node: &Node) -> Result<Vec<u32>> {
        let prefix = format!("{}.", node.str()?);
        let names = self.stack_by_name.iter().filter(|(name, _)| name.starts_with(&prefix));
        let mut stacks: Vec<u32> = names.map(|(_, &stack)| stack).collect();
        stacks.sort_unstable();
        if stacks.is_empty() { node.expected("the name of a stack of unions") } else { Ok(stacks) }
    }

    /// The headers of a union.
    pub fn union(&self, node: &Node) -> Result<&[u32]> {
        self.unions
            .get(node.str()?)
            .map_or_else(|| node.expected("the name of a union"), |headers| Ok(headers.as_slice()))
    }

    /// The field of a reference `[header, field]`; `$valid$` is the header's validity.
    pub fn field(&self, node: &Node) -> Result<Field> {
        let [header, field] = node.tuple()?;
        let found = &self.headers[self.header(&header)? as usize];
        let name = field.str()?;
        if name == "$valid$" {
            return Ok(Field { name: name.to_owned(), slot: Slot::Narrow(found.valid), bits: 1, signed: false });
        }
        found.fields.iter().find(|field| field.name == name).cloned().map_or_else(
            || Err(Error::new(field.place.clone(), format!("\"{name}\": {} has no such field", found.name))),
            Ok,
        )
    }

    /// The slot of a field of the switch's own metadata, by its name in `group` (an alias) or in `standard_metadata`.
    pub fn intrinsic(&self, group: &str, name: &str) -> Option<u32> {
        let alias = self.aliases.get(&format!("{group}.{name}"));
        let (header, field) = alias.map_or(("standard_metadata", name), |(header, field)| (header, field));
        let header = &self.headers[*self.by_name.get(header)? as usize];
        match header.fields.iter().find(|found| found.name == field)?.slot {
            Slot::Narrow(slot) => Some(slot),
            _ => None,
        }
    }
}

//! Compiles pipelines: conditions and tables in sequence.

use super::parts::{Loader, Profile, TableCode};
use crate::code::Op;
use crate::expression::Expression;
use crate::json::{Node, Number, Result};
use crate::layout::{Field, Slot};
use crate::table::{Call, KeyPart, Match, Outcome, Table, Wanted};
use std::collections::HashMap;

impl<'a> Loader<'a> {
    /// Compiles a pipeline and returns the start of its code.
    pub(super) fn pipeline(&mut self, node: &Node<'a>) -> Result<u32> {
        let mut nodes: HashMap<&str, (bool, Node<'a>)> = HashMap::new();
        for table in node.list("tables")? {
            nodes.insert(table.name()?, (true, table));
        }
        for condition in node.list("conditionals")? {
            nodes.insert(condition.name()?, (false, condition));
        }
        if let Some(call) = node.list("action_calls")?.first() {
            return call.fail("action_calls are not supported: p4c writes none");
        }
        self.profiles(node)?;
        let start = self.here();
        let mut open = Open { ends: Vec::new(), jumps: Vec::new(), waiting: Vec::new() };
        let mut places: HashMap<&'a str, u32> = HashMap::new();
        let mut next = node.find("init_table");
        loop {
            // Compiles a chain of nodes, each of which falls through to the next.
            while let Some(link) = next.take() {
                let name = link.str()?;
                if let Some(&place) = places.get(name) {
                    self.builder.code.push(Op::Jump(place));
                    break;
                }
                let Some((is_table, at)) = nodes.get(name) else { return link.expected("a table or a condition") };
                places.insert(name, self.here());
                next = if *is_table {
                    self.table(at, &mut open)?
                } else {
                    Some(self.conditional(at, &mut open)?).flatten()
                };
                if next.is_none() {
                    open.ends.push(self.builder.code.len());
                    self.builder.code.push(Op::Jump(0));
                }
            }
            match open.waiting.pop() {
                Some(link) if places.contains_key(link.str()?) => {}
                Some(link) => next = Some(link),
                None => break,
            }
        }
        let end = self.here();
        self.builder.code.push(Op::End);
        for place in open.ends {
            self.builder.land(place, end);
        }
        for (place, name) in open.jumps {
            self.builder.land(place, places[name]);
        }
        Ok(if node.find("init_table").is_some() { start } else { end })
    }

    fn profiles(&mut self, node: &Node) -> Result<()> {
        for node in node.list("action_profiles")? {
            let name = node.name()?.to_owned();
            let selector = node.find("selector").map(|selector| self.calculation(&selector)).transpose()?;
            self.profiles.push(Profile { name, selector });
        }
        Ok(())
    }

    fn conditional(&mut self, node: &Node<'a>, open: &mut Open<'a>) -> Result<Option<Node<'a>>> {
        let at = node.get("expression")?;
        let e = self.condition(&at, &[])?;
        for place in self.builder.jump_unless(&e, &at)? {
            open.leave(place, node.find("false_next"))?;
        }
        Ok(node.find("true_next"))
    }

    /// Compiles a table, and returns the node that follows it in place.
    fn table(&mut self, node: &Node<'a>, open: &mut Open<'a>) -> Result<Option<Node<'a>>> {
        let name = node.name()?;
        let profile = match node.find("type").map_or(Ok("simple"), |node| node.str())? {
            "simple" => None,
            "indirect" | "indirect_ws" => {
                let named = node.get("action_profile")?;
                let name = named.str()?;
                match self.profiles.iter().position(|profile| profile.name == name) {
                    Some(profile) => Some(profile as u32),
                    None => return named.expected("the name of an action profile"),
                }
            }
            _ => return node.get("type")?.expected("simple, indirect or indirect_ws"),
        };
        let mut actions = Vec::new();
        for id in node.get("action_ids")?.items()? {
            let Some(&action) = self.action_ids.get(&id.int(u64::MAX)?) else {
                return id.expected("the id of an action");
            };
            actions.push(action);
        }
        let next = node.get("next_tables")?;
        let by_hit = next.value.get("__HIT__").is_some() || next.value.get("__MISS__").is_some();
        let key = self.key(node)?;
        // Each table has actions of its own, also those of the same name.
        let first = |&action: &usize| {
            let of_name = self.actions.iter().position(|other| other.name == self.actions[action].name);
            of_name.expect("an action has its own name")
        };
        let numbers: Vec<usize> = actions.iter().map(first).collect();
        if let Some(profile) = profile {
            let held = node.find("default_entry").or(node.list("entries")?.into_iter().next());
            if let Some(entry) = held {
                return entry
                    .fail("an entry of a table with an action profile: expected none, since members come later");
            }
            let others = self.table_code.iter().find(|code| code.profile == Some(profile));
            let alike = |code: &TableCode| {
                code.numbers.len() == numbers.len() && code.numbers.iter().all(|number| numbers.contains(number))
            };
            if others.is_some_and(|code| !alike(code)) {
                return node.get("action_ids")?.expected("the actions of the other tables of its action profile");
            }
        }
        let (default, is_const) = match node.find("default_entry") {
            Some(entry) => {
                let call = self.call(&entry, &actions)?;
                (Outcome::Call(call), entry.find("action_const").map_or(Ok(false), |node| node.bool())?)
            }
            None => (Outcome::Nothing, false),
        };
        let names: Vec<String> = actions.iter().map(|&action| self.actions[action].name.clone()).collect();
        let after = |ordinal: usize, hit: bool| -> Option<Node<'a>> {
            if by_hit {
                return next.find(if hit { "__HIT__" } else { "__MISS__" });
            }
            names.get(ordinal).and_then(|name| next.find(name))
        };
        if let Outcome::Call(Call { action: ordinal, arguments }) = &default
            && key.is_empty()
            && is_const
        {
            // Code that the compiler turned into a table.
            let ordinal = *ordinal;
            let parameters = self.actions[actions[ordinal]].parameters.clone();
            let mut at = 0;
            for parameter in &parameters {
                let limbs = parameter.bits.div_ceil(64) as usize;
                let number = Number { negative: false, limbs: arguments[at..at + limbs].to_vec() };
                at += limbs;
                self.builder.assign(parameter, &Expression::constant(number), node)?;
            }
            self.body(actions[ordinal], &mut open.ends)?;
            return Ok(after(ordinal, false));
        }
        let number = self.tables.len() as u32;
        self.builder.code.push(Op::Apply(number));
        let size = node.find("max_size").map_or(Ok(1024), |node| node.int(u64::MAX))?;
        let mut table = Table::new(name.to_owned(), key, size.max(1), default);
        table.counted = self.direct_counters.iter().any(|bound| bound == name);
        let entries = node.list("entries")?;
        table.size = table.size.max(entries.len() as u64);
        for entry in entries {
            let mut wanted = Vec::new();
            let parts = entry.get("match_key")?;
            let given = parts.items()?;
            if given.len() != table.key.len() {
                return parts.expected(&format!("{} parts", table.key.len()));
            }
            for (part, node) in table.key.iter().zip(&given) {
                wanted.push(read_wanted(part, node)?);
            }
            let call = self.call(&entry.get("action_entry")?, &actions)?;
            let priority = entry.find("priority").map_or(Ok(0), |node| node.int(u64::MAX))?;
            table.add(&wanted, priority, Outcome::Call(call)).or_else(|problem| entry.fail(problem))?;
        }
        let immutable = node.find("entries").is_some();
        self.tables.push(table);
        let mut starts = Vec::new();
        for (ordinal, &action) in actions.iter().enumerate() {
            starts.push(self.here());
            self.body(action, &mut open.ends)?;
            if by_hit {
                let place = self.builder.code.len();
                self.builder.code.push(Op::JumpIfZero { a: self.hit, to: 0 });
                open.leave(place, after(ordinal, false))?;
            }
            let place = self.builder.code.len();
            self.builder.code.push(Op::Jump(0));
            open.leave(place, after(ordinal, true))?;
        }
        starts.push(self.here());
        let parameters = actions.iter().map(|&action| self.actions[action].parameters.clone()).collect();
        let meter = self.meter_targets.get(name).copied();
        self.table_code.push(TableCode {
            starts,
            actions: names.clone(),
            numbers,
            profile,
            parameters,
            meter,
            is_const: immutable,
        });
        Ok(if by_hit { next.find("__MISS__") } else { node.find("base_default_next") })
    }

    /// Reads a key, and compiles those parts of it that are computed before the table is applied.
    fn key(&mut self, node: &Node) -> Result<Vec<KeyPart>> {
        let mut key = Vec::new();
        for part in node.list("key")? {
            let kind = part.get("match_type")?;
            let Some(how) = Match::parse(kind.str()?) else {
                return kind.expected("exact, lpm, ternary or range: action selectors are not supported");
            };
            let target = part.get("target")?;
            let field = if target.value.is_string() {
                let header = &self.layout.headers[self.layout.header(&target)? as usize];
                Field { name: header.name.clone(), slot: Slot::Narrow(header.valid), bits: 1, signed: false }
            } else if target.value.is_object() {
                let e = self.expression(&target, &[])?;
                let bits = e.bits.max(1);
                let field = Field { name: String::new(), slot: self.place(bits), bits, signed: false };
                self.builder.assign(&field, &e, &target)?;
                field
            } else {
                self.layout.field(&target)?
            };
            if let Slot::Var(_) = field.slot {
                return target.fail("a field of variable length has no value");
            }
            let limbs = field.bits.div_ceil(64) as usize;
            let mask = part.find("mask").map(|mask| Ok(mask.hex()?.two_complement(limbs))).transpose()?;
            let name = match part.find("name") {
                Some(name) => name.str()?.to_owned(),
                None => field.name.clone(),
            };
            key.push(KeyPart { name, slot: field.slot, bits: field.bits, how, mask });
        }
        Ok(key)
    }

    /// An action and its arguments.
    fn call(&self, node: &Node, actions: &[usize]) -> Result<Call> {
        let id = node.get("action_id")?;
        let number = self.action_ids.get(&id.int(u64::MAX)?);
        let Some(ordinal) = actions.iter().position(|action| Some(action) == number) else {
            return id.expected("the id of one of the table's actions");
        };
        let parameters = &self.actions[actions[ordinal]].parameters;
        let data = node.list("action_data")?;
        if data.len() != parameters.len() {
            return node.fail(format!("{} arguments: expected {}", data.len(), parameters.len()));
        }
        let mut arguments = Vec::new();
        for (parameter, value) in parameters.iter().zip(&data) {
            arguments.extend(value.hex()?.two_complement(parameter.bits.div_ceil(64) as usize));
        }
        Ok(Call { action: ordinal, arguments })
    }
}

/// Jumps of a pipeline whose targets are not known yet.
struct Open<'a> {
    ends: Vec<usize>,
    jumps: Vec<(usize, &'a str)>,
    waiting: Vec<Node<'a>>,
}

impl<'a> Open<'a> {
    fn leave(&mut self, place: usize, next: Option<Node<'a>>) -> Result<()> {
        match next {
            None => self.ends.push(place),
            Some(link) => {
                self.jumps.push((place, link.str()?));
                self.waiting.push(link);
            }
        }
        Ok(())
    }
}

/// The value of an entry for one part of a key.
fn read_wanted(part: &KeyPart, node: &Node) -> Result<Wanted> {
    let value = |key| -> Result<Number> {
        let at = node.get(key)?;
        let number = if at.value.is_boolean() { Number::of(u64::from(at.bool()?)) } else { at.hex()? };
        if number.bits() > part.bits.div_ceil(8) * 8 {
            return at.expected(&format!("at most {} bits", part.bits));
        }
        Ok(number)
    };
    Ok(match part.how {
        Match::Exact => Wanted::Exact(value("key")?),
        Match::Lpm => Wanted::Prefix(value("key")?, node.get("prefix_length")?.int(u64::from(part.bits))? as u32),
        Match::Ternary => Wanted::Masked(value("key")?, value("mask")?),
        Match::Range => Wanted::Between(value("start")?, value("end")?),
    })
}

//! The environment of running code: registers, tables, meters and effects.

use super::state::{State, make_valid};
use crate::builder::Source;
use crate::code::{Environment, Values, halves, keep};
use crate::layout::{Header, Layout, Slot};
use crate::program::{Effect, Program, read};
use crate::table::Outcome;

pub(super) struct Running<'a> {
    pub(super) program: &'a Program,
    pub(super) state: &'a mut State,
}

impl Environment for Running<'_> {
    fn read(&mut self, array: u32, index: i128) -> Option<i128> {
        let cell = self.program.registers[array as usize].cell(index)?;
        let limbs = &self.state.cells[cell];
        Some(i128::from(limbs.get(1).copied().unwrap_or(0)) << 64 | i128::from(limbs[0]))
    }

    fn write(&mut self, array: u32, index: i128, value: i128) {
        let Some(cell) = self.program.registers[array as usize].cell(index) else { return };
        let limbs = &mut self.state.cells[cell];
        limbs.iter_mut().zip(halves(value)).for_each(|(limb, half)| *limb = half);
    }

    fn cells(&mut self) -> &mut [u64] {
        &mut self.state.cells
    }

    fn apply(&mut self, table: u32, values: &mut Values) -> u32 {
        let code = &self.program.table_code[table as usize];
        let State { tables, profiles, bits, packet_bytes, payload, length, .. } = &mut *self.state;
        let place = &mut tables[table as usize];
        let entry = place.find(values);
        values.set(self.program.hit, i128::from(entry.is_some()));
        let outcome = match entry {
            Some(entry) => {
                if place.counted {
                    let count = &mut place.counts[entry as usize];
                    *count = [count[0] + 1, count[1] + *length];
                }
                &place.entries[entry as usize]
            }
            None => &place.default,
        };
        let no_action = (code.actions.len(), [].as_slice());
        let members = || &profiles[code.profile.expect("only tables of a profile name members") as usize];
        let of_member = |member: u64| {
            let (number, arguments) = &members().members[member as usize];
            let own = code.numbers.iter().position(|own| own == number);
            (own.expect("tables of a profile have the same actions"), arguments.as_slice())
        };
        let (action, arguments) = match outcome {
            Outcome::Call(call) => (call.action, call.arguments.as_slice()),
            Outcome::Member(member) => of_member(*member),
            Outcome::Group(group) => {
                let group = &members().groups[*group as usize];
                let selector = code.profile.and_then(|profile| self.program.profiles[profile as usize].selector);
                let hash = selector.map_or(0, |calculation| {
                    let calculation = &self.program.calculations[calculation as usize];
                    calculation.of(&self.program.layout.headers, values, &packet_bytes[*payload..], bits)
                });
                // BMv2 reduces the lowest 32 bits.
                if group.is_empty() { no_action } else { of_member(group[hash as u32 as usize % group.len()]) }
            }
            Outcome::Nothing => no_action,
        };
        let mut at = 0;
        if let Some(parameters) = code.parameters.get(action) {
            for parameter in parameters {
                match parameter.slot {
                    Slot::Narrow(slot) => {
                        let high = if parameter.bits > 64 { arguments[at + 1] } else { 0 };
                        let value = i128::from(high) << 64 | i128::from(arguments[at]);
                        values.set(slot, keep(value, parameter.bits as u8));
                    }
                    Slot::Wide { at: place, limbs } => values.wide[place as usize..(place + limbs) as usize]
                        .copy_from_slice(&arguments[at..at + limbs as usize]),
                    Slot::Var(_) => unreachable!("no parameter is of variable length"),
                }
                at += parameter.bits.div_ceil(64) as usize;
            }
        }
        let start = code.starts[action];
        if let (Some((meter, to)), Some(entry)) = (code.meter, entry) {
            let colour = self.colour(meter, i128::from(entry));
            values.set(to, colour);
        }
        start
    }

    fn effect(&mut self, effect: u32, values: &mut Values) {
        if let Some(number) = read(effect) {
            let read = self.program.reads[number];
            match read.from {
                Source::SameVarying(a, b) => {
                    let same = values.vars[a as usize] == values.vars[b as usize];
                    write(values, read.to, same.into());
                }
                Source::Element { stack, index, field } => {
                    let next = self.program.layout.stacks[stack as usize].next;
                    let index = index.map_or_else(|| values.get(next) - 1, |slot| values.get(slot));
                    let slot = self.element(stack, index).map(|header| {
                        let header = &self.program.layout.headers[header as usize];
                        field.map_or(Slot::Narrow(header.valid), |field| header.fields[field as usize].slot)
                    });
                    match slot {
                        Some(slot) => copy_place(read.to, slot, values),
                        None => write(values, read.to, 0),
                    }
                }
            }
            return;
        }
        match self.program.effects[effect as usize] {
            Effect::WideRegisterRead { array, index, at } => {
                if let Some(cell) = self.program.registers[array as usize].cell(values.get(index)) {
                    let limbs = &self.state.cells[cell];
                    values.wide[at as usize..at as usize + limbs.len()].copy_from_slice(limbs);
                }
            }
            Effect::WideRegisterWrite { array, index, at } => {
                if let Some(cell) = self.program.registers[array as usize].cell(values.get(index)) {
                    let limbs = &mut self.state.cells[cell];
                    limbs.copy_from_slice(&values.wide[at as usize..][..limbs.len()]);
                }
            }
            Effect::Hash { to, calculation, base, size, bits } => {
                let State { bits: room, packet_bytes, payload, .. } = &mut *self.state;
                let calculation = &self.program.calculations[calculation as usize];
                let hash = calculation.of(&self.program.layout.headers, values, &packet_bytes[*payload..], room);
                let size = values.get(size).max(1);
                values.set(to, keep(values.get(base) + i128::from(hash) % size, bits));
            }
            Effect::Random { to, low, high, bits } => {
                let (low, high) = (values.get(low), values.get(high));
                let span = (high - low).clamp(0, i128::from(u64::MAX)) as u128 + 1;
                let drawn = ((u128::from(self.draw()) * span) >> 64) as i128;
                values.set(to, keep(low + drawn, bits));
            }
            Effect::Count { counter, index } => {
                let length = self.state.length;
                let cells = &mut self.state.counters[counter as usize];
                if let Some(cell) = usize::try_from(values.get(index)).ok().and_then(|index| cells.get_mut(index)) {
                    *cell = [cell[0] + 1, cell[1] + length];
                }
            }
            Effect::Meter { meter, index, to } => {
                let colour = self.colour(meter, values.get(index));
                values.set(to, colour);
            }
            Effect::CloneIngress { session, list } | Effect::CloneEgress { session, list } => {
                self.state.clone = Some((values.get(session) as u32, list));
            }
            Effect::Resubmit { list } => self.state.resubmit = Some(list),
            Effect::Recirculate { list } => self.state.recirculate = Some(list),
            Effect::Digest => self.state.digests += 1,
            Effect::Truncate { bytes } => self.state.cut_to = usize::try_from(values.get(bytes)).unwrap_or(usize::MAX),
            Effect::Push { stack, count } => self.shift(stack, i64::from(count), values),
            Effect::Pop { stack, count } => self.shift(stack, -i64::from(count), values),
            Effect::CopyVarying { to, from } => copy_varying(to, from, values),
            Effect::CopyStack { to, from } => {
                let layout = &self.program.layout;
                let (to, from) = (&layout.stacks[to as usize], &layout.stacks[from as usize]);
                for (&to, &from) in to.headers.iter().zip(&from.headers) {
                    self.copy_header(to, from, values);
                }
                values.set(to.next, values.get(from.next));
            }
            Effect::SetElement { stack, index, field, from } => {
                if let Some(header) = self.element(stack, values.get(index)) {
                    let to = self.program.layout.headers[header as usize].fields[field as usize].slot;
                    copy_place(to, from, values);
                }
            }
            Effect::SetElementValid { stack, index, valid } => {
                if let Some(header) = self.element(stack, values.get(index)) {
                    let header = &self.program.layout.headers[header as usize];
                    if valid { make_valid(header, values) } else { values.set(header.valid, 0) }
                }
            }
            Effect::CopyToElement { stack, index, from } => {
                if let Some(to) = self.element(stack, values.get(index)) {
                    self.copy_header(to, from, values);
                }
            }
            Effect::CopyFromElement { stack, index, to } => {
                if let Some(from) = self.element(stack, values.get(index)) {
                    self.copy_header(to, from, values);
                }
            }
            Effect::CopyElement { to, from } => {
                let [to, from] = [to, from].map(|(stack, index)| self.element(stack, values.get(index)));
                if let Some((to, from)) = to.zip(from) {
                    self.copy_header(to, from, values);
                }
            }
            Effect::Assert { condition } => self.state.failed += u64::from(values.get(condition) == 0),
        }
    }

    fn gives_up(&mut self) {
        self.state.endless += 1;
    }
}

/// Copies the fields of a header to one of the same type.
fn copy_fields(to: &Header, from: &Header, values: &mut Values) {
    for (to, from) in to.fields.iter().zip(&from.fields) {
        copy_place(to.slot, from.slot, values);
    }
}

/// Copies a value to a place of the same kind and width.
fn copy_place(to: Slot, from: Slot, values: &mut Values) {
    match (to, from) {
        (Slot::Narrow(to), Slot::Narrow(from)) => values.set(to, values.get(from)),
        (Slot::Wide { at: to, limbs }, Slot::Wide { at: from, .. }) => {
            values.wide.copy_within(from as usize..(from + limbs) as usize, to as usize);
        }
        (Slot::Var(to), Slot::Var(from)) => copy_varying(to, from, values),
        _ => unreachable!("both are of the same kind"),
    }
}

/// Writes a value of at most 64 bits.
fn write(values: &mut Values, to: Slot, value: u64) {
    match to {
        Slot::Narrow(slot) => values.set(slot, value.into()),
        Slot::Wide { at, limbs } => {
            let limbs = &mut values.wide[at as usize..(at + limbs) as usize];
            limbs.fill(0);
            limbs[0] = value;
        }
        Slot::Var(_) => unreachable!("a field of variable length has no value"),
    }
}

fn copy_varying(to: u32, from: u32, values: &mut Values) {
    let content = std::mem::take(&mut values.vars[from as usize]);
    values.vars[to as usize].clone_from(&content);
    values.vars[from as usize] = content;
}

impl Running<'_> {
    /// The header of a stack at an index, if there is one.
    fn element(&self, stack: u32, index: i128) -> Option<u32> {
        let headers = &self.program.layout.stacks[stack as usize].headers;
        usize::try_from(index).ok().and_then(|index| headers.get(index)).copied()
    }

    /// The next random number (SplitMix64).
    fn draw(&mut self) -> u64 {
        self.state.random = self.state.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut drawn = self.state.random;
        drawn = (drawn ^ drawn >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        drawn = (drawn ^ drawn >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        drawn ^ drawn >> 31
    }

    /// 0 (green), 1 (yellow) or 2 (red). A meter without rates is green.
    fn colour(&mut self, meter: u32, index: i128) -> i128 {
        let (now, length) = (self.state.now_ns, self.state.length);
        let amount = if self.program.meters[meter as usize].in_bytes { length as f64 } else { 1.0 };
        let buckets = &mut self.state.meters[meter as usize];
        let Some(Some([committed, peak])) = usize::try_from(index).ok().and_then(|index| buckets.get_mut(index)) else {
            return 0;
        };
        committed.fill(now);
        peak.fill(now);
        if peak.left < amount {
            return 2;
        }
        peak.left -= amount;
        if committed.left < amount {
            return 1;
        }
        committed.left -= amount;
        0
    }

    fn copy_header(&self, to: u32, from: u32, values: &mut Values) {
        let headers = &self.program.layout.headers;
        let (to, from) = (&headers[to as usize], &headers[from as usize]);
        if to.valid == from.valid {
            return;
        }
        if values.get(from.valid) == 0 {
            values.set(to.valid, 0);
        } else {
            make_valid(to, values);
        }
        copy_fields(to, from, values);
    }

    /// Moves the elements of a stack up by `by`; new elements are invalid. If they are members of unions, the other
    /// members are valid or not by their own shift.
    fn shift(&self, stack: u32, by: i64, values: &mut Values) {
        let Layout { stacks, headers, .. } = &self.program.layout;
        let stack = &stacks[stack as usize];
        let size = stack.headers.len() as i64;
        let places: Vec<i64> = if by > 0 { (0..size).rev().collect() } else { (0..size).collect() };
        for to in places {
            let from = to - by;
            let to = &headers[stack.headers[to as usize] as usize];
            if (0..size).contains(&from) {
                let from = &headers[stack.headers[from as usize] as usize];
                values.set(to.valid, values.get(from.valid));
                copy_fields(to, from, values);
            } else {
                values.set(to.valid, 0);
            }
        }
        values.set(stack.next, (values.get(stack.next) + i128::from(by)).clamp(0, i128::from(size)));
    }
}

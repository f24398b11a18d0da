//! A switch that runs a program: registers, tables, and the traffic manager between ingress and egress.

use crate::code::{Environment, Values, keep, run};
use crate::json::Error;
use crate::layout::Slot;
use crate::packet::{Bits, Packet};
use crate::program::{DROP_PORT, Effect, ParserOp, Program, stack_read};
use crate::table::{Table, matches};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How many times a packet may be resubmitted in a row: a program that never ends is stopped.
const RESUBMISSIONS: u32 = 64;
/// How many states a parser may pass for one packet.
const STATES: u32 = 4096;

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many strict-priority queues each port has; the last one, of the highest number, is served first.
    pub queues: u32,
    /// How many packets each queue holds.
    pub packets: u32,
}

impl Default for Limits {
    /// Eight queues of 64 packets.
    fn default() -> Self {
        Self { queues: 8, packets: 64 }
    }
}

/// Where a packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The port that it leaves through.
    pub port: u32,
    /// The queue, by its priority: the highest number is served first.
    pub queue: u32,
    /// The number that its original was received with.
    pub tag: u64,
}

/// What became of a packet that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How many packets of it wait in queues: none if it was dropped, more than one if it was copied.
    pub placed: u32,
    /// How many the traffic manager had no room for, or no queue.
    pub lost: u32,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The number that its original was received with.
    pub tag: u64,
    /// The queue that it was in.
    pub queue: u32,
    /// The length that the program was told, and the bytes that headers have grown by since.
    pub length: u32,
}

#[derive(Clone, Debug)]
struct Port {
    queues: Vec<VecDeque<u32>>,
    waiting: u32,
}

/// A token bucket of two rates and three colours (RFC 2698), in units per second.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rate: f64,
    burst: f64,
    left: f64,
    at_ns: u64,
}

impl Bucket {
    fn fill(&mut self, now_ns: u64) {
        let gained = self.rate * (now_ns - self.at_ns) as f64 * 1e-9;
        self.left = (self.left + gained).min(self.burst);
        self.at_ns = now_ns;
    }
}

/// What a program remembers, and what its control plane has written.
struct State {
    registers: Vec<Vec<u64>>,
    counters: Vec<Vec<[u64; 2]>>,
    meters: Vec<Vec<Option<[Bucket; 2]>>>,
    tables: Vec<Table>,
    /// The ports of a clone session.
    sessions: BTreeMap<u32, Vec<(u32, u32)>>,
    groups: BTreeMap<u32, Vec<(u32, u32)>>,
    random: u64,
    bits: Bits,
    // What the packet that is being processed asked for.
    now_ns: u64,
    length: u64,
    payload: usize,
    packet_bytes: Vec<u8>,
    clone: Option<(u32, u32)>,
    resubmit: Option<u32>,
    recirculate: Option<u32>,
    digests: u64,
    cut_to: usize,
    failed: u64,
}

/// A program that runs.
pub struct Switch {
    program: Arc<Program>,
    state: State,
    packets: Vec<Packet>,
    free: Vec<u32>,
    ports: Vec<Port>,
    limits: Limits,
    /// Where each of the copies of the last packet was put.
    placed: Vec<Placed>,
    outgoing: Bits,
    /// Packets that go through ingress again.
    again: VecDeque<u32>,
}

struct Running<'a> {
    program: &'a Program,
    state: &'a mut State,
}

impl Environment for Running<'_> {
    fn read(&mut self, array: u32, index: i128) -> Option<i128> {
        let register = &self.program.registers[array as usize];
        let index = usize::try_from(index).ok().filter(|&index| (index as u64) < register.size)?;
        let cells = &self.state.registers[array as usize];
        Some(if register.bits <= 64 {
            i128::from(cells[index])
        } else {
            i128::from(cells[2 * index + 1]) << 64 | i128::from(cells[2 * index])
        })
    }

    fn write(&mut self, array: u32, index: i128, value: i128) {
        let register = &self.program.registers[array as usize];
        let Some(index) = usize::try_from(index).ok().filter(|&index| (index as u64) < register.size) else { return };
        let cells = &mut self.state.registers[array as usize];
        if register.bits <= 64 {
            cells[index] = value as u64;
        } else {
            cells[2 * index] = value as u64;
            cells[2 * index + 1] = (value >> 64) as u64;
        }
    }

    fn apply(&mut self, table: u32, values: &mut Values) -> u32 {
        let (code, place) = (&self.program.table_code[table as usize], &mut self.state.tables[table as usize]);
        let entry = place.find(values);
        values.set(self.program.hit, i128::from(entry.is_some()));
        let chosen = match entry {
            Some(entry) => {
                if place.counted {
                    let count = &mut place.counts[entry as usize];
                    *count = [count[0] + 1, count[1] + self.state.length];
                }
                &place.entries[entry as usize]
            }
            None => &place.default,
        };
        let mut at = 0;
        if let Some(parameters) = code.parameters.get(chosen.action as usize) {
            for parameter in parameters {
                match parameter.slot {
                    Slot::Narrow(slot) => {
                        let high = if parameter.bits > 64 { chosen.arguments[at + 1] } else { 0 };
                        let value = i128::from(high) << 64 | i128::from(chosen.arguments[at]);
                        values.set(slot, keep(value, parameter.bits as u8));
                    }
                    Slot::Wide { at: place, limbs } => values.wide[place as usize..(place + limbs) as usize]
                        .copy_from_slice(&chosen.arguments[at..at + limbs as usize]),
                    Slot::Var(_) => unreachable!("no parameter is of variable length"),
                }
                at += parameter.bits.div_ceil(64) as usize;
            }
        }
        let start = code.starts[chosen.action as usize];
        if let (Some((meter, to)), Some(entry)) = (code.meter, entry) {
            let colour = self.colour(meter, i128::from(entry));
            values.set(to, colour);
        }
        start
    }

    fn effect(&mut self, effect: u32, values: &mut Values) {
        if let Some(read) = stack_read(effect) {
            let read = self.program.stack_reads[read];
            let stack = &self.program.layout.stacks[read.stack as usize];
            let index = read.index.map_or_else(|| values.get(stack.next) - 1, |slot| values.get(slot));
            let header = usize::try_from(index).ok().and_then(|index| stack.headers.get(index));
            let slot = header.map(|&header| {
                let header = &self.program.layout.headers[header as usize];
                read.field.map_or(Slot::Narrow(header.valid), |field| header.fields[field as usize].slot)
            });
            let value = if let Some(Slot::Narrow(slot)) = slot { values.get(slot) } else { 0 };
            values.set(read.to, value);
            return;
        }
        match self.program.effects[effect as usize] {
            Effect::WideRegisterRead { array, index, at } => {
                if let Some(cells) = self.cell(array, values.get(index)) {
                    let cells = &self.state.registers[array as usize][cells];
                    values.wide[at as usize..at as usize + cells.len()].copy_from_slice(cells);
                }
            }
            Effect::WideRegisterWrite { array, index, at } => {
                if let Some(cells) = self.cell(array, values.get(index)) {
                    let cells = &mut self.state.registers[array as usize][cells];
                    let limbs = cells.len();
                    cells.copy_from_slice(&values.wide[at as usize..at as usize + limbs]);
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
            Effect::CopyVarying { to, from } => {
                let content = std::mem::take(&mut values.vars[from as usize]);
                values.vars[to as usize].clone_from(&content);
                values.vars[from as usize] = content;
            }
            Effect::CopyStack { to, from } => {
                let layout = &self.program.layout;
                let (to, from) = (&layout.stacks[to as usize], &layout.stacks[from as usize]);
                for (&to, &from) in to.headers.iter().zip(&from.headers) {
                    self.copy_header(to, from, values);
                }
                values.set(to.next, values.get(from.next));
            }
            Effect::Assert { condition } => self.state.failed += u64::from(values.get(condition) == 0),
        }
    }
}

impl Running<'_> {
    fn cell(&self, array: u32, index: i128) -> Option<std::ops::Range<usize>> {
        let register = &self.program.registers[array as usize];
        let index = usize::try_from(index).ok().filter(|&index| (index as u64) < register.size)?;
        Some(index * register.limbs()..(index + 1) * register.limbs())
    }

    /// The next number of the sequence (SplitMix64).
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
        values.set(to.valid, values.get(from.valid));
        for (to, from) in to.fields.iter().zip(&from.fields) {
            match (to.slot, from.slot) {
                (Slot::Narrow(to), Slot::Narrow(from)) => values.set(to, values.get(from)),
                (Slot::Wide { at: to, limbs }, Slot::Wide { at: from, .. }) => {
                    values.wide.copy_within(from as usize..(from + limbs) as usize, to as usize);
                }
                _ => {}
            }
        }
    }

    /// Moves the elements of a stack up by `by`; those that come in are not valid.
    fn shift(&self, stack: u32, by: i64, values: &mut Values) {
        let program = self.program;
        let stack = &program.layout.stacks[stack as usize];
        let size = stack.headers.len() as i64;
        let places: Vec<i64> = if by > 0 { (0..size).rev().collect() } else { (0..size).collect() };
        for to in places {
            let from = to - by;
            if (0..size).contains(&from) {
                self.copy_header(stack.headers[to as usize], stack.headers[from as usize], values);
            } else {
                values.set(program.layout.headers[stack.headers[to as usize] as usize].valid, 0);
            }
        }
        values.set(stack.next, (values.get(stack.next) + i128::from(by)).clamp(0, i128::from(size)));
    }
}

fn set(values: &mut Values, slot: Option<u32>, value: impl Into<i128>) {
    if let Some(slot) = slot {
        values.set(slot, value.into());
    }
}

fn get(values: &Values, slot: Option<u32>) -> i128 {
    slot.map_or(0, |slot| values.get(slot))
}

impl Switch {
    /// A switch whose registers are 0, with the entries that the program has.
    pub fn new(program: Arc<Program>, limits: Limits, seed: u64) -> Self {
        let state = State {
            registers: program.registers.iter().map(|r| vec![0; r.size as usize * r.limbs()]).collect(),
            counters: program.counters.iter().map(|c| vec![[0; 2]; c.size as usize]).collect(),
            meters: program.meters.iter().map(|m| vec![None; m.size as usize]).collect(),
            tables: program.tables.clone(),
            sessions: BTreeMap::new(),
            groups: BTreeMap::new(),
            random: seed,
            bits: Bits::default(),
            now_ns: 0,
            length: 0,
            payload: 0,
            packet_bytes: Vec::new(),
            clone: None,
            resubmit: None,
            recirculate: None,
            digests: 0,
            cut_to: usize::MAX,
            failed: 0,
        };
        Self {
            program,
            state,
            packets: Vec::new(),
            free: Vec::new(),
            ports: Vec::new(),
            limits,
            placed: Vec::new(),
            outgoing: Bits::default(),
            again: VecDeque::new(),
        }
    }

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The cell `index` of the register `name`: its lowest 64 bits.
    ///
    /// # Errors
    /// There is no such register or cell.
    pub fn register(&self, name: &str, index: u64) -> Result<u64, Error> {
        let (array, limbs) = self.cell(name, index)?;
        Ok(self.state.registers[array][index as usize * limbs])
    }

    /// Writes the lowest 64 bits of a register's cell; higher ones become 0.
    ///
    /// # Errors
    /// There is no such register or cell.
    pub fn set_register(&mut self, name: &str, index: u64, value: u64) -> Result<(), Error> {
        let (array, limbs) = self.cell(name, index)?;
        let bits = self.program.registers[array].bits;
        if bits < 64 && value >> bits != 0 {
            return Err(Error::new(name, format!("{value}: expected at most {bits} bits")));
        }
        let cells = &mut self.state.registers[array][index as usize * limbs..][..limbs];
        cells.fill(0);
        cells[0] = value;
        Ok(())
    }

    fn cell(&self, name: &str, index: u64) -> Result<(usize, usize), Error> {
        let Some(array) = self.program.registers.iter().position(|register| register.name == name) else {
            let names = self.program.registers().collect::<Vec<_>>().join(", ");
            return Err(Error::new(name, format!("no such register; expected one of {names}")));
        };
        let register = &self.program.registers[array];
        if index >= register.size {
            return Err(Error::new(name, format!("index {index}: expected less than {}", register.size)));
        }
        Ok((array, register.limbs()))
    }

    /// The packets and the bytes that an indirect counter counted.
    pub fn counter(&self, name: &str, index: u64) -> Option<[u64; 2]> {
        let array = self.program.counters.iter().position(|counter| counter.name == name)?;
        self.state.counters[array].get(usize::try_from(index).ok()?).copied()
    }

    /// How many digests the program has sent, and how many of its assertions failed.
    pub fn said(&self) -> [u64; 2] {
        [self.state.digests, self.state.failed]
    }

    pub(crate) fn tables_mut(&mut self) -> (&Program, &mut Vec<Table>) {
        (&self.program, &mut self.state.tables)
    }

    /// Packets of the clone session `session` go to these ports, as these replicas.
    pub fn set_session(&mut self, session: u32, ports: Vec<(u32, u32)>) {
        self.state.sessions.insert(session, ports);
    }

    /// Packets of the multicast group `group` go to these ports, as these replicas.
    pub fn set_group(&mut self, group: u32, ports: Vec<(u32, u32)>) {
        self.state.groups.insert(group, ports);
    }

    /// Gives the cell `index` of the meter `name` a committed and a peak rate, in units per second, and their bursts.
    ///
    /// # Errors
    /// There is no such meter or cell.
    pub fn set_meter(&mut self, name: &str, index: u64, rates: [(f64, f64); 2]) -> Result<(), Error> {
        let Some(array) = self.program.meters.iter().position(|meter| meter.name == name) else {
            return Err(Error::new(name, "no such meter"));
        };
        let cells = &mut self.state.meters[array];
        let most = cells.len();
        let Some(cell) = usize::try_from(index).ok().and_then(|index| cells.get_mut(index)) else {
            return Err(Error::new(name, format!("index {index}: expected less than {most}")));
        };
        *cell = Some(rates.map(|(rate, burst)| Bucket { rate, burst, left: burst, at_ns: 0 }));
        Ok(())
    }

    /// How many packets wait for `port`.
    pub fn waiting(&self, port: u32) -> u32 {
        self.ports.get(port as usize).map_or(0, |port| port.waiting)
    }

    /// How many packets wait in the queue of priority `queue` of `port`.
    pub fn queue_len(&self, port: u32, queue: u32) -> u32 {
        let queues = self.ports.get(port as usize).map(|port| &port.queues);
        queues.and_then(|queues| queues.get(queue as usize)).map_or(0, |queue| queue.len() as u32)
    }

    /// How many ports have had packets.
    pub fn ports(&self) -> u32 {
        self.ports.len() as u32
    }

    /// Where the packets of the last call of [`receive`](Self::receive) wait.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let packet = Packet::new(self.program.initial.clone());
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        })
    }

    /// Receives a packet on `port` at time `now_ns`: parses it, runs ingress, and puts it into queues. `length` is what
    /// the program reads as the packet's length: that on the wire, if `bytes` are only the headers.
    pub fn receive(&mut self, port: u32, bytes: &[u8], length: u32, tag: u64, now_ns: u64) -> Outcome {
        self.placed.clear();
        let number = self.take();
        let packet = &mut self.packets[number as usize];
        packet.set_bytes(bytes);
        packet.tag = tag;
        packet.stated_length = length;
        packet.ingress_port = port;
        packet.instance_type = 0;
        self.clear(number);
        let mut lost = self.through_ingress(number, now_ns);
        // What egress sends round again comes in at a later instant; see `send`.
        while let Some(number) = self.again.pop_front() {
            lost += self.through_ingress(number, now_ns);
        }
        Outcome { placed: self.placed.len() as u32, lost }
    }

    /// Sets all fields to 0 and all headers to invalid.
    fn clear(&mut self, number: u32) {
        let program = &self.program;
        let values = &mut self.packets[number as usize].values;
        values.narrow[..program.layout.narrow as usize].fill(0);
        values.wide[..program.layout.wide as usize].fill(0);
        for header in &program.layout.headers {
            if header.metadata {
                values.narrow[header.valid as usize] = 1;
            }
        }
        values.vars.iter_mut().for_each(Vec::clear);
    }

    fn through_ingress(&mut self, number: u32, now_ns: u64) -> u32 {
        let mut lost = 0;
        let mut times = 0;
        loop {
            self.parse(number, now_ns);
            let Self { program, state, packets, .. } = self;
            let packet = &mut packets[number as usize];
            packet.arrival_ns = now_ns;
            state.start(now_ns, packet, !program.calculations.is_empty());
            let mut running = Running { program, state };
            run(&program.code, &program.wide_ops, program.ingress, &mut packet.values, &mut running);
            packet.cut_to = state.cut_to;
            if let Some((session, list)) = self.state.clone.take() {
                lost += self.clone_ingress(number, session, list, now_ns);
            }
            let Some(list) = self.state.resubmit.take().filter(|_| times < RESUBMISSIONS) else { break };
            times += 1;
            self.restart(number, list, RESUBMIT);
        }
        let intrinsic = &self.program.intrinsic;
        let values = &self.packets[number as usize].values;
        let group = get(values, intrinsic.multicast);
        let spec = get(values, intrinsic.egress_spec);
        if group != 0 {
            let members = self.state.groups.remove(&(group as u32)).unwrap_or_default();
            for &(port, replica) in &members {
                let copy = self.copy(number);
                let intrinsic = &self.program.intrinsic;
                let values = &mut self.packets[copy as usize].values;
                set(values, intrinsic.replica, replica);
                set(values, intrinsic.instance_type, REPLICATION);
                self.packets[copy as usize].instance_type = REPLICATION;
                lost += self.put(copy, port, now_ns);
            }
            self.state.groups.insert(group as u32, members);
            self.free.push(number);
        } else if spec == DROP_PORT {
            self.free.push(number);
        } else {
            lost += self.put(number, spec as u32, now_ns);
        }
        lost
    }

    /// A copy of a packet with all of its values.
    fn copy(&mut self, number: u32) -> u32 {
        let copy = self.take();
        let original = std::mem::take(&mut self.packets[number as usize]);
        self.packets[copy as usize].clone_from(&original);
        self.packets[number as usize] = original;
        copy
    }

    /// Lets a packet begin again with the fields of a list, and nothing else.
    fn restart(&mut self, number: u32, list: u32, instance_type: u32) {
        let kept = self.kept(number, list);
        self.clear(number);
        let packet = &mut self.packets[number as usize];
        packet.parsed = 0;
        packet.instance_type = instance_type;
        restore(&mut packet.values, &kept);
        set(&mut packet.values, self.program.intrinsic.instance_type, instance_type);
    }

    /// The values of a list's fields.
    fn kept(&self, number: u32, list: u32) -> Vec<(Slot, Vec<u64>, i128)> {
        let values = &self.packets[number as usize].values;
        let fields = self.program.field_lists.get(&list).map_or(&[][..], Vec::as_slice);
        let kept = |slot| match slot {
            Slot::Narrow(place) => (slot, Vec::new(), values.get(place)),
            Slot::Wide { at, limbs } => (slot, values.wide[at as usize..(at + limbs) as usize].to_vec(), 0),
            Slot::Var(_) => (slot, Vec::new(), 0),
        };
        fields.iter().map(|field| kept(field.slot)).collect()
    }

    fn clone_ingress(&mut self, number: u32, session: u32, list: u32, now_ns: u64) -> u32 {
        let ports = self.state.sessions.get(&session).cloned().unwrap_or_default();
        let mut lost = 0;
        for (port, replica) in ports {
            let copy = self.copy(number);
            self.restart(copy, list, INGRESS_CLONE);
            self.parse(copy, now_ns);
            let intrinsic = &self.program.intrinsic;
            set(&mut self.packets[copy as usize].values, intrinsic.replica, replica);
            lost += self.put(copy, port, now_ns);
        }
        lost
    }

    /// Puts a packet into a queue of `port`; 1 if it is lost.
    fn put(&mut self, number: u32, port: u32, now_ns: u64) -> u32 {
        let priority = get(&self.packets[number as usize].values, self.program.intrinsic.priority);
        let queues = self.limits.queues;
        while self.ports.len() <= port as usize {
            self.ports.push(Port { queues: vec![VecDeque::new(); queues as usize], waiting: 0 });
        }
        let place = &mut self.ports[port as usize];
        let Some(queue) = usize::try_from(priority).ok().and_then(|priority| place.queues.get_mut(priority)) else {
            self.free.push(number);
            return 1;
        };
        if queue.len() as u32 >= self.limits.packets {
            self.free.push(number);
            return 1;
        }
        let packet = &mut self.packets[number as usize];
        packet.depth_then = queue.len() as u32;
        packet.enqueued_ns = now_ns;
        packet.queue = priority as u32;
        queue.push_back(number);
        place.waiting += 1;
        self.placed.push(Placed { port, queue: priority as u32, tag: packet.tag });
        0
    }

    /// Takes the next packet of `port` at time `now_ns` through egress. Packets that egress drops or sends round again do not
    /// count: the one behind them is taken.
    pub fn send(&mut self, port: u32, now_ns: u64) -> Option<Sent<'_>> {
        let number = loop {
            let number = self.pop(port)?;
            if self.through_egress(number, port, now_ns) {
                break number;
            }
        };
        let packet = &self.packets[number as usize];
        // The slot is free, its bytes have gone to `outgoing`.
        self.free.push(number);
        let grown = self.outgoing.bytes.len() as i64 - packet.bytes().len() as i64;
        let length = (i64::from(packet.stated_length) + grown).max(0) as u32;
        Some(Sent { bytes: &self.outgoing.bytes, tag: packet.tag, queue: packet.queue, length })
    }

    /// The queue and the tag of the packet that [`send`](Self::send) takes next, unless egress drops it.
    pub fn next(&self, port: u32) -> Option<(u32, u64)> {
        let place = self.ports.get(port as usize)?;
        let queue = place.queues.iter().rev().find_map(VecDeque::front)?;
        let packet = &self.packets[*queue as usize];
        Some((packet.queue, packet.tag))
    }

    fn pop(&mut self, port: u32) -> Option<u32> {
        let place = self.ports.get_mut(port as usize)?;
        let number = place.queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        place.waiting -= 1;
        let packet = &mut self.packets[number as usize];
        let depth = place.queues[packet.queue as usize].len();
        set(&mut packet.values, self.program.intrinsic.dequeue_depth, depth as i128);
        Some(number)
    }

    /// Whether the packet leaves; its bytes are then in `outgoing`.
    fn through_egress(&mut self, number: u32, port: u32, now_ns: u64) -> bool {
        let Self { program, state, packets, .. } = self;
        let intrinsic = &program.intrinsic;
        let packet = &mut packets[number as usize];
        let values = &mut packet.values;
        set(values, intrinsic.egress_port, port);
        // Nine bits hold the 512 that simple_switch writes as 0.
        set(values, intrinsic.egress_spec, 0);
        set(values, intrinsic.egress_time, keep(i128::from(now_ns / 1000), 48));
        set(values, intrinsic.enqueue_time, keep(i128::from(packet.enqueued_ns / 1000), 32));
        set(values, intrinsic.enqueue_depth, keep(packet.depth_then.into(), 19));
        set(values, intrinsic.waited, keep(i128::from(now_ns / 1000 - packet.enqueued_ns / 1000), 32));
        set(values, intrinsic.queue, keep(packet.queue.into(), 5));
        set(values, intrinsic.packet_length, packet.stated_length);
        state.start(now_ns, packet, !program.calculations.is_empty());
        let mut running = Running { program, state };
        run(&program.code, &program.wide_ops, program.egress, &mut packet.values, &mut running);
        packet.cut_to = packet.cut_to.min(state.cut_to);
        if let Some((session, list)) = self.state.clone.take() {
            self.clone_egress(number, session, list, now_ns);
        }
        let recirculate = self.state.recirculate.take();
        if get(&self.packets[number as usize].values, self.program.intrinsic.egress_spec) == DROP_PORT {
            self.free.push(number);
            return false;
        }
        self.deparse(number);
        if let Some(list) = recirculate {
            self.placed.clear();
            let mut bytes = std::mem::take(&mut self.outgoing.bytes);
            self.packets[number as usize].set_bytes(&bytes);
            bytes.clear();
            self.outgoing.bytes = bytes;
            self.restart(number, list, RECIRCULATED);
            self.again.push_back(number);
            while let Some(number) = self.again.pop_front() {
                self.through_ingress(number, now_ns);
            }
            return false;
        }
        true
    }

    fn clone_egress(&mut self, number: u32, session: u32, list: u32, now_ns: u64) {
        let ports = self.state.sessions.get(&session).cloned().unwrap_or_default();
        for (port, replica) in ports {
            let copy = self.copy(number);
            let kept = self.kept(copy, list);
            let Self { program, packets, .. } = self;
            let packet = &mut packets[copy as usize];
            for header in program.layout.headers.iter().filter(|header| header.metadata) {
                for field in &header.fields {
                    match field.slot {
                        Slot::Narrow(slot) => packet.values.set(slot, 0),
                        Slot::Wide { at, limbs } => packet.values.wide[at as usize..(at + limbs) as usize].fill(0),
                        Slot::Var(_) => {}
                    }
                }
            }
            restore(&mut packet.values, &kept);
            packet.instance_type = EGRESS_CLONE;
            set(&mut packet.values, program.intrinsic.instance_type, EGRESS_CLONE);
            set(&mut packet.values, program.intrinsic.replica, replica);
            self.put(copy, port, now_ns);
        }
    }

    /// Runs the parser over a packet's bytes.
    fn parse(&mut self, number: u32, now_ns: u64) {
        let Self { program, state, packets, .. } = self;
        let packet = &mut packets[number as usize];
        let intrinsic = &program.intrinsic;
        let values = &mut packet.values;
        set(values, intrinsic.ingress_port, keep(packet.ingress_port.into(), 9));
        set(values, intrinsic.packet_length, packet.stated_length);
        set(values, intrinsic.instance_type, packet.instance_type);
        set(values, intrinsic.ingress_time, keep(i128::from(now_ns / 1000), 48));
        state.start(now_ns, packet, !program.calculations.is_empty());
        if let Some(error) = parse(program, state, packet) {
            set(&mut packet.values, intrinsic.parser_error, program.error(error));
        }
        for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
            if state.holds(program, packet, checksum.condition) {
                let Slot::Narrow(slot) = checksum.target.slot else { continue };
                let computed = state.calculate(program, packet, checksum.calculation);
                if keep(i128::from(computed), checksum.target.bits as u8) != packet.values.get(slot) {
                    set(&mut packet.values, intrinsic.checksum_error, 1);
                }
            }
        }
    }

    /// Writes a packet's bytes as they leave to `outgoing`.
    fn deparse(&mut self, number: u32) {
        let Self { program, state, packets, outgoing, .. } = self;
        let packet = &mut packets[number as usize];
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            if state.holds(program, packet, checksum.condition) {
                let Slot::Narrow(slot) = checksum.target.slot else { continue };
                let computed = state.calculate(program, packet, checksum.calculation);
                packet.values.set(slot, keep(i128::from(computed), checksum.target.bits as u8));
            }
        }
        outgoing.clear();
        for &header in &program.deparser {
            let header = &program.layout.headers[header as usize];
            if packet.values.get(header.valid) != 0 {
                header.fields.iter().for_each(|field| outgoing.push_field(field, &packet.values));
            }
        }
        outgoing.push_bytes(&packet.bytes()[packet.parsed..]);
        outgoing.bytes.truncate(packet.cut_to);
    }
}

const INGRESS_CLONE: u32 = 1;
const EGRESS_CLONE: u32 = 2;
const RECIRCULATED: u32 = 4;
const REPLICATION: u32 = 5;
const RESUBMIT: u32 = 6;

fn restore(values: &mut Values, kept: &[(Slot, Vec<u64>, i128)]) {
    for (slot, limbs, value) in kept {
        match *slot {
            Slot::Narrow(slot) => values.set(slot, *value),
            Slot::Wide { at, .. } => values.wide[at as usize..at as usize + limbs.len()].copy_from_slice(limbs),
            Slot::Var(_) => {}
        }
    }
}

impl State {
    /// Gets ready for a packet's code. Calculations may need its payload.
    fn start(&mut self, now_ns: u64, packet: &Packet, payload: bool) {
        self.now_ns = now_ns;
        self.length = u64::from(packet.stated_length);
        self.cut_to = usize::MAX;
        if payload {
            self.packet_bytes.clear();
            self.packet_bytes.extend_from_slice(packet.bytes());
            self.payload = packet.parsed;
        }
    }

    fn holds(&mut self, program: &Program, packet: &mut Packet, condition: Option<(u32, u32)>) -> bool {
        let Some((start, slot)) = condition else { return true };
        run(&program.code, &program.wide_ops, start, &mut packet.values, &mut Running { program, state: self });
        packet.values.get(slot) != 0
    }

    fn calculate(&mut self, program: &Program, packet: &Packet, calculation: u32) -> u64 {
        let payload = &packet.bytes()[packet.parsed..];
        program.calculations[calculation as usize].of(&program.layout.headers, &packet.values, payload, &mut self.bits)
    }
}

/// Runs the parser; the name of the error that ended it, if one did.
fn parse(program: &Program, state: &mut State, packet: &mut Packet) -> Option<&'static str> {
    let mut at = program.parser_start;
    let mut key = std::mem::take(&mut state.bits.words);
    let mut error = None;
    'states: for _ in 0..STATES {
        let current = &program.parser[at as usize];
        for op in &current.ops {
            if let Some(found) = step(program, state, packet, op) {
                error = found;
                break 'states;
            }
        }
        key.clear();
        current.key.iter().for_each(|part| part.gather(&packet.values, &mut key));
        let found = current.transitions.iter().find(|(cells, _)| matches(&current.key, &key, cells));
        match found.map(|(_, next)| *next).or(current.otherwise) {
            Some(Some(next)) => at = next,
            Some(None) => break,
            None => {
                error = Some("NoMatch");
                break;
            }
        }
    }
    state.bits.words = key;
    error
}

/// One operation of the parser; something if it ends the parser: the error, unless the program has set one itself.
fn step(program: &Program, state: &mut State, packet: &mut Packet, op: &ParserOp) -> Option<Option<&'static str>> {
    const SHORT: Option<Option<&str>> = Some(Some("PacketTooShort"));
    match *op {
        ParserOp::Extract(header) => {
            let header = &program.layout.headers[header as usize];
            if packet.left() * 8 < header.fixed_bits as usize {
                return SHORT;
            }
            packet.extract(&header.fields, 0);
            packet.values.set(header.valid, 1);
        }
        ParserOp::ExtractVarying { header, bits } => {
            let header = &program.layout.headers[header as usize];
            let most =
                header.fields.iter().find(|field| matches!(field.slot, Slot::Var(_))).map_or(0, |field| field.bits);
            let bits = match u32::try_from(packet.values.get(bits)) {
                Ok(bits) if bits <= most => bits,
                _ => return Some(Some("HeaderTooShort")),
            };
            if bits % 8 != 0 {
                return Some(Some("ParserInvalidArgument"));
            }
            if packet.left() * 8 < (header.fixed_bits + bits) as usize {
                return SHORT;
            }
            packet.extract(&header.fields, bits);
            packet.values.set(header.valid, 1);
        }
        ParserOp::ExtractNext(stack) => {
            let stack = &program.layout.stacks[stack as usize];
            let next = packet.values.get(stack.next);
            let Some(&header) = stack.headers.get(next as usize) else { return Some(Some("StackOutOfBounds")) };
            let header = &program.layout.headers[header as usize];
            if packet.left() * 8 < header.fixed_bits as usize {
                return SHORT;
            }
            packet.extract(&header.fields, 0);
            packet.values.set(header.valid, 1);
            packet.values.set(stack.next, next + 1);
        }
        ParserOp::Lookahead { to, offset, bits } => {
            if packet.left() * 8 < (offset + bits) as usize {
                return SHORT;
            }
            let value = packet.read(offset as usize, bits);
            packet.values.set(to, value);
        }
        ParserOp::Run(start) => {
            run(&program.code, &program.wide_ops, start, &mut packet.values, &mut Running { program, state });
        }
        ParserOp::Verify { condition, error } => {
            if packet.values.get(condition) == 0 {
                let error = packet.values.get(error);
                set(&mut packet.values, program.intrinsic.parser_error, error);
                return Some(None);
            }
        }
        ParserOp::Advance(bits) => {
            let bits = packet.values.get(bits);
            if bits % 8 != 0 {
                return Some(Some("ParserInvalidArgument"));
            }
            match usize::try_from(bits / 8) {
                Ok(bytes) if bytes <= packet.left() => packet.parsed += bytes,
                _ => return SHORT,
            }
        }
    }
    None
}

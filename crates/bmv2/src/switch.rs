//! A switch that runs a program: registers, tables, and the traffic manager between ingress and egress.

mod parsing;
mod running;
mod state;

use crate::code::{Values, keep, run};
use crate::json::{Error, Number};
use crate::layout::Slot;
use crate::packet::{Bits, Packet};
use crate::program::{DROP_PORT, Program};
use crate::table::Table;
use running::Running;
use state::{Bucket, State, get, set};
pub(crate) use state::{Members, Replication};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The most resubmissions of a packet in a row, which stops a program that would never end.
const RESUBMISSIONS: u32 = 64;

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The strict-priority queues of each port; the one with the highest number is served first.
    pub queues: u32,
    /// The capacity of each queue in packets.
    pub packets: u32,
}

impl Default for Limits {
    /// Eight queues of 64 packets.
    fn default() -> Self {
        Self { queues: 8, packets: 64 }
    }
}

/// The place of a waiting packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its output port.
    pub port: u32,
    /// The queue, by its priority: the highest number is served first.
    pub queue: u32,
    /// The tag with which its original was received.
    pub tag: u64,
}

/// The outcome of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The number of its packets in queues: 0 if it was dropped, more than 1 if it was copied.
    pub placed: u32,
    /// The number of its packets lost because there was no room or no queue.
    pub lost: u32,
}

/// A packet that went through ingress and waits outside of the switch; see [`Switch::admit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Its place in the switch, for [`Switch::leave`] or [`Switch::forget`].
    pub place: u32,
    /// The port that the program names.
    pub port: u32,
}

/// The facts about a packet that leaves a queue outside of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The queue that it was in.
    pub queue: u32,
    /// The time at which it entered the queue.
    pub since_ns: u64,
    /// The number of packets in the queue before it entered.
    pub depth_then: u32,
    /// The number of packets behind it.
    pub depth: u32,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The tag with which its original was received.
    pub tag: u64,
    /// Its queue.
    pub queue: u32,
    /// The stated length plus the growth of its headers.
    pub length: u32,
}

#[derive(Clone, Debug)]
struct Port {
    queues: Vec<VecDeque<u32>>,
    waiting: u32,
}

/// A switch that runs a program.
pub struct Switch {
    program: Arc<Program>,
    state: State,
    packets: Vec<Packet>,
    free: Vec<u32>,
    ports: Vec<Port>,
    limits: Limits,
    /// The output port of every packet, whatever the program chooses; `None` if the program decides.
    only_port: Option<u32>,
    /// The place of each copy of the last packet.
    placed: Vec<Placed>,
    outgoing: Bits,
    /// Packets that pass ingress again.
    again: VecDeque<u32>,
    pub(crate) replication: Replication,
}

impl Switch {
    /// A switch with registers of 0 and the entries of the program.
    pub fn new(program: Arc<Program>, limits: Limits, seed: u64) -> Self {
        let state = State::new(&program, seed);
        Self {
            program,
            state,
            packets: Vec::new(),
            free: Vec::new(),
            ports: Vec::new(),
            limits,
            only_port: None,
            placed: Vec::new(),
            outgoing: Bits::default(),
            again: VecDeque::new(),
            replication: Replication::default(),
        }
    }

    /// A switch with one port: packets that the program does not drop wait at `port`, whatever port it chooses.
    pub fn of_one_port(program: Arc<Program>, limits: Limits, seed: u64, port: u32) -> Self {
        Self { only_port: Some(port), ..Self::new(program, limits, seed) }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The cell `index` of the register `name`: its lowest 64 bits.
    ///
    /// # Errors
    /// There is no such register or cell.
    pub fn register(&self, name: &str, index: u64) -> Result<u64, Error> {
        let (_, cell) = self.cell(name, index)?;
        Ok(self.state.cells[cell.start])
    }

    /// Writes the lowest 64 bits of a register's cell; higher ones become 0.
    ///
    /// # Errors
    /// There is no such register or cell.
    pub fn set_register(&mut self, name: &str, index: u64, value: u64) -> Result<(), Error> {
        let (bits, cell) = self.cell(name, index)?;
        if bits < 64 && value >> bits != 0 {
            return Err(Error::new(name, format!("{value}: expected at most {bits} bits")));
        }
        let limbs = &mut self.state.cells[cell];
        limbs.fill(0);
        limbs[0] = value;
        Ok(())
    }

    /// The width of a register and the place of a cell.
    fn cell(&self, name: &str, index: u64) -> Result<(u32, Range<usize>), Error> {
        let Some(register) = self.program.registers.iter().find(|register| register.name == name) else {
            let names = self.program.registers().collect::<Vec<_>>().join(", ");
            return Err(Error::new(name, format!("no such register; expected one of {names}")));
        };
        match register.cell(index.into()) {
            Some(cell) => Ok((register.bits, cell)),
            None => Err(Error::new(name, format!("index {index}: expected less than {}", register.size))),
        }
    }

    /// All cells of all registers, in the order of the program, in limbs of 64 bits, lowest first.
    pub fn register_cells(&self) -> impl Iterator<Item = u64> + '_ {
        self.state.cells.iter().copied()
    }

    /// Whether the control plane has set up copies of packets.
    pub fn makes_copies(&self) -> bool {
        !self.state.sessions.is_empty() || !self.state.groups.is_empty()
    }

    /// The packets and bytes of an indirect counter.
    pub fn counter(&self, name: &str, index: u64) -> Option<[u64; 2]> {
        let array = self.program.counters.iter().position(|counter| counter.name == name)?;
        self.state.counters[array].get(usize::try_from(index).ok()?).copied()
    }

    /// The number of digests sent, of failed assertions, and of loops that were left after too many rounds.
    pub fn said(&self) -> [u64; 3] {
        [self.state.digests, self.state.failed, self.state.endless]
    }

    /// The members and groups of an action profile.
    pub(crate) fn members(&mut self, profile: u32) -> &mut Members {
        &mut self.state.profiles[profile as usize]
    }

    /// Adds a value to a value set of the parser. The value has the fields of the key in sequence.
    pub(crate) fn add_to_set(&mut self, set: &str, text: &str) -> Result<(), String> {
        let mut found = false;
        for (used, values) in self.program.set_uses.iter().zip(&mut self.state.sets) {
            if used.set != set {
                continue;
            }
            found = true;
            let mut left = used.key.bits();
            let number = Number::of_text(text, left)?;
            let mut limbs = Vec::new();
            for part in &used.key.parts {
                left -= part.bits;
                limbs.extend(number.slice(left, part.bits));
            }
            let every = vec![u64::MAX; limbs.len()];
            values.extend(used.key.cells(&limbs, used.mask.as_deref().unwrap_or(&every)));
        }
        if found { Ok(()) } else { Err(format!("{set}: expected the name of a value set that the parser uses")) }
    }

    pub(crate) fn tables_mut(&mut self) -> (&Program, &mut Vec<Table>) {
        (&self.program, &mut self.state.tables)
    }

    /// Sets the ports and replica numbers of the clone session `session`.
    pub fn set_session(&mut self, session: u32, ports: Vec<(u32, u32)>) {
        self.state.sessions.insert(session, ports);
    }

    /// Sets the ports and replica numbers of the multicast group `group`.
    pub fn set_group(&mut self, group: u32, ports: Vec<(u32, u32)>) {
        self.state.groups.insert(group, ports);
    }

    /// Sets the committed and the peak rate of the cell `index` of the meter `name`, in units per second, and their
    /// bursts.
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

    /// The number of packets that wait for `port`.
    pub fn waiting(&self, port: u32) -> u32 {
        self.ports.get(port as usize).map_or(0, |port| port.waiting)
    }

    /// The number of packets in the queue of priority `queue` of `port`.
    pub fn queue_len(&self, port: u32, queue: u32) -> u32 {
        let queues = self.ports.get(port as usize).map(|port| &port.queues);
        queues.and_then(|queues| queues.get(queue as usize)).map_or(0, |queue| queue.len() as u32)
    }

    /// The number of ports that have had packets.
    pub fn ports(&self) -> u32 {
        self.ports.len() as u32
    }

    /// The places of the packets of the last call of [`receive`](Self::receive).
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    fn parse(&mut self, number: u32, now_ns: u64) {
        parsing::parse(&self.program, &mut self.state, &mut self.packets[number as usize], now_ns);
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let packet = Packet::new(self.program.initial.clone());
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        })
    }

    /// Receives a packet on `port` at time `now_ns`: parses it, runs ingress, and puts it into queues. The program
    /// reads `length` as the packet's length: the length on the wire, if `bytes` has only the headers.
    pub fn receive(&mut self, port: u32, bytes: &[u8], length: u32, tag: u64, now_ns: u64) -> Outcome {
        self.placed.clear();
        let number = self.enter(port, bytes, length, tag);
        let mut lost = self.through_ingress(number, now_ns);
        // Packets that egress recirculates enter at a later time; see `send`.
        while let Some(number) = self.again.pop_front() {
            lost += self.through_ingress(number, now_ns);
        }
        Outcome { placed: self.placed.len() as u32, lost }
    }

    /// As [`receive`](Self::receive), for a packet that then waits in a queue of the caller; `None` if the program drops it. Makes no
    /// copies: see [`makes_copies`](Self::makes_copies).
    pub fn admit(&mut self, port: u32, bytes: &[u8], length: u32, now_ns: u64) -> Option<Admitted> {
        let place = self.enter(port, bytes, length, 0);
        self.run_ingress(place, now_ns);
        let intrinsic = &self.program.intrinsic;
        let values = &self.packets[place as usize].values;
        let (group, spec) = (get(values, intrinsic.multicast), get(values, intrinsic.egress_spec));
        if group != 0 || spec == DROP_PORT {
            self.free.push(place);
            return None;
        }
        Some(Admitted { place, port: spec as u32 })
    }

    /// Runs egress for an [admitted](Self::admit) packet that leaves `port`; `None` if the program drops it.
    pub fn leave(&mut self, place: u32, port: u32, waited: Waited, now_ns: u64) -> Option<Sent<'_>> {
        let packet = &mut self.packets[place as usize];
        packet.queue = waited.queue;
        packet.enqueued_ns = waited.since_ns;
        packet.depth_then = waited.depth_then;
        set(&mut packet.values, self.program.intrinsic.dequeue_depth, waited.depth);
        self.through_egress(place, port, now_ns).then(|| self.sent(place))
    }

    /// Removes an [admitted](Self::admit) packet that the caller dropped.
    pub fn forget(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Creates the state of a packet before parsing.
    fn enter(&mut self, port: u32, bytes: &[u8], length: u32, tag: u64) -> u32 {
        let number = self.take();
        let packet = &mut self.packets[number as usize];
        packet.set_bytes(bytes);
        packet.tag = tag;
        packet.stated_length = length;
        packet.ingress_port = port;
        packet.instance_type = 0;
        self.clear(number);
        number
    }

    /// Sets all fields to 0 and all headers but metadata to invalid.
    fn clear(&mut self, number: u32) {
        let program = &self.program;
        let values = &mut self.packets[number as usize].values;
        let narrow = ..program.layout.narrow as usize;
        values.narrow[narrow].copy_from_slice(&program.initial.narrow[narrow]);
        values.wide[..program.layout.wide as usize].fill(0);
        values.vars.iter_mut().for_each(Vec::clear);
    }

    /// Parses a packet and runs ingress, again if the packet is resubmitted. Returns the number of lost clones.
    fn run_ingress(&mut self, number: u32, now_ns: u64) -> u32 {
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
        lost
    }

    fn through_ingress(&mut self, number: u32, now_ns: u64) -> u32 {
        let mut lost = self.run_ingress(number, now_ns);
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

    /// Resets a packet, keeping only the fields of a list.
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
        let port = self.only_port.unwrap_or(port);
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

    /// Runs egress at time `now_ns` for the next packet of `port`. If egress drops or recirculates it, continues with the
    /// one behind it.
    pub fn send(&mut self, port: u32, now_ns: u64) -> Option<Sent<'_>> {
        let number = loop {
            let number = self.pop(port)?;
            if self.through_egress(number, port, now_ns) {
                break number;
            }
        };
        Some(self.sent(number))
    }

    /// As [`send`](Self::send), for a single packet.
    ///
    /// # Errors
    /// The tag of a packet that egress drops or recirculates.
    pub fn send_next(&mut self, port: u32, now_ns: u64) -> Option<Result<Sent<'_>, u64>> {
        let number = self.pop(port)?;
        let tag = self.packets[number as usize].tag;
        Some(if self.through_egress(number, port, now_ns) { Ok(self.sent(number)) } else { Err(tag) })
    }

    /// Frees a packet whose bytes are in `outgoing`.
    fn sent(&mut self, number: u32) -> Sent<'_> {
        self.free.push(number);
        let packet = &self.packets[number as usize];
        let grown = self.outgoing.bytes().len() as i64 - packet.bytes().len() as i64;
        let length = (i64::from(packet.stated_length) + grown).max(0) as u32;
        Sent { bytes: self.outgoing.bytes(), tag: packet.tag, queue: packet.queue, length }
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

    /// Runs egress; returns whether the packet leaves, with its bytes in `outgoing`.
    fn through_egress(&mut self, number: u32, port: u32, now_ns: u64) -> bool {
        let Self { program, state, packets, .. } = self;
        let intrinsic = &program.intrinsic;
        let packet = &mut packets[number as usize];
        let values = &mut packet.values;
        set(values, intrinsic.egress_port, port);
        // simple_switch writes 512, which is 0 in nine bits.
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
        parsing::deparse(&self.program, &mut self.state, &mut self.packets[number as usize], &mut self.outgoing);
        if let Some(list) = recirculate {
            self.placed.clear();
            self.packets[number as usize].set_bytes(self.outgoing.bytes());
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

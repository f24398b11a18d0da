//! A P4 program as the scheduler of a port: the output of p4c for `v1model`, which the crate `bmv2` runs for each
//! packet.
//!
//! The program decides on arrival (ingress) whether a packet is dropped and in which strict-priority queue it waits,
//! and runs again when it leaves (egress). Both use the same registers: ingress reads a value as late as on the switch
//! after egress wrote it.
//!
//! Parameters: the program, and entries of its tables and registers as commands of `simple_switch_CLI`; the queues of
//! the port and the capacity of each in packets; the position of the rank in a packet; whether marks of the program
//! count.
//!
//! Cost: the program's code, about 0.1 to 10 us per packet; its registers are the state.
//!
//! A packet of the simulator becomes a frame: Ethernet, IPv4, UDP and eight bytes of payload, with the packet's size as
//! `packet_length`, but at least the frame's 50 bytes: a shorter frame has no room for a rank. MAC and IPv4 addresses
//! are the hosts if these are known (a number n below 2^24 is 10.0.0.0 + n). The UDP ports are the flow, with its high
//! half in the source port. DSCP and ECN are the packet's. The frame enters at port 0 and leaves at port 1, whatever
//! port the program chooses, since the network routes packets.
//!
//! Deviations from a switch: only the ECN field of the outgoing frame is read, the size of a packet does not change,
//! and no packet is copied or recirculated.

mod frame;
mod program;
pub mod switch;

use crate::entry::{BY_RANK, Look, Traits};
use crate::made::{ACCEPTED, Made, Make};
use frame::{Frame, MARKED};
use pifolab_bmv2::{Limits, Program, Switch, entries};
use pifolab_fast::Form;
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, Info, Param, ParamError, QUEUES};
use pifolab_sched::{
    Capacity, Dequeued, DropReason, Enqueued, Fact, Facts, Held, Hints, Inspect, Kept, Labels, Packet, Register,
    Scheduler, WantedFacts,
};
use pifolab_units::{Bytes, Time};
use program::{ENTRIES, MARKS, PROGRAM, RANK, RankIn, load, refuse_copies, text};
use std::any::Any;
use std::sync::Arc;

/// The priority of `v1model` has three bits.
const MOST_QUEUES: u64 = 8;
const IN_PORT: u32 = 0;
const OUT_PORT: u32 = 1;

const P4_QUEUES: Param = Param::integer(QUEUES.name, 1, MOST_QUEUES)
    .unit("queues")
    .or_integer(8)
    .doc("The strict-priority queues of the port. Priority 7 of eight is served first, and is queue 0 here.");
const DEPTH: Param = Param::integer("queue_capacity_packets", 1, 1 << 20)
    .unit("packets")
    .or_integer(64)
    .doc("The most packets that each queue holds, whatever the program admits. 64 is BMv2's depth.");

pub(crate) const INFO: Info = Info {
    name: "p4",
    summary: "A P4 program, compiled by p4c for BMv2, that drops packets or chooses their queue.",
    paper: "none: the program is the user's",
    effect: "The program decides drops and queues; queues are served by strict priority.",
    state: "the program's registers",
    cost: "the program's, interpreted",
    params: &[PROGRAM, ENTRIES, P4_QUEUES, DEPTH, RANK, MARKS],
};

/// A program may read every field.
pub(crate) const TRAITS: Traits = Traits { reads_flows: true, reads_time: true, tests_arrivals: true, ..BY_RANK };

pub(crate) const LOOK: Look = Look { label: "P4", colour: "#225522", dash: &[7, 3, 1, 3], marker: "H" };

/// The keys that name files.
pub(crate) const FILES: &[&str] = &[PROGRAM.name, ENTRIES.name];

/// The parameters of a port.
#[derive(Clone)]
struct P4Params {
    program: Arc<Program>,
    entries: String,
    limits: Limits,
    rank: RankIn,
    marks: bool,
}

impl Make for P4Params {
    fn params(&self) -> &dyn Any {
        self
    }

    fn scheduler(&self, _form: Form) -> BoxedScheduler {
        Box::new(P4::new(self).expect(ACCEPTED))
    }
}

/// Reads its arguments.
pub(crate) fn read(mut args: Args) -> Result<Made, ParamError> {
    let file: String = args.given(&PROGRAM)?;
    let listed: Option<String> = args.get(&ENTRIES)?;
    let owner = args.owner().to_owned();
    let wrong = |row: &Param, file: &str, problem: String| ParamError {
        owner: owner.clone(),
        key: row.name.to_owned(),
        value: Some(format!("{file:?}")),
        expected: problem,
    };
    let program = load(&file).map_err(|problem| wrong(&PROGRAM, &file, problem))?;
    let refused = |problem: String| wrong(&ENTRIES, listed.as_deref().unwrap_or_default(), problem);
    let lines = listed.as_deref().map_or_else(|| Ok(String::new()), text).map_err(refused)?;
    let queues: u32 = args.given(&P4_QUEUES)?;
    let limits = Limits { queues, packets: args.given(&DEPTH)? };
    let params = P4Params {
        program: Arc::new(program),
        entries: lines,
        limits,
        rank: args.given(&RANK)?,
        marks: args.given(&MARKS)?,
    };
    args.finish(INFO.params)?;
    P4::new(&params).map_err(refused)?;
    Ok(Made::new(params))
}

/// The length of a packet's frame that the program reads.
fn length_of(packet: &Packet) -> u32 {
    packet.size.max(frame::BYTES as u32)
}

/// A waiting packet.
#[derive(Default)]
struct Waiting {
    packet: Packet,
    /// Whether its ECN field was 3 at its arrival.
    marked: bool,
}

/// A port whose scheduler is a program.
struct P4 {
    switch: Switch,
    rank: RankIn,
    marks: bool,
    limits: Limits,
    /// The packets behind the tags of the switch.
    waiting: Vec<Waiting>,
    free: Vec<u32>,
    held: Vec<Held>,
    frame: Frame,
    /// The id and the header fields of the next arrival.
    told: Option<(u64, Labels)>,
    mark: bool,
}

impl P4 {
    fn new(params: &P4Params) -> Result<Self, String> {
        let P4Params { program, limits, rank, marks, .. } = params;
        let mut switch = Switch::of_one_port(program.clone(), limits.clone(), 0, OUT_PORT);
        entries::configure(&mut switch, &params.entries).map_err(|error| error.to_string())?;
        refuse_copies(&switch)?;
        Ok(Self {
            switch,
            rank: *rank,
            marks: *marks,
            limits: limits.clone(),
            waiting: Vec::new(),
            free: Vec::new(),
            held: vec![Held::default(); limits.queues as usize],
            frame: Frame::new(),
            told: None,
            mark: false,
        })
    }

    /// The library's number of a queue: 0 is served first.
    fn queue(&self, priority: u32) -> u32 {
        self.limits.queues - 1 - priority
    }

    fn take(&mut self, tag: u64) -> Waiting {
        self.free.push(tag as u32);
        std::mem::take(&mut self.waiting[tag as usize])
    }
}

impl Scheduler for P4 {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let labels = match self.told.take() {
            Some((id, labels)) if id == packet.id => labels,
            _ => Labels::default(),
        };
        let length = length_of(&packet);
        let tag = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(Waiting::default());
            self.waiting.len() as u32 - 1
        });
        let frame = self.frame.write(&packet, &labels, length, self.rank);
        let outcome = self.switch.receive(IN_PORT, frame, length, tag.into(), now.as_ns());
        let Some(placed) = self.switch.placed().first() else {
            self.free.push(tag);
            let reason = if outcome.lost > 0 { DropReason::Full } else { DropReason::Admission };
            return Enqueued::Dropped { packet, reason };
        };
        let queue = self.queue(placed.queue);
        let held = &mut self.held[queue as usize];
        *held = Held { packets: held.packets + 1, bytes: held.bytes + Bytes(packet.size.into()) };
        let rank = packet.rank;
        self.waiting[tag as usize] = Waiting { packet, marked: labels.ecn == MARKED };
        Enqueued::Admitted { queue, rank }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        let Some((priority, _)) = self.switch.next(OUT_PORT) else { return Dequeued::Empty };
        let queue = self.queue(priority);
        let left = self.switch.send_next(OUT_PORT, now.as_ns()).expect("one waits");
        let left = left.map(|sent| (sent.tag, frame::ecn_of(sent.bytes)));
        let (tag, ecn) = left.unwrap_or_else(|tag| (tag, 0));
        let Waiting { packet, marked } = self.take(tag);
        let held = &mut self.held[queue as usize];
        *held = Held { packets: held.packets - 1, bytes: held.bytes - Bytes(packet.size.into()) };
        match left {
            Ok(_) => {
                self.mark = self.marks && ecn == MARKED && !marked;
                Dequeued::Packet { packet, queue }
            }
            Err(_) => Dequeued::Dropped { packet, reason: DropReason::Aqm },
        }
    }

    fn wants(&self) -> WantedFacts {
        let needs = if self.marks { Facts::one(Fact::Ecn) } else { Facts::NONE };
        let reads = Facts::one(Fact::Hosts).with(Fact::Dscp).with(Fact::Ecn);
        WantedFacts { needs, reads }
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        self.told = Some((id, hints.labels));
    }

    fn take_mark(&mut self) -> bool {
        std::mem::take(&mut self.mark)
    }
}

impl Inspect for P4 {
    fn held(&self, queue: Option<usize>) -> Held {
        match queue {
            None => self.held.iter().copied().sum(),
            Some(queue) => self.held.get(queue).copied().unwrap_or_default(),
        }
    }

    fn capacity(&self) -> Capacity {
        Capacity::Packets(self.limits.queues * self.limits.packets)
    }

    fn queues(&self) -> usize {
        self.held.len()
    }

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        each(&Cells(&self.switch));
    }
}

/// The cells of a program's registers.
struct Cells<'a>(&'a Switch);

impl Register for Cells<'_> {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.0.register_cells().for_each(|cell| visit(cell as i64));
    }

    fn kept(&self) -> Kept {
        Kept::bytes(8 * self.0.register_cells().count())
    }
}

#[cfg(test)]
mod tests;

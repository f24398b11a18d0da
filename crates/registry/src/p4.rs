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

use crate::entry::{BY_RANK, Look, Traits};
use crate::made::{ACCEPTED, Made, Make};
use flate2::read::MultiGzDecoder;
use pifolab_bmv2::{Limits, Program, Switch, entries};
use pifolab_fast::Form;
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, Info, Kind, Param, ParamError, QUEUES, choices};
use pifolab_sched::{
    Capacity, Dequeued, DropReason, Enqueued, Fact, Facts, Held, Hints, Inspect, Kept, Labels, Packet, Register,
    Scheduler, WantedFacts,
};
use pifolab_units::{Bytes, Time};
use std::any::Any;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

choices! {
    /// The position of the rank in a packet.
    enum RankIn {
        Payload = "payload": "a big-endian integer of eight bytes that begins the payload of UDP",
        Dscp = "dscp": "the DSCP; ranks above 63 are 63",
    }
}

/// The priority of `v1model` has three bits.
const MOST_QUEUES: u64 = 8;
const IN_PORT: u32 = 0;
const OUT_PORT: u32 = 1;

const PROGRAM: Param = Param::new("program", Kind::Text).doc(
    "The file that p4c wrote for BMv2 (architecture v1model), JSON or gzipped JSON. pifolab dataplane p4 compile writes one of \
     the library's parameters.",
);
const ENTRIES: Param = Param::new("entries", Kind::Text)
    .means("no entries but those of the program")
    .doc("A file with entries of tables, registers and meters, one command of simple_switch_CLI per line.");
const P4_QUEUES: Param = Param::integer(QUEUES.name, 1, MOST_QUEUES)
    .unit("queues")
    .or_integer(8)
    .doc("The strict-priority queues of the port. Priority 7 of eight is served first, and is queue 0 here.");
const DEPTH: Param = Param::integer("queue_capacity_packets", 1, 1 << 20)
    .unit("packets")
    .or_integer(64)
    .doc("The most packets that each queue holds, whatever the program admits. 64 is BMv2's depth.");
const RANK: Param =
    Param::choice::<RankIn>("rank").or_word(RankIn::Payload.word()).doc("The position of the rank in a packet.");
const MARKS: Param = Param::flag("ecn")
    .or_flag(false)
    .doc("Whether packets whose ECN field the program sets to 3 are marked. Needs the ECN codepoint of each packet.");

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
    let owner = args.owner().to_owned();
    let wrong = |row: &Param, file: &str, problem: String| ParamError {
        owner: owner.clone(),
        key: row.name.to_owned(),
        value: Some(format!("{file:?}")),
        expected: problem,
    };
    let text = content(&file).map_err(|problem| wrong(&PROGRAM, &file, problem))?;
    let program = Program::load(&text).map_err(|error| wrong(&PROGRAM, &file, error.to_string()))?;
    if program.recirculates() {
        return Err(wrong(&PROGRAM, &file, "recirculate: expected a program that sends no packet round again".into()));
    }
    let listed: Option<String> = args.get(&ENTRIES)?;
    let refused = |problem: String| wrong(&ENTRIES, listed.as_deref().unwrap_or_default(), problem);
    let lines = listed.as_deref().map_or_else(|| Ok(Vec::new()), content).map_err(refused)?;
    let lines = String::from_utf8(lines).map_err(|_| refused("expected text in UTF-8".into()))?;
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

/// The content of a file, decompressed if it starts like gzip.
fn content(file: &str) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(file).map_err(said)?.is_file() {
        return Err("expected a file".into());
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(said)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).map_err(said)?;
        return Ok(text);
    }
    Ok(bytes)
}

const FRAME_BYTES: usize = 50;
const IPV4: usize = 14;
const UDP: usize = 34;
const PAYLOAD: usize = 42;
const MARKED: u8 = 3;

/// The length of a packet's frame that the program reads.
fn length_of(packet: &Packet) -> u32 {
    packet.size.max(FRAME_BYTES as u32)
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
    frame: [u8; FRAME_BYTES],
    /// The id and the header fields of the next arrival.
    told: Option<(u64, Labels)>,
    mark: bool,
}

impl P4 {
    fn new(params: &P4Params) -> Result<Self, String> {
        let P4Params { program, limits, rank, marks, .. } = params;
        let mut switch = Switch::of_one_port(program.clone(), limits.clone(), 0, OUT_PORT);
        entries::configure(&mut switch, &params.entries).map_err(|error| error.to_string())?;
        if switch.makes_copies() {
            return Err("mirroring and multicast groups: expected no entry that copies packets".into());
        }
        let mut frame = [0; FRAME_BYTES];
        (frame[0], frame[6], frame[12]) = (2, 2, 8);
        (frame[IPV4], frame[IPV4 + 8], frame[IPV4 + 9]) = (0x45, 64, 17);
        Ok(Self {
            switch,
            rank: *rank,
            marks: *marks,
            limits: limits.clone(),
            waiting: Vec::new(),
            free: Vec::new(),
            held: vec![Held::default(); limits.queues as usize],
            frame,
            told: None,
            mark: false,
        })
    }

    /// Writes the frame of a packet.
    fn write_frame(&mut self, packet: &Packet, labels: &Labels) {
        let address = |host: u32| if host < 1 << 24 { 10 << 24 | host } else { host }.to_be_bytes();
        let (source, destination) = (address(labels.source), address(labels.destination));
        let length =
            |headers: usize| u16::try_from(length_of(packet) - headers as u32).unwrap_or(u16::MAX).to_be_bytes();
        let rank = packet.rank.get();
        let (dscp, carried) = match self.rank {
            RankIn::Payload => (labels.dscp, rank),
            RankIn::Dscp => (rank.min(63) as u8, 0),
        };
        let frame = &mut self.frame;
        let mut put = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
        put(2, &destination);
        put(8, &source);
        put(IPV4 + 1, &[dscp << 2 | labels.ecn & 3]);
        put(IPV4 + 2, &length(IPV4));
        put(IPV4 + 10, &[0, 0]);
        put(IPV4 + 12, &source);
        put(IPV4 + 16, &destination);
        put(UDP, &packet.flow.to_be_bytes());
        put(UDP + 4, &length(UDP));
        put(PAYLOAD, &carried.to_be_bytes());
        let words = self.frame[IPV4..UDP].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
        self.frame[IPV4 + 10..IPV4 + 12].copy_from_slice(&checksum.to_be_bytes());
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
        self.write_frame(&packet, &labels);
        let tag = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(Waiting::default());
            self.waiting.len() as u32 - 1
        });
        let outcome = self.switch.receive(IN_PORT, &self.frame, length_of(&packet), tag.into(), now.as_ns());
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
        let left = left.map(|sent| {
            let ecn = match sent.bytes {
                [_, _, _, _, _, _, _, _, _, _, _, _, 8, 0, _, service, ..] => service & 3,
                _ => 0,
            };
            (sent.tag, ecn)
        });
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

//! A P4 program as the switches of a network: it chooses the port of each packet (ingress), and runs again when the packet leaves
//! the port's scheduler (egress), which may be any. The switches of a run have a copy of the program each, with registers and tables of
//! its own.
//!
//! Packets carry their bytes from switch to switch: the first switch gets the [frame](super::frame) of the packet, each further one what the
//! switch before sent. Where no program forwards, no packet has bytes.

use super::frame::{self, Frame, MARKED};
pub use super::program::RankIn;
use super::program::{self, ENTRIES, MARKS, PROGRAM, RANK};
use pifolab_bmv2::{Admitted, Limits, Program, Switch, Waited, entries};
use pifolab_sched::params::Param;
use pifolab_sched::{
    Dequeued, DropReason, Enqueued, Fact, Facts, Hints, Inspect, Labels, Packet, Scheduler, WantedFacts,
};
use pifolab_units::Time;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A packet passes no more switches than this.
const MOST_HOPS: u32 = 255;

const SWITCH_ENTRIES: Param = ENTRIES.doc(
    "A file with entries of tables, registers and meters, a line each, in the words of simple_switch_CLI. What follows a line \
     \"switch NAME ...\" is for those switches, by name or number; what stands before the first is for all.",
);
const SWITCH_MARKS: Param =
    MARKS.doc("Whether a packet is marked for its transport whose ECN field the program sets to 3.");

/// The keys of `[switch]`.
pub const SWITCH: &[Param] = &[PROGRAM, SWITCH_ENTRIES, RANK, SWITCH_MARKS];

/// The program of a network's switches.
#[derive(Clone)]
pub struct SwitchProgram {
    program: Arc<Program>,
    /// Those of each switch.
    entries: Arc<Vec<String>>,
    rank: RankIn,
    marks: bool,
}

impl fmt::Debug for SwitchProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchProgram").field("switches", &self.entries.len()).finish_non_exhaustive()
    }
}

impl SwitchProgram {
    /// The program in the file `program`, for so many switches, with the entries in the file `entries`; `find` gives the number of
    /// the switch of a name.
    ///
    /// # Errors
    /// The key of the file that cannot be, and why.
    pub fn read(
        program: &str,
        entries: Option<&str>,
        rank: RankIn,
        marks: bool,
        switches: u32,
        find: &dyn Fn(&str) -> Result<u32, String>,
    ) -> Result<Self, (&'static str, String)> {
        let program = program::load(program).map_err(|problem| (PROGRAM.name, problem))?;
        let wrong = |problem: String| (ENTRIES.name, problem);
        let text = entries.map_or_else(|| Ok(String::new()), program::text).map_err(wrong)?;
        let entries = Arc::new(of_each_switch(&text, switches, find).map_err(wrong)?);
        let read = Self { program: Arc::new(program), entries, rank, marks };
        for entries in read.entries.iter() {
            read.switch(entries).map_err(wrong)?;
        }
        Ok(read)
    }

    /// Whether packets are marked that the program marks.
    pub const fn marks(&self) -> bool {
        self.marks
    }

    fn switch(&self, entries: &str) -> Result<Switch, String> {
        let mut switch = Switch::new(self.program.clone(), Limits::default(), 0);
        entries::configure(&mut switch, entries).map_err(|error| error.to_string())?;
        program::refuse_copies(&switch)?;
        Ok(switch)
    }

    /// The switches of one run.
    ///
    /// # Panics
    /// Never: the entries were tried when they were read.
    pub fn fabric(&self) -> Fabric {
        let switches = self.entries.iter().map(|entries| self.switch(entries).expect("it was made once")).collect();
        let (rank, marks, frame) = (self.rank, self.marks, Frame::new());
        Fabric(Rc::new(RefCell::new(State { switches, carried: Vec::new(), frame, rank, marks })))
    }
}

/// The lines for each switch; other lines are blank there, so that numbers of lines are those of the file.
fn of_each_switch(
    text: &str,
    switches: u32,
    find: &dyn Fn(&str) -> Result<u32, String>,
) -> Result<Vec<String>, String> {
    let mut all = vec![String::new(); switches as usize];
    let mut chosen: Option<Vec<u32>> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let heading = words.next() == Some("switch");
        if heading {
            let names: Result<Vec<u32>, String> = words.map(find).collect();
            let names = names.map_err(|problem| format!("line {number}: {problem}"))?;
            if names.is_empty() {
                return Err(format!("line {number}: switch: expected the names of switches"));
            }
            chosen = Some(names);
        }
        for (switch, lines) in (0..).zip(&mut all) {
            if !heading && chosen.as_ref().is_none_or(|chosen| chosen.contains(&switch)) {
                lines.push_str(line);
            }
            lines.push('\n');
        }
    }
    Ok(all)
}

/// What a packet has with it.
#[derive(Default)]
struct Carried {
    bytes: Vec<u8>,
    /// Bytes on the wire, those included that the simulator does not have,
    size: u32,
    /// and as the program reads them.
    length: u32,
    hops: u32,
    /// Its place in the switch where it is.
    place: u32,
    queue: u32,
    since_ns: u64,
    depth_then: u32,
}

/// The switches of a run.
#[derive(Clone)]
pub struct Fabric(Rc<RefCell<State>>);

struct State {
    switches: Vec<Switch>,
    /// By the ids of packets.
    carried: Vec<Carried>,
    frame: Frame,
    rank: RankIn,
    marks: bool,
}

impl Fabric {
    /// A packet has come to a switch, on its port `port`; `fresh`: from a host. Returns the port that it leaves through and its bytes on
    /// the wire; `None` if the program drops it.
    pub fn receive(
        &self,
        switch: u32,
        port: u32,
        packet: &Packet,
        labels: &Labels,
        fresh: bool,
        now: Time,
    ) -> Option<(u32, u32)> {
        let State { switches, carried, frame, rank, .. } = &mut *self.0.borrow_mut();
        let id = packet.id as usize;
        if id >= carried.len() {
            carried.resize_with(id + 1, Carried::default);
        }
        let carried = &mut carried[id];
        if fresh {
            (carried.size, carried.hops) = (packet.size, 0);
            carried.length = packet.size.max(frame::BYTES as u32);
            carried.bytes.clear();
            carried.bytes.extend_from_slice(frame.write(packet, labels, carried.length, *rank));
        } else {
            carried.length = carried.size.max(carried.bytes.len() as u32);
            if labels.ecn == MARKED && frame::ecn_of(&carried.bytes) != MARKED {
                frame::mark(&mut carried.bytes);
            }
        }
        carried.hops += 1;
        if carried.hops > MOST_HOPS {
            return None;
        }
        let admitted = switches[switch as usize].admit(port, &carried.bytes, carried.length, now.as_ns())?;
        let Admitted { place, port } = admitted;
        carried.place = place;
        Some((port, carried.size))
    }

    /// A packet that a switch has received goes nowhere.
    pub fn forget(&self, switch: u32, packet: u64) {
        let State { switches, carried, .. } = &mut *self.0.borrow_mut();
        switches[switch as usize].forget(carried[packet as usize].place);
    }

    /// Calls `read` with the bytes of a packet, as the last switch sent them.
    pub fn with_frame(&self, packet: u64, read: &mut dyn FnMut(&[u8])) {
        read(self.0.borrow().carried.get(packet as usize).map_or(&[], |carried| &carried.bytes))
    }

    /// The scheduler of the port `port` of a switch, around `inside`.
    pub fn around(&self, switch: u32, port: u32, inside: Box<dyn Scheduler>) -> Box<dyn Scheduler> {
        Box::new(Programmed { fabric: self.clone(), switch, port, inside, mark: false })
    }

    /// Runs egress for a packet; whether the program has marked it, or `None` if it drops it.
    fn leave(&self, switch: u32, port: u32, packet: u64, depth: u32, now: Time) -> Option<bool> {
        let State { switches, carried, marks, .. } = &mut *self.0.borrow_mut();
        let carried = &mut carried[packet as usize];
        let Carried { place, queue, since_ns, depth_then, .. } = *carried;
        let waited = Waited { queue, since_ns, depth_then, depth };
        let sent = switches[switch as usize].leave(place, port, waited, now.as_ns())?;
        let before = frame::ecn_of(&carried.bytes);
        carried.bytes.clear();
        carried.bytes.extend_from_slice(sent.bytes);
        let grown = i64::from(sent.length) - i64::from(carried.length);
        carried.size = (i64::from(carried.size) + grown).max(1) as u32;
        Some(*marks && before != MARKED && frame::ecn_of(&carried.bytes) == MARKED)
    }
}

/// A port's scheduler between ingress and egress.
struct Programmed {
    fabric: Fabric,
    switch: u32,
    port: u32,
    inside: Box<dyn Scheduler>,
    /// Whether the packet that left is marked.
    mark: bool,
}

impl Programmed {
    /// How many packets are in a queue.
    fn depth(&self, queue: u32) -> u32 {
        self.inside.held(Some(queue as usize)).packets as u32
    }

    /// Notes that a packet has come into a queue.
    fn note(&self, packet: u64, queue: u32, now: Time) {
        let depth_then = self.depth(queue).saturating_sub(1);
        let carried = &mut self.fabric.0.borrow_mut().carried[packet as usize];
        (carried.queue, carried.since_ns, carried.depth_then) = (queue, now.as_ns(), depth_then);
    }
}

impl Scheduler for Programmed {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, packet: Packet, eligible: Time, now: Time) -> Enqueued {
        let id = packet.id;
        let outcome = self.inside.enqueue_eligible(packet, eligible, now);
        match &outcome {
            Enqueued::Admitted { queue, .. } => self.note(id, *queue, now),
            Enqueued::Evicted { queue, victims, .. } => {
                victims.iter().for_each(|victim| self.fabric.forget(self.switch, victim.id));
                self.note(id, *queue, now);
            }
            Enqueued::Dropped { packet, .. } => self.fabric.forget(self.switch, packet.id),
        }
        outcome
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        match self.inside.dequeue(now) {
            Dequeued::Packet { packet, queue } => {
                match self.fabric.leave(self.switch, self.port, packet.id, self.depth(queue), now) {
                    Some(mark) => {
                        self.mark = mark;
                        Dequeued::Packet { packet, queue }
                    }
                    None => Dequeued::Dropped { packet, reason: DropReason::Aqm },
                }
            }
            Dequeued::Dropped { packet, reason } => {
                self.fabric.forget(self.switch, packet.id);
                Dequeued::Dropped { packet, reason }
            }
            other => other,
        }
    }

    fn not_before(&mut self) -> Time {
        self.inside.not_before()
    }

    fn wants(&self) -> WantedFacts {
        let own = if self.fabric.0.borrow().marks { Facts::one(Fact::Ecn) } else { Facts::NONE };
        self.inside.wants() | WantedFacts::needed(own)
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        self.inside.hint(id, hints);
    }

    fn take_mark(&mut self) -> bool {
        self.inside.take_mark() | std::mem::take(&mut self.mark)
    }

    fn forget_flow(&mut self, flow: u32) {
        self.inside.forget_flow(flow);
    }
}

impl Inspect for Programmed {
    pifolab_sched::inspect_inside!(self => self.inside);
}

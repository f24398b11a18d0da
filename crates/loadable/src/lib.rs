//! Schedulers and rank functions from shared libraries.
//!
//! A library exports one function, `pifolab_loadable`, which returns a table of functions; `pifolab_loadable.h` describes
//! it. This crate holds the packets, and the library only decides. So a lost or invented packet is found at once. The same
//! holds for schedulers in Python. All `unsafe` code of the interface is in this crate.

mod border;

pub use border::{Host, Item, RANK, SCHEDULER, Table, VERSION};

use pifolab_sched::{
    Capacity, Dequeued, DropReason, Enqueued, Fact, Facts, Held, Hints, Inspect, Packet, RankFn, RankInterval,
    Scheduler, Victims, WantedFacts,
};
use pifolab_units::{Bytes, Rank, Time};
use pifolab_workload::Stream;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// Receives the fault of a library, as one line. Then the call that found the fault panics.
pub type Report = Arc<dyn Fn(String) + Send + Sync>;

/// The most queues of a scheduler.
const MAX_QUEUES: u32 = 1024;

/// A loaded library: the table that its function returned.
#[derive(Clone, Debug)]
pub struct Library {
    table: Table,
    name: String,
}

impl Library {
    /// Reads the table that the function `pifolab_loadable` of a library returned.
    ///
    /// # Safety
    /// `table` is NULL, or points to a table of `pifolab_loadable.h` that begins with its version. The table does not
    /// change, and the library stays loaded until the process ends. Its functions keep the rules of the header.
    pub unsafe fn at(table: *const c_void) -> Result<Self, String> {
        if table.is_null() {
            return Err("pifolab_loadable returned NULL: expected a table".to_owned());
        }
        // SAFETY: every version of the table begins with its number.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(format!(
                "version = {version}: expected {VERSION}: compile the library with the pifolab_loadable.h of this pifolab"
            ));
        }
        // SAFETY: a table of this version has all fields.
        let table = unsafe { table.cast::<Table>().read() };
        if table.name.is_null() {
            return Err("name = NULL: expected the name that scenarios use".to_owned());
        }
        // SAFETY: the caller promises a text that ends in a zero byte.
        let name = unsafe { CStr::from_ptr(table.name) }.to_string_lossy().into_owned();
        let valid = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(format!("name = {name:?}: expected small letters, digits and hyphens"));
        }
        let missing =
            |present: &[(&str, bool)]| present.iter().find(|(_, there)| !there).map(|(what, _)| what.to_string());
        let common = [("create", table.create.is_some()), ("destroy", table.destroy.is_some())];
        let own: &[(&str, bool)] = match table.kind {
            SCHEDULER => &[("enqueue", table.enqueue.is_some()), ("dequeue", table.dequeue.is_some())],
            RANK => &[("rank", table.rank.is_some())],
            kind => {
                return Err(format!("kind = {kind}: expected {SCHEDULER} (a scheduler) or {RANK} (a rank function)"));
            }
        };
        if let Some(what) = missing(&common).or_else(|| missing(own)) {
            return Err(format!("{what} = NULL: expected a function"));
        }
        Ok(Self { table, name })
    }

    /// The name that scenarios use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a rank function; otherwise it is a scheduler.
    pub const fn is_rank(&self) -> bool {
        self.table.kind == RANK
    }

    /// A new scheduler with these parameters, as texts.
    ///
    /// # Panics
    /// If it is a rank function.
    pub fn scheduler(
        &self,
        parameters: &[(String, String)],
        random: Stream,
        report: Report,
    ) -> Result<LoadedScheduler, String> {
        assert!(!self.is_rank(), "{} is a rank function", self.name);
        let instance = self.instance(parameters, random, report)?;
        // SAFETY: `this` is an instance of this table.
        let queues = self.table.queues.map_or(1, |queues| unsafe { queues(instance.this) });
        if let Some(failure) = instance.context().failure.take() {
            return Err(failure);
        }
        if !(1..=MAX_QUEUES).contains(&queues) {
            return Err(format!("queues = {queues}: expected from 1 to {MAX_QUEUES}"));
        }
        let queues = vec![Held::default(); queues as usize];
        Ok(LoadedScheduler { instance, held: FxHashMap::default(), backlog: 0, queues })
    }

    /// A new rank function with these parameters, as texts.
    ///
    /// # Panics
    /// If it is a scheduler.
    pub fn rank(&self, parameters: &[(String, String)], random: Stream, report: Report) -> Result<LoadedRank, String> {
        assert!(self.is_rank(), "{} is a scheduler", self.name);
        Ok(LoadedRank(self.instance(parameters, random, report)?))
    }

    fn instance(&self, parameters: &[(String, String)], random: Stream, report: Report) -> Result<Instance, String> {
        let text = |text: &str| CString::new(text).map_err(|_| format!("{text:?}: expected no zero byte"));
        let parameters = parameters
            .iter()
            .map(|(key, value)| Ok((text(key)?, text(value)?, Cell::new(false))))
            .collect::<Result<_, String>>()?;
        let context = Box::new(Context {
            parameters,
            random: RefCell::new(random),
            failure: RefCell::default(),
            label: Cell::new(None),
            pushed_out: RefCell::default(),
        });
        let context = Box::into_raw(context);
        let host = Box::new(Host { context: context.cast(), parameter, fail, random: draw, set_label, push_out });
        let mut instance = Instance {
            table: self.table,
            name: self.name.clone(),
            this: ptr::null_mut(),
            host,
            context,
            report,
            pending: Hints::default(),
        };
        let create = self.table.create.expect("the table was checked");
        // SAFETY: the host lives as long as the instance.
        instance.this = unsafe { create(&raw const *instance.host) };
        let context = instance.context();
        if let Some(failure) = context.failure.take() {
            return Err(failure);
        }
        if instance.this.is_null() {
            return Err("create returned NULL without a reason".to_owned());
        }
        let unread = context.parameters.iter().find(|(_, _, read)| !read.get());
        if let Some((key, value, _)) = unread {
            let (key, value) = (key.to_string_lossy(), value.to_string_lossy());
            return Err(format!("{key} = {value}: unknown key: the library does not read it"));
        }
        Ok(instance)
    }
}

/// The part of an instance that the functions of its `Host` read and write.
struct Context {
    /// Keys and values, and whether the library has read them.
    parameters: Vec<(CString, CString, Cell<bool>)>,
    random: RefCell<Stream>,
    failure: RefCell<Option<String>>,
    label: Cell<Option<u64>>,
    pushed_out: RefCell<Vec<u64>>,
}

/// # Safety
/// `context` belongs to a live instance, which only one thread at a time uses.
unsafe fn context<'a>(context: *mut c_void) -> &'a Context {
    // SAFETY: as the caller promises.
    unsafe { &*context.cast::<Context>() }
}

extern "C" fn parameter(of: *mut c_void, key: *const c_char) -> *const c_char {
    // SAFETY: the header requires the host's context and a C string.
    let (context, key) = unsafe { (context(of), CStr::from_ptr(key)) };
    match context.parameters.iter().find(|(known, _, _)| known.as_c_str() == key) {
        Some((_, value, read)) => {
            read.set(true);
            value.as_ptr()
        }
        None => ptr::null(),
    }
}

extern "C" fn fail(of: *mut c_void, why: *const c_char) {
    // SAFETY: the header requires the host's context and a C string.
    let (context, why) = unsafe { (context(of), CStr::from_ptr(why)) };
    let line = why.to_string_lossy().split_whitespace().collect::<Vec<_>>().join(" ");
    context.failure.borrow_mut().get_or_insert(line);
}

extern "C" fn draw(of: *mut c_void) -> u64 {
    // SAFETY: the header requires the host's context.
    unsafe { context(of) }.random.borrow_mut().next_u64()
}

extern "C" fn set_label(of: *mut c_void, label: u64) {
    // SAFETY: the header requires the host's context.
    unsafe { context(of) }.label.set(Some(label));
}

extern "C" fn push_out(of: *mut c_void, id: u64) {
    // SAFETY: the header requires the host's context.
    unsafe { context(of) }.pushed_out.borrow_mut().push(id);
}

/// One scheduler or rank function of a library.
struct Instance {
    table: Table,
    name: String,
    this: *mut c_void,
    host: Box<Host>,
    /// Owned by the instance. The library has a copy of the pointer.
    context: *mut Context,
    report: Report,
    /// The facts about the next packet.
    pending: Hints,
}

// SAFETY: the header requires that an instance works on any thread, one at a time, and shares no state with others.
unsafe impl Send for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.this.is_null() {
            let destroy = self.table.destroy.expect("the table was checked");
            // SAFETY: `this` comes from `create` and is not used again.
            unsafe { destroy(self.this) };
        }
        // SAFETY: the context comes from `Box::into_raw`, and the library's instance, which had a copy, is destroyed.
        drop(unsafe { Box::from_raw(self.context) });
    }
}

impl Instance {
    fn context(&self) -> &Context {
        // SAFETY: the context is freed only when `self` is dropped, and changed only through cells.
        unsafe { &*self.context }
    }

    /// Reports a fault of the library, and ends the run.
    fn blame(&self, problem: &str) -> ! {
        (self.report)(format!("{}: {problem}", self.name));
        panic!("the loaded library {} broke its contract: {problem}", self.name);
    }

    /// Ends the run if the library reported a failure.
    fn check(&self) {
        let failure = self.context().failure.take();
        if let Some(failure) = failure {
            self.blame(&failure);
        }
    }

    const fn reads(&self) -> Facts {
        if self.table.reads_facts == 0 { Facts::one(Fact::CarriedRank) } else { Facts::ALL }
    }

    fn hint(&mut self, hints: &Hints) {
        self.pending = *hints;
    }

    fn take_label(&self) -> Option<u64> {
        self.context().label.take()
    }

    /// Converts a packet for the library, with the pending facts about the packet.
    fn item(&mut self, packet: &Packet) -> Item {
        self.context().label.set(None);
        let hints = std::mem::take(&mut self.pending);
        Item { label: hints.carried_label, ..item(packet, &hints) }
    }
}

fn item(packet: &Packet, hints: &Hints) -> Item {
    Item {
        id: packet.id,
        rank: packet.rank.get(),
        label: 0,
        arrival_ps: packet.arrival.as_ps(),
        flow_size_bytes: hints.flow_size.0,
        remaining_bytes: hints.remaining.0,
        unacknowledged_bytes: hints.unacknowledged.0,
        deadline_ps: hints.deadline.map_or(u64::MAX, Time::as_ps),
        remaining_transmission_ps: hints.remaining_transmission.as_ps(),
        delay_so_far_ps: hints.delay_so_far.as_ps(),
        flow: packet.flow,
        size: packet.size,
    }
}

/// A scheduler of a library.
pub struct LoadedScheduler {
    instance: Instance,
    /// The waiting packets and their queues, by id. Never iterated, since the order of a hash map is arbitrary.
    held: FxHashMap<u64, (Packet, u32)>,
    backlog: u64,
    queues: Vec<Held>,
}

impl LoadedScheduler {
    fn keep(&mut self, packet: Packet, queue: u32) {
        let held = &mut self.queues[queue as usize];
        held.packets += 1;
        held.bytes.0 += u64::from(packet.size);
        self.backlog += u64::from(packet.size);
        self.held.insert(packet.id, (packet, queue));
    }

    /// Removes the packet `id`; ends the run if the packet does not wait. `verb` is for the message.
    fn release(&mut self, id: u64, verb: &str) -> (Packet, u32) {
        let Some((packet, queue)) = self.held.remove(&id) else {
            self.instance.blame(&format!("it {verb} packet {id}, which it does not hold"));
        };
        self.backlog -= u64::from(packet.size);
        let held = &mut self.queues[queue as usize];
        held.packets -= 1;
        held.bytes.0 -= u64::from(packet.size);
        (packet, queue)
    }
}

impl Scheduler for LoadedScheduler {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let item = self.instance.item(&packet);
        let enqueue = self.instance.table.enqueue.expect("the table was checked");
        // SAFETY: `this` is an instance of this table, and the item lives during the call.
        let answer = unsafe { enqueue(self.instance.this, &raw const item, now.as_ps()) };
        self.instance.check();
        let pushed_out = std::mem::take(&mut *self.instance.context().pushed_out.borrow_mut());
        let reason = match answer {
            -1 => DropReason::Admission,
            -2 => DropReason::Full,
            -3 => DropReason::RankOutOfRange,
            -4 => DropReason::Aqm,
            queue if (0..self.queues.len() as i64).contains(&i64::from(queue)) => {
                let (queue, rank) = (queue as u32, packet.rank);
                let mut victims = None::<Victims>;
                for id in pushed_out {
                    let (victim, _) = self.release(id, "pushes out");
                    match &mut victims {
                        Some(victims) => victims.push(victim),
                        None => victims = Some(Victims::one(victim)),
                    }
                }
                self.keep(packet, queue);
                return match victims {
                    Some(victims) => Enqueued::Evicted { queue, rank, victims },
                    None => Enqueued::Admitted { queue, rank },
                };
            }
            other => self.instance.blame(&format!(
                "enqueue returned {other}: expected a queue from 0 to {} or a PIFOLAB_REFUSED",
                self.queues.len() - 1
            )),
        };
        if !pushed_out.is_empty() {
            self.instance.blame("it refuses a packet and pushes out others: expected it to keep them");
        }
        Enqueued::Dropped { packet, reason }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        self.instance.context().label.set(None);
        let mut value = 0;
        let dequeue = self.instance.table.dequeue.expect("the table was checked");
        // SAFETY: `this` is an instance of this table, and the value may be written to.
        let answer = unsafe { dequeue(self.instance.this, now.as_ps(), &raw mut value) };
        self.instance.check();
        match answer {
            0 if self.held.is_empty() => Dequeued::Empty,
            0 => self.instance.blame(&format!("dequeue returned PIFOLAB_EMPTY, but {} packets wait", self.held.len())),
            1 => {
                let (packet, queue) = self.release(value, "sends");
                Dequeued::Packet { packet, queue }
            }
            2 => Dequeued::Dropped { packet: self.release(value, "drops").0, reason: DropReason::Aqm },
            3 if value > now.as_ps() && !self.held.is_empty() => Dequeued::NotBefore(Time::from_ps(value)),
            3 if self.held.is_empty() => self.instance.blame("dequeue returned PIFOLAB_WAIT, but no packet waits"),
            3 => self.instance.blame(&format!(
                "dequeue returned PIFOLAB_WAIT until {value} ps at {} ps: expected a later time",
                now.as_ps()
            )),
            other => self.instance.blame(&format!(
                "dequeue returned {other}: expected PIFOLAB_EMPTY, PIFOLAB_SEND, PIFOLAB_DROP or PIFOLAB_WAIT"
            )),
        }
    }

    fn wants(&self) -> WantedFacts {
        let reads = self.instance.reads();
        WantedFacts { needs: Facts::NONE, reads: if reads.has_hints() { reads } else { Facts::NONE } }
    }

    fn hint(&mut self, _id: u64, hints: &Hints) {
        self.instance.hint(hints);
    }

    fn take_label(&mut self) -> Option<u64> {
        self.instance.take_label()
    }
}

impl Inspect for LoadedScheduler {
    fn held(&self, queue: Option<usize>) -> Held {
        match queue {
            None => Held { packets: self.held.len(), bytes: Bytes(self.backlog) },
            Some(queue) => self.queues.get(queue).copied().unwrap_or_default(),
        }
    }

    /// The limit of the library is unknown.
    fn capacity(&self) -> Capacity {
        Capacity::Unlimited
    }

    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn queue_ranks(&self, _queue: usize) -> RankInterval {
        RankInterval { lowest: None, highest: None }
    }
}

/// A rank function of a library.
pub struct LoadedRank(Instance);

impl RankFn for LoadedRank {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let item = self.0.item(packet);
        let rank = self.0.table.rank.expect("the table was checked");
        // SAFETY: `this` is an instance of this table, and the item lives during the call.
        let answer = unsafe { rank(self.0.this, &raw const item, now.as_ps()) };
        self.0.check();
        Rank::new(answer)
            .unwrap_or_else(|| self.0.blame(&format!("rank returned {answer}: expected a rank from 0 to 2^63 - 1")))
    }

    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        self.0.context().label.set(None);
        if let Some(on_dequeue) = self.0.table.on_dequeue {
            let item = item(packet, &Hints::default());
            // SAFETY: as in `rank`.
            unsafe { on_dequeue(self.0.this, &raw const item, now.as_ps()) };
            self.0.check();
        }
    }

    fn on_drop(&mut self, packet: &Packet, now: Time) {
        if let Some(on_drop) = self.0.table.on_drop {
            // The label of the arriving packet stays if that packet pushes another one out.
            let own = self.0.context().label.get();
            let item = item(packet, &Hints::default());
            // SAFETY: as in `rank`.
            unsafe { on_drop(self.0.this, &raw const item, now.as_ps()) };
            self.0.context().label.set(own);
            self.0.check();
        }
    }

    fn hint(&mut self, _id: u64, hints: &Hints) {
        self.0.hint(hints);
    }

    fn take_label(&mut self) -> Option<u64> {
        self.0.take_label()
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    fn reads(&self) -> Facts {
        self.0.reads()
    }
}

#[cfg(test)]
mod tests;

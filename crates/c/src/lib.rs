//! The scheduler library for C.
//!
//! Packets stay with the caller: it passes an index and a rank and gets an index back. Every packet that the scheduler
//! does not keep is returned with the reason. No function panics into C: each returns a status, and [`pifolab_error`]
//! has the text. The header `include/pifolab_sched.h` is made from this file.

#![allow(non_camel_case_types, reason = "names of C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the header is made from these texts, and in C every function is one of these"
)]

mod border;
mod engine;
mod read;

use border::pifolab_status::*;
pub use border::*;
use engine::{Burst, Decided, Losses};
use pifolab_registry::{RANKS, SCHEDULERS, find_rank, find_scheduler, text, usual_form};
use pifolab_units::Time;
pub use read::*;
use sched::entry::RankEntry;
use sched::{Capacity, Fact, Facts, Inspect, InspectExt, Packet, Parts, Ranked, Scheduler};
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// A scheduler. One thread at a time may use it; different schedulers are independent.
pub struct pifolab_scheduler {
    engine: Box<dyn Burst>,
    now: Time,
    /// Packets to return for which the caller's array had no room.
    pending: VecDeque<pifolab_lost>,
    /// Whether a call panicked, so that the scheduler may be inconsistent.
    defect: bool,
    /// `None` for a scheduler made in Rust.
    recipe: Option<Recipe>,
}

/// The parameters of a scheduler.
struct Recipe {
    name: String,
    params: String,
    rank: Option<String>,
    rank_params: Option<String>,
}

impl Recipe {
    fn build(&self) -> Result<Box<dyn Burst>, Failure> {
        build(&self.name, &self.params, self.rank.as_deref(), self.rank_params.as_deref())
    }

    /// Whether its decisions depend on the time of a call.
    fn reads_time(&self) -> bool {
        let scheduler = find_scheduler(&self.name).is_ok_and(|entry| entry.traits.reads_time);
        scheduler || self.rank.as_deref().is_some_and(|rank| find_rank(rank).is_ok_and(|entry| entry.reads_time))
    }
}

impl pifolab_scheduler {
    /// In Rust: any scheduler. The functions of C take a pointer to it.
    pub fn of(scheduler: impl Scheduler + 'static) -> Self {
        Self::with_engine(Box::new(scheduler))
    }

    /// In Rust: the parts of a scheduler, each with a specialised loop over the packets of a burst.
    pub fn of_parts(parts: Parts) -> Self {
        Self::with_engine(in_bursts(parts))
    }

    fn with_engine(engine: Box<dyn Burst>) -> Self {
        Self { engine, now: Time::ZERO, pending: VecDeque::new(), defect: false, recipe: None }
    }

    /// In Rust: read access to its contents and registers.
    pub fn inspect(&self) -> &dyn Inspect {
        self.engine.inspect()
    }

    /// The scheduler passed to [`of`](Self::of), if it has this type.
    pub fn inner_mut<S: Scheduler<Packet> + 'static>(&mut self) -> Option<&mut S> {
        let inner: &mut dyn Any = &mut *self.engine;
        inner.downcast_mut()
    }
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// A status and its text.
struct Failure(pifolab_status, String);

fn failure(status: pifolab_status, text: impl Into<String>) -> Failure {
    Failure(status, text.into())
}

/// Keeps the text of a failure for [`pifolab_error`], and turns a panic into a status.
fn guarded(call: impl FnOnce() -> Result<(), Failure>) -> pifolab_status {
    let Failure(status, text) = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return PIFOLAB_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            failure(PIFOLAB_DEFECT, format!("internal error: {}", why.unwrap_or("unknown")))
        }
    };
    let text = CString::new(text.replace('\0', "?")).expect("without a zero byte");
    ERROR.with_borrow_mut(|error| *error = text);
    status
}

/// # Safety
/// `text` is NULL or ends in a zero byte.
unsafe fn utf8<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises that it ends in a zero byte.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| failure(PIFOLAB_NOT_UTF8, format!("{what} is not UTF-8")))
}

/// # Safety
/// `scheduler` is NULL or comes from [`pifolab_new`] and is used by this thread alone.
unsafe fn used<'a>(scheduler: *mut pifolab_scheduler) -> Result<&'a mut pifolab_scheduler, Failure> {
    // SAFETY: the caller promises it.
    let scheduler = unsafe { scheduler.as_mut() }.ok_or_else(|| failure(PIFOLAB_NULL_POINTER, "scheduler is NULL"))?;
    if scheduler.defect {
        return Err(failure(
            PIFOLAB_DEFECT,
            "an earlier call failed with an internal error: the scheduler can only be freed",
        ));
    }
    Ok(scheduler)
}

/// As [`used`], for functions that only read.
///
/// # Safety
/// As [`used`].
unsafe fn seen<'a>(scheduler: *const pifolab_scheduler) -> Option<&'a pifolab_scheduler> {
    // SAFETY: the caller promises it.
    unsafe { scheduler.as_ref() }.filter(|scheduler| !scheduler.defect)
}

/// An array of the caller's to write to; may be empty.
///
/// # Safety
/// `array` has room for `count` values, if it is not NULL.
unsafe fn room<'a, T>(array: *mut T, count: u32, what: &str) -> Result<&'a mut [MaybeUninit<T>], Failure> {
    match (array.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(failure(PIFOLAB_NULL_POINTER, format!("{what} is NULL"))),
        // SAFETY: the caller promises the room; MaybeUninit may be uninitialised.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(array.cast(), count as usize) }),
    }
}

/// As [`room`], for an optional array, which may be NULL.
///
/// # Safety
/// As [`room`].
unsafe fn wanted_room<'a, T>(array: *mut T, count: u32) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: as the caller promises; NULL is turned into an empty array.
    if array.is_null() { &mut [] } else { unsafe { slice::from_raw_parts_mut(array.cast(), count as usize) } }
}

/// # Safety
/// `place` is NULL or may be written to.
unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller promises it.
        unsafe { place.write(value) };
    }
}

/// Refuses too many packets, a place for a number that is NULL, and losses without room.
fn check_burst(packets: u32, places: [(*mut u32, &str); 2], lost_room: u32) -> Result<(), Failure> {
    if packets > PIFOLAB_BURST {
        return Err(failure(PIFOLAB_TOO_MANY, format!("{packets} packets: expected at most {PIFOLAB_BURST}")));
    }
    if let Some((_, what)) = places.iter().find(|(place, _)| place.is_null()) {
        return Err(failure(PIFOLAB_NULL_POINTER, format!("{what} is NULL")));
    }
    if lost_room == 0 {
        return Err(failure(PIFOLAB_NULL_POINTER, "lost has no room: expected room for at least 1 packet"));
    }
    Ok(())
}

impl pifolab_scheduler {
    /// Moves the clock.
    fn advance(&mut self, now_ps: u64) -> Result<Time, Failure> {
        let now = Time::from_ps(now_ps);
        if now_ps > PIFOLAB_TIME_MAX {
            return Err(failure(PIFOLAB_BAD_TIME, format!("the time {now_ps} ps is above {PIFOLAB_TIME_MAX} ps")));
        }
        if now < self.now {
            let before = self.now.as_ps();
            return Err(failure(
                PIFOLAB_BAD_TIME,
                format!("the time {now_ps} ps follows {before} ps: expected times in order"),
            ));
        }
        self.now = now;
        Ok(now)
    }

    /// Runs `call`; after a panic the scheduler may only be freed.
    fn marked<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        self.defect = true;
        let result = call(self);
        self.defect = false;
        result
    }
}

/// Makes a scheduler.
///
/// `scheduler` is its name, such as "packs"; `params` its parameters, such as "queues = 4, window = 20, k = 0.1" (NULL
/// or "": all have their defaults). `pifolab show NAME` and docs/schedulers list them.
///
/// `rank_function` gives every packet its rank, such as "stfq"; NULL: packets carry their ranks. `rank_params` are its
/// parameters. Rank functions that need more than flow, size and time are not available: compute the rank yourself.
///
/// Writes the scheduler to `made`, to be freed by pifolab_free; writes NULL on failure.
///
/// Texts end in a zero byte; `made` may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_new(
    scheduler: *const c_char,
    params: *const c_char,
    rank_function: *const c_char,
    rank_params: *const c_char,
    made: *mut *mut pifolab_scheduler,
) -> pifolab_status {
    // SAFETY: as this function's own promise.
    unsafe { tell(made, std::ptr::null_mut()) };
    guarded(|| {
        // SAFETY: as this function's own promise.
        let (name, params, rank, rank_params) = unsafe {
            (
                utf8(scheduler, "scheduler")?.ok_or_else(|| failure(PIFOLAB_NULL_POINTER, "scheduler is NULL"))?,
                utf8(params, "params")?.unwrap_or(""),
                utf8(rank_function, "rank_function")?,
                utf8(rank_params, "rank_params")?,
            )
        };
        if made.is_null() {
            return Err(failure(PIFOLAB_NULL_POINTER, "made is NULL"));
        }
        let recipe = Recipe {
            name: name.to_owned(),
            params: params.to_owned(),
            rank: rank.map(str::to_owned),
            rank_params: rank_params.map(str::to_owned),
        };
        let engine = recipe.build()?;
        let made_one = pifolab_scheduler { recipe: Some(recipe), ..pifolab_scheduler::with_engine(engine) };
        // SAFETY: as this function's own promise.
        unsafe { made.write(Box::into_raw(Box::new(made_one))) };
        Ok(())
    })
}

fn build(name: &str, params: &str, rank: Option<&str>, rank_params: Option<&str>) -> Result<Box<dyn Burst>, Failure> {
    let unknown = |text: String| failure(PIFOLAB_UNKNOWN_NAME, text);
    let bad = |error: &dyn std::fmt::Display| failure(PIFOLAB_BAD_PARAMETER, error.to_string());
    let entry = find_scheduler(name).map_err(unknown)?;
    let args = text::arguments(entry.info, params).map_err(|error| bad(&error))?;
    let Some(rank) = rank else {
        if let Some(text) = rank_params.filter(|text| !text.trim().is_empty()) {
            let why = format!("rank_params = {text:?} without rank_function: expected NULL");
            return Err(failure(PIFOLAB_BAD_PARAMETER, why));
        }
        return Ok(in_bursts((entry.read)(args).map_err(|error| bad(&error))?.parts(usual_form())));
    };
    let entry_of_rank = find_rank(rank).map_err(unknown)?;
    if let Some(missing) = missing_fact(entry_of_rank) {
        let why = format!("{rank} needs the fact {:?} of each packet: compute the rank yourself", missing.word());
        return Err(failure(PIFOLAB_NEEDS_FACTS, why));
    }
    let rank_args = text::arguments(entry_of_rank.info, rank_params.unwrap_or("")).map_err(|error| bad(&error))?;
    let rank_fn = entry_of_rank.build(rank_args).map_err(|error| bad(&error))?;
    let scheduler = entry.build(args).map_err(|error| bad(&error))?;
    Ok(Box::new(Ranked::new(rank_fn, scheduler)))
}

fn in_bursts(parts: Parts) -> Box<dyn Burst> {
    match parts {
        Parts::Decider(decider, capacities) => Box::new(Decided(decider.join_bursts(&capacities))),
        Parts::Pifo(pifo) => Box::new(*pifo),
        Parts::Ranked(rank_fn, scheduler) => Box::new(Ranked::new(rank_fn, scheduler.into_scheduler())),
        Parts::Other(scheduler) => Box::new(scheduler),
    }
}

/// The first fact that a rank function needs and this interface cannot pass.
fn missing_fact(entry: &RankEntry) -> Option<Fact> {
    (entry.needs() - Facts::one(Fact::CarriedRank)).first()
}

/// Frees a scheduler. Packets that it still holds are lost: dequeue them first. NULL is allowed.
///
/// `scheduler` comes from pifolab_new and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_free(scheduler: *mut pifolab_scheduler) {
    if !scheduler.is_null() {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { Box::from_raw(scheduler) };
        let _ = guarded(|| {
            drop(scheduler);
            Ok(())
        });
    }
}

/// Offers `count` packets (at most PIFOLAB_BURST), in order, at the time `now_ps` in picoseconds, which never decreases.
///
/// `queues`, if not NULL, has room for `count` numbers: the queue that holds each packet (queue 0 is served first), or
/// -1 if it was refused.
///
/// Every packet that the scheduler refuses or pushes out is written to `lost` (room for `lost_room`), their number to
/// `lost_count`. If `lost` is full, the call ends early: `offered` is the number of packets that were offered, and the
/// others still belong to the caller. With capacities in bytes a packet may push out several; the next call returns
/// those without room. So every packet is sent or returned. `lost_room` must be at least 1; `count` is enough in
/// practice.
///
/// Arrays have the room that is stated; `scheduler` comes from pifolab_new and is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_enqueue(
    scheduler: *mut pifolab_scheduler,
    packets: *const pifolab_packet,
    count: u32,
    now_ps: u64,
    queues: *mut i32,
    offered: *mut u32,
    lost: *mut pifolab_lost,
    lost_room: u32,
    lost_count: *mut u32,
) -> pifolab_status {
    // SAFETY: as this function's own promise.
    unsafe {
        tell(offered, 0);
        tell(lost_count, 0);
    }
    guarded(|| {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { used(scheduler)? };
        check_burst(count, [(offered, "offered"), (lost_count, "lost_count")], lost_room)?;
        if packets.is_null() && count > 0 {
            return Err(failure(PIFOLAB_NULL_POINTER, "packets is NULL"));
        }
        // SAFETY: as this function's own promise; an empty array is not read.
        let (packets, queues, lost) = unsafe {
            let packets = if count == 0 { &[] } else { slice::from_raw_parts(packets, count as usize) };
            (packets, wanted_room(queues, count), room(lost, lost_room, "lost")?)
        };
        let is_bad = |p: &pifolab_packet| (p.rank > PIFOLAB_RANK_MAX) | (p.flow >= PIFOLAB_FLOWS);
        // One branch for the burst.
        if packets.iter().fold(false, |bad, p| bad | is_bad(p)) {
            let packet = packets.iter().find(|p| is_bad(p)).expect("one of them is bad");
            let pifolab_packet { index, rank, flow, .. } = packet;
            let why = format!(
                "packet {index} has rank {rank} and flow {flow}: expected at most {PIFOLAB_RANK_MAX} and {}",
                PIFOLAB_FLOWS - 1
            );
            return Err(failure(PIFOLAB_BAD_PACKET, why));
        }
        let now = scheduler.advance(now_ps)?;
        let (done, written) = scheduler.marked(|scheduler| {
            let mut losses = Losses::new(lost, &mut scheduler.pending);
            (scheduler.engine.enqueue(packets, queues, now, &mut losses), losses.written())
        });
        // SAFETY: as this function's own promise.
        unsafe {
            tell(offered, done);
            tell(lost_count, written);
        }
        Ok(())
    })
}

/// Takes up to `room` packets (at most PIFOLAB_BURST) in the order in which they leave, at the time `now_ps`.
///
/// Writes them to `packets`, with the ranks of the rank function if there is one, and their number to `count`.
/// `queues`, if not NULL, has room for `room` numbers: the queue that held each packet. Packets that the scheduler
/// drops instead are written to `lost`, as in pifolab_enqueue.
///
/// `not_before_ps`, if not NULL: 0, or the time before which none of the waiting packets may leave.
///
/// As pifolab_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_dequeue(
    scheduler: *mut pifolab_scheduler,
    packets: *mut pifolab_packet,
    room_for: u32,
    now_ps: u64,
    queues: *mut i32,
    count: *mut u32,
    lost: *mut pifolab_lost,
    lost_room: u32,
    lost_count: *mut u32,
    not_before_ps: *mut u64,
) -> pifolab_status {
    // SAFETY: as this function's own promise.
    unsafe {
        tell(count, 0);
        tell(lost_count, 0);
        tell(not_before_ps, 0);
    }
    guarded(|| {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { used(scheduler)? };
        check_burst(room_for, [(count, "count"), (lost_count, "lost_count")], lost_room)?;
        // SAFETY: as this function's own promise.
        let (packets, queues, lost) = unsafe {
            (room(packets, room_for, "packets")?, wanted_room(queues, room_for), room(lost, lost_room, "lost")?)
        };
        let now = scheduler.advance(now_ps)?;
        let (taken, written) = scheduler.marked(|scheduler| {
            let mut losses = Losses::new(lost, &mut scheduler.pending);
            (scheduler.engine.dequeue(packets, queues, now, &mut losses), losses.written())
        });
        // SAFETY: as this function's own promise.
        unsafe {
            tell(count, taken.packets);
            tell(lost_count, written);
            tell(not_before_ps, taken.not_before.map_or(0, Time::as_ps));
        }
        Ok(())
    })
}

/// Restarts the clock: the next call may have any time from `now_ps` on, even before the time of the last call. This
/// allows a node to run for longer than PIFOLAB_TIME_MAX.
///
/// Most schedulers continue unchanged, with their packets, windows and flows. Those whose decisions depend on time
/// (PIEO, FQ-CoDel, queue management; the rank functions pias, fdpa and token-bucket) must not hold a packet
/// (PIFOLAB_BUSY) and restart: their state of flows is forgotten.
///
/// `scheduler` comes from pifolab_new and is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_rebase(scheduler: *mut pifolab_scheduler, now_ps: u64) -> pifolab_status {
    guarded(|| {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { used(scheduler)? };
        let held = scheduler.engine.inspect().len() + scheduler.pending.len();
        let Some(recipe) = &scheduler.recipe else {
            return Err(failure(PIFOLAB_BUSY, "a scheduler made in Rust has one clock"));
        };
        let reads_time = recipe.reads_time();
        if reads_time && held > 0 {
            let why = format!("{held} packets are held, and {} reads the time: dequeue them first", recipe.name);
            return Err(failure(PIFOLAB_BUSY, why));
        }
        let anew = reads_time.then(|| recipe.build()).transpose()?;
        let before = std::mem::replace(&mut scheduler.now, Time::ZERO);
        if let Err(error) = scheduler.advance(now_ps) {
            scheduler.now = before;
            return Err(error);
        }
        if let Some(engine) = anew {
            scheduler.engine = engine;
        }
        Ok(())
    })
}

/// The number of packets held; 0 for NULL. Packets that are still to be returned do not count.
///
/// `scheduler` is NULL or comes from pifolab_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_packets(scheduler: *const pifolab_scheduler) -> u64 {
    // SAFETY: as this function's own promise.
    unsafe { seen(scheduler) }.map_or(0, |scheduler| scheduler.engine.inspect().len() as u64)
}

/// The bytes held; 0 for NULL.
///
/// `scheduler` is NULL or comes from pifolab_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_bytes(scheduler: *const pifolab_scheduler) -> u64 {
    // SAFETY: as this function's own promise.
    unsafe { seen(scheduler) }.map_or(0, |scheduler| scheduler.engine.inspect().backlog().0)
}

/// The number of queues; 0 for NULL.
///
/// `scheduler` is NULL or comes from pifolab_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_queues(scheduler: *const pifolab_scheduler) -> u32 {
    // SAFETY: as this function's own promise.
    unsafe { seen(scheduler) }.map_or(0, |scheduler| scheduler.engine.inspect().queues() as u32)
}

/// The packets and bytes of `queue` (0 is served first), and its bound: the smallest rank that it takes (SP-PIFO) or
/// the largest (PACKS). `has_bound` is 0 if the algorithm has no bounds. Any output pointer may be NULL.
///
/// `scheduler` comes from pifolab_new; output pointers may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_queue(
    scheduler: *const pifolab_scheduler,
    queue: u32,
    packets: *mut u64,
    bound: *mut i64,
    has_bound: *mut i32,
) -> pifolab_status {
    guarded(|| {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { seen(scheduler) }
            .ok_or_else(|| failure(PIFOLAB_NULL_POINTER, "scheduler is NULL, or had an internal error"))?;
        let inspect = scheduler.engine.inspect();
        if queue as usize >= inspect.queues() {
            let why = format!("queue {queue}: expected from 0 to {}", inspect.queues() - 1);
            return Err(failure(PIFOLAB_NO_QUEUE, why));
        }
        let found = inspect.queue_bound(queue as usize);
        // SAFETY: as this function's own promise.
        unsafe {
            tell(packets, inspect.queue_len(queue as usize) as u64);
            tell(bound, found.unwrap_or(0));
            tell(has_bound, i32::from(found.is_some()));
        }
        Ok(())
    })
}

/// The capacity of the scheduler in packets or, if `in_bytes` is set to 1, in bytes. UINT64_MAX: no limit.
///
/// `scheduler` comes from pifolab_new; `in_bytes` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_capacity(scheduler: *const pifolab_scheduler, in_bytes: *mut i32) -> u64 {
    // SAFETY: as this function's own promise.
    let capacity = unsafe { seen(scheduler) }.map(|scheduler| scheduler.engine.inspect().capacity());
    let (most, bytes) = match capacity {
        None => (0, 0),
        Some(Capacity::Packets(packets)) => (u64::from(packets), 0),
        Some(Capacity::Bytes(bytes)) => (bytes, 1),
        Some(Capacity::Unlimited) => (u64::MAX, 0),
    };
    // SAFETY: as this function's own promise.
    unsafe { tell(in_bytes, bytes) };
    most
}

/// Makes rank functions forget the state of `flow`, which has ended and whose number will be reused.
///
/// `scheduler` comes from pifolab_new and is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_forget_flow(scheduler: *mut pifolab_scheduler, flow: u32) -> pifolab_status {
    guarded(|| {
        // SAFETY: as this function's own promise.
        let scheduler = unsafe { used(scheduler)? };
        scheduler.marked(|scheduler| scheduler.engine.forget_flow(flow));
        Ok(())
    })
}

/// The message of the last failed call of this thread, in one line, valid until the next failed call. Empty if none has
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// The names of all schedulers from 0 on; NULL after the last.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_scheduler_name(number: u32) -> *const c_char {
    static NAMES: std::sync::OnceLock<Vec<CString>> = std::sync::OnceLock::new();
    nth(&NAMES, || SCHEDULERS.iter().map(|entry| entry.info.name).collect(), number)
}

/// Writes parameter `number` (from 0 on) of a scheduler or a rank function called `component` to `parameter`; after the
/// last one returns PIFOLAB_NO_PARAMETER. These are the parameters of pifolab_new, as `pifolab show` prints them.
///
/// `component` ends in a zero byte; `parameter` may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_parameter_of(
    component: *const c_char,
    number: u32,
    parameter: *mut pifolab_parameter,
) -> pifolab_status {
    guarded(|| {
        // SAFETY: as this function's own promise.
        let name = unsafe { utf8(component, "component")? };
        let name = name.ok_or_else(|| failure(PIFOLAB_NULL_POINTER, "component is NULL"))?;
        let info = find_scheduler(name).map(|entry| entry.info).or_else(|unknown| {
            find_rank(name).map(|entry| entry.info).map_err(|_| failure(PIFOLAB_UNKNOWN_NAME, unknown))
        })?;
        let texts = parameters().iter().find(|(known, _)| *known == info.name).map_or(&[][..], |(_, texts)| texts);
        let Some([name, allowed, absent, about]) = texts.get(number as usize) else {
            let why = format!("parameter {number}: {} has {}", info.name, texts.len());
            return Err(failure(PIFOLAB_NO_PARAMETER, why));
        };
        let found = pifolab_parameter {
            name: name.as_ptr(),
            allowed: allowed.as_ptr(),
            absent: absent.as_ptr(),
            about: about.as_ptr(),
        };
        // SAFETY: as this function's own promise.
        unsafe { tell(parameter, found) };
        Ok(())
    })
}

/// A component, and the texts of its parameters.
type Parameters = (&'static str, Vec<[CString; 4]>);

/// The texts of all parameters, by component.
fn parameters() -> &'static [Parameters] {
    static TEXTS: std::sync::OnceLock<Vec<Parameters>> = std::sync::OnceLock::new();
    let text = |text: String| CString::new(text).expect("a text has no zero byte");
    TEXTS.get_or_init(|| {
        let infos = SCHEDULERS.iter().map(|entry| entry.info).chain(RANKS.iter().map(|entry| entry.info));
        infos
            .map(|info| {
                let texts = info.params.iter().map(|param| {
                    [param.name.to_owned(), param.allowed(), param.absent.to_string(), param.doc.to_owned()].map(text)
                });
                (info.name, texts.collect())
            })
            .collect()
    })
}

/// The names of all available rank functions, from 0 on; NULL after the last.
#[unsafe(no_mangle)]
pub extern "C" fn pifolab_rank_function_name(number: u32) -> *const c_char {
    static NAMES: std::sync::OnceLock<Vec<CString>> = std::sync::OnceLock::new();
    nth(
        &NAMES,
        || RANKS.iter().filter(|entry| missing_fact(entry).is_none()).map(|entry| entry.info.name).collect(),
        number,
    )
}

fn nth(
    names: &'static std::sync::OnceLock<Vec<CString>>,
    list: impl Fn() -> Vec<&'static str>,
    number: u32,
) -> *const c_char {
    let all = || list().into_iter().map(|name| CString::new(name).expect("a name has no zero byte")).collect();
    names.get_or_init(all).get(number as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub const extern "C" fn pifolab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

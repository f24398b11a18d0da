//! Libraries of Rust functions behind the interface of C.

use super::*;
use pifolab_sched::schedulers::{Fifo, FifoParams};
use pifolab_sched::{InspectExt, Scheduler};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// A FIFO that drops the tail and counts up the label of each packet.
struct Tail {
    host: *const Host,
    waiting: VecDeque<u64>,
    room: usize,
}

unsafe extern "C" fn create(host: *const Host) -> *mut c_void {
    // SAFETY: the host is valid, and the texts end in a zero byte.
    unsafe {
        let Host { context, parameter, fail, .. } = *host;
        let written = parameter(context, c"capacity_packets".as_ptr());
        if written.is_null() {
            fail(context, c"capacity_packets is missing:\nexpected an integer".as_ptr());
            return ptr::null_mut();
        }
        let room = CStr::from_ptr(written).to_str().unwrap().parse().unwrap();
        Box::into_raw(Box::new(Tail { host, waiting: VecDeque::new(), room })).cast()
    }
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    // SAFETY: it comes from `create`.
    drop(unsafe { Box::from_raw(this.cast::<Tail>()) });
}

unsafe extern "C" fn enqueue(this: *mut c_void, item: *const Item, _now: u64) -> i32 {
    // SAFETY: it comes from `create`, the item lives during the call, and the host lives longer.
    unsafe {
        let (this, item) = (&mut *this.cast::<Tail>(), &*item);
        if this.waiting.len() == this.room {
            return -2;
        }
        this.waiting.push_back(item.id);
        ((*this.host).set_label)((*this.host).context, item.label + 1);
        0
    }
}

unsafe extern "C" fn dequeue(this: *mut c_void, _now: u64, value: *mut u64) -> i32 {
    // SAFETY: it comes from `create`, and the value may be written to.
    unsafe {
        match (*this.cast::<Tail>()).waiting.pop_front() {
            Some(id) => {
                *value = id;
                1
            }
            None => 0,
        }
    }
}

unsafe extern "C" fn random_rank(this: *mut c_void, item: *const Item, _now: u64) -> u64 {
    // SAFETY: as in `enqueue`.
    unsafe {
        let host = &*(*this.cast::<Tail>()).host;
        (host.set_label)(host.context, (*item).label + 10);
        (host.random)(host.context) >> 1
    }
}

const NAME: &CStr = c"tail";

fn table() -> Table {
    Table {
        version: VERSION,
        kind: SCHEDULER,
        reads_facts: 1,
        name: NAME.as_ptr(),
        create: Some(create),
        destroy: Some(destroy),
        queues: None,
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        rank: None,
        on_dequeue: None,
        on_drop: None,
    }
}

fn loaded(table: Table) -> Result<Library, String> {
    // SAFETY: the functions of this file keep the rules or, where a test says so, break those that are checked.
    unsafe { Library::at((&raw const table).cast()) }
}

fn capacity(packets: u64) -> [(String, String); 1] {
    [("capacity_packets".to_owned(), packets.to_string())]
}

fn silent() -> Report {
    Arc::new(|_| {})
}

fn scheduler(table: Table) -> LoadedScheduler {
    loaded(table).unwrap().scheduler(&capacity(3), Stream::named(1, "scheduler 0"), silent()).unwrap()
}

fn packet(id: u64, size: u32) -> Packet {
    Packet { id, flow: 0, size, rank: Rank::from(7u32), arrival: Time::ZERO }
}

#[test]
fn a_table_that_is_wrong_is_refused_with_the_field_and_what_is_right() {
    let refused = |table| loaded(table).unwrap_err();
    assert_eq!(
        refused(Table { version: 2, ..table() }),
        "version = 2: expected 1: compile the library with the pifolab_loadable.h of this pifolab"
    );
    assert_eq!(refused(Table { kind: 7, ..table() }), "kind = 7: expected 0 (a scheduler) or 1 (a rank function)");
    assert_eq!(refused(Table { name: ptr::null(), ..table() }), "name = NULL: expected the name that scenarios use");
    assert_eq!(
        refused(Table { name: c"My FIFO".as_ptr(), ..table() }),
        "name = \"My FIFO\": expected small letters, digits and hyphens"
    );
    assert_eq!(refused(Table { dequeue: None, ..table() }), "dequeue = NULL: expected a function");
    assert_eq!(refused(Table { kind: RANK, ..table() }), "rank = NULL: expected a function");
    // SAFETY: NULL is allowed.
    let nothing = unsafe { Library::at(ptr::null()) }.unwrap_err();
    assert_eq!(nothing, "pifolab_loadable returned NULL: expected a table");
}

#[test]
fn parameters_that_are_missing_or_not_read_are_refused() {
    let library = loaded(table()).unwrap();
    let made =
        |parameters: &[(String, String)]| library.scheduler(parameters, Stream::named(1, "x"), silent()).err().unwrap();
    assert_eq!(made(&[]), "capacity_packets is missing: expected an integer");
    let mut both = capacity(3).to_vec();
    both.push(("capacity".to_owned(), "4".to_owned()));
    assert_eq!(made(&both), "capacity = 4: unknown key: the library does not read it");
    extern "C" fn none(_: *const Host) -> *mut c_void {
        ptr::null_mut()
    }
    let silent_failure = loaded(Table { create: Some(none), ..table() }).unwrap();
    let failed = silent_failure.scheduler(&[], Stream::named(1, "x"), silent()).err().unwrap();
    assert_eq!(failed, "create returned NULL without a reason");
    extern "C" fn too_many(_: *mut c_void) -> u32 {
        5000
    }
    let wide = loaded(Table { queues: Some(too_many), ..table() }).unwrap();
    let failed = wide.scheduler(&capacity(3), Stream::named(1, "x"), silent()).err().unwrap();
    assert_eq!(failed, "queues = 5000: expected from 1 to 1024");
}

/// The report of a scheduler that breaks its contract in `work`.
fn blamed(table: Table, work: impl FnOnce(&mut LoadedScheduler)) -> String {
    let said = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&said);
    let report: Report = Arc::new(move |text| *kept.lock().unwrap() = text);
    let library = loaded(table).unwrap();
    let mut made = library.scheduler(&capacity(3), Stream::named(1, "x"), report).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| work(&mut made))).is_err());
    said.lock().unwrap().clone()
}

#[test]
fn a_scheduler_that_breaks_its_contract_ends_the_run_and_is_named() {
    let at = Time::from_ns(5);
    let take = |made: &mut LoadedScheduler| drop(made.dequeue(at));
    let put = |made: &mut LoadedScheduler| drop(made.enqueue(packet(4, 100), at));
    macro_rules! answering {
        ($field:ident, $body:expr, ($($kind:ty),*) -> $out:ty) => {{
            unsafe extern "C" fn answer(this: *mut c_void, a: answering!(@first $($kind),*), b: answering!(@second $($kind),*)) -> $out {
                let body: fn(*mut c_void, $($kind),*) -> $out = $body;
                body(this, a, b)
            }
            Table { $field: Some(answer), ..table() }
        }};
        (@first $a:ty, $b:ty) => { $a };
        (@second $a:ty, $b:ty) => { $b };
    }
    let invents = answering!(dequeue, |_, _, value| {
        // SAFETY: it may be written to.
        unsafe { *value = 9 };
        1
    }, (u64, *mut u64) -> i32);
    assert_eq!(blamed(invents, take), "tail: it sends packet 9, which it does not hold");
    let idle = answering!(dequeue, |_, _, _| 0, (u64, *mut u64) -> i32);
    assert_eq!(
        blamed(idle, |made| {
            put(made);
            take(made);
        }),
        "tail: dequeue returned PIFOLAB_EMPTY, but 1 packets wait"
    );
    let late = answering!(dequeue, |_, _, value| {
        // SAFETY: it may be written to.
        unsafe { *value = 5_000 };
        3
    }, (u64, *mut u64) -> i32);
    assert_eq!(
        blamed(late, |made| {
            put(made);
            take(made);
        }),
        "tail: dequeue returned PIFOLAB_WAIT until 5000 ps at 5000 ps: expected a later time"
    );
    assert_eq!(blamed(late, take), "tail: dequeue returned PIFOLAB_WAIT, but no packet waits");
    let odd = answering!(dequeue, |_, _, _| 8, (u64, *mut u64) -> i32);
    assert_eq!(
        blamed(odd, take),
        "tail: dequeue returned 8: expected PIFOLAB_EMPTY, PIFOLAB_SEND, PIFOLAB_DROP or PIFOLAB_WAIT"
    );
    let far = answering!(enqueue, |_, _, _| 1, (*const Item, u64) -> i32);
    assert_eq!(blamed(far, put), "tail: enqueue returned 1: expected a queue from 0 to 0 or a PIFOLAB_REFUSED");
    let robs = answering!(enqueue, |this, item, _| {
        // SAFETY: as in `enqueue`.
        unsafe {
            let host = &*(*this.cast::<Tail>()).host;
            if (*item).id == 4 {
                return 0;
            }
            (host.push_out)(host.context, 4);
            if (*item).id == 5 { -2 } else { 0 }
        }
    }, (*const Item, u64) -> i32);
    let then = |id| {
        move |made: &mut LoadedScheduler| {
            put(made);
            drop(made.enqueue(packet(id, 100), at));
            drop(made.enqueue(packet(id + 1, 100), at));
        }
    };
    assert_eq!(blamed(robs, then(5)), "tail: it refuses a packet and pushes out others: expected it to keep them");
    assert_eq!(blamed(robs, then(6)), "tail: it pushes out packet 4, which it does not hold");
    let gives_up = answering!(enqueue, |this, _, _| {
        // SAFETY: as in `enqueue`.
        unsafe {
            let host = &*(*this.cast::<Tail>()).host;
            (host.fail)(host.context, c"no  rate".as_ptr());
        }
        0
    }, (*const Item, u64) -> i32);
    assert_eq!(blamed(gives_up, put), "tail: no rate");
}

#[test]
fn labels_are_read_and_written_and_a_refused_packet_writes_none() {
    let mut made = scheduler(table());
    assert!(made.wants().reads.contains(Fact::CarriedLabel));
    for (id, expected) in [(0, Some(42)), (1, Some(1)), (2, Some(1)), (3, None)] {
        if id == 0 {
            made.hint(id, &Hints { carried_label: 41, ..Hints::default() });
        }
        let _ = made.enqueue(packet(id, 10), Time::ZERO);
        assert_eq!(made.take_label(), expected, "packet {id}");
        assert_eq!(made.take_label(), None, "a label is returned once");
    }
    let deaf = scheduler(Table { reads_facts: 0, ..table() });
    assert!(!deaf.wants().has_hints());
}

#[test]
fn a_rank_function_draws_from_its_stream_and_labels() {
    let library = loaded(Table { kind: RANK, rank: Some(random_rank), ..table() }).unwrap();
    assert!(library.is_rank());
    let mut made = library.rank(&capacity(1), Stream::named(3, "rank 2"), silent()).unwrap();
    let mut stream = Stream::named(3, "rank 2");
    for id in 0..100 {
        made.hint(id, &Hints { carried_label: id, ..Hints::default() });
        assert_eq!(made.rank(&packet(id, 10), Time::ZERO).get(), stream.next_u64() >> 1);
        assert_eq!(made.take_label(), Some(id + 10));
    }
    made.on_dequeue(&packet(1, 10), Time::ZERO);
    made.on_drop(&packet(1, 10), Time::ZERO);
    assert_eq!(made.take_label(), None);
    assert!(made.reads().contains(Fact::CarriedLabel) && made.needs().is_empty());
    extern "C" fn large(_: *mut c_void, _: *const Item, _: u64) -> u64 {
        u64::MAX
    }
    let library = loaded(Table { kind: RANK, rank: Some(large), ..table() }).unwrap();
    let mut made = library.rank(&capacity(1), Stream::named(3, "rank 2"), silent()).unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| made.rank(&packet(1, 10), Time::ZERO)));
    let said = *ended.unwrap_err().downcast::<String>().unwrap();
    assert!(said.ends_with("rank returned 18446744073709551615: expected a rank from 0 to 2^63 - 1"), "{said}");
}

proptest! {
    /// The built-in FIFO beside the loaded one; what entered left, was refused, or is held.
    #[test]
    fn a_loaded_fifo_decides_as_the_built_in_one_and_loses_no_packet(
        room in 1u32..6,
        steps in proptest::collection::vec(proptest::option::of(1u32..2000), 0..200),
    ) {
        let library = loaded(table()).unwrap();
        let mut ours = library.scheduler(&capacity(room.into()), Stream::named(1, "x"), silent()).unwrap();
        let mut theirs = <Fifo>::new(FifoParams { capacity: Capacity::Packets(room) }).unwrap();
        let (mut entered, mut left, mut bytes) = (0, 0, 0);
        for (id, step) in steps.into_iter().enumerate() {
            let now = Time::from_ns(id as u64);
            match step {
                Some(size) => {
                    let outcome = ours.enqueue(packet(id as u64, size), now);
                    prop_assert_eq!(&outcome, &theirs.enqueue(packet(id as u64, size), now));
                    if outcome.is_admitted() {
                        entered += 1;
                        bytes += u64::from(size);
                    }
                }
                None => {
                    let outcome = ours.dequeue(now);
                    if let Dequeued::Packet { packet, .. } = &outcome {
                        left += 1;
                        bytes -= u64::from(packet.size);
                    }
                    prop_assert_eq!(outcome, theirs.dequeue(now));
                }
            }
            prop_assert_eq!(ours.len(), entered - left);
            prop_assert_eq!(ours.queue_len(0), entered - left);
            prop_assert_eq!(ours.backlog().0, bytes);
        }
    }
}

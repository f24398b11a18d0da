//! One run on several threads: each thread runs a part of the network, and all run the same window of time.
//!
//! A packet needs at least the shortest delay of a link to reach another part. The same holds for all other [`Mail`] between
//! parts. A *window* begins with the first event of any part and lasts for this delay: within it, the parts are
//! independent. Parts exchange their mail between windows. Events are ordered by place, not by the time at which they were
//! scheduled. So the results are equal for any number of parts.
//!
//! A port starts transmissions lazily, when it is next accessed. Ports whose links are cut start them before the window ends,
//! because the other part then receives the packets.

use super::cut::{Cut, Mail};
use super::ends::Run;
use super::mode::Mode;
use super::packets::InFlight;
use super::{FullByPlace, PlainByPlace, Steps};
use crate::network::config::{Config, Transports};
use crate::network::result::{Counters, FlowResult, RunError, RunResult, Snapshot};
use crate::network::route_table::Stop;
use crate::network::routing::Routes;
use crate::observer::Observer;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::sync::{Condvar, Mutex, PoisonError};

/// Events between two checks of the accounts within a window.
const STEP: u64 = 1 << 20;

/// Reports the progress of a run in parts between windows, and can end the run.
pub trait Watch: Sync {
    /// Whether to end the run at the next window. Once true, always true.
    fn wants_end(&self) -> bool;

    /// The sums so far, the time, and the numbers of complete and started flows. Called by one thread.
    fn note(&self, counters: &Counters, now: Time, flows: (usize, usize));
}

/// The result of a run in parts.
#[derive(Debug)]
pub struct PartedRun<O> {
    /// The result, equal for any number of parts.
    pub result: RunResult,
    /// The accounts at each pause that was reached.
    pub snapshots: Vec<Snapshot>,
    /// The observer of each part. The ports of a node are observed in one part only.
    pub observers: Vec<O>,
    /// The part of each port.
    pub part_of: Vec<u32>,
    /// Whether the caller ended the run.
    pub interrupted: bool,
    /// How evenly the work was divided.
    pub windows: Windows,
}

/// How evenly the work was divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The number of windows.
    pub windows: u64,
    /// All events.
    pub events: u64,
    /// For each window, the most events of one part; summed over all windows. One thread executes at least so many events.
    pub longest: u64,
}

/// The state of one part that the others read between two windows.
#[derive(Default)]
struct Posted {
    mail: Vec<Vec<Mail>>,
    next: Option<Time>,
    counters: Counters,
    flows: (usize, usize),
    /// Whether to end the run. Written by the first part.
    wants_end: bool,
}

/// A barrier for all threads, which opens at once if one of them fails.
struct Meeting {
    threads: u32,
    state: Mutex<Waiting>,
    all_here: Condvar,
}

#[derive(Default)]
struct Waiting {
    here: u32,
    meetings: u64,
    /// Whether a thread has failed.
    is_off: bool,
}

impl Meeting {
    fn new(threads: u32) -> Self {
        Self { threads, state: Mutex::default(), all_here: Condvar::new() }
    }

    /// Waits for all other threads. Returns `false` if one failed before this meeting; later failures count at the next one.
    fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.here += 1;
        if state.here == self.threads {
            state.here = 0;
            state.meetings += 1;
            self.all_here.notify_all();
        }
        let meetings = state.meetings + u64::from(state.here > 0);
        while state.meetings < meetings && !state.is_off {
            state = self.all_here.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.meetings >= meetings
    }
}

/// Marks this thread as failed when dropped, also during a panic.
struct Leave<'a>(&'a Meeting);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).is_off = true;
        self.0.all_here.notify_all();
    }
}

/// The state that all parts share. Threads write the two halves of `posted` in turn, one before each meeting. So no thread
/// writes a half that others still read.
struct Shared<'a> {
    posted: [Vec<Mutex<Posted>>; 2],
    meeting: Meeting,
    window: Span,
    pauses: &'a [Time],
    watch: &'a dyn Watch,
}

/// The result of one thread.
struct Done {
    result: RunResult,
    snapshots: Vec<Snapshot>,
    interrupted: bool,
    windows: Windows,
    came: i64,
}

/// Runs `flows` on as many threads as there are parts. The caller has checked that the network may be cut.
pub(in crate::network) fn run_in_parts<O: Observer + Send>(
    (config, transports, routes): (&Config, &Transports, &Routes),
    flows: &[Flow],
    cuts: Vec<Cut>,
    pauses: &[Time],
    observer: &(impl Fn() -> O + Sync),
    watch: &dyn Watch,
) -> Result<PartedRun<O>, RunError> {
    let parts = cuts.len();
    let posted = || (0..parts).map(|_| Mutex::default()).collect();
    let shared = Shared {
        posted: [posted(), posted()],
        meeting: Meeting::new(parts as u32),
        window: config.topology.shortest_delay(),
        pauses,
        watch,
    };
    let part_of: Vec<u32> = config.topology.links.iter().map(|link| cuts[0].part(link.from)).collect();
    let stop = || watch.wants_end();
    // Schedulers are not `Send`, so each thread makes its own.
    let work = |cut: Cut| {
        let leave = Leave(&shared.meeting);
        let mut own = observer();
        let is_plain = config.is_plain() && !own.watches() && !own.follows();
        let done = if is_plain {
            let run = Run::<O, PlainByPlace>::new(config, transports, routes.clone(), flows, &mut own, cut);
            run.and_then(|run| one_part(run, &stop, &shared))
        } else {
            let run = Run::<O, FullByPlace>::new(config, transports, routes.clone(), flows, &mut own, cut);
            run.and_then(|run| one_part(run, &stop, &shared))
        };
        if matches!(done, Ok(Some(_))) {
            std::mem::forget(leave);
        }
        (done, own)
    };
    let mut cuts = cuts.into_iter();
    let first = cuts.next().expect("at least one part");
    let done: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = cuts.map(|cut| scope.spawn(|| work(cut))).collect();
        let first = work(first);
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    });
    let (done, observers): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    let done: Vec<Option<Done>> = done.into_iter().collect::<Result<_, _>>()?;
    // A thread that left early has returned its error above.
    let done: Vec<Done> = done.into_iter().map(|done| done.expect("all parts have ended")).collect();
    join(done, observers, part_of)
}

/// Joins the results of all parts.
fn join<O>(done: Vec<Done>, observers: Vec<O>, part_of: Vec<u32>) -> Result<PartedRun<O>, RunError> {
    let came: i64 = done.iter().map(|done| done.came).sum();
    if came != 0 {
        let account = format!("the parts: {came} more packets came from other parts than left for them");
        return Err(RunError::NotConserved { account, events: Vec::new() });
    }
    let (interrupted, windows) = (done[0].interrupted, done[0].windows);
    let mut parts = done.into_iter().zip(0u32..);
    let (Done { mut result, mut snapshots, .. }, _) = parts.next().expect("at least one part");
    for (Done { result: other, snapshots: others, .. }, part) in parts {
        result.flows.iter_mut().zip(&other.flows).for_each(|(sum, more): (&mut FlowResult, _)| sum.add(more));
        for (port, owner) in part_of.iter().enumerate() {
            let of = |ports: &mut Vec<_>, others: &[_]| {
                crate::port::PortResult::join(&mut ports[port], &others[port], *owner == part)
            };
            of(&mut result.ports, &other.ports);
            snapshots.iter_mut().zip(&others).for_each(|(snapshot, other)| of(&mut snapshot.ports, &other.ports));
        }
        for (snapshot, other) in snapshots.iter_mut().zip(&others) {
            snapshot.acknowledged_bytes += other.acknowledged_bytes;
        }
        result.counters.add(&other.counters);
        result.trace_hashes.join(&other.trace_hashes);
        result.used.join(other.used);
        result.has_chosen_paths |= other.has_chosen_paths;
    }
    result.trace_hash = result.trace_hashes.of(crate::network::trace_hashes::Ingredient::Events);
    Ok(PartedRun { result, snapshots, observers, part_of, interrupted, windows })
}

/// Runs one part; `None` if another part has failed.
fn one_part<'a, O: Observer, M: Mode>(
    mut run: Run<'a, O, M>,
    stop: Stop<'a>,
    shared: &Shared<'_>,
) -> Result<Option<Done>, RunError> {
    run.stop_if(stop);
    let own = run.net.cut.own as usize;
    let cut_ports: Vec<u32> =
        (0..).zip(&run.net.ports).filter(|(_, port)| port.crosses).map(|(port, _)| port).collect();
    let end = run.end;
    let mut pauses = shared.pauses.iter().filter(|pause| **pause < end).copied();
    let mut pause = pauses.next();
    let mut snapshots = Vec::new();
    let mut windows = Windows::default();
    let mut next = run.net.events.next_time();
    let mut limit = Time::ZERO;
    let mut mail = Vec::new();
    let mut before = vec![0; shared.posted[0].len()];
    for round in 0.. {
        let posted = &shared.posted[round % 2];
        {
            let mut mine = lock(&posted[own]);
            std::mem::swap(&mut mine.mail, &mut run.mail);
            (mine.next, mine.counters, mine.flows) = (next, run.net.accounts.counters, run.flows_done());
            mine.wants_end = own == 0 && shared.watch.wants_end();
        }
        run.mail.resize_with(posted.len(), Vec::new);
        if !shared.meeting.wait() {
            return Ok(None);
        }
        let (mut first, mut sums, mut flows, mut most, mut interrupted) = (None, Counters::default(), (0, 0), 0, false);
        for (posted, before) in posted.iter().zip(&mut before) {
            let mut posted = lock(posted);
            std::mem::swap(&mut mail, &mut posted.mail[own]);
            interrupted |= posted.wants_end;
            first = first.into_iter().chain(posted.next).min();
            sums.add(&posted.counters);
            flows = (flows.0 + posted.flows.0, flows.1 + posted.flows.1);
            most = most.max(posted.counters.events - *before);
            *before = posted.counters.events;
            drop(posted);
            mail.drain(..).for_each(|mail| run.receive(mail));
        }
        windows.longest += most;
        windows.events = sums.events;
        if own == 0 {
            shared.watch.note(&sums, limit, flows);
        }
        let first = first.filter(|first| *first <= end);
        while let Some(time) = pause.filter(|pause| first.is_none_or(|first| first > *pause) && !interrupted) {
            snapshots.push(run.snapshot(time));
            pause = pauses.next();
        }
        let (Some(first), false) = (first, interrupted) else {
            let end = if interrupted { limit } else { end };
            let came = run.net.accounts.came;
            return Ok(Some(Done { result: run.finish_at(end)?, snapshots, interrupted, windows, came }));
        };
        windows.windows += 1;
        let last = first.saturating_add(Span::from_ps(shared.window.as_ps() - 1));
        limit = last.min(pause.unwrap_or(end)).min(end);
        run.advance_to(limit)?;
        next = run.send_mail(&cut_ports, limit);
    }
    unreachable!("the loop ends with the run")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<O: Observer, M: Mode> Run<'_, O, M> {
    /// Runs all events up to `limit`.
    fn advance_to(&mut self, limit: Time) -> Result<(), RunError> {
        self.pause = limit;
        while self.advance(STEP)? {
            if self.net.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Starts all transmissions up to `limit` of the ports whose links are cut, and puts their packets into the mail. Returns a
    /// lower bound of the next event in this part, and of the events that this part causes in others.
    fn send_mail(&mut self, cut_ports: &[u32], limit: Time) -> Option<Time> {
        let mut next = self.net.events.next_time();
        let mut not_before = |time| next = next.into_iter().chain(Some(time)).min();
        for port in cut_ports {
            self.net.catch_up(*port, limit);
            let port = &self.net.ports[*port as usize];
            if port.waiting() > 0 && !port.held_back {
                not_before(port.busy_until);
            }
        }
        let mut crossing = std::mem::take(&mut self.net.events.crossing);
        for (time, event) in crossing.drain(..) {
            let (port, packet) = event.arrival().expect("only packets cross");
            let packet: InFlight = *self.net.packets.remove(packet);
            self.net.accounts.came -= 1;
            not_before(time);
            let to = self.net.cut.part(self.net.ports[port as usize].to);
            self.mail[to as usize].push(Mail::Packet { time, port, packet });
        }
        self.net.events.crossing = crossing;
        for mail in self.mail.iter().flatten() {
            if let Mail::Close { time, .. } = mail {
                not_before(*time);
            }
        }
        next.into_iter().chain(self.net.events.next_time()).min()
    }
}

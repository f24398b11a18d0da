//! The loop of the switch: frames from one interface to the other and back.

use super::arena::{Arena, Slot};
use super::counters::{Counters, InterfaceCounters, RelayCounters};
use super::interface_lock::InterfaceLock;
use super::port::{Frame, Port, PortConfig};
use super::socket::{BURST, PacketSocket};
use pifolab_frames::frame::complete_checksum;
use pifolab_sched::{InspectExt, Scheduler};
use pifolab_units::{Span, Time};
use serde::Serialize;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Frames taken from a ring before the other direction has its turn.
const BATCH: usize = 64;
/// Frames in flight in the direction without a scheduler: 10 ms at 10 Gb/s of full-size frames.
const RELAY_SLOTS: usize = 8192;
/// The longest sleep: how soon the switch sees that it shall stop.
const LONGEST_WAIT: Span = Span::from_us(20_000);
/// While the link is busy, arrivals need no attention until it is free, since each carries its time. But the ring must not overflow.
const LONGEST_BUSY_WAIT: Span = Span::from_us(1_000);
/// Going to sleep and waking up costs about this much.
const SHORTEST_WAIT: Span = Span::from_us(8);

/// The real-time clock, which stamps frames, as time since the switch began. It never runs backwards.
struct Clock {
    origin_ns: u64,
    last_ns: u64,
}

impl Clock {
    fn new() -> Self {
        let origin_ns = Self::read();
        Self { origin_ns, last_ns: origin_ns }
    }

    fn read() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
    }

    fn now(&mut self) -> Time {
        let now = Self::read();
        if now < self.last_ns {
            // The clock was set back: the switch continues where it was.
            self.origin_ns = self.origin_ns.saturating_sub(self.last_ns - now);
        }
        self.last_ns = now;
        self.at(now)
    }

    /// The time of a frame's stamp.
    fn at(&self, stamp_ns: u64) -> Time {
        Time::from_ns(stamp_ns.saturating_sub(self.origin_ns))
    }
}

/// The direction without a scheduler: a delay line.
struct Relay {
    arena: Arena,
    line: VecDeque<(Slot, Time)>,
    delay: Span,
    counters: RelayCounters,
}

impl Relay {
    fn new(delay: Span, frame_bytes: usize) -> Self {
        let line = VecDeque::with_capacity(RELAY_SLOTS);
        Self { arena: Arena::new(RELAY_SLOTS, frame_bytes), line, delay, counters: RelayCounters::default() }
    }

    fn handle_frame(&mut self, frame: Frame<'_>, at: Time) {
        self.counters.received.add(frame.wire_length);
        if frame.wire_length > frame.bytes.len() {
            self.counters.oversized.add(frame.wire_length);
            return;
        }
        let Some(slot) = self.arena.store(frame.bytes, frame.vlan) else {
            self.counters.no_slot.add(frame.wire_length);
            return;
        };
        if frame.checksum_missing {
            complete_checksum(self.arena.frame_mut(slot));
        }
        let ready = (at + self.delay).max(self.line.back().map_or(Time::ZERO, |(_, ready)| *ready));
        self.line.push_back((slot, ready));
    }

    fn send_ready(&mut self, socket: &mut PacketSocket, now: Time, most: usize) {
        loop {
            let ready = self.line.iter().take(most).take_while(|(_, ready)| *ready <= now).count();
            if ready == 0 {
                return;
            }
            socket.send(self.line.range(..ready).map(|(slot, _)| self.arena.frame(*slot)));
            self.line.drain(..ready).for_each(|(slot, _)| self.arena.release(slot));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.line.front().map(|(_, ready)| *ready)
    }
}

/// What the switch did so far, and what its scheduler holds.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    /// Time since the switch began, in seconds.
    pub time_s: f64,
    /// From `in` to `out`: through the scheduler.
    pub forward: Counters,
    /// From `out` to `in`.
    pub reverse: RelayCounters,
    /// The interface that frames for the scheduler come from.
    pub input: InterfaceCounters,
    /// The interface that the scheduler sends to.
    pub output: InterfaceCounters,
    /// Packets in each queue, the one with the highest priority first.
    pub occupancy_packets: Vec<usize>,
    /// Each queue's bound, where the scheduler has bounds.
    pub bounds: Vec<Option<i64>>,
}

/// A bump in the wire between two interfaces.
pub struct Bridge<S> {
    forward: Port<S>,
    reverse: Relay,
    /// Frames that leave with the next system call.
    leaving: Vec<Slot>,
    /// Frames of one system call, at most.
    burst: usize,
    input: PacketSocket,
    output: PacketSocket,
    clock: Clock,
    /// The right to both interfaces.
    _locks: Vec<InterfaceLock>,
    /// What is done to the port at each turn of the loop.
    on_turn: Option<OnTurn<S>>,
}

/// Done to the port at each turn of the loop, at the time that is given.
pub type OnTurn<S> = Box<dyn FnMut(&mut Port<S>, Time) + Send>;

impl<S: Scheduler> Bridge<S> {
    /// Puts `scheduler` between `input` and `output`; the port takes its frame size from the larger MTU.
    pub fn new(scheduler: S, input: PacketSocket, output: PacketSocket, config: PortConfig) -> Self {
        let frame_bytes = input.frame_bytes().max(output.frame_bytes());
        let reverse = Relay::new(config.delay, frame_bytes);
        Self {
            forward: Port::new(scheduler, PortConfig { frame_bytes, ..config }),
            reverse,
            leaving: Vec::with_capacity(BURST),
            burst: BURST,
            input,
            output,
            clock: Clock::new(),
            _locks: Vec::new(),
            on_turn: None,
        }
    }

    /// The same, which does this to the port at each turn of the loop.
    pub fn with_turns(mut self, on_turn: Option<OnTurn<S>>) -> Self {
        self.on_turn = on_turn;
        self
    }

    /// The same, which sends at most `frames` with one system call (1 to [`BURST`]), for measurements.
    pub fn sending_at_most(mut self, frames: usize) -> Self {
        self.burst = frames.clamp(1, BURST);
        self
    }

    /// The same, which holds `locks` as long as it lives.
    pub(super) fn holding(mut self, locks: Vec<InterfaceLock>) -> Self {
        self._locks = locks;
        self
    }

    /// Carries frames until `stop` is set or an interface is gone, which it returns the name of; calls `tick` every
    /// `interval` (never if it is zero).
    pub fn run(&mut self, stop: &AtomicBool, interval: Span, mut tick: impl FnMut(Snapshot)) -> Option<String> {
        let (mut gone, mut had_error) = (None, false);
        let mut next_tick = if interval == Span::ZERO { Time::MAX } else { self.clock.now() + interval };
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if let Some(on_turn) = &mut self.on_turn {
                on_turn(&mut self.forward, now);
            }
            let forwarded = self.forward_batch(now);
            let reversed = self.reverse_batch(now);
            let now = self.clock.now();
            self.forward.advance(now);
            self.send_ready(now);
            self.reverse.send_ready(&mut self.input, now, self.burst);
            if now >= next_tick {
                next_tick = now + interval;
                tick(self.snapshot());
            }
            if forwarded + reversed == 0 {
                // An interface that is removed goes down first, and its sockets say only that.
                had_error |= self.wait(now, next_tick);
                if had_error {
                    let sockets = [&self.input, &self.output];
                    gone = sockets.into_iter().find(|socket| socket.is_gone()).map(|socket| socket.name().to_owned());
                    if gone.is_some() {
                        break;
                    }
                }
            }
        }
        let now = self.clock.now();
        self.forward.advance(now);
        self.send_ready(now);
        gone
    }

    fn forward_batch(&mut self, now: Time) -> usize {
        let mut taken = 0;
        while taken < BATCH {
            let Some((frame, stamp)) = self.input.peek() else { break };
            let at = self.clock.at(stamp).min(now);
            self.forward.handle_frame(frame, at);
            self.input.release();
            self.collect_ready(now);
            taken += 1;
        }
        taken
    }

    fn reverse_batch(&mut self, now: Time) -> usize {
        let mut taken = 0;
        while taken < BATCH {
            let Some((frame, stamp)) = self.output.peek() else { break };
            let at = self.clock.at(stamp).min(now);
            self.reverse.handle_frame(frame, at);
            self.output.release();
            taken += 1;
        }
        taken
    }

    /// Collects the frames that may leave until `now`, and sends each full burst.
    fn collect_ready(&mut self, now: Time) {
        while let Some(slot) = self.forward.poll_ready(now) {
            self.leaving.push(slot);
            if self.leaving.len() >= self.burst {
                self.send_leaving();
            }
        }
    }

    /// Sends the frames that may leave until `now`.
    fn send_ready(&mut self, now: Time) {
        self.collect_ready(now);
        self.send_leaving();
    }

    fn send_leaving(&mut self) {
        let forward = &mut self.forward;
        self.output.send(self.leaving.iter().map(|slot| forward.frame(*slot)));
        self.leaving.drain(..).for_each(|slot| forward.release(slot));
    }

    /// Sleeps until the next thing to do; says whether an interface has a problem.
    fn wait(&self, now: Time, next_tick: Time) -> bool {
        let due = [self.forward.poll_timeout(), self.reverse.poll_timeout(), Some(next_tick), Some(now + LONGEST_WAIT)];
        let due = due.into_iter().flatten().min().unwrap_or(now).max(now);
        let busy = self.forward.busy_until() > now;
        let until = if busy { due.min(now + LONGEST_BUSY_WAIT) } else { due };
        let span = until.since(now);
        if span < SHORTEST_WAIT {
            return false;
        }
        // A busy link needs no arrivals: waking up for each would cost more than the switching itself.
        let fds = [self.output.raw_fd(), self.input.raw_fd()];
        wait_for(if busy { &fds[..1] } else { &fds }, span)
    }

    /// What happened so far.
    pub fn snapshot(&mut self) -> Snapshot {
        let scheduler = self.forward.scheduler();
        let queues = scheduler.queues();
        Snapshot {
            time_s: self.clock.now().as_s_f64(),
            occupancy_packets: (0..queues).map(|queue| scheduler.queue_len(queue)).collect(),
            bounds: (0..queues).map(|queue| scheduler.queue_bound(queue)).collect(),
            forward: self.forward.counters().clone(),
            reverse: self.reverse.counters,
            input: self.input.counters(),
            output: self.output.counters(),
        }
    }
}

/// Sleeps until one of `fds` has a frame, or for `span`; says whether one of them has an error.
fn wait_for(fds: &[RawFd], span: Span) -> bool {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 2];
    for (polled, fd) in polled.iter_mut().zip(fds) {
        polled.fd = *fd;
    }
    let ns = span.as_ns();
    let timeout = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    // SAFETY: the pointers describe `polled` and `timeout`; a signal or an error only ends the sleep early.
    unsafe { libc::ppoll(polled.as_mut_ptr(), fds.len() as libc::nfds_t, &raw const timeout, std::ptr::null()) };
    polled.iter().any(|polled| polled.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0)
}

/// Lets the calling thread run before others and wake up in time, as far as this user may. Returns whether it has
/// real-time priority.
pub fn prefer_this_thread() -> bool {
    // SAFETY: plain system calls on the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
        let parameters = libc::sched_param { sched_priority: 10 };
        // SCHED_RESET_ON_FORK keeps children at normal priority.
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0
    }
}

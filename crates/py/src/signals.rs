//! Ends the process when Python cannot: a plug-in may hold the interpreter for hours, wait for ever, or catch every
//! exception.
//!
//! A handler of this module counts Ctrl-C and SIGTERM, and calls the interpreter's handler. A thread that never needs
//! the interpreter reads the count. It also restores the handler if a plug-in has replaced it. No descriptor is used
//! that a plug-in could close.

use pyo3::prelude::*;
use std::io::Write;
use std::mem::{transmute, zeroed};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time that a plug-in has to end after the first signal.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time that the command has after the second signal to remove half-written files.
const LAST_PATIENCE: Duration = Duration::from_millis(1500);

/// The interval between checks of the count, the handlers and the plug-ins.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The count of signals, and the number of the last one.
static CAME: AtomicUsize = AtomicUsize::new(0);
static LAST: AtomicI32 = AtomicI32::new(libc::SIGINT);

/// The process that is watched; processes that a plug-in forks have its handlers, but not its thread.
static WATCHED: AtomicI32 = AtomicI32::new(0);

/// Whether signals are left to a child program that this process waits for.
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);

/// Whether the command is already ending in order after a signal: only a second signal ends it sooner.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// The number of running calls of plug-ins.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A guard for a running call of a plug-in.
pub struct AtWork(());

impl AtWork {
    /// Counts a call of a plug-in until it is dropped.
    pub fn new() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `body`, which runs a user's code, for instance imports a module.
#[pyfunction]
pub fn call_plug_in<'py>(body: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let _at_work = AtWork::new();
    body.call0()
}

/// Notes that the command is ending in order after a signal, although a plug-in may still run on another thread.
#[pyfunction]
pub fn leave_in_order() {
    LEAVING.store(true, Ordering::Relaxed);
}

/// Sets whether signals are left to a child program; returns the previous value.
#[pyfunction]
pub fn leave_signals_alone(alone: bool) -> bool {
    LEFT_ALONE.swap(alone, Ordering::Relaxed)
}

/// Starts to watch for Ctrl-C and SIGTERM, if the interpreter handles them.
///
/// Two seconds after the first signal the process ends if a plug-in is running, and soon after the second it ends
/// anyway.
#[pyfunction]
pub fn watch_signals() -> PyResult<()> {
    for answered in &ANSWERED {
        let there = action_of(answered.number);
        // A command started with Ctrl-C ignored, for example by `nohup`, keeps ignoring it.
        if ![libc::SIG_IGN, libc::SIG_DFL].contains(&there) {
            answered.interpreters.store(there, Ordering::Relaxed);
        }
    }
    WATCHED.store(own_process(), Ordering::Relaxed);
    count_signals();
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}

/// Installs the counting handlers again after the interpreter has replaced them.
#[pyfunction]
pub fn count_signals() {
    ANSWERED.iter().for_each(Answered::count);
}

fn watch() {
    // The time of the first signal, and the time at which the process ends in any case.
    let (mut first, mut end) = (None::<Instant>, None::<Instant>);
    loop {
        std::thread::sleep(LOOK_AGAIN);
        count_signals();
        let (now, came) = (Instant::now(), CAME.load(Ordering::Relaxed));
        if came > 0 {
            first = first.or(Some(now));
        }
        if came > 1 {
            end = end.or(Some(now + LAST_PATIENCE));
        }
        let held_up = AT_WORK.load(Ordering::Relaxed) > 0 && !LEAVING.load(Ordering::Relaxed);
        if end.is_some_and(|end| end <= now) || held_up && first.is_some_and(|first| first + PATIENCE <= now) {
            end_by_signal();
        }
    }
}

/// A signal that the interpreter handles.
struct Answered {
    number: i32,
    /// The address of the interpreter's handler; 0 if the signal is not watched.
    interpreters: AtomicUsize,
    /// Whether that handler is called: it prints an error if Python ignores the signal.
    calls: AtomicBool,
}

static ANSWERED: [Answered; 2] = [Answered::of(libc::SIGINT), Answered::of(libc::SIGTERM)];

impl Answered {
    const fn of(number: i32) -> Self {
        Self { number, interpreters: AtomicUsize::new(0), calls: AtomicBool::new(true) }
    }

    /// Installs the handler of this module, unless the signal ends the process anyway.
    fn count(&self) {
        let interpreters = self.interpreters.load(Ordering::Relaxed);
        let ours = note as *const () as usize;
        let there = action_of(self.number);
        if interpreters == 0 || there == ours || there == libc::SIG_DFL {
            return;
        }
        if there == libc::SIG_IGN || there == interpreters {
            self.calls.store(there == interpreters, Ordering::Relaxed);
        }
        // SAFETY: an action is a structure of numbers, which outlives the call; the handler does what handlers may.
        unsafe {
            // System calls that it interrupts are not restarted: the interpreter relies on that.
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = ours;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(self.number, &raw const action, std::ptr::null_mut());
        }
    }
}

/// The address of the handler of a signal, or one of `SIG_IGN` and `SIG_DFL`.
fn action_of(number: i32) -> usize {
    // SAFETY: an action is a structure of numbers, which outlives the call.
    unsafe {
        let mut there: libc::sigaction = zeroed();
        libc::sigaction(number, null(), &raw mut there);
        there.sa_sigaction
    }
}

/// The handler: counts the signal and calls the interpreter's handler.
extern "C" fn note(number: i32) {
    if own_process() == WATCHED.load(Ordering::Relaxed) {
        if !LEFT_ALONE.load(Ordering::Relaxed) {
            LAST.store(number, Ordering::Relaxed);
            CAME.fetch_add(1, Ordering::Relaxed);
        }
    } else if number == libc::SIGTERM {
        // Ends the process by the signal, since its parent waits for it. SAFETY: handlers may call both functions. The
        // signal is blocked until this one returns.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
        return;
    }
    let Some(answered) = ANSWERED.iter().find(|answered| answered.number == number) else { return };
    if answered.calls.load(Ordering::Relaxed) {
        // SAFETY: Python's handler takes one argument and exists as long as the process.
        let handler: extern "C" fn(i32) = unsafe { transmute(answered.interpreters.load(Ordering::Relaxed)) };
        handler(number);
    }
}

fn own_process() -> i32 {
    // SAFETY: the function has no conditions.
    unsafe { libc::getpid() }
}

/// Ends the process, with the line and the status that Python would have ended it with.
fn end_by_signal() -> ! {
    let number = LAST.load(Ordering::Relaxed);
    let line = if number == libc::SIGTERM { "pifolab: terminated\n" } else { "pifolab: interrupted\n" };
    // Ignored, since there may be no reader.
    let _ = std::io::stderr().write_all(line.as_bytes());
    leave(128 + number)
}

/// Ends the process as soon as its standard input is closed at the other end, even if a plug-in holds the interpreter.
#[pyfunction]
pub fn end_with_input() -> PyResult<()> {
    std::thread::Builder::new().name("input".to_owned()).spawn(|| {
        loop {
            // Without events, only a hang-up of the other end is reported.
            let mut input = libc::pollfd { fd: 0, events: 0, revents: 0 };
            // SAFETY: the pointer is to one entry, which outlives the call.
            unsafe { libc::poll(&raw mut input, 1, -1) };
            if input.revents != 0 {
                leave(0);
            }
        }
    })?;
    Ok(())
}

fn leave(status: i32) -> ! {
    // SAFETY: the function has no conditions. Functions registered for the exit may wait for the interpreter, so they
    // are skipped.
    unsafe { libc::_exit(status) }
}

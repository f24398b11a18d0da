//! Ends the process where Python cannot: a plug-in may hold the interpreter for hours, wait for ever, or catch every exception.
//!
//! A handler of this module counts Ctrl-C and SIGTERM, and calls the interpreter's. A thread that never needs the interpreter reads the
//! count. It also puts the handler back where a plug-in has put another one. No descriptor is in use that a plug-in could close.

use pyo3::prelude::*;
use std::io::Write;
use std::mem::{transmute, zeroed};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// After the first signal a plug-in has so long to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// After the second signal the whole command has so long to remove what it has half written.
const LAST_PATIENCE: Duration = Duration::from_millis(1500);

/// How often the count, the handlers and the plug-ins are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How many signals came, and the number of the last one.
static CAME: AtomicUsize = AtomicUsize::new(0);
static LAST: AtomicI32 = AtomicI32::new(libc::SIGINT);

/// The process that is watched; processes that a plug-in forks have its handlers, but not its thread.
static WATCHED: AtomicI32 = AtomicI32::new(0);

/// Whether signals are left to a program that this one waits for.
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);

/// Whether the command has answered a signal and ends in order: only a second signal ends it sooner.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// How many calls of plug-ins are under way.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A plug-in is at work as long as this lives.
pub struct AtWork(());

impl AtWork {
    /// It begins.
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

/// Calls `body`, in which code of a user's runs, for instance a module that is imported.
#[pyfunction]
pub fn call_plug_in<'py>(body: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let _at_work = AtWork::new();
    body.call0()
}

/// Notes that the command has answered a signal and ends in order, although a plug-in may be at work on a thread of its own.
#[pyfunction]
pub fn leave_in_order() {
    LEAVING.store(true, Ordering::Relaxed);
}

/// Leaves signals to a program that this one waits for, or ends that; returns how it was before.
#[pyfunction]
pub fn leave_signals_alone(alone: bool) -> bool {
    LEFT_ALONE.swap(alone, Ordering::Relaxed)
}

/// Starts to watch for Ctrl-C and SIGTERM, as far as the interpreter answers them.
///
/// Two seconds after the first of them the process ends if a plug-in is at work, and soon after the second it ends anyway.
#[pyfunction]
pub fn watch_signals() -> PyResult<()> {
    for answered in &ANSWERED {
        let there = action_of(answered.number);
        // A command that is started with Ctrl-C ignored, as by `nohup`, ignores it.
        if ![libc::SIG_IGN, libc::SIG_DFL].contains(&there) {
            answered.interpreters.store(there, Ordering::Relaxed);
        }
    }
    WATCHED.store(own_process(), Ordering::Relaxed);
    count_signals();
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}

/// Counts the signals that are watched from now on, although the interpreter has put a handler of its own there.
#[pyfunction]
pub fn count_signals() {
    ANSWERED.iter().for_each(Answered::count);
}

fn watch() {
    // The time of the first signal, and the time at which the process ends even if a plug-in is at work.
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

/// A signal that the interpreter answers.
struct Answered {
    number: i32,
    /// The address of the interpreter's handler; 0 where the signal is not watched.
    interpreters: AtomicUsize,
    /// Whether that handler is called: it complains where Python ignores the signal.
    calls: AtomicBool,
}

static ANSWERED: [Answered; 2] = [Answered::of(libc::SIGINT), Answered::of(libc::SIGTERM)];

impl Answered {
    const fn of(number: i32) -> Self {
        Self { number, interpreters: AtomicUsize::new(0), calls: AtomicBool::new(true) }
    }

    /// Puts the handler of this module in place of any other, unless the signal ends the process anyway.
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
        // As without pifolab: whoever forked the process waits for its end.
        // SAFETY: handlers may call both functions. The signal is blocked until this one returns.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
        return;
    }
    let Some(answered) = ANSWERED.iter().find(|answered| answered.number == number) else { return };
    if answered.calls.load(Ordering::Relaxed) {
        // SAFETY: Python's handler takes one argument; it stays there as long as the process.
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
    // Nobody may be there to read it.
    let _ = std::io::stderr().write_all(line.as_bytes());
    leave(128 + number)
}

/// Ends the process as soon as nothing can be written to its standard input any more, whoever holds the interpreter.
#[pyfunction]
pub fn end_with_input() -> PyResult<()> {
    std::thread::Builder::new().name("input".to_owned()).spawn(|| {
        loop {
            // Without events, only the end of the other side is reported.
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
    // SAFETY: the function has no conditions. What is registered to be called at exit may wait for the interpreter.
    unsafe { libc::_exit(status) }
}

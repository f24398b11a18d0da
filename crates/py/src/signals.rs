//! Ends the process where Python cannot: a plug-in may hold the interpreter for hours, wait for ever, or catch every exception.
//!
//! The interpreter's own handler, which is compiled code, writes the number of each signal to a socket
//! (`signal.set_wakeup_fd`), whoever holds the interpreter. The thread that reads there never needs it.

use pyo3::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// After the first signal a plug-in has so long to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// After the second signal the whole command has so long to remove what it has half written.
const LAST_PATIENCE: Duration = Duration::from_millis(1500);

/// How often plug-ins are looked at once their time is over: one may be called later than that.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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

/// Starts to watch for Ctrl-C and SIGTERM; returns the descriptor that `signal.set_wakeup_fd` is to have.
///
/// Two seconds after the first of them the process ends if a plug-in is at work, and soon after the second it ends anyway.
#[pyfunction]
pub fn watch_signals() -> PyResult<RawFd> {
    let (reader, writer) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || watch(reader))?;
    Ok(writer.into_raw_fd())
}

fn watch(mut reader: UnixStream) {
    let mut last = None;
    // When plug-ins are looked at, and when the process ends whatever is at work.
    let (mut look, mut end) = (None::<Instant>, None::<Instant>);
    loop {
        let now = Instant::now();
        let Some(signal) = last else {
            last = next(&mut reader, None);
            look = Some(Instant::now() + PATIENCE);
            continue;
        };
        if end.is_some_and(|end| end <= now) {
            end_by(signal);
        }
        if look.is_some_and(|look| look <= now) {
            if AT_WORK.load(Ordering::Relaxed) > 0 && !LEAVING.load(Ordering::Relaxed) {
                end_by(signal);
            }
            look = Some(now + LOOK_AGAIN);
        }
        let wait = look.into_iter().chain(end).min().map(|until| until - now);
        if let Some(signal) = next(&mut reader, wait) {
            last = Some(signal);
            end = end.or(Some(Instant::now() + LAST_PATIENCE));
        }
    }
}

/// The next of the two signals; none if none comes in time.
fn next(reader: &mut UnixStream, wait: Option<Duration>) -> Option<Signal> {
    // No time at all would mean for ever.
    let wait = wait.map(|wait| wait.max(Duration::from_millis(1)));
    reader.set_read_timeout(wait).expect("the time is not zero");
    let mut number = [0];
    match reader.read(&mut number) {
        Ok(1) => match i32::from(number[0]) {
            libc::SIGINT => Some(Signal::Interrupt),
            libc::SIGTERM => Some(Signal::Terminate),
            _ => None,
        },
        // The other end is never closed.
        Ok(_) => None,
        Err(error) => {
            let in_vain = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
            assert!(in_vain.contains(&error.kind()), "reading from a socket: {error}");
            None
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Interrupt,
    Terminate,
}

/// Ends the process, with the line and the status that Python would have ended it with.
fn end_by(signal: Signal) -> ! {
    let (line, number) = match signal {
        Signal::Interrupt => ("pifolab: interrupted\n", libc::SIGINT),
        Signal::Terminate => ("pifolab: terminated\n", libc::SIGTERM),
    };
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

//! The one place where an error of the library, or a panic, becomes a Python exception.

use pifolab_scenario::{Error, Place, SpecError};
use pifolab_sched::params::{Misfit, ParamError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The place and the message of the last panic, written by the hook and read when the panic is caught. Since a panic
/// ends the call, one slot is enough for the process.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A fault that a user of the Python package can see.
pub enum Fault {
    /// An invalid parameter.
    Parameter(ParamError),
    /// Invalid data: a file, a packet, a point in time. One line, with the place.
    Input(String),
    /// An argument of a function: its name, and the problem, which follows the name in the message.
    Argument(&'static str, Misfit),
    /// A value of the wrong type. One line, with its name.
    Kind(String),
    /// A scenario or a file that it names.
    Scenario(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Scenario(error)
    }
}

impl From<ParamError> for Fault {
    fn from(error: ParamError) -> Self {
        Self::Parameter(error)
    }
}

/// Runs `body`, the whole work of a call from Python, and converts its errors to exceptions: `pifolab.ParameterError`,
/// `pifolab.InputError`, or `pifolab.InternalError` for a panic.
pub fn guard<T>(py: Python<'_>, body: impl FnOnce() -> Result<T, Fault>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(raise(py, fault)),
        Err(_) => {
            let message = LAST_PANIC.lock().map(|text| text.clone()).unwrap_or_default();
            Err(exception(py, "InternalError", (message,)))
        }
    }
}

/// Runs `body` on another thread while this one checks for Ctrl-C, which raises the exception at once and drops the
/// result of `body`. Otherwise as [`guard`].
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    body: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> PyResult<T> {
    let (send, mut receive) = mpsc::channel();
    std::thread::spawn(move || send.send(catch_unwind(AssertUnwindSafe(body))));
    loop {
        // Only the owner of the receiver may wait for it while detached from the interpreter.
        let answer;
        (answer, receive) = py.detach(move || (receive.recv_timeout(Duration::from_millis(50)), receive));
        match answer {
            Ok(Ok(done)) => return guard(py, || done),
            Ok(Err(panic)) => return guard(py, || std::panic::resume_unwind(panic)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
        }
    }
}

/// Keeps panics off the terminal; [`guard`] reports them.
pub fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        if let Ok(mut text) = LAST_PANIC.lock() {
            *text = format!("{what} ({place})");
        }
    }));
}

fn raise(py: Python<'_>, fault: Fault) -> PyErr {
    match fault {
        Fault::Parameter(error) => {
            let message = error.to_string();
            exception(py, "ParameterError", (message, error.owner, error.key, error.value, error.expected))
        }
        Fault::Input(message) => exception(py, "InputError", (message,)),
        Fault::Argument(key, problem) => {
            let joint = if problem.value.is_some() { ": " } else { " " };
            input_error(py, None, (None, None), key, joint, problem)
        }
        Fault::Kind(message) => PyTypeError::new_err(message),
        Fault::Scenario(Error::Spec(SpecError { file, place, key, problem })) => {
            let place = match place {
                Place::File => (None, None),
                Place::Line(line) => (Some(line as u64), None),
                Place::Flag(flag) => (None, Some(flag)),
            };
            let joint = if key.is_empty() { "" } else { ": " };
            input_error(py, Some(file), place, &key, joint, problem)
        }
        Fault::Scenario(Error::File(error)) => {
            let inside = error.inside();
            input_error(py, Some(error.file), (error.place.line(), None), "", "", inside.into())
        }
        Fault::Scenario(Error::Cancelled) => exception(py, "InputError", (Error::Cancelled.to_string(),)),
    }
}

/// An `InputError` from its fields, which form its text; `place` is the line and the flag, and `joint` separates the
/// key with its value from the expected form.
fn input_error(
    py: Python<'_>,
    file: Option<String>,
    (line, flag): (Option<u64>, Option<&str>),
    key: &str,
    joint: &str,
    Misfit { value, expected, unknown }: Misfit,
) -> PyErr {
    let made = None::<&str>;
    let (after, unknown) = ((format!("{joint}{expected}"),), unknown.map(|role| role.to_string()));
    exception(py, "InputError", (made, file, line, key, made, flag, value, after, unknown))
}

/// The exception classes are written in Python, where they can inherit from the built-in ones.
fn exception<'py, A>(py: Python<'py>, name: &'static str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    static PARAMETER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static INTERNAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let cell = match name {
        "ParameterError" => &PARAMETER,
        "InputError" => &INPUT,
        _ => &INTERNAL,
    };
    match cell.import(py, "pifolab.errors", name).and_then(|class| class.call1(arguments)) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

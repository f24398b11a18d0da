//! Rust adapters for schedulers, rank functions, congestion controllers and observers written in Python.
//!
//! A Python scheduler only decides. The packets stay here, so that a lost or invented packet is detected at once. The
//! traits cannot return Python's exceptions, so an exception is stored in the [`Slot`] of the run, and the call panics;
//! the caller of the run finds the exception there.

mod controller;
mod notes;
mod observer;
mod rank;
mod scheduler;
mod slot;

pub use controller::{PyAck, PyWindow};

use crate::loadable::texts;
use controller::PythonController;
use notes::Notes;
use observer::{PythonObserver, PythonObservers};
use pifolab_loadable::Report;
use pifolab_scenario::registry::{BoxedRankFn, BoxedScheduler};
use pifolab_scenario::{BoxedObserver, Extras, INTERRUPTED_ROWS};
use pifolab_sched::params::Value;
use pifolab_sim::network::Controllers;
use pifolab_workload::Stream;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use rank::PythonRank;
use scheduler::PythonScheduler;
pub use slot::{Maker, Slot};
use std::ffi::{c_long, c_ulong};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The threads of a run, by the interpreter's ids.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<Vec<c_ulong>>>);

impl Threads {
    /// Runs `work` on this thread, during which [`interrupt`](Self::interrupt) can interrupt it.
    fn enter(&self, py: Python<'_>, work: &mut (dyn FnMut() + Send)) {
        // SAFETY: the function has no conditions.
        let own = unsafe { pyo3::ffi::PyThread_get_thread_ident() };
        self.lock().push(own);
        py.detach(work);
        self.lock().retain(|thread| *thread != own);
    }

    /// Raises `KeyboardInterrupt` in the Python code of the threads. Signals reach only the main thread, so Ctrl-C
    /// would never end a loop on another one.
    fn interrupt(&self) {
        Python::attach(|py| {
            let interrupt = py.get_type::<PyKeyboardInterrupt>();
            for thread in self.lock().iter() {
                // SAFETY: the interpreter is attached, and the exception is a class that lives as long as it does. A
                // thread that has ended is skipped.
                unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(*thread as c_long, interrupt.as_ptr()) };
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<c_ulong>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Makers = Vec<(String, Arc<Maker>)>;

/// A caller's extensions: names and factories.
pub struct PythonExtras {
    schedulers: Makers,
    ranks: Makers,
    controllers: Makers,
    observers: Makers,
    /// The observers of this run: name, scheduler's label, object.
    watched: Mutex<Vec<(String, String, Py<PyAny>)>>,
    slot: Slot,
    threads: Threads,
    /// The most rows of each table of an interrupted run.
    interrupted_rows: usize,
}

fn read_makers(makers: Option<&Bound<'_, PyDict>>) -> PyResult<Makers> {
    let pairs = makers.into_iter().flatten();
    pairs.map(|(name, maker)| Ok((name.extract()?, Arc::new(Maker(maker.unbind()))))).collect()
}

fn find<'a>(makers: &'a Makers, name: &str) -> Option<&'a Arc<Maker>> {
    makers.iter().find(|(known, _)| known == name).map(|(_, maker)| maker)
}

/// Whether the exception was raised by Ctrl-C or SIGTERM.
fn is_stop(py: Python<'_>, error: &PyErr) -> bool {
    static TERMINATED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let terminated = TERMINATED.import(py, "pifolab.interruption", "TerminatedError");
    error.is_instance_of::<PyKeyboardInterrupt>(py) || terminated.is_ok_and(|class| error.is_instance(py, class))
}

/// An exception as one line.
fn one_line(error: &PyErr) -> String {
    Python::attach(|py| {
        let kind = error.get_type(py);
        let kind = kind.name().map(|name| name.to_string()).unwrap_or_default();
        format!("{kind}: {}", error.value(py))
    })
}

/// The scheduler `object`, written in Python, outside of a run; its exceptions are stored in `slot`.
pub fn python_scheduler(object: Py<PyAny>, slot: Slot) -> PyResult<BoxedScheduler> {
    Ok(Box::new(PythonScheduler::new(object, Stream::named(1, "scheduler 0"), slot)?))
}

impl PythonExtras {
    /// Reads dictionaries from names to classes or other factories.
    pub fn read(
        schedulers: Option<&Bound<'_, PyDict>>,
        ranks: Option<&Bound<'_, PyDict>>,
        controllers: Option<&Bound<'_, PyDict>>,
        observers: Option<&Bound<'_, PyDict>>,
        slot: Slot,
    ) -> PyResult<Self> {
        Ok(Self {
            schedulers: read_makers(schedulers)?,
            ranks: read_makers(ranks)?,
            controllers: read_makers(controllers)?,
            observers: read_makers(observers)?,
            watched: Mutex::default(),
            slot,
            threads: Threads::default(),
            interrupted_rows: INTERRUPTED_ROWS,
        })
    }

    /// With another limit of rows for interrupted runs.
    pub fn with_interrupted_rows(self, interrupted_rows: usize) -> Self {
        Self { interrupted_rows, ..self }
    }

    /// Calls `maker`; exceptions from Ctrl-C and SIGTERM stay unchanged.
    fn made(&self, maker: &Maker, args: &[(String, Value)]) -> Result<Py<PyAny>, String> {
        Python::attach(|py| {
            maker.call(py, args).map_err(|error| {
                if is_stop(py, &error) {
                    self.slot.keep(error.clone_ref(py));
                }
                one_line(&error)
            })
        })
    }

    /// Stores the fault of a loaded library as the exception of the run.
    fn report(&self) -> Report {
        let slot = self.slot.clone();
        Arc::new(move |problem| slot.keep(PyRuntimeError::new_err(problem)))
    }

    /// The observers of the run, each with its name and the label of the scheduler that it watched.
    pub fn into_watched(self) -> Vec<(String, String, Py<PyAny>)> {
        self.watched.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extras for PythonExtras {
    fn scheduler(
        &self,
        name: &str,
        args: &[(String, Value)],
        random: Stream,
    ) -> Option<Result<BoxedScheduler, String>> {
        let maker = find(&self.schedulers, name)?;
        if let Some(loadable) = maker.loadable() {
            let made = loadable.get().library().scheduler(&texts(args), random, self.report());
            return Some(made.map(|scheduler| Box::new(scheduler) as BoxedScheduler));
        }
        let object = self.made(maker, args);
        let scheduler = object.and_then(|object| {
            PythonScheduler::new(object, random, self.slot.clone()).map_err(|error| one_line(&error))
        });
        Some(scheduler.map(|scheduler| Box::new(scheduler) as BoxedScheduler))
    }

    fn rank(&self, name: &str, args: &[(String, Value)], random: Stream) -> Option<Result<BoxedRankFn, String>> {
        let maker = find(&self.ranks, name)?;
        if let Some(loadable) = maker.loadable() {
            let made = loadable.get().library().rank(&texts(args), random, self.report());
            return Some(made.map(|rank| Box::new(rank) as BoxedRankFn));
        }
        let object = self.made(maker, args);
        let rank = object
            .and_then(|object| PythonRank::new(object, random, self.slot.clone()).map_err(|error| one_line(&error)));
        Some(rank.map(|rank| Box::new(rank) as BoxedRankFn))
    }

    /// One is made at once, so that wrong arguments are reported before the run.
    fn controllers(&self, name: &str, args: &[(String, Value)]) -> Option<Result<Controllers, String>> {
        let maker = Arc::clone(find(&self.controllers, name)?);
        if let Err(problem) = self.made(&maker, args) {
            return Some(Err(problem));
        }
        let (args, slot) = (args.to_vec(), self.slot.clone());
        let make = move |flow: &_| Box::new(PythonController::new(&maker, &args, flow, &slot)) as _;
        Some(Ok(Controllers(Arc::new(make))))
    }

    fn observer(&self, _seed: u64, label: &str) -> Result<Option<BoxedObserver>, String> {
        let mut watching = Vec::with_capacity(self.observers.len());
        for (name, maker) in &self.observers {
            let object = self.made(maker, &[])?;
            let (kept, observer) = Python::attach(|py| {
                let kept = object.clone_ref(py);
                PythonObserver::new(py, object, self.slot.clone()).map(|observer| (kept, observer))
            })
            .map_err(|error| one_line(&error))?;
            watching.push(observer);
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            watched.push((name.clone(), label.to_owned(), kept));
        }
        Ok((!watching.is_empty()).then(|| Box::new(PythonObservers(watching)) as BoxedObserver))
    }

    /// Without this the interpreter would register and unregister the thread at every call.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| self.threads.enter(py, work));
    }

    fn interrupted(&self) -> bool {
        Python::attach(|py| py.check_signals().map_err(|error| self.slot.keep(error)).is_err())
    }

    fn interrupted_rows(&self) -> usize {
        self.interrupted_rows
    }

    fn interrupt(&self) {
        self.threads.interrupt();
    }

    fn controller_names(&self) -> Vec<String> {
        self.controllers.iter().map(|(name, _)| name.clone()).collect()
    }

    fn scheduler_names(&self) -> Vec<String> {
        self.schedulers.iter().map(|(name, _)| name.clone()).collect()
    }

    fn rank_names(&self) -> Vec<String> {
        self.ranks.iter().map(|(name, _)| name.clone()).collect()
    }
}

//! The search for worst-case traces, for Python: a question as a dictionary in, the answer as a dictionary out.

use crate::custom::{Slot, python_scheduler};
use crate::errors::{Fault, guard};
use crate::values::{chosen, read_args};
use pifolab_adversary::{
    self as adversary, Amount, Constraint, End, Error, Event, Guidance, Initial, Limits, METRICS, Method, Metric,
    Moment, Problem, Ranks, Replayed, Strategy, Subject, Sum, Trace, Trend,
};
use pifolab_scenario::registry;
use pifolab_sched::params::{Args, Misfit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One of the two schedulers: the library's, or a factory of one written in Python.
enum Side {
    Library(Args),
    Python(Arc<Py<PyAny>>, String),
}

/// The question of `pifolab.attack`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Question<'py> {
    a: Bound<'py, PyAny>,
    b: Option<Bound<'py, PyAny>>,
    metric: String,
    packets: usize,
    lowest: u64,
    highest: u64,
    counted: u64,
    no_drops: bool,
    free_window: bool,
    multiset: Option<Vec<u32>>,
    flows: Option<usize>,
    falling: bool,
    benign: Vec<(usize, u64)>,
    load: Option<String>,
    burst: usize,
}

/// The effort of the search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Effort {
    method: String,
    strategies: Vec<String>,
    seed: u64,
    evaluations: u64,
    time_limit_s: Option<f64>,
    memory_mib: usize,
    workers: usize,
    initial: Option<Vec<u64>>,
    initial_window: Option<Vec<u64>>,
    initial_evaluations: u64,
    windows: Vec<Vec<u64>>,
}

fn read_side(side: &Bound<'_, PyAny>) -> PyResult<Side> {
    if let Ok((name, parameters)) = side.extract::<(String, Bound<'_, PyDict>)>() {
        return Ok(Side::Library(read_args(&name, Some(&parameters))?));
    }
    let (maker, name): (Py<PyAny>, String) = side.extract()?;
    Ok(Side::Python(Arc::new(maker), name))
}

/// The error of a name that the search does not support, but the library may have.
fn unsearched(name: &str) -> String {
    match registry::find_scheduler(name) {
        Ok(_) => {
            let names: Vec<&str> = adversary::library_names().collect();
            format!("scheduler = {name:?}: no traces are searched for it; expected one of {}", names.join(", "))
        }
        Err(_) => registry::unknown("scheduler", name, adversary::library_names, None),
    }
}

fn subject(side: &Side, slot: &Slot) -> Result<Box<dyn Subject + Send>, Fault> {
    match side {
        Side::Library(args) => match adversary::library(args.owner(), args) {
            Some(subject) => subject.map_err(Fault::Parameter),
            None => Err(Fault::Input(unsearched(args.owner()))),
        },
        Side::Python(maker, name) => {
            let (maker, slot) = (Arc::clone(maker), slot.clone());
            let build = move || slot.call_untimed(|py| python_scheduler(maker.call0(py)?, slot.clone()));
            Ok(Box::new(Replayed::new(name.clone(), Arc::new(build))))
        }
    }
}

/// Builds the problem and runs `body` with it, detached from the interpreter; an exception from Python takes
/// precedence.
fn with_problem<T: Send>(
    py: Python<'_>,
    question: &Question<'_>,
    body: impl FnOnce(&Problem<'_>) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let slot = Slot::default();
    let a = read_side(&question.a)?;
    let b = question.b.as_ref().map(read_side).transpose()?;
    let result = guard(py, || {
        let names = || METRICS.iter().map(|metric| metric.name());
        let sum;
        let metric = match adversary::find_metric(&question.metric) {
            Some(metric) => metric,
            None => {
                let unknown = || Fault::Input(registry::unknown("metric", &question.metric, names, None));
                sum = Sum::read(&question.metric)
                    .ok_or_else(unknown)?
                    .map_err(|problem| Fault::Argument("metric", problem))?;
                &sum as &dyn Metric
            }
        };
        let (a, b) = (subject(&a, &slot)?, b.as_ref().map(|b| subject(b, &slot)).transpose()?);
        let load = question.load.as_deref().map(|text| {
            let problem = Misfit::of(text, "expected a positive number or fraction such as 1.1");
            text.parse().map_err(|_| Fault::Argument("load", problem))
        });
        let trend = if question.falling { Trend::Falling } else { Trend::Rising };
        let mut benign = question.benign.clone();
        benign.sort_unstable();
        let problem = Problem {
            a: &*a,
            b: b.as_ref().map(|b| &**b as &dyn Subject),
            metric,
            ranks: Ranks { lowest: question.lowest, highest: question.highest, counted: question.counted },
            packets: question.packets,
            no_drops: question.no_drops,
            free_window: question.free_window,
            constraint: Constraint {
                multiset: question.multiset.clone(),
                flows: question.flows.map(|flows| (flows, trend)),
                benign,
                load: load.transpose()?,
                burst: question.burst,
            },
        };
        problem.check().map_err(|refused| Fault::Argument(refused.key, refused.problem))?;
        py.detach(|| body(&problem))
    });
    match slot.take() {
        Some(error) => Err(error),
        None => result,
    }
}

/// Does `work` on another thread while this one takes signals, of which the first ends the limits. Also returns whether there
/// was one.
fn watched<T: Send>(limits: &Limits, work: impl FnOnce() -> T + Send) -> (T, bool) {
    let done = AtomicBool::new(false);
    let watch = std::thread::current();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            done.store(true, Ordering::Release);
            watch.unpark();
            result
        });
        let mut interrupted = false;
        while !done.load(Ordering::Acquire) {
            std::thread::park_timeout(Duration::from_millis(100));
            if !interrupted && Python::attach(|py| py.check_signals()).is_err() {
                interrupted = true;
                limits.cancelled.store(true, Ordering::Relaxed);
            }
        }
        let result = worker.join().expect("what panics inside is caught");
        (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), interrupted)
    })
}

/// Searches for the worst trace. `progress(numerator, denominator, evaluations)` is called at each improvement. Ctrl-C
/// ends the search and keeps the best trace.
#[pyfunction]
#[pyo3(signature = (question, effort, progress=None))]
pub fn attack<'py>(
    py: Python<'py>,
    question: Question<'py>,
    effort: Effort,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised: Mutex<Option<PyErr>> = Mutex::default();
    let (answer, interrupted, end) = with_problem(py, &question, |problem| {
        let method = chosen::<Method>("method", &effort.method)?;
        let strategies = effort.strategies.iter().map(|name| chosen::<Strategy>("strategy", name));
        let guidance = Guidance {
            seed: effort.seed,
            evaluations: effort.evaluations,
            strategies: strategies.collect::<Result<_, _>>()?,
            initial: effort.initial.clone().map(|ranks| Initial {
                ranks,
                window: effort.initial_window.clone(),
                evaluations: effort.initial_evaluations,
            }),
            windows: effort.windows.clone(),
        };
        check_windows(problem, &guidance.windows)?;
        let time = effort.time_limit_s.map(Duration::from_secs_f64);
        let limits = Limits::new(time, effort.memory_mib << 20, effort.workers);
        let mut tell = |gap: Amount, evaluations: u64| {
            let Some(progress) = &progress else { return };
            let (numerator, denominator) = gap.parts();
            let told = Python::attach(|py| progress.call1(py, (numerator, denominator, evaluations)).map(drop));
            if let Err(error) = told {
                raised.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
                limits.cancelled.store(true, Ordering::Relaxed);
            }
        };
        let (result, interrupted) =
            watched(&limits, || adversary::attack(problem, method, &guidance, &limits, &mut tell));
        match result {
            Ok(answer) => {
                let end = limits.reached().filter(|_| !answer.proven);
                Ok((answer, interrupted, end))
            }
            Err(error) => Err(Fault::Input(match error {
                Error::Impossible => "no trace satisfies the constraints".to_owned(),
                Error::NoneFound(tried, bound) => {
                    let most = bound
                        .map_or_else(String::new, |bound| format!("; no trace has a gap above {}", bound.to_f64()));
                    format!(
                        "none of the {tried} traces that were tried satisfies the constraints, though one may exist{most}"
                    )
                }
                Error::Unsuited(reason) => format!("the exact search does not apply: {reason}"),
                Error::Limits(_) if interrupted => "interrupted before any trace was complete".to_owned(),
                Error::Limits(_) => "no trace was complete within the time and the memory; give more".to_owned(),
            })),
        }
    })?;
    if let Some(error) = raised.into_inner().expect("no thread panics while it holds the lock") {
        return Err(error);
    }
    let shown = PyDict::new(py);
    shown.set_item("gap", answer.gap.parts())?;
    shown.set_item("bound", answer.bound.map(Amount::parts))?;
    shown.set_item("proven", answer.proven)?;
    shown.set_item("trace", answer.trace.ranks)?;
    shown.set_item("departures", answer.trace.departures)?;
    shown.set_item("start_window", answer.start_window)?;
    shown.set_item("evaluations", answer.evaluations)?;
    shown.set_item("interrupted", interrupted)?;
    shown.set_item("ended_by", end.map(End::word))?;
    Ok(shown)
}

/// Ranks, departures, gap, and what ended the search for a smaller trace early.
type Shrunk = (Vec<u64>, Vec<u32>, (i64, i64), Option<&'static str>);

/// Removes packets from a trace and simplifies its ranks as long as the gap stays at least `least`, a fraction, for at most
/// `time_limit_s`. Ctrl-C ends it and keeps the smallest trace so far.
#[pyfunction]
#[pyo3(signature = (question, ranks, departures, window, least, time_limit_s=None))]
pub fn attack_shrink(
    py: Python<'_>,
    question: Question<'_>,
    ranks: Vec<u64>,
    departures: Vec<u32>,
    window: Option<Vec<u64>>,
    least: (i64, i64),
    time_limit_s: Option<f64>,
) -> PyResult<Option<Shrunk>> {
    let trace = Trace { ranks, departures };
    let least = Amount::new(least.0, least.1.max(1));
    with_problem(py, &question, |problem| {
        check_trace(problem, &trace)?;
        let limits = Limits::new(time_limit_s.map(Duration::from_secs_f64), usize::MAX, 1);
        let work = || adversary::shrink(problem, &trace, window.as_deref(), least, &limits);
        let (shrunk, _) = watched(&limits, work);
        let end = limits.reached().map(End::word);
        Ok(shrunk.map(|(trace, gap)| (trace.ranks, trace.departures, gap.parts(), end)))
    })
}

/// The actions of both schedulers on a trace step by step, and the cost of each.
#[pyfunction]
pub fn attack_story<'py>(
    py: Python<'py>,
    question: Question<'py>,
    ranks: Vec<u64>,
    departures: Vec<u32>,
    window: Option<Vec<u64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let trace = Trace { ranks, departures };
    let window = window.as_deref();
    let sides = with_problem(py, &question, |problem| {
        check_trace(problem, &trace)?;
        let side = |subject: &dyn Subject| {
            let outcome = adversary::Outcome::of(subject, &trace, window);
            let value = problem.metric.value(&outcome, &problem.ranks);
            (value.parts(), adversary::tell(subject, &trace, window), outcome.sent)
        };
        Ok([Some(side(problem.a)), problem.b.map(side)])
    })?;
    let shown = PyDict::new(py);
    for (name, side) in ["a", "b"].into_iter().zip(sides) {
        let Some((value, moments, sent)) = side else {
            shown.set_item(name, py.None())?;
            continue;
        };
        let told = PyDict::new(py);
        told.set_item("value", value)?;
        told.set_item("sent", sent)?;
        let moments = moments.iter().map(|moment| show_moment(py, moment)).collect::<PyResult<Vec<_>>>()?;
        told.set_item("moments", PyList::new(py, moments)?)?;
        shown.set_item(name, told)?;
    }
    Ok(shown)
}

/// Whether the searched window may start with each of `windows`.
fn check_windows(problem: &Problem<'_>, windows: &[Vec<u64>]) -> Result<(), Fault> {
    let Ranks { lowest, highest, .. } = problem.ranks;
    let size = problem.searched_window().unwrap_or(0);
    let fits = |window: &&Vec<u64>| window.len() == size && window.iter().all(|rank| (lowest..=highest).contains(rank));
    match windows.iter().find(|window| !fits(window)) {
        Some(window) => {
            let given = window.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let expected = format!("expected {size} ranks from {lowest} to {highest}, as many as the window has");
            Err(Fault::Argument("start_window", Misfit::of(given, expected)))
        }
        None => Ok(()),
    }
}

fn check_trace(problem: &Problem<'_>, trace: &Trace) -> Result<(), Fault> {
    let Ranks { lowest, highest, .. } = problem.ranks;
    match trace.ranks.iter().find(|rank| !(lowest..=highest).contains(*rank)) {
        Some(rank) => {
            Err(Fault::Input(format!("rank {rank} in the trace: expected a rank from {lowest} to {highest}")))
        }
        None => Ok(()),
    }
}

fn show_moment<'py>(py: Python<'py>, moment: &Moment) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    match &moment.event {
        Event::Stored { packet, queue, victims } => {
            shown.set_item("event", "stored")?;
            shown.set_item("packet", packet)?;
            shown.set_item("queue", queue)?;
            shown.set_item("victims", victims)?;
        }
        Event::Dropped { packet, reason, at_dequeue } => {
            shown.set_item("event", if *at_dequeue { "given-up" } else { "dropped" })?;
            shown.set_item("packet", packet)?;
            shown.set_item("reason", reason.word())?;
        }
        Event::Sent { packet, queue } => {
            shown.set_item("event", "sent")?;
            shown.set_item("packet", packet)?;
            shown.set_item("queue", queue)?;
        }
        Event::Idle => shown.set_item("event", "idle")?,
    }
    shown.set_item("queues", &moment.queues)?;
    shown.set_item("bounds", &moment.bounds)?;
    shown.set_item("window", &moment.window)?;
    Ok(shown)
}

/// Name and summary of every metric.
#[pyfunction]
pub fn attack_metrics() -> Vec<(&'static str, &'static str)> {
    METRICS.iter().map(|metric| (metric.name(), metric.summary())).collect()
}

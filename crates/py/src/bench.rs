//! The measurements of `pifolab bench`: the library has the loops, this module the clock.

use crate::errors::{Fault, interruptible};
use crate::values::chosen;
use pifolab_params::Choice;
use pifolab_scenario::bench::{self, Load};
use pifolab_scenario::registry::Form;
use pifolab_sim::bench::{Case, Delays, Events, Prepared};
use pifolab_units::Span;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::time::Instant;

/// Measures every scheduler, which takes some seconds.
#[pyfunction]
pub fn bench_schedulers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let measurements = interruptible(py, || Ok(bench::schedulers()))?;
    let rows = measurements.iter().map(|measurement| {
        let row = PyDict::new(py);
        row.set_item("name", &measurement.name)?;
        row.set_item("tree_depth", measurement.tree_depth)?;
        row.set_item("occupancy", measurement.occupancy)?;
        row.set_item("load", measurement.load.map(Load::word))?;
        row.set_item("ns_per_packet", measurement.ns_per_packet)?;
        row.set_item("min_ns_per_packet", measurement.min_ns_per_packet)?;
        row.set_item("plain_ns_per_packet", measurement.plain_ns_per_packet)?;
        Ok(row)
    });
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

/// The measured numbers of waiting events.
const WAITING: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Events of a sample, and samples.
const EVENTS: usize = 50_000;
const SAMPLES: usize = 3;

/// Measures the event queue of networks and the binary heap of its tests, which takes half a minute.
#[pyfunction]
pub fn bench_events(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let median_ns = |delays: Delays, waiting: usize, plain: bool| {
        let mut events = Events::new(delays, waiting, plain);
        // All that waited at first has gone.
        events.run(EVENTS.max(waiting));
        let mut samples: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                let start = Instant::now();
                events.run(EVENTS);
                start.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        samples[SAMPLES / 2]
    };
    let measured = interruptible(py, move || {
        let cases = Delays::ALL.iter().flat_map(|delays| WAITING.map(|waiting| (*delays, waiting)));
        let both = |delays, waiting| [false, true].map(|plain| median_ns(delays, waiting, plain));
        Ok(cases.map(|(delays, waiting)| (delays.word(), waiting, both(delays, waiting))).collect::<Vec<_>>())
    })?;
    let rows = measured.into_iter().map(|(delays, waiting, [ns, plain])| {
        let row = PyDict::new(py);
        row.set_item("delays", delays)?;
        row.set_item("waiting", waiting)?;
        row.set_item("ns_per_event", ns)?;
        row.set_item("plain_ns_per_event", plain)?;
        Ok(row)
    });
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

/// The cases of [`bench_network`].
#[pyfunction]
pub fn network_cases() -> Vec<&'static str> {
    Case::WORDS.iter().map(|(word, _)| *word).collect()
}

/// Runs the network of `case` for `simulated_ms`, and measures the run alone, without the construction of network and
/// flows. `plain`: the plain text of schedulers runs even if they have twins.
#[pyfunction]
#[pyo3(signature = (case, simulated_ms, plain = false))]
pub fn bench_network<'py>(py: Python<'py>, case: &str, simulated_ms: u64, plain: bool) -> PyResult<Bound<'py, PyDict>> {
    let name = case.to_owned();
    let form = if plain { Form::Plain } else { Form::Twins };
    let (prepared, result, wall_s) = interruptible(py, move || {
        let known = chosen::<Case>("case", &name)?;
        if !(1..=1_000_000).contains(&simulated_ms) {
            return Err(Fault::Input(format!("simulated_ms = {simulated_ms}: expected an integer from 1 to 1000000")));
        }
        let prepared = Prepared::in_form(known, Span::from_us(1_000 * simulated_ms), form);
        let start = Instant::now();
        let result = prepared.run();
        Ok((prepared, result, start.elapsed().as_secs_f64()))
    })?;
    let row = PyDict::new(py);
    row.set_item("case", case)?;
    row.set_item("simulated_ms", simulated_ms)?;
    row.set_item("wall_s", wall_s)?;
    row.set_item("hops", result.counters.hops)?;
    row.set_item("events", result.counters.events)?;
    row.set_item("dropped", result.counters.dropped)?;
    row.set_item("most_in_flight", result.counters.most_in_flight)?;
    row.set_item("flows", prepared.flows().len())?;
    row.set_item("flows_complete", result.completed(prepared.flows()).count())?;
    row.set_item("trace_hash", format!("{:016x}", result.trace_hash))?;
    Ok(row)
}

//! The Python face of pifolab: conversions, no logic.
//!
//! `pifolab._pifolab` is private; users import the package `pifolab` around it. All errors pass through
//! `errors::guard`, which has three exceptions: a wrong parameter, wrong input, and an internal error.

mod arrays;
mod attack;
mod bench;
mod bounds;
mod custom;
mod errors;
mod loadable;
mod memory;
mod p4;
mod packets;
mod policy;
mod run;
mod scheduler;
mod signals;
mod trace;
mod values;

use custom::{PythonExtras, Slot};
use errors::{Fault, guard, interruptible};
use pifolab_params::{WRITTEN_RATES, WRITTEN_TIMES};
use pifolab_scenario::{Extras, Part, conformance, registry};
use pifolab_sched::params::Value;
use pifolab_workload::Stream;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The descriptions of all schedulers.
#[pyfunction]
fn schedulers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let tables = registry::SCHEDULERS.iter().map(|entry| values::show_scheduler(py, entry));
    PyList::new(py, tables.collect::<PyResult<Vec<_>>>()?)
}

/// The descriptions of all rank functions.
#[pyfunction]
fn ranks(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let tables = registry::RANKS.iter().map(|entry| values::show_rank(py, entry));
    PyList::new(py, tables.collect::<PyResult<Vec<_>>>()?)
}

/// The descriptions of all transports.
#[pyfunction]
fn transports(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    show_parts(py, &pifolab_scenario::transports())
}

/// The descriptions of all kinds of networks.
#[pyfunction]
fn topologies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    show_parts(py, &pifolab_scenario::topologies())
}

fn show_parts<'py>(py: Python<'py>, parts: &[Part]) -> PyResult<Bound<'py, PyList>> {
    let tables = parts.iter().map(|part| values::show_part(py, part));
    PyList::new(py, tables.collect::<PyResult<Vec<_>>>()?)
}

/// The cost of the scheduler `name` in a switch: registers, bytes of tables, operations for each packet, and how they
/// were counted; None if no switch has it.
#[pyfunction]
fn switch_cost(
    py: Python<'_>,
    name: &str,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<(u64, f64, u64, String)>> {
    let args = values::read_args(name, parameters)?;
    guard(py, || {
        let cost = registry::find_scheduler(name).map_err(Fault::Input)?.cost_of(&args)?;
        Ok(cost.map(|cost| (cost.registers, cost.table_bytes, cost.operations, cost.counted)))
    })
}

/// Replays the scheduler vector `content`, which errors call `file`; `plain`: with the plain text of the scheduler even
/// if it has a twin. `schedulers` maps names of further schedulers to their classes.
#[pyfunction]
#[pyo3(signature = (file, content, plain = false, schedulers = None))]
fn replay_vector<'py>(
    py: Python<'py>,
    file: String,
    content: Vec<u8>,
    plain: bool,
    schedulers: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let form = if plain { registry::Form::Plain } else { registry::Form::Twins };
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, None, None, None, slot.clone())?;
    let replay = move || {
        // Nothing in a vector names a seed.
        let own = |name: &str, args: &[(String, Value)]| extras.scheduler(name, args, Stream::named(1, "scheduler 0"));
        conformance::replay_own(&file, &content, form, &own).map_err(|error| Fault::Input(error.to_string()))
    };
    let outcome = interruptible(py, replay);
    let outcome = slot.take().map_or(outcome, Err)?;
    let result = PyDict::new(py);
    result.set_item("scheduler", outcome.scheduler)?;
    result.set_item("operations", outcome.operations)?;
    result.set_item("mismatches", outcome.mismatches)?;
    result.set_item("first", outcome.first.map(|mismatch| mismatch.to_string()))?;
    Ok(result)
}

/// The message that no `what` is called `name`, with the one of `names` that was probably meant and, if there are many,
/// the command that prints them.
#[pyfunction]
#[pyo3(signature = (what, name, names, listed_by=None))]
fn unknown_name(what: &str, name: &str, names: Vec<String>, listed_by: Option<&str>) -> String {
    registry::unknown(what, name, || names.iter().map(String::as_str), listed_by)
}

/// The rate in bits per second (or the time in picoseconds) of `text`, a number with its unit, if that is a whole
/// number.
#[pyfunction]
fn read_quantity(text: &str, rate: bool) -> Option<u64> {
    pifolab_params::exact_with_unit(text, if rate { WRITTEN_RATES } else { WRITTEN_TIMES })
}

/// The leaves of a tree, each with its path and the values below `end` that it takes.
#[pyfunction]
fn tree_leaves(
    py: Python<'_>,
    child: &Bound<'_, PyAny>,
    classes: &Bound<'_, PyAny>,
    end: u64,
) -> PyResult<Vec<(String, Vec<u64>)>> {
    let (child, classes) = (values::read_value(child)?, values::read_value(classes)?);
    guard(py, || Ok(registry::leaves_of_tree(child, classes, end)?))
}

/// The compiled part of the `pifolab` package.
#[pymodule]
mod _pifolab {
    use super::*;

    #[pymodule_export]
    use super::{
        arrays::{DequeuedMany, EnqueuedMany},
        attack::{attack, attack_metrics, attack_shrink, attack_story},
        bench::{bench_events, bench_network, bench_schedulers, network_cases},
        bounds::{optimal_bounds, rank_weights},
        custom::{PyAck, PyWindow},
        loadable::{PyLoadable, PyStream},
        p4::{P4Switch, p4_parameters, p4_programs, p4_resources, p4_vector},
        packets::{Admitted, Dropped, Evicted, NotBefore, PyPacket},
        policy::{compare_compiled, compile_policy, policy_embeds, read_policy},
        ranks, read_quantity, replay_vector,
        run::{resolve_scenario, run_scenario, scenario_flows, scenario_memory, scenario_schema, scenario_tables},
        scheduler::PyScheduler,
        schedulers,
        signals::{call_plug_in, count_signals, end_with_input, leave_in_order, leave_signals_alone, watch_signals},
        switch_cost, topologies,
        trace::{behaviours, summarise_trace},
        transports, tree_leaves, unknown_name,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::keep_panics_quiet();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__revision__", env!("PIFOLAB_REVISION"))?;
        module.add("INTERRUPTED_ROWS", pifolab_scenario::INTERRUPTED_ROWS)
    }
}

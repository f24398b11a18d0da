//! The P4 programs and their parameter files.

use crate::errors::{Fault, guard, interruptible};
use crate::values::{chosen, read_args};
use pifolab_bmv2::{Limits, Program, Switch, entries};
use pifolab_p4::{Compiled, PROGRAMS, Refusal, Target, compile, compile_vector};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

fn show<'py>(py: Python<'py>, compiled: Compiled) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("program", compiled.program)?;
    shown.set_item("scheduler", compiled.scheduler)?;
    shown.set_item("in_bytes", compiled.in_bytes)?;
    shown.set_item("capacities", compiled.capacities)?;
    shown.set_item("text", compiled.text)?;
    Ok(shown)
}

/// The programs and the schedulers that each implements.
#[pyfunction]
pub fn p4_programs() -> Vec<(&'static str, Vec<&'static str>)> {
    PROGRAMS.iter().map(|program| (program.name, program.schedulers.to_vec())).collect()
}

/// The resources of the programs on Tofino and Tofino 2, as JSON.
#[pyfunction]
pub const fn p4_resources() -> &'static str {
    pifolab_p4::RESOURCES
}

/// The program and the parameter file of the scheduler `name` on `target`.
#[pyfunction]
#[pyo3(signature = (name, parameters, target))]
pub fn p4_parameters<'py>(
    py: Python<'py>,
    name: &str,
    parameters: Option<&Bound<'py, PyDict>>,
    target: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let args = read_args(name, parameters)?;
    let compiled = guard(py, || {
        compile(name, args, chosen::<Target>("target", target)?).map_err(|refusal| Fault::Input(refusal.to_string()))
    })?;
    show(py, compiled)
}

/// The same for the vector in `file`, with the outcome of the library's replay: `operations` and `mismatches`. If the
/// target does not support it, the result has only `skipped` with the reason.
#[pyfunction]
pub fn p4_vector<'py>(py: Python<'py>, file: PathBuf, target: &str) -> PyResult<Bound<'py, PyDict>> {
    let target = guard(py, || chosen::<Target>("target", target))?;
    let compiled = interruptible(py, move || {
        let name = file.display().to_string();
        let text = fs::read(&file).map_err(|error| Fault::Input(format!("{name}: cannot be read: {error}")))?;
        match compile_vector(&name, &text, target) {
            Err(Refusal::Wrong(message)) => Err(Fault::Input(message)),
            Err(Refusal::Unsupported(reason)) => Ok(Err(reason)),
            Ok(compiled) => Ok(Ok(compiled)),
        }
    })?;
    match compiled {
        Ok((compiled, outcome)) => {
            let shown = show(py, compiled)?;
            shown.set_item("operations", outcome.operations)?;
            shown.set_item("mismatches", outcome.mismatches)?;
            Ok(shown)
        }
        Err(reason) => {
            let shown = PyDict::new(py);
            shown.set_item("skipped", reason)?;
            Ok(shown)
        }
    }
}

/// A switch that runs a program that p4c compiled for BMv2: packets in, packets out, in virtual time.
#[pyclass(name = "P4Switch", module = "pifolab._pifolab", unsendable)]
pub struct P4Switch {
    switch: Switch,
}

/// The input error of an error with a place.
fn misread(error: pifolab_bmv2::Error) -> Fault {
    Fault::Input(error.to_string())
}

#[pymethods]
impl P4Switch {
    #[new]
    #[pyo3(signature = (program, queues=8, depth=64, seed=0))]
    fn new(py: Python<'_>, program: &[u8], queues: u32, depth: u32, seed: u64) -> PyResult<Self> {
        guard(py, || {
            let program = Arc::new(Program::load(program).map_err(misread)?);
            Ok(Self { switch: Switch::new(program, Limits { queues, packets: depth }, seed) })
        })
    }

    /// Executes each line, a command of simple_switch_CLI.
    fn configure(&mut self, py: Python<'_>, text: &str) -> PyResult<()> {
        guard(py, || entries::configure(&mut self.switch, text).map_err(misread))
    }

    /// Runs ingress; returns the port and the queue of each packet that waits then, and the number of lost packets.
    #[pyo3(signature = (port, frame, tag=0, now_ns=0))]
    fn receive(
        &mut self,
        py: Python<'_>,
        port: u32,
        frame: &[u8],
        tag: u64,
        now_ns: u64,
    ) -> PyResult<(Vec<(u32, u32)>, u32)> {
        guard(py, || {
            let outcome = self.switch.receive(port, frame, frame.len() as u32, tag, now_ns);
            Ok((self.switch.placed().iter().map(|placed| (placed.port, placed.queue)).collect(), outcome.lost))
        })
    }

    /// Takes the next packet of a port through egress; returns its bytes, its tag and its queue.
    #[pyo3(signature = (port, now_ns=0))]
    fn send<'py>(
        &mut self,
        py: Python<'py>,
        port: u32,
        now_ns: u64,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, u64, u32)>> {
        let sent = guard(py, || Ok(self.switch.send(port, now_ns)))?;
        Ok(sent.map(|sent| (PyBytes::new(py, sent.bytes), sent.tag, sent.queue)))
    }

    /// Reads a cell of a register.
    fn register(&self, py: Python<'_>, name: &str, index: u64) -> PyResult<u64> {
        guard(py, || self.switch.register(name, index).map_err(misread))
    }

    /// Writes a cell of a register.
    fn set_register(&mut self, py: Python<'_>, name: &str, index: u64, value: u64) -> PyResult<()> {
        guard(py, || self.switch.set_register(name, index, value).map_err(misread))
    }

    /// The number of packets that wait for a port.
    fn waiting(&self, port: u32) -> u32 {
        self.switch.waiting(port)
    }

    /// The number of digests sent, of failed assertions, and of loops that were left after too many rounds.
    fn said(&self) -> [u64; 3] {
        self.switch.said()
    }

    /// The number of ports that have had packets.
    fn ports(&self) -> u32 {
        self.switch.ports()
    }
}

//! Summaries of traces for Python.

use crate::custom::{PythonExtras, Slot};
use crate::errors::{Fault, guard};
use pifolab_scenario::TraceSummary;
use pifolab_units::PHBS;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The per-hop behaviours in the order of service: name, DSCP and rank of each.
#[pyfunction]
pub fn behaviours() -> Vec<(&'static str, u8, u16)> {
    PHBS.iter().map(|phb| (phb.name, phb.dscp, phb.rank)).collect()
}

/// Reads the trace at `path` once and returns its summary; with `sort` its packets may be out of order. Ctrl-C ends it.
#[pyfunction]
pub fn summarise_trace(py: Python<'_>, path: PathBuf, sort: bool) -> PyResult<Bound<'_, PyDict>> {
    let slot = Slot::default();
    let extras = PythonExtras::read(None, None, None, None, slot.clone())?;
    let found = guard(py, || py.detach(|| TraceSummary::read(&path, sort, &extras)).map_err(Fault::from));
    if let Some(error) = slot.take() {
        return Err(error);
    }
    let found = found?;
    let contents = PyDict::new(py);
    contents.set_item("packets", found.counts.packets)?;
    contents.set_item("not_ip_packets", found.counts.not_ip)?;
    contents.set_item("unread_tunnel_packets", found.counts.tunnels)?;
    contents.set_item("fragment_packets", found.counts.fragments)?;
    contents.set_item("held_back_packets", found.held_back.unwrap_or(0))?;
    for (key, count) in found.counts.rare() {
        contents.set_item(key, count)?;
    }
    if let Some(both) = found.both_ways {
        let shown = PyDict::new(py);
        shown.set_item("flows", both.flows)?;
        shown.set_item("host", both.host.to_string())?;
        contents.set_item("both_ways", shown)?;
    }
    contents.set_item("left_out", found.left_out)?;
    let shown = PyDict::new(py);
    shown.set_item("format", found.format)?;
    shown.set_item("bytes", found.bytes)?;
    shown.set_item("flows", found.flows)?;
    shown.set_item("span_ps", found.span_ps)?;
    shown.set_item("mean_bps", found.mean_bps)?;
    shown.set_item("peak_bps", found.peak_bps)?;
    shown.set_item("interval_ms", found.interval_ms)?;
    shown.set_item("largest", found.largest)?;
    shown.set_item("contents", contents)?;
    Ok(shown)
}

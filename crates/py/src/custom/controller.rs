//! Congestion controllers written in Python.

use super::{Maker, Slot};
use pifolab_sched::params::Value;
use pifolab_sim::network::Flow;
use pifolab_transport::{Ack, Controller, Window};
use pifolab_units::Time;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The congestion window of a flow, all in bytes. A controller may set `cwnd_bytes` and `ssthresh_bytes`.
#[pyclass(name = "Window", module = "pifolab", get_all)]
pub struct PyWindow {
    #[pyo3(set)]
    cwnd_bytes: f64,
    #[pyo3(set)]
    ssthresh_bytes: f64,
    mss_bytes: f64,
    limit_bytes: f64,
}

impl From<&Window> for PyWindow {
    fn from(window: &Window) -> Self {
        let Window { cwnd, ssthresh, mss, limit } = *window;
        Self { cwnd_bytes: cwnd, ssthresh_bytes: ssthresh, mss_bytes: mss, limit_bytes: limit }
    }
}

#[pymethods]
impl PyWindow {
    /// Grow as in TCP Reno: slow start below the threshold, one segment per window above it.
    fn grow_like_reno(&mut self) {
        let mut window = Window {
            cwnd: self.cwnd_bytes,
            ssthresh: self.ssthresh_bytes,
            mss: self.mss_bytes,
            limit: self.limit_bytes,
        };
        window.grow_like_reno();
        self.cwnd_bytes = window.cwnd;
    }

    fn __repr__(&self) -> String {
        let Self { cwnd_bytes, ssthresh_bytes, mss_bytes, limit_bytes } = self;
        format!(
            "Window(cwnd_bytes={cwnd_bytes}, ssthresh_bytes={ssthresh_bytes}, mss_bytes={mss_bytes}, \
             limit_bytes={limit_bytes})"
        )
    }
}

/// An acknowledgement for a controller.
#[pyclass(name = "Ack", module = "pifolab", frozen, get_all)]
pub struct PyAck {
    now_ns: u64,
    upto_bytes: u64,
    newly_bytes: u64,
    sent_bytes: u64,
    marked: bool,
    rtt_s: f64,
}

impl From<&Ack> for PyAck {
    fn from(ack: &Ack) -> Self {
        let Ack { now, upto_bytes, newly_bytes, sent_bytes, marked, rtt_s } = *ack;
        Self { now_ns: now.as_ns(), upto_bytes, newly_bytes, sent_bytes, marked, rtt_s }
    }
}

#[pymethods]
impl PyAck {
    fn __repr__(&self) -> String {
        let Self { now_ns, upto_bytes, newly_bytes, sent_bytes, marked, rtt_s } = self;
        let marked = if *marked { "True" } else { "False" };
        format!(
            "Ack(now_ns={now_ns}, upto_bytes={upto_bytes}, newly_bytes={newly_bytes}, sent_bytes={sent_bytes}, \
             marked={marked}, rtt_s={rtt_s})"
        )
    }
}

/// A congestion controller written in Python: see `pifolab.PythonController`.
pub struct PythonController {
    object: Py<PyAny>,
    slot: Slot,
    /// Whether it handles every acknowledgement, even those that acknowledge nothing new.
    any_acks: bool,
}

impl PythonController {
    /// The controller that `maker` makes for `flow`.
    pub fn new(maker: &Maker, args: &[(String, Value)], flow: &Flow, slot: &Slot) -> Self {
        static FLOW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static BASE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        slot.call(flow.start, |py| {
            let object = maker.call(py, args)?;
            let Flow { id, src, dst, bytes, start } = *flow;
            let shown = FLOW.import(py, "pifolab.custom", "Flow")?.call1((id, src, dst, bytes, start.as_ns()))?;
            object.bind(py).setattr("flow", shown)?;
            let base = BASE.import(py, "pifolab.custom", "PythonController")?;
            let own = object.bind(py).get_type().getattr("on_any_ack")?;
            let any_acks = !own.is(&base.getattr("on_any_ack")?);
            Ok(Self { object, slot: slot.clone(), any_acks })
        })
    }

    /// Calls `method` with the window as its first argument, and applies its changes of the window.
    fn steer<A>(&self, window: &mut Window, now: Time, method: &str, fact: A, with_time: bool)
    where
        A: for<'py> IntoPyObject<'py>,
    {
        self.slot.call(now, |py| {
            let shown = Bound::new(py, PyWindow::from(&*window))?;
            let fact = fact.into_bound_py_any(py)?;
            let object = self.object.bind(py);
            if with_time {
                object.call_method1(method, (&shown, fact, now.as_ns()))?;
            } else {
                object.call_method1(method, (&shown, fact))?;
            }
            let PyWindow { cwnd_bytes, ssthresh_bytes, .. } = *shown.borrow();
            // With a window below one segment nothing could ever be sent again.
            if !(cwnd_bytes.is_finite() && cwnd_bytes >= window.mss) {
                let least = window.mss;
                let problem =
                    format!("{method} left cwnd_bytes = {cwnd_bytes}: expected a number from {least} (one segment)");
                return Err(PyValueError::new_err(problem));
            }
            if ssthresh_bytes.is_nan() || ssthresh_bytes < 0.0 {
                let problem = format!("{method} left ssthresh_bytes = {ssthresh_bytes}: expected a number from 0");
                return Err(PyValueError::new_err(problem));
            }
            (window.cwnd, window.ssthresh) = (cwnd_bytes, ssthresh_bytes);
            Ok(())
        });
    }
}

impl Controller for PythonController {
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.steer(window, ack.now, "on_new_ack", PyAck::from(ack), false);
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.any_acks {
            self.steer(window, ack.now, "on_any_ack", PyAck::from(ack), false);
        }
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, now: Time) {
        self.steer(window, now, "on_loss", flight_bytes, true);
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64, now: Time) {
        self.steer(window, now, "on_timeout", flight_bytes, true);
    }
}

//! Observers written in Python.

use super::Slot;
use crate::packets::PyPacket;
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;
use pyo3::prelude::*;

/// An observer written in Python: see `pifolab.PythonObserver`.
pub struct PythonObserver {
    object: Py<PyAny>,
    slot: Slot,
    /// The ports that it watches, ascending; `None` for all.
    ports: Option<Vec<u32>>,
    /// Which of its methods are overridden.
    admits: bool,
    drops: bool,
    dequeues: bool,
}

impl PythonObserver {
    /// The observer `object`, whose class overrides some methods of `base`.
    pub fn new(py: Python<'_>, object: Py<PyAny>, slot: Slot) -> PyResult<Self> {
        let base = py.import("pifolab.custom")?.getattr("PythonObserver")?;
        let class = object.bind(py).get_type();
        let overrides = |method: &str| PyResult::Ok(!class.getattr(method)?.is(&base.getattr(method)?));
        let (admits, drops, dequeues) = (overrides("on_admit")?, overrides("on_drop")?, overrides("on_dequeue")?);
        let mut ports: Option<Vec<u32>> = object.bind(py).getattr("ports")?.extract()?;
        if let Some(ports) = &mut ports {
            ports.sort_unstable();
        }
        Ok(Self { object, slot, ports, admits, drops, dequeues })
    }

    fn sees(&self, port: PortId) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.binary_search(&port.0).is_ok())
    }

    fn tell(&self, now: Time, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        self.slot.call(now, |py| call(self.object.bind(py)));
    }
}

impl Observer for PythonObserver {
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        if self.admits && self.sees(port) {
            let arguments = (port.0, PyPacket::from(&packet), queue, now.as_ns());
            self.tell(now, |object| object.call_method1("on_admit", arguments).map(drop));
        }
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, now: Time) {
        if self.drops && self.sees(port) {
            let arguments = (port.0, PyPacket::from(&packet), loss.reason.word(), now.as_ns());
            self.tell(now, |object| object.call_method1("on_drop", arguments).map(drop));
        }
    }

    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        if self.dequeues && self.sees(port) {
            let arguments = (port.0, PyPacket::from(&packet), queue, now.as_ns());
            self.tell(now, |object| object.call_method1("on_dequeue", arguments).map(drop));
        }
    }

    fn on_end(&mut self, now: Time) {
        self.tell(now, |object| object.call_method1("on_end", (now.as_ns(),)).map(drop));
    }
}

/// Several observers of one run, called in turn.
pub struct PythonObservers(pub Vec<PythonObserver>);

impl Observer for PythonObservers {
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|one| one.on_admit(port, packet, queue, scheduler, now));
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|one| one.on_drop(port, packet, loss, scheduler, now));
    }

    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|one| one.on_dequeue(port, packet, queue, scheduler, now));
    }

    fn on_end(&mut self, now: Time) {
        self.0.iter_mut().for_each(|one| one.on_end(now));
    }
}

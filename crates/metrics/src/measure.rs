//! Observers that return their own tables, so that a run handles them all alike.

use crate::Table;
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;

/// A measurement of one port, with its tables.
pub trait Measure: Observer + Send {
    /// The measured tables; each has its own name.
    fn tables(&self) -> Vec<Table>;
}

/// A list of measurements of the same port.
#[derive(Default)]
pub struct Measures(Vec<Box<dyn Measure>>);

impl Measures {
    /// Adds a measurement, unless it is `None`.
    pub fn add<M: Measure + 'static>(&mut self, measure: Option<M>) {
        if let Some(measure) = measure {
            self.0.push(Box::new(measure));
        }
    }

    /// The tables of all measurements.
    pub fn tables(&self) -> Vec<Table> {
        self.0.iter().flat_map(|measure| measure.tables()).collect()
    }
}

impl Observer for Measures {
    fn watches(&self) -> bool {
        self.0.iter().any(|measure| measure.watches())
    }

    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|measure| measure.on_admit(port, packet, queue, scheduler, now));
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|measure| measure.on_drop(port, packet, loss, scheduler, now));
    }

    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|measure| measure.on_dequeue(port, packet, queue, scheduler, now));
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        self.0.iter_mut().for_each(|measure| measure.on_link_down(port, packet, scheduler, now));
    }

    fn on_end(&mut self, now: Time) {
        self.0.iter_mut().for_each(|measure| measure.on_end(now));
    }
}

//! Occupancy and queue bounds over time at some ports of a network.

use crate::occupancy::{Samples, Sampling};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Span, Time};

/// Samples each of some ports by itself, as [`Samples`] does: after the first outcome at the port at or after each multiple of
/// the interval. A port where nothing happens has no samples; it holds what it held.
#[derive(Clone, Debug)]
pub struct PortSamples {
    ports: Vec<Option<Box<Samples>>>,
}

impl PortSamples {
    /// Samples the `wanted` of `ports` ports once per `interval`, no more than `limit` times each.
    ///
    /// # Panics
    /// If the interval is zero, or a port does not exist.
    pub fn new(ports: usize, wanted: &[u32], interval: Span, limit: usize) -> Self {
        let mut all = vec![None; ports];
        for port in wanted {
            all[*port as usize] = Some(Box::new(Samples::new(Sampling::Every(interval), limit, false)));
        }
        Self { ports: all }
    }

    /// The ports that are sampled, with their samples.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Samples)> {
        (0..).zip(&self.ports).filter_map(|(port, samples)| Some((port, samples.as_deref()?)))
    }

    /// How many samples were not taken because of the limit.
    pub fn skipped(&self) -> u64 {
        self.ports().map(|(_, samples)| samples.skipped()).sum()
    }
}

impl Observer for PortSamples {
    #[inline]
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if let Some(samples) = &mut self.ports[port.0 as usize] {
            samples.on_admit(port, packet, queue, scheduler, now);
        }
    }

    #[inline]
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        if let Some(samples) = &mut self.ports[port.0 as usize] {
            samples.on_drop(port, packet, loss, scheduler, now);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if let Some(samples) = &mut self.ports[port.0 as usize] {
            samples.on_dequeue(port, packet, queue, scheduler, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn only_the_ports_asked_for_are_sampled() {
        // What happens, happens at port 0, at 0, 1, 2, ... us.
        let times = |wanted: &[u32]| {
            let mut samples = PortSamples::new(2, wanted, Span::from_us(2), 100);
            run(&mut samples, events("+1 +1 -1 x1"));
            let of = |(port, samples): (u32, &Samples)| (port, samples.iter().map(|(s, _)| s.time.as_ns()).collect());
            samples.ports().map(of).collect::<Vec<(u32, Vec<u64>)>>()
        };
        assert_eq!(times(&[0, 1]), [(0, vec![0, 2_000]), (1, vec![])]);
        assert_eq!(times(&[1]), [(1, vec![])]);
    }
}

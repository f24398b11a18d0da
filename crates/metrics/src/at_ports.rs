//! One observer of the same type at each chosen port of a network.

use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;

/// Gives each chosen port its own observer, which receives the events of that port only.
#[derive(Clone, Debug)]
pub struct AtPorts<O> {
    ports: Vec<Option<Box<O>>>,
}

impl<O> AtPorts<O> {
    /// Creates one observer with `make` for each port in `wanted`; the network has `ports` ports.
    ///
    /// # Panics
    /// If a port in `wanted` does not exist.
    pub fn new(ports: usize, wanted: &[u32], make: impl Fn() -> O) -> Self {
        let mut all: Vec<_> = (0..ports).map(|_| None).collect();
        for port in wanted {
            all[*port as usize] = Some(Box::new(make()));
        }
        Self { ports: all }
    }

    /// The chosen ports and their observers, in ascending order of port number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &O)> {
        (0..).zip(&self.ports).filter_map(|(port, observer)| Some((port, observer.as_deref()?)))
    }
}

impl<O: Observer> Observer for AtPorts<O> {
    #[inline]
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.ports[port.0 as usize].as_deref_mut().on_admit(port, packet, queue, scheduler, now);
    }

    #[inline]
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        self.ports[port.0 as usize].as_deref_mut().on_drop(port, packet, loss, scheduler, now);
    }

    #[inline]
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        self.ports[port.0 as usize].as_deref_mut().on_dequeue(port, packet, queue, scheduler, now);
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        self.ports[port.0 as usize].as_deref_mut().on_link_down(port, packet, scheduler, now);
    }

    fn on_end(&mut self, now: Time) {
        for observer in self.ports.iter_mut().flatten() {
            observer.on_end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};
    use crate::{Drops, Samples, Sampling};
    use pifolab_units::Span;

    #[test]
    fn only_the_ports_asked_for_are_sampled() {
        // All events occur at port 0, at 0, 1, 2, ... us.
        let times = |wanted: &[u32]| {
            let mut samples = AtPorts::new(2, wanted, || Samples::new(Sampling::Every(Span::from_us(2)), 100, false));
            run(&mut samples, events("+1 +1 -1 x1"));
            let of = |(port, samples): (u32, &Samples)| (port, samples.iter().map(|(s, _)| s.time.as_ns()).collect());
            samples.iter().map(of).collect::<Vec<(u32, Vec<u64>)>>()
        };
        assert_eq!(times(&[0, 1]), [(0, vec![0, 2_000]), (1, vec![])]);
        assert_eq!(times(&[1]), [(1, vec![])]);
    }

    #[test]
    fn other_ports_are_not_seen() {
        let mut drops = AtPorts::new(2, &[0, 1], Drops::default);
        run(&mut drops, events("x1 x2"));
        assert_eq!(drops.iter().map(|(_, drops)| drops.total().all()).collect::<Vec<_>>(), [2, 0]);
    }
}

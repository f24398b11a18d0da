//! An observer that watches one port of many.

use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;

/// Shows `observer` what happens at `port` and nothing else.
#[derive(Clone, Debug)]
pub struct OnPort<O> {
    /// The port.
    pub port: PortId,
    /// Who watches it.
    pub observer: O,
}

impl<O: Observer> Observer for OnPort<O> {
    #[inline]
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if port == self.port {
            self.observer.on_admit(port, packet, queue, scheduler, now);
        }
    }

    #[inline]
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        if port == self.port {
            self.observer.on_drop(port, packet, loss, scheduler, now);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if port == self.port {
            self.observer.on_dequeue(port, packet, queue, scheduler, now);
        }
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        if port == self.port {
            self.observer.on_link_down(port, packet, scheduler, now);
        }
    }

    fn on_end(&mut self, now: Time) {
        self.observer.on_end(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drops;
    use crate::testing::{events, run};

    #[test]
    fn other_ports_are_not_seen() {
        let mut here = OnPort { port: PortId(0), observer: Drops::new() };
        let mut elsewhere = OnPort { port: PortId(1), observer: Drops::new() };
        run(&mut (&mut here, &mut elsewhere), events("x1 x2"));
        assert_eq!(here.observer.total().all(), 2);
        assert_eq!(elsewhere.observer.total().all(), 0);
    }
}

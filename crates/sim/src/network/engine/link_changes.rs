//! Failures of links, and the loss of the packets that wait for them.

use super::mode::Mode;
use super::queue::Queue;
use super::step::Net;
use crate::network::trace_hashes::loss::WAITING;
use crate::observer::{Observer, PortId};
use crate::port::{Order, Served};
use pifolab_sched::Handle;
use pifolab_units::Time;

impl<O: Observer, M: Mode> Net<'_, O, M> {
    /// Applies all changes of `now`, from change number `first` on.
    #[cold]
    pub(super) fn change_links(&mut self, first: u32, now: Time) {
        let Some(mut failures) = self.failures.take() else { return };
        for port in failures.change(first, now) {
            if !M::STEPWISE {
                self.catch_up(port, now);
            }
            self.flush(port, now);
        }
        let (topology, down) = failures.state();
        if !self.routes.rebuild(topology, down, self.stop) {
            self.stopped = true;
            self.accounts.look_up_soon();
        }
        self.failures = Some(failures);
    }

    /// Loses all packets that wait at a port.
    fn flush(&mut self, number: u32, now: Time) {
        self.stop_timer(number);
        let mut time = now;
        loop {
            let (port, mut told, _) = self.port(number);
            if port.waiting() == 0 {
                break;
            }
            if port.queue.stores_handles() {
                let Handle { number: packet, size } = port.pop();
                self.lose_waiting(number, packet, size);
                continue;
            }
            if matches!(port.queue, Queue::Described(_)) {
                let (packet, _) = Self::take_described(port, told.packets, now);
                told.observer.on_link_down(PortId(number), (&packet).into(), port.queue.inspect(), now);
                self.lose_waiting(number, packet.id as u32, packet.size);
                continue;
            }
            match port.serve(false, time, &mut told) {
                Served::Packet(packet, _) => {
                    told.observer.on_link_down(PortId(number), (&packet).into(), port.queue.inspect(), now);
                    self.lose_waiting(number, packet.id as u32, packet.size);
                }
                // Packets that the scheduler holds back are lost as well.
                Served::NotBefore(later) => time = later,
                Served::Nothing => {
                    if self.ports[number as usize].waiting() > 0 {
                        // The scheduler keeps packets that it admitted, a fault that the check of the accounts reports.
                        self.accounts.check_soon();
                    }
                    break;
                }
            }
        }
    }

    fn lose_waiting(&mut self, number: u32, packet: u32, size: u32) {
        let (port, mut told, _) = self.port(number);
        port.lose_to_link(size);
        told.forget(packet, WAITING);
    }
}

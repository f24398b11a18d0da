//! How a port sends: what its wire takes next, when, and what follows.

use super::event::{Event, Packed};
use super::mode::Mode;
use super::net::Net;
use super::port::{Port, take_next};
use crate::event_queue::EventQueue;
use crate::observer::Observer;
use crate::port::{Order, Served};
use pifolab_sched::Handle;
use pifolab_units::{Rounding, Time};

/// Puts a packet on the wire of port `number`.
#[inline(always)]
pub(super) fn begin<M: Mode>(
    port: &mut Port,
    events: &mut EventQueue<Packed>,
    number: u32,
    Handle { number: packet, size }: Handle,
    queued: bool,
    now: Time,
    rounding: Rounding,
) {
    port.transmit(size, queued, now, rounding);
    if M::STEPWISE {
        port.set_serving(packet);
        events.push(port.busy_until, Event::Depart { port: number }.pack());
    } else {
        events.push(port.busy_until.saturating_add(port.delay), Event::Arrive { port: number, packet }.pack());
    }
}

/// Puts on the wire of port `number`, which is behind and stores handles, what it should have begun to send by now.
#[inline(always)]
fn begin_waiting<M: Mode>(
    port: &mut Port,
    events: &mut EventQueue<Packed>,
    number: u32,
    now: Time,
    rounding: Rounding,
) {
    loop {
        let next = take_next(port);
        let start = port.busy_until;
        begin::<M>(port, events, number, next, true, start, rounding);
        // Mostly so, whereas whether more packets wait cannot be predicted.
        if port.busy_until > now || port.waiting == 0 {
            return;
        }
    }
}

impl<O: Observer, M: Mode> Net<'_, O, M> {
    /// Lets a port decide what it should have sent since somebody last looked (only without departure events).
    ///
    /// Whoever touches a port comes here first, and the end of every transmission is followed by an arrival at the far
    /// end, which comes here too: so no decision is late, and each is made as of the instant when the wire became free.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if !port.is_behind(now) {
            return;
        }
        if port.queue.stores_handles() {
            begin_waiting::<M>(port, &mut self.events, number, now, self.rounding);
        } else {
            self.catch_up_scheduled(number, now);
        }
    }

    /// As [`catch_up`](Self::catch_up), where a scheduler decides.
    #[inline(never)]
    fn catch_up_scheduled(&mut self, number: u32, now: Time) {
        loop {
            let port = &self.ports[number as usize];
            if !port.is_behind(now) {
                return;
            }
            let start = match port.timer() {
                Some(timer) if timer.time > now => return,
                // What it held back until an instant that has passed leaves as of that instant.
                Some(timer) => {
                    self.stop_timer(number);
                    timer.time
                }
                None => port.busy_until,
            };
            self.begin_scheduled(number, false, false, start, now);
        }
    }

    /// Starts to send the next packet of an idle port where one waits.
    #[inline(always)]
    fn begin_next(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if port.queue.stores_handles() {
            let next = take_next(port);
            begin::<M>(port, &mut self.events, number, next, true, now, self.rounding);
        } else {
            self.begin_scheduled(number, false, false, now, now);
        }
    }

    /// Takes the next packet from the scheduler of an idle port and starts to send it; sets the port's timer if packets wait that
    /// may not leave yet. It is decided as of `start`, which may lie before `now`. `found_idle`: a packet arrived just now at the
    /// idle wire; `unqueued`: it goes past the queue.
    pub(super) fn begin_scheduled(&mut self, number: u32, found_idle: bool, unqueued: bool, start: Time, now: Time) {
        let (port, mut told) = self.port(number);
        match port.serve(unqueued, start, &mut told) {
            Served::Packet(packet, queue) => {
                told.sent((&packet).into(), queue, port.queue.inspect(), start);
                let wants_hints = port.wants_hints;
                self.stop_timer(number);
                if wants_hints {
                    self.packets[packet.id as u32].waited += start.since(packet.arrival);
                }
                let port = &mut self.ports[number as usize];
                let handle = Handle { number: packet.id as u32, size: packet.size };
                begin::<M>(port, &mut self.events, number, handle, !found_idle, start, self.rounding);
            }
            Served::NotBefore(time) => self.wait_until(number, time, now),
            Served::Nothing => {
                if port.waiting > 0 {
                    // It lost what it admitted: nothing more to get here, and the accounts will show it at once.
                    self.stop_timer(number);
                    self.ports[number as usize].wait_until(Time::MAX, None);
                    self.accounts.check_soon();
                }
            }
        }
    }

    /// The packet on the wire is completely sent; the next one follows.
    #[inline(always)]
    pub(super) fn depart(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        let packet = port.take_serving().expect("a departure ends a transmission");
        self.events.push(now + port.delay, Event::Arrive { port: number, packet }.pack());
        if port.waiting > 0 {
            self.begin_next(number, now);
        }
    }

    /// The timer of a port expires: its scheduler may release a packet.
    pub(super) fn release(&mut self, number: u32, now: Time) {
        self.ports[number as usize].stop_timer();
        self.begin_next(number, now);
    }
}

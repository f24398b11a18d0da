//! TCP: both ends, the controllers of the window, and the options.

mod control;
pub mod controllers;
mod params;
pub mod pfabric;
mod rack;
mod receiver;
mod rtt;
mod sack;
mod sender;

pub use control::{Ack, BoxedController, Controller, Window};
pub use params::{Setup, TcpParams};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sack::SackLog;
pub use sender::Sender;

use self::controllers::AnyController;
use crate::{Counts, End, Progress, Segment, Timer, Transport};
use core::mem::offset_of;
use pifolab_units::Time;

/// Both ends of a connection. The fields are in the order in which packets access them.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    log: SackLog,
    pub(crate) sender: Sender,
    receiver: Receiver,
}

impl Tcp {
    /// Creates a connection that delivers `size_bytes`; `controller` controls its window.
    pub fn new(setup: &Setup, controller: AnyController, size_bytes: u64) -> Self {
        let sender = Sender::new(setup, controller, size_bytes);
        Self { log: SackLog::default(), sender, receiver: Receiver::new(setup, size_bytes) }
    }

    /// The sender's window.
    pub fn window(&self) -> &Window {
        self.sender.window()
    }

    /// Takes a segment that the receiver noted as arrived out of order, to pass it to [`note_sacked`](Self::note_sacked) of
    /// another `Tcp` whose sender is used.
    pub fn take_sacked(&mut self) -> Option<u32> {
        self.log.read_before(self.log.position())
    }

    /// Notes that a segment arrived out of order.
    pub fn note_sacked(&mut self, segment: u32) {
        self.log.record(segment);
    }

    /// The offset of an end within this struct, for prefetches.
    pub const fn offset(end: End) -> usize {
        match end {
            End::Sender => offset_of!(Self, sender),
            End::Receiver => offset_of!(Self, receiver),
        }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, segment: &Segment, now: Time, send: &mut impl FnMut(Segment)) -> Progress {
        let Self { log, sender, receiver } = self;
        if !segment.from_sender() {
            return sender.handle_segment(segment, log, now, send);
        }
        if let Some(answer) = receiver.handle_segment(segment, log, now) {
            send(answer);
        }
        Progress::Going
    }

    #[inline]
    pub(crate) fn expire(&mut self, end: End, now: Time, send: &mut impl FnMut(Segment)) -> Progress {
        match end {
            End::Sender => self.sender.handle_timeout(now, send),
            End::Receiver => {
                if let Some(answer) = self.receiver.handle_timeout(now) {
                    send(answer);
                }
            }
        }
        Progress::Going
    }
}

impl Transport for Tcp {
    fn start(&mut self, now: Time, mut send: &mut dyn FnMut(Segment)) {
        self.sender.start(now, &mut send);
    }

    fn handle_segment(&mut self, segment: &Segment, now: Time, mut send: &mut dyn FnMut(Segment)) -> Progress {
        self.take(segment, now, &mut send)
    }

    fn handle_timeout(&mut self, end: End, now: Time, mut send: &mut dyn FnMut(Segment)) -> Progress {
        self.expire(end, now, &mut send)
    }

    #[inline]
    fn timer(&self, end: End) -> Timer {
        match end {
            End::Sender => self.sender.timer(),
            End::Receiver => self.receiver.timer(),
        }
    }

    fn acknowledged_bytes(&self) -> u64 {
        self.sender.acknowledged_bytes()
    }

    fn counts(&self) -> Counts {
        let counts = self.sender.counts();
        let timeouts = counts.timeouts + self.receiver.timeouts();
        Counts { timeouts, reordered: self.receiver.reordered(), ..counts }
    }
}

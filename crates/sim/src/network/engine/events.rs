//! Events of a network, each in one word.

use pifolab_transport::End;

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The packet reaches the far end of the port's link.
    Arrive { port: u32, packet: u32 },
    /// The packet on the port's wire is completely sent (event-per-departure mode only).
    Depart { port: u32 },
    /// The timer of a port whose scheduler held packets back expires: it may release one now.
    Release { port: u32 },
    /// The next flows start.
    Start { flow: u32 },
    /// The timer of an end may have expired. `setting` names the setting in event-per-setting mode.
    Timer { end: End, flow: u32, setting: u32 },
    /// Links fail or are repaired, starting with this change.
    Links { change: u32 },
    /// The receiver of a complete flow closes (by-place mode only).
    Close { flow: u32 },
}

/// Numbers of ports, flows and packets stay below this, so that an event fits in one word.
pub(in crate::network) const NUMBERS: u32 = 1 << 30;

/// An event in one word, the form in the event queue: four bits for its kind, twice thirty for its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(u64);

impl Packed {
    /// The word of the event.
    pub(super) const fn word(self) -> u64 {
        self.0
    }
}

impl Event {
    #[inline]
    pub(super) fn pack(self) -> Packed {
        let (kind, a, b) = match self {
            Self::Arrive { port, packet } => (0, port, packet),
            Self::Depart { port } => (1, port, 0),
            Self::Release { port } => (2, port, 0),
            Self::Start { flow } => (3, flow, 0),
            Self::Timer { end: End::Sender, flow, setting } => (4, flow, setting % NUMBERS),
            Self::Timer { end: End::Receiver, flow, setting } => (5, flow, setting % NUMBERS),
            Self::Links { change } => (6, change, 0),
            Self::Close { flow } => (7, flow, 0),
        };
        Packed(kind << 60 | u64::from(a) << 30 | u64::from(b))
    }
}

impl Packed {
    /// The port and the packet, if this is an arrival. A fast path for the common case.
    #[inline(always)]
    pub(super) fn arrival(self) -> Option<(u32, u32)> {
        (self.0 >> 60 == 0).then_some(((self.0 >> 30) as u32, self.0 as u32 % NUMBERS))
    }

    /// The port, if this is a departure.
    #[inline(always)]
    pub(super) fn departure(self) -> Option<u32> {
        (self.0 >> 60 == 1).then_some((self.0 >> 30) as u32 % NUMBERS)
    }

    /// Its kind and first number, by which events of equal time happen in by-place mode.
    #[inline(always)]
    pub(super) const fn place(self) -> u64 {
        self.0 >> 30
    }

    /// Its two numbers, for any kind of event.
    #[inline(always)]
    pub(super) fn numbers(self) -> (u32, u32) {
        ((self.0 >> 30) as u32 % NUMBERS, self.0 as u32 % NUMBERS)
    }

    #[inline(always)]
    pub(super) fn unpack(self) -> Event {
        let (a, b) = self.numbers();
        match self.0 >> 60 {
            0 => Event::Arrive { port: a, packet: b },
            1 => Event::Depart { port: a },
            2 => Event::Release { port: a },
            3 => Event::Start { flow: a },
            4 => Event::Timer { end: End::Sender, flow: a, setting: b },
            5 => Event::Timer { end: End::Receiver, flow: a, setting: b },
            6 => Event::Links { change: a },
            _ => Event::Close { flow: a },
        }
    }
}

//! Observers of a run. They get shared references only; all methods have empty defaults; tuples compose.
//!
//! Observers measure inversions, drops and sojourn times; schedulers never do. They change nothing. The unit type `()`
//! observes nothing and costs nothing.

use pifolab_sched::{DropReason, Inspect, Packet};
use pifolab_units::Time;

pub use pifolab_transport::{Flags, Segment};

/// The number of an output port; a single link has only port 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// Observes the packets of output ports and, in a network, at their end points.
///
/// `packet` carries the rank that it has at this port. Every packet that arrives at a port is reported once by
/// [`on_admit`](Self::on_admit) or [`on_drop`](Self::on_drop); every admitted one later once by
/// [`on_dequeue`](Self::on_dequeue), [`on_drop`](Self::on_drop) or [`on_link_down`](Self::on_link_down), unless it still
/// waits when the run ends.
pub trait Observer {
    /// Whether it observes packets at ports. If not, engines may take faster paths with the same results, but may also
    /// call it.
    fn watches(&self) -> bool {
        true
    }

    /// `packet` was stored in `queue` (0 = highest priority); `scheduler` already holds it.
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let _ = (port, packet, queue, scheduler, now);
    }

    /// `packet` was refused on arrival, or was admitted and then lost; `loss` has the case and the reason.
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        let _ = (port, packet, loss, scheduler, now);
    }

    /// `packet` left `queue` for the wire; `scheduler` no longer holds it.
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let _ = (port, packet, queue, scheduler, now);
    }

    /// `packet` waited at `port` and is lost because the port's link failed; `scheduler` no longer holds it.
    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        let _ = (port, packet, scheduler, now);
    }

    /// Whether it observes what hosts send and receive: [`on_create`](Self::on_create) and
    /// [`on_deliver`](Self::on_deliver). An observer that watches may be called anyway.
    fn follows(&self) -> bool {
        false
    }

    /// A connection at host `packet.host` created a packet. The next call reports whether its host's port admits it.
    fn on_create(&mut self, packet: EndView<'_>, now: Time) {
        let _ = (packet, now);
    }

    /// A packet reached its destination host `packet.host`.
    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let _ = (packet, now);
    }

    /// The run has ended at `now`.
    fn on_end(&mut self, now: Time) {
        let _ = now;
    }
}

/// How a packet was lost at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The reason.
    pub reason: DropReason,
    /// Whether the port had admitted it before it was pushed out, or dropped at dequeue. Otherwise it was refused on
    /// arrival.
    pub admitted: bool,
    /// The queue that refused it, or 0 if there is only one. `None` if it was refused before a queue was chosen, if the
    /// queue is unknown, or, with several queues, if it had been admitted: then `on_admit` reported its queue.
    pub queue: Option<u32>,
}

impl Loss {
    /// A packet was refused on arrival.
    pub const fn refused(reason: DropReason, queue: Option<u32>) -> Self {
        Self { reason, admitted: false, queue }
    }

    /// A packet that had been admitted is lost.
    pub const fn of_admitted(reason: DropReason, queue: Option<u32>) -> Self {
        Self { reason, admitted: true, queue }
    }

    /// The refusal of `packet` that `scheduler` has just returned.
    pub(crate) fn refused_by(scheduler: &(impl Inspect + ?Sized), packet: &Packet, reason: DropReason) -> Self {
        let queue =
            if scheduler.queues() == 1 { Some(0) } else { scheduler.refused_at(packet.flow, packet.size, packet.rank) };
        Self::refused(reason, queue)
    }

    /// The loss of a packet that `scheduler` held.
    pub(crate) fn given_up_by(scheduler: &(impl Inspect + ?Sized), reason: DropReason) -> Self {
        Self::of_admitted(reason, (scheduler.queues() == 1).then_some(0))
    }
}

/// A read-only copy of a packet for observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// The packet's id.
    pub id: u64,
    /// Its flow.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its rank at this port.
    pub rank: pifolab_units::Rank,
    /// When it arrived at this port.
    pub arrival: Time,
}

/// A packet at one of its end points, for observers.
#[derive(Clone, Copy, Debug)]
pub struct EndView<'a> {
    /// The packet's id, unique among the packets under way and reused later.
    pub id: u64,
    /// Position of its flow in the list.
    pub flow: u32,
    /// The host where it is.
    pub host: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Its segment, as the transport wrote it.
    pub segment: &'a Segment,
    /// Its bytes, as the last switch sent them; empty where no program forwards.
    pub frame: &'a [u8],
}

impl From<&Packet> for PacketView {
    fn from(packet: &Packet) -> Self {
        Self { id: packet.id, flow: packet.flow, size: packet.size, rank: packet.rank, arrival: packet.arrival }
    }
}

impl Observer for () {
    fn watches(&self) -> bool {
        false
    }
}

/// An observer that forwards every call to each of `$inside`, which `$pattern` binds in `$place`.
macro_rules! hand_on {
    ([$($generics:tt)+] $type:ty, $self:ident: $pattern:pat = $place:expr => $($inside:ident)+) => {
        #[allow(irrefutable_let_patterns, non_snake_case, reason = "members of tuples are named after their types")]
        impl<$($generics)+> Observer for $type {
            fn watches(&$self) -> bool {
                if let $pattern = &$place { false $(|| $inside.watches())+ } else { false }
            }
            fn on_admit(&mut $self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_admit(port, packet, queue, scheduler, now);)+
                }
            }
            fn on_drop(&mut $self, port: PortId, packet: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_drop(port, packet, loss, scheduler, now);)+
                }
            }
            fn on_dequeue(
                &mut $self,
                port: PortId,
                packet: PacketView,
                queue: u32,
                scheduler: &dyn Inspect,
                now: Time,
            ) {
                if let $pattern = &mut $place {
                    $($inside.on_dequeue(port, packet, queue, scheduler, now);)+
                }
            }
            fn on_link_down(&mut $self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_link_down(port, packet, scheduler, now);)+
                }
            }
            fn follows(&$self) -> bool {
                if let $pattern = &$place { false $(|| $inside.follows())+ } else { false }
            }
            fn on_create(&mut $self, packet: EndView<'_>, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_create(packet, now);)+
                }
            }
            fn on_deliver(&mut $self, packet: EndView<'_>, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_deliver(packet, now);)+
                }
            }
            fn on_end(&mut $self, now: Time) {
                if let $pattern = &mut $place {
                    $($inside.on_end(now);)+
                }
            }
        }
    };
}

hand_on!([O: Observer + ?Sized] &mut O, self: inner = **self => inner);
hand_on!([O: Observer] Option<O>, self: Some(inner) = *self => inner);

macro_rules! compose {
    ($($name:ident)+) => {
        hand_on!([$($name: Observer),+] ($($name,)+), self: ($($name,)+) = *self => $($name)+);
    };
}

compose!(A);
compose!(A B);
compose!(A B C);
compose!(A B C D);
compose!(A B C D E);
compose!(A B C D E F);
compose!(A B C D E F G);
compose!(A B C D E F G H);

//! What the network keeps of a packet.

use super::routing::Route;
use pifolab_transport::Segment;
use pifolab_units::Span;

/// A packet in the network. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct InFlight {
    pub(super) segment: Segment,
    pub(super) flow: u32,
    /// Where its connection is, if that still belongs to `flow`.
    pub(super) slot: u32,
    pub(super) route: Route,
    pub(super) dst: u32,
    /// Bytes on the wire.
    pub(super) size: u32,
    /// How long it has waited in queues so far; gathered only at ports that want hints.
    pub(super) waited: Span,
}

const _: () = assert!(size_of::<InFlight>() == 64);

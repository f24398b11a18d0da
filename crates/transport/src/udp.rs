//! UDP: an open loop at a constant rate, no feedback.
//!
//! Parameters ([`UdpParams`]): payload per datagram in bytes, the interval between datagrams.
//! Cost: O(1) per datagram; one counter per flow.
//! A flow sends its bytes once and is complete when its last missing datagram arrives; a flow that lost one never
//! completes.

use pifolab_units::Span;

/// UDP's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpParams {
    /// Payload of a full datagram in bytes, 1 to 65,535; the last of a flow may be shorter.
    pub payload_bytes: u32,
    /// Time between the starts of two datagrams, above 0.
    pub interval: Span,
}

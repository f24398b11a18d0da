//! Sans-IO transports for packet-level simulation: no socket, no clock, no link inside.
//!
//! A [`Transport`] is both ends of a flow, as plain state machines: the owner hands in segments and expired timers
//! (`handle_segment`, `handle_timeout`), and gets segments through a sink that it passes along, the timers of both ends
//! ([`Transport::timer`]) and what came of the input ([`Progress`]). Nothing is allocated per segment.
//!
//! [`Tcp`] has a [`Sender`] and a [`Receiver`]. Loss recovery (handshake, duplicate acknowledgements, selective
//! acknowledgement, timer) lives in the sender and is the same for all of TCP. How large the window is lives in a
//! [`Controller`]: [`newreno`], [`dctcp`], [`cubic`]; [`pfabric`] is NewReno with other start values. [`udp`] has no
//! feedback at all.
//!
//! ```
//! use pifolab_transport::{Progress, Segment, TransportParams};
//! use pifolab_units::{Span, Time};
//!
//! let params = TransportParams::new_reno().validated().unwrap();
//! let mut flow = params.connect(4_000, None);
//! // A perfect wire: what one end sends the other receives 10 us later.
//! let mut now = Time::ZERO;
//! let mut wire: Vec<Segment> = Vec::new();
//! flow.start(now, &mut |segment| wire.push(segment));
//! let mut progress = Progress::Going;
//! while progress == Progress::Going {
//!     now += Span::from_us(10);
//!     for segment in std::mem::take(&mut wire) {
//!         progress = flow.handle_segment(&segment, now, &mut |segment| wire.push(segment));
//!     }
//! }
//! // SYN, SYN+ACK, data, ACK: four one-way trips.
//! assert_eq!(now, Time::ZERO + Span::from_us(40));
//! ```
//!
//! Not supported: delayed acknowledgements, FIN, simultaneous open, window scaling negotiation, urgent data, path MTU
//! discovery. Every data segment is acknowledged at once, and a flow is over when its sender knows that every byte
//! has arrived.
#![forbid(unsafe_code)]

mod arrivals;
mod rank_rule;
pub mod rows;
mod segment;
mod segment_set;
pub mod tcp;
mod transport;
pub mod transports;

pub use arrivals::Arrivals;
pub use pifolab_params::ParamError;
pub use rank_rule::{AckRank, RankRule};
pub use segment::{Flags, Segment};
pub use segment_set::SegmentSet;
pub use tcp::controllers::{PlainController, cubic, dctcp, newreno};
pub use tcp::{
    Ack, BoxedController, Controller, Receiver, RttEstimator, SackLog, Sender, Tcp, TcpParams, Window, controllers,
    pfabric,
};
pub use transport::{BoxedTransport, Counts, End, Progress, Timer, Transport};
pub use transports::{AnyTransport, Congestion, TransportParams, ValidParams, udp};

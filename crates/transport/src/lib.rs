//! Sans-IO transports for packet-level simulation, without sockets, clocks or links.
//!
//! A [`Transport`] holds both ends of a flow as plain state machines. The owner calls `handle_segment` and
//! `handle_timeout` with arriving segments and expired timers. The transport sends segments through the caller's sink,
//! exposes the timer of each end ([`Transport::timer`]) and returns a [`Progress`]. No call allocates per segment.
//!
//! [`Tcp`] has a [`Sender`] and a [`Receiver`]. The sender implements loss recovery (handshake, duplicate
//! acknowledgements or RACK-TLP, selective acknowledgement, timer), which is the same for all TCP variants. A [`Controller`] sets
//! the size of the window: [`newreno`], [`dctcp`], [`cubic`]. [`pfabric`] is NewReno with other start values. [`udp`]
//! has no feedback.
//!
//! ```
//! use pifolab_transport::{Progress, Segment, TransportParams};
//! use pifolab_units::{Span, Time};
//!
//! let params = TransportParams::new_reno().validated().unwrap();
//! let mut flow = params.connect(4_000, None);
//! // A perfect wire: each segment reaches the other end after 10 us.
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
//! discovery. The receiver acknowledges every data segment immediately. A flow is complete when its sender has received
//! acknowledgements for all bytes.
#![forbid(unsafe_code)]

mod arrivals;
mod rank_rule;
mod recovery;
pub mod rows;
mod segment;
mod segment_set;
pub mod tcp;
mod transport;
pub mod transports;

pub use arrivals::Arrivals;
pub use pifolab_params::ParamError;
pub use rank_rule::{AckRank, RankRule};
pub use recovery::Recovery;
pub use segment::{Flags, Segment};
pub use segment_set::SegmentSet;
pub use tcp::controllers::{PlainController, cubic, dctcp, newreno};
pub use tcp::{
    Ack, BoxedController, Controller, Receiver, RttEstimator, SackLog, Sender, Tcp, TcpParams, Window, controllers,
    pfabric,
};
pub use transport::{BoxedTransport, Counts, End, Progress, Timer, Transport};
pub use transports::{AnyTransport, Congestion, TransportParams, ValidParams, udp};

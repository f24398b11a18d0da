//! Sans-IO transports for packet-level simulation: no socket, no clock, no link inside.
//!
//! A connection has two ends, [`Sender`] and [`Receiver`]. Both are plain state machines: the owner hands in segments
//! and expired timers (`handle_segment`, `handle_timeout`), and the end point answers with segments through a sink that
//! the owner passes along, with the deadline of its one timer ([`Sender::deadline`]) and with what came of the input
//! ([`Progress`]). Nothing is allocated per segment.
//!
//! Loss recovery (handshake, duplicate acknowledgements, selective acknowledgement, timer) lives in [`Sender`] and is
//! the same for every transport. How large the window is lives in a [`Controller`]: [`newreno`], [`dctcp`], [`cubic`];
//! [`pfabric`] is NewReno with other start values. [`udp`] has no feedback at all.
//!
//! ```
//! use pifolab_transport::{Receiver, SackLog, Segment, Sender, TransportParams};
//! use pifolab_units::Time;
//!
//! let params = TransportParams::new_reno().validated().unwrap();
//! let mut sender = Sender::new(&params, 4_000);
//! let mut receiver = Receiver::new(&params, 4_000);
//! let mut log = SackLog::default();
//! // A perfect wire: what one end sends the other receives 10 us later.
//! let mut now = Time::ZERO;
//! let mut wire: Vec<Segment> = Vec::new();
//! sender.start(now, &mut |segment| wire.push(segment));
//! while !sender.is_done() {
//!     now += pifolab_units::Span::from_us(10);
//!     for segment in std::mem::take(&mut wire) {
//!         if segment.from_sender() {
//!             wire.extend(receiver.handle_segment(&segment, &mut log, now));
//!         } else {
//!             sender.handle_segment(&segment, &mut log, now, &mut |segment| wire.push(segment));
//!         }
//!     }
//! }
//! // SYN, SYN+ACK, data, ACK: four one-way trips.
//! assert_eq!(now, Time::ZERO + pifolab_units::Span::from_us(40));
//! ```
//!
//! Not supported: delayed acknowledgements, FIN, simultaneous open, window scaling negotiation, urgent data, path MTU
//! discovery. Every data segment is acknowledged at once, and a flow is over when its sender knows that every byte
//! has arrived.
#![forbid(unsafe_code)]

pub mod control;
pub mod controllers;
pub mod params;
pub mod pfabric;
mod rank_rule;
mod receiver;
pub mod rows;
mod rtt;
mod sack;
mod segment;
mod sender;
pub mod udp;

pub use control::{Ack, BoxedController, Controller, Window};
pub use controllers::{PlainController, cubic, dctcp, newreno};
pub use params::{Congestion, TcpParams, TransportParams, ValidParams};
pub use pifolab_params::ParamError;
pub use rank_rule::{AckRank, RankRule};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sack::{SackLog, SegmentSet};
pub use segment::{Flags, Segment};
pub use sender::{Counts, Progress, Sender};

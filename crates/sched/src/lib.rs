//! Packet schedulers and rank functions: PIFO, the queues that approximate it, and what they are compared with.
//!
//! A [`Packet`] carries a [`Rank`]; the smaller leaves first. A [`Scheduler`] owns every packet
//! that it has admitted until it hands it back, and every call says what became of the packet: nothing is dropped
//! silently. A rank function ([`RankFn`]) decides ranks; [`Ranked`] joins any rank function to any scheduler and is
//! itself a scheduler.
//!
//! ```
//! use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler, schedulers::{Fifo, FifoParams}};
//! use pifolab_units::{Rank, Time};
//!
//! let mut fifo = Fifo::new(FifoParams { capacity: Capacity::Packets(2) }).unwrap();
//! let packet = Packet { id: 7, flow: 0, size: 1500, rank: Rank::from(3), arrival: Time::ZERO };
//! assert!(fifo.enqueue(packet, Time::ZERO).is_admitted());
//! let Dequeued::Packet { packet, queue: 0 } = fifo.dequeue(Time::ZERO) else { panic!("one packet waits") };
//! assert_eq!(packet.id, 7);
//! ```
//!
//! The crate needs an allocator but no operating system. It measures nothing, logs nothing, draws no random numbers
//! and knows no link: time is an argument.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[macro_use]
extern crate pifolab_units;

mod around;
mod bursts;
mod decider;
pub mod entry;
mod facts;
mod handles;
mod inspect;
mod outcome;
pub mod params;
mod parts;
#[doc(hidden)]
pub mod place;
mod queued;
mod ranked;
pub mod ranks;
mod registers;
mod scheduler;
pub mod schedulers;
pub mod store;
mod token_bucket;

pub use around::delayed::{Delayed, OCCUPANCY_DELAY};
pub use bursts::{BurstPacket, BurstQueues};
pub use decider::{Arriving, Decider, FromParams};
pub use facts::{Fact, Facts, Hints, Labels, WantedFacts};
pub use handles::{AnyDecider, Handle, HandleQueues, PlainDecider};
pub use inspect::{Inspect, InspectExt, NodeOfTree, RankInterval, Saved, Used};
pub use outcome::{Dequeued, DropReason, Enqueued, Victims};
pub use parts::Parts;
pub use pifolab_queues::{Capacity, Held, Item, Packet, Room};
pub use queued::Queued;
pub use ranked::{RankFn, Ranked};
pub use registers::{Kept, Register, Registers};
pub use scheduler::{Scheduler, move_packets};

#[doc(hidden)]
pub use pifolab_units::Rank;
pub use token_bucket::{Bucket, TokenBucket};

/// The example of the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

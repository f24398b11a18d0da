//! Packets, capacities, and the first-in first-out queues that packets wait in.
//!
//! | | is |
//! |---|---|
//! | [`Packet`] | the descriptor that schedulers move; [`Item`] is a packet or a handle of one |
//! | [`Capacity`], [`Room`], [`Held`] | a capacity in packets or bytes, the account of its use, and what is held |
//! | [`Queue`] | one first-in first-out queue |
//! | [`PriorityQueues`] | several of them, in order of priority |
//!
//! The queues use unsafe code to store and return packets in a few instructions; the schedulers on top of them are safe
//! code. The crate `pifolab-sched` re-exports everything here.
//!
//! ```
//! use pifolab_queues::{Capacity, Packet, PriorityQueues, Queues};
//!
//! let mut queues: PriorityQueues = PriorityQueues::new(&[Capacity::Packets(1), Capacity::Bytes(3000)]);
//! queues.push_fitting(1, Packet { id: 7, size: 1500, ..Packet::default() });
//! assert_eq!(queues.first(), Some(1));
//! assert!(queues.rooms()[1].fits(1500) && !queues.rooms()[1].fits(1501));
//! assert_eq!(queues.pop_from(1).map(|packet| packet.id), Some(7));
//! ```
#![no_std]

extern crate alloc;

#[doc(hidden)]
pub mod branchless;
mod capacity;
mod packet;
mod priority;
mod queue;
mod ring;

pub use capacity::{Capacity, Held, Room};
pub use packet::{Item, Packet};
pub use priority::{PriorityQueues, QueueKind, Queues};
pub use queue::Queue;

//! Containers generic in what they hold. They know no policy: which packet to refuse or push out is the scheduler's
//! business. Ties leave first-in first-out.

mod queues;
mod ring;

pub use queues::PriorityQueues;
pub use ring::Ring;

//! Containers generic in what they hold. They know no policy: which packet to refuse or push out is the scheduler's
//! business. Ties leave first-in first-out, unless a container's name says otherwise.

mod array_heap;
mod bit_tree;
mod bounds;
mod free_places;
mod histogram;
mod lanes;
mod leaves;
mod narrow;
mod quad;
mod queue;
mod queues;
mod rank_buckets;
mod ring;
mod short;
mod slab;
mod sorted;
mod window;

pub use array_heap::ArrayHeap;
pub use bounds::Bounds;
pub use free_places::FreePlaces;
pub use queue::Queue;
pub use queues::{PriorityQueues, Queues};
pub use rank_buckets::RankBuckets;
pub use short::Short;
pub use sorted::Sorted;
pub use window::RankWindow;

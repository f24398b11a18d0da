//! Containers generic in what they hold. They have no policy: the scheduler decides which packet to refuse or push out.
//! Ties leave first-in first-out, unless the name of a container says otherwise. Containers that use vector
//! instructions are in the crate [`pifolab_simd`].

mod array_heap;
mod bit_tree;
mod double_ended;
mod flow_lists;
mod flow_order;
mod flow_tags;
mod per_flow;
mod rank_buckets;
mod short;
mod slab;
mod slot_heap;
mod sorted;

pub use array_heap::ArrayHeap;
pub use double_ended::DoubleEnded;
pub use flow_lists::FlowLists;
pub use flow_order::FlowOrder;
pub use flow_tags::FlowTags;
pub use per_flow::PerFlow;
pub use pifolab_queues::{PriorityQueues, Queue, QueueKind, Queues};
pub use rank_buckets::RankBuckets;
pub use short::Short;
pub use slab::Slab;
pub use slot_heap::SlotHeap;
pub use sorted::Sorted;

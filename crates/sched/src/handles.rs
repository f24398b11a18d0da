//! Queues of handles, for callers that keep packets elsewhere and store eight bytes of each here.

use crate::entry::BoxedScheduler;
use crate::store::PriorityQueues;
use crate::{Arriving, BurstPacket, BurstQueues, Capacity, Decider, DropReason, Inspect, Item, Queued};
use alloc::boxed::Box;
use pifolab_units::Rank;

/// Stands for a packet that is stored elsewhere: its number there, and its size, which the accounts need when it
/// leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handle {
    /// The number of the packet in the caller's store.
    pub number: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl Item for Handle {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }
    /// Handles are [offered](Queued::offer) beside their ranks.
    fn rank(&self) -> Rank {
        Rank::ZERO
    }
    fn set_rank(&mut self, _rank: Rank) {}
    fn id(&self) -> u64 {
        self.number.into()
    }
}

/// A decider joined to priority queues of handles: one virtual call for each operation, into code compiled for that
/// decider.
pub trait HandleQueues: Inspect {
    /// As [`Queued::offer`]: the queue that stores it.
    ///
    /// # Errors
    /// Why the packet is refused.
    fn offer(&mut self, arriving: Arriving, handle: Handle) -> Result<u32, DropReason>;

    /// As [`Queued::pass`].
    ///
    /// # Errors
    /// Why the packet is refused.
    fn pass(&mut self, arriving: Arriving) -> Result<(), DropReason>;

    /// As [`Queued::pop`].
    fn pop(&mut self) -> Option<Handle>;
}

impl<D: Decider> HandleQueues for Queued<D, Handle, PriorityQueues<Handle>> {
    fn offer(&mut self, arriving: Arriving, handle: Handle) -> Result<u32, DropReason> {
        Queued::offer(self, arriving, handle).map(|queue| queue as u32).map_err(|(_, reason)| reason)
    }

    fn pass(&mut self, arriving: Arriving) -> Result<(), DropReason> {
        Queued::pass(self, arriving)
    }

    fn pop(&mut self) -> Option<Handle> {
        Queued::pop(self).map(|(handle, _)| handle)
    }
}

/// Any decider that can be joined to queues of handles.
pub trait AnyDecider: Decider + Send {
    /// The decider joined to empty queues with these capacities, highest priority first.
    fn join_handles(self: Box<Self>, capacities: &[Capacity]) -> Box<dyn HandleQueues>;

    /// The same for packets that come in bursts.
    fn join_bursts(self: Box<Self>, capacities: &[Capacity]) -> Box<dyn BurstQueues>;

    /// The same for packets: a scheduler.
    fn join(self: Box<Self>, capacities: &[Capacity]) -> BoxedScheduler;
}

impl<D: Decider + Send + 'static> AnyDecider for D {
    fn join_handles(self: Box<Self>, capacities: &[Capacity]) -> Box<dyn HandleQueues> {
        Box::new(Queued::<D, Handle, PriorityQueues<Handle>>::with_decider(*self, capacities))
    }

    fn join_bursts(self: Box<Self>, capacities: &[Capacity]) -> Box<dyn BurstQueues> {
        Box::new(Queued::<D, BurstPacket, PriorityQueues<BurstPacket>>::with_decider(*self, capacities))
    }

    fn join(self: Box<Self>, capacities: &[Capacity]) -> BoxedScheduler {
        Box::new(Queued::<D>::with_decider(*self, capacities))
    }
}

/// A decider that can be cloned. Every plain decider can.
pub trait PlainDecider: AnyDecider + Sync {
    /// A boxed copy.
    fn boxed_clone(&self) -> Box<dyn PlainDecider>;
}

impl<D: Decider + Clone + Send + Sync + 'static> PlainDecider for D {
    fn boxed_clone(&self) -> Box<dyn PlainDecider> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn PlainDecider> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

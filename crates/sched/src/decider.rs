//! What the pipeline of a device decides when a packet arrives: its queue, or that it is refused.

use crate::params::{FromArgs, ParamError};
use crate::place::Place;
use crate::{Capacity, DropReason, Item, RankInterval, Registers, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// What a pipeline reads from an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving {
    /// Its size in bytes.
    pub size: u32,
    /// Its rank.
    pub rank: Rank,
    /// Its flow; 0 where packets have none.
    pub flow: u32,
}

impl Arriving {
    /// What is to be read from `item`.
    #[inline(always)]
    pub fn of(item: &impl Item) -> Self {
        Self { size: item.size(), rank: item.rank(), flow: item.flow() }
    }
}

/// The whole of an algorithm that approximates PIFO on first-in first-out queues: into which queue an arriving packet goes,
/// if into any. It holds no packet. [`Queued`](crate::Queued) joins it to queues and makes a scheduler of the two; a switch
/// joins the same sentence to queues of hardware.
///
/// For every arrival [`decide`](Self::decide) is called once, and the packet is stored if it named a queue that has room for
/// it; for every departure [`serve`](Self::serve) is called once. `queues` are the accounts of the queues, highest priority
/// first, as they are before that packet comes or goes: all that a device may know of them. What it remembers from packet to
/// packet is listed once, by [`registers!`](crate::registers).
///
/// ```
/// use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Queued, Room, Scheduler, registers};
///
/// /// Even ranks first; refuses what is larger than 9. It remembers nothing.
/// struct EvenFirst;
///
/// registers!(EvenFirst {});
///
/// impl Decider for EvenFirst {
///     fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
///         match packet.rank.get() {
///             10.. => Err(DropReason::RankOutOfRange),
///             rank => Ok(rank as usize % 2),
///         }
///     }
/// }
///
/// let scheduler: Queued<EvenFirst> = Queued::with_decider(EvenFirst, &[Capacity::Packets(4); 2]);
/// let _: Box<dyn Scheduler> = Box::new(scheduler);
/// ```
pub trait Decider: Registers {
    /// Reads an arriving packet and names the queue that shall store it. If that queue has no room, the packet is dropped as
    /// [full](DropReason::Full). The queue must exist: [`Queued`](crate::Queued) panics otherwise.
    ///
    /// # Errors
    /// Why the packet is refused.
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason>;

    /// [`decide`](Self::decide), with hints that save time. Only the twins of the crate `pifolab-fast` override this.
    #[doc(hidden)]
    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        Place::of(self.decide(packet, queues))
    }

    /// The queue whose oldest packet leaves now: `first`, the first queue that holds one, where queues are served by strict
    /// priority. Called only while a packet waits; the queue that is named must hold one.
    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        let _ = queues;
        first
    }

    /// The queue of a packet that waited in `queue` under other parameters of the same algorithm: the same one, or the last. No
    /// arrival: the algorithm learns nothing from it.
    ///
    /// # Errors
    /// Why the packet is refused.
    fn adopt(&mut self, packet: Arriving, queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        let _ = packet;
        Ok(queue.min(queues.len() - 1))
    }

    /// The ranks that `queue` accepts now, as far as the algorithm has a bound for it.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        let _ = (queue, queues);
        RankInterval::default()
    }

    /// The queue that a packet was meant for which was refused just now, if one was chosen and that can still be told.
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        let _ = (packet, queues);
        None
    }
}

impl<D: Decider + ?Sized> Decider for Box<D> {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        (**self).decide(packet, queues)
    }
    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        (**self).place(packet, queues)
    }
    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        (**self).serve(first, queues)
    }
    fn adopt(&mut self, packet: Arriving, queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        (**self).adopt(packet, queue, queues)
    }
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        (**self).ranks_of(queue, queues)
    }
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        (**self).refused_at(packet, queues)
    }
}

/// A decider that is made from parameters, which also say what its queues can hold.
pub trait FromParams: Decider + Sized {
    /// What it is made from.
    type Params: FromArgs + Clone + Send + Sync + 'static;

    /// The decider in its first state, and the capacities of its queues, highest priority first.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn from_params(params: Self::Params) -> Result<(Self, Vec<Capacity>), ParamError>;
}

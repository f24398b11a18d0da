//! The decision of a device's pipeline when a packet arrives: its queue, or its refusal.

use crate::params::{FromArgs, ParamError};
use crate::place::Place;
use crate::{Capacity, DropReason, Item, RankInterval, Registers, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// The fields of an arriving packet that a pipeline reads.
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
    /// The fields of `item`.
    #[inline(always)]
    pub fn of(item: &impl Item) -> Self {
        Self { size: item.size(), rank: item.rank(), flow: item.flow() }
    }
}

/// An algorithm that approximates PIFO on first-in first-out queues: it chooses the queue of an arriving packet or
/// refuses it. It holds no packet. [`Queued`](crate::Queued) joins it to queues and so makes a scheduler; a switch runs
/// the same algorithm in front of its hardware queues.
///
/// [`decide`](Self::decide) is called once for every arrival, and the packet is stored if the chosen queue has room for
/// it. [`serve`](Self::serve) is called once for every departure. `queues` are the accounts of the queues, highest
/// priority first, before that packet arrives or leaves; a device has no other account of them.
/// [`registers!`](crate::registers) lists the state that the algorithm keeps from packet to packet.
///
/// ```
/// use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Queued, Room, Scheduler, registers};
///
/// /// Even ranks first; refuses ranks above 9. It keeps no state.
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
    /// Reads an arriving packet and returns the queue to store it in. If that queue has no room, the packet is dropped
    /// as [full](DropReason::Full). The queue must exist: [`Queued`](crate::Queued) panics otherwise.
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

    /// Whether every packet goes to queue 0, the only one, whatever it carries and whatever waits. Bursts of packets are
    /// then copied as a whole, without a call for each.
    #[inline(always)]
    fn is_fifo(&self) -> bool {
        false
    }

    /// The queue whose oldest packet leaves now: `first`, the first queue that holds one, where queues are served by
    /// strict priority. Called only while a packet waits; the returned queue must hold one.
    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        let _ = queues;
        first
    }

    /// The new queue of a packet that waited in `queue` under other parameters of the same algorithm: the same queue,
    /// or the last. It is no arrival, so it changes no register.
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

    /// The queue that was chosen for a packet that has just been refused; `None` if no queue was chosen or the choice
    /// is no longer known.
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
    fn is_fifo(&self) -> bool {
        (**self).is_fifo()
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

/// A decider made from parameters that also give the capacities of its queues.
pub trait FromParams: Decider + Sized {
    /// Its parameters.
    type Params: FromArgs + Clone + Send + Sync + 'static;

    /// The decider in its first state, and the capacities of its queues, highest priority first.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn from_params(params: Self::Params) -> Result<(Self, Vec<Capacity>), ParamError>;
}

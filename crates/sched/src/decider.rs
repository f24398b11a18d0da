//! What the pipeline of a device decides when a packet arrives: its queue, or that it is refused.

use crate::params::{FromArgs, ParamError};
use crate::place::Place;
use crate::{Capacity, DropReason, Item, Kept, RankInterval, Room};
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
/// first, as they are before that packet comes or goes: all that a device may know of them.
///
/// ```
/// use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Queued, Room, Scheduler};
///
/// /// Even ranks first; refuses what is larger than 9.
/// #[derive(Clone)]
/// struct EvenFirst;
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
pub trait Decider {
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

    /// Whether [`serve`](Self::serve) does nothing but name the first queue. Then it need not be called, and a packet that
    /// finds nothing waiting need not be counted in and out.
    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        false
    }

    /// Whether it counts the packets that are stored, beside the accounts of the queues: then it must see every packet come and
    /// go, and a packet that was stored without a decision would be missing.
    fn keeps_accounts(&self) -> bool {
        false
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

    /// Calls `visit` with each rank of the sliding window, oldest first; not at all where there is no window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        let _ = visit;
    }

    /// Calls `visit` with every number that later decisions depend on: the same numbers, as many and in the same order, for
    /// two deciders of the same parameters exactly if they will decide alike whatever comes and whatever the queues hold.
    ///
    /// Bounds come in the order of their queues, windows as the number of ranks followed by the ranks, oldest first,
    /// registers and counters as they are. What is fixed when the decider is made is left out.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let _ = visit;
    }

    /// What it keeps in memory.
    fn kept(&self) -> Kept {
        Kept::default()
    }

    /// Goes on with what a decider of the same algorithm remembers, which may have other parameters: the ranks that its
    /// [`visit_window`](Self::visit_window) shows, and the numbers that its [`visit_state`](Self::visit_state) does. What does
    /// not fit is left out. Nothing happens where the algorithm does not say how.
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let _ = (window, state);
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
    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        (**self).serves_by_priority()
    }
    fn keeps_accounts(&self) -> bool {
        (**self).keeps_accounts()
    }
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        (**self).ranks_of(queue, queues)
    }
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        (**self).refused_at(packet, queues)
    }
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        (**self).visit_window(visit);
    }
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        (**self).visit_state(visit);
    }
    fn kept(&self) -> Kept {
        (**self).kept()
    }
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        (**self).resume(window, state);
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

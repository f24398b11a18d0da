//! What the pipeline of a device decides when a packet arrives: its queue, or that it is refused.

use crate::branchless::unforeseen;
use crate::params::{FromArgs, ParamError};
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
    /// Its flow; 0 unless the decider [uses flows](Decider::uses_flows).
    pub flow: u32,
}

impl Arriving {
    /// What is to be read from `item`.
    #[inline(always)]
    pub fn of(item: &impl Item) -> Self {
        Self { size: item.size(), rank: item.rank(), flow: item.flow() }
    }
}

/// The queue of an arriving packet, or why it is refused. No branch need depend on which of the two: [`queue_if`](Self::queue_if).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    queue: usize,
    /// Whether it goes to the queue if that has room, or not even then.
    wanted: bool,
    /// Whether it is refused without a look at the queue.
    refused: bool,
    /// Why it is not stored, unless it is wanted.
    refusal: DropReason,
    /// The queue is known to have room.
    has_room: bool,
}

impl Decision {
    /// The packet shall be stored in this queue.
    #[inline(always)]
    pub const fn queue(queue: usize) -> Self {
        Self { queue, wanted: true, refused: false, refusal: DropReason::Full, has_room: false }
    }

    /// As [`queue`](Self::queue), by a decider that has seen that the queue has room: it is not checked again.
    #[inline(always)]
    pub(crate) const fn queue_with_room(queue: usize) -> Self {
        Self { has_room: true, ..Self::queue(queue) }
    }

    /// The packet is refused, which a branch may depend on: it is seldom or in a pattern that a processor learns.
    #[inline(always)]
    pub const fn refuse(reason: DropReason) -> Self {
        Self { queue: 0, wanted: false, refused: true, refusal: reason, has_room: false }
    }

    /// The packet shall be stored in this queue if it passes a test whose outcome nothing could foresee.
    #[inline(always)]
    pub fn queue_if(passes: bool, queue: usize, reason: DropReason) -> Self {
        Self { queue, wanted: unforeseen(passes), refused: false, refusal: reason, has_room: false }
    }

    /// Whether the packet is refused by a branch.
    #[inline(always)]
    pub(crate) const fn is_refused(self) -> bool {
        self.refused
    }

    /// Whether the queue is known to have room.
    #[inline(always)]
    pub(crate) const fn has_room(self) -> bool {
        self.has_room
    }

    /// Otherwise, whether it shall be stored, and in which queue.
    #[inline(always)]
    pub(crate) const fn parts(self) -> (bool, usize) {
        (self.wanted, self.queue)
    }

    /// Why the packet is not stored, if it is not: unless it was refused the queue had no room for it.
    #[inline(always)]
    pub(crate) const fn reason(self) -> DropReason {
        if self.wanted { DropReason::Full } else { self.refusal }
    }

    /// The queue.
    ///
    /// # Errors
    /// Why the packet is refused.
    #[inline(always)]
    pub const fn get(self) -> Result<usize, DropReason> {
        if self.wanted { Ok(self.queue) } else { Err(self.refusal) }
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
/// use pifolab_sched::{Arriving, Capacity, Decider, Decision, DropReason, Queued, Room, Scheduler};
///
/// /// Even ranks first; refuses what is larger than 9.
/// #[derive(Clone)]
/// struct EvenFirst;
///
/// impl Decider for EvenFirst {
///     fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Decision {
///         match packet.rank.get() {
///             10.. => Decision::refuse(DropReason::RankOutOfRange),
///             rank => Decision::queue(rank as usize % 2),
///         }
///     }
/// }
///
/// let scheduler: Queued<EvenFirst> = Queued::with_decider(EvenFirst, &[Capacity::Packets(4); 2]);
/// let _: Box<dyn Scheduler> = Box::new(scheduler);
/// ```
pub trait Decider {
    /// Takes note of an arriving packet, and names the queue that shall store it, or says why it is refused. If the queue has
    /// no room for it the packet is dropped as [full](DropReason::Full). The queue must be one of those that there are:
    /// [`Queued`](crate::Queued) panics otherwise.
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision;

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

    /// Whether decisions depend on the flow of a packet.
    fn uses_flows(&self) -> bool {
        false
    }

    /// Whether it keeps accounts of the packets that are stored beside those of the queues, and so has to see every packet.
    fn keeps_accounts(&self) -> bool {
        self.uses_flows()
    }

    /// Goes on by the accounts of the queues alone, if its own only save time. For queues whose packets do not all go from
    /// [`decide`](Self::decide) to [`serve`](Self::serve): the node of a tree asks before a leaf below may refuse the packet, and
    /// an index may leave from the middle of a queue.
    fn drop_accounts(&mut self) {}

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
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        (**self).decide(packet, queues)
    }
    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        (**self).serve(first, queues)
    }
    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        (**self).serves_by_priority()
    }
    fn uses_flows(&self) -> bool {
        (**self).uses_flows()
    }
    fn keeps_accounts(&self) -> bool {
        (**self).keeps_accounts()
    }
    fn drop_accounts(&mut self) {
        (**self).drop_accounts();
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
    type Params: FromArgs;

    /// The decider in its first state, and the capacities of its queues, highest priority first.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn from_params(params: Self::Params) -> Result<(Self, Vec<Capacity>), ParamError>;
}

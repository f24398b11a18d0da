//! The order of a node's children under a decider that approximates PIFO: child indices in first-in first-out queues.

use super::share::Share;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Kept, Room};
use pifolab_units::Rank;

/// Child indices in queues, and the decider that chooses the queue of each index.
///
/// The last index of a child is the youngest one in the last queue that holds any. `remove_last` searches the queues
/// for it. If the first index of a queue belongs to a sleeping child, `first` searches the queue.
pub(super) struct ApproximateOrder {
    decider: Box<dyn Decider + Send>,
    rooms: Box<[Room]>,
    queues: Box<[VecDeque<Reference>]>,
    /// For each child, its number of indices, and whether it sleeps.
    children: Box<[(usize, bool)]>,
    sleepers: usize,
    /// The decision for the next index to push.
    asked: Option<Asked>,
}

/// The queue of an index, its rank, and its child's share after the push.
struct Asked {
    queue: usize,
    rank: u64,
    share: Share,
}

#[derive(Clone, Copy, Debug)]
struct Reference {
    child: u32,
    size: u32,
    rank: u64,
}

impl ApproximateOrder {
    /// `decider` must be the plain implementation: an index may leave from the middle of a queue, which a twin cannot
    /// handle.
    pub(super) fn new(decider: Box<dyn Decider + Send>, capacities: &[Capacity], children: usize) -> Self {
        Self {
            decider,
            rooms: capacities.iter().map(|capacity| Room::new(*capacity)).collect(),
            queues: capacities.iter().map(|_| VecDeque::new()).collect(),
            children: core::iter::repeat_n((0, false), children).collect(),
            sleepers: 0,
            asked: None,
        }
    }

    /// The memory of the decider.
    pub(super) fn kept(&self) -> Kept {
        let mut kept = Kept::default();
        self.decider.registers(&mut |register| kept = kept + register.kept());
        kept
    }

    /// Calls the decider for the queue of an index and stores the decision. `share` is the child's share after the
    /// push.
    pub(super) fn ask(&mut self, child: u32, rank: u64, size: u32, share: Share) -> Result<(), DropReason> {
        let arriving = Arriving { size, rank: Rank::saturating(rank), flow: child };
        let queue = self.decider.decide(arriving, &self.rooms)?;
        if !self.rooms.get(queue).is_some_and(|room| room.fits(size)) {
            return Err(DropReason::Full);
        }
        self.asked = Some(Asked { queue, rank, share });
        Ok(())
    }

    /// Adds an index to the queue that [`ask`](Self::ask) chose. Returns the child's new share.
    #[inline(never)]
    pub(super) fn push(&mut self, child: u32, size: u32) -> Share {
        let Asked { queue, rank, share } = self.asked.take().expect("the decider was asked about this index");
        self.rooms[queue].take(size);
        self.queues[queue].push_back(Reference { child, size, rank });
        self.children[child as usize].0 += 1;
        share
    }

    /// The next child among the awake ones.
    #[inline(never)]
    pub(super) fn first(&mut self) -> Option<u32> {
        let first = self.queues.iter().position(|queue| !queue.is_empty())?;
        let queue = self.decider.serve(first, &self.rooms);
        let awake = |reference: &&Reference| !self.children[reference.child as usize].1;
        let served = self.queues.get(queue)?.front();
        if self.sleepers == 0 || served.as_ref().is_some_and(awake) {
            return served.map(|reference| reference.child);
        }
        self.queues.iter().flatten().find(awake).map(|reference| reference.child)
    }

    /// Removes the first index of `child` and returns its rank.
    #[inline(never)]
    pub(super) fn pop(&mut self, child: u32) -> Option<u64> {
        let first = self.queues.iter().position(|queue| !queue.is_empty())?;
        let served = self.decider.serve(first, &self.rooms);
        let order = core::iter::once(served).chain(0..self.queues.len());
        let of_child = |reference: &Reference| reference.child == child;
        let (queue, at) =
            order.filter_map(|queue| Some((queue, self.queues.get(queue)?.iter().position(of_child)?))).next()?;
        Some(self.take(queue, at))
    }

    /// Removes the last index of `child`.
    pub(super) fn remove_last(&mut self, child: u32) {
        let of_child = |reference: &Reference| reference.child == child;
        let last = |queue: usize| Some((queue, self.queues[queue].iter().rposition(of_child)?));
        if let Some((queue, at)) = (0..self.queues.len()).rev().find_map(last) {
            self.take(queue, at);
        }
    }

    fn take(&mut self, queue: usize, at: usize) -> u64 {
        let reference = self.queues[queue].remove(at).expect("it was found there");
        self.rooms[queue].release(reference.size);
        self.children[reference.child as usize].0 -= 1;
        reference.rank
    }

    /// The number of indices of `child`.
    pub(super) fn waiting(&self, child: u32) -> usize {
        self.children[child as usize].0
    }

    /// Sets whether `child` sleeps. The search for the next child skips sleeping children.
    pub(super) fn set_asleep(&mut self, child: u32, asleep: bool) {
        let held = &mut self.children[child as usize].1;
        if *held != asleep {
            *held = asleep;
            self.sleepers = if asleep { self.sleepers + 1 } else { self.sleepers - 1 };
        }
    }
}

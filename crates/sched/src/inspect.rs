//! The inside of a buffer: how much it holds, its queues, their bounds, its registers.

use crate::store::Queue;
use crate::{Capacity, Held, Item, Kept, Register, Registers};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use pifolab_units::{Bytes, Rank};

/// Read access to the state of a scheduler. No method changes anything or depends on the type of the stored items, so
/// that observers and tables treat every scheduler alike. [`InspectExt`] has what follows from these methods.
///
/// Outcomes name queues by number, from 0, the highest priority. A scheduler made of schedulers numbers the queues of
/// all its parts consecutively.
pub trait Inspect {
    /// Packets and bytes held in all queues or in one of them; nothing if there is no such queue.
    fn held(&self, queue: Option<usize>) -> Held;

    /// The most it can hold, over all queues; [`Capacity::Unlimited`] if there is no bound.
    fn capacity(&self) -> Capacity;

    /// The number of queues.
    fn queues(&self) -> usize {
        1
    }

    /// The ranks that `queue` accepts now, as far as the algorithm has a bound for it.
    fn queue_ranks(&self, queue: usize) -> RankInterval {
        let _ = queue;
        RankInterval::default()
    }

    /// The queue that was chosen for a packet of this flow, size and rank, which has just been refused. `None` if it
    /// was refused before a queue was chosen, or if the choice is no longer known. Only observers that record losses by
    /// queue call this, and only for schedulers with several queues.
    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        let _ = (flow, size, rank);
        None
    }

    /// Calls `each` with every leaf of a tree, and every node with a rate limit.
    fn nodes(&self, each: &mut dyn FnMut(NodeOfTree<'_>)) {
        let _ = each;
    }

    /// Calls `each` with every [`Register`] of the algorithm, and with [`Kept`] for other memory beside queues and packets.
    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        let _ = each;
    }
}

/// Methods that follow from those of [`Inspect`].
pub trait InspectExt: Inspect {
    /// Packets held.
    fn len(&self) -> usize {
        self.held(None).packets
    }

    /// Bytes held.
    fn backlog(&self) -> Bytes {
        self.held(None).bytes
    }

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets held in `queue`.
    fn queue_len(&self, queue: usize) -> usize {
        self.held(Some(queue)).packets
    }

    /// The bound of `queue` in the paper's sense: the smallest rank that the queue accepts (SP-PIFO) or the largest
    /// (PACKS eq. 11). `None` if the algorithm has no bounds.
    fn queue_bound(&self, queue: usize) -> Option<i64> {
        self.queue_ranks(queue).bound()
    }

    /// Calls `visit` with each rank of the sliding window, oldest first; never if there is no window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.registers(&mut |register| register.visit_window(visit));
    }

    /// Calls `visit` with the numbers that all registers hold.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.registers(&mut |register| register.visit_state(visit));
    }

    /// Memory besides queues and packets.
    fn kept(&self) -> Kept {
        let mut kept = Kept::default();
        self.registers(&mut |register| kept = kept + register.kept());
        kept
    }
}

impl<S: Inspect + ?Sized> InspectExt for S {}

/// A node of a tree, as a run may have used it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOfTree<'a> {
    /// Labels on the path to it, with positions for missing labels: `tenants/1/web`.
    pub path: &'a str,
    /// The queues of a leaf; empty for other nodes.
    pub queues: Range<usize>,
    /// Whether its rate limit ever held a packet back, if it has one.
    pub has_limited: Option<bool>,
}

/// What a run used of one scheduler, or of several equal ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Whether ranks that it gives itself [ran out](Kept::has_run_out).
    pub has_run_out: bool,
    /// The leaves of a tree, each with its path and queues.
    pub leaves: Vec<(String, Range<usize>)>,
    /// The rate limits of a tree: the path of each node, and whether the limit ever held a packet back.
    pub limits: Vec<(String, bool)>,
}

impl Used {
    /// Adds what was used of `scheduler`, an equal one.
    pub fn add(&mut self, scheduler: &(impl Inspect + ?Sized)) {
        self.has_run_out |= scheduler.kept().has_run_out;
        let is_first = self.leaves.is_empty();
        let mut number = 0;
        scheduler.nodes(&mut |NodeOfTree { path, queues, has_limited }| {
            if is_first && !queues.is_empty() {
                self.leaves.push((path.to_owned(), queues));
            }
            let Some(has_limited) = has_limited else { return };
            if is_first {
                self.limits.push((path.to_owned(), false));
            }
            if let Some((_, limited)) = self.limits.get_mut(number) {
                *limited |= has_limited;
            }
            number += 1;
        });
    }

    /// Adds what was used of other equal schedulers.
    pub fn join(&mut self, other: Self) {
        self.has_run_out |= other.has_run_out;
        if self.leaves.is_empty() {
            self.leaves = other.leaves;
        }
        if self.limits.is_empty() {
            self.limits = other.limits;
        } else {
            self.limits.iter_mut().zip(other.limits).for_each(|((_, limited), (_, other))| *limited |= other);
        }
    }
}

/// The ranks from `lowest` to `highest`, both included. The algorithm may have both ends, one or none.
///
/// Ends are signed: SP-PIFO's bounds may turn negative, and PACKS returns -1 if a queue accepts no rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankInterval {
    /// The lowest rank, if the algorithm has such a bound.
    pub lowest: Option<i64>,
    /// The highest rank, if the algorithm has such a bound.
    pub highest: Option<i64>,
}

impl RankInterval {
    /// From `lowest` on.
    pub const fn from(lowest: i64) -> Self {
        Self { lowest: Some(lowest), highest: None }
    }

    /// Up to `highest`.
    pub const fn up_to(highest: i64) -> Self {
        Self { lowest: None, highest: Some(highest) }
    }

    /// The lowest rank if it has a bound, else the highest.
    pub const fn bound(self) -> Option<i64> {
        if self.lowest.is_some() { self.lowest } else { self.highest }
    }
}

/// A copy of the registers of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    window: Vec<Rank>,
    states: Vec<Vec<i64>>,
}

impl Saved {
    /// A copy of the registers of `scheduler`.
    pub fn of(scheduler: &(impl Inspect + ?Sized)) -> Self {
        let mut saved = Self { window: Vec::new(), states: Vec::new() };
        scheduler.registers(&mut |register| {
            let mut state = Vec::new();
            register.visit_state(&mut |number| state.push(number));
            register.visit_window(&mut |rank| saved.window.push(rank));
            saved.states.push(state);
        });
        saved
    }

    /// Resumes each register of `list` from the saved register at the same place.
    pub fn resume(&self, list: &mut impl Registers) {
        let mut states = self.states.iter();
        list.registers_mut(&mut |register| {
            register.resume(&self.window, states.next().map_or(&[], Vec::as_slice));
        });
    }
}

/// The methods of [`Inspect`] for a wrapper, each forwarded to the wrapped scheduler. One list for all wrappers, so
/// that none falls back to a default when a method is added. The calling crate must have `alloc` and `pifolab_units` in
/// scope.
#[macro_export]
macro_rules! inspect_inside {
    ($self:ident => $inside:expr) => {
        fn held(&$self, queue: Option<usize>) -> $crate::Held {
            $inside.held(queue)
        }
        fn capacity(&$self) -> $crate::Capacity {
            $inside.capacity()
        }
        fn queues(&$self) -> usize {
            $inside.queues()
        }
        fn queue_ranks(&$self, queue: usize) -> $crate::RankInterval {
            $inside.queue_ranks(queue)
        }
        fn refused_at(&$self, flow: u32, size: u32, rank: $crate::Rank) -> Option<u32> {
            $inside.refused_at(flow, size, rank)
        }
        fn nodes(&$self, each: &mut dyn FnMut($crate::NodeOfTree<'_>)) {
            $inside.nodes(each);
        }
        fn registers(&$self, each: &mut dyn FnMut(&dyn $crate::Register)) {
            $inside.registers(each);
        }
    };
}

/// The required methods of [`Inspect`] for a scheduler with a single account of its packets.
macro_rules! inspect_room {
    ($self:ident => $room:expr) => {
        fn held(&$self, queue: Option<usize>) -> $crate::Held {
            $crate::Held::in_one_queue(queue, || $room.held())
        }
        fn capacity(&$self) -> $crate::Capacity {
            $room.capacity()
        }
    };
}
pub(crate) use inspect_room;

impl<T: Item> Inspect for Queue<T> {
    inspect_room!(self => self.room());
}

impl<S: Inspect + ?Sized> Inspect for Box<S> {
    inspect_inside!(self => (**self));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers;

    /// A window of two ranks, a list and a number.
    struct Three {
        bounds: Vec<i64>,
        counter: u32,
        seen: Option<Box<u64>>,
    }

    registers!(Three { bounds, counter, seen });

    impl Three {
        fn state(&self) -> Vec<i64> {
            let mut state = Vec::new();
            self.registers(&mut |register| register.visit_state(&mut |number| state.push(number)));
            state
        }
    }

    #[test]
    fn each_register_goes_on_from_the_one_at_its_place_as_far_as_it_fits() {
        let three = |bounds: &[i64], counter, seen: Option<u64>| Three {
            bounds: bounds.to_vec(),
            counter,
            seen: seen.map(Box::new),
        };
        let resumed = |mut from: Three, into: &Three| {
            let mut saved = Saved { window: Vec::new(), states: Vec::new() };
            into.registers(&mut |register| {
                let mut state = Vec::new();
                register.visit_state(&mut |number| state.push(number));
                saved.states.push(state);
            });
            saved.resume(&mut from);
            from.state()
        };
        let old = three(&[3, 5], 7, Some(9));
        assert_eq!(resumed(three(&[0; 2], 0, Some(0)), &old), [3, 5, 7, 9]);
        assert_eq!(resumed(three(&[0; 4], 0, None), &old), [3, 5, 5, 5, 7]);
        assert_eq!(resumed(three(&[0; 1], 0, Some(1)), &three(&[3], 7, None)), [3, 7, 1]);
    }
}

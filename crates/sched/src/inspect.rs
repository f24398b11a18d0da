//! Looking inside a buffer: how much it holds, its queues, their bounds, its window.

use crate::Capacity;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Bytes, Rank};

/// What can be seen of a scheduler from outside. Looking changes nothing, and nothing here depends on what kind of item it
/// stores: observers and tables see every scheduler in the same way.
///
/// Outcomes name queues by number, from 0. Schedulers that are made of schedulers number the queues of all their parts
/// one after the other; [`path`](Self::path) leads to a queue through the parts that it is in.
pub trait Inspect {
    /// Packets held.
    fn len(&self) -> usize;

    /// Bytes held.
    fn backlog(&self) -> Bytes;

    /// The most it can hold, over all queues; [`Capacity::Unlimited`] if there is no bound.
    fn capacity(&self) -> Capacity;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of queues that packets are spread over.
    fn queues(&self) -> usize {
        1
    }

    /// Packets held in `queue`, 0 being the one with the highest priority. None where there is no such queue.
    fn queue_len(&self, queue: usize) -> usize {
        if queue == 0 { self.len() } else { 0 }
    }

    /// The ranks that `queue` accepts now, as far as the algorithm has a bound for it.
    fn queue_ranks(&self, queue: usize) -> RankInterval {
        let _ = queue;
        RankInterval::default()
    }

    /// What the algorithm calls the bound of `queue`: the smallest rank that it accepts (SP-PIFO) or the largest (PACKS
    /// eq. 11); `None` where it has none.
    fn queue_bound(&self, queue: usize) -> Option<i64> {
        self.queue_ranks(queue).bound()
    }

    /// The parts that lead to `queue`, outermost first, and last its number in the innermost. Where nothing is nested this is
    /// its number alone.
    fn path(&self, queue: usize) -> Vec<u32> {
        alloc::vec![queue as u32]
    }

    /// The number of the queue that this [`path`](Self::path) leads to, if there is one.
    fn queue_at(&self, path: &[u32]) -> Option<usize> {
        match path {
            [queue] => Some(*queue as usize).filter(|queue| *queue < self.queues()),
            _ => None,
        }
    }

    /// The queue that a packet of this flow, size and rank was meant for, which was refused just now; `None` if it was refused
    /// before a queue was chosen, or if that can no longer be told. Only observers that record losses by queue ask, and only
    /// where there are several.
    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        let _ = (flow, size, rank);
        None
    }

    /// Calls `visit` with each rank of the sliding window, oldest first; not at all where there is no window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        let _ = visit;
    }

    /// Calls `visit` with the other numbers that a [`Decider`](crate::Decider) remembers, in the order of its own
    /// [`visit_state`](crate::Decider::visit_state); not at all where there is none.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let _ = visit;
    }

    /// What it keeps in memory besides queues and packets.
    fn kept(&self) -> Kept {
        Kept::default()
    }
}

/// What a scheduler keeps in memory besides its queues and the packets in them: enough for an estimate before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes from its first moment on: flows' queues, look-ups of ranks, counters, nodes of a tree.
    pub bytes: usize,
    /// Bytes from the first packet on.
    pub bytes_at_first_packet: usize,
    /// Ranks that its sliding windows hold once they are full.
    pub window_ranks: usize,
}

impl Kept {
    /// So many bytes, and no window.
    pub const fn bytes(bytes: usize) -> Self {
        Self { bytes, bytes_at_first_packet: 0, window_ranks: 0 }
    }
}

impl core::ops::Add for Kept {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            bytes_at_first_packet: self.bytes_at_first_packet.saturating_add(other.bytes_at_first_packet),
            window_ranks: self.window_ranks.saturating_add(other.window_ranks),
        }
    }
}

impl core::iter::Sum for Kept {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), core::ops::Add::add)
    }
}

/// The ranks from `lowest` to `highest`, both included, of which the algorithm may know both, one or none.
///
/// Ends are signed, since SP-PIFO's bounds may turn negative, and PACKS says -1 where a queue accepts no rank.
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

    /// The lowest rank where there is a bound for it, else the highest.
    pub const fn bound(self) -> Option<i64> {
        if self.lowest.is_some() { self.lowest } else { self.highest }
    }
}

/// The methods of [`Inspect`] for what has all its answers from something inside: one list for all wrappers, so that none of them
/// falls back to a default for a question that is added. The crate that calls it names `alloc` and `pifolab_units`.
#[macro_export]
macro_rules! inspect_inside {
    ($self:ident => $inside:expr) => {
        fn len(&$self) -> usize {
            $inside.len()
        }
        fn backlog(&$self) -> ::pifolab_units::Bytes {
            $inside.backlog()
        }
        fn capacity(&$self) -> $crate::Capacity {
            $inside.capacity()
        }
        fn is_empty(&$self) -> bool {
            $inside.is_empty()
        }
        fn queues(&$self) -> usize {
            $inside.queues()
        }
        fn queue_len(&$self, queue: usize) -> usize {
            $inside.queue_len(queue)
        }
        fn queue_ranks(&$self, queue: usize) -> $crate::RankInterval {
            $inside.queue_ranks(queue)
        }
        fn queue_bound(&$self, queue: usize) -> Option<i64> {
            $inside.queue_bound(queue)
        }
        fn path(&$self, queue: usize) -> ::alloc::vec::Vec<u32> {
            $inside.path(queue)
        }
        fn queue_at(&$self, path: &[u32]) -> Option<usize> {
            $inside.queue_at(path)
        }
        fn refused_at(&$self, flow: u32, size: u32, rank: ::pifolab_units::Rank) -> Option<u32> {
            $inside.refused_at(flow, size, rank)
        }
        fn visit_window(&$self, visit: &mut dyn FnMut(::pifolab_units::Rank)) {
            $inside.visit_window(visit);
        }
        fn visit_state(&$self, visit: &mut dyn FnMut(i64)) {
            $inside.visit_state(visit);
        }
        fn kept(&$self) -> $crate::Kept {
            $inside.kept()
        }
    };
}

/// What [`Inspect`] requires, of a scheduler whose packets are all in one account.
macro_rules! inspect_room {
    ($self:ident => $room:expr) => {
        fn len(&$self) -> usize {
            $room.packets()
        }
        fn backlog(&$self) -> ::pifolab_units::Bytes {
            $room.bytes()
        }
        fn capacity(&$self) -> $crate::Capacity {
            $room.capacity()
        }
    };
}
pub(crate) use inspect_room;

impl<S: Inspect + ?Sized> Inspect for Box<S> {
    inspect_inside!(self => (**self));
}

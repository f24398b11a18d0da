//! The packet descriptor that schedulers move, and the trait of items that stand for one.

use pifolab_units::{Rank, Time};

/// A packet as a scheduler sees it: a move-only descriptor of 32 bytes, not a buffer.
///
/// It is neither `Clone` nor `Copy`: a packet is owned by one place at a time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The id, unique among the packets that a scheduler holds. Side tables (deadlines, delays) use it as a key.
    pub id: u64,
    /// The flow it belongs to: a dense index from 0, since per-flow state is held in arrays.
    pub flow: u32,
    /// Its size in bytes, in buffers and on links.
    pub size: u32,
    /// Its rank. A rank function at the port overwrites it.
    pub rank: Rank,
    /// The time of its arrival at this queue (set by the caller that enqueues it).
    pub arrival: Time,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// The items that schedulers store and return: a [`Packet`], or a smaller handle of one.
///
/// Containers and schedulers are generic in it, so that the same algorithms run on a simulator's items of a few bytes
/// and on the one-byte items of a search over packet traces. The default value fills empty places. Queues do not drop
/// the items that they hold, so a type that needs to be dropped does not compile there.
///
/// ```
/// use pifolab_queues::{Capacity, Item, Queue};
/// use pifolab_units::Rank;
///
/// /// A packet of size 1 that has only a rank.
/// #[derive(Clone, Copy, Default)]
/// struct Bare(u8);
///
/// impl Item for Bare {
///     fn size(&self) -> u32 {
///         1
///     }
///     fn rank(&self) -> Rank {
///         Rank::from(u32::from(self.0))
///     }
///     fn set_rank(&mut self, rank: Rank) {
///         self.0 = rank.get() as u8;
///     }
/// }
///
/// let mut queue = Queue::new(Capacity::Packets(2));
/// assert!(queue.push(Bare(3)).is_ok() && queue.push(Bare(1)).is_ok());
/// assert!(matches!(queue.push(Bare(2)), Err(Bare(2))));
/// let before = queue.clone();
/// assert!(matches!(queue.pop(), Some(Bare(3))));
/// assert!(matches!(before.clone().pop(), Some(Bare(3))));
/// ```
pub trait Item: Default {
    /// Its size in bytes, which does not change while it is stored.
    fn size(&self) -> u32;

    /// Its rank.
    fn rank(&self) -> Rank;

    /// Sets its rank; called before it is stored, never while it is stored.
    fn set_rank(&mut self, rank: Rank);

    /// Its flow; 0 if nothing depends on flows.
    fn flow(&self) -> u32 {
        0
    }

    /// Its id, for side tables; 0 if there are none.
    fn id(&self) -> u64 {
        0
    }

    /// The packet that it stands for, with the fields that rank functions read at time `now`.
    #[inline(always)]
    fn describe(&self, now: Time) -> Packet {
        Packet { id: self.id(), flow: self.flow(), size: self.size(), rank: self.rank(), arrival: now }
    }
}

impl Item for Packet {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }
    #[inline(always)]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline(always)]
    fn set_rank(&mut self, rank: Rank) {
        self.rank = rank;
    }
    #[inline(always)]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline(always)]
    fn id(&self) -> u64 {
        self.id
    }
    #[inline(always)]
    fn describe(&self, _now: Time) -> Packet {
        let Self { id, flow, size, rank, arrival } = *self;
        Self { id, flow, size, rank, arrival }
    }
}

//! The order of a node's children in a scheduler: each index is a packet, called a *reference*.
//!
//! A reference's flow is the child, and its rank that of the node's discipline. Its size and eligible time are those of
//! the packet that created it. No scheduler can remove a given packet, or predict its decisions. Therefore:
//!
//! - A reference whose packet no longer exists stays in the scheduler as *void*, and is skipped when it comes up. Until
//!   then it uses space. Once a child has more than [`spare`] void references, its next packet reuses the latest one,
//!   with its rank, size and time.
//! - A reference that comes up while its child sleeps is put aside. It is the first candidate when the child is awake.
//! - A reference that has come up stays first until its packet has left.

use super::share::Share;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pifolab_sched::store::Slab;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, InspectExt, Kept, Packet, Scheduler};
use pifolab_units::{Rank, Time};

/// The number of void references per child in a scheduler of this capacity, above which a packet reuses one. A 64th of
/// the places, so that void references take little space from others, with a limit.
const fn spare(capacity: Capacity) -> usize {
    const MOST: usize = 1_024;
    match capacity {
        Capacity::Unlimited => MOST,
        Capacity::Packets(packets) if packets as usize / 64 < MOST => packets as usize / 64,
        Capacity::Packets(_) => MOST,
        Capacity::Bytes(_) => 0,
    }
}

/// References to children in a scheduler.
pub(super) struct ScheduledOrder {
    scheduler: Box<dyn Scheduler + Send>,
    /// By slot, which is the lower half of a reference's id.
    references: Slab<Reference>,
    children: Box<[Child]>,
    /// References that came up while their children slept, in that order.
    aside: VecDeque<u32>,
    /// The reference that has come up and whose packet has not left yet.
    head: Option<u32>,
    /// The number of void references per child above which a packet reuses one.
    spare: usize,
    pushed: u64,
    came_up: u64,
    /// The decision about the reference of the arriving packet.
    asked: Option<Asked>,
    /// A lost reference, until the packet of its child that leaves for it has left.
    lost: Option<u32>,
    /// Whether the scheduler lets nothing leave before a time for which the tree waits.
    is_held: bool,
}

#[derive(Default)]
struct Child {
    /// The references that represent one packet each, sorted. The last one leaves when a packet is pushed out.
    live: VecDeque<Key>,
    void: VecDeque<u32>,
    is_asleep: bool,
}

/// The order of references: by rank, then by arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    rank: u64,
    arrival: u64,
    slot: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reference {
    key: Key,
    child: u32,
    state: State,
    /// The number of references that came up before this one.
    came_up: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The reference is in the scheduler and represents a packet.
    Waits,
    /// The reference is in the scheduler and represents no packet.
    Void,
    /// The reference has come up, and its child sleeps.
    Aside,
    /// The reference has come up, and its child is next.
    Head,
    /// The reference is neither in the scheduler nor aside.
    #[default]
    Out,
}

struct Asked {
    /// The pushed reference; `None` if the packet reuses a void one.
    slot: Option<u32>,
    share: Share,
}

/// The result of a search for the first reference.
pub(super) enum First {
    /// The first reference belongs to this child.
    Child(u32),
    /// The scheduler has dropped this reference.
    GivenUp(u32, DropReason),
    /// The scheduler lets nothing leave before this time.
    NotBefore(Time),
    /// There are only references to sleeping children, or none.
    Nothing,
}

impl ScheduledOrder {
    /// `scheduler` must be empty, and must not need facts that references do not have.
    pub(super) fn new(scheduler: Box<dyn Scheduler + Send>, children: usize) -> Self {
        Self {
            spare: spare(scheduler.capacity()),
            scheduler,
            references: Slab::with_capacity(0),
            children: core::iter::repeat_with(Child::default).take(children).collect(),
            aside: VecDeque::new(),
            head: None,
            pushed: 0,
            came_up: 0,
            asked: None,
            lost: None,
            is_held: false,
        }
    }

    /// The memory of the order and its scheduler, without references.
    pub(super) fn kept(&self) -> Kept {
        Kept::bytes(size_of::<Self>() + self.children.len() * size_of::<Child>()) + self.scheduler.kept()
    }

    /// The number of references to `child` that represent packets.
    pub(super) fn waiting(&self, child: u32) -> usize {
        self.children[child as usize].live.len()
    }

    /// The child of a reference.
    pub(super) fn child_of(&self, slot: u32) -> u32 {
        self.references.get(slot).child
    }

    /// Offers a reference to `child` to the scheduler. It represents nothing until it is [committed](Self::commit) or
    /// [withdrawn](Self::withdraw). `share` is the child's share after a commit. Calls `displaced` with each reference
    /// that the scheduler pushes out.
    pub(super) fn ask(
        &mut self,
        (child, rank, size): (u32, u64, u32),
        share: Share,
        (eligible, now): (Time, Time),
        mut displaced: impl FnMut(u32),
    ) -> Result<(), DropReason> {
        if self.children[child as usize].void.len() > self.spare {
            self.asked = Some(Asked { slot: None, share });
            return Ok(());
        }
        self.pushed += 1;
        let slot = self.slot(child, rank);
        let id = (self.pushed << 32 | u64::from(slot)) & (u64::MAX >> 1);
        let reference = Packet { id, flow: child, size, rank: Rank::saturating(rank), arrival: now };
        match self.scheduler.enqueue_eligible(reference, eligible, now) {
            Enqueued::Admitted { .. } => {}
            Enqueued::Evicted { victims, .. } => {
                for victim in victims.iter() {
                    if let Some(slot) = self.take_out(victim.id) {
                        displaced(slot);
                    }
                }
            }
            Enqueued::Dropped { reason, .. } => {
                self.forget(slot);
                if self.children[child as usize].void.is_empty() {
                    return Err(reason);
                }
                self.asked = Some(Asked { slot: None, share });
                return Ok(());
            }
        }
        self.asked = Some(Asked { slot: Some(slot), share });
        Ok(())
    }

    /// Whether a reference for the arriving packet is ready.
    pub(super) const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Makes the offered reference represent a packet of `child`. Returns the child's new share.
    pub(super) fn commit(&mut self, child: u32) -> Share {
        let Asked { slot, share } = self.asked.take().expect("it was asked about this packet");
        let slot = slot.or_else(|| self.children[child as usize].void.pop_back()).expect("a void one was seen");
        let reference = self.references.get_mut(slot);
        reference.state = State::Waits;
        let key = reference.key;
        self.insert(child, key);
        share
    }

    /// Makes the offered reference void, because the packet is refused elsewhere.
    pub(super) fn withdraw(&mut self) {
        if let Some(Asked { slot: Some(slot), .. }) = self.asked.take() {
            self.make_void(slot);
        }
    }

    /// The first reference at `now`, among those to awake children.
    pub(super) fn first(&mut self, now: Time) -> First {
        if let Some(slot) = self.head {
            if !self.sleeps(slot) {
                return First::Child(self.child_of(slot));
            }
            self.head = None;
            self.put_aside(slot);
        }
        let awake = if self.aside.is_empty() { None } else { self.aside.iter().position(|slot| !self.sleeps(*slot)) };
        if let Some(slot) = awake.and_then(|at| self.aside.remove(at)) {
            return self.make_head(slot);
        }
        if self.is_held {
            return First::Nothing;
        }
        loop {
            match self.scheduler.dequeue(now) {
                Dequeued::Packet { packet, .. } => {
                    let slot = packet.id as u32;
                    if self.references.get(slot).state == State::Void {
                        self.drop_void(slot);
                        continue;
                    }
                    self.came_up += 1;
                    self.references.get_mut(slot).came_up = self.came_up;
                    if !self.sleeps(slot) {
                        return self.make_head(slot);
                    }
                    self.put_aside(slot);
                }
                Dequeued::Dropped { packet, reason } => {
                    if let Some(slot) = self.take_out(packet.id) {
                        return First::GivenUp(slot, reason);
                    }
                }
                Dequeued::NotBefore(time) => return First::NotBefore(time),
                Dequeued::Empty => return First::Nothing,
            }
        }
    }

    /// Removes the first reference, which must belong to `child`; returns its rank.
    pub(super) fn pop(&mut self, child: u32) -> u64 {
        let slot = self.head.take().expect("a packet leaves whose reference has come up");
        let Reference { key, child: first, .. } = *self.references.get(slot);
        debug_assert_eq!(first, child, "a packet of the first child leaves");
        self.remove(child, key);
        self.forget(slot);
        key.rank
    }

    /// Removes the reference to `child` with the largest rank, of equal ranks the latest, because a packet no longer
    /// exists. If a reference is lost, removes that one instead.
    pub(super) fn remove_last(&mut self, child: u32) {
        if let Some(slot) = self.lost.take() {
            debug_assert_eq!(self.child_of(slot), child, "a packet leaves for the reference that was lost");
            return self.forget(slot);
        }
        let Some(Key { slot, .. }) = self.children[child as usize].live.pop_back() else { return };
        match self.references.get(slot).state {
            State::Waits => return self.make_void(slot),
            State::Head => self.head = None,
            State::Aside => self.aside.retain(|aside| *aside != slot),
            State::Void | State::Out => unreachable!("it stands for a packet"),
        }
        self.forget(slot);
    }

    /// Sets whether `child` sleeps.
    pub(super) fn set_asleep(&mut self, child: u32, is_asleep: bool) {
        self.children[child as usize].is_asleep = is_asleep;
    }

    /// Records a missing reference to `child`, which the scheduler refused.
    pub(super) fn lack(&mut self, child: u32, rank: u64) {
        self.pushed += 1;
        self.lost = Some(self.slot(child, rank));
    }

    /// Marks this reference, which the scheduler pushed out or dropped, as lost until a packet has left for it.
    pub(super) fn lose(&mut self, slot: u32) {
        debug_assert!(self.lost.is_none(), "one after the other");
        self.lost = Some(slot);
    }

    /// Returns the lost reference, if any, and clears it.
    pub(super) fn take_lost(&mut self) -> Option<u32> {
        self.lost.take()
    }

    /// Keeps the lost reference, because its child keeps the packet. The reference comes up as soon as the packet can
    /// leave.
    pub(super) fn keep_lost(&mut self) {
        let Some(slot) = self.lost.take() else { return };
        self.came_up += 1;
        let reference = self.references.get_mut(slot);
        reference.came_up = self.came_up;
        let Reference { child, key, .. } = *reference;
        self.insert(child, key);
        self.put_aside(slot);
    }

    /// Sets whether the tree waits for a time before which nothing may leave.
    pub(super) fn set_held(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether the tree waits for such a time.
    pub(super) const fn is_held(&self) -> bool {
        self.is_held
    }

    /// Like [`Scheduler::not_before`], for references.
    pub(super) fn not_before(&mut self) -> Time {
        let has_come_up = self.head.is_some() || !self.aside.is_empty();
        if has_come_up || self.scheduler.is_empty() { Time::ZERO } else { self.scheduler.not_before() }
    }

    fn sleeps(&self, slot: u32) -> bool {
        self.children[self.references.get(slot).child as usize].is_asleep
    }

    fn make_head(&mut self, slot: u32) -> First {
        self.references.get_mut(slot).state = State::Head;
        self.head = Some(slot);
        First::Child(self.child_of(slot))
    }

    fn put_aside(&mut self, slot: u32) {
        let Self { references, aside, .. } = self;
        references.get_mut(slot).state = State::Aside;
        let came_up = references.get(slot).came_up;
        let at = aside.partition_point(|other| references.get(*other).came_up < came_up);
        aside.insert(at, slot);
    }

    /// Handles a reference that the scheduler has pushed out or dropped; `None` if it was void.
    fn take_out(&mut self, id: u64) -> Option<u32> {
        let slot = id as u32;
        let Reference { key, child, state, .. } = *self.references.get(slot);
        if state == State::Void {
            self.drop_void(slot);
            return None;
        }
        self.references.get_mut(slot).state = State::Out;
        self.remove(child, key);
        Some(slot)
    }

    fn make_void(&mut self, slot: u32) {
        self.references.get_mut(slot).state = State::Void;
        let child = self.child_of(slot);
        self.children[child as usize].void.push_back(slot);
    }

    /// Removes a void reference that has left the scheduler.
    fn drop_void(&mut self, slot: u32) {
        let child = self.child_of(slot);
        let void = &mut self.children[child as usize].void;
        if let Some(at) = void.iter().position(|other| *other == slot) {
            void.remove(at);
        }
        self.forget(slot);
    }

    /// Creates a reference and returns its slot.
    fn slot(&mut self, child: u32, rank: u64) -> u32 {
        let arrival = self.pushed;
        self.references.insert_with(|slot| Reference {
            key: Key { rank, arrival, slot },
            child,
            ..Reference::default()
        })
    }

    fn forget(&mut self, slot: u32) {
        self.references.take(slot);
    }

    fn insert(&mut self, child: u32, key: Key) {
        let live = &mut self.children[child as usize].live;
        if live.back().is_none_or(|last| *last < key) {
            return live.push_back(key);
        }
        let at = live.partition_point(|other| *other < key);
        live.insert(at, key);
    }

    fn remove(&mut self, child: u32, key: Key) {
        let live = &mut self.children[child as usize].live;
        if live.front() == Some(&key) {
            live.pop_front();
        } else if let Ok(at) = live.binary_search(&key) {
            live.remove(at);
        }
    }
}

//! Disciplines that charge a child with the packet that left: one entry for each child that has a packet to send.
//!
//! Papers: Goyal, Vin, Cheng, "Start-Time Fair Queueing", IEEE/ACM ToN 1997; Bennett, Zhang, "Hierarchical Packet Fair Queueing
//! Algorithms", SIGCOMM 1996 (a child's entry is made when its packet comes to the head); Shreedhar, Varghese, "Efficient Fair
//! Queuing Using Deficit Round Robin", SIGCOMM 1995; Adiseshu, Parulkar, Varghese, "A Reliable and Scalable Striping Protocol",
//! SIGCOMM 1996 (surplus round robin, where the last packet of a turn may overdraw it).
//!
//! Every discipline is one rule. A child that becomes ready starts at max(tag, floor); the lowest start is served; after a packet
//! of L bytes the child's tag is start + cost(L):
//!
//! | | floor | cost |
//! |---|---|---|
//! | strict | its position by priority | 0 |
//! | rr | the round in which its turn comes next | 1 round |
//! | drr | the same | as many rounds as its deficit needs to be above 0 again |
//! | stfq | V, the start of the last packet that left | L / weight |
//! | wfq | the wall clock | L / weight x the time of a byte |
//!
//! A tag has 107 bits beside a million children: it lasts for all times and sizes that there are.

use super::discipline::DisciplineKind;
use super::order::{Entry, ExactOrder, ExactOrders};
use super::share::Share;
use pifolab_units::Time;

/// The discipline of such a node. The start of the last packet that left is in the node's order, and tags with their children there.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) kind: DisciplineKind,
    /// With wfq: units of a tag in a picosecond.
    pub(super) units: u64,
}

impl Heads {
    /// Makes the entry of a child that has packets and may send from `now` on. Returns the place of the child that is next.
    pub(super) fn start(self, orders: &mut ExactOrders, order: ExactOrder, child: u32, now: Time) -> Option<usize> {
        let floor = self.floor(orders.served(order), child, now);
        let tag = *orders.tag(order, child);
        if floor > tag {
            self.start_anew(orders.share(order, child));
        }
        orders.enter(order, Entry { tag: tag.max(floor), child })
    }

    /// Charges `child`, the next one, with the packet of `size` bytes that has left. If it `stays` it has another one to send.
    /// Returns the place of the child that is next.
    #[inline(always)]
    pub(super) fn charge(
        self,
        orders: &mut ExactOrders,
        order: ExactOrder,
        child: u32,
        size: u32,
        stays: bool,
    ) -> Option<usize> {
        let Entry { tag: start, .. } = orders.serve(order, child);
        let tag = start.saturating_add(self.cost(orders.share(order, child), size));
        if stays { orders.enter(order, Entry { tag, child }) } else { orders.leave(order, Entry { tag, child }) }
    }

    /// Where `child` starts at least.
    fn floor(self, served: Entry, child: u32, now: Time) -> u128 {
        match self.kind {
            DisciplineKind::Strict | DisciplineKind::Ranked => 0,
            // Turns come in the order of the children.
            DisciplineKind::RoundRobin | DisciplineKind::Drr => served.tag + u128::from(child < served.child),
            DisciplineKind::Stfq => served.tag,
            DisciplineKind::WallClock => u128::from(now.as_ps()) * u128::from(self.units),
        }
    }

    /// The child's tag has passed: nothing is left of its last turn, or of the last division.
    fn start_anew(self, share: &mut Share) {
        share.cost.rest = if self.kind == DisciplineKind::Drr { share.cost.numerator } else { 0 };
    }

    #[inline(always)]
    fn cost(self, share: &mut Share, size: u32) -> u128 {
        match self.kind {
            DisciplineKind::Strict | DisciplineKind::Ranked => 0,
            DisciplineKind::RoundRobin => 1,
            DisciplineKind::Drr => share.turns_used(size).into(),
            DisciplineKind::Stfq | DisciplineKind::WallClock => share.cost.charge(size, false),
        }
    }
}

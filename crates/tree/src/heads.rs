//! Disciplines that charge a child with its departing packet: one entry per child that has a packet to send.
//!
//! Papers: Goyal, Vin, Cheng, "Start-Time Fair Queueing", IEEE/ACM ToN 1997; Bennett, Zhang, "Hierarchical Packet Fair
//! Queueing Algorithms", SIGCOMM 1996 (a child's entry is created when its packet reaches the head); Shreedhar,
//! Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995; Adiseshu, Parulkar, Varghese, "A
//! Reliable and Scalable Striping Protocol", SIGCOMM 1996 (surplus round robin, in which the last packet of a turn may
//! overdraw it).
//!
//! All disciplines follow one rule. A child that becomes ready starts at max(tag, floor). The lowest start is served.
//! After a packet of L bytes the child's tag is start + cost(L):
//!
//! | | floor | cost |
//! |---|---|---|
//! | strict | its position by priority | 0 |
//! | rr | the round of its next turn | 1 round |
//! | drr | the round of its next turn | the number of rounds until its deficit is above 0 again |
//! | stfq | V, the start of the last departed packet | L / weight |
//! | wfq | the wall clock | L / weight x the time of a byte |
//!
//! With a million children a tag still has 107 bits, enough for all times and sizes.

use super::discipline::DisciplineKind;
use super::order::{Entry, ExactOrder, ExactOrders};
use super::share::Share;
use pifolab_units::Time;

/// The discipline of such a node. The node's order stores the start of the last departed packet, and the tags of the
/// children.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) kind: DisciplineKind,
    /// For wfq, the units of a tag per picosecond.
    pub(super) units: u64,
}

impl Heads {
    /// Creates the entry of a child that has packets and may send from `now` on. Returns the place of the next child.
    pub(super) fn start(self, orders: &mut ExactOrders, order: ExactOrder, child: u32, now: Time) -> Option<usize> {
        let floor = self.floor(orders.served(order), child, now);
        let tag = *orders.tag(order, child);
        if floor > tag {
            self.start_anew(orders.share(order, child));
        }
        orders.enter(order, Entry { tag: tag.max(floor), child })
    }

    /// Charges `child`, which is next, with a departed packet of `size` bytes. `stays` if the child has another packet
    /// to send. Returns the place of the next child.
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

    /// The smallest start of `child`.
    fn floor(self, served: Entry, child: u32, now: Time) -> u128 {
        match self.kind {
            DisciplineKind::Strict | DisciplineKind::Ranked => 0,
            // Turns follow the order of the children.
            DisciplineKind::RoundRobin | DisciplineKind::Drr => served.tag + u128::from(child < served.child),
            DisciplineKind::Stfq => served.tag,
            DisciplineKind::WallClock => u128::from(now.as_ps()) * u128::from(self.units),
        }
    }

    /// Resets the share of a child whose tag is in the past: the rest of its last turn, or of the last division.
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

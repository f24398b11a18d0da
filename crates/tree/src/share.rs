//! The state of a child in the discipline of its node.

use super::cost::Fraction;
use pifolab_units::Rank;

/// The state of a child in a discipline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// The child's rank (strict), pushes minus pops (rr), its finish tag (wfq, stfq), or the round in which its last
    /// index leaves (drr).
    pub(super) tag: u64,
    /// The cost of the child's bytes. For drr, the fraction is the quantum in bytes. Its rest, over the same
    /// denominator, is the deficit: the bytes that the child may still send in that round.
    pub(super) cost: Fraction,
}

impl Share {
    /// The start of a packet: now, or the finish of the previous packet. Updates the finish tag.
    #[inline(always)]
    pub(super) fn start(&mut self, now: u64, size: u32) -> u64 {
        let rank = now.max(self.tag);
        let cost = u64::try_from(self.cost.charge(size, now > self.tag)).unwrap_or(u64::MAX);
        self.tag = rank.saturating_add(cost).min(Rank::MAX.get());
        rank
    }

    /// Whether all further packets have the largest rank.
    pub(super) const fn has_run_out(&self) -> bool {
        self.tag == Rank::MAX.get()
    }

    /// The number of turns of deficit round robin that a departed packet uses up. A turn continues while some of its
    /// quantum remains. The bytes that the packet overdraws reduce the next turns.
    #[inline]
    pub(super) fn turns_used(&mut self, size: u32) -> u64 {
        let size = self.cost.parts(size);
        let Fraction { numerator: quantum, rest: deficit, .. } = &mut self.cost;
        if size < *deficit {
            *deficit -= size;
            return 0;
        }
        let overdrawn = size - *deficit;
        *deficit = *quantum - overdrawn % *quantum;
        overdrawn / *quantum + 1
    }

    /// The turn of a packet in deficit round robin.
    #[inline]
    pub(super) fn turn(&mut self, next: u64, children: u64, child: u64, is_idle: bool, size: u32) -> u64 {
        let size = self.cost.parts(size);
        let Self { tag: round, cost: Fraction { numerator: quantum, rest: deficit, .. } } = self;
        if is_idle {
            // The next turn, with a full quantum and no rest of the last.
            let (rounds, turn) = (next / children, next % children);
            (*round, *deficit) = (rounds + u64::from(turn > child), *quantum);
        }
        *deficit = if *deficit < size {
            let lacking = size - *deficit;
            *round = round.saturating_add(lacking.div_ceil(*quantum));
            (*quantum - lacking % *quantum) % *quantum
        } else {
            *deficit - size
        };
        let rank = round.saturating_mul(children).saturating_add(child);
        if rank >= Rank::MAX.get() {
            *round = Rank::MAX.get();
        }
        rank.min(Rank::MAX.get())
    }
}

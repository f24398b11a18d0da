//! What the discipline of a node knows of each child.

use super::cost::Fraction;
use pifolab_units::Rank;

/// What a discipline knows of a child.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Its rank (strict), pushes less pops (rr), its finish tag (wfq, stfq), or the round in which its last index leaves (drr).
    pub(super) tag: u64,
    /// What its bytes cost. With drr the numerator is its quantum, and the rest what it may still send in that round.
    pub(super) cost: Fraction,
}

impl Share {
    /// Where a packet starts: now, or where the one before it finished. It moves the finish tag.
    #[inline(always)]
    pub(super) fn start(&mut self, now: u64, size: u32) -> u64 {
        let rank = now.max(self.tag);
        self.tag = rank.saturating_add(self.cost.charge(size, now > self.tag)).min(Rank::MAX.get());
        rank
    }

    /// The turn of a packet in deficit round robin.
    #[inline]
    pub(super) fn turn(&mut self, next: u64, children: u64, child: u64, is_idle: bool, size: u32) -> u64 {
        let Self { tag: round, cost: Fraction { numerator: quantum, rest: deficit, .. } } = self;
        if is_idle {
            // Its next turn, and nothing left over from the last.
            let (rounds, turn) = (next / children, next % children);
            (*round, *deficit) = (rounds + u64::from(turn > child), *quantum);
        }
        let size = u64::from(size);
        if *deficit < size {
            let more = (size - *deficit).div_ceil(*quantum);
            *round += more;
            *deficit += more * *quantum;
        }
        *deficit -= size;
        round.saturating_mul(children).saturating_add(child).min(Rank::MAX.get())
    }
}

//! What the discipline of a node knows of each child.

use super::cost::Fraction;
use pifolab_units::Rank;

/// What a discipline knows of a child.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Its rank (strict), pushes less pops (rr), its finish tag (wfq, stfq), or the round in which its last index leaves (drr).
    pub(super) tag: u64,
    /// What its bytes cost. With drr the fraction is its quantum in bytes, and the rest, over the same denominator, its deficit: what it may
    /// still send in that round.
    pub(super) cost: Fraction,
}

impl Share {
    /// Where a packet starts: now, or where the one before it finished. It moves the finish tag.
    #[inline(always)]
    pub(super) fn start(&mut self, now: u64, size: u32) -> u64 {
        let rank = now.max(self.tag);
        let cost = u64::try_from(self.cost.charge(size, now > self.tag)).unwrap_or(u64::MAX);
        self.tag = rank.saturating_add(cost).min(Rank::MAX.get());
        rank
    }

    /// Whether packets from here on share the largest rank.
    pub(super) const fn has_run_out(&self) -> bool {
        self.tag == Rank::MAX.get()
    }

    /// How many turns of deficit round robin a packet uses up that has left. A turn goes on while something is left of it; what the
    /// packet overdraws is missing in the next ones.
    #[inline]
    pub(super) fn turns_used(&mut self, size: u32) -> u64 {
        let size = self.cost.parts(size);
        let Fraction { numerator: quantum, rest: deficit, .. } = &mut self.cost;
        if size < *deficit {
            *deficit -= size;
            return 0;
        }
        let overdrawn = size - *deficit;
        let turns = overdrawn / *quantum + 1;
        *deficit = turns * *quantum - overdrawn;
        turns
    }

    /// The turn of a packet in deficit round robin.
    #[inline]
    pub(super) fn turn(&mut self, next: u64, children: u64, child: u64, is_idle: bool, size: u32) -> u64 {
        let size = self.cost.parts(size);
        let Self { tag: round, cost: Fraction { numerator: quantum, rest: deficit, .. } } = self;
        if is_idle {
            // Its next turn, and nothing left over from the last.
            let (rounds, turn) = (next / children, next % children);
            (*round, *deficit) = (rounds + u64::from(turn > child), *quantum);
        }
        if *deficit < size {
            let more = (size - *deficit).div_ceil(*quantum);
            *round += more;
            *deficit += more * *quantum;
        }
        *deficit -= size;
        let rank = round.saturating_mul(children).saturating_add(child);
        if rank >= Rank::MAX.get() {
            *round = Rank::MAX.get();
        }
        rank.min(Rank::MAX.get())
    }
}

//! Earliest deadline first: the rank is the packet's absolute deadline.
//!
//! Paper: Liu, Layland, JACM 1973; as a rank for PIFO: Sivaraman et al., SIGCOMM 2016, section 3.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the deadline travels beside the packet.
//!
//! What the rank means: picoseconds since the start of the run. A packet without a deadline has the largest rank.
//!
//! Deviations: later deadlines count as 2^63 - 1 ps (106 days).
//!
//! References: `docs/ranks/edf.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// Earliest deadline first.
    Edf,
    needs: Facts::one(Fact::Deadline),
    rank: |hints, _now| hints.deadline.map_or(Rank::MAX, |deadline| Rank::saturating(deadline.as_ps())),
    Info {
        name: "edf",
        summary: "Earliest deadline first: the absolute deadline, in picoseconds.",
        paper: "Liu, Layland, JACM 1973; Sivaraman et al., SIGCOMM 2016",
        effect: "The packet that must arrive first goes first; those without a deadline last.",
        state: "none; the deadline travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, Packet, RankFn};
    use pifolab_units::Time;

    #[test]
    fn the_earlier_deadline_ranks_lower_and_none_ranks_last() {
        let mut edf = Edf::new();
        let mut rank = |deadline: Option<u64>| {
            edf.hint(1, &Hints { deadline: deadline.map(Time::from_ns), ..Hints::default() });
            let packet = Packet { id: 1, flow: 0, size: 1, rank: Rank::ZERO, arrival: Time::ZERO };
            edf.rank(&packet, Time::from_ns(500))
        };
        // The rank is the absolute deadline, not the remaining time: a missed deadline stays ahead.
        assert_eq!(rank(Some(2)).get(), 2_000);
        assert!(rank(Some(2)) < rank(Some(3)));
        assert!(rank(Some(u64::MAX / 1000)) == Rank::MAX);
        assert_eq!(rank(None), Rank::MAX);
    }
}

//! Least slack time first: the rank is the latest time at which the packet may start and still meet its deadline.
//!
//! Paper: Mittal, Agarwal, Ratnasamy, Shenker, "Universal Packet Scheduling", NSDI 2016, section 2.1.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; deadline and remaining transmission time travel beside the packet.
//!
//! What the rank means: now + slack, where slack = deadline - now - remaining transmission time; in picoseconds since
//! the start of the run. At a port the packet with the least slack goes first, and the order does not change while
//! packets wait, since all slacks shrink alike. A packet without a deadline has the largest rank.
//!
//! Deviations: the paper's header holds the slack, which each hop reduces by the packet's wait there. Holding the
//! deadline instead gives the same rank, since `now` grows by the wait. If the slack is used up before the run begins,
//! the rank is 0.
//!
//! References: `docs/ranks/lstf.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// Least slack time first.
    Lstf,
    needs: Facts::one(Fact::Deadline).with(Fact::RemainingTransmission),
    rank: |hints, _now| {
        // now + (deadline - now - remaining): `now` cancels out.
        hints.deadline.map_or(Rank::MAX, |deadline| {
            Rank::saturating(deadline.as_ps().saturating_sub(hints.remaining_transmission.as_ps()))
        })
    },
    Info {
        name: "lstf",
        summary: "Least slack time first: the latest start that still meets the deadline, in picoseconds.",
        paper: "Mittal et al., Universal Packet Scheduling, NSDI 2016, section 2.1",
        effect: "The packet that can least afford to wait goes first; those without a deadline last.",
        state: "none; the slack travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, Packet, RankFn};
    use pifolab_units::{Span, Time};

    fn rank(now: u64, deadline: u64, remaining: u64) -> Rank {
        let mut lstf = Lstf::new();
        let hints = Hints {
            deadline: Some(Time::from_ns(deadline)),
            remaining_transmission: Span::from_ns(remaining),
            ..Hints::default()
        };
        lstf.hint(5, &hints);
        let packet = Packet { id: 5, flow: 0, size: 1, rank: Rank::ZERO, arrival: Time::from_ns(now) };
        lstf.rank(&packet, Time::from_ns(now))
    }

    #[test]
    fn a_long_way_to_go_outweighs_a_later_deadline() {
        // Deadlines at 100 and 90 ns; the first still needs 30 ns of transmission, the second 5.
        assert_eq!(rank(10, 100, 30).get(), 70_000);
        assert_eq!(rank(10, 90, 5).get(), 85_000);
    }

    #[test]
    fn the_rank_is_now_plus_slack_at_every_hop() {
        // The header's view: deadline 100 ns after a start at 0, three hops of 10 ns each left at the first.
        let mut slack = 100 - 30;
        assert_eq!(rank(0, 100, 30).get(), (slack) * 1_000);
        // It waits 15 ns at the first hop and is at the second at 15 + 10 ns, with two hops left.
        slack -= 15;
        assert_eq!(rank(25, 100, 20).get(), (25 + slack) * 1_000);
    }

    #[test]
    fn a_slack_below_zero_ranks_first_and_no_deadline_last() {
        assert_eq!(rank(50, 10, 20), Rank::ZERO);
        let packet = Packet { id: 5, flow: 0, size: 1, rank: Rank::ZERO, arrival: Time::ZERO };
        assert_eq!(Lstf::new().rank(&packet, Time::ZERO), Rank::MAX);
    }
}

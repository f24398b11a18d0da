//! FIFO+: first in, first out as if every earlier hop had delayed the packet by the mean delay of its class.
//!
//! Paper: Clark, Shenker, Zhang, "Supporting Real-Time Applications in an Integrated Services Packet Network",
//! SIGCOMM 1992, section 6; Universal Packet Scheduling (NSDI 2016) shows it to be LSTF with equal slacks.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state here; the accumulated delays travel beside the packet.
//!
//! What the rank means: the expected time of arrival, now - (delay so far - mean delay of the class over the same
//! hops), in picoseconds. Packets that fared worse than their class move ahead, which narrows the tail of the delay.
//!
//! Deviations: an expected arrival before the start of the run counts as a rank of 0.
//!
//! References: `docs/ranks/fifo-plus.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// FIFO+.
    FifoPlus,
    needs: Facts::one(Fact::DelaySoFar).with(Fact::MeanDelaySoFar),
    rank: |hints, now| {
        let expected = now.as_ps().saturating_add(hints.mean_delay_so_far.as_ps());
        Rank::saturating(expected.saturating_sub(hints.delay_so_far.as_ps()))
    },
    Info {
        name: "fifo-plus",
        summary: "FIFO+: the arrival time, corrected by how much the packet's delay so far exceeds its class's mean.",
        paper: "Clark, Shenker, Zhang, SIGCOMM 1992, section 6",
        effect: "Packets that fared worse than their class on earlier hops move ahead.",
        state: "none here; the accumulated delay travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, Packet, RankFn};
    use pifolab_units::{Span, Time};

    fn rank(now: u64, delay: u64, mean: u64) -> u64 {
        let mut fifo_plus = FifoPlus::new();
        let (delay_so_far, mean_delay_so_far) = (Span::from_ns(delay), Span::from_ns(mean));
        fifo_plus.hint(1, &Hints { delay_so_far, mean_delay_so_far, ..Hints::default() });
        let packet = Packet { id: 1, flow: 0, size: 1, rank: Rank::ZERO, arrival: Time::from_ns(now) };
        fifo_plus.rank(&packet, Time::from_ns(now)).get()
    }

    #[test]
    fn a_packet_later_than_its_class_moves_ahead_and_an_early_one_back() {
        assert_eq!(rank(100, 30, 20), 90_000);
        assert_eq!(rank(95, 5, 20), 110_000);
        assert_eq!(rank(100, 20, 20), 100_000);
        assert_eq!(rank(10, 30, 5), 0);
    }

    #[test]
    fn on_the_first_hop_it_is_fifo() {
        let packet = Packet { id: 1, flow: 0, size: 1, rank: Rank::ZERO, arrival: Time::ZERO };
        assert_eq!(FifoPlus::new().rank(&packet, Time::from_ns(7)).get(), 7_000);
    }
}

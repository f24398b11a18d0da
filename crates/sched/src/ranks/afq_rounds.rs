//! AFQ's rounds as ranks: the round of service in which fair queueing would send the packet.
//!
//! Paper: Sharma, Liu, Atreya, Krishnamurthy, "Approximating Fair Queueing on Reconfigurable Switches", NSDI 2018; as a
//! rank: SP-PIFO (NSDI 2020), section 8.
//!
//! Parameters: BpR, the bytes per round that each flow may send (bytes, default 1500: one full packet, as AFQ's authors).
//!
//! bid\[flow\] = max(R BpR, bid\[flow\]) + bytes; rank = the round bid\[flow\] / BpR, rounded down. R is the largest round
//! of a packet that left. A dropped packet gives its bytes back to the bid.
//!
//! Cost: O(1) with one division. A switch needs one register per flow (or a count-min sketch) and one per port.
//!
//! What the rank means: on an ideal PIFO packets leave in the order of [`Afq`](crate::schedulers::Afq) with as many
//! queues as rounds are ever ahead (tested here).
//!
//! Deviations: bids are exact, not those of a sketch, and saturate at 2^64 - 1 bytes. No packet is too many rounds ahead:
//! what is dropped is the scheduler's choice.
//!
//! References: `docs/ranks/afq-rounds.md`.

use crate::params::{Args, Construct, FromArgs, Info, Param, ParamError};
use crate::store::FlowTags;
use crate::{Facts, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// The parameters of [`AfqRounds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfqRoundsParams {
    /// BpR: the bytes that a flow may send in a round.
    pub bytes_per_round: u64,
}

/// AFQ's rounds.
///
/// ```
/// use pifolab_sched::{Packet, RankFn, ranks::{AfqRounds, AfqRoundsParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut rounds = AfqRounds::new(AfqRoundsParams { bytes_per_round: 1500 }).unwrap();
/// let packet = |flow| Packet { id: 0, flow, size: 1000, rank: Rank::ZERO, arrival: Time::ZERO };
/// let ranks: Vec<_> = [0, 0, 0, 1].map(|flow| rounds.rank(&packet(flow), Time::ZERO).get()).into();
/// assert_eq!(ranks, [0, 1, 2, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct AfqRounds {
    bytes_per_round: u64,
    round: u64,
    /// Those of flows that are ahead of the round.
    bids: FlowTags,
}

impl AfqRounds {
    /// Starts in round 0.
    ///
    /// # Errors
    /// Rounds of no bytes, or of more than 2^32.
    pub fn new(params: AfqRoundsParams) -> Result<Self, ParamError> {
        BYTES_PER_ROUND.check(Self::INFO.name, params.bytes_per_round)?;
        Ok(Self { bytes_per_round: params.bytes_per_round, round: 0, bids: FlowTags::new() })
    }
}

impl RankFn for AfqRounds {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        let start = self.round.saturating_mul(self.bytes_per_round);
        let bid = self.bids.get_mut(packet.flow, start);
        *bid = start.max(*bid).saturating_add(packet.size.into());
        Rank::saturating(*bid / self.bytes_per_round)
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, _now: Time) {
        self.round = self.round.max(packet.rank.get());
    }

    fn forget_flow(&mut self, flow: u32) {
        if let Some(bid) = self.bids.find_mut(flow) {
            *bid = 0;
        }
    }

    fn on_drop(&mut self, packet: &Packet, _now: Time) {
        if let Some(bid) = self.bids.find_mut(packet.flow) {
            *bid = bid.saturating_sub(packet.size.into());
        }
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }
}

const BYTES_PER_ROUND: Param = Param::integer("bytes_per_round", 1, 1 << 32)
    .unit("bytes")
    .or_integer(1500)
    .doc("BpR: the bytes that each flow may send in a round; 1500 is a full packet.");

impl FromArgs for AfqRoundsParams {
    const INFO: Info = Info {
        name: "afq-rounds",
        summary: "AFQ's rounds: the round of service in which fair queueing would send the packet.",
        paper: "Sharma, Liu, Atreya, Krishnamurthy, NSDI 2018; SP-PIFO, NSDI 2020, section 8",
        effect: "On PIFO, flows take turns; within a round packets leave in the order of arrival.",
        state: "one register per flow (bid), one per port (round)",
        cost: "O(1)",
        params: &[BYTES_PER_ROUND],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self { bytes_per_round: args.given(&BYTES_PER_ROUND)? })
    }
}

impl Construct for AfqRounds {
    type Params = AfqRoundsParams;

    fn construct(params: AfqRoundsParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Afq, AfqCounters, AfqParams, Horizon, Pifo, PifoParams};
    use crate::{Capacity, Dequeued, Ranked, Scheduler};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn left(scheduler: &mut impl Scheduler) -> Option<u64> {
        match scheduler.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, .. } => Some(packet.id),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn on_a_pifo_packets_leave_in_the_order_of_afq(
            steps in prop::collection::vec(prop::option::weighted(0.6, (0_u32..6, 1_u32..3000)), 1..200),
            bytes_per_round in prop::sample::select(vec![600_u64, 1500, 9000, 120_000]),
        ) {
            // No flow is more rounds ahead than all bytes fill.
            let queues = 1 + steps.iter().flatten().map(|(_, size)| u64::from(*size)).sum::<u64>() / bytes_per_round;
            let mut afq = Afq::new(AfqParams {
                capacities: vec![Capacity::Packets(200); 1 + queues as usize],
                bytes_per_round,
                horizon: Horizon::Ge,
                counters: AfqCounters::Exact,
            })
            .unwrap();
            let rounds = AfqRounds::new(AfqRoundsParams { bytes_per_round }).unwrap();
            let pifo = Pifo::new(PifoParams::packets(200)).unwrap();
            let mut pifo = Ranked::new(rounds, pifo);
            for (id, step) in (0..).zip(&steps) {
                let Some((flow, size)) = *step else {
                    prop_assert_eq!(left(&mut pifo), left(&mut afq));
                    continue;
                };
                let packet = || Packet { id, flow, size, rank: Rank::ZERO, arrival: Time::ZERO };
                prop_assert!(afq.enqueue(packet(), Time::ZERO).is_admitted());
                prop_assert!(pifo.enqueue(packet(), Time::ZERO).is_admitted());
            }
            let all = |scheduler: &mut dyn FnMut() -> Option<u64>| core::iter::from_fn(scheduler).collect::<Vec<_>>();
            prop_assert_eq!(all(&mut || left(&mut pifo)), all(&mut || left(&mut afq)));
        }

        #[test]
        fn a_dropped_packet_changes_no_later_rank(
            sizes in prop::collection::vec(1_u32..3000, 1..40),
            dropped in 1_u32..3000,
            at in 0_usize..40,
        ) {
            let ranks = |with: bool| {
                let mut rounds = AfqRounds::new(AfqRoundsParams { bytes_per_round: 1500 }).unwrap();
                let packet = |size| Packet { id: 0, flow: 3, size, rank: Rank::ZERO, arrival: Time::ZERO };
                let each = sizes.iter().enumerate().map(|(place, size)| {
                    if with && place == at {
                        rounds.rank(&packet(dropped), Time::ZERO);
                        rounds.on_drop(&packet(dropped), Time::ZERO);
                    }
                    rounds.rank(&packet(*size), Time::ZERO)
                });
                each.collect::<Vec<_>>()
            };
            prop_assert_eq!(ranks(true), ranks(false));
        }
    }

    #[test]
    fn rounds_have_a_byte_at_least() {
        let error = AfqRounds::new(AfqRoundsParams { bytes_per_round: 0 }).unwrap_err().to_string();
        assert!(
            error.starts_with("afq-rounds: bytes_per_round = 0: expected an integer from 1 to 4294967296"),
            "{error}"
        );
    }
}

//! Rank functions, one file each. The rank decides the order of packets.
//!
//! [`Ranked`](crate::Ranked) joins any of them to any scheduler. Each instance serves one output port, and its state
//! (virtual time, bytes seen per flow) is for that port. Ranks are integers; the smaller leaves first.
//!
//! Flows are dense indices from 0 (per-flow state is held in pages of an array, see [`PerFlow`]). Packet ids are
//! arbitrary: facts beyond the descriptor are passed to [`hint`](crate::RankFn::hint) directly before the packet
//! itself.

mod afq_rounds;
mod carried;
mod edf;
mod fcfs;
mod fdpa;
mod fifo_plus;
mod flow_size;
mod hinted;
mod las;
mod lstf;
mod pias;
mod remaining_size;
mod stfq;
mod token_bucket;
mod unacknowledged;

pub use crate::store::PerFlow;
pub use afq_rounds::{AfqRounds, AfqRoundsParams};
pub use carried::Carried;
pub use edf::Edf;
pub use fcfs::Fcfs;
pub use fdpa::{Fdpa, FdpaParams};
pub use fifo_plus::FifoPlus;
pub use flow_size::FlowSize;
pub use las::Las;
pub use lstf::Lstf;
pub use pias::{Pias, PiasParams};
pub use remaining_size::RemainingSize;
pub use stfq::{Stfq, StfqParams, VirtualTime};
pub use token_bucket::{Per, Shaped};
pub use unacknowledged::Unacknowledged;

use crate::entry::{RankEntry, rank, size_rank};

/// Every rank function.
pub const RANKS: &[RankEntry] = &[
    rank::<Carried>(),
    size_rank::<FlowSize>("flow size"),
    size_rank::<RemainingSize>("remaining size"),
    size_rank::<Unacknowledged>("unacknowledged"),
    rank::<Stfq>(),
    rank::<AfqRounds>(),
    rank::<Lstf>().timed(),
    rank::<FifoPlus>().timed(),
    rank::<Edf>(),
    size_rank::<Las>("size so far"),
    rank::<Pias>().timed(),
    rank::<Fdpa>().timed(),
    rank::<Fcfs>().counting(),
    rank::<Shaped>().timed().pacing(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::BoxedRankFn;
    use crate::params::{Args, Value};
    use crate::{Fact, Facts, Hints, Labels, Packet};
    use alloc::borrow::ToOwned;
    use alloc::format;
    use alloc::vec::Vec;
    use pifolab_units::{Bytes, Rank, Span, Time};

    fn built(entry: &RankEntry) -> BoxedRankFn {
        entry.build(Args::new(entry.info.name)).expect("a rank function has defaults")
    }

    /// The rank of a packet and the earliest time at which it may leave.
    fn answer(function: &mut BoxedRankFn, id: u64, flow: u32, carried: u32, hints: &Hints) -> (Rank, Time) {
        let now = Time::from_ns(100 * id);
        let mut packet = Packet { id, flow, size: 1000, rank: Rank::from(carried), arrival: now };
        function.hint(id, hints);
        packet.rank = function.rank(&packet, now);
        let eligible = function.eligible(&packet, now);
        function.on_dequeue(&packet, now);
        (packet.rank, eligible)
    }

    /// A function that forgets too little would rank a new flow by the bytes of an earlier one.
    #[test]
    fn a_flow_that_is_forgotten_ranks_as_one_that_never_was() {
        for entry in RANKS {
            let after = |flow| {
                let mut function = built(entry);
                for id in 0..20 {
                    answer(&mut function, id, 3, 7, &Hints::default());
                }
                function.forget_flow(3);
                answer(&mut function, 20, flow, 7, &Hints::default())
            };
            assert_eq!(after(3), after(4), "{}: forget_flow", entry.info.name);
        }
    }

    /// The memory estimate of a run relies on these declarations.
    #[test]
    fn what_a_rank_function_keeps_of_flows_and_that_it_counts_arrivals_is_what_it_does() {
        let with = |name: &str, key: &str, word: &str| {
            let mut args = Args::new(name);
            args.set(key, Value::Text(word.to_owned()));
            args
        };
        let more = [with("stfq", "virtual_time", "follow"), with("token-bucket", "per", "flow")];
        for args in RANKS.iter().map(|entry| Args::new(entry.info.name)).chain(more) {
            let entry = RANKS.iter().find(|entry| entry.info.name == args.owner()).expect("a row");
            let shown = format!("{args:?}");
            // Flow 3 sends, then others send more until flow 3 is no longer ahead, and a packet that all have overtaken
            // leaves; then `last` arrives.
            let after = |last| {
                let mut function = entry.build(args.clone()).expect("the arguments are right");
                let flows = (0..2_000).map(|_| 3).chain((0..4_000).map(|_| 5)).chain([6, last]);
                let answers = (0..).zip(flows).map(|(id, flow)| {
                    let mut packet = Packet { id, flow, size: 1000, rank: Rank::from(7), arrival: Time::ZERO };
                    packet.rank = function.rank(&packet, Time::ZERO);
                    let eligible = function.eligible(&packet, Time::ZERO);
                    let left = if flow == 6 { Rank::ZERO } else { packet.rank };
                    function.on_dequeue(&Packet { rank: left, ..packet }, Time::ZERO);
                    (packet.rank, eligible)
                });
                (answers.collect::<Vec<_>>(), function.flow_bytes())
            };
            let ((seen, kept), (new, _)) = (after(3), after(4));
            let rises = seen.windows(2).all(|pair| pair[0].0 < pair[1].0);
            assert_eq!(rises, entry.counts_arrivals, "{shown}: counts arrivals");
            assert_eq!(
                seen.last() != new.last(),
                kept > 0,
                "{shown}: keeps of flows, {:?}, {:?}",
                seen.last(),
                new.last()
            );
        }
    }

    /// Callers that restart their clock rely on this declaration.
    #[test]
    fn ranks_that_are_not_declared_to_read_the_time_do_not_change_with_it() {
        for entry in RANKS.iter().filter(|entry| !entry.reads_time) {
            let answers = |times: [u64; 6]| {
                let mut function = built(entry);
                let deadline = Some(Time::from_ns(50_000));
                let mut rank = |(id, now): (u64, u64)| {
                    let packet = Packet {
                        id,
                        flow: id as u32 % 2,
                        size: 1000,
                        rank: Rank::from(9 - id as u32),
                        arrival: Time::ZERO,
                    };
                    function.hint(id, &Hints { deadline, ..Hints::default() });
                    let rank = function.rank(&packet, Time::from_ns(now));
                    function.on_dequeue(&Packet { rank, ..packet }, Time::from_ns(now));
                    rank
                };
                let mut id = 0;
                times.map(|now| {
                    id += 1;
                    rank((id, now))
                })
            };
            let name = entry.info.name;
            assert_eq!(answers([0; 6]), answers([1, 5, 900, 40_000, 60_000, 1_000_000_000_000]), "{name}");
        }
    }

    /// Undeclared facts are not passed: every packet would have the default.
    #[test]
    fn a_rank_function_declares_every_fact_that_changes_its_ranks() {
        let none = Hints::default();
        let told = [
            (Fact::FlowSize, Hints { flow_size: Bytes(9_000), ..none }),
            (Fact::Remaining, Hints { remaining: Bytes(9_000), ..none }),
            (Fact::Unacknowledged, Hints { unacknowledged: Bytes(9_000), ..none }),
            (Fact::Deadline, Hints { deadline: Some(Time::from_ns(9_000)), ..none }),
            (Fact::RemainingTransmission, Hints { remaining_transmission: Span::from_ns(900), ..none }),
            (Fact::DelaySoFar, Hints { delay_so_far: Span::from_ns(900), ..none }),
            (Fact::MeanDelaySoFar, Hints { mean_delay_so_far: Span::from_ns(900), ..none }),
            (Fact::Class, Hints { labels: Labels { class: 9, ..none.labels }, ..none }),
            (Fact::Dscp, Hints { labels: Labels { dscp: 9, ..none.labels }, ..none }),
            (Fact::Ecn, Hints { labels: Labels { ecn: 2, ..none.labels }, ..none }),
            (Fact::CarriedLabel, Hints { carried_label: 9, ..none }),
        ];
        for entry in RANKS {
            // Also with a deadline: without one, ranks computed from it stay at the largest rank.
            for deadline in [None, Some(Time::from_ns(50_000))] {
                let answers = |carried, hints: &Hints| {
                    let mut function = built(entry);
                    let hints = Hints { deadline: hints.deadline.or(deadline), ..*hints };
                    [5, 6, 7].map(|id| answer(&mut function, id, 1, carried, &hints))
                };
                let base = answers(0, &none);
                let carried = (Fact::CarriedRank, answers(8, &none));
                let changed = told.iter().map(|(fact, hints)| (*fact, answers(0, hints))).chain([carried]);
                let reads = built(entry).reads();
                for (fact, _) in changed.filter(|(_, answers)| *answers != base) {
                    let undeclared = Facts::one(fact) - reads;
                    assert_eq!(undeclared.first(), None, "{}: needs() or reads()", entry.info.name);
                }
            }
        }
    }
}

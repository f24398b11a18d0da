//! Queue lengths that are out of date when a test reads them, as on a switch.
//!
//! On a Tofino the egress pipeline knows the length of a queue, but the ingress pipeline needs it for the test. Worker
//! packets carry it there: AIFO's section 5.1 counts 200 ns on the way, two packets at 10 million packets a second;
//! RIFO's section V.B has its workers carry the egress length, one packet at that rate; PACKS's ghost thread (section
//! 5) writes one queue per two clocks. The delay is counted in arrivals, as these papers state it, so that a decider
//! needs no clock.

use crate::params::{Param, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, Kept, RankInterval, Register, Room, registers};
use alloc::vec::Vec;

/// The age of the lengths, in arrivals.
pub const OCCUPANCY_DELAY: Param =
    Param::integer("occupancy_delay_packets", 0, 4096).unit("packets").or_integer(0).doc(
        "The age of the queue lengths in the test, in arrivals, as on a switch whose worker \
         packets (AIFO, RIFO) or ghost thread (PACKS) carry them to the ingress; 0 is the present length.",
    );

/// A decider that sees the queue lengths at an earlier arrival.
///
/// ```
/// use pifolab_sched::{Capacity, Delayed, Enqueued, FromParams, Packet, Queued, Scheduler};
/// use pifolab_sched::schedulers::{PacksParams, deciders};
/// use pifolab_units::{Rank, Time};
///
/// let (packs, capacities) = deciders::Packs::from_params(PacksParams::uniform(2, 1, 8)).unwrap();
/// let late = Delayed::around(packs, "packs", 1, &capacities).unwrap();
/// let mut scheduler: Queued<_> = Queued::with_decider(late, &capacities);
/// let packet = || Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(3), arrival: Time::ZERO };
/// assert!(scheduler.enqueue(packet(), Time::ZERO).is_admitted());
/// // The second packet sees the first queue as empty, although it is full.
/// assert!(!scheduler.enqueue(packet(), Time::ZERO).is_admitted());
/// ```
#[derive(Debug)]
pub struct Delayed<D> {
    decider: D,
    late: Late,
}

registers!(<D> Delayed around decider { late });

/// The accounts of the queues as the last arrivals found them.
#[derive(Clone, Debug)]
struct Late {
    /// Rows of one account for each queue, used in turn.
    rows: Vec<Room>,
    queues: usize,
    /// The start of the oldest row, which the next arrival sees and replaces.
    oldest: usize,
}

impl Late {
    /// The row that the next arrival sees.
    fn seen(&self) -> &[Room] {
        &self.rows[self.oldest..][..self.queues]
    }
}

impl Register for Late {
    /// The lengths, oldest first.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let (newer, older) = self.rows.split_at(self.oldest);
        older.iter().chain(newer).for_each(|room| visit(room.used() as i64));
    }

    fn kept(&self) -> Kept {
        Kept::bytes(self.rows.len() * size_of::<Room>())
    }
}

impl<D> Delayed<D> {
    /// Puts `decider` behind a delay of `arrivals` arrivals, at least one. Its queues have these capacities and are
    /// empty at first; `owner` names the scheduler in errors.
    ///
    /// # Errors
    /// Too many arrivals, or none.
    pub fn around(decider: D, owner: &str, arrivals: u32, capacities: &[Capacity]) -> Result<Self, ParamError> {
        OCCUPANCY_DELAY.check(owner, arrivals)?;
        if arrivals == 0 {
            return Err(OCCUPANCY_DELAY.error_because(owner, 0, "expected at least 1 around a decider"));
        }
        let rows = (0..arrivals).flat_map(|_| capacities.iter().map(|capacity| Room::new(*capacity))).collect();
        Ok(Self { decider, late: Late { rows, queues: capacities.len(), oldest: 0 } })
    }
}

impl<D: Decider> Decider for Delayed<D> {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let Late { rows, queues: count, oldest } = &mut self.late;
        let seen = &mut rows[*oldest..][..*count];
        let decision = self.decider.decide(packet, seen);
        seen.clone_from_slice(queues);
        *oldest = (*oldest + *count) % rows.len();
        decision
    }

    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        self.decider.serve(first, queues)
    }

    fn adopt(&mut self, packet: Arriving, queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        self.decider.adopt(packet, queue, queues)
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        self.decider.ranks_of(queue, self.late.seen())
    }
}

#[cfg(test)]
mod tests {
    use super::Delayed;
    use crate::params::FromArgs;
    use crate::schedulers::{AifoParams, PacksParams, RifoParams, deciders};
    use crate::{Arriving, Decider, DropReason, Enqueued, FromParams, Packet, Queued, Scheduler};
    use alloc::boxed::Box;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use pifolab_units::{Rank, Ratio, Time};

    fn packet(rank: u32) -> Packet {
        Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO }
    }

    /// The outcomes of packets of these ranks when the lengths are `delay` arrivals late.
    fn fates<D: FromParams + 'static>(params: D::Params, delay: u32, ranks: &[u32]) -> Vec<Result<u32, DropReason>> {
        let (decider, capacities) = D::from_params(params).unwrap();
        let mut scheduler: Queued<Box<dyn Decider>> = if delay == 0 {
            Queued::with_decider(Box::new(decider), &capacities)
        } else {
            let late = Delayed::around(decider, D::Params::INFO.name, delay, &capacities).unwrap();
            Queued::with_decider(Box::new(late), &capacities)
        };
        ranks
            .iter()
            .map(|rank| match scheduler.enqueue(packet(*rank), Time::ZERO) {
                Enqueued::Admitted { queue, .. } => Ok(queue),
                Enqueued::Dropped { reason, .. } => Err(reason),
                other => panic!("{other:?}: nothing is pushed out here"),
            })
            .collect()
    }

    #[test]
    fn a_test_sees_the_lengths_of_so_many_arrivals_ago() {
        // C = 4, k = 0; rank 9 is above half of the window 1, 9 and above two thirds of 1, 1, 9.
        let params = AifoParams { k: Ratio::ZERO, ..AifoParams::packets(4) };
        let aifo = |delay| fates::<deciders::Aifo>(params.clone(), delay, &[1, 1, 9, 9]);
        let refused = Err(DropReason::Admission);
        // Fourth: two of four ranks are lower, and two of four places are free: 1/2 <= 1/2.
        assert_eq!(aifo(0), [Ok(0), Ok(0), refused, Ok(0)]);
        // One arrival late the third sees one place taken: 2/3 <= 3/4. The fourth sees two: 2/4 <= 2/4.
        assert_eq!(aifo(1), [Ok(0), Ok(0), Ok(0), Ok(0)]);
    }

    #[test]
    fn what_a_late_test_lets_in_a_full_queue_drops() {
        let params = AifoParams { k: Ratio::ZERO, ..AifoParams::packets(2) };
        let full = Err(DropReason::Full);
        assert_eq!(fates::<deciders::Aifo>(params, 3, &[5, 5, 5, 5]), [Ok(0), Ok(0), full, full]);
    }

    #[test]
    fn packs_does_not_fall_through_a_queue_that_it_believes_to_have_room() {
        let packs = |delay| fates::<deciders::Packs>(PacksParams::uniform(2, 1, 8), delay, &[3, 3]);
        assert_eq!(packs(0), [Ok(0), Ok(1)]);
        assert_eq!(packs(1), [Ok(0), Err(DropReason::Full)]);
    }

    #[test]
    fn rifo_compares_the_score_with_a_late_length() {
        // Ranks 1 to 9; rank 5 asks for a queue that is at most half full.
        let params = RifoParams { k: Ratio::ZERO, ..RifoParams::packets(2) };
        let rifo = |delay| fates::<deciders::Rifo>(params, delay, &[1, 9, 5, 5]);
        let (admission, full) = (Err(DropReason::Admission), Err(DropReason::Full));
        assert_eq!(rifo(0), [Ok(0), admission, Ok(0), admission]);
        assert_eq!(rifo(1), [Ok(0), Ok(0), full, admission]);
    }

    #[test]
    fn a_refused_packet_is_charged_to_no_queue() {
        let (packs, capacities) = deciders::Packs::from_params(PacksParams::uniform(2, 1, 8)).unwrap();
        let late = Delayed::around(packs, "packs", 1, &capacities).unwrap();
        let mut scheduler: Queued<_> = Queued::with_decider(late, &capacities);
        assert!(scheduler.enqueue(packet(3), Time::ZERO).is_admitted());
        assert!(!scheduler.enqueue(packet(3), Time::ZERO).is_admitted(), "it saw room in the first queue");
        let arriving = Arriving { size: 1500, rank: Rank::from(3), flow: 0 };
        assert_eq!(
            scheduler.decider().refused_at(arriving, &[]),
            None,
            "the next arrival's lengths would say another queue"
        );
    }

    #[test]
    fn no_arrival_and_too_many_are_refused() {
        let error = |arrivals| Delayed::around((), "packs", arrivals, &[]).unwrap_err().to_string();
        assert_eq!(error(0), "packs: occupancy_delay_packets = 0: expected at least 1 around a decider");
        assert_eq!(error(5000), "packs: occupancy_delay_packets = 5000: expected an integer from 0 to 4096 (packets)");
    }
}

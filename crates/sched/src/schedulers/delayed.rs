//! Queue lengths that are out of date when a test reads them, as on a switch.
//!
//! On a Tofino the length of a queue is known where packets leave, the test is done where they come, and worker packets carry
//! the one to the other: AIFO's section 5.1 counts 200 ns on the way, two packets at 10 million packets a second; RIFO's
//! section V.B has its workers carry the egress length, one packet at that rate; PACKS's ghost thread (section 5) writes one
//! queue per two clocks. The delay is counted in arrivals, as these papers state it, so that a decider needs no clock.

use crate::params::{Param, ParamError};
use crate::{Capacity, Kept, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What arrivals do to the lengths before a test sees them.
pub(super) const OCCUPANCY_DELAY: Param =
    Param::integer("occupancy_delay_packets", 0, 4096).unit("packets").or_integer(0).doc(
        "The test sees the queue lengths that the arrival so many packets before it found, as on a switch whose worker \
         packets (AIFO, RIFO) or ghost thread (PACKS) carry them to the ingress; 0 is the length of now.",
    );

/// What a test sees of the queues: their accounts as they are, or as earlier arrivals found them.
#[derive(Debug)]
pub(super) struct Delayed {
    /// Nothing if there is no delay.
    late: Option<Box<Rows>>,
}

clone_by_field!(Delayed { late });

/// The accounts of the queues at the last arrivals.
#[derive(Clone, Debug)]
struct Rows {
    /// Rows of one account for each queue, used in turn.
    rows: Vec<Room>,
    queues: usize,
    /// Where the oldest row begins, which the next arrival sees and replaces.
    oldest: usize,
}

impl Delayed {
    /// Queues of these capacities, empty at first, seen `arrivals` arrivals late.
    ///
    /// # Errors
    /// Too many arrivals.
    pub(super) fn new(scheduler: &'static str, arrivals: u32, capacities: &[Capacity]) -> Result<Self, ParamError> {
        OCCUPANCY_DELAY.check(scheduler, arrivals)?;
        let rows = (0..arrivals).flat_map(|_| capacities.iter().map(|capacity| Room::new(*capacity))).collect();
        let rows = Rows { rows, queues: capacities.len(), oldest: 0 };
        Ok(Self { late: (arrivals > 0).then(|| Box::new(rows)) })
    }

    /// Whether there is a delay.
    pub(super) const fn is_late(&self) -> bool {
        self.late.is_some()
    }

    /// What the next arrival sees, which finds `queues`.
    #[inline(always)]
    pub(super) fn seen<'a>(&'a self, queues: &'a [Room]) -> &'a [Room] {
        self.late.as_ref().map_or(queues, |late| &late.rows[late.oldest..][..late.queues])
    }

    /// Takes down what an arrival found, once it has seen what it sees.
    #[inline(always)]
    pub(super) fn record(&mut self, found: &[Room]) {
        let Some(late) = &mut self.late else { return };
        late.rows[late.oldest..][..late.queues].clone_from_slice(found);
        late.oldest = (late.oldest + late.queues) % late.rows.len();
    }

    /// The occupancy of the only queue as an arrival sees it that finds `queue`, which is taken down.
    #[inline(always)]
    pub(super) fn used(&mut self, queue: &Room) -> u64 {
        let found = core::slice::from_ref(queue);
        let used = self.seen(found)[0].used();
        self.record(found);
        used
    }

    /// What the rows take in memory.
    pub(super) fn kept(&self) -> Kept {
        self.late.as_ref().map_or(Kept::default(), |late| Kept::bytes(late.rows.len() * size_of::<Room>()))
    }

    /// The lengths, oldest first, if they are not those of now.
    pub(super) fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let Some(late) = &self.late else { return };
        let (newer, older) = late.rows.split_at(late.oldest);
        older.iter().chain(newer).for_each(|room| visit(room.used() as i64));
    }
}

#[cfg(test)]
mod tests {
    use crate::schedulers::{Aifo, AifoParams, Packs, PacksParams, Rifo, RifoParams};
    use crate::{DropReason, Enqueued, Packet, Scheduler};
    use alloc::vec::Vec;
    use pifolab_units::{Rank, Ratio, Time};

    fn packet(rank: u32) -> Packet {
        Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO }
    }

    fn fates<S: Scheduler>(mut scheduler: S, ranks: &[u32]) -> Vec<Result<u32, DropReason>> {
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
        let params = |occupancy_delay| AifoParams { k: Ratio::ZERO, occupancy_delay, ..AifoParams::packets(4) };
        let aifo = |delay| fates(<Aifo>::new(params(delay)).unwrap(), &[1, 1, 9, 9]);
        let refused = Err(DropReason::Admission);
        // Fourth: two of four ranks are lower, and two of four places are free: 1/2 <= 1/2.
        assert_eq!(aifo(0), [Ok(0), Ok(0), refused, Ok(0)]);
        // One arrival late the third sees one place taken: 2/3 <= 3/4. The fourth sees two: 2/4 <= 2/4.
        assert_eq!(aifo(1), [Ok(0), Ok(0), Ok(0), Ok(0)]);
    }

    #[test]
    fn what_a_late_test_lets_in_a_full_queue_drops() {
        let params = AifoParams { k: Ratio::ZERO, occupancy_delay: 3, ..AifoParams::packets(2) };
        let full = Err(DropReason::Full);
        assert_eq!(fates(<Aifo>::new(params).unwrap(), &[5, 5, 5, 5]), [Ok(0), Ok(0), full, full]);
    }

    #[test]
    fn packs_does_not_fall_through_a_queue_that_it_believes_to_have_room() {
        let packs = |occupancy_delay| PacksParams { occupancy_delay, ..PacksParams::uniform(2, 1, 8) };
        assert_eq!(fates(<Packs>::new(packs(0)).unwrap(), &[3, 3]), [Ok(0), Ok(1)]);
        assert_eq!(fates(<Packs>::new(packs(1)).unwrap(), &[3, 3]), [Ok(0), Err(DropReason::Full)]);
    }

    #[test]
    fn rifo_compares_the_score_with_a_late_length() {
        let rifo = |occupancy_delay| RifoParams { k: Ratio::ZERO, occupancy_delay, ..RifoParams::packets(2) };
        // Ranks 1 to 9; rank 5 asks for a queue that is at most half full.
        let ranks = [1, 9, 5, 5];
        let (admission, full) = (Err(DropReason::Admission), Err(DropReason::Full));
        assert_eq!(fates(<Rifo>::new(rifo(0)).unwrap(), &ranks), [Ok(0), admission, Ok(0), admission]);
        assert_eq!(fates(<Rifo>::new(rifo(1)).unwrap(), &ranks), [Ok(0), Ok(0), full, admission]);
    }
}

//! Strict priority with fixed bounds: each queue takes a fixed range of ranks that an operator configures.
//!
//! Paper: the fixed mappings of SP-PIFO (NSDI 2020) Fig. 1 and section 2.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - bounds q_1..q_n (ranks), each the smallest rank of its queue; or
//! - R, the size of the rank space (default 100), over which the bounds are spread evenly: q_i = ceil((i-1) R / n).
//!
//! Cost: O(log n) per enqueue, O(1) per dequeue. A switch needs one range-match table.
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
//! whatever its rank; nothing adapts to the traffic.
//!
//! Deviations: none. A rank below q_1 goes to queue 1, one beyond R to queue n, as in SP-PIFO's mapping.

use crate::params::{self, Args, FromArgs, Info, Param, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Room, registers};
use alloc::format;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// The parameters of [`StrictPriority`](super::StrictPriority).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrictPriorityParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The smallest rank of each queue; they never decrease.
    pub bounds: Vec<Rank>,
}

impl StrictPriorityParams {
    /// The ranks 0..ranks-1 spread evenly over `queues` queues of `packets` packets each.
    pub fn uniform(queues: usize, packets: u32, ranks: u64) -> Self {
        Self { capacities: alloc::vec![Capacity::Packets(packets); queues], bounds: uniform_bounds(queues, ranks) }
    }
}

/// The bounds that spread the ranks 0..ranks-1 evenly: q_i = ceil((i-1) R / n).
pub(super) fn uniform_bounds(queues: usize, ranks: u64) -> Vec<Rank> {
    let bound = |queue: usize| (queue as u128 * u128::from(ranks)).div_ceil(queues as u128);
    (0..queues).map(|queue| Rank::saturating(bound(queue) as u64)).collect()
}

/// Checks one bound for each queue, none below the one before.
pub(super) fn check_bounds(owner: &str, param: &Param, bounds: &[Rank], queues: usize) -> Result<(), ParamError> {
    let shown = || format!("[{}]", bounds.iter().map(|bound| format!("{bound}")).collect::<Vec<_>>().join(", "));
    if bounds.len() != queues {
        let expected = format!("expected {queues} bounds, one for each queue");
        return Err(param.error_because(owner, shown(), expected));
    }
    if !bounds.is_sorted() {
        return Err(param.error_because(owner, shown(), "expected bounds that never decrease"));
    }
    Ok(())
}

/// Reads a list of bounds that may be absent.
pub(super) fn read_bounds(args: &mut Args, param: &Param) -> Result<Option<Vec<Rank>>, ParamError> {
    let bounds: Option<Vec<u64>> = args.get(param)?;
    Ok(bounds.map(|bounds| bounds.into_iter().map(Rank::saturating).collect()))
}

/// Strict-priority queues with fixed bounds.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{StrictPriority, StrictPriorityParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = StrictPriority::new(StrictPriorityParams::uniform(4, 10, 100)).unwrap();
/// let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(50), arrival: Time::ZERO };
/// let outcome = scheduler.enqueue(packet, Time::ZERO);
/// assert_eq!(outcome, Enqueued::Admitted { queue: 2, rank: Rank::from(50) });
/// ```
#[derive(Debug)]
pub struct StrictPriority {
    /// q_1..q_n, which never decrease.
    bounds: Vec<Rank>,
}

registers!(StrictPriority {} and { bounds });

impl FromParams for StrictPriority {
    type Params = StrictPriorityParams;

    fn from_params(params: StrictPriorityParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = StrictPriorityParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        check_bounds(name, &BOUNDS, &params.bounds, params.capacities.len())?;
        Ok((Self { bounds: params.bounds }, params.capacities))
    }
}

impl Decider for StrictPriority {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        Ok(self.queue_of(packet.rank))
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        self.bounds.get(queue).map_or(RankInterval::default(), |q_i| RankInterval::from(q_i.signed()))
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        Some(self.queue_of(packet.rank))
    }
}

impl StrictPriority {
    /// The last queue whose bound `r` reaches, or queue 1.
    #[inline(always)]
    fn queue_of(&self, r: Rank) -> usize {
        self.bounds.partition_point(|q_i| r >= *q_i).saturating_sub(1)
    }
}

const BOUNDS: Param = Param::integers("bounds", 0, params::MAX_RANK)
    .unit("ranks")
    .means("the ranks 0..ranks-1 are spread evenly")
    .doc("The smallest rank of each queue, highest priority first; they never decrease.");

const RANKS: Param = Param::integer("ranks", 1, params::MAX_RANK)
    .unit("ranks")
    .or_integer(100)
    .doc("The size of the rank space over which the bounds are spread evenly, unless they are given.");

impl FromArgs for StrictPriorityParams {
    const INFO: Info = Info {
        name: "strict-priority",
        summary: "Each queue takes a fixed range of ranks.",
        paper: "the fixed mappings of SP-PIFO, NSDI 2020, Fig. 1",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank; nothing adapts.",
        state: "one range-match table with an entry per queue",
        cost: "O(log queues) per enqueue, O(1) per dequeue",
        params: &[params::QUEUES, params::QUEUE_CAPACITY_PACKETS, params::QUEUE_CAPACITY_BYTES, BOUNDS, RANKS],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacities = params::read_queue_capacities(args)?;
        let bounds = match read_bounds(args, &BOUNDS)? {
            // `ranks` stays unread: it has no effect beside bounds.
            Some(bounds) => bounds,
            None => uniform_bounds(capacities.len(), args.given(&RANKS)?),
        };
        Ok(Self { capacities, bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::schedulers::StrictPriority;
    use crate::{Dequeued, Enqueued, Packet, Scheduler};
    use alloc::string::ToString;
    use pifolab_units::Time;

    fn queue_of(scheduler: &mut StrictPriority, rank: u32) -> Option<u32> {
        let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
        match scheduler.enqueue(packet, Time::ZERO) {
            Enqueued::Admitted { queue, .. } => Some(queue),
            _ => None,
        }
    }

    /// Sends the ranks through two queues with these bounds and returns them in the order of departure.
    fn sent(bounds: [u32; 2], ranks: &[u32]) -> Vec<u64> {
        let capacities = alloc::vec![Capacity::Packets(6); 2];
        let bounds = bounds.map(Rank::from).to_vec();
        let mut scheduler = StrictPriority::new(StrictPriorityParams { capacities, bounds }).unwrap();
        for rank in ranks {
            assert!(queue_of(&mut scheduler, *rank).is_some());
        }
        core::iter::from_fn(|| match scheduler.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, .. } => Some(packet.rank.get()),
            _ => None,
        })
        .collect()
    }

    /// Strategy A maps ranks 1 to 3 to the first queue, strategy B 1 and 2; the packet of rank 3 comes first, that of
    /// rank 2 last. B sorts the sequence perfectly.
    #[test]
    fn reproduces_sp_pifos_figure_1() {
        let sequence = [3, 4, 1, 4, 5, 2];
        assert_eq!(sent([1, 4], &sequence), [3, 1, 2, 4, 4, 5], "A sends 3 before 1");
        assert_eq!(sent([1, 3], &sequence), [1, 2, 3, 4, 4, 5], "B sends what a PIFO sends");
    }

    #[test]
    fn even_bounds_are_rounded_up() {
        let bounds: Vec<u64> = uniform_bounds(3, 10).into_iter().map(Rank::get).collect();
        assert_eq!(bounds, [0, 4, 7]);
        let mut scheduler = StrictPriority::new(StrictPriorityParams::uniform(3, 9, 10)).unwrap();
        let queues = [0, 3, 4, 6, 7, 9, 1000].map(|rank| queue_of(&mut scheduler, rank));
        assert_eq!(queues, [0, 0, 1, 1, 2, 2, 2].map(Some));
    }

    #[test]
    fn ranks_below_the_first_bound_go_to_queue_1_and_equal_bounds_favour_the_lowest_priority() {
        let bounds = [5u32, 7, 7].map(Rank::from).to_vec();
        let capacities = alloc::vec![Capacity::Packets(6); 3];
        let mut scheduler = StrictPriority::new(StrictPriorityParams { capacities, bounds }).unwrap();
        assert_eq!([0, 6, 7].map(|rank| queue_of(&mut scheduler, rank)), [0, 0, 2].map(Some));
    }

    #[test]
    fn bounds_that_cannot_be_are_refused_by_name() {
        let build = |bounds: &[i128], ranks: Option<i128>| {
            let mut args = Args::new("strict-priority");
            args.set("queues", Value::Integer(2));
            args.set("bounds", Value::List(bounds.iter().copied().map(Value::Integer).collect()));
            if let Some(ranks) = ranks {
                args.set("ranks", Value::Integer(ranks));
            }
            <StrictPriority>::build(args).unwrap_err()
        };
        for (error, expected) in [
            (build(&[0], None), "bounds = [0]: expected 2 bounds, one for each queue"),
            (build(&[4, 3], None), "bounds = [4, 3]: expected bounds that never decrease"),
            (build(&[0, 5], Some(9)), "ranks = 9: this key has no effect with the other keys: remove it"),
        ] {
            assert_eq!(error.to_string(), alloc::format!("strict-priority: {expected}"));
        }
    }
}

//! Spring: a force in each strict-priority queue pushes the bounds up and down until the forces are equal.
//!
//! No paper: the branches of the public repository enoperm/sppifo-upstream-codebase.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - force: what pushes a queue's bound up: its share of packets (default), its share of inversions, or its backlog
//!   (the variant *fill*);
//! - gain a: the weight of the latest packet in a share (default 1/128, as in the P4 program; 0.0001 to 0.2 elsewhere);
//! - decays: whether all forces decay at each packet (default) or only the force of the queue that it took (the Java
//!   head);
//! - speed s: ranks per unit of difference between the forces of neighbours (default 1).
//!
//! Cost: O(n) per enqueue, O(1) per dequeue. A switch needs two registers for each queue (bound, force) and one for the highest
//! rank; with inversions one more for each queue (the rank before).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
//! whatever its rank.
//!
//! Details: the highest rank is updated before the packet is mapped, and the packet is mapped before bounds move. Every
//! arrival counts, even one that is dropped. Bounds and forces are multiples of 2^-32; a decayed force is rounded down,
//! a move towards zero.

use crate::params::{self, Args, FromArgs, Info, Kind, Literal, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Register, Room, registers};
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};

choices! {
    /// The force that pushes the bound of a queue up.
    #[derive(Default)]
    pub enum Force {
        #[default]
        Packets = "packets": "the queue's share of the latest packets",
        Inversions = "inversions": "the share of the latest packets that came to the queue behind a higher rank",
        Fill = "fill": "the packets that wait in the queue",
    }
}

choices! {
    /// Which forces decay when a packet arrives.
    #[derive(Default)]
    pub enum Decays {
        #[default]
        All = "all": "the forces of all queues decay at each packet",
        Hit = "hit": "only the force of the queue that the packet took decays",
    }
}

/// The parameters of [`Spring`](super::Spring).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpringParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The force that pushes bounds up.
    pub force: Force,
    /// a, between 0 and 1; has no effect with [`Force::Fill`].
    pub gain: Ratio,
    /// Which forces decay; has no effect with [`Force::Fill`].
    pub decays: Decays,
    /// s.
    pub speed: Ratio,
}

impl SpringParams {
    /// The default options on `queues` queues of `packets` packets each.
    pub fn uniform(queues: usize, packets: u32) -> Self {
        Self {
            capacities: alloc::vec![Capacity::Packets(packets); queues],
            force: Force::default(),
            gain: Ratio::new(1, 128).expect("two small numbers"),
            decays: Decays::default(),
            speed: Ratio::ONE,
        }
    }
}

/// Binary places of bounds and forces.
const FRACTION: u32 = 32;
const ONE: i128 = 1 << FRACTION;

/// Spring.
///
/// ```
/// use pifolab_sched::{Enqueued, Inspect, Packet, Scheduler, schedulers::{Spring, SpringParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = Spring::new(SpringParams::uniform(4, 10)).unwrap();
/// let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(2), arrival: Time::ZERO };
/// let outcome = scheduler.enqueue(packet, Time::ZERO);
/// assert_eq!(outcome, Enqueued::Admitted { queue: 2, rank: Rank::from(2) }); // bounds start at 0, 1, 2, 3
/// ```
#[derive(Debug)]
pub struct Spring {
    queues: Vec<Coil>,
    /// M.
    highest: i128,
    force: Force,
    gain: i128,
    decays: Decays,
    speed: (i128, i128),
    /// The queue chosen for the last packet.
    meant: usize,
}

clone_by_field!(Spring { queues, highest, force, gain, decays, speed, meant });
registers!(Spring itself);

/// The state of a queue.
#[derive(Clone, Copy, Debug)]
struct Coil {
    /// b_i.
    bound: i128,
    /// f_i.
    force: i128,
    /// The rank of the last packet that was mapped to it; initially the lowest rank, so that no inversion is counted.
    last: Rank,
}

impl FromParams for Spring {
    type Params = SpringParams;

    fn from_params(params: SpringParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = SpringParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        let gain = (i128::from(params.gain.numerator()) << FRACTION) / i128::from(params.gain.denominator());
        if params.gain >= Ratio::ONE || gain == 0 {
            return Err(GAIN.error_because(
                name,
                params.gain,
                "expected a fraction from 2^-32 up to but not including 1",
            ));
        }
        let coil = |queue: usize| Coil { bound: (queue as i128) << FRACTION, force: 0, last: Rank::ZERO };
        let decider = Self {
            queues: (0..params.capacities.len()).map(coil).collect(),
            highest: 0,
            force: params.force,
            gain,
            decays: params.decays,
            speed: (params.speed.numerator().into(), params.speed.denominator().into()),
            meant: 0,
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for Spring {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let rank = i128::from(packet.rank.get()) << FRACTION;
        self.highest = self.highest.max(rank);
        self.meant = self.queues.iter().rposition(|queue| rank >= queue.bound).unwrap_or(0);
        self.push(packet.rank, queues);
        self.settle();
        Ok(self.meant)
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        let bound = self.queues.get(queue).map(|queue| (queue.bound + ONE - 1) >> FRACTION);
        bound.and_then(|bound| i64::try_from(bound).ok()).map_or(RankInterval::default(), RankInterval::from)
    }

    fn refused_at(&self, _packet: Arriving, _queues: &[Room]) -> Option<usize> {
        Some(self.meant)
    }
}

impl Register for Spring {
    /// The highest rank; for each queue its bound, in two halves, its force unless that is its backlog, and with
    /// inversions the rank of the last packet mapped to it.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit((self.highest >> FRACTION) as i64);
        for queue in &self.queues {
            visit((queue.bound >> FRACTION) as i64);
            visit((queue.bound & (ONE - 1)) as i64);
            if self.force != Force::Fill {
                visit(queue.force as i64);
            }
            if self.force == Force::Inversions {
                visit(queue.last.signed());
            }
        }
    }
}

impl Spring {
    /// Decays the forces, and raises the force of the packet's queue.
    fn push(&mut self, rank: Rank, rooms: &[Room]) {
        if self.force == Force::Fill {
            for (queue, room) in self.queues.iter_mut().zip(rooms) {
                queue.force = (room.packets() as i128) << FRACTION;
            }
            return;
        }
        for (number, queue) in self.queues.iter_mut().enumerate() {
            if self.decays == Decays::All || number == self.meant {
                queue.force -= (queue.force * self.gain) >> FRACTION;
            }
        }
        let queue = &mut self.queues[self.meant];
        if self.force == Force::Packets || queue.last > rank {
            queue.force += self.gain;
        }
        queue.last = rank;
    }

    /// Moves every bound but the first by the difference of the forces on both sides, from the last to the first; they keep a
    /// rank's distance, and the last one does not pass the highest rank.
    fn settle(&mut self) {
        let (times, over) = self.speed;
        let mut most = self.highest.max((self.queues.len() as i128 - 1) << FRACTION);
        for number in (1..self.queues.len()).rev() {
            let above = self.queues[number - 1];
            let queue = &mut self.queues[number];
            let moved = queue.bound + (queue.force - above.force) * times / over;
            queue.bound = moved.min(most).max(above.bound + ONE);
            most = most.min(queue.bound - ONE);
        }
    }
}

const FORCE: Param = Param::choice::<Force>("force_from").or_word(Force::Packets.word()).doc(
    "What pushes a queue's bound up, and with it ranks out of the queue: its bound comes to rest where its force equals that \
     of the queue before it.",
);

const GAIN: Param = Param::new("gain", Kind::Fraction)
    .or(Literal::Fraction(1, 128))
    .doc("a: the weight of the latest packet in a force. Not with force_from = fill.");

const DECAYS: Param = Param::choice::<Decays>("decays")
    .or_word(Decays::All.word())
    .doc("Which forces decay when a packet arrives. Not with force_from = fill.");

const SPEED: Param = Param::new("speed", Kind::Positive)
    .unit("ranks")
    .or(Literal::Fraction(1, 1))
    .doc("s: by how many ranks a bound moves for a difference of one between the forces on both sides.");

impl FromArgs for SpringParams {
    const INFO: Info = Info {
        name: "spring",
        summary: "Bounds of strict-priority queues move until a force, such as the share of packets, is the same in all.",
        paper: "none; enoperm/sppifo-upstream-codebase",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank.",
        state: "two registers per queue (bound and force) and the highest rank; with inversions one more per queue",
        cost: "O(queues) per enqueue, O(1) per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            FORCE,
            GAIN,
            DECAYS,
            SPEED,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacities = params::read_queue_capacities(args)?;
        let usual = Self::uniform(1, 1);
        let force = args.given(&FORCE)?;
        // If the force is the backlog, `gain` and `decays` stay unread, because they have no effect.
        let (gain, decays) = match force {
            Force::Fill => (usual.gain, usual.decays),
            _ => (args.given(&GAIN)?, args.given(&DECAYS)?),
        };
        Ok(Self { capacities, force, gain, decays, speed: args.given(&SPEED)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspectExt;
    use crate::schedulers::Spring as Joined;
    use crate::{Packet, Scheduler};
    use pifolab_units::Time;

    fn offer(scheduler: &mut Joined, rank: u64) {
        let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::saturating(rank), arrival: Time::ZERO };
        let _ = scheduler.enqueue(packet, Time::ZERO);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
    fn equal_shares_of_packets_are_where_bounds_come_to_rest() {
        let mut scheduler: Joined = Joined::new(SpringParams::uniform(4, 10)).unwrap();
        for turn in 0..60_000 {
            offer(&mut scheduler, turn * 37 % 100);
            let _ = scheduler.dequeue(Time::ZERO);
        }
        for (queue, quarter) in [(1, 25), (2, 50), (3, 75)] {
            let bound = scheduler.queue_bound(queue).unwrap();
            assert!((bound - quarter).abs() <= 4, "queue {queue}: {bound}");
        }
    }

    #[test]
    fn a_packet_pushes_the_bound_of_its_queue_up_and_that_of_the_next_one_down_by_hand() {
        let half = Ratio::new(1, 2).unwrap();
        let mut scheduler: Joined = Joined::new(SpringParams { gain: half, ..SpringParams::uniform(3, 10) }).unwrap();
        // Rank 9 goes to the last queue, whose force is 1/2 then: 2 + 1/2.
        offer(&mut scheduler, 9);
        assert_eq!([1, 2].map(|queue| scheduler.queue_bound(queue)), [Some(1), Some(3)]);
        // Rank 1 goes to the second, the forces are 0, 1/2, 1/4: 2.5 - 1/4, and 1 + 1/2 but at most 2.25 - 1.
        offer(&mut scheduler, 1);
        assert_eq!([1, 2].map(|queue| scheduler.queue_bound(queue)), [Some(2), Some(3)]);
    }

    #[test]
    fn a_gain_has_no_effect_beside_what_waits() {
        let mut args = Args::new("spring");
        args.set("force_from", crate::params::Value::Text("fill".into()))
            .set("gain", crate::params::Value::Text("1/4".into()));
        let error = Joined::<Packet>::build(args).unwrap_err();
        assert!(alloc::format!("{error}").contains("this key has no effect with the other keys"), "{error}");
    }
}

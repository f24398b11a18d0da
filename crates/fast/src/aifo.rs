//! AIFO's twin: below an occupancy at which every rank passes, no quantile is counted.

use crate::{Twin, as_the_decider, in_parts, remembers_as};
use pifolab_sched::place::Place;
use pifolab_sched::schedulers::{AifoParams, Headroom, Update, deciders};
use pifolab_sched::store::Queue;
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, FromParams, Room};

/// The twin of AIFO as printed: every rank enters the window first, and the occupancy stays within the target.
#[derive(Debug)]
// Aligned, because the queue behind it in memory then starts on a cache line as well.
#[repr(align(64))]
pub struct Aifo {
    aifo: deciders::Aifo,
    /// The occupancy up to which every rank passes and finds room.
    all_pass: u64,
    /// With fewer packets than this, every rank passes and finds room. 0 if bytes are counted.
    open: u32,
}

impl Twin for Aifo {
    type Of = deciders::Aifo;
    type Queues = Queue;

    fn of(params: &AifoParams) -> Option<Self> {
        let (limit, target) = (Room::new(params.capacity).total(), params.target());
        if params.sample != 1 || params.update != Update::Before || limit > target {
            return None;
        }
        let (aifo, _) = deciders::Aifo::from_params(params.clone()).ok()?;
        // Every rank may pass even beyond the headroom, since no rank in the window is below itself, so no quantile
        // reaches 1.
        let passing = target - aifo.threshold().least(aifo.window().highest_quantile());
        let all_pass = Headroom::new(params.k, target).guaranteed().max(passing).min(limit - 1);
        let open = match params.capacity {
            Capacity::Packets(_) => u32::try_from(all_pass + 1).ok()?,
            Capacity::Bytes(_) | Capacity::Unlimited => 0,
        };
        Some(Self { aifo, all_pass, open })
    }

    in_parts!();
}

remembers_as!(Aifo.aifo);

impl Decider for Aifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.place(packet, queues).get()
    }

    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        let (rank, queue) = (packet.rank, &queues[0]);
        if queue.packets() < self.open as usize {
            self.aifo.window_mut().push(rank);
            return Place::queue_with_room(0);
        }
        if queue.counts_bytes() && queue.used() <= self.all_pass {
            self.aifo.window_mut().push(rank);
            return Place::queue(0);
        }
        let quantile = self.aifo.window_mut().push_and_quantile(rank);
        Place::queue_if(quantile <= self.aifo.limit(queue.used()), 0, DropReason::Admission)
    }

    as_the_decider!(aifo);
}

//! A loaded program as a scheduler of the library: it decides, user space keeps the queues. So it can be replayed
//! against the vectors that the library is held to.

use super::intf::{Harness, Shared};
use super::loaded::Loaded;
use super::settings::{Occupancy, Settings};
use crate::rank::RankSource;
use crate::{Error, Result};
use pifolab_sched::params::Args;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Packet, Room, Scheduler};
use pifolab_units::{Bytes, Time};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Ethernet, IPv4 and UDP headers with eight bytes of payload: the rank.
pub const FRAME_BYTES: usize = 14 + 20 + 8 + 8;

/// A frame that carries `rank` in its first eight bytes of payload and `dscp` in its IP header.
pub fn frame(rank: u64, dscp: u8) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
    frame[14] = 0x45;
    frame[15] = dscp << 2;
    frame[16..18].copy_from_slice(&((FRAME_BYTES - 14) as u16).to_be_bytes());
    frame[22] = 64;
    frame[23] = 17;
    frame[26..30].copy_from_slice(&[192, 0, 2, 1]);
    frame[30..34].copy_from_slice(&[192, 0, 2, 2]);
    frame[38..40].copy_from_slice(&16u16.to_be_bytes());
    frame[42..50].copy_from_slice(&rank.to_be_bytes());
    frame
}

/// What the harness cannot say through the library's contract, kept for its owner.
pub type FirstError = Arc<Mutex<Option<Error>>>;

/// The program behind the library's contract.
pub struct Harnessed {
    loaded: Loaded,
    queues: Vec<Queue>,
    used: Harness,
    first_error: FirstError,
}

struct Queue {
    packets: VecDeque<Packet>,
    room: Room,
}

impl Harnessed {
    /// Loads the program of the scheduler `name`.
    ///
    /// # Errors
    /// As [`Settings::new`] and [`Loaded::load`].
    pub fn new(name: &str, args: Args, first_error: FirstError) -> Result<Self> {
        let settings = Settings::new(name, args, RankSource::Payload { offset: 0, width: 8 }, Occupancy::Harness)?;
        let queue = |capacity: &Capacity| Queue { packets: VecDeque::new(), room: Room::new(*capacity) };
        let queues = settings.capacities.iter().map(queue).collect();
        Ok(Self { loaded: Loaded::load(settings)?, queues, used: Harness::zeroed(), first_error })
    }

    fn failed(&self, error: Error, packet: Packet) -> Enqueued {
        self.first_error.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
        Enqueued::Dropped { packet, reason: DropReason::Admission }
    }

    fn decide(&mut self, packet: &Packet) -> Result<super::Decision> {
        let small = self.loaded.settings.in_bytes() && (packet.size as usize) < FRAME_BYTES;
        if small {
            return Err(Error::Unsupported(format!(
                "a packet of {} bytes cannot carry its headers and its rank",
                packet.size
            )));
        }
        for (used, queue) in self.used.used.iter_mut().zip(&self.queues) {
            *used = queue.room.used();
        }
        self.loaded.set_used(&self.used)?;
        self.loaded.test(&frame(packet.rank.get(), 0), packet.size.max(FRAME_BYTES as u32))
    }
}

impl Scheduler for Harnessed {
    fn enqueue(&mut self, packet: Packet, _now: Time) -> Enqueued {
        let decision = match self.decide(&packet) {
            Ok(decision) => decision,
            Err(error) => return self.failed(error, packet),
        };
        if let Some(reason) = decision.drop {
            return Enqueued::Dropped { packet, reason };
        }
        let Some(queue) = self.queues.get_mut(decision.queue as usize).filter(|queue| queue.room.fits(packet.size))
        else {
            let error =
                Error::Failed(format!("the program put a packet into queue {}, which has no room", decision.queue));
            return self.failed(error, packet);
        };
        let rank = packet.rank;
        queue.room.take(packet.size);
        queue.packets.push_back(packet);
        Enqueued::Admitted { queue: decision.queue, rank }
    }

    fn dequeue(&mut self, _now: Time) -> Dequeued {
        for (index, queue) in self.queues.iter_mut().enumerate() {
            if let Some(packet) = queue.packets.pop_front() {
                queue.room.release(packet.size);
                return Dequeued::Packet { packet, queue: index as u32 };
            }
        }
        Dequeued::Empty
    }
}

impl Inspect for Harnessed {
    fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.packets.len()).sum()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.queues.iter().map(|queue| queue.room.bytes().0).sum())
    }

    fn capacity(&self) -> Capacity {
        let config = self.loaded.config();
        if config.in_bytes == 0 {
            Capacity::Packets(config.total.try_into().unwrap_or(u32::MAX))
        } else {
            Capacity::Bytes(config.total)
        }
    }

    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn queue_len(&self, queue: usize) -> usize {
        self.queues.get(queue).map_or(0, |queue| queue.packets.len())
    }
}

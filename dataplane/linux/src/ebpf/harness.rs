//! Combines a loaded program, as a decider, with queues of the library, so that it can be compared with the library's
//! vectors.

use super::intf::{Harness, Shared};
use super::loaded::Loaded;
use super::settings::{Occupancy, Settings};
use crate::rank::RankSource;
use crate::{Error, Result};
use pifolab_sched::params::Args;
use pifolab_sched::{Arriving, Decider, DropReason, Queued, Register, Registers, Room};
use std::sync::{Arc, Mutex};

/// The length of Ethernet, IPv4 and UDP headers with eight bytes of payload, the rank.
pub const FRAME_BYTES: usize = 14 + 20 + 8 + 8;

/// A frame with `rank` in the first eight bytes of its payload and `dscp` in its IP header.
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

/// The first error that the library's contract cannot express, for the harness's owner.
pub type FirstError = Arc<Mutex<Option<Error>>>;

/// A program that decides for the library's queues.
pub struct Harnessed {
    loaded: Loaded,
    used: Harness,
    first_error: FirstError,
}

impl Harnessed {
    /// Loads the program of the scheduler `name`, and combines it with queues in user space.
    pub fn scheduler(name: &str, args: Args, first_error: FirstError) -> Result<Queued<Self>> {
        let settings = Settings::new(name, args, RankSource::Payload { offset: 0, width: 8 }, Occupancy::Harness)?;
        let capacities = settings.capacities.clone();
        let decider = Self { loaded: Loaded::load(settings)?, used: Harness::zeroed(), first_error };
        Ok(Queued::with_decider(decider, &capacities))
    }

    fn ask(&mut self, packet: Arriving, queues: &[Room]) -> Result<std::result::Result<usize, DropReason>> {
        if self.loaded.settings.in_bytes() && (packet.size as usize) < FRAME_BYTES {
            return Err(Error::Unsupported(format!(
                "a packet of {} bytes cannot carry its headers and its rank",
                packet.size
            )));
        }
        for (used, queue) in self.used.used.iter_mut().zip(queues) {
            *used = queue.used();
        }
        self.loaded.set_used(&self.used)?;
        let decided = self.loaded.test(&frame(packet.rank.get(), 0), packet.size.max(FRAME_BYTES as u32))?;
        match decided.drop {
            Some(reason) => Ok(Err(reason)),
            None if queues.get(decided.queue as usize).is_some_and(|queue| queue.fits(packet.size)) => {
                Ok(Ok(decided.queue as usize))
            }
            None => {
                Err(Error::Failed(format!("the program put a packet into queue {}, which has no room", decided.queue)))
            }
        }
    }
}

/// The decider's state is in the program.
impl Registers for Harnessed {
    fn registers(&self, _each: &mut dyn FnMut(&dyn Register)) {}

    fn registers_mut(&mut self, _each: &mut dyn FnMut(&mut dyn Register)) {}
}

impl Decider for Harnessed {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> std::result::Result<usize, DropReason> {
        self.ask(packet, queues).unwrap_or_else(|error| {
            self.first_error.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
            Err(DropReason::Admission)
        })
    }
}

//! What makes a RIFO of Algorithm 1's another one: the published simulation's test, and a length that is out of date.

use super::options::{RifoMode, RifoParams};
use super::published::PublishedTest;
use crate::Room;
use crate::params::{FromArgs, ParamError};
use crate::schedulers::delayed::Delayed;
use alloc::boxed::Box;

#[derive(Clone, Debug)]
pub(super) struct Variation {
    /// In the mode of the published simulation all that decides; the registers of Algorithm 1 stay unused.
    pub(super) published: Option<PublishedTest>,
    /// What the test sees of the queue.
    pub(super) delayed: Delayed,
}

impl Variation {
    /// What these options ask for, if anything.
    ///
    /// # Errors
    /// A delay out of range.
    pub(super) fn new(params: &RifoParams) -> Result<Option<Box<Self>>, ParamError> {
        let total = Room::new(params.capacity).total();
        let published =
            (params.mode == RifoMode::Netbench).then(|| PublishedTest::new(params.tracking_range, params.k, total));
        let delayed = Delayed::new(RifoParams::INFO.name, params.occupancy_delay, &[params.capacity])?;
        Ok((published.is_some() || delayed.is_late()).then(|| Box::new(Self { published, delayed })))
    }
}

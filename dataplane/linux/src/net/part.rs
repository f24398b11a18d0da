//! The schedulers of an interface: one for all of it or, under `mq`, one for each transmit queue.

use super::class::Class;
use super::namespace::NetNamespace;
use super::root::RootQdisc;
use crate::Result;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A scheduler of a data plane: that of the interface, or of one transmit queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its qdisc.
    pub root: RootQdisc,
    /// The class of `mq` above the qdisc; `None` if that is the root of the interface.
    pub parent: Option<u32>,
    /// The kernel's ids of the program's maps.
    pub maps: Vec<(String, u32)>,
    /// The kernel's id of the filter's program; `None` if the scheduler is the qdisc.
    pub program: Option<u32>,
    /// The classes of the qdisc.
    #[serde(default)]
    pub classes: Vec<Class>,
}

impl Part {
    /// The number of its transmit queue; `None` if it serves the interface.
    pub fn transmit_queue(&self) -> Option<u32> {
        self.parent.map(|parent| (parent & 0xFFFF) - 1)
    }

    /// What is in the place of its qdisc under `mq`; `None` if its own is, or if it serves the interface.
    ///
    /// # Errors
    /// If the kernel cannot be read.
    pub fn replaced_by(&self, namespace: &NetNamespace, index: u32) -> Result<Option<Replaced>> {
        let (Some(parent), Some(queue)) = (self.parent, self.transmit_queue()) else { return Ok(None) };
        let now = RootQdisc::at(namespace, index, parent)?;
        Ok((now.as_ref() != Some(&self.root)).then_some(Replaced { queue, now }))
    }
}

/// A transmit queue without its scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its number.
    pub queue: u32,
    /// The qdisc in the place; `None` if it is the kernel's default.
    pub now: Option<RootQdisc>,
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the qdisc of transmit queue {} was replaced (now ", self.queue)?;
        match &self.now {
            Some(now) => write!(f, "{now})"),
            None => f.write_str("the kernel's default)"),
        }
    }
}

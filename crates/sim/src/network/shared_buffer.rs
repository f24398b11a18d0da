//! Switches whose ports share one memory, with dynamic thresholds.
//!
//! A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998. A packet is refused if its port's queue has reached alpha times the free
//! memory, or if the memory cannot hold it.
//!
//! Parameters: B, the memory of one switch in bytes; alpha, above 0 (they suggest powers of 2; no default here). Cost:
//! in the simulator a scan of all ports of the switch for each arrival; a switch needs one counter. A queue alone
//! settles at alpha B / (1 + alpha).
//!
//! Deviations from the paper: packets instead of cells, so that a queue may exceed its threshold by less than one
//! packet. The queue is everything that waits at a port, in any queue of its scheduler; the scheduler's own capacity
//! applies as well. The packet on the wire is not in the memory.

use super::error::ConfigError;
use super::topology::Topology;
use pifolab_units::Ratio;

/// The memory of every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBuffer {
    /// Bytes per switch, B.
    pub bytes: u64,
    /// alpha, above 0.
    pub alpha: Ratio,
}

/// The ports that share a memory.
#[derive(Debug)]
pub(super) struct Pools {
    buffer: SharedBuffer,
    /// For each port its switch; `None` for ports of hosts.
    switch_of: Vec<Option<u32>>,
    /// The ports of each node.
    ports_of: Vec<Vec<u32>>,
}

impl SharedBuffer {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.bytes == 0 {
            return Err(ConfigError::new("shared_buffer", "bytes", self.bytes, "more than 0"));
        }
        if self.alpha == Ratio::ZERO {
            return Err(ConfigError::new("shared_buffer", "alpha", self.alpha, "more than 0"));
        }
        Ok(())
    }

    /// Whether a packet of `size` bytes is refused at a port where `waiting` bytes wait, in a memory that holds `used` bytes.
    fn refuses(&self, size: u32, waiting: u64, used: u64) -> bool {
        let free = self.bytes.saturating_sub(used);
        let (alpha, one) = (u128::from(self.alpha.numerator()), u128::from(self.alpha.denominator()));
        u64::from(size) > free || u128::from(waiting) * one >= alpha * u128::from(free)
    }
}

impl Pools {
    pub(super) fn new(topology: &Topology, buffer: SharedBuffer) -> Box<Self> {
        let switch_of = topology.links.iter().map(|link| (link.from >= topology.hosts).then_some(link.from)).collect();
        Box::new(Self { buffer, switch_of, ports_of: topology.ports_of() })
    }

    /// The ports that share the memory with this one, itself included; none at a host.
    pub(super) fn beside(&self, port: u32) -> &[u32] {
        self.switch_of[port as usize].map_or(&[], |switch| &self.ports_of[switch as usize])
    }

    /// Whether the memory refuses a packet of `size` bytes at a port where `waiting` bytes wait, while it holds `used` bytes.
    pub(super) fn refuses(&self, size: u32, waiting: u64, used: u64) -> bool {
        self.buffer.refuses(size, waiting, used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_alpha_times_what_is_free() {
        let half = SharedBuffer { bytes: 9_000, alpha: Ratio::new(1, 2).unwrap() };
        // 3000 B wait, 6000 B are free: exactly at the threshold, and refused; one byte below it admitted.
        assert!(half.refuses(1_500, 3_000, 3_000));
        assert!(!half.refuses(1_500, 2_999, 3_000));
        // 3000 B in another queue lower the threshold to 1500 B.
        assert!(half.refuses(1_500, 1_500, 6_000) && !half.refuses(1_500, 1_499, 6_000));
        // With a large alpha only the memory itself is too small.
        let eight = SharedBuffer { alpha: Ratio::new(8, 1).unwrap(), ..half };
        assert!(eight.refuses(1_500, 7_501, 7_501) && !eight.refuses(1_499, 7_501, 7_501));
    }
}

//! The bytes of packets that reach the hosts of a network whose switches run a program.

use pifolab_sim::observer::{EndView, Observer};
use pifolab_units::Time;

/// The frames that reach chosen hosts. Memory: a row and the bytes of each, with at most `limit` rows.
#[derive(Clone, Debug)]
pub struct Frames {
    wanted: Vec<bool>,
    limit: usize,
    rows: Vec<Frame>,
    skipped: u64,
}

/// One frame at its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When its last bit arrived.
    pub time: Time,
    /// The receiver.
    pub host: u32,
    /// The flow's index in the list of flows.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Its bytes as the last switch sent them.
    pub bytes: Box<[u8]>,
}

impl Frames {
    /// Keeps the frames that reach the hosts `wanted` of a network with `hosts` hosts, at most `limit`.
    ///
    /// # Panics
    /// If a host in `wanted` does not exist.
    pub fn new(hosts: usize, wanted: &[u32], limit: usize) -> Self {
        let mut all = vec![false; hosts];
        for host in wanted {
            all[*host as usize] = true;
        }
        Self { wanted: all, limit, rows: Vec::new(), skipped: 0 }
    }

    /// The frames in order of time.
    pub fn rows(&self) -> &[Frame] {
        &self.rows
    }

    /// The number of frames that were not kept because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl Observer for Frames {
    fn watches(&self) -> bool {
        false
    }

    fn follows(&self) -> bool {
        true
    }

    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let EndView { flow, host, size, frame, .. } = packet;
        if !self.wanted[host as usize] {
            return;
        }
        if self.rows.len() >= self.limit {
            self.skipped += 1;
            return;
        }
        self.rows.push(Frame { time: now, host, flow, size, bytes: frame.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::deliver;

    #[test]
    fn frames_at_the_wanted_hosts_are_kept_until_the_limit() {
        let mut frames = Frames::new(3, &[1], 2);
        for (us, host) in [(1, 1), (2, 0), (3, 1), (4, 1)] {
            deliver(&mut frames, us, host, 0, 0, 100);
        }
        let times: Vec<_> = frames.rows().iter().map(|row| (row.time.as_ns(), row.host)).collect();
        assert_eq!((times, frames.skipped()), (vec![(1_000, 1), (3_000, 1)], 1));
    }
}

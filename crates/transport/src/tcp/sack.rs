//! Selective acknowledgement without limits: a log carries sets of segments from the receiver to the sender.

use std::collections::VecDeque;

/// The segments that arrived out of order, in order of arrival.
///
/// An acknowledgement carries a position in this log. Arrived segments stay arrived, so all entries before the position
/// equal an unlimited list of blocks in the acknowledgement. A position costs four bytes and no copy. It stays valid if
/// acknowledgements are lost or reordered. The sender removes the entries that it has read.
#[derive(Clone, Debug, Default)]
pub struct SackLog {
    entries: VecDeque<u32>,
    read: u32,
}

impl SackLog {
    pub(crate) fn record(&mut self, segment: u32) {
        self.entries.push_back(segment);
    }

    pub(crate) fn position(&self) -> u32 {
        self.read.wrapping_add(self.entries.len() as u32)
    }

    /// Returns the next unread entry before `position`.
    pub(crate) fn read_before(&mut self, position: u32) -> Option<u32> {
        // Positions wrap. A position behind `read` belongs to a reordered acknowledgement.
        if position.wrapping_sub(self.read) as i32 <= 0 {
            return None;
        }
        self.read = self.read.wrapping_add(1);
        self.entries.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overtaken_acknowledgement_says_nothing_new() {
        let mut log = SackLog::default();
        log.record(7);
        let early = log.position();
        log.record(9);
        let late = log.position();
        assert_eq!((log.read_before(late), log.read_before(late), log.read_before(late)), (Some(7), Some(9), None));
        assert_eq!(log.read_before(early), None);
    }
}

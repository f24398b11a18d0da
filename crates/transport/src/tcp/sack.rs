//! Selective acknowledgement without limits: the log that carries sets of segments from end to end.

use std::collections::VecDeque;

/// Segments that arrived out of order, in the order of their arrival.
///
/// An acknowledgement carries a position in this log. As what has arrived never un-arrives, "everything before the
/// position" is exactly what an unlimited list of blocks in the acknowledgement would say, for four bytes and no copy,
/// also when acknowledgements are lost or overtake each other. The sender drops what it has read.
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

    /// The next entry before `position` that was not read yet.
    pub(crate) fn read_before(&mut self, position: u32) -> Option<u32> {
        // Positions wrap; a position behind `read` belongs to an acknowledgement that was overtaken.
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

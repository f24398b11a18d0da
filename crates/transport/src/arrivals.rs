//! The set of a flow's segments that have arrived.

use crate::SegmentSet;

/// The segments of a flow that have arrived, in order or not.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// The first segment that has not arrived.
    next: u32,
    segments: u32,
    /// One past the highest segment that has arrived.
    highest: u32,
    reordered: u32,
    beyond: SegmentSet,
}

impl Arrivals {
    /// Creates the set for a flow of `segments` segments; no segment has arrived.
    pub fn of(segments: u32) -> Self {
        Self { next: 0, segments, highest: 0, reordered: 0, beyond: SegmentSet::default() }
    }

    /// Adds segment `number`. Returns whether the segment arrived for the first time while an earlier one is missing.
    #[inline(always)]
    pub fn take(&mut self, number: u32) -> bool {
        if number < self.highest {
            self.reordered += u32::from(!self.beyond.contains(number));
        } else {
            self.highest = number + 1;
        }
        if number == self.next {
            self.next = if self.highest == number + 1 { number + 1 } else { self.beyond.next_missing(number + 1) };
            self.beyond.advance(self.next);
            return false;
        }
        number > self.next && self.beyond.insert(number)
    }

    /// Whether segment `number` has arrived.
    pub fn contains(&self, number: u32) -> bool {
        self.beyond.contains(number)
    }

    /// The first segment that has not arrived.
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// Whether every segment has arrived.
    pub const fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// The number of segments that arrived, for the first time, after a segment with a higher number.
    pub const fn reordered(&self) -> u32 {
        self.reordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Compares with a plain set, for drawn orders with repetitions.
    #[test]
    fn counts_what_a_set_of_all_arrivals_would() {
        let mut state = 1u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        for round in 0..200 {
            let segments = 1 + draw(300);
            let (mut arrivals, mut all, mut reordered) = (Arrivals::of(segments), BTreeSet::new(), 0);
            while !arrivals.is_complete() {
                // Mostly near the first missing segment, so that every round ends.
                let near = (arrivals.next() + draw(20)).min(segments - 1);
                let number = if draw(8) == 0 { draw(segments) } else { near };
                reordered += u32::from(all.last().is_some_and(|last| number < *last) && !all.contains(&number));
                let early = (0..number).any(|before| !all.contains(&before)) && !all.contains(&number);
                assert_eq!(arrivals.take(number), early, "round {round}");
                all.insert(number);
                let next = (0..).find(|number| !all.contains(number)).unwrap();
                assert_eq!((arrivals.next(), arrivals.reordered()), (next, reordered), "round {round}");
                assert!((0..segments).all(|number| arrivals.contains(number) == all.contains(&number)));
            }
            assert_eq!(all.len() as u32, segments);
        }
    }
}

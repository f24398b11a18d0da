//! Sets of segments.

/// A set of segment numbers at or above a moving floor: a ring of bits that grows with the window.
#[derive(Clone, Debug, Default)]
pub struct SegmentSet {
    /// Bits for 128 segments, stored inline with the connection.
    near: [u64; 2],
    /// Replaces `near` for wider windows; the length is a power of two.
    far: Option<Box<[u64]>>,
    floor: u32,
}

impl SegmentSet {
    fn words(&self) -> &[u64] {
        self.far.as_deref().unwrap_or(&self.near)
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.far.as_deref_mut().unwrap_or(&mut self.near)
    }

    /// Adds `segment` and returns whether it is new. Segments below the floor count as present.
    pub fn insert(&mut self, segment: u32) -> bool {
        if segment < self.floor {
            return false;
        }
        while (segment >> 6) - (self.floor >> 6) >= self.words().len() as u32 {
            self.widen();
        }
        let words = self.words_mut();
        let word = &mut words[(segment >> 6) as usize & (words.len() - 1)];
        let bit = 1 << (segment & 63);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether `segment` is in the set. Segments below the floor count as present.
    pub fn contains(&self, segment: u32) -> bool {
        if segment < self.floor {
            return true;
        }
        let words = self.words();
        (segment >> 6) - (self.floor >> 6) < words.len() as u32
            && words[(segment >> 6) as usize & (words.len() - 1)] & (1 << (segment & 63)) != 0
    }

    /// Raises the floor to `segment` and discards the bits below it.
    #[inline(always)]
    pub fn advance(&mut self, segment: u32) {
        if segment <= self.floor {
            return;
        }
        let (first, last) = (self.floor >> 6, segment >> 6);
        let words = self.words_mut();
        for word in first..last.min(first.saturating_add(words.len() as u32)) {
            words[word as usize & (words.len() - 1)] = 0;
        }
        self.floor = segment;
    }

    /// The first number at or above `segment` that is not in the set.
    #[inline(always)]
    pub fn next_missing(&self, mut segment: u32) -> u32 {
        while self.contains(segment) {
            segment += 1;
        }
        segment
    }

    fn widen(&mut self) {
        let old = self.words();
        let mut wider = vec![0; old.len() * 2].into_boxed_slice();
        let first = self.floor >> 6;
        for word in first..first + old.len() as u32 {
            wider[word as usize & (wider.len() - 1)] = old[word as usize & (old.len() - 1)];
        }
        self.far = Some(wider);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_a_set_above_a_moving_floor() {
        let (mut ring, mut plain, mut floor) = (SegmentSet::default(), BTreeSet::new(), 0u32);
        let mut state = 1u64;
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = (state >> 33) as u32;
            // A wide jump now and then makes the ring grow; later steps are narrow and reuse it.
            let reach = if step < 5_000 && draw.is_multiple_of(97) { 1_500 } else { 90 };
            let segment = floor + draw % reach;
            assert_eq!(ring.insert(segment), plain.insert(segment));
            let probe = floor + (draw >> 8) % 400;
            assert_eq!(ring.contains(probe), plain.contains(&probe), "step {step}");
            let missing = (floor..).find(|number| !plain.contains(number)).unwrap();
            assert_eq!(ring.next_missing(floor), missing);
            if draw.is_multiple_of(5) {
                floor = missing.max(floor + draw % 70);
                ring.advance(floor);
                plain = plain.split_off(&floor);
            }
        }
    }
}

//! Running sums of the free places in a sequence of up to eight buffers.

use super::quad::Quad;

/// The largest number of buffers.
const MOST: usize = 8;

/// The free places of up to eight buffers in their order of service, as running sums: of the first buffer, of the first
/// two, and so on.
///
/// `take` uses the first buffer whose sum suffices; `give_back_first` uses the first buffer with a taken place. Both
/// compare all sums and update those from that buffer on in the same vectors, which every processor supports. No sum
/// waits for the buffer's index.
#[derive(Clone, Debug)]
pub struct FreePlaces {
    free: [Quad; 2],
    /// The sums if all places are free.
    all: [Quad; 2],
    /// Free places in all buffers. A comparison with this number is faster than one with the vectors.
    total: i32,
    /// Places in all buffers, free or taken.
    places: i32,
}

/// A required number of free places.
#[derive(Clone, Copy, Debug)]
pub struct Enough(i32);

impl Enough {
    /// Requires `places` free places, and at least one.
    #[inline(always)]
    pub fn new(places: u64) -> Self {
        Self(places.clamp(1, FreePlaces::LARGEST + 1) as i32)
    }
}

impl FreePlaces {
    /// The largest number of places in all buffers.
    const LARGEST: u64 = 1 << 28;

    /// Creates free buffers of these sizes. `None` if there are more than eight buffers, or more than 2^28 places in
    /// total.
    pub fn new(sizes: impl ExactSizeIterator<Item = u64>) -> Option<Self> {
        if sizes.len() > MOST {
            return None;
        }
        // A missing buffer has no places, so its sum equals the previous one.
        let (mut sums, mut sizes, mut sum) = ([0; MOST], sizes, 0u64);
        for place in &mut sums {
            sum = sum.checked_add(sizes.next().unwrap_or(0)).filter(|sum| *sum <= Self::LARGEST)?;
            *place = sum as i32;
        }
        let [a, b, c, d, e, f, g, h] = sums;
        let all = [Quad::new([a, b, c, d]), Quad::new([e, f, g, h])];
        Some(Self { free: all, all, total: sum as i32, places: sum as i32 })
    }

    /// Takes a place in the first buffer at which the running sum of free places is at least `enough`. Returns the
    /// buffer, or `None` if no sum suffices.
    #[inline(always)]
    pub fn take(&mut self, Enough(enough): Enough) -> Option<usize> {
        if enough > self.total {
            return None;
        }
        self.total -= 1;
        let enough = Quad::splat(enough);
        let few = [self.free[0].less(enough), self.free[1].less(enough)];
        // Subtracts 1 from each sum, except where the mask is -1 (too few places).
        self.free[0] = self.free[0].minus(Quad::splat(1).plus(few[0]));
        self.free[1] = self.free[1].minus(Quad::splat(1).plus(few[1]));
        Some(Quad::first_clear(few[0], few[1]))
    }

    /// Frees a place in the first buffer with a taken place. Returns that buffer, or 8 if all places are free.
    #[inline(always)]
    pub fn give_back_first(&mut self) -> usize {
        let taken = [self.free[0].less(self.all[0]), self.free[1].less(self.all[1])];
        self.free = [self.free[0].minus(taken[0]), self.free[1].minus(taken[1])];
        self.total += i32::from(self.total < self.places);
        Quad::first_set(taken[0], taken[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(200))]

        #[test]
        fn agrees_with_adding_up(
            sizes in proptest::collection::vec(prop_oneof![4 => 1u64..5, 1 => Just(1 << 25)], 1..=8),
            ops in proptest::collection::vec((0u8..3, 0u64..30), 0..100),
        ) {
            let mut places = FreePlaces::new(sizes.iter().copied()).unwrap();
            let mut free = sizes.clone();
            for (op, enough) in ops {
                if op == 0 {
                    let first = (0..sizes.len()).find(|buffer| free[*buffer] < sizes[*buffer]);
                    let found = places.give_back_first();
                    prop_assert_eq!(Some(found).filter(|found| *found < sizes.len()), first);
                    first.into_iter().for_each(|buffer| free[buffer] += 1);
                } else {
                    let sums: Vec<u64> =
                        free.iter().scan(0, |sum, free| { *sum += free; Some(*sum) }).collect();
                    let first = sums.iter().position(|sum| *sum >= enough.max(1));
                    prop_assert_eq!(places.take(Enough::new(enough)), first);
                    first.into_iter().for_each(|buffer| free[buffer] -= 1);
                }
            }
        }
    }

    #[test]
    fn too_many_buffers_or_places_are_refused() {
        assert!(FreePlaces::new([1; 9].into_iter()).is_none());
        assert!(FreePlaces::new([1 << 28, 1].into_iter()).is_none());
        assert!(FreePlaces::new([u64::MAX, 1].into_iter()).is_none());
        assert!(FreePlaces::new([1 << 25; 8].into_iter()).is_some());
    }
}

//! Bins for non-negative integers of any size: one value per bin below 2^16, at most 1/1024 of the value wide above.

use pifolab_units::Rank;

/// Each value below this limit has its own bin.
const EXACT: u64 = 1 << EXACT_BITS;
const EXACT_BITS: u32 = 16;
/// Bins per power of two above `EXACT`: a bin's width is at most 1/1024 of its values.
const PER_OCTAVE_BITS: u32 = 10;

/// An array with one `T` per bin, indexed without a hash. It grows to the largest bin accessed. Values up to 2^63 need
/// at most 113,664 bins.
///
/// Each value below 2^16 has its own bin. Larger values share a bin if their leading 11 bits agree. Ranks that are flow
/// sizes or virtual times therefore do not need one row per value.
#[derive(Clone, Debug, Default)]
pub struct Binned<T> {
    bins: Vec<T>,
}

/// A bin: the values from `low` to `high`, inclusive. `low` equals `high` below 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bin {
    /// Smallest value.
    pub low: u64,
    /// Largest value.
    pub high: u64,
}

impl Bin {
    /// The bin of `rank`.
    pub fn of(rank: Rank) -> Self {
        bin(index(rank.get()))
    }
}

#[inline]
fn index(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let octave = value.ilog2();
    let within = (value >> (octave - PER_OCTAVE_BITS)) & ((1 << PER_OCTAVE_BITS) - 1);
    (EXACT + (u64::from(octave - EXACT_BITS) << PER_OCTAVE_BITS) + within) as usize
}

fn bin(index: usize) -> Bin {
    let index = index as u64;
    if index < EXACT {
        return Bin { low: index, high: index };
    }
    let octave = ((index - EXACT) >> PER_OCTAVE_BITS) as u32 + EXACT_BITS;
    let within = (index - EXACT) & ((1 << PER_OCTAVE_BITS) - 1);
    let width = 1u64 << (octave - PER_OCTAVE_BITS);
    let low = (1u64 << octave) + within * width;
    Bin { low, high: low + (width - 1) }
}

impl<T: Clone + Default> Binned<T> {
    /// Creates an empty array.
    pub const fn new() -> Self {
        Self { bins: Vec::new() }
    }

    /// The entry of the bin of `value`.
    #[inline]
    pub fn get_mut(&mut self, value: u64) -> &mut T {
        let index = index(value);
        if index >= self.bins.len() {
            self.bins.resize(index + 1, T::default());
        }
        &mut self.bins[index]
    }

    /// The entry of the bin of `rank`.
    #[inline]
    pub fn at(&mut self, rank: Rank) -> &mut T {
        self.get_mut(rank.get())
    }

    /// The bins up to the largest one accessed, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (Bin, &T)> {
        self.bins.iter().enumerate().map(|(index, entry)| (bin(index), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_below_two_to_the_sixteen_are_exact_and_the_bins_join_without_gap() {
        assert_eq!(bin(index(65_535)), Bin { low: 65_535, high: 65_535 });
        assert_eq!(bin(index(65_536)), Bin { low: 65_536, high: 65_599 });
        assert_eq!(index(u64::MAX), 65_536 + 48 * 1024 - 1);
        for at in 0..index(u64::MAX) {
            assert_eq!(bin(at).high + 1, bin(at + 1).low);
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin_and_the_bin_is_a_thousandth_wide(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let bin = bin(index(value));
            prop_assert!((bin.low..=bin.high).contains(&value));
            prop_assert!((bin.high - bin.low) as f64 <= bin.low as f64 / 1023.0);
        }
    }
}

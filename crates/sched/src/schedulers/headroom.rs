//! The integer constants in the tests of AIFO, PACKS and RIFO. The library, the eBPF programs and the P4 programs all
//! take them from here.

use pifolab_units::Ratio;

/// The headroom `k` of a capacity in packets or in bytes. Values are exact unless their description says that they are
/// rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    k: Ratio,
    capacity: u64,
}

/// The power of two that stands for (1-k)B in RIFO's switch tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShelteredPower {
    /// Its exponent, for capacities shifted right by `shift`. At most 16: the power nearest to a number of 16 bits may
    /// need 17.
    pub exponent: u32,
    /// The number of bits by which capacities are shifted right to fit in 16.
    pub shift: u32,
}

impl Headroom {
    /// The headroom `k`, at most 1, of `capacity`.
    pub const fn new(k: Ratio, capacity: u64) -> Self {
        Self { k, capacity }
    }

    /// The largest occupancy of at most kB, which admits every rank.
    pub fn guaranteed(self) -> u64 {
        // At most the capacity, since k is at most 1.
        (u128::from(self.k.numerator()) * u128::from(self.capacity) / u128::from(self.k.denominator())) as u64
    }

    /// (1-k)B times the [`scale`](Self::scale).
    pub fn sheltered(self) -> u128 {
        u128::from(self.k.denominator() - self.k.numerator()) * u128::from(self.capacity)
    }

    /// The denominator of k.
    pub const fn scale(self) -> u64 {
        self.k.denominator()
    }

    /// (1-k)B as the nearest power of two, at least 1; of two equally near powers the lower one.
    pub fn power(self) -> ShelteredPower {
        let (shift, scale) = (bits_above_16(self.capacity), u128::from(self.scale()));
        let floor = (self.sheltered() / scale).checked_ilog2().unwrap_or(0);
        // Up to the middle between two powers, the lower one is the nearest.
        let nearest = floor + u32::from(2 * self.sheltered() > (3 * scale) << floor);
        ShelteredPower { exponent: nearest.saturating_sub(shift), shift }
    }
}

/// The number of bits of a value beyond 16.
#[inline]
pub(super) const fn bits_above_16(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).saturating_sub(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headroom(numerator: u64, denominator: u64, capacity: u64) -> Headroom {
        Headroom::new(Ratio::new(numerator, denominator).expect("a fraction"), capacity)
    }

    #[test]
    fn thresholds_are_exact() {
        let tenth = headroom(1, 10, 1_000_000_007);
        assert_eq!((tenth.guaranteed(), tenth.sheltered(), tenth.scale()), (100_000_000, 9_000_000_063, 10));
        let none = headroom(0, 1, 7);
        assert_eq!((none.guaranteed(), none.sheltered(), none.scale()), (0, 7, 1));
    }

    #[test]
    fn powers_are_the_nearest() {
        let power = |capacity| {
            let ShelteredPower { exponent, shift } = headroom(0, 1, capacity).power();
            (exponent, shift)
        };
        assert_eq!([1, 2, 3, 4, 6, 7].map(power), [(0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (3, 0)]);
        // The nearest power may need one bit more than the capacity.
        assert_eq!([49_152, 49_153, 65_535, 65_536, 131_071].map(power), [(15, 0), (16, 0), (16, 0), (15, 1), (16, 1)]);
        assert_eq!(headroom(9, 10, 1).power(), ShelteredPower { exponent: 0, shift: 0 });
    }
}

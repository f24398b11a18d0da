//! The random generator of the Java platform, bit for bit. The reference simulator draws its flow lists from it.
//!
//! A 48-bit linear congruential generator, specified in the documentation of `java.util.Random`. Use [`crate::Stream`]
//! for all other purposes. This generator is weak and serves only to reproduce published runs.

use crate::Uniform;

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

/// A `java.util.Random`.
///
/// ```
/// use pifolab_workload::JavaRandom;
/// assert_eq!(JavaRandom::new(1).next_int(1 << 30), 784_774_492);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaRandom {
    state: u64,
}

impl JavaRandom {
    /// Creates the generator of `new Random(seed)`.
    pub const fn new(seed: i64) -> Self {
        Self { state: (seed as u64 ^ MULTIPLIER) & MASK }
    }

    /// The reference simulator's independent stream `name` for its run seed s: seed 997 s XOR 991 h(name). h is Java's
    /// string hash; the second product wraps at 32 bits before it is widened.
    pub fn netbench(seed: i64, name: &str) -> Self {
        let hash = name.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        Self::new(seed.wrapping_mul(997) ^ i64::from(hash.wrapping_mul(991)))
    }

    /// The upper `bits` (1 to 32) of the next state.
    const fn next(&mut self, bits: u32) -> u32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.state >> (48 - bits)) as u32
    }

    /// `nextInt(bound)`: an integer in `0..bound`.
    ///
    /// # Panics
    /// If `bound` is not positive.
    pub const fn next_int(&mut self, bound: i32) -> i32 {
        assert!(bound > 0, "a random integer below a bound that is not positive was asked for");
        let mut bits = self.next(31) as i32;
        if bound & (bound - 1) == 0 {
            return ((bound as i64 * bits as i64) >> 31) as i32;
        }
        loop {
            let value = bits % bound;
            // The sum overflows exactly if `bits` lies in the last, incomplete block of `bound` values.
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
            bits = self.next(31) as i32;
        }
    }
}

impl Uniform for JavaRandom {
    /// `nextDouble()`.
    fn uniform(&mut self) -> f64 {
        let high = u64::from(self.next(26)) << 27;
        (high + u64::from(self.next(27))) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_what_the_java_platform_draws() {
        // new Random(42): nextInt(10) gives 0, 3, 8; new Random(0): nextDouble() gives 0.730967787376657.
        let mut random = JavaRandom::new(42);
        assert_eq!([random.next_int(10), random.next_int(10), random.next_int(10)], [0, 3, 8]);
        assert_eq!(JavaRandom::new(0).uniform(), 0.730_967_787_376_657);
        assert_eq!(JavaRandom::new(1).next(31), 1_569_548_985);
    }

    #[test]
    fn powers_of_two_take_the_high_bits() {
        for (bound, expected) in [(1, 0), (2, 1), (4, 2), (8, 5), (3, 0), (6, 3)] {
            assert_eq!(JavaRandom::new(1).next_int(bound), expected, "bound {bound}");
        }
    }
}

//! Portable randomness: the same seed yields the same bits on every machine. Each use has its own named stream.
//!
//! A component creates `Stream::named(seed, "ranks")` and never shares it, so that a new component does not shift the
//! draws of others. Logarithms come from the pure-Rust `libm`, because the platforms' logarithms differ in the last
//! bit.
//!
//! References: D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4), 2021
//! (xoshiro256++ and its seeding by SplitMix64); D. Lemire, "Fast Random Integer Generation in an Interval",
//! ACM TOMACS 29(1), 2019.

/// A source of uniform doubles in [0, 1).
///
/// Samplers by inversion accept any such source. The same flow-size table therefore serves pifolab's streams and the
/// reference simulator's ([`crate::JavaRandom`]).
pub trait Uniform {
    /// The next uniform double in [0, 1).
    fn uniform(&mut self) -> f64;
}

/// One random stream: xoshiro256++.
///
/// ```
/// use pifolab_workload::Stream;
/// let mut a = Stream::named(1, "ranks");
/// let mut b = Stream::named(1, "ranks");
/// let mut other = Stream::named(1, "sizes");
/// let first = a.next_u64();
/// assert_eq!(first, b.next_u64());
/// assert_ne!(first, other.next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    state: [u64; 4],
}

/// One step of SplitMix64, which maps related seeds to unrelated states.
const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a over 64 bits.
const fn hash_name(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

impl Stream {
    /// The stream `name` of the run with seed `seed`.
    pub const fn named(seed: u64, name: &str) -> Self {
        let mut from_seed = seed;
        // The seed is mixed before the XOR with the name, so that small seeds and similar names do not cancel.
        let mut mixed = split_mix(&mut from_seed) ^ hash_name(name);
        let state = [split_mix(&mut mixed), split_mix(&mut mixed), split_mix(&mut mixed), split_mix(&mut mixed)];
        Self { state }
    }

    /// Draws 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Draws an integer, exactly uniform in `0..bound`.
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a random integer below 0 was asked for");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            // All 2^64 mod bound surplus draws have a low half below that remainder, hence below `bound`. The first
            // comparison avoids the division almost always.
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Draws a double uniform in (0, 1]: never zero, so that its logarithm is finite.
    #[inline]
    pub fn open_uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws an exponential variate of mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.open_uniform())
    }
}

impl Uniform for Stream {
    #[inline]
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_generator() {
        // The first outputs of the authors' C code for the state 1, 2, 3, 4.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn the_bits_of_a_named_stream_never_change() {
        let mut stream = Stream::named(42, "ranks");
        assert_eq!([stream.next_u64(), stream.next_u64()], [17_397_652_423_438_901_442, 5_344_279_427_665_152_783]);
    }

    #[test]
    fn seeds_and_names_give_unrelated_streams() {
        let mut firsts: Vec<u64> = (0..100)
            .flat_map(|seed| ["a", "b", "ranks", "sizes", ""].map(|name| Stream::named(seed, name).next_u64()))
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 500);
    }

    #[test]
    fn integers_below_a_bound_are_even() {
        let mut stream = Stream::named(7, "test");
        let mut counts = [0u32; 6];
        for _ in 0..600_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Five standard deviations of a binomial count (n = 600,000, p = 1/6) are 1,443.
        assert!(counts.iter().all(|&count| count.abs_diff(100_000) < 1_443), "{counts:?}");
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn a_bound_above_half_the_range_rejects_the_surplus() {
        // With bound = 3 * 2^62, a quarter of the draws is surplus. Without rejection, every third value would be twice
        // as likely, and the share of the lowest third would be 1/2 instead of 1/3.
        let mut stream = Stream::named(7, "test");
        let low = (0..100_000).filter(|_| stream.below(3 << 62).is_multiple_of(3)).count();
        assert!(low.abs_diff(33_333) < 750, "{low}");
    }

    #[test]
    fn exponential_variates_have_mean_and_variance_one() {
        let mut stream = Stream::named(3, "test");
        let (mut sum, mut squares) = (0.0, 0.0);
        let n = 1_000_000;
        for _ in 0..n {
            let x = stream.exponential();
            sum += x;
            squares += x * x;
        }
        assert!((sum / f64::from(n) - 1.0).abs() < 0.005);
        assert!((squares / f64::from(n) - 2.0).abs() < 0.025);
    }
}

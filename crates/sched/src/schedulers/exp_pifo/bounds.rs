//! The bounds of section 2.2, exactly: the largest integer up to r_min 2^(p/q) is found by comparing q-th powers.

use alloc::vec::Vec;
use core::cmp::Ordering;
use pifolab_units::{Rank, greatest_common_divisor};

/// Above this many queues the powers get long and the table takes long to compute.
pub(super) const MAX_QUEUES: usize = 32;

/// Ranks are below 2^63, so the exponent is at most 63 however it is rounded.
const EXPONENTS: u32 = 64;

/// For each exponent beta, floor(b_1) to floor(b_{M-1}).
#[derive(Debug)]
pub(super) struct BoundTable {
    bounds: Vec<u64>,
    per_exponent: usize,
}

clone_by_field!(BoundTable { bounds, per_exponent });

impl BoundTable {
    /// The bounds of `queues` queues for every exponent.
    pub(super) fn new(queues: usize, r_min: u64) -> Self {
        let per_exponent = queues - 1;
        let mut bounds = Vec::with_capacity(EXPONENTS as usize * per_exponent);
        for beta in 0..EXPONENTS {
            for step in 0..per_exponent as u32 {
                bounds.push(largest_below(r_min, beta * step, per_exponent as u32));
            }
        }
        Self { bounds, per_exponent }
    }

    /// The first queue whose bound the rank does not exceed; the last queue if it exceeds them all.
    #[inline]
    pub(super) fn queue(&self, beta: u32, rank: u64) -> usize {
        self.row(beta).partition_point(|bound| *bound < rank)
    }

    /// The bound of `queue`; the last queue has none.
    pub(super) fn bound(&self, beta: u32, queue: usize) -> Option<u64> {
        self.row(beta).get(queue).copied()
    }

    #[inline]
    fn row(&self, beta: u32) -> &[u64] {
        let start = beta as usize * self.per_exponent;
        &self.bounds[start..start + self.per_exponent]
    }
}

/// The largest rank r <= `factor` * 2^(`p` / `q`), that is, with r^q <= factor^q 2^p; at most the largest possible
/// rank.
fn largest_below(factor: u64, p: u32, q: u32) -> u64 {
    let divisor = greatest_common_divisor(p.into(), q.into()) as u32;
    let (p, q) = (p / divisor, q / divisor);
    let limit = Natural::power(factor, q).shifted_left(p);
    // Within one octave: factor 2^floor(p/q) <= the answer <= factor 2^ceil(p/q).
    let octave = |exponent: u32| u128::from(factor) << exponent;
    let at_most = |value: u128| value.min(u128::from(Rank::MAX.get())) as u64;
    let (mut low, mut high) = (at_most(octave(p / q)), at_most(octave(p.div_ceil(q))));
    while low < high {
        let middle = high - (high - low) / 2;
        if Natural::power(middle, q).cmp(&limit) == Ordering::Greater {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    low
}

/// A natural number of any size: 64-bit digits, least significant first, the last one not 0.
#[derive(Debug, PartialEq, Eq)]
struct Natural(Vec<u64>);

impl Natural {
    fn power(base: u64, exponent: u32) -> Self {
        let mut digits = alloc::vec![1u64];
        for _ in 0..exponent {
            let mut carry = 0u64;
            for digit in &mut digits {
                let product = u128::from(*digit) * u128::from(base) + u128::from(carry);
                *digit = product as u64;
                carry = (product >> 64) as u64;
            }
            if carry != 0 {
                digits.push(carry);
            }
        }
        Self(digits)
    }

    fn shifted_left(self, bits: u32) -> Self {
        let mut digits = alloc::vec![0; bits as usize / 64];
        let shift = bits % 64;
        let mut carry = 0;
        for digit in self.0 {
            let wide = u128::from(digit) << shift | u128::from(carry);
            digits.push(wide as u64);
            carry = (wide >> 64) as u64;
        }
        if carry != 0 {
            digits.push(carry);
        }
        Self(digits)
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_two_are_rounded_down_exactly() {
        assert_eq!(largest_below(1, 6, 2), 8);
        assert_eq!(largest_below(1, 1, 2), 1);
        assert_eq!(largest_below(1000, 1, 2), 1414);
        assert_eq!(largest_below(1000, 2, 3), 1587);
        // floor(2^(125/2)): the square root of 2 times 2^62.
        assert_eq!(largest_below(1, 125, 2), 6_521_908_912_666_391_106);
        assert_eq!(largest_below(3 << 60, 63 * 30, 31), Rank::MAX.get());
    }

    #[test]
    fn a_root_that_is_whole_is_reached() {
        for q in 1..=31 {
            assert_eq!(largest_below(1500, 3 * q, q), 12_000);
        }
    }
}

//! Token buckets, for the rank function of that name and for the nodes of trees.

use pifolab_units::{Bytes, Rate, Span, Time};

/// The settings of a token bucket: at which rate, and with which burst, a node may pass packets to its parent.
///
/// At a node of a tree: with `charge = "departure"` the node may send while its bucket is not in debt, and the bucket is charged
/// with each packet that leaves: in any interval at most r x t + B + the largest packet leave from below the node.
///
/// With `charge = "arrival"`, Sivaraman et al., SIGCOMM 2016, Fig. 4c: tokens = min(B, tokens + r x (now - last));
/// release = now if length <= tokens, else now + (length - tokens) / r; tokens -= length; last = now. A release is rounded up to the
/// next picosecond and the bucket charged for the rest of it: the indices that are released in any interval have brought at most
/// r x t + max(B, largest packet), and other packets may leave for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// The rate r.
    pub rate: Rate,
    /// The burst B: the most bytes that accumulate. The bucket is full at the start.
    pub burst: Bytes,
}

/// A token bucket with its state.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    bps: i128,
    /// In 10^-12 bits, so that a picosecond at 1 bit/s is one unit: nothing is rounded.
    burst: i128,
    tokens: i128,
    last: Time,
}

/// A byte in units of tokens.
const BYTE: i128 = 8 * 1_000_000_000_000;

impl Bucket {
    /// A full bucket.
    pub fn new(TokenBucket { rate, burst }: TokenBucket) -> Self {
        let burst = i128::from(burst.0) * BYTE;
        Self { bps: i128::from(rate.as_bps()), burst, tokens: burst, last: Time::ZERO }
    }

    /// The time at which a packet of `size` bytes that arrives at `now` may pass.
    pub fn release(&mut self, size: u32, now: Time) -> Time {
        let now = now.max(self.last);
        let wait = self.charge(size, now);
        if wait > Span::ZERO {
            self.tokens = -(i128::from(wait.as_ps()) * self.bps);
        }
        now.saturating_add(wait)
    }

    /// Charges the bucket with a packet of `size` bytes that leaves at `now`, which never decreases. Returns how long
    /// the bucket stays in debt.
    pub fn charge(&mut self, size: u32, now: Time) -> Span {
        let gained = i128::from(now.since(self.last).as_ps()) * self.bps;
        self.tokens = self.burst.min(self.tokens + gained) - i128::from(size) * BYTE;
        self.last = now;
        let debt = self.tokens.min(0).unsigned_abs();
        Span::from_ps(u64::try_from(debt.div_ceil(self.bps.unsigned_abs())).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_full_bucket_lets_a_burst_pass_and_then_the_rate() {
        // 8 Mb/s: a byte takes a microsecond.
        let rate = Rate::from_bps(8_000_000).unwrap();
        let mut bucket = Bucket::new(TokenBucket { rate, burst: Bytes(3_000) });
        let us = |us: u64| Time::from_ns(us * 1_000);
        assert_eq!(bucket.release(1_500, us(0)), us(0));
        assert_eq!(bucket.release(1_500, us(0)), us(0));
        assert_eq!(bucket.release(1_500, us(0)), us(1_500));
        assert_eq!(bucket.release(1_000, us(0)), us(2_500));
        // At 4 ms 1,500 tokens have gathered; a packet larger than the burst waits until it is covered.
        assert_eq!(bucket.release(1_500, us(4_000)), us(4_000));
        assert_eq!(bucket.release(9_000, us(4_000)), us(13_000));
        // Tokens never exceed the burst.
        assert_eq!(bucket.release(3_001, us(1_000_000)), us(1_000_001));
    }

    #[test]
    fn releases_never_exceed_rate_and_burst_over_any_interval() {
        let mut state = 3u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for bps in [1_000_003, 999_999_937, 10_000_000_000, 7_777_777_777_777] {
            for burst in [1, 1_500, 10_000] {
                let rate = Rate::from_bps(bps).unwrap();
                let mut bucket = Bucket::new(TokenBucket { rate, burst: Bytes(burst) });
                let (mut now, mut releases, mut largest) = (0, Vec::new(), 0);
                for _ in 0..pifolab_testkit::steps(300, 30) {
                    let size = 1 + draw(9_000) as u32;
                    now += draw(2) * draw(u64::from(size) * 24 * 1_000_000_000_000 / bps + 1);
                    largest = largest.max(u64::from(size));
                    releases.push((bucket.release(size, Time::from_ps(now)).as_ps(), u128::from(size)));
                }
                assert!(releases.is_sorted_by_key(|(time, _)| *time));
                for from in 0..releases.len() {
                    let mut bytes = 0;
                    for to in from..releases.len() {
                        bytes += releases[to].1;
                        let elapsed = u128::from(releases[to].0 - releases[from].0);
                        let most = u128::from(bps) * elapsed + (u128::from(burst.max(largest)) * BYTE as u128);
                        assert!(
                            bytes * BYTE as u128 <= most,
                            "{bps} b/s, burst {burst}: {bytes} bytes in {elapsed} ps"
                        );
                    }
                }
            }
        }
    }
}

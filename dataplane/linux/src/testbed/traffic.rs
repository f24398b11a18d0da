//! What the experiments send, and what of it arrives: shared by the UDP and the TCP generators.

use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// One flow of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The rank that its packets carry.
    pub rank: u32,
    /// When it starts, in seconds.
    pub start_s: f64,
    /// UDP: what it offers, in frame bits per second.
    pub offered_bps: Option<u64>,
    /// TCP: what it has to send; `None` for as much as it can.
    pub size_bytes: Option<u64>,
}

/// Bytes per time bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    width_ns: u64,
    bytes: Vec<u64>,
}

impl Bins {
    /// Bins of `width_ns` that cover `length_ns`, all empty. What comes later is not counted: the experiment is over.
    pub fn new(width_ns: u64, length_ns: u64) -> Self {
        Self { width_ns, bytes: vec![0; length_ns.div_ceil(width_ns) as usize] }
    }

    /// Adds `bytes` at `at_ns`.
    pub fn add(&mut self, at_ns: u64, bytes: u64) {
        if let Some(bin) = self.bytes.get_mut((at_ns / self.width_ns) as usize) {
            *bin += bytes;
        }
    }

    /// Bytes in each bin.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// Bytes in the bins that lie within the interval.
    pub fn between(&self, from_s: f64, until_s: f64) -> u64 {
        let bin = |seconds: f64| seconds * 1e9 / self.width_ns as f64;
        let from = bin(from_s).ceil() as usize;
        let until = (bin(until_s) + 1e-6).floor() as usize;
        self.bytes.iter().take(until).skip(from).sum()
    }
}

/// Bytes of frame beside the payload of a UDP datagram: Ethernet, IPv4 and UDP headers.
pub const UDP_HEADERS: u64 = 14 + 20 + 8;

/// Nanoseconds of the real-time clock, which the kernel stamps arrivals with.
pub fn now_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Sleeps until `at_ns` of the real-time clock or until `stop`; false if it was stopped.
pub fn sleep_until(at_ns: u64, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let now = now_ns();
        if now >= at_ns {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_nanos((at_ns - now).min(20_000_000)));
    }
}

/// A small generator (Vigna's splitmix64) for the jitter of senders. Each flow has its own.
#[derive(Clone, Debug)]
pub struct Jitter(u64);

impl Jitter {
    /// The generator of stream `number`.
    pub const fn new(number: u64) -> Self {
        Self(number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// A factor between 0.5 and 1.5, in units of 2^-32.
    pub const fn factor(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) + (1 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_count_what_falls_into_an_interval() {
        let mut bins = Bins::new(100_000_000, 1_000_000_000);
        for tenth in 0..12 {
            bins.add(tenth * 100_000_000 + 5, 1 << tenth);
        }
        assert_eq!(bins.bytes().len(), 10);
        assert_eq!(bins.between(0.0, 0.3), 0b111);
        assert_eq!(bins.between(0.25, 0.5), 0b11000);
        assert_eq!(bins.between(0.7, 5.0), 0b11_1000_0000);
    }

    #[test]
    fn jitter_has_the_mean_of_its_range() {
        let mut jitter = Jitter::new(3);
        let draws: Vec<u64> = (0..10_000).map(|_| jitter.factor()).collect();
        assert!(draws.iter().all(|draw| (1 << 31..3 << 31).contains(draw)));
        let mean = draws.iter().sum::<u64>() as f64 / 10_000.0 / (1_u64 << 32) as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
}

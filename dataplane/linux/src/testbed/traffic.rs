//! The traffic of the experiments, and its counts at the receiver; common to the UDP and the TCP generators.

use crate::Error;
use serde::Serialize;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// One flow of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The rank in its packets.
    pub rank: u32,
    /// The start in seconds.
    pub start_s: f64,
    /// UDP: the end in seconds, if it is before the end of the experiment.
    pub stop_s: Option<f64>,
    /// UDP: the offered rate, in frame bits per second.
    pub offered_bps: Option<u64>,
    /// TCP: the number of bytes; `None` for an unlimited flow.
    pub size_bytes: Option<u64>,
    /// UDP: the sizes of its packets.
    pub packets: PacketMix,
}

/// Sizes of IP packets with their weights, which are proportional to their mean numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PacketMix(Vec<(u32, u32)>);

/// The length of the headers of IPv4 and UDP, and of the sender's data in each datagram.
pub const SMALLEST_PACKET: u32 = 28 + 24;

impl PacketMix {
    /// All packets have one size.
    pub fn of(bytes: u32) -> Self {
        Self(vec![(bytes, 1)])
    }

    /// The largest size.
    pub fn largest(&self) -> u32 {
        self.0.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
    }

    /// Draws the size of the next packet.
    pub fn draw(&self, jitter: &mut Jitter) -> u32 {
        if let [(bytes, _)] = self.0[..] {
            return bytes;
        }
        let total: u64 = self.0.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut place = (jitter.bits() * total) >> 32;
        for (bytes, weight) in &self.0 {
            match place.checked_sub(u64::from(*weight)) {
                Some(rest) => place = rest,
                None => return *bytes,
            }
        }
        self.largest()
    }
}

impl FromStr for PacketMix {
    type Err = Error;

    /// Parses `1500`, or sizes with their weights as in `64:7/576:4/1500:1`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::Usage(format!(
                "--packet-bytes {text}: expected sizes of IP packets from {SMALLEST_PACKET} to 65535 bytes, with weights from 1 \
                 to 1000000 if there are several, as in 1500 or 64:7/576:4/1500:1"
            ))
        };
        let part = |part: &str| {
            let (bytes, weight) = part.split_once(':').unwrap_or((part, "1"));
            let bytes = bytes.parse().ok().filter(|bytes| (SMALLEST_PACKET..=65_535).contains(bytes));
            let weight = weight.parse().ok().filter(|weight| (1..=1_000_000).contains(weight));
            bytes.zip(weight)
        };
        text.split('/').map(part).collect::<Option<Vec<_>>>().map(Self).ok_or_else(wrong)
    }
}

/// Bytes per time bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    width_ns: u64,
    bytes: Vec<u64>,
}

impl Bins {
    /// Creates empty bins of `width_ns` that cover `length_ns`. Later bytes are not counted, because the experiment is
    /// over.
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

    /// The bins within the interval: the index of the first, and one past the last.
    fn within(&self, from_s: f64, until_s: f64) -> (usize, usize) {
        let bin = |seconds: f64| seconds * 1e9 / self.width_ns as f64;
        let from = (bin(from_s) - 1e-6).ceil() as usize;
        let until = ((bin(until_s) + 1e-6).floor() as usize).min(self.bytes.len());
        (from.min(until), until)
    }

    /// The bytes in the bins within the interval.
    pub fn between(&self, from_s: f64, until_s: f64) -> u64 {
        let (from, until) = self.within(from_s, until_s);
        self.bytes[from..until].iter().sum()
    }

    /// The duration of those bins, because the interval may begin or end inside a bin.
    pub fn seconds(&self, from_s: f64, until_s: f64) -> f64 {
        let (from, until) = self.within(from_s, until_s);
        (until - from) as f64 * self.width_ns as f64 / 1e9
    }

    /// The rate over those bins in Mb/s.
    pub fn mbps(&self, from_s: f64, until_s: f64) -> f64 {
        let seconds = self.seconds(from_s, until_s);
        if seconds > 0.0 { self.between(from_s, until_s) as f64 * 8e-6 / seconds } else { 0.0 }
    }
}

/// The bytes of a frame without the payload of a UDP datagram: Ethernet, IPv4 and UDP headers.
pub const UDP_HEADERS: u64 = 14 + 20 + 8;

/// Nanoseconds of the real-time clock, which the kernel uses for arrival times.
pub fn now_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Sleeps until `at_ns` of the real-time clock or until `stop` is set; returns false if stopped.
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
    /// Creates the generator of stream `number`.
    pub const fn new(number: u64) -> Self {
        Self(number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Draws a factor between 0.5 and 1.5, in units of 2^-32.
    pub const fn factor(&mut self) -> u64 {
        self.bits() + (1 << 31)
    }

    /// Draws 32 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 32
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
    fn rates_are_over_the_time_that_the_bins_cover() {
        let mut bins = Bins::new(50_000_000, 300_000_000);
        for bin in 0..6 {
            bins.add(bin * 50_000_000, 625_000);
        }
        // The rate is 100 Mb/s over every interval: 0.075 to 0.3 s has four whole bins, not four and a half.
        for (from, until) in [(0.075, 0.3), (0.0, 0.3), (0.051, 0.299), (0.1, 0.15)] {
            let rate = bins.mbps(from, until);
            assert!((rate - 100.0).abs() < 1e-9, "{from} to {until}: {rate}");
        }
        assert_eq!(bins.mbps(0.11, 0.12), 0.0);
    }

    #[test]
    fn packet_mixes_are_drawn_by_their_weights() {
        let mix: PacketMix = "64:7/576:4/1500:1".parse().expect("a mix");
        let mut jitter = Jitter::new(9);
        let mut drawn = std::collections::BTreeMap::new();
        for _ in 0..12_000 {
            *drawn.entry(mix.draw(&mut jitter)).or_insert(0u32) += 1;
        }
        for (bytes, expected) in [(64, 7000), (576, 4000), (1500, 1000)] {
            assert!(drawn[&bytes].abs_diff(expected) < 300, "{drawn:?}");
        }
        assert_eq!("1500".parse::<PacketMix>().expect("a size"), PacketMix::of(1500));
        for wrong in ["", "51", "65536", "64:0", "64:x", "64/", "1500 "] {
            let said = wrong.parse::<PacketMix>().expect_err("wrong").to_string();
            assert!(said.contains("--packet-bytes") && said.contains("64:7/576:4"), "{said}");
        }
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

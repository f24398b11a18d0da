//! Admission instead of tail drop: a limit on ranks that follows the free space.

use crate::params::{Args, Kind, Param, ParamError};
use crate::{Capacity, Register, Room};
use pifolab_units::{Rank, Ratio};

/// Ranks above T are refused; T grows while fewer packets wait than the target, and falls while more do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlackAdmission {
    /// c, ranks for each packet below the target, at each arrival.
    pub gain: Ratio,
    /// The target number of waiting packets.
    pub target_packets: u32,
}

impl SlackAdmission {
    /// Reads the parameters of admission; `None` without a gain.
    pub(super) fn read(args: &mut Args, owner: &str, capacities: &[Capacity]) -> Result<Option<Self>, ParamError> {
        // Without a gain `target_packets` stays unread, because it has no effect.
        let Some(gain) = args.get::<Ratio>(&GAIN)? else { return Ok(None) };
        let packets = |capacity: &Capacity| match capacity {
            Capacity::Packets(packets) => Some(u64::from(*packets)),
            _ => None,
        };
        let held: Option<u64> = capacities.iter().map(packets).sum();
        let target = args.get::<u32>(&TARGET)?;
        let usual = held.map(|held| u32::try_from(held * 9 / 10).unwrap_or(u32::MAX));
        let Some(target_packets) = target.or(usual) else {
            let expected = "expected a number of packets, since the capacities are counted in bytes";
            return Err(TARGET.error_because(owner, "(absent)", expected));
        };
        Ok(Some(Self { gain, target_packets }))
    }
}

/// The admission's registers, as multiples of 2^-20 ranks.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// T.
    at: i64,
    highest: i64,
    pub(super) gain: i64,
    pub(super) target: i64,
}

impl Register for Limit {
    /// T, then the highest rank.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        [self.at, self.highest].into_iter().for_each(visit);
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        if let [at, highest] = *state {
            (self.at, self.highest) = (at, highest);
        }
    }
}

impl Limit {
    /// A limit that refuses nothing yet.
    pub(super) const fn new(gain: i64, target: u32) -> Self {
        Self { at: i64::MAX, highest: 0, gain, target: target as i64 }
    }

    /// Returns whether a packet of this rank is refused, then moves the limit. A limit at the highest rank seen refuses
    /// nothing: a higher rank raises it.
    pub(super) fn refuses(&mut self, rank: i64, queues: &[Room]) -> bool {
        if self.at >= self.highest {
            self.at = self.at.max(rank);
        }
        self.highest = self.highest.max(rank);
        let refused = rank > self.at;
        let held: usize = queues.iter().map(Room::packets).sum();
        let moved = self.gain.saturating_mul(self.target - held as i64);
        self.at = self.at.saturating_add(moved).clamp(0, self.highest);
        refused
    }
}

pub(super) const GAIN: Param = Param::new("admission_gain", Kind::Positive).unit("ranks").means("no admission by rank").doc(
    "c: at each arrival the limit T, above which ranks are refused, rises by c for each packet that the buffer holds below \
     the target, and falls by c for each above it.",
);

pub(super) const TARGET: Param = Param::integer("target_packets", 0, u32::MAX as u64)
    .unit("packets")
    .means("nine tenths of the packets that the queues hold; with admission_gain only")
    .doc("The target number of waiting packets.");

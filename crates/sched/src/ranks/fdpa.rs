//! FDPA: the estimated arrival rate of the packet's flow, as a number or as a band of rates.
//!
//! Paper: Cascone, Bonelli, Bianchi, Capone, Sanso, "Towards Approximate Fair Bandwidth Sharing via Dynamic Priority
//! Queuing", LANMAN 2017; as a rank: SP-PIFO (NSDI 2020), section 8 ("estimated arrival rates").
//!
//! Parameters:
//! - time constant tau (microseconds; default 1000, some 80 full packets at 1 Gb/s): the time over which rates are
//!   averaged;
//! - bands (bits per second, rising; default: none, the rank is the rate): the rank is the number of bands that the rate
//!   exceeds, as FDPA maps users to few priority queues.
//!
//! For a packet of s bytes, g after the one before: B = B (1 - g/tau) + s, or s if g >= tau; rate = 8 B / tau. With
//! packets of s bytes every g this settles at 8 s / g, exactly.
//!
//! Cost: O(1), O(log bands) with bands. A switch needs two registers per flow (B, time of the last packet); FDPA itself uses
//! meters.
//!
//! What the rank means: flows that send less than others go first. If no flow slows down, flows below their fair share
//! lose nothing, and flows above it share the rest. With TCP, rates and priorities influence one another, and long-term
//! shares are only roughly fair, as the paper's title says.
//!
//! Deviations: rates are per flow, in the paper per user (give all packets of a user the same flow). The estimator is
//! ours: the paper uses two-rate meters, whose colours are two bands. Bytes count when they arrive, even if the packet
//! is then dropped: it is the arrival rate.
//!
//! References: `docs/ranks/fdpa.md`.

use super::PerFlow;
use crate::params::{Args, FromArgs, Info, Param, ParamError, Value};
use crate::{Facts, Packet, RankFn};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Rank, Span, Time};

/// The parameters of [`Fdpa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FdpaParams {
    /// The time over which rates are averaged.
    pub time_constant: Span,
    /// Rates in bits per second, rising; none: the rank is the rate itself.
    pub bands: Vec<u64>,
}

const DEFAULT_TIME_CONSTANT_US: u64 = 1_000;
/// 100 s: B, in units of 2^-16 bytes, then fits in 64 bits at 8 Tb/s.
const LONGEST_TIME_CONSTANT_US: u64 = 100_000_000;

impl Default for FdpaParams {
    fn default() -> Self {
        Self { time_constant: Span::from_us(DEFAULT_TIME_CONSTANT_US), bands: Vec::new() }
    }
}

/// FDPA.
///
/// ```
/// use pifolab_sched::{Packet, RankFn, ranks::{Fdpa, FdpaParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut fdpa = Fdpa::new(FdpaParams::default()).unwrap();
/// let packet = |id| Packet { id, flow: 0, size: 1250, rank: Rank::ZERO, arrival: Time::ZERO };
/// // 1250 bytes every 10 us are a gigabit per second.
/// let last = (0..2000).map(|id| fdpa.rank(&packet(id), Time::from_ns(10_000 * id)).get()).last().unwrap();
/// assert!((999_900_000..=1_000_000_000).contains(&last));
/// ```
#[derive(Clone, Debug)]
pub struct Fdpa {
    time_constant: Span,
    bands: Box<[u64]>,
    flows: PerFlow<Estimate>,
}

/// B of a flow at its last packet.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    /// B, in units of 2^-16 bytes.
    level: u64,
    last: Time,
}

const FRACTION_BITS: u32 = 16;

impl Fdpa {
    /// An estimator that has seen no byte.
    ///
    /// # Errors
    /// A time constant of 0 or above 100 s, or bands that do not rise.
    pub fn new(params: FdpaParams) -> Result<Self, ParamError> {
        let name = Self::INFO.name;
        if params.time_constant == Span::ZERO || params.time_constant > Span::from_us(LONGEST_TIME_CONSTANT_US) {
            return Err(TIME_CONSTANT.error(name, params.time_constant));
        }
        for band in &params.bands {
            BANDS.check(name, *band)?;
        }
        if !params.bands.is_sorted_by(|a, b| a < b) {
            let list = Value::List(params.bands.iter().map(|rate| Value::Integer((*rate).into())).collect());
            return Err(BANDS.error_because(name, &list, "expected rates, each above the one before"));
        }
        Ok(Self { time_constant: params.time_constant, bands: params.bands.into(), flows: PerFlow::new() })
    }

    /// The rate of `packet`'s flow in bits per second, the packet included.
    #[inline]
    fn rate_bps(&mut self, packet: &Packet, now: Time) -> u64 {
        let tau = self.time_constant.as_ps();
        let flow = self.flows.get_mut(packet.flow);
        let gap = now.as_ps().saturating_sub(flow.last.as_ps());
        let kept = if gap >= tau { 0 } else { flow.level - scaled(flow.level, gap, tau) };
        flow.level = kept.saturating_add(u64::from(packet.size) << FRACTION_BITS);
        flow.last = now;
        // 8 bits a byte, 10^12 ps a second, and 2^16 parts of a byte.
        ((u128::from(flow.level) * 8_000_000_000_000 / u128::from(tau)) >> FRACTION_BITS) as u64
    }
}

/// `level` x `gap` / `tau`, rounded down, for `gap` below `tau`.
#[inline]
fn scaled(level: u64, gap: u64, tau: u64) -> u64 {
    match level.checked_mul(gap) {
        Some(product) => product / tau,
        None => (u128::from(level) * u128::from(gap) / u128::from(tau)) as u64,
    }
}

impl RankFn for Fdpa {
    #[inline]
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let rate = self.rate_bps(packet, now);
        if self.bands.is_empty() {
            return Rank::saturating(rate);
        }
        Rank::saturating(self.bands.partition_point(|band| *band < rate) as u64)
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    fn forget_flow(&mut self, flow: u32) {
        *self.flows.get_mut(flow) = Estimate::default();
    }

    fn flow_bytes(&self) -> usize {
        self.flows.flow_bytes()
    }
}

const TIME_CONSTANT: Param = Param::integer("time_constant_us", 1, LONGEST_TIME_CONSTANT_US)
    .unit("microseconds")
    .or_integer(DEFAULT_TIME_CONSTANT_US as i64)
    .doc("The time over which rates are averaged. 1 ms is about 80 full packets at 1 Gb/s.");

const BANDS: Param = Param::integers("bands_bps", 1, 8_000_000_000_000)
    .unit("bits per second")
    .means("the rank is the rate itself, in bits per second")
    .doc("Ascending rates: the rank is the number of them that the flow's rate exceeds, as with few priority queues.");

impl FromArgs for Fdpa {
    const INFO: Info = Info {
        name: "fdpa",
        summary: "FDPA: the estimated arrival rate of the flow, in bits per second or in bands.",
        paper: "Cascone et al., FDPA, LANMAN 2017; SP-PIFO, NSDI 2020, section 8",
        effect: "Flows that send less than others go first: an approximation of fair shares without virtual times.",
        state: "two registers per flow (bytes that fade, time of the last packet)",
        cost: "O(1); O(log bands) with bands",
        params: &[TIME_CONSTANT, BANDS],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let bands = args.get(&BANDS)?.unwrap_or_default();
        Self::new(FdpaParams { time_constant: Span::from_us(args.given(&TIME_CONSTANT)?), bands })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn packet(flow: u32, size: u32) -> Packet {
        Packet { id: 0, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }
    }

    #[test]
    fn the_estimate_follows_the_recurrence_by_hand() {
        let mut fdpa = Fdpa::new(FdpaParams { time_constant: Span::from_us(100), bands: Vec::new() }).unwrap();
        let mut at = |us: u64, size| fdpa.rank(&packet(4, size), Time::from_ns(us * 1000)).get();
        // B = 1000; 1000 (1 - 50/100) + 1000 = 1500; 1500 (1 - 25/100) + 500 = 1625; the gap of 100 us leaves nothing.
        assert_eq!(
            [at(1000, 1000), at(1050, 1000), at(1075, 500), at(1175, 100)],
            [80, 120, 130, 8].map(|m| m * 1_000_000)
        );
    }

    #[test]
    fn who_sends_less_ranks_lower_and_bands_cut_rates_into_few() {
        let bands = alloc::vec![100_000_000, 400_000_000];
        for bands in [Vec::new(), bands] {
            let mut fdpa = Fdpa::new(FdpaParams { bands: bands.clone(), ..FdpaParams::default() }).unwrap();
            let mut last = [0; 3];
            for us in (0..20_000_u64).step_by(20) {
                for (flow, every) in [(0, 240), (1, 60), (2, 20)] {
                    if us % every == 0 {
                        last[flow] = fdpa.rank(&packet(flow as u32, 1500), Time::from_ns(us * 1000)).get();
                    }
                }
            }
            // 50, 200 and 600 Mb/s.
            if bands.is_empty() {
                assert_eq!(last.map(|rate| (rate + 500_000) / 1_000_000), [50, 200, 600]);
            } else {
                assert_eq!(last, [0, 1, 2]);
            }
        }
    }

    #[test]
    fn dropped_bytes_stay_counted_and_a_forgotten_flow_begins_anew() {
        let mut fdpa = Fdpa::new(FdpaParams::default()).unwrap();
        let first = fdpa.rank(&packet(0, 100), Time::ZERO);
        fdpa.on_drop(&packet(0, 100), Time::ZERO);
        assert_eq!(fdpa.rank(&packet(0, 100), Time::ZERO).get(), 2 * first.get());
        fdpa.forget_flow(0);
        assert_eq!(fdpa.rank(&packet(0, 100), Time::ZERO), first);
    }

    #[test]
    fn settings_without_sense_are_refused_by_name() {
        let refused = |params| Fdpa::new(params).unwrap_err().to_string();
        let bands = refused(FdpaParams { bands: alloc::vec![7, 7], ..FdpaParams::default() });
        assert!(bands.contains("fdpa: bands_bps") && bands.contains("each above the one before"), "{bands}");
        let none = refused(FdpaParams { time_constant: Span::ZERO, ..FdpaParams::default() });
        assert!(none.contains("time_constant"), "{none}");
        refused(FdpaParams { time_constant: Span::from_s(101), ..FdpaParams::default() });
    }

    proptest! {
        #![proptest_config(pifolab_testkit::cases(256))]

        /// Regular packets: the estimate settles at their rate, from below.
        #[test]
        fn regular_packets_settle_at_their_rate(size in 40_u32..9001, gap_ns in 2_u64..100_000) {
            let tau = Span::from_us(1_000);
            let mut fdpa = Fdpa::new(FdpaParams { time_constant: tau, bands: Vec::new() }).unwrap();
            let mut rate = 0;
            let packets = 30 * tau.as_ns() / gap_ns;
            prop_assume!(packets < 200_000);
            for index in 0..packets {
                rate = fdpa.rank(&packet(0, size), Time::from_ns(gap_ns * index)).get();
            }
            let exact = 8e9 * f64::from(size) / gap_ns as f64;
            prop_assert!((rate as f64 / exact - 1.0).abs() < 1e-3, "{rate} against {exact}");
        }

        /// Any packets: no panic, and never more than the bytes of the last tau allow.
        #[test]
        fn the_estimate_is_bounded_by_the_bytes_since_the_last_silence(
            offers in prop::collection::vec((0_u64..2_000_000_000, any::<u32>()), 1..50),
        ) {
            let mut fdpa = Fdpa::new(FdpaParams::default()).unwrap();
            let (mut now, mut bytes) = (0, 0_u128);
            for (gap, size) in offers {
                now += gap;
                bytes = if gap >= 1_000_000_000 { 0 } else { bytes } + u128::from(size);
                let rate = fdpa.rank(&packet(0, size), Time::from_ps(now)).get();
                prop_assert!(u128::from(rate) <= bytes * 8_000);
                prop_assert!(u128::from(rate) >= u128::from(size) * 8_000);
            }
        }
    }
}

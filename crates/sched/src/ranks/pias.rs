//! PIAS: the level of the flow, which falls by one each time its bytes exceed the next threshold.
//!
//! Paper: Bai, Chen, Chen, Han, Tian, Wang, "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015;
//! as a rank: SP-PIFO (NSDI 2020), section 8.
//!
//! Parameters:
//! - thresholds alpha_1 < alpha_2 < ... (bytes; default: the seven of the public code for the web search workload, 909 to
//!   2484 packets of 1460 bytes);
//! - idle reset (microseconds; default: never): a flow without arrivals for this long restarts in the first level. The
//!   public code uses 500 us between the messages of a persistent connection.
//!
//! rank = the number of thresholds that are smaller than the bytes of the flow up to and including the packet.
//!
//! Cost: O(log thresholds). A switch needs two registers per flow (bytes, time of the last packet; one without idle reset) and
//! a range table of the thresholds.
//!
//! What the rank means: small flows go before large ones, without knowing any flow's size; within a level packets keep
//! the order of arrival. [`Las`](super::Las) is PIAS with a level for every byte.
//!
//! Deviations: in the paper hosts count payload bytes that they send for the first time and mark packets with the
//! level; here a port counts all bytes that arrive, including headers, retransmissions and packets that are then
//! dropped (a switch counts at ingress). The paper's aging puts a flow back to the first level after consecutive
//! timeouts of TCP, which a port does not see. It sees only that the flow is silent, hence the idle reset.
//!
//! References: `docs/ranks/pias.md`.

use super::PerFlow;
use crate::params::{Args, FromArgs, Info, Param, ParamError, Value};
use crate::{Facts, Packet, RankFn};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Rank, Span, Time};

/// The parameters of [`Pias`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiasParams {
    /// Bytes after which a flow falls to the next level, rising.
    pub thresholds: Vec<u64>,
    /// The idle time after which a flow restarts in the first level.
    pub idle_reset: Option<Span>,
}

/// Payload bytes of a packet in the public code.
const SEGMENT: u64 = 1460;

impl Default for PiasParams {
    fn default() -> Self {
        let packets = [909, 1329, 1648, 1960, 2143, 2337, 2484];
        Self { thresholds: packets.iter().map(|packets| packets * SEGMENT).collect(), idle_reset: None }
    }
}

/// PIAS.
///
/// ```
/// use pifolab_sched::{Packet, RankFn, ranks::{Pias, PiasParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut pias = Pias::new(PiasParams { thresholds: vec![3000, 6000], idle_reset: None }).unwrap();
/// let packet = |id| Packet { id, flow: 0, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
/// let ranks: Vec<_> = (0..5).map(|id| pias.rank(&packet(id), Time::ZERO).get()).collect();
/// assert_eq!(ranks, [0, 0, 1, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Pias {
    thresholds: Box<[u64]>,
    idle_reset: Option<Span>,
    flows: PerFlow<Sent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    bytes: u64,
    last: Time,
}

impl Pias {
    /// A function that has seen no byte.
    ///
    /// # Errors
    /// No thresholds, thresholds that do not rise, or an idle reset of 0.
    pub fn new(params: PiasParams) -> Result<Self, ParamError> {
        let name = Self::INFO.name;
        for threshold in &params.thresholds {
            THRESHOLDS.check(name, *threshold)?;
        }
        if params.thresholds.is_empty() || !params.thresholds.is_sorted_by(|a, b| a < b) {
            let list = Value::List(params.thresholds.iter().map(|bytes| Value::Integer((*bytes).into())).collect());
            return Err(THRESHOLDS.error_because(
                name,
                &list,
                "expected one threshold or more, each above the one before",
            ));
        }
        if params.idle_reset == Some(Span::ZERO) {
            return Err(IDLE_RESET.error(name, 0));
        }
        Ok(Self { thresholds: params.thresholds.into(), idle_reset: params.idle_reset, flows: PerFlow::new() })
    }
}

impl RankFn for Pias {
    #[inline]
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let flow = self.flows.get_mut(packet.flow);
        if self.idle_reset.is_some_and(|idle| now.as_ps().saturating_sub(flow.last.as_ps()) >= idle.as_ps()) {
            flow.bytes = 0;
        }
        flow.bytes = flow.bytes.saturating_add(u64::from(packet.size));
        flow.last = now;
        let bytes = flow.bytes;
        Rank::saturating(self.thresholds.partition_point(|threshold| *threshold < bytes) as u64)
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    fn forget_flow(&mut self, flow: u32) {
        *self.flows.get_mut(flow) = Sent::default();
    }

    fn flow_bytes(&self) -> usize {
        self.flows.flow_bytes()
    }
}

const THRESHOLDS: Param = Param::integers("thresholds_bytes", 1, 1 << 62)
    .unit("bytes")
    .means("the public code's for web search: 909, 1329, 1648, 1960, 2143, 2337 and 2484 packets of 1460 bytes")
    .doc("A flow falls to the next level with the packet that brings its bytes above the next of these, which rise.");

const IDLE_RESET: Param = Param::integer("idle_reset_us", 1, 1_000_000_000_000)
    .unit("microseconds")
    .means("never")
    .doc("A flow without arrivals for this long starts again in the first level.");

impl FromArgs for Pias {
    const INFO: Info = Info {
        name: "pias",
        summary: "PIAS: the level of the flow, which falls as its bytes pass thresholds.",
        paper: "Bai et al., PIAS, NSDI 2015; SP-PIFO, NSDI 2020, section 8",
        effect: "Small flows go before large ones; no flow size needs to be known, only where flows are demoted.",
        state: "two registers per flow (bytes seen, time of the last packet), a table of thresholds",
        cost: "O(log thresholds)",
        params: &[THRESHOLDS, IDLE_RESET],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let thresholds = args.get(&THRESHOLDS)?.unwrap_or_else(|| PiasParams::default().thresholds);
        let idle_reset = args.get::<u64>(&IDLE_RESET)?.map(Span::from_us);
        Self::new(PiasParams { thresholds, idle_reset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn packet(flow: u32, size: u32) -> Packet {
        Packet { id: 0, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }
    }

    fn pias(thresholds: &[u64], idle_reset: Option<Span>) -> Pias {
        Pias::new(PiasParams { thresholds: thresholds.to_vec(), idle_reset }).unwrap()
    }

    #[test]
    fn a_flow_is_demoted_by_the_packet_that_brings_it_above_a_threshold() {
        let mut pias = pias(&[100, 200], None);
        let mut rank = |flow, size| pias.rank(&packet(flow, size), Time::ZERO).get();
        // 100 bytes are not above 100; one more is.
        assert_eq!([rank(0, 99), rank(0, 1), rank(0, 1), rank(0, 99), rank(0, 1), rank(0, 5000)], [0, 0, 1, 1, 2, 2]);
        // Another flow begins in the first level; one large packet may skip a level.
        assert_eq!([rank(9, 10), rank(9, 191)], [0, 2]);
    }

    #[test]
    fn a_silent_flow_begins_anew_and_a_forgotten_one_too() {
        let mut pias = pias(&[100], Some(Span::from_us(500)));
        let mut at = |us: u64| pias.rank(&packet(3, 80), Time::from_ns(us * 1000)).get();
        assert_eq!([at(1000), at(1001), at(1500), at(2000), at(2499)], [0, 1, 1, 0, 1]);
        pias.forget_flow(3);
        assert_eq!(pias.rank(&packet(3, 80), Time::from_ns(2_500_000)), Rank::ZERO);
    }

    #[test]
    fn dropped_bytes_stay_counted() {
        let mut pias = pias(&[100], None);
        pias.rank(&packet(0, 80), Time::ZERO);
        pias.on_drop(&packet(0, 80), Time::ZERO);
        assert_eq!(pias.rank(&packet(0, 80), Time::ZERO), Rank::from(1));
    }

    #[test]
    fn by_default_web_search_flows_are_demoted_seven_times() {
        let mut pias = Pias::new(PiasParams::default()).unwrap();
        let ranks: Vec<_> = (0..2485).map(|_| pias.rank(&packet(0, 1460), Time::ZERO).get()).collect();
        assert_eq!((ranks[908], ranks[909], ranks[2483], ranks[2484]), (0, 1, 6, 7));
    }

    #[test]
    fn thresholds_that_do_not_rise_are_refused_by_name() {
        for thresholds in [&[][..], &[5, 5], &[5, 4]] {
            let error = Pias::new(PiasParams { thresholds: thresholds.to_vec(), idle_reset: None }).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("pias: thresholds_bytes") && error.contains("each above the one before"), "{error}");
        }
        assert!(Pias::new(PiasParams { idle_reset: Some(Span::ZERO), ..PiasParams::default() }).is_err());
    }
}

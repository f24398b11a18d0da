//! Slack-SP: `bpf/slack-sp`.

use crate::Result;
use crate::ebpf::intf::{Config, MAX_QUEUES, Shared, shared};
use crate::ebpf::maps::{CONFIG, Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, object};
use crate::ebpf::reader::{Memory, Reader, wrong};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{SlackSp as Library, SlackSpParams, StepScale};
use serde_json::json;

/// A bound is a multiple of 2^-20 ranks.
const FRACTION: u32 = 20;

shared! {
    /// `struct parameters`.
    Frozen {
        /// The rise of each bound.
        up: [i64; MAX_QUEUES],
        /// The sum of a bound's rise and fall.
        whole: i64,
        /// The gain of the limit, per packet below the target.
        gain: i64,
        /// The target number of waiting packets.
        target: i64,
        /// Whether moves are shares of the bound.
        proportional: u32,
        /// Whether there is a limit.
        admission: u32,
        /// Whether a packet whose queue is full tries the next queues.
        fall_through: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct registers`.
    Bounds {
        /// b_1 to b_(n-1).
        bounds: [i64; MAX_QUEUES],
        /// T, the limit.
        limit: i64,
        /// The highest rank so far.
        highest: i64,
    }
}

/// Slack-SP.
pub struct SlackSp;

impl Program for SlackSp {
    fn info(&self) -> &'static Info {
        &SlackSpParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("slack-sp.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("slack-sp.qdisc")
    }

    /// The library computes the powers of eps.
    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let params: SlackSpParams = reader.params();
        if params.shares.is_some() {
            return Err(reader.unsupported("map = shares, whose quantiles are divisions of more than 64 bits"));
        }
        let queues = reader.with(params.capacities.clone())?;
        let (steps, fall_through) = (params.steps, params.fall_through);
        let library: Library = Library::new(params).map_err(wrong)?;
        let admission = library.decider().admission();
        let (gain, target) = admission.unwrap_or_default();
        if admission.is_some() && queues.in_bytes {
            return Err(
                reader.unsupported("admission by rank with capacities in bytes: expected capacities in packets")
            );
        }
        let farthest = i128::from(gain) * i128::from(target.unsigned_abs().max(queues.total));
        if farthest > i128::from(i64::MAX >> 2) {
            return Err(reader.unsupported("arithmetic beyond 64 bits: admission_gain x packets is too large"));
        }
        let mut parameters = Frozen {
            gain,
            target,
            proportional: (steps == StepScale::Proportional).into(),
            admission: admission.is_some().into(),
            fall_through: fall_through.into(),
            ..Frozen::zeroed()
        };
        let mut state = Bounds { limit: i64::MAX, ..Bounds::zeroed() };
        for (place, (at, up, down)) in library.decider().registers().enumerate() {
            (state.bounds[place], parameters.up[place], parameters.whole) = (at, up, up + down);
        }
        let bounds = queues.count as u64 - 1;
        let memory = match admission {
            None => Memory::with_registers(bounds, "bounds"),
            Some(_) => Memory::with_registers(bounds + 2, "bounds, limit, highest rank"),
        };
        Ok(memory.section(PARAMETERS, &parameters).section(STATE, &state))
    }

    /// Like the library's: the registers remain if their number is unchanged.
    fn carry(&self, old: &dyn Maps, new: &Memory, queues: usize) -> Result<Option<Vec<u8>>> {
        let admission = |parameters: Frozen| parameters.admission != 0;
        let as_many = old.get::<Config>(CONFIG)?.queues as usize == queues
            && admission(old.get(PARAMETERS)?) == admission(new.get(PARAMETERS)?);
        let state: Bounds = if as_many { old.get(STATE)? } else { new.get(STATE)? };
        Ok(Some(state.bytes().to_vec()))
    }

    /// Bounds may have crossed; the queues use them in sorted order.
    fn registers(&self, maps: &dyn Maps, queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let state: Bounds = maps.get(STATE)?;
        let ranks = |bound: i64| (bound + (1 << FRACTION) - 1) >> FRACTION;
        let mut bounds = state.bounds[..queues.len() - 1].to_vec();
        bounds.sort_unstable();
        for (queue, bound) in queues.iter_mut().zip([0].into_iter().chain(bounds)) {
            queue.bound = Some(ranks(bound));
        }
        if maps.get::<Frozen>(PARAMETERS)?.admission == 0 {
            return Ok(Registers::bounds());
        }
        let (limit, highest) = (ranks(state.limit.min(state.highest)), ranks(state.highest));
        let words = format!("limit {limit}, highest rank {highest}");
        Ok(Registers::new(json!({ "admission": { "limit": limit, "highest": highest } }), words))
    }

    fn variants(&self) -> &'static [Parameters] {
        &[
            &[("queues", "8")],
            &[("queues", "8"), ("steps", "proportional"), ("fall_through", "false")],
            &[("queues", "8"), ("admission_gain", "0.25")],
        ]
    }

    fn cases(&self) -> &'static [Case] {
        &[
            Case { variant: "8 x 10 packets", parameters: &[("queues", "8")], goal_ns: Some(100), paper: "" },
            Case {
                variant: "8 x 10 packets, steps = proportional",
                parameters: &[("queues", "8"), ("steps", "proportional")],
                goal_ns: Some(100),
                paper: "",
            },
        ]
    }
}

//! SP-PIFO: `bpf/sp-pifo`, a filter and a qdisc with the same decisions.

use crate::Result;
use crate::ebpf::intf::{Config, MAX_QUEUES, Shared, shared};
use crate::ebpf::maps::{CONFIG, Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, object};
use crate::ebpf::reader::{Memory, Reader};
use pifolab_params::Choice;
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{Clamp, OnFull, Order, SpPifoParams};

shared! {
    /// `struct parameters`.
    Frozen {
        /// The smallest bound.
        floor: i64,
        /// The rule of the push-down.
        push_down: u32,
        /// Whether drops move bounds.
        update_on_full: u32,
        /// Whether the push-down runs first, as in MetaOpt.
        push_down_first: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct registers`.
    Bounds {
        /// q_1 to q_n.
        bounds: [i64; MAX_QUEUES],
    }
}

/// SP-PIFO.
pub struct SpPifo;

impl Program for SpPifo {
    fn info(&self) -> &'static Info {
        &SpPifoParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("sp-pifo.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("sp-pifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let SpPifoParams { capacities, push_down, on_full, clamp, order } = reader.params();
        let queues = reader.with(capacities)?;
        let parameters = Frozen {
            floor: if let Clamp::AtLeast(floor) = clamp { floor } else { i64::MIN },
            push_down: push_down.code(),
            update_on_full: (on_full == OnFull::Update).into(),
            push_down_first: (order == Order::PushDownFirst).into(),
            spare: 0,
        };
        let memory = Memory::with_registers(queues.count as u64, "bounds");
        Ok(memory.section(PARAMETERS, &parameters).section(STATE, &Bounds::zeroed()))
    }

    /// Additional queues begin with the bound of the last queue.
    fn carry(&self, old: &dyn Maps, _new: &Memory, queues: usize) -> Result<Option<Vec<u8>>> {
        let mut state: Bounds = old.get(STATE)?;
        let last = old.get::<Config>(CONFIG)?.queues as usize - 1;
        let bound = state.bounds[last];
        state.bounds.iter_mut().take(queues).skip(last).for_each(|one| *one = bound);
        Ok(Some(state.bytes().to_vec()))
    }

    fn registers(&self, maps: &dyn Maps, queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let state: Bounds = maps.get(STATE)?;
        for (queue, bound) in queues.iter_mut().zip(state.bounds) {
            queue.bound = Some(bound);
        }
        Ok(Registers::bounds())
    }

    fn variants(&self) -> &'static [Parameters] {
        &[
            &[("queues", "8")],
            &[("queues", "8"), ("push_down", "rank"), ("order", "push-down-first"), ("clamp", "0")],
            &[("queues", "8"), ("push_down", "queue-bound"), ("on_full", "update")],
        ]
    }

    fn cases(&self) -> &'static [Case] {
        &[Case {
            variant: "8 x 10 packets",
            parameters: &[("queues", "8")],
            goal_ns: Some(100),
            paper: "one register per queue (section 5)",
        }]
    }
}

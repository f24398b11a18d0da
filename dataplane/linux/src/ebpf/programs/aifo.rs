//! AIFO: `bpf/aifo`.

use crate::Result;
use crate::ebpf::intf::shared;
use crate::ebpf::maps::{Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, object};
use crate::ebpf::reader::{Memory, Reader};
use crate::ebpf::window::{self, Window};
use pifolab_registry::{Arithmetic, Compare, variants};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{AifoParams, Headroom};

shared! {
    /// `struct parameters`.
    Frozen {
        /// C.
        target: u64,
        /// The occupancy up to which every rank is admitted.
        headroom: u64,
        /// The sampling interval: one of this many packets enters the window.
        sample: u32,
        /// Whether the comparison is `<` instead of `<=`.
        strict: u32,
    }
}

/// AIFO.
pub struct Aifo;

impl Program for Aifo {
    fn info(&self) -> &'static Info {
        &AifoParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("aifo.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("aifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let variants::Aifo { params, published, delay } = reader.params();
        reader.with(vec![params.capacity])?;
        if published.arithmetic != Arithmetic::Exact {
            return Err(reader.unsupported("floating-point arithmetic: expected arithmetic = exact"));
        }
        reader.leave("headroom", published.headroom)?;
        let target = params.target();
        let parameters = Frozen {
            target,
            headroom: Headroom::new(params.k, target).guaranteed(),
            sample: params.sample,
            strict: (published.compare == Compare::Below).into(),
        };
        reader.refuse_late_lengths(delay)?;
        let (memory, slots) = window::read(reader, &params.window(), params.k, target, 1)?;
        Ok(memory.section(PARAMETERS, &parameters).registers(slots + 2, "window, its place, sampling counter"))
    }

    fn carry(&self, old: &dyn Maps, new: &Memory, _queues: usize) -> Result<Option<Vec<u8>>> {
        window::carry(old, new)
    }

    fn registers(&self, maps: &dyn Maps, _queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let slots = maps.get::<window::Frozen>(window::WINDOW)?.slots as usize;
        Ok(Registers::window(maps.get::<Window>(STATE)?.in_order(slots)))
    }

    fn variants(&self) -> &'static [Parameters] {
        &[&[("window", "20")], &[("window", "1000"), ("sample", "3"), ("update", "after")]]
    }

    fn cases(&self) -> &'static [Case] {
        &[Case {
            variant: "window 20, k = 0.1",
            parameters: &[("window", "20"), ("k", "0.1")],
            goal_ns: Some(200),
            paper: "one register per window slot (section 4.4)",
        }]
    }
}

//! The ideal PIFO, only as a qdisc: `bpf/pifo`. First-in first-out queues cannot implement it.

use crate::Result;
use crate::ebpf::program::{Program, object};
use crate::ebpf::reader::{Memory, Reader};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{PifoParams, Ties};

/// The ideal PIFO.
pub struct Pifo;

impl Program for Pifo {
    fn info(&self) -> &'static Info {
        &PifoParams::INFO
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("pifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let PifoParams { capacity, ranks, ties, starvation_prevention } = reader.params();
        reader.with(vec![capacity])?;
        reader.leave("ranks", ranks.is_none())?;
        reader.leave("ties", ties == Ties::default())?;
        reader.leave("starvation_prevention", !starvation_prevention)?;
        Ok(Memory::default())
    }
}

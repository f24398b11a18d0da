//! FIFO: `bpf/fifo`.

use crate::Result;
use crate::ebpf::program::{Case, Parameters, Program, object};
use crate::ebpf::reader::{Memory, Reader};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::FifoParams;

/// First in, first out.
pub struct Fifo;

impl Program for Fifo {
    fn info(&self) -> &'static Info {
        &FifoParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("fifo.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("fifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let FifoParams { capacity } = reader.params();
        reader.with(vec![capacity])?;
        Ok(Memory::default())
    }

    fn variants(&self) -> &'static [Parameters] {
        &[&[], &[("capacity_bytes", "90000")]]
    }

    fn cases(&self) -> &'static [Case] {
        &[Case { variant: "80 packets", parameters: &[], goal_ns: None, paper: "" }]
    }
}

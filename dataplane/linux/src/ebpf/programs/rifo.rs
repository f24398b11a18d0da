//! RIFO: `bpf/rifo`.

use crate::Result;
use crate::ebpf::intf::{Shared, shared};
use crate::ebpf::maps::{Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, TABLE, object};
use crate::ebpf::reader::{Memory, Reader};
use pifolab_params::Choice;
use pifolab_registry::{RifoModeName as RifoMode, variants};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{Headroom, RifoParams, ShelteredPower};
use serde_json::json;

shared! {
    /// `struct parameters`.
    Frozen {
        /// T, the tracking range.
        tracking_range: u64,
        /// The initial value of the counter after a reset.
        restart: u64,
        /// alg1: floor(kB).
        guaranteed: u64,
        /// eq3: (1-k)B times the denominator of k.
        sheltered: u64,
        /// eq3: the denominator of k.
        denominator: u64,
        /// The mode of the test.
        mode: u32,
        /// pow2: the exponent of (1-k)B.
        sheltered_exponent: u32,
        /// pow2: the shift of capacities to 16 bits.
        capacity_shift: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct registers`.
    Range {
        /// Min.
        min: u64,
        /// Max.
        max: u64,
        /// The number of packets in the tracking range.
        counter: u64,
    }

    /// `struct table`.
    Products {
        /// 2^(exponent of (1-k)B + exponent of r - Min).
        left: [u32; 256],
        /// 2^(exponent of Max - Min + exponent of B - l).
        right: [u32; 256],
    }
}

/// RIFO.
pub struct Rifo;

impl Program for Rifo {
    fn info(&self) -> &'static Info {
        &RifoParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("rifo.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("rifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let variants::Rifo { params, mode, delay } = reader.params();
        let queues = reader.with(vec![params.capacity])?;
        reader.refuse_late_lengths(delay)?;
        let headroom = Headroom::new(params.k, queues.total);
        let denominator = headroom.scale();
        if mode == RifoMode::Netbench {
            return Err(reader.unsupported("floating-point arithmetic: expected mode = alg1, eq3 or pow2"));
        }
        let exact = if mode == RifoMode::Eq3 { u64::try_from(headroom.sheltered()) } else { Ok(0) };
        let exact = exact.map_err(|_| {
            reader.unsupported(format!("arithmetic beyond 64 bits: capacity x {denominator} is too large"))
        })?;
        let ShelteredPower { exponent, shift } = headroom.power();
        // An exponent has four bits. The products contain the excess.
        let sheltered_exponent = exponent.min(15);
        let parameters = Frozen {
            tracking_range: params.tracking_range,
            restart: params.reset_counter as u64,
            guaranteed: headroom.guaranteed(),
            sheltered: exact,
            denominator: if mode == RifoMode::Eq3 { denominator } else { 0 },
            mode: mode.code(),
            sheltered_exponent,
            capacity_shift: shift,
            spare: 0,
        };
        let products =
            |excess: u32| std::array::from_fn(|pair| 1 << ((pair as u32 >> 4) + (pair as u32 & 15) + excess));
        let products = Products { left: products(exponent - sheltered_exponent), right: products(0) };
        let memory = Memory::with_registers(3, "Min, Max, counter")
            .section(PARAMETERS, &parameters)
            .section(TABLE, &products)
            .section(STATE, &Range { min: u64::MAX, max: 0, counter: 0 });
        // Only the products count: comparisons find exponents instead of a ternary match.
        Ok(if mode == RifoMode::Pow2 { memory.table_bytes(size_of::<Products>() as u64) } else { memory })
    }

    /// A counter above a shorter tracking range ends the range with the next packet.
    fn carry(&self, old: &dyn Maps, new: &Memory, _queues: usize) -> Result<Option<Vec<u8>>> {
        let mut state: Range = old.get(STATE)?;
        state.counter = state.counter.min(new.get::<Frozen>(PARAMETERS)?.tracking_range);
        Ok(Some(state.bytes().to_vec()))
    }

    fn registers(&self, maps: &dyn Maps, _queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let Range { min, max, counter } = maps.get(STATE)?;
        let (min, max) = if min <= max { (Some(min), Some(max)) } else { (None, None) };
        let words = match (min, max) {
            (Some(min), Some(max)) => format!("Min {min}, Max {max}, counter {counter}"),
            _ => format!("no rank seen, counter {counter}"),
        };
        Ok(Registers::new(json!({ "range": { "min": min, "max": max, "counter": counter } }), words))
    }

    fn variants(&self) -> &'static [Parameters] {
        &[&[("mode", "alg1")], &[("mode", "eq3")], &[("mode", "pow2")]]
    }

    fn cases(&self) -> &'static [Case] {
        &[
            Case {
                variant: "pow2, T = 500, k = 0.1",
                parameters: &[("mode", "pow2")],
                goal_ns: Some(200),
                paper: "3 registers, 1226.5 bytes of tables, 5 stages (sections I, V)",
            },
            Case { variant: "alg1, T = 500, k = 0.1", parameters: &[("mode", "alg1")], goal_ns: Some(200), paper: "" },
        ]
    }
}

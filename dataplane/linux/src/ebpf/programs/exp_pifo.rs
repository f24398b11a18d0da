//! Exp-PIFO: `bpf/exp-pifo`.

use crate::Result;
use crate::ebpf::intf::{MAX_QUEUES, Shared, shared};
use crate::ebpf::maps::{Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, TABLE, object};
use crate::ebpf::reader::{Memory, Reader};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{BetaRounding, BetaZero, ExpPifoParams, Mapping, Reset};
use pifolab_sched::{InspectExt, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use serde_json::json;

/// The number of values of a rank's logarithm, for any rounding.
const EXPONENTS: usize = 64;

shared! {
    /// `struct parameters`.
    Frozen {
        /// The counter value that ends the window.
        window_end: u64,
        /// The smallest distinguished rank.
        r_min: u64,
        /// The logarithm of `r_min`.
        r_min_exponent: u32,
        /// Whether exponents are rounded up.
        ceil: u32,
        /// Whether the mapping uses bounds.
        by_bounds: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct registers`.
    Exponent {
        /// The number of packets in the window.
        counter: u64,
        /// The exponent.
        beta: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct table`.
    Table {
        /// The queue of each exponent (rows) and logarithm.
        queue: [u8; EXPONENTS * EXPONENTS],
        /// The largest rank of each queue, for each exponent (rows).
        bounds: [u64; EXPONENTS * MAX_QUEUES],
    }
}

/// Exp-PIFO.
pub struct ExpPifo;

impl Program for ExpPifo {
    fn info(&self) -> &'static Info {
        &ExpPifoParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("exp-pifo.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("exp-pifo.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let ExpPifoParams { capacities, window, r_min, beta, mapping, reset } = reader.params();
        let queues = reader.with(capacities)?.count;
        let parameters = Frozen {
            window_end: window + u64::from(reset == Reset::Gt),
            r_min,
            r_min_exponent: r_min.ilog2(),
            ceil: (beta == BetaRounding::Ceil).into(),
            by_bounds: (mapping == Mapping::Bounds).into(),
            spare: 0,
        };
        let mut table = Table::zeroed();
        match mapping {
            Mapping::Bounds => fill_bounds(&mut table, queues, r_min),
            Mapping::Comment { beta0 } => fill_queues(&mut table, queues, beta0 == BetaZero::Last),
        }
        let memory = Memory::with_registers(2, "beta, counter");
        let memory = memory.section(PARAMETERS, &parameters).section(TABLE, &table).section(STATE, &Exponent::zeroed());
        // One byte per pair of exponent and logarithm.
        Ok(memory.table_bytes((EXPONENTS * EXPONENTS) as u64))
    }

    fn registers(&self, maps: &dyn Maps, queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let Exponent { beta, counter, .. } = maps.get(STATE)?;
        if maps.get::<Frozen>(PARAMETERS)?.by_bounds != 0 {
            let table: Table = maps.get(TABLE)?;
            let row = &table.bounds[(beta as usize % EXPONENTS) * MAX_QUEUES..];
            let last = queues.len() - 1;
            for (queue, bound) in queues[..last].iter_mut().zip(row) {
                queue.bound = i64::try_from(*bound).ok();
            }
        }
        let words = format!("beta {beta}, counter {counter}");
        Ok(Registers::new(json!({ "exponent": { "beta": beta, "counter": counter } }), words))
    }

    fn variants(&self) -> &'static [Parameters] {
        &[&[("queues", "8")], &[("queues", "8"), ("mapping", "bounds"), ("beta", "ceil")]]
    }

    fn cases(&self) -> &'static [Case] {
        &[Case {
            variant: "C = 5000, 8 x 10 packets",
            parameters: &[("queues", "8")],
            goal_ns: None,
            paper: "2 registers, 0.14 + 2.5 kB of tables, 6 stages (sections 1, 2.3)",
        }]
    }
}

/// min(M, ((x+1)(M-1)) div beta + 1), counted from 0.
fn fill_queues(table: &mut Table, queues: usize, beta0_is_last: bool) {
    let last = queues - 1;
    for (beta, row) in table.queue.chunks_exact_mut(EXPONENTS).enumerate() {
        for (x, queue) in row.iter_mut().enumerate() {
            *queue = match beta {
                0 if beta0_is_last => last,
                0 => 0,
                beta => ((x + 1) * last / beta).min(last),
            } as u8;
        }
    }
}

/// The exact bounds of section 2.2, read from a new scheduler of the library after a packet of the exponent's rank.
fn fill_bounds(table: &mut Table, queues: usize, r_min: u64) {
    for (beta, row) in table.bounds.chunks_exact_mut(MAX_QUEUES).enumerate() {
        let rank = (u128::from(r_min) << beta).min(u128::from(Rank::MAX.get())) as u64;
        let mut scheduler = pifolab_sched::schedulers::ExpPifo::new(ExpPifoParams {
            mapping: Mapping::Bounds,
            beta: BetaRounding::Ceil,
            reset: Reset::Gt,
            r_min,
            ..ExpPifoParams::uniform(queues, 1)
        })
        .expect("these parameters were accepted before");
        let rank = Rank::new(rank).expect("at most the largest rank");
        let _ = scheduler.enqueue(Packet { id: 0, flow: 0, size: 1, rank, arrival: Time::ZERO }, Time::ZERO);
        // Exponents that no rank reaches are never looked up.
        if scheduler.decider().beta() as usize == beta {
            for (queue, bound) in row.iter_mut().enumerate().take(queues - 1) {
                *bound = scheduler.queue_bound(queue).expect("a queue before the last has a bound") as u64;
            }
        }
    }
}

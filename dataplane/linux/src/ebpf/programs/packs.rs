//! PACKS: `bpf/packs`.

use crate::Result;
use crate::ebpf::intf::shared;
use crate::ebpf::maps::{Maps, QueueSnapshot, Registers};
use crate::ebpf::program::{Case, PARAMETERS, Parameters, Program, STATE, object};
use crate::ebpf::reader::{Memory, Reader};
use crate::ebpf::window::{self, Window};
use pifolab_registry::{Arithmetic, variants};
use pifolab_sched::params::{FromArgs, Info};
use pifolab_sched::schedulers::{Occupancy, PacksParams};

shared! {
    /// `struct parameters`.
    Frozen {
        /// Whether only the total occupancy is used.
        global_occupancy: u32,
        /// Whether a packet whose queue is full tries the next queue.
        fall_through: u32,
    }
}

/// PACKS.
pub struct Packs;

impl Program for Packs {
    fn info(&self) -> &'static Info {
        &PacksParams::INFO
    }

    fn filter(&self) -> Option<&'static [u8]> {
        object!("packs.filter")
    }

    fn qdisc(&self) -> Option<&'static [u8]> {
        object!("packs.qdisc")
    }

    fn read(&self, reader: &mut Reader) -> Result<Memory> {
        let variants::Packs { params, map, arithmetic, delay } = reader.params();
        if map.is_some() {
            return Err(reader.unsupported("map other than that of Algorithm 1: expected map = occupancy"));
        }
        reader.leave("compare", !params.below)?;
        reader.leave("sample", params.sample == 1)?;
        reader.leave("arithmetic", arithmetic == Arithmetic::Exact)?;
        let queues = reader.with(params.capacities.clone())?;
        let global = params.occupancy == Occupancy::Global;
        let parameters = Frozen { global_occupancy: global.into(), fall_through: params.fall_through.into() };
        reader.refuse_late_lengths(delay)?;
        let parts = params.occupancy.parts(queues.count);
        let (memory, slots) = window::read(reader, &params.window(), params.k, queues.total, parts)?;
        Ok(memory.section(PARAMETERS, &parameters).registers(slots + 1, "window and its place"))
    }

    fn carry(&self, old: &dyn Maps, new: &Memory, _queues: usize) -> Result<Option<Vec<u8>>> {
        window::carry(old, new)
    }

    fn registers(&self, maps: &dyn Maps, queues: &mut [QueueSnapshot]) -> Result<Registers> {
        let (state, window): (Window, window::Frozen) = (maps.get(STATE)?, maps.get(window::WINDOW)?);
        bounds(&state, &window, maps.get::<Frozen>(PARAMETERS)?.global_occupancy != 0, queues);
        Ok(Registers::window(state.in_order(window.slots as usize)))
    }

    fn variants(&self) -> &'static [Parameters] {
        &[
            &[("queues", "8"), ("window", "20")],
            &[("queues", "8"), ("window", "1000"), ("occupancy", "global"), ("shift", "5")],
        ]
    }

    fn cases(&self) -> &'static [Case] {
        &[
            Case {
                variant: "window 20, k = 0.1, 8 x 10 packets",
                parameters: &[("queues", "8"), ("window", "20"), ("k", "0.1")],
                goal_ns: Some(300),
                paper: "one register per window slot, 12 stages (section 5)",
            },
            Case {
                variant: "window 16, global occupancy, 4 x 10 packets",
                parameters: &[("queues", "4"), ("window", "16"), ("occupancy", "global")],
                goal_ns: Some(300),
                paper: "",
            },
            Case {
                variant: "window 1000, 8 x 10 packets",
                parameters: &[("queues", "8"), ("window", "1000")],
                goal_ns: None,
                paper: "",
            },
        ]
    }
}

/// Equation 11: the largest rank, up to the highest so far, whose quantile passes; -1 without one.
fn bounds(state: &Window, window: &window::Frozen, global: bool, queues: &mut [QueueSnapshot]) {
    let shifted =
        state.in_order(window.slots as usize).into_iter().map(|rank| i128::from(rank) + i128::from(window.shift));
    let mut ranks: Vec<i128> = shifted.collect();
    ranks.sort_unstable();
    let free = |queue: &QueueSnapshot| u128::from(queue.capacity.saturating_sub(queue.occupancy));
    let whole: u128 = queues.iter().map(free).sum();
    let mut free_parts = 0;
    for queue in queues {
        free_parts += if global { whole } else { free(queue) };
        let count = free_parts * u128::from(state.held.max(1)) * u128::from(window.scale) / u128::from(window.weight);
        let place = usize::try_from(count).ok().and_then(|count| ranks.get(count));
        let highest = i128::from(state.highest);
        let bound = place.map_or(highest, |rank| rank - i128::from(window.lower_or_equal));
        queue.bound = Some(bound.clamp(-1, highest) as i64);
    }
}

//! AIFO and PACKS: the window, and the quantile test multiplied out to integers,
//! count x weight <= free x held x scale.

use crate::file::File;
use crate::setting::{Refusal, Setting};
use pifolab_registry::variants::{Aifo, Packs};
use pifolab_registry::{Arithmetic, Compare};
use pifolab_sched::schedulers::{Headroom, Occupancy, Quantile, Update, WindowOptions};
use pifolab_units::Ratio;

/// The content of an empty slot: more than any rank.
const EMPTY_SLOT: u64 = 1 << 63;

pub fn aifo(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let Aifo { params, published, delay } = setting.params();
    if published.arithmetic != Arithmetic::Exact {
        return Err(setting.unsupported("there is no floating-point arithmetic: expected arithmetic = exact"));
    }
    setting.require("headroom", published.headroom, true)?;
    let (k, target) = (params.k, params.target());
    file.integer("TARGET", 64, target);
    file.integer("HEADROOM", 64, Headroom::new(k, target).guaranteed());
    file.integer("SAMPLE", 64, params.sample);
    file.define("STRICT", u8::from(published.compare == Compare::Below));
    setting.refuse_late_lengths(*delay)?;
    window(file, setting, &params.window(), k, target, 1)
}

pub fn packs(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let Packs { params, delay, .. } = setting.params();
    of_algorithm_1(setting)?;
    let shift = params.shift;
    file.integer("SHIFT_HELD", 66, if shift > 0 { shift.unsigned_abs() } else { 0 });
    file.integer("SHIFT_RANK", 66, if shift < 0 { shift.unsigned_abs() } else { 0 });
    let queues = setting.capacities.len();
    file.define("GLOBAL_OCCUPANCY", u8::from(params.occupancy == Occupancy::Global));
    file.define("FALL_THROUGH", u8::from(params.fall_through));
    setting.refuse_late_lengths(*delay)?;
    let total = setting.capacities.iter().sum();
    window(file, setting, &params.window(), params.k, total, params.occupancy.parts(queues))
}

/// Refuses parameters that no program of PACKS supports.
pub fn of_algorithm_1(setting: &Setting<'_>) -> Result<(), Refusal> {
    let Packs { params, map, arithmetic, .. } = setting.params();
    setting.require("map", if map.is_some() { "geometric" } else { "occupancy" }, "occupancy")?;
    setting.require("compare", if params.below { "lt" } else { "le" }, "le")?;
    setting.require("sample", params.sample, 1)?;
    setting.require("arithmetic", arithmetic.word(), Arithmetic::Exact.word())
}

/// The window, and the test over `total` units divided into `parts`.
fn window(
    file: &mut File,
    setting: &Setting<'_>,
    window: &WindowOptions<'_>,
    k: Ratio,
    total: u64,
    parts: u64,
) -> Result<(), Refusal> {
    let size = u64::from(window.size);
    let most = setting.target.window();
    if size > most {
        return Err(setting.unsupported(format!("window = {size}: expected at most {most}")));
    }
    let headroom = Headroom::new(k, total);
    // The program compares products of 192 bits, each of a count, a capacity and a number below 2^64.
    file.integer("WEIGHT", 192, headroom.sheltered() * u128::from(parts));
    file.integer("SCALE", 192, headroom.scale());
    file.define("WINDOW", size);
    file.integer("LOWER_OR_EQUAL", 66, u8::from(window.quantile == Quantile::LowerOrEqual));
    file.define("UPDATE_AFTER", u8::from(window.update == Update::After));
    file.integer("HELD_AT_START", 32, window.start.len());
    file.integer("NEXT_AT_START", 32, window.start.len() as u64 % size);
    let at_start = |slot: u64| window.start.get(slot as usize).map_or(EMPTY_SLOT, |rank| rank.get());
    file.each("EACH_SLOT", (0..size).map(|slot| format!("{slot}, 65w{}", at_start(slot))));
    Ok(())
}

//! AIFO and PACKS: the window, and the quantile test multiplied out to integers,
//! count x weight <= free x held x scale.

use crate::file::File;
use crate::reader::{Reader, Refusal, read_capacities};
use pifolab_registry::{Arithmetic, Compare};
use pifolab_sched::Scheduler;
use pifolab_sched::schedulers::{Headroom, Occupancy, Quantile, Update};
use pifolab_units::Ratio;

/// More than any rank: what an empty slot holds.
const EMPTY_SLOT: u64 = 1 << 63;

pub fn aifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Result<(), Refusal> {
    if reader.given::<Arithmetic>("arithmetic")? != Arithmetic::Exact {
        return Err(reader.unsupported("there is no floating-point arithmetic: expected arithmetic = exact"));
    }
    reader.require("headroom", "true")?;
    let (in_bytes, capacities) = read_capacities(reader, true)?;
    let target = reader.get(if in_bytes { "target_bytes" } else { "target_packets" })?.unwrap_or(capacities[0]);
    let k: Ratio = reader.given("k")?;
    file.integer("TARGET", 64, target);
    file.integer("HEADROOM", 64, Headroom::new(k, target).guaranteed());
    file.integer("SAMPLE", 64, reader.given::<u64>("sample")?);
    file.define("STRICT", u8::from(reader.given::<Compare>("compare")? == Compare::Below));
    window(file, reader, k, target, 1)
}

pub fn packs(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Result<(), Refusal> {
    for (name, only) in [("map", "occupancy"), ("compare", "le"), ("sample", "1"), ("arithmetic", "exact")] {
        reader.require(name, only)?;
    }
    let (_, capacities) = read_capacities(reader, false)?;
    let k: Ratio = reader.given("k")?;
    let shift: i64 = reader.given("shift")?;
    file.integer("SHIFT_HELD", 66, if shift > 0 { shift.unsigned_abs() } else { 0 });
    file.integer("SHIFT_RANK", 66, if shift < 0 { shift.unsigned_abs() } else { 0 });
    let global = reader.given::<Occupancy>("occupancy")? == Occupancy::Global;
    file.define("GLOBAL_OCCUPANCY", u8::from(global));
    file.define("FALL_THROUGH", u8::from(reader.given::<bool>("fall_through")?));
    let parts = if global { capacities.len() as u64 } else { 1 };
    window(file, reader, k, capacities.iter().sum(), parts)
}

/// The window, and the test over `total` units cut into `parts`.
fn window(file: &mut File, reader: &mut Reader, k: Ratio, total: u64, parts: u64) -> Result<(), Refusal> {
    reader.refuse_late_lengths()?;
    let window: u64 = reader.given("window")?;
    let most = reader.target.window();
    if window > most {
        return Err(reader.unsupported(format!("window = {window}: expected at most {most}")));
    }
    let headroom = Headroom::new(k, total);
    // The program compares products of 192 bits, each of a count, a capacity and a number below 2^64.
    file.integer("WEIGHT", 192, headroom.sheltered() * u128::from(parts));
    file.integer("SCALE", 192, headroom.scale());
    file.define("WINDOW", window);
    file.integer("LOWER_OR_EQUAL", 66, u8::from(reader.given::<Quantile>("quantile")? == Quantile::LowerOrEqual));
    file.define("UPDATE_AFTER", u8::from(reader.given::<Update>("update")? == Update::After));
    let start: Vec<u64> = reader.get("start_window")?.unwrap_or_default();
    file.integer("HELD_AT_START", 32, start.len());
    file.integer("NEXT_AT_START", 32, start.len() as u64 % window);
    let at_start = |slot: u64| start.get(slot as usize).copied().unwrap_or(EMPTY_SLOT);
    file.each("EACH_SLOT", (0..window).map(|slot| format!("{slot}, 65w{}", at_start(slot))));
    Ok(())
}

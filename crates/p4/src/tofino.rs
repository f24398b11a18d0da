//! Parameters for Tofino, whose pipeline compares, adds and looks up, and nothing else: tests are solved beforehand for what a
//! table can give. Ranks have 32 bits (RIFO: 16), capacities are in the unit in which the switch tells depths.

use crate::file::File;
use crate::reader::{Reader, Refusal, read_capacities};
use crate::{exp_pifo, rifo};
use pifolab_registry::{Arithmetic, Compare, RifoModeName as RifoMode};
use pifolab_sched::schedulers::{
    BetaRounding, Headroom, MappingKind, Occupancy, OnFull, Order, PushDown, Quantile, Reset, Update,
};
use pifolab_sched::{InspectExt, Scheduler};
use pifolab_units::Ratio;

/// The largest rank.
const MAX_RANK: u64 = u32::MAX as u64;
/// Depths and free space have 16 bits.
const DEPTH_BITS: u32 = 16;

type Written = Result<(), Refusal>;

fn expect(reader: &Reader, holds: bool, expected: &str) -> Written {
    if holds { Ok(()) } else { Err(reader.unsupported(format!("expected {expected}"))) }
}

/// The unit is what the traffic manager counts; capacities are its limits, too, where a program reads no depths.
fn depths(file: &mut File, reader: &Reader, in_bytes: bool, capacities: &[u64]) -> Written {
    expect(reader, !in_bytes, "capacities in packets: the switch does not report depths in bytes")?;
    let total: u64 = capacities.iter().sum();
    expect(reader, total < 1 << DEPTH_BITS, "capacities of less than 65536 in all")?;
    file.integer("TOTAL", DEPTH_BITS, total);
    let queues = capacities.iter().enumerate();
    file.each("EACH_QUEUE", queues.map(|(queue, capacity)| format!("{queue}, {DEPTH_BITS}w{capacity}")));
    Ok(())
}

pub fn fifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Written {
    let (in_bytes, capacities) = read_capacities(reader, true)?;
    depths(file, reader, in_bytes, &capacities)
}

pub fn strict_priority(file: &mut File, reader: &mut Reader, scheduler: &dyn Scheduler) -> Written {
    let (in_bytes, capacities) = read_capacities(reader, false)?;
    depths(file, reader, in_bytes, &capacities)?;
    let bound = |queue| scheduler.queue_bound(queue).expect("fixed bounds are always known").max(0) as u64;
    let mut entries = Vec::new();
    for queue in 0..capacities.len() {
        let low = if queue == 0 { 0 } else { bound(queue) };
        let next = if queue + 1 < capacities.len() { bound(queue + 1) } else { MAX_RANK + 1 };
        if low < next && low <= MAX_RANK {
            let rows = prefixes(low, (next - 1).min(MAX_RANK));
            entries.extend(rows.into_iter().map(|key| (key, format!("5w{queue}"))));
        }
    }
    file.entries("QUEUE_OF", entries);
    Ok(())
}

pub fn sp_pifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Written {
    let (in_bytes, capacities) = read_capacities(reader, false)?;
    depths(file, reader, in_bytes, &capacities)?;
    require(reader, "push_down", PushDown::Cost, "cost")?;
    require(reader, "order", Order::ScanFirst, "scan-first")?;
    // The traffic manager drops what its queue has no room for: too late for the bounds.
    require(reader, "on_full", OnFull::Update, "update")?;
    let clamp: Option<i64> = reader.get("clamp")?;
    expect(reader, clamp.is_none(), "no clamp")?;
    file.each("EACH_BOUND_FROM_LAST", (1..capacities.len()).rev().map(|queue| queue.to_string()));
    Ok(())
}

/// Refuses another value of `name` than `wanted`, which is written as `expected`.
fn require<T: pifolab_params::FromValue + PartialEq>(
    reader: &mut Reader,
    name: &str,
    wanted: T,
    expected: &str,
) -> Written {
    let given = reader.text(name)?.unwrap_or_default();
    if reader.given::<T>(name)? == wanted {
        return Ok(());
    }
    Err(reader.unsupported(format!("{name} = {given}: expected {expected}")))
}

/// The window is full from the start, of ranks 0: what registers hold before anything is written to them.
fn window(file: &mut File, reader: &mut Reader) -> Result<u64, Refusal> {
    reader.refuse_late_lengths()?;
    let window: u64 = reader.given("window")?;
    let most = reader.target.window();
    if ![4, 8, 16].contains(&window) || window > most {
        return Err(reader.unsupported(format!("window = {window}: expected 4, 8 or 16")));
    }
    let start: Vec<u64> = reader.get("start_window")?.unwrap_or_default();
    let zeros = start.len() as u64 == window && start.iter().all(|&rank| rank == 0);
    expect(reader, zeros, &format!("start_window = [{}], as registers start", vec!["0"; window as usize].join(", ")))?;
    require(reader, "quantile", Quantile::Lower, "lt")?;
    require(reader, "update", Update::Before, "before")?;
    file.define("WINDOW", window);
    file.each("EACH_SLOT", 0..window);
    // How many of at most eight answers are yes: looked up.
    let slots = window.min(8);
    let answers = |row: u32| (0..slots).map(|slot| (row >> slot & 1).to_string()).collect::<Vec<_>>().join(", ");
    let rows = (0..1u32 << slots).map(|row| (format!("({})", answers(row)), format!("8w{}", row.count_ones())));
    file.entries("ONES", rows);
    Ok(window)
}

/// AIFO's test, solved for the occupancy: the largest that each count of lower ranks admits.
pub fn aifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Written {
    require(reader, "arithmetic", Arithmetic::Exact, "exact")?;
    require(reader, "sample", 1u64, "1")?;
    reader.require("headroom", "true")?;
    let (in_bytes, capacities) = read_capacities(reader, true)?;
    depths(file, reader, in_bytes, &capacities)?;
    let target: u64 = reader.get("target_packets")?.unwrap_or(capacities[0]);
    let k: Ratio = reader.given("k")?;
    let strict = reader.given::<Compare>("compare")? == Compare::Below;
    let window = window(file, reader)?;
    let headroom = Headroom::new(k, target);
    let passes = |count: u64, occupancy: u64| {
        let left = u128::from(count) * headroom.sheltered();
        let right = u128::from(target - occupancy) * u128::from(window) * u128::from(headroom.scale());
        occupancy <= headroom.guaranteed() || if strict { left < right } else { left <= right }
    };
    // One more than the largest, so that 0 can say that none is small enough.
    let beyond = |count| (0..=target).take_while(|&occupancy| passes(count, occupancy)).count();
    file.entries("BEYOND", (0..=window).map(|count| (format!("8w{count}"), format!("{DEPTH_BITS}w{}", beyond(count)))));
    Ok(())
}

/// PACKS's test, solved for the free space: the least that each count of lower ranks needs.
pub fn packs(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Written {
    for (name, only) in [("map", "occupancy"), ("compare", "le"), ("sample", "1"), ("arithmetic", "exact")] {
        reader.require(name, only)?;
    }
    let (in_bytes, capacities) = read_capacities(reader, false)?;
    depths(file, reader, in_bytes, &capacities)?;
    if capacities.len() != 4 {
        return Err(reader.unsupported(format!("queues = {}: expected 4", capacities.len())));
    }
    require(reader, "occupancy", Occupancy::PerQueue, "per-queue")?;
    require(reader, "fall_through", true, "true")?;
    require(reader, "shift", 0i64, "0")?;
    let k: Ratio = reader.given("k")?;
    let window = window(file, reader)?;
    let headroom = Headroom::new(k, capacities.iter().sum());
    let unit = u128::from(window) * u128::from(headroom.scale());
    let need = |count: u64| (u128::from(count) * headroom.sheltered()).div_ceil(unit);
    file.entries("NEED", (0..=window).map(|count| (format!("8w{count}"), format!("{DEPTH_BITS}w{}", need(count)))));
    file.entries("CHOICE", choices(capacities.len()));
    Ok(())
}

/// The first queue whose test passes (it lacks nothing) and that has room, as a list of masks of which the first that
/// fits counts: of what each queue lacks for its test, then of the free space of each.
fn choices(queues: usize) -> Vec<(String, String)> {
    let zero = |which: &dyn Fn(usize) -> bool| {
        (0..queues).map(|queue| if which(queue) { "16w0 &&& 16w0xFFFF" } else { "16w0 &&& 16w0" }).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for passes in 0..queues {
        for chosen in (passes..=queues).rev() {
            let mut keys = zero(&|queue| queue == passes);
            keys.extend(zero(&|queue| (passes..chosen).contains(&queue)));
            let (queue, drop) = if chosen == queues { (0, 1) } else { (chosen, 0) };
            rows.push((format!("({})", keys.join(", ")), format!("5w{queue}, 3w{drop}")));
        }
    }
    rows
}

pub fn rifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Written {
    let (in_bytes, capacities) = read_capacities(reader, true)?;
    depths(file, reader, in_bytes, &capacities)?;
    require(reader, "mode", RifoMode::Pow2, "pow2")?;
    require(reader, "reset_counter", 1u64, "1")?;
    rifo::thresholds(file, reader, capacities[0])?;
    let rows = (0..16u32).rev().map(|exponent| {
        let highest = 1u64 << exponent;
        (format!("16w{highest} &&& 16w{}", 0x10000 - highest), format!("4w{exponent}"))
    });
    file.entries("LOG2", rows);
    Ok(())
}

pub fn exp_pifo(file: &mut File, reader: &mut Reader, scheduler: &dyn Scheduler) -> Written {
    let (in_bytes, capacities) = read_capacities(reader, false)?;
    depths(file, reader, in_bytes, &capacities)?;
    require(reader, "beta", BetaRounding::Floor, "floor")?;
    require(reader, "mapping", MappingKind::Comment, "comment")?;
    let beyond = reader.given::<Reset>("reset")? == Reset::Gt;
    let last = reader.given::<u64>("window_packets")? + u64::from(beyond) - 1;
    expect(reader, last <= MAX_RANK, "a window of less than 2^32 packets")?;
    file.integer("WINDOW_LAST", 32, last);
    let r_min: u64 = reader.given("r_min")?;
    let ranges = exp_pifo::exponents(r_min, BetaRounding::Floor);
    let ranges = ranges.into_iter().filter(|(low, _)| *low <= MAX_RANK).collect::<Vec<_>>();
    let mut logarithms = Vec::new();
    for (x, &(low, high)) in ranges.iter().enumerate() {
        logarithms.extend(prefixes(low, high.min(MAX_RANK)).into_iter().map(|key| (key, format!("8w{x}"))));
    }
    file.entries("LOGARITHM", logarithms);
    let mut queues = Vec::new();
    for beta in 0..ranges.len() {
        for (low, high, queue) in exp_pifo::queues_of(scheduler.queues(), r_min, exp_pifo::comment(reader)?, beta) {
            queues.extend((low..=high).map(|x| (format!("(8w{beta}, 8w{x})"), format!("5w{queue}"))));
        }
    }
    file.entries("QUEUE_OF", queues);
    Ok(())
}

/// The prefixes that together are `low..=high`, as values under masks of 32 bits.
fn prefixes(low: u64, high: u64) -> Vec<String> {
    let mut rows = Vec::new();
    let mut from = low;
    while from <= high {
        // The largest block that begins at `from` and ends in the range.
        let mut size = if from == 0 { MAX_RANK + 1 } else { from & from.wrapping_neg() };
        while from + size - 1 > high {
            size /= 2;
        }
        rows.push(format!("32w{from} &&& 32w{}", MAX_RANK + 1 - size));
        from += size;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::prefixes;

    #[test]
    fn prefixes_cover_a_range_once() {
        for (low, high) in [(0, 0), (0, 7), (3, 9), (1500, 2999), (1 << 31, u32::MAX.into()), (0, u32::MAX.into())] {
            let rows = prefixes(low, high);
            let matched = |rank: u64| {
                let of = |row: &&String| {
                    let parts = row.split(" &&& ").map(|part| part.trim_start_matches("32w").parse::<u64>().unwrap());
                    let [value, mask] = parts.collect::<Vec<_>>()[..] else { panic!("{row}") };
                    rank & mask == value
                };
                rows.iter().filter(of).count()
            };
            for rank in [low, high, low + (high - low) / 2, low + (high - low) / 3] {
                assert_eq!(matched(rank), 1, "{rank} in {low}..={high}");
            }
            for rank in
                [low.checked_sub(1), Some(high + 1).filter(|&rank| rank <= u32::MAX.into())].into_iter().flatten()
            {
                assert_eq!(matched(rank), 0, "{rank} beside {low}..={high}");
            }
        }
    }
}

//! Parameters for Tofino, whose pipeline can only compare, add and look up: tests are solved beforehand for a value
//! that a table can contain. Ranks have 32 bits (RIFO: 16), capacities are in the unit in which the switch reports
//! depths.

use crate::file::File;
use crate::quantile::of_algorithm_1;
use crate::setting::{Refusal, Setting};
use crate::{exp_pifo, rifo};
use pifolab_registry::variants::{Aifo, Packs, Rifo};
use pifolab_registry::{Arithmetic, Compare, RifoModeName as RifoMode};
use pifolab_sched::InspectExt;
use pifolab_sched::schedulers::{
    BetaRounding, Clamp, ExpPifoParams, Headroom, Mapping, Occupancy, OnFull, Order, PushDown, Quantile, Reset,
    ResetCounter, SpPifoParams, Update, WindowOptions,
};

/// The largest rank.
const MAX_RANK: u64 = u32::MAX as u64;
/// Depths and free space have 16 bits.
const DEPTH_BITS: u32 = 16;

type Written = Result<(), Refusal>;

fn expect(setting: &Setting<'_>, holds: bool, expected: &str) -> Written {
    if holds { Ok(()) } else { Err(setting.unsupported(format!("expected {expected}"))) }
}

/// Capacities have the unit of the traffic manager, and are its limits even if a program reads no depths.
fn depths(file: &mut File, setting: &Setting<'_>) -> Written {
    expect(setting, !setting.in_bytes, "capacities in packets: the switch does not report depths in bytes")?;
    let total: u64 = setting.capacities.iter().sum();
    expect(setting, total < 1 << DEPTH_BITS, "capacities of less than 65536 in all")?;
    file.integer("TOTAL", DEPTH_BITS, total);
    let queues = setting.capacities.iter().enumerate();
    file.each("EACH_QUEUE", queues.map(|(queue, capacity)| format!("{queue}, {DEPTH_BITS}w{capacity}")));
    Ok(())
}

pub fn fifo(file: &mut File, setting: &Setting<'_>) -> Written {
    depths(file, setting)
}

pub fn strict_priority(file: &mut File, setting: &Setting<'_>) -> Written {
    depths(file, setting)?;
    let (scheduler, queues) = (setting.scheduler(), setting.capacities.len());
    let bound = |queue| scheduler.queue_bound(queue).expect("fixed bounds are always known").max(0) as u64;
    let mut entries = Vec::new();
    for queue in 0..queues {
        let low = if queue == 0 { 0 } else { bound(queue) };
        let next = if queue + 1 < queues { bound(queue + 1) } else { MAX_RANK + 1 };
        if low < next && low <= MAX_RANK {
            let rows = prefixes(low, (next - 1).min(MAX_RANK));
            entries.extend(rows.into_iter().map(|key| (key, format!("5w{queue}"))));
        }
    }
    file.entries("QUEUE_OF", entries);
    Ok(())
}

pub fn sp_pifo(file: &mut File, setting: &Setting<'_>) -> Written {
    let SpPifoParams { push_down, order, on_full, clamp, .. } = *setting.params();
    depths(file, setting)?;
    setting.require("push_down", push_down.word(), PushDown::Cost.word())?;
    setting.require("order", order.word(), Order::ScanFirst.word())?;
    // The traffic manager drops a packet for which its queue has no room, after the program has updated the bounds.
    setting.require("on_full", on_full.word(), OnFull::Update.word())?;
    expect(setting, clamp == Clamp::Free, "no clamp")?;
    file.each("EACH_BOUND_FROM_LAST", (1..setting.capacities.len()).rev().map(|queue| queue.to_string()));
    Ok(())
}

/// The window is full of ranks 0 at the start: the initial content of registers.
fn window(file: &mut File, setting: &Setting<'_>, window: &WindowOptions<'_>) -> Written {
    let (size, most) = (u64::from(window.size), setting.target.window());
    if ![4, 8, 16].contains(&size) || size > most {
        return Err(setting.unsupported(format!("window = {size}: expected 4, 8 or 16")));
    }
    let zeros = window.start.len() as u64 == size && window.start.iter().all(|rank| rank.get() == 0);
    expect(setting, zeros, &format!("start_window = [{}], as registers start", vec!["0"; size as usize].join(", ")))?;
    setting.require("quantile", window.quantile.word(), Quantile::Lower.word())?;
    setting.require("update", window.update.word(), Update::Before.word())?;
    file.define("WINDOW", size);
    file.each("EACH_SLOT", 0..size);
    // A table to look up how many of at most eight answers are yes.
    let slots = size.min(8);
    let answers = |row: u32| (0..slots).map(|slot| (row >> slot & 1).to_string()).collect::<Vec<_>>().join(", ");
    let rows = (0..1u32 << slots).map(|row| (format!("({})", answers(row)), format!("8w{}", row.count_ones())));
    file.entries("ONES", rows);
    Ok(())
}

/// AIFO's test, solved for the occupancy: the largest that each count of lower ranks admits.
pub fn aifo(file: &mut File, setting: &Setting<'_>) -> Written {
    let Aifo { params, published, delay } = setting.params();
    setting.require("arithmetic", published.arithmetic.word(), Arithmetic::Exact.word())?;
    setting.require("sample", params.sample, 1)?;
    setting.require("headroom", published.headroom, true)?;
    depths(file, setting)?;
    setting.refuse_late_lengths(*delay)?;
    window(file, setting, &params.window())?;
    let (target, strict, slots) = (params.target(), published.compare == Compare::Below, u64::from(params.window));
    let headroom = Headroom::new(params.k, target);
    let passes = |count: u64, occupancy: u64| {
        let left = u128::from(count) * headroom.sheltered();
        let right = u128::from(target - occupancy) * u128::from(slots) * u128::from(headroom.scale());
        occupancy <= headroom.guaranteed() || if strict { left < right } else { left <= right }
    };
    // One more than the largest, so that 0 can mean that none is small enough.
    let beyond = |count| (0..=target).take_while(|&occupancy| passes(count, occupancy)).count();
    file.entries("BEYOND", (0..=slots).map(|count| (format!("8w{count}"), format!("{DEPTH_BITS}w{}", beyond(count)))));
    Ok(())
}

/// PACKS's test, solved for the free space: the least that each count of lower ranks needs.
pub fn packs(file: &mut File, setting: &Setting<'_>) -> Written {
    let Packs { params, delay, .. } = setting.params();
    of_algorithm_1(setting)?;
    depths(file, setting)?;
    let queues = setting.capacities.len();
    setting.require("queues", queues, 4)?;
    setting.require("occupancy", params.occupancy.word(), Occupancy::PerQueue.word())?;
    setting.require("fall_through", params.fall_through, true)?;
    setting.require("shift", params.shift, 0)?;
    setting.refuse_late_lengths(*delay)?;
    window(file, setting, &params.window())?;
    let headroom = Headroom::new(params.k, setting.capacities.iter().sum());
    let slots = u64::from(params.window);
    let unit = u128::from(slots) * u128::from(headroom.scale());
    let need = |count: u64| (u128::from(count) * headroom.sheltered()).div_ceil(unit);
    file.entries("NEED", (0..=slots).map(|count| (format!("8w{count}"), format!("{DEPTH_BITS}w{}", need(count)))));
    file.entries("CHOICE", choices(queues));
    Ok(())
}

/// The first queue that has room and whose test passes, as a list of masks of which the first match applies: masks of
/// the space that each queue lacks for its test, then of the free space of each.
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

pub fn rifo(file: &mut File, setting: &Setting<'_>) -> Written {
    let Rifo { params, mode, .. } = setting.params();
    depths(file, setting)?;
    setting.require("mode", mode.word(), RifoMode::Pow2.word())?;
    setting.require("reset_counter", params.reset_counter as u8, ResetCounter::One as u8)?;
    rifo::thresholds(file, setting)?;
    let rows = (0..16u32).rev().map(|exponent| {
        let highest = 1u64 << exponent;
        (format!("16w{highest} &&& 16w{}", 0x10000 - highest), format!("4w{exponent}"))
    });
    file.entries("LOG2", rows);
    Ok(())
}

pub fn exp_pifo(file: &mut File, setting: &Setting<'_>) -> Written {
    let ExpPifoParams { window, r_min, beta, mapping, reset, .. } = *setting.params();
    depths(file, setting)?;
    setting.require("beta", beta.word(), BetaRounding::Floor.word())?;
    setting.require("mapping", if mapping == Mapping::Bounds { "bounds" } else { "comment" }, "comment")?;
    let last = window + u64::from(reset == Reset::Gt) - 1;
    expect(setting, last <= MAX_RANK, "a window of less than 2^32 packets")?;
    file.integer("WINDOW_LAST", 32, last);
    let ranges = exp_pifo::exponents(r_min, BetaRounding::Floor);
    let ranges = ranges.into_iter().filter(|(low, _)| *low <= MAX_RANK).collect::<Vec<_>>();
    let mut logarithms = Vec::new();
    for (x, &(low, high)) in ranges.iter().enumerate() {
        logarithms.extend(prefixes(low, high.min(MAX_RANK)).into_iter().map(|key| (key, format!("8w{x}"))));
    }
    file.entries("LOGARITHM", logarithms);
    let mut queues = Vec::new();
    for beta in 0..ranges.len() {
        for (low, high, queue) in exp_pifo::queues_of(setting.capacities.len(), r_min, mapping, beta) {
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

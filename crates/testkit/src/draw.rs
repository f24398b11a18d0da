//! Settings common to many schedulers: drawn for the suite, fixed for vectors.

use crate::{Settings, Source};

/// The capacities of three queues, in packets.
pub(crate) const THREE: [u64; 3] = [3, 2, 4];
/// The capacities of three queues, in bytes.
pub(crate) const THREE_BYTES: [u64; 3] = [4_000, 2_500, 6_000];

/// Draws the capacity of a single buffer, and returns it.
pub(crate) fn draw_capacity(source: &mut Source<'_>, settings: &mut Settings) -> u64 {
    match source.below(8) {
        0 => 80,
        1 | 2 => {
            let bytes = source.from_to(1, 20_000);
            settings.integer("capacity_bytes", bytes);
            bytes
        }
        _ => {
            let packets = source.from_to(1, 20);
            settings.integer("capacity_packets", packets);
            packets
        }
    }
}

/// Draws the queues and their capacities, and returns the number of queues.
pub(crate) fn draw_queues(source: &mut Source<'_>, settings: &mut Settings) -> u64 {
    let queues = source.from_to(1, 6);
    let in_bytes = source.once_in(4);
    let name = if in_bytes { "queue_capacity_bytes" } else { "queue_capacity_packets" };
    let most = if in_bytes { 6_000 } else { 6 };
    match source.below(5) {
        0 if !in_bytes => 8,
        1 => {
            settings.integer("queues", queues);
            settings.integer(name, source.from_to(1, most));
            queues
        }
        _ => {
            let capacities: Vec<u64> = (0..queues).map(|_| source.from_to(1, most)).collect();
            settings.list(name, capacities);
            queues
        }
    }
}

/// Draws one bound per queue.
pub(crate) fn draw_bounds(source: &mut Source<'_>, settings: &mut Settings, name: &'static str, queues: u64) {
    let mut bounds: Vec<u64> = (0..queues).map(|_| source.below(100)).collect();
    bounds.sort_unstable();
    settings.list(name, bounds);
}

/// Draws the number of arrivals by which a test's occupancies are delayed, or keeps the default.
pub(crate) fn draw_delay(source: &mut Source<'_>, settings: &mut Settings) {
    if source.once_in(3) {
        settings.integer("occupancy_delay_packets", source.pick(&[1u64, 2, 3, 7, 30, 4096, 0]));
    }
}

/// Sets one of these fractions, or keeps the default.
pub(crate) fn draw_from(source: &mut Source<'_>, settings: &mut Settings, name: &'static str, fractions: &[[u64; 2]]) {
    if source.once_in(2) {
        settings.list(name, source.pick(fractions));
    }
}

/// Draws only the capacity of a single buffer.
pub(crate) fn single_buffer(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_capacity(source, &mut settings);
    settings
}

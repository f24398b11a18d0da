//! Any bytes as a capture: an error that names a place, or packets in order; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_units::Ratio;
use pifolab_workload::trace::{ByteOrder, OutOfOrder, RankWidth, TraceOptions, TraceRank, TraceReader};

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let widths = [RankWidth::One, RankWidth::Two, RankWidth::Four, RankWidth::Eight];
    let orders = [ByteOrder::Big, ByteOrder::Little];
    let rank = match choice & 3 {
        0 => TraceRank::Dscp,
        1 => TraceRank::Later,
        _ => TraceRank::Payload {
            offset: u32::from(choice >> 5),
            width: widths[usize::from(choice >> 2 & 3)],
            order: orders[usize::from(choice >> 4 & 1)],
        },
    };
    let read = |out_of_order| {
        let options = TraceOptions { rank, speed_up: Ratio::new(3, 2).unwrap(), out_of_order };
        let mut reader = match TraceReader::new(bytes, "fuzz", options) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(error.to_string().starts_with("fuzz"));
                return None;
            }
        };
        let mut arrivals = Vec::new();
        for arrival in reader.by_ref() {
            arrivals.push(arrival.ok()?);
        }
        assert!(arrivals.windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert!(arrivals.first().is_none_or(|first| first.time.as_ps() == 0));
        let flows = reader.flow_names().len();
        assert!(arrivals.iter().all(|arrival| arrival.bytes > 0 && (flows == 0 || (arrival.flow as usize) < flows)));
        assert_eq!(reader.counts().packets, arrivals.len() as u64);
        Some(arrivals)
    };
    // What can be read in order needs no sorting.
    if let Some(streamed) = read(OutOfOrder::Error) {
        assert_eq!(read(OutOfOrder::Sort), Some(streamed));
    }
});

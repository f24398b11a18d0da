//! Any text as a CSV trace: an error that names a place, or packets in order; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_units::Ratio;
use pifolab_workload::trace::{OutOfOrder, TraceOptions, TraceRank, TraceReader};

const HEADERS: [&str; 4] =
    ["", "time_ns,size_bytes,rank,flow\n", "flow,time_us,size_bytes,eligible_ns\n", "size_bytes,rank,time_s\n"];

fuzz_target!(|input: (u8, &str)| {
    let (choice, rows) = input;
    // A header that is right, as a rule, lets the fuzzer get to the rows.
    let text = format!("{}{rows}", HEADERS[usize::from(choice & 3)]);
    let rank = if choice & 4 == 0 { TraceRank::Column } else { TraceRank::Later };
    let out_of_order = if choice & 8 == 0 { OutOfOrder::Error } else { OutOfOrder::Sort };
    let options = TraceOptions { rank, speed_up: Ratio::ONE, out_of_order };
    let Ok(mut reader) = TraceReader::new(text.as_bytes(), "fuzz", options) else { return };
    let mut last = None;
    while let Some(arrival) = reader.next() {
        match arrival {
            Ok(arrival) => {
                assert!(arrival.bytes > 0 && last.is_none_or(|last| last <= arrival.time));
                assert!(reader.eligible() >= arrival.time);
                last = Some(arrival.time);
            }
            Err(error) => assert!(error.to_string().starts_with("fuzz")),
        }
    }
});

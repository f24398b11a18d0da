//! Any text as a matrix of weights: an error that names the file, or pairs of hosts that exist.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Pairs};

const HOSTS: u32 = 16;

fuzz_target!(|input: (bool, &str)| {
    let (with_header, rows) = input;
    let header = if with_header { "src,dst,weight\n" } else { "" };
    match Pairs::from_reader(format!("{header}{rows}").as_bytes(), "fuzz", HOSTS) {
        Ok(pairs) => {
            let source = FlowSource {
                hosts: HOSTS,
                arrivals: FlowArrivals::Periodic { period: Span::from_us(1) },
                sizes: FlowSizes::fixed(1).expect("a byte is a size"),
                pairs,
                start: Time::ZERO,
                end: Time::MAX,
                flows: 200,
            };
            let drawn: Vec<_> = source.stream(1, "fuzz").expect("the weights were read for these hosts").collect();
            assert!(drawn.len() == 200);
            assert!(drawn.iter().all(|flow| flow.src != flow.dst && flow.src < HOSTS && flow.dst < HOSTS));
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
});

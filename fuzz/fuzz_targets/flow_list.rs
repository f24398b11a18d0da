//! Any text as a flow list: an error that names the file, or flows that can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_workload::flows::{flows_from, write_flows};

fuzz_target!(|input: (bool, &str)| {
    let (with_header, rows) = input;
    let header = if with_header { "flow,src,dst,size_bytes,start_ns\n" } else { "" };
    match flows_from(format!("{header}{rows}").as_bytes(), "fuzz", Some(1_000)) {
        Ok(flows) => {
            assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.bytes > 0));
            let mut written = Vec::new();
            write_flows(&flows, &mut written).expect("a vector takes every write");
            assert_eq!(flows_from(&written[..], "again", Some(1_000)), Ok(flows));
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
});

//! Any text as a flow file of the HPCC simulator: an error that names the file, or flows that can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_workload::flows::{hpcc_flows_from, write_hpcc_flows};

fuzz_target!(|input: (Option<u8>, &str)| {
    let (count, rows) = input;
    let header = count.map_or(String::new(), |count| format!("{count}\n"));
    match hpcc_flows_from(format!("{header}{rows}").as_bytes(), "fuzz", None, &[]) {
        Ok((flows, _)) => {
            assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.bytes > 0));
            assert!(flows.is_sorted_by_key(|flow| flow.start));
            let mut written = Vec::new();
            write_hpcc_flows(&flows, &[], &mut written).expect("a vector takes every write");
            assert_eq!(hpcc_flows_from(&written[..], "again", None, &[]), Ok((flows, 0)));
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
});

//! Any text as a flow list or pair weights: an error that names the file, or flows that can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_workload::flows::{Pairs, flows_from, hpcc_flows_from, write_flows, write_hpcc_flows};

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
    let header = if with_header { "1\n" } else { "" };
    match hpcc_flows_from(format!("{header}{rows}").as_bytes(), "fuzz", None) {
        Ok(flows) => {
            let mut written = Vec::new();
            write_hpcc_flows(&flows, &mut written).expect("a vector takes every write");
            assert_eq!(hpcc_flows_from(&written[..], "again", None), Ok(flows));
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
    let header = if with_header { "src,dst,weight\n" } else { "" };
    if let Err(error) = Pairs::from_reader(format!("{header}{rows}").as_bytes(), "fuzz", 16) {
        assert!(error.to_string().starts_with("fuzz"));
    }
});

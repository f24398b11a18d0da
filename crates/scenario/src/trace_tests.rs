//! Scenarios that replay a trace, and files that they name.

use crate::Report;
use crate::testing::{Folder, integers};
use pifolab_metrics::Column;

/// Runs a scenario that lies in this folder.
fn run(folder: &Folder, workload: &str, rest: &str) -> Result<Report, String> {
    let report = folder.run(&format!(
        "{rest}\n[link]\nrate_mbps = 8\n[workload]\n{workload}\n[[scheduler]]\nname = \"pifo\"\n[[scheduler]]\nname = \"fifo\"\n"
    ));
    report.map_err(|error| error.to_string().replace(&format!("{}/", folder.0.display()), ""))
}

/// Two flows; at 8 Mb/s a byte takes a microsecond, so the packets pile up.
const TRACE: &str = "time_us,size_bytes,rank,flow\n0,1000,5,a\n1,1000,9,a\n2,100,2,b\n3,1000,7,a\n";

#[test]
fn a_trace_is_replayed_with_its_own_ranks_and_flow_names() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    let report = run(&folder, "trace = \"t.csv\"\ntrace_rank = \"column\"", "").unwrap();
    assert_eq!(integers(&report, "schedulers", "arrived_packets"), [4, 4]);
    assert_eq!(integers(&report, "schedulers", "inversions"), [0, 1]);
    let names = report.table("flows").unwrap().column("flow_name").cloned();
    assert_eq!(names, Some(Column::Texts(["a", "b", "a", "b"].into_iter().collect())));
    assert_eq!(report.manifest["random"], false);
    let contents = &report.manifest["spec"]["workload"]["trace_contents"];
    let numbers = ["bytes", "flows", "last_arrival_ns", "packets"].map(|key| contents[key].as_u64().unwrap());
    assert_eq!(numbers, [3100, 2, 3000, 4]);
    // Ten times faster than recorded, the last arrival comes at 300 ns.
    let faster = run(&folder, "trace = \"t.csv\"\ntrace_rank = \"column\"\nspeed_up = 10", "").unwrap();
    assert_eq!(faster.manifest["spec"]["workload"]["trace_contents"]["last_arrival_ns"], 300);
}

#[test]
fn the_manifest_says_what_of_a_capture_could_not_be_told_apart() {
    let folder = Folder::new();
    // A pcap file on raw IP: an IPv4 packet of UDP, two bytes that are not IP, and the start of a third packet.
    let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8, 0, 0];
    let mut bytes = Vec::new();
    for field in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101, 0, 0, 28, 28] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend_from_slice(&ip);
    for field in [0u32, 1, 2, 2] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    bytes.extend_from_slice(&[0x95, 0x95, 1, 2, 3]);
    folder.write("t.pcap", bytes);
    let report = run(&folder, "trace = \"t.pcap\"\ntrace_rank = \"dscp\"", "").unwrap();
    let contents = &report.manifest["spec"]["workload"]["trace_contents"];
    assert_eq!((contents["packets"].as_u64(), contents["not_ip_packets"].as_u64()), (Some(2), Some(1)));
    assert_eq!(contents["unread_tunnel_packets"], 0);
    assert_eq!(contents["fragment_packets"], 0);
    let line = "packet 3 at byte 86: the file is cut off in the packet's header: 3 of 16 bytes; it was left out";
    assert_eq!(contents["left_out"], line);
}

#[test]
fn a_trace_tells_rank_functions_the_sizes_of_flows() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    let ranks = |function: &str| {
        let report = run(&folder, "trace = \"t.csv\"", &format!("rank = {{ name = \"{function}\" }}")).unwrap();
        let ranks = integers(&report, "ranks", "rank");
        ranks[..ranks.len() / 2].to_vec()
    };
    assert_eq!(ranks("flow-size"), [100, 3000]);
    assert_eq!(ranks("remaining-size"), [100, 1000, 2000, 3000]);
    assert_eq!(ranks("las"), [0, 1000, 2000]);
}

#[test]
fn a_column_holds_packets_back_in_pieo_alone_and_in_a_tree_while_others_send_them_at_once() {
    let folder = Folder::new();
    // At 8 Mb/s a byte takes a microsecond. The first packet may leave when the third arrives.
    folder.write(
        "t.csv",
        "time_us,size_bytes,rank,flow,eligible_us\n10,100,1,a,400\n11,100,5,b,11\n400,100,3,a,0\n401,100,2,b,700\n",
    );
    let run = |rank: &str| {
        let text = format!(
            "rank = {{ {rank} }}\nlink = {{ rate_mbps = 8 }}\n\
             workload = {{ trace = \"t.csv\", trace_rank = \"column\" }}\n\
             scheduler = [{{ name = \"pieo\" }}, {{ name = \"tree\", child = [{{ name = \"pieo\", takes = \"0\" }}, \
             {{ name = \"pieo\", takes = \"rest\" }}] }}, {{ name = \"pifo\" }}]"
        );
        folder.run(&text).unwrap()
    };
    let waits = |report: &Report| {
        let Some(Column::Reals(waits)) = report.table("ranks").and_then(|table| table.column("sojourn_mean_ns")) else {
            panic!("{:?}", report.table("ranks"))
        };
        waits.iter().map(|wait| *wait as u64 / 1_000).collect::<Vec<_>>()
    };
    let report = run("name = \"carried\"");
    // Of the ranks 1, 2, 3 and 5 with PIEO alone, in a tree, and with PIFO.
    assert_eq!(waits(&report), [390, 299, 100, 0, 390, 299, 100, 0, 0, 99, 0, 99]);
    assert_eq!(report.manifest["spec"]["workload"]["trace_contents"]["held_back_packets"], 2);
    // A bucket of 100 bytes and 0.8 Mb/s lets a packet pass each 1,000 us; the later time of both counts.
    let report = run("name = \"token-bucket\", rate_gbps = 0.0008, burst_bytes = 100");
    assert_eq!(waits(&report)[..4], [390, 2_609, 1_610, 999]);
}

#[test]
fn a_histogram_beside_the_scenario_is_found() {
    let folder = Folder::new();
    folder.write("h.csv", "3,1\n8,1\n");
    let workload = "arrivals = \"constant\"\nrate_mbps = 16\nsize_bytes = 100\n\
                    ranks = { distribution = \"histogram\", file = \"h.csv\" }";
    let ranks = integers(&run(&folder, workload, "duration_ms = 10").unwrap(), "ranks", "rank");
    assert_eq!(ranks, [3, 8, 3, 8]);
    folder.write("h.csv", "3,one\n");
    assert_eq!(run(&folder, workload, "duration_ms = 10").unwrap_err().split(": ").next(), Some("h.csv:1"));
}

#[test]
fn faults_of_traces_name_file_line_and_key() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    folder.write("bad.csv", "time_us,size_bytes,rank,flow\n0,1000,5,a\n1,many,9,a\n");
    folder.write("empty.csv", "");
    let cases = [
        ("trace = \"t.csv\"", "", "x.toml:4: workload.trace_rank: is missing: expected where ranks come from"),
        ("trace = \"t.csv\"\ntrace_rank = \"dscp\"", "", "t.csv: a CSV trace has no headers"),
        ("trace = \"bad.csv\"\ntrace_rank = \"column\"", "", "bad.csv:3: size_bytes: "),
        ("trace = \"empty.csv\"\ntrace_rank = \"column\"", "", "empty.csv: empty: expected"),
        ("trace = \"none.csv\"\ntrace_rank = \"column\"", "", "none.csv: cannot be opened: "),
        ("trace = \"t.csv\"\ntrace_rank = \"column\"\nspeed_up = 0", "", "x.toml:7: workload.speed_up = 0: "),
        ("trace = \"t.csv\"\nsize_bytes = 5\ntrace_rank = \"column\"", "", "x.toml:6: workload.size_bytes: has no"),
        (
            "trace = \"t.csv\"\ntrace_rank = \"payload\"\npayload_offset_bytes = 0\npayload_width_bytes = 3",
            "",
            "x.toml:8: workload.payload_width_bytes = 3: expected 1, 2, 4 or 8",
        ),
        (
            "trace = \"t.csv\"\ntrace_rank = \"column\"",
            "rank = { name = \"las\" }",
            "x.toml:6: workload.trace_rank: has no effect with the other keys: remove it",
        ),
        (
            "trace = \"t.csv\"",
            "rank = { name = \"unacknowledged\" }",
            "x.toml:1: rank: unacknowledged needs acknowledgements, which no packet on a single link gets",
        ),
        (
            "arrivals = \"constant\"\nrate_mbps = 1\nsize_bytes = 100",
            "packets = 5\nrank = { name = \"flow-size\" }",
            "x.toml:2: rank: flow-size needs the sizes of flows, which only a trace has",
        ),
    ];
    for (workload, rest, expected) in cases {
        let error = run(&folder, workload, rest).unwrap_err();
        assert!(error.starts_with(expected), "{workload}\n     got {error}\nexpected {expected}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn the_manifest_says_whether_anything_depends_on_the_seed() {
    let folder = Folder::new();
    let random = |source: &str| {
        let source = format!("rate_mbps = 9\n{source}");
        run(&folder, &source, "duration_ms = 2").unwrap().manifest["random"].as_bool().unwrap()
    };
    let fixed = "size_bytes = 100\nranks = { distribution = \"constant\", value = 3 }";
    assert!(!random(&format!("arrivals = \"constant\"\n{fixed}")));
    assert!(random(&format!("arrivals = \"poisson\"\n{fixed}")));
    assert!(random("arrivals = \"constant\"\nsize_bytes = 100\nranks = \"uniform\""));
    assert!(!random("arrivals = \"constant\"\nsize_bytes = 100\nrank_sequence = [1, 2, 3]\nrepeat_sequence = true"));
}

#[test]
fn a_speed_up_that_is_no_fraction_of_two_numbers_of_32_bits_is_told_as_such() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    for speed_up in ["2e-10", "4294967296"] {
        let error = run(&folder, &format!("trace = \"t.csv\"\ntrace_rank = \"column\"\nspeed_up = {speed_up}"), "");
        let error = error.unwrap_err();
        assert!(error.contains("a fraction of two integers below 2^32, such as \"1/5000000\""), "{error}");
    }
}

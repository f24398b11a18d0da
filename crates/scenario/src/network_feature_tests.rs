//! Topologies, recordings, failures and buffers of scenarios.

use super::*;
use crate::testing::{Folder, integers, run_spec, texts};
use pifolab_metrics::Column;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

const TAIL: &str = r#"
[transport]
name = "newreno"

[workload.flows]
arrivals = "periodic"
period_us = 10
max_flows = 1
sizes = "fixed"
size_bytes = 1460
pairs = "incast"
senders = 1
receiver = 0

[[scheduler]]
name = "fifo"
"#;

fn with(topology: &str) -> String {
    format!("duration_ms = 1\n[topology]\n{topology}{TAIL}")
}

fn spec(text: &str) -> Result<ValidSpec, String> {
    read_text(text, "x.toml", &[], None, &()).map_err(|error| error.to_string())
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Result<Report, String> {
    crate::testing::run(text, overrides).map_err(|error| error.to_string())
}

const SINGLE: &str = "kind = \"single-switch\"\nhosts = 5\nrate_gbps = 1\ndelay_us = 1\n";
const FAT_TREE: &str = "kind = \"fat-tree\"\nk = 4\naccess_rate_gbps = 1\ndelay_us = 1\n";
const DUMBBELL: &str = "kind = \"dumbbell\"\nleft_hosts = 2\nright_hosts = 3\naccess_rate_gbps = 10\nbottleneck_rate_gbps = 1\ndelay_us = 1\n";
const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\naccess_rate_gbps = 1\n\
                          oversubscription = 2\ndelay_us = 1\n";

#[test]
fn every_kind_of_network_has_its_hosts_ports_and_names() {
    for (text, hosts, nodes, ports, kinds) in [
        (SINGLE, 5, 6, 10, vec!["host", "switch-down"]),
        (FAT_TREE, 16, 36, 96, vec!["aggregation-down", "aggregation-up", "core", "edge-down", "edge-up", "host"]),
        (DUMBBELL, 5, 7, 12, vec!["between-switches", "host", "switch-down"]),
        (LEAF_SPINE, 16, 20, 40, vec!["host", "leaf-down", "leaf-up", "spine"]),
    ] {
        let report = run(&with(text), &[]).unwrap();
        let shown = &report.manifest["spec"]["topology"];
        assert_eq!((&shown["hosts"], &shown["nodes"], &shown["ports"]), (&json!(hosts), &json!(nodes), &json!(ports)));
        let mut found = texts(&report, "ports", "kind");
        found.sort();
        found.dedup();
        assert_eq!(found, kinds);
        assert_eq!(integers(&report, "schedulers", "completed_flows"), [1], "{text}");
    }
    // 8 hosts of 1 Gb/s against 2 spines: 4 Gb/s up, in two links.
    let report = run(&with(LEAF_SPINE), &[]).unwrap();
    assert_eq!(report.manifest["spec"]["topology"]["fabric_rate_bps"], 2_000_000_000u64);
    let fabric = report.manifest["spec"]["topology"]["oversubscription"].as_f64();
    assert_eq!(fabric, Some(2.0));
}

#[test]
fn a_fat_tree_flow_takes_the_time_of_its_six_links() {
    // One segment from another pod: SYN, SYN+ACK, handshake ACK with the data right behind it, ACK; at 1 Gb/s 40 B take
    // 320 ns and 1500 B 12,000 ns; six links of 1 us.
    let flows = "workload.flows";
    let report = run(&with(FAT_TREE), &[(&format!("{flows}.pairs"), "file"), (&format!("{flows}.size_bytes"), "1460")]);
    assert!(report.unwrap_err().contains("pairs_file: is missing"));
    let text = with(FAT_TREE).replace("pairs = \"incast\"\nsenders = 1\nreceiver = 0", "pairs = \"uniform\"");
    let report = run(
        &text,
        &[("duration_ms", "20"), (&format!("{flows}.max_flows"), "40"), (&format!("{flows}.period_us"), "200")],
    )
    .unwrap();
    let (src, dst) = (integers(&report, "flows", "src"), integers(&report, "flows", "dst"));
    let fct = integers(&report, "flows", "fct_ns");
    let mut seen = [0; 3];
    for ((src, dst), fct) in src.into_iter().zip(dst).zip(fct) {
        let (kind, hops) = match (src / 2 == dst / 2, src / 4 == dst / 4) {
            (true, _) => (0, 2),
            (false, true) => (1, 4),
            (false, false) => (2, 6),
        };
        seen[kind] += 1;
        let empty = hops * (320 + 1_000);
        assert_eq!(fct, 3 * empty + 320 + hops * 13_000, "{src} to {dst}");
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn an_incast_fills_the_last_port_one_segment_after_the_other() {
    // Four hosts start together: four SYNs meet at the port to host 0, and so do four segments.
    let report = run(&with(SINGLE), &[("workload.flows.senders", "4"), ("workload.flows.max_flows", "4")]).unwrap();
    let mut fct = integers(&report, "flows", "fct_ns");
    fct.sort_unstable();
    // The n-th SYN leaves n x 320 ns later, and so do the answers, on a link of their own each. The handshake's ACK and
    // the data behind it follow: the first data packet reaches the switch when all handshakes are through. Data packets
    // come 320 ns apart and leave 12,000 ns apart. Their acknowledgements have free links.
    let link = |bytes: i64| bytes * 8 + 1_000;
    let first = 2 * link(40) + 2 * link(40) + 320 + 2 * link(1_500) + 2 * link(40);
    assert_eq!(fct, [0, 1, 2, 3].map(|n| first + n * 12_000));
}

/// Data packets that reached host 0.
fn count_data(report: &Report) -> i64 {
    integers(report, "arrival_order", "payload_bytes").len() as i64
}

#[test]
fn what_is_recorded_adds_up_with_the_tables() {
    let record = "[record]\nsample_interval_us = 5\npacket_log = [\"switch0->host0\"]\narrival_order = [\"host0\"]\n\
                  throughput_interval_us = 50\nreordering = true\n";
    let text = format!("{}\n{record}", with(SINGLE));
    let overrides = [
        ("duration_ms", "80"),
        ("workload.flows.senders", "4"),
        ("workload.flows.max_flows", "8"),
        ("workload.flows.size_bytes", "30000"),
        ("scheduler", "[{ name = \"sp-pifo\", queues = 2, queue_capacity_packets = 5 }]"),
        ("transport.name", "pfabric"),
    ];
    let report = run(&text, &overrides).unwrap();
    // Port 1 leads from the switch to host 0.
    let of_port = |column: &str| integers(&report, "ports", column)[1];
    let events = texts(&report, "packet_log", "event");
    let count = |event: &str| events.iter().filter(|found| *found == event).count() as i64;
    assert_eq!(count("dequeue"), of_port("sent_packets"));
    assert_eq!(count("enqueue") + count("drop"), of_port("arrived_packets"));
    assert_eq!(count("drop"), of_port("dropped_full"));
    assert!(count("drop") > 0);
    let times = integers(&report, "packet_log", "time_ns");
    assert!(times.is_sorted());
    let sizes = integers(&report, "packet_log", "size_bytes");
    let payloads = integers(&report, "packet_log", "payload_bytes");
    assert!(sizes.iter().zip(&payloads).all(|(size, payload)| size - payload == 40));
    let ranks = integers(&report, "packet_log", "rank");
    let seqs = integers(&report, "packet_log", "seq_bytes");
    let kinds = texts(&report, "packet_log", "kind");
    for ((kind, rank), seq) in kinds.iter().zip(&ranks).zip(&seqs) {
        assert!(kind != "data" || *rank == 30_000 - seq, "{kind} {rank} {seq}");
    }
    assert!(["syn", "ack", "data"].iter().all(|kind| kinds.iter().any(|found| found == kind)));
    // The bytes delivered for the first time are those of the flows, and at most those that arrived.
    let delivered: i64 = integers(&report, "throughput", "bytes").iter().sum();
    let arrived: i64 = integers(&report, "arrival_order", "payload_bytes").iter().sum();
    let acknowledged: i64 = integers(&report, "flows", "acknowledged_bytes").iter().sum();
    assert!(acknowledged <= delivered && delivered <= arrived, "{acknowledged} {delivered} {arrived}");
    assert_eq!(integers(&report, "schedulers", "completed_flows"), [8]);
    assert_eq!(delivered, 8 * 30_000);
    // Ranks are remaining sizes: later segments of a flow overtake those before them.
    let reordered: i64 = integers(&report, "reordering", "reordered_packets").iter().sum();
    let of_flows: i64 = integers(&report, "reordering", "delivered_packets").iter().sum();
    assert!(0 < reordered && reordered < of_flows, "{reordered} of {of_flows}");
    assert_eq!(of_flows, count_data(&report));
    assert!(integers(&report, "reordering", "largest_extent_packets").iter().all(|extent| *extent < of_flows));
    // Samples: per queue they make up the port, at most one per interval.
    let sampled = integers(&report, "port_samples", "packets");
    let of_queues: i64 = integers(&report, "port_queue_samples", "packets").iter().sum();
    assert_eq!(sampled.iter().sum::<i64>(), of_queues);
    assert!(sampled.iter().any(|packets| *packets > 5));
    assert_eq!(report.manifest["runs"][0]["rows_left_out"]["packet_log"], 0);
    // Recording changes nothing, and the limit is kept.
    let plain = run(&with(SINGLE), &overrides).unwrap();
    assert_eq!(plain.manifest["trace_hash"], report.manifest["trace_hash"]);
    let limited = run(&text, &[&overrides[..], &[("record.max_rows", "3")]].concat()).unwrap();
    assert_eq!(limited.table("packet_log").unwrap().rows(), 3);
    let left_out = limited.manifest["runs"][0]["rows_left_out"]["packet_log"].as_u64();
    assert_eq!(left_out, Some(events.len() as u64 - 3));
}

#[test]
fn an_interrupted_run_keeps_the_first_rows_of_its_records_and_says_so() {
    let record = "[record]\nsample_interval_us = 1\nsample_ports = [\"all\"]\npacket_log = [\"all\"]\n";
    let overrides =
        [("duration_ms", "20000"), ("workload.flows.senders", "4"), ("workload.flows.max_flows", "1000000")];
    let report = run_text(&format!("{}\n{record}", with(SINGLE)), "x.toml", &overrides, None, 1, &(), &mut |state| {
        state.network.is_none_or(|network| network.events < 100_000)
    });
    let report = report.unwrap();
    assert!(report.partial);
    // The unit tests' limit is a thousand rows.
    assert_eq!(report.table("packet_log").unwrap().rows(), 1_000);
    assert!(integers(&report, "packet_log", "time_ns").is_sorted());
    for table in ["port_samples", "port_queue_samples", "flows"] {
        assert!((1..=1_000).contains(&report.table(table).unwrap().rows()), "{table}");
    }
    let left_out = &report.manifest["runs"][0]["rows_left_out"];
    let log = left_out["packet_log"].as_u64().unwrap();
    assert!(log > 0 && left_out["port_samples"].as_u64() > Some(0), "{left_out}");
    let said = format!("fifo: interrupted: packet_log has the first 1000 of {} rows", log + 1_000);
    let warnings = report.manifest["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| *warning == said.as_str()), "{warnings:?}");
}

/// Interrupts after this many calls of `Extras::interrupted`.
struct Interrupts(AtomicU32);
impl Extras for Interrupts {
    fn interrupted(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

#[test]
fn a_run_can_be_cancelled_wherever_its_routes_are_computed() {
    let run = |asked: u32| run_text(&with(DUMBBELL), "x.toml", &[], None, 1, &Interrupts(asked.into()), &mut |_| true);
    // Two switches and seven nodes: `Extras::interrupted` is called for each, and not before.
    for asked in 1..=9 {
        assert_eq!(run(asked).unwrap_err(), Error::Cancelled, "{asked}");
    }
    assert!(!run(10).unwrap().partial);
}

#[test]
fn a_run_that_is_interrupted_while_its_tables_are_made_keeps_the_first_rows_and_is_whole() {
    let overrides = [("duration_ms", "20"), ("workload.flows.max_flows", "2000")];
    let text = format!("{}\n[record]\npacket_log = [\"all\"]\n", with(SINGLE));
    let run = |asked: u32| {
        let extras = Interrupts(asked.into());
        let report = run_text(&text, "x.toml", &overrides, None, 1, &extras, &mut |_| true).unwrap();
        assert!(!report.partial);
        let left_out = report.manifest["runs"][0]["rows_left_out"]["packet_log"].as_u64().unwrap();
        (report.table("packet_log").unwrap().clone(), left_out, report.manifest["warnings"].clone())
    };
    let (whole, left_out, warnings) = run(u32::MAX);
    assert_eq!((left_out, &warnings), (0, &json!([])));
    assert!(whole.rows() > 2_000);
    let first = |column: &Column| match column {
        Column::Integers(values) => Column::Integers(values[..1_000].to_vec()),
        Column::Optional(values) => Column::Optional(values[..1_000].to_vec()),
        Column::Reals(values) => Column::Reals(values[..1_000].to_vec()),
        Column::Texts(values) => Column::Texts(values.iter().take(1_000).collect()),
    };
    // Interrupts before the table of the log is begun, during its rows, and when it is longer than an interrupted one
    // may be.
    for asked in [1, 2, 3, 8, 18] {
        let (log, left_out, warnings) = run(asked);
        assert_eq!((log.rows(), left_out), (1_000, whole.rows() as u64 - 1_000), "{asked}");
        let said = format!("fifo: interrupted: packet_log has the first 1000 of {} rows", whole.rows());
        // The table of flows has been made before.
        assert_eq!(warnings.as_array().unwrap().len(), if asked == 1 { 2 } else { 1 }, "{warnings}");
        assert_eq!(warnings[0], said.as_str());
        if asked > 2 {
            let kept = whole.columns.iter().map(|(name, column)| (*name, first(column))).collect::<Vec<_>>();
            assert_eq!(log.columns, kept, "{asked}");
        }
    }
}

#[test]
fn tables_of_samples_look_for_an_interruption_while_they_are_made() {
    let record = "[record]\nsample_interval_us = 1\nsample_ports = [\"all\"]\n";
    let overrides = [("duration_ms", "20"), ("workload.flows.max_flows", "2000")];
    let run = |asked: u32| {
        let extras = Interrupts(asked.into());
        let text = format!("{}\n{record}", with(SINGLE));
        let report = run_text(&text, "x.toml", &overrides, None, 1, &extras, &mut |_| true).unwrap();
        let columns = |table: &str| report.table(table).unwrap().columns.clone();
        (columns("port_samples"), columns("port_queue_samples"), report.manifest["warnings"].clone())
    };
    let rows = |columns: &[(&str, Column)]| columns[0].1.len();
    let whole = run(u32::MAX);
    assert_eq!((rows(&whole.0) > 2_000, &whole.2), (true, &json!([])));
    // Called first for the table of flows, then before the samples, and after each hundred rows of them.
    for asked in [2, 3, 5, 11] {
        let (samples, queues, warnings) = run(asked);
        assert_eq!((rows(&samples), rows(&queues)), (1_000, 1_000), "{asked}");
        let said = format!("fifo: interrupted: port_samples has the first 1000 of {} rows", rows(&whole.0));
        assert!(warnings.as_array().unwrap().contains(&json!(said)), "{warnings}");
        let times = |columns: &[(&str, Column)]| match columns.iter().find(|(name, _)| *name == "time_ns") {
            Some((_, Column::Integers(times))) => times[..1_000].to_vec(),
            _ => panic!("no times"),
        };
        assert_eq!(times(&samples), times(&whole.0), "{asked}");
    }
}

#[test]
fn a_network_on_which_no_flow_got_anywhere_says_so() {
    let warnings = |text: &str, overrides: &[(&str, &str)]| run(text, overrides).unwrap().manifest["warnings"].clone();
    let slow = with(&SINGLE.replace("rate_gbps = 1", "rate_bps = 1000"));
    let said = |flows: &str| json!([format!("fifo: {flows} in 1 ms: expected a longer run, or {}", "faster links")]);
    assert_eq!(warnings(&slow, &[]), said("none of 1 flows delivered any data"));
    assert_eq!(
        warnings(&slow.replace("\"newreno\"", "\"udp\"\npayload_bytes = 1460\ninterval_us = 1"), &[]),
        said("none of 1 flows delivered any data")
    );
    assert_eq!(warnings(&with(SINGLE), &[]), json!([]));
    let never = with(SINGLE).replace("\"periodic\"\nperiod_us = 10", "\"poisson\"\nstarts_per_s = 0.001");
    let none = "fifo: no flow started in 1 ms: expected a longer run, or more flows per second";
    assert_eq!(warnings(&never, &[]), json!([none]));
}

fn udp_hosts(hosts: &[u32], interval: &str) -> String {
    let host = |host| format!("[[transport.udp]]\nhost = {host}\ninterval{interval}\n");
    let tables: String = hosts.iter().map(host).collect();
    with(SINGLE).replace("[workload.flows]", &format!("{tables}\n[workload.flows]"))
}

#[test]
fn flows_of_a_udp_host_leave_at_their_interval_and_those_of_the_others_are_tcp() {
    let fct = |text: &str| integers(&run(text, &[]).unwrap(), "flows", "fct_ns");
    let tcp = with(SINGLE).replace("size_bytes = 1460", "size_bytes = 14600");
    for interval_us in [1, 11, 12, 13, 50, 87] {
        // 1500 bytes take 12 us at each of two links, and 1 us on each wire; a queue forms below 12 us.
        let expected = [(9 * interval_us.max(12) + 26) * 1000];
        let udp = udp_hosts(&[1, 2, 3, 4], &format!("_us = {interval_us}"));
        assert_eq!(fct(&udp.replace("size_bytes = 1460", "size_bytes = 14600")), expected, "{interval_us}");
    }
    let other = udp_hosts(&[0], "_us = 1").replace("size_bytes = 1460", "size_bytes = 14600");
    assert_eq!(fct(&other), fct(&tcp), "host 0 only receives");
    let report = run(&other, &[]).unwrap();
    assert_eq!(
        report.manifest["warnings"],
        json!(["transport.udp: host 0 sends no flow: never exercised: its interval"])
    );
    assert_eq!(report.manifest["spec"]["transport"]["udp"], json!([{"host": 0, "interval_ns": 1000.0}]));
}

#[test]
fn udp_hosts_take_what_their_link_carries_from_the_tcp_of_another() {
    let text = udp_hosts(&[1, 2, 3], "_us = 24")
        .replace("size_bytes = 1460", "size_bytes = 146000")
        .replace("senders = 1", "senders = 4")
        .replace("max_flows = 1", "max_flows = 4")
        .replace("duration_ms = 1", "duration_ms = 40");
    let report = run(&text, &[]).unwrap();
    let (sources, retransmissions) = (integers(&report, "flows", "src"), integers(&report, "flows", "retransmissions"));
    for (source, again) in sources.iter().zip(retransmissions) {
        assert_eq!(*source == 4, again > 0, "only TCP loses packets and sends them again");
    }
    assert!(integers(&report, "schedulers", "dropped_packets")[0] > 0);
}

#[test]
fn losses_of_udp_hosts_do_not_hide_keys_of_tcp() {
    let folder = Folder::new();
    let text = udp_hosts(&[3, 4], "_us = 12").replace("\"fifo\"", "\"fifo\"\ncapacity_packets = 5");
    let said = |receiver: u32| {
        let rows = format!("0,3,0,146000,0\n1,4,0,146000,0\n2,2,{receiver},14600,0\n");
        let flows = folder.write("flows.csv", format!("flow,src,dst,size_bytes,start_ns\n{rows}"));
        let key = [("transport.duplicate_threshold", "5"), ("transport.accept_data_in_handshake", "false")];
        let report = run_spec(&read_text(&text, "x.toml", &key, Some(&flows), &()).unwrap()).unwrap();
        assert!(integers(&report, "schedulers", "dropped_packets")[0] > 50);
        report.manifest["warnings"].to_string()
    };
    let lost =
        "no data of TCP was lost or overtaken, and no timer expired: never exercised: transport.duplicate_threshold\"";
    assert!(said(1).contains(lost), "{}", said(1));
    assert!(!said(0).contains("transport.duplicate_threshold"), "{}", said(0));
}

#[test]
fn a_wrong_udp_host_names_the_key() {
    let refused = |text: &str| spec(text).map(|_| ()).unwrap_err();
    for (text, expected) in [
        (udp_hosts(&[5], "_us = 1"), "host = 5: expected a host, 0 to 4"),
        (udp_hosts(&[1, 1], "_us = 1"), "host = 1: expected every host once"),
        (udp_hosts(&[1], "_us = 0"), "interval_us = 0: expected above 0"),
        (udp_hosts(&[1], " = \"x\""), "interval"),
        (
            udp_hosts(&[1], "_us = 1").replace("name = \"newreno\"", "name = \"newreno\"\necn = true"),
            "transport.udp: has no effect with ecn = true",
        ),
        (udp_hosts(&[1], "_us = 1").replace("newreno", "dctcp"), "transport.udp: has no effect"),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn faults_of_topologies_and_recordings_name_the_key() {
    let refused = |topology: &str| spec(&with(topology)).map(|_| ()).unwrap_err();
    for (topology, expected) in [
        (FAT_TREE.replace("k = 4", "k = 5"), "topology.k = 5: expected an even number from 2 to 128"),
        (FAT_TREE.replace("access_rate_gbps = 1\n", ""), "topology.access_rate_gbps: is missing: expected the rate"),
        (FAT_TREE.replace("k = 4", "k = 200"), "topology.k = 200: expected an integer from 2 to 128"),
        (format!("{SINGLE}k = 4\n"), "topology.k: has no effect with the other keys"),
        (
            DUMBBELL.replace("left_hosts = 2", "left_hosts = 134217728"),
            "topology.left_hosts = 134217728: a network of 268435464 ports: expected fewer than 268435456",
        ),
        (
            LEAF_SPINE.replace("leaves = 2", "leaves = 1048576").replace("spines = 2", "spines = 1048576"),
            "topology.leaves = 1048576: a network of ",
        ),
        (SINGLE.replace("hosts = 5", "hosts = 134217728"), "topology.hosts = 134217728: a network of 268435456 ports"),
        (DUMBBELL.replace("left_hosts = 2", "left_hosts = 0"), "topology.left_hosts = 0: expected an integer from 1"),
        (DUMBBELL.replace("bottleneck", "fabric"), "topology.bottleneck_rate_gbps: is missing"),
        (format!("{LEAF_SPINE}fabric_rate_gbps = 4\n"), "topology.fabric_rate_gbps: has no effect with the other keys"),
        (LEAF_SPINE.replace("oversubscription = 2\n", ""), "topology.fabric_rate_gbps: is missing"),
        ("kind = \"file\"\nfile = \"no.toml\"\n".to_owned(), "no.toml: cannot be opened: "),
    ] {
        let message = refused(&topology);
        assert!(message.contains(expected), "{message}");
    }
    let recorded = |record: &str| spec(&format!("{}\n[record]\n{record}", with(SINGLE))).map(|_| ()).unwrap_err();
    for (record, expected) in [
        (
            "",
            "record.sample_interval_us: is missing: expected at least one of sample_interval_us, packet_log, arrival_order, frames, throughput_interval_us and reordering",
        ),
        ("sample_interval_us = 0", "record.sample_interval_us = 0: expected a time above 0"),
        ("throughput_interval_us = 0", "record.throughput_interval_us = 0: expected a time above 0"),
        ("sample_ports = [\"all\"]\nthroughput_interval_us = 1", "record.sample_ports: has no effect"),
        ("packet_log = [\"host0\"]", "record.packet_log: \"host0\" is not a port: expected FROM->TO, or one of all"),
        ("packet_log = [\"host0->host1\"]", "record.packet_log: no link leads from host0 to host1"),
        ("packet_log = [\"host9->switch0\"]", "unknown node \"host9\": expected a number, or one of host0 to host4"),
        ("packet_log = [\"9->0\"]", "record.packet_log: unknown node 9: expected a number below 6"),
        ("packet_log = []", "record.packet_log = []: expected a list of texts"),
        ("arrival_order = [\"switch0\"]", "record.arrival_order: switch0 is not a host"),
    ] {
        let message = recorded(record);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn only_what_lies_in_the_measured_time_counts() {
    // Two hosts send 10,000 B each 100 us; seven segments of 40 B headers: 10,280 B at 1 Gb/s.
    let text = with(SINGLE).replace("duration_ms = 1", "duration_ms = 2").replace("max_flows = 1", "max_flows = 15");
    let text = text.replace("period_us = 10", "period_us = 100");
    let flows = [("workload.flows.size_bytes", "10000")];
    let all = run(&text, &flows).unwrap();
    let part =
        run(&text, &[&flows[..], &[("metrics.warm_up_us", "400"), ("metrics.measure_until_us", "900")]].concat());
    let part = part.unwrap();
    assert_eq!(all.manifest["trace_hash"], part.manifest["trace_hash"], "measuring changes nothing");
    let of = |report: &Report, key: &str| report.summary["schedulers"][0][key].as_f64().unwrap();
    assert_eq!((of(&all, "flows"), of(&part, "flows")), (15.0, 5.0));
    assert_eq!((of(&part, "completed_flows"), of(&part, "unfinished_share")), (5.0, 0.0));
    assert_eq!(part.summary["schedulers"][0]["fct"][0]["flows"], 5);
    assert_eq!(all.table("flows").unwrap().rows(), part.table("flows").unwrap().rows());
    // 5 x 10,000 B in 500 us, of five hosts with 1 Gb/s: 0.16; each flow needs 17 headers of 40 B more.
    assert!((of(&part, "offered_load") - 0.16).abs() < 1e-12);
    assert!((of(&part, "offered_wire_load") - 0.16 * (10_000.0 + 17.0 * 40.0) / 10_000.0).abs() < 1e-12);
    assert!((of(&part, "goodput") - 0.16).abs() < 1e-12);
    assert!((of(&part, "host_utilisation") - of(&part, "offered_wire_load")).abs() < 1e-12);
    assert_eq!((of(&part, "measured_from_ns"), of(&part, "measured_until_ns")), (400_000.0, 900_000.0));
    // The run goes on for 2 ms, of which 1.5 have flows.
    assert!((of(&all, "offered_load") - 0.16 * 0.75).abs() < 1e-12);
}

#[test]
fn failures_and_shared_memory_reach_the_tables() {
    let flow = [
        ("workload.flows.max_flows", "8"),
        ("workload.flows.senders", "8"),
        ("workload.flows.size_bytes", "60000"),
        ("workload.flows.receiver", "15"),
        ("duration_ms", "60"),
    ];
    let failing = format!(
        "{}\n[[link_failure]]\nlink = \"leaf0-spine0\"\nat_us = 100\nrepair_us = 2000\n[[link_failure]]\n\
         link = \"17-host15\"\nat_us = 300\nrepair_ms = 1\n",
        with(LEAF_SPINE)
    );
    let report = run(&failing, &flow).unwrap();
    assert_eq!(integers(&report, "schedulers", "completed_flows"), [8]);
    let lost = |column: &str| integers(&report, "schedulers", column)[0];
    assert!(lost("dropped_link_down") > 0 && lost("lost_on_wire_packets") > 0 && lost("unreachable_packets") > 0);
    for column in ["dropped_link_down", "lost_on_wire_packets"] {
        assert_eq!(integers(&report, "ports", column).iter().sum::<i64>(), lost(column));
    }
    let sum = |column: &str| integers(&report, "ports", column).iter().sum::<i64>();
    assert_eq!(sum("arrived_packets"), sum("sent_packets") + sum("dropped_packets") + sum("waiting_packets"));
    assert_eq!(report.manifest["spec"]["link_failure"][0]["link"], "leaf0-spine0");

    let shared = format!("{}\n[switch_buffer]\nshared_bytes = 30_000\nalpha = \"1/2\"\n", with(LEAF_SPINE));
    let dropped = |text: &str| integers(&run(text, &flow).unwrap(), "schedulers", "dropped_full")[0];
    assert!(dropped(&shared) > dropped(&with(LEAF_SPINE)));
    assert_eq!(run(&shared, &flow).unwrap().manifest["spec"]["switch_buffer"]["alpha"], "1/2");
}

#[test]
fn faults_of_failures_buffers_and_windows_name_the_key() {
    let refused = |tail: &str| spec(&format!("{}\n{tail}", with(LEAF_SPINE))).map(|_| ()).unwrap_err();
    let failure = |rest: &str| refused(&format!("[[link_failure]]\n{rest}"));
    for (message, expected) in [
        (failure("at_us = 1"), "link_failure.link: is missing: expected a text"),
        (failure("link = \"leaf0-spine1\""), "link_failure.at_s: is missing: expected a time"),
        (failure("link = \"leaf0\"\nat_us = 1"), "link_failure.link: \"leaf0\" is not a link: expected two nodes"),
        (failure("link = \"leaf0-leaf1\"\nat_us = 1"), "link_failure.link: no link leads from leaf0 to leaf1"),
        (failure("link = \"leaf0-spine1\"\nat_ms = 1"), "link_failure.at_ms = 1 ms: expected a time before"),
        (
            failure("link = \"leaf0-spine1\"\nat_us = 5\nrepair_us = 5"),
            "link_failure.repair_us: expected a time after the failure",
        ),
        (
            failure("link = \"leaf0-spine1\"\nat_us = 5\n[[link_failure]]\nlink = \"spine1-leaf0\"\nat_us = 9"),
            "link_failure.link = \"spine1-leaf0\": has failed already",
        ),
        (refused("[switch_buffer]\nalpha = 1"), "switch_buffer.shared_bytes: is missing: expected an integer"),
        (refused("[switch_buffer]\nshared_bytes = 1"), "switch_buffer.alpha: is missing: expected a number above 0"),
        (refused("[switch_buffer]\nshared_bytes = 9\nalpha = 0"), "switch_buffer.alpha = 0: expected a number above 0"),
        (refused("[metrics]\nwarm_up_ms = 1"), "metrics.warm_up_ms: leaves nothing to measure"),
        (refused("[metrics]\nmeasure_until_ms = 2"), "metrics.measure_until_ms = "),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn networks_from_files_are_read_and_their_faults_named() {
    let folder = Folder::new();
    let read = |path: &Path, more: &str| run(&with(&format!("kind = \"file\"\nfile = {path:?}\n{more}")), &[]);
    let links = "hosts = 2\nswitches = 1\ndelay_us = 1\n[[link]]\na = 0\nb = 2\nrate_gbps = 1\n[[link]]\na = 1\nb = 2\n\
                 rate_gbps = 2\ndelay_us = 3\n";
    let own = folder.write("own.toml", links);
    let report = read(&own, "").unwrap();
    assert_eq!(texts(&report, "ports", "kind"), ["host", "switch-down", "host", "switch-down"]);
    // Host 1 sends one segment to host 0: 2 Gb/s and 3 us, then 1 Gb/s and 1 us; back the same links.
    let trip = |bytes: i64| bytes * 4 + 3_000 + bytes * 8 + 1_000;
    // The data leaves 160 ns behind the handshake's last segment, and catches up with nothing.
    assert_eq!(integers(&report, "flows", "fct_ns"), [3 * trip(40) + 160 + trip(1_500)]);
    for (text, expected) in [
        (
            links.replace("b = 2\nrate_gbps = 1\n", "b = 2\n"),
            "own.toml:4: link.rate_gbps: is missing here and at the top",
        ),
        (links.replace("a = 1", "a = 3"), "own.toml:9: link.a = 3: expected a node below 3"),
        (links.replace("a = 1", "a = 2"), "own.toml:10: link.b = 2: expected a node other than a"),
        (links.replace("a = 1", "a = 0"), "own.toml: links[2] = 0 -> 2: expected listed once"),
        (
            links.replace("hosts = 2\nswitches = 1", "hosts = 3\nswitches = 0"),
            "host 2 = 2 links out: expected exactly 1",
        ),
        (links.replace("switches", "switch"), "own.toml:2: switch: unknown key; did you mean switches?"),
    ] {
        folder.write("own.toml", text);
        let message = read(&own, "").unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let edges = "|V|=3\n|E|=4\nServers=incl_range(0,1)\nSwitches=set(2)\nToRs=set(2)\n0 2\n2 0\n1 2\n2 1\n";
    let edges = folder.write("two.topology", edges);
    assert!(read(&edges, "").unwrap_err().contains("topology.access_rate_gbps: is missing"));
    let report = read(&edges, "access_rate_gbps = 1\ndelay_ns = 20\n").unwrap();
    assert_eq!(integers(&report, "schedulers", "completed_flows"), [1]);
}

#[test]
fn a_flow_list_that_is_written_is_the_run_again() {
    let text = with(LEAF_SPINE)
        .replace("arrivals = \"periodic\"\nperiod_us = 10\nmax_flows = 1", "arrivals = \"poisson\"\nload = 0.5");
    let text = text.replace("pairs = \"incast\"\nsenders = 1\nreceiver = 0", "pairs = \"uniform\"");
    let drawn = run(&text, &[]).unwrap();
    assert!(drawn.table("flows").unwrap().rows() > 100);
    let folder = Folder::new();
    for (format, name, more) in
        [(FlowFormat::Csv, "flows.csv", ""), (FlowFormat::Hpcc, "flows.txt", ", format = \"hpcc\"")]
    {
        let path = folder.write(name, spec(&text).unwrap().flow_list(1, format).unwrap());
        let again = run(&text, &[("workload.flows", &format!("{{ list = {path:?}{more} }}"))]).unwrap();
        assert_eq!(again.manifest["trace_hash"], drawn.manifest["trace_hash"], "{name}");
    }
    let one_link = "duration_s = 1\nlink = { rate_gbps = 1 }\nscheduler = [{ name = \"fifo\" }]\n\
                    workload = { arrivals = \"constant\", rate_gbps = 1, size_bytes = 1500, ranks = \"uniform\" }";
    let message = spec(one_link).unwrap().flow_list(1, FlowFormat::Csv).unwrap_err().to_string();
    assert!(message.starts_with("x.toml: flows: has no effect: only a scenario on a network"), "{message}");
}

#[test]
fn a_size_table_that_falls_is_refused_with_its_line() {
    let folder = Folder::new();
    let sizes = |rows: &str| {
        let file = folder.write("sizes.cdf", rows);
        let text = with(SINGLE).replace(
            "sizes = \"fixed\"\nsize_bytes = 1460",
            &format!("sizes = \"file\"\nfile = {file:?}\ninterpolation = \"linear\""),
        );
        run(&text, &[])
    };
    let report = sizes("5.1\n1000 0\n1000 100\n").unwrap();
    let shown = &report.manifest["spec"]["workload"]["flows"][0];
    assert_eq!((&shown["file_percent"], &shown["file_points"]), (&json!(true), &json!(2)));
    assert_eq!(integers(&report, "flows", "size_bytes"), [1000]);
    let message = sizes("1000 0\n2000 50\n1500 100\n").unwrap_err();
    assert!(message.ends_with(".cdf:3: the size falls from 2000 to 1500 bytes: sizes must ascend"), "{message}");
}

#[test]
fn times_that_a_run_cannot_hold_are_refused_with_the_limit() {
    let two_hosts = |more: &str| with(&format!("kind = \"two-hosts\"\n{more}"));
    let refused = |text: &str, overrides: &[(&str, &str)]| run(text, overrides).unwrap_err();
    assert_eq!(
        refused(&two_hosts("rate_gbps = 1\ndelay_s = 10_000_000"), &[]),
        "x.toml:2: topology: a packet of 1500 bytes takes more than 106 days over host0-host1, with 1 Gb/s and a delay of \
         10000000 s: expected a faster or shorter link"
    );
    // A year is longer than a run can be; 213 days are not, but leave no time for the last packet.
    let message = refused(&two_hosts("rate_gbps = 1\ndelay_us = 1"), &[("duration_ms", "31536000000")]);
    assert_eq!(
        message,
        "x.toml: --set: duration_ms = 31536000000: expected a time in whole picoseconds, at most 213 days"
    );
    let message = refused(&two_hosts("rate_gbps = 1\ndelay_us = 1"), &[("duration_ms", "18446744073.709551615")]);
    let expected = "x.toml: --set: duration_ms = 18446744073709551615 ps: expected at most 18446744073696551615 ps, so that \
                    the last packet is over its link within 213 days";
    assert_eq!(message, expected);
    // One bit per second is slow, and all the same a rate: a segment takes three hours and twenty minutes.
    let slow = run(&two_hosts("rate_bps = 1\ndelay_us = 1"), &[("duration_ms", "100_000_000")]).unwrap();
    assert_eq!(integers(&slow, "schedulers", "completed_flows"), [1]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_network_from_a_file_without_end_is_refused_at_the_limit() {
    for file in ["/dev/zero", "/proc/self/fd/0.topology"] {
        let text = with(&format!("kind = \"file\"\nfile = {file:?}"));
        let error = run(&text, &[]).unwrap_err();
        assert!(!error.contains('\n') && error.len() < 200, "{error}");
    }
    let error = run(&with("kind = \"file\"\nfile = \"/dev/zero\""), &[]).unwrap_err();
    assert_eq!(error, "/dev/zero: has over 64 MiB: expected at most 64 MiB of text");
}

#[test]
fn a_manifest_has_a_hash_for_each_ingredient_of_a_run() {
    let ranks = |seed: &str| {
        let text = with("kind = \"single-switch\"\nhosts = 2\nrate_gbps = 1\ndelay_us = 1")
            .replace("name = \"newreno\"", "name = \"rank-per-packet\"\npacket_ranks = \"uniform\"");
        let report = run_text(&text, "x.toml", &[], Some(seed.parse().unwrap()), 1, &(), &mut |_| true).unwrap();
        let hashes = report.manifest["runs"][0]["trace_hashes"].clone();
        assert_eq!(hashes["events"], report.manifest["runs"][0]["trace_hash"]);
        hashes
    };
    // First in, first out: another seed draws other ranks, and nothing else changes.
    let (one, other) = (ranks("1"), ranks("2"));
    for ingredient in ["events", "packets", "drops"] {
        assert_eq!(one[ingredient], other[ingredient], "{ingredient}");
    }
    assert_ne!(one["ranks"], other["ranks"]);
}

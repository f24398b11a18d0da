//! Topologies, recordings, failures and buffers as scenarios have them.

use super::*;
use pifolab_metrics::Column;
use serde_json::json;

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
    read_text(text, "net.toml", &[], None, &()).map_err(|error| error.to_string())
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Result<Report, String> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    run_text(text, "net.toml", &overrides, None, 1, &(), &mut |_| true).map_err(|error| error.to_string())
}

fn integers(report: &Report, table: &str, column: &str) -> Vec<i64> {
    match report.table(table).and_then(|table| table.column(column)) {
        Some(Column::Integers(values)) => values.clone(),
        Some(Column::Optional(values)) => values.iter().copied().flatten().collect(),
        other => panic!("{table}.{column}: {other:?}"),
    }
}

fn texts(report: &Report, table: &str, column: &str) -> Vec<String> {
    match report.table(table).and_then(|table| table.column(column)) {
        Some(Column::Texts(values)) => values.clone(),
        other => panic!("{table}.{column}: {other:?}"),
    }
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

#[test]
fn what_is_recorded_adds_up_with_the_tables() {
    let record = "[record]\nsample_interval_us = 5\npacket_log = [\"switch0->host0\"]\narrival_order = [\"host0\"]\n\
                  throughput_interval_us = 50\n";
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
    // What was delivered for the first time is what flows hold, and at most what arrived.
    let delivered: i64 = integers(&report, "throughput", "bytes").iter().sum();
    let arrived: i64 = integers(&report, "arrival_order", "payload_bytes").iter().sum();
    let acknowledged: i64 = integers(&report, "flows", "acknowledged_bytes").iter().sum();
    assert!(acknowledged <= delivered && delivered <= arrived, "{acknowledged} {delivered} {arrived}");
    assert_eq!(integers(&report, "schedulers", "completed_flows"), [8]);
    assert_eq!(delivered, 8 * 30_000);
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
fn faults_of_topologies_and_recordings_name_the_key() {
    let refused = |topology: &str| spec(&with(topology)).map(|_| ()).unwrap_err();
    for (topology, expected) in [
        (FAT_TREE.replace("k = 4", "k = 5"), "topology.k = 5: expected an even number from 2 to 512"),
        (FAT_TREE.replace("access_rate_gbps = 1\n", ""), "topology.access_rate_gbps: is missing: expected the rate"),
        (FAT_TREE.replace("k = 4", "k = 200"), "topology.k = 200: expected an integer from 2 to 128"),
        (format!("{SINGLE}k = 4\n"), "topology.k: has no effect beside the others"),
        (DUMBBELL.replace("left_hosts = 2", "left_hosts = 0"), "topology.left_hosts = 0: expected an integer from 1"),
        (DUMBBELL.replace("bottleneck", "fabric"), "topology.bottleneck_rate_gbps: is missing"),
        (format!("{LEAF_SPINE}fabric_rate_gbps = 4\n"), "topology.fabric_rate_gbps: has no effect beside the others"),
        (LEAF_SPINE.replace("oversubscription = 2\n", ""), "topology.fabric_rate_gbps: is missing"),
        ("kind = \"file\"\nfile = \"no.toml\"\n".to_owned(), "no.toml: cannot be read: "),
    ] {
        let message = refused(&topology);
        assert!(message.contains(expected), "{message}");
    }
    let recorded = |record: &str| spec(&format!("{}\n[record]\n{record}", with(SINGLE))).map(|_| ()).unwrap_err();
    for (record, expected) in [
        ("", "record.sample_interval_us: is missing: expected it, packet_log, arrival_order or"),
        ("sample_interval_us = 0", "record.sample_interval_us = 0: expected a time above 0"),
        ("throughput_interval_us = 0", "record.throughput_interval_us = 0: expected a time above 0"),
        ("sample_ports = [\"all\"]\nthroughput_interval_us = 1", "record.sample_ports: has no effect"),
        ("packet_log = [\"host0\"]", "record.packet_log: \"host0\" is no port: expected FROM->TO, or one of all"),
        ("packet_log = [\"host0->host1\"]", "record.packet_log: no link leads from host0 to host1"),
        (
            "packet_log = [\"host9->switch0\"]",
            "there is no node \"host9\": expected a number, or one of host0 to host4",
        ),
        ("packet_log = [\"9->0\"]", "record.packet_log: there is no node 9: expected a number below 6"),
        ("packet_log = []", "record.packet_log = []: expected a list of texts"),
        ("arrival_order = [\"switch0\"]", "record.arrival_order: switch0 is no host"),
    ] {
        let message = recorded(record);
        assert!(message.contains(expected), "{message}");
    }
}

use super::*;
use crate::testing::{Folder, integers, run_spec};
use pifolab_metrics::Column;
use serde_json::json;
use std::path::PathBuf;

const FABRIC: &str = r#"
duration_ms = 5

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
access_rate_gbps = 1
fabric_rate_gbps = 4
delay_us = 1

[transport]
name = "pfabric"

[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 50_000
pairs = "uniform"

[[scheduler]]
name = "pifo"
capacity_packets = 20

[[scheduler]]
name = "sp-pifo"

[[scheduler]]
name = "fifo"
"#;

fn run(text: &str, overrides: &[(&str, &str)], workers: usize) -> Result<Report, Error> {
    run_text(text, "x.toml", overrides, None, workers, &(), &mut |_| true)
}

fn message(overrides: &[(&str, &str)]) -> String {
    run(FABRIC, overrides, 1).expect_err("it is faulty").to_string()
}

#[test]
fn schedulers_see_the_same_flows_and_every_table_adds_up() {
    let report = run(FABRIC, &[], 1).unwrap();
    let flows = integers(&report, "schedulers", "flows");
    assert!(flows[0] > 50 && flows.iter().all(|count| *count == flows[0]), "{flows:?}");
    let starts = integers(&report, "flows", "start_ns");
    assert_eq!(starts[..flows[0] as usize], starts[flows[0] as usize..2 * flows[0] as usize]);
    for column in ["arrived_packets", "sent_packets", "dropped_packets", "waiting_packets"] {
        let of_ports: i64 = integers(&report, "ports", column).iter().sum();
        assert_eq!(of_ports, integers(&report, "schedulers", column).iter().sum::<i64>(), "{column}");
    }
    let dropped: i64 = integers(&report, "ports", "dropped_packets").iter().sum();
    assert!(dropped > 0);
    assert_eq!(integers(&report, "port_ranks", "dropped_packets").iter().sum::<i64>(), dropped);
    for column in ["dropped_packets", "dropped_full", "dropped_pushed_out"] {
        let of_queues: i64 = integers(&report, "port_queues", column).iter().sum();
        assert_eq!(of_queues, integers(&report, "schedulers", column).iter().sum::<i64>(), "{column}");
    }
    let queues = integers(&report, "port_queues", "queue");
    assert_eq!(queues.len(), report.table("port_queues").unwrap().rows(), "each knows which queue had no room");
    assert!(
        queues.iter().zip(integers(&report, "port_queues", "dropped_full")).any(|(queue, full)| *queue > 0 && full > 0)
    );
    let inversions = integers(&report, "schedulers", "inversions");
    assert_eq!(inversions[0], 0, "PIFO makes none at any port");
    assert!(inversions[1] > 0 && inversions[2] > inversions[1], "{inversions:?}");
    let fct = &report.summary["schedulers"][0]["fct"];
    assert_eq!((&fct[0]["class"], &fct[0]["flows"]), (&json!("all"), &json!(flows[0])));
    assert_eq!(fct[1]["completed"], fct[0]["completed"], "all flows are below 100 KB");
    assert_eq!(fct[3]["mean_ns"], json!(null), "no flow has 1 MB");
}

#[test]
fn watching_and_threads_change_nothing() {
    let watched = run(FABRIC, &[], 2).unwrap();
    let unwatched = run(FABRIC, &[("metrics.watch_ports", "false")], 1).unwrap();
    assert_eq!(watched.manifest["trace_hash"], unwatched.manifest["trace_hash"]);
    for column in ["fct_ns", "retransmissions", "timeouts", "reordered_packets"] {
        assert!(integers(&watched, "flows", column) == integers(&unwatched, "flows", column), "{column}");
    }
    assert!(unwatched.table("port_ranks").is_none());
    assert_eq!(unwatched.summary["schedulers"][0]["inversions"], json!(null));
}

/// A scheduler of the user's: first in, first out.
struct Guest;

impl Extras for Guest {
    fn scheduler(
        &self,
        name: &str,
        _args: &[(String, pifolab_sched::params::Value)],
        _random: pifolab_workload::Stream,
    ) -> Option<Result<registry::BoxedScheduler, String>> {
        let fifo = registry::find_scheduler("fifo").ok()?.build(pifolab_sched::params::Args::new("guest"));
        (name == "guest").then(|| fifo.map_err(|error| error.to_string()))
    }
}

#[test]
fn a_lone_flow_has_slowdown_one_whatever_its_size_and_whoever_wrote_the_scheduler() {
    // One packet, one window, and so many segments that the window holds them back.
    for size_bytes in [1, 14_600, 500_000] {
        let (_folder, path) = list(&format!("0,0,7,{size_bytes},5\n"));
        let overrides = [("scheduler", "[{ name = \"pifo\" }, { name = \"guest\" }]")];
        let spec = read_text(FABRIC, "x.toml", &overrides, Some(&path), &Guest).unwrap();
        let report = spec.run(1, 1, &Guest, &mut |_| ControlFlow::Continue(())).unwrap();
        for scheduler in 0..2 {
            let all = &report.summary["schedulers"][scheduler]["fct"][0];
            assert_eq!(all["mean_slowdown"], json!(1.0), "{size_bytes} B, {scheduler}: {all}");
        }
        assert_eq!(integers(&report, "flows", "start_ns"), [5; 2]);
    }
}

#[test]
fn only_completed_flows_have_a_slowdown_and_in_a_crowd_it_exceeds_one() {
    let report = run(FABRIC, &[], 2).unwrap();
    let Some(Column::Reals(slowdowns)) = report.table("flows").and_then(|table| table.column("slowdown")) else {
        panic!("slowdowns are numbers");
    };
    let Some(Column::Optional(fct_ns)) = report.table("flows").and_then(|table| table.column("fct_ns")) else {
        panic!("completion times may be absent");
    };
    assert!(fct_ns.iter().any(Option::is_none) && slowdowns.iter().any(|slowdown| *slowdown > 1.5));
    for (slowdown, fct_ns) in slowdowns.iter().zip(fct_ns) {
        assert_eq!(slowdown.is_nan(), fct_ns.is_none());
    }
}

#[test]
fn a_profile_sets_what_is_absent_and_nothing_else() {
    let spec =
        |overrides: &[(&str, &str)]| read_text(FABRIC, "x.toml", overrides, None, &()).unwrap().resolved().clone();
    let (own, fork) = (spec(&[]), spec(&[("profile", "netbench-aifo"), ("transport.min_rto_us", "7")]));
    assert_eq!((&own["engine"]["header_bytes"], &fork["engine"]["header_bytes"]), (&json!(40), &json!(120)));
    assert_eq!(fork["engine"]["equal_times"], "netbench-batch");
    assert_eq!((&own["host_port"]["queue"], &fork["host_port"]["queue"]), (&json!("unlimited"), &json!("as-switch")));
    assert_eq!((&own["scheduler"][0]["idle"], &fork["scheduler"][0]["idle"]), (&json!("scheduler"), &json!("bypass")));
    assert_eq!(fork["transport"]["min_rto_ns"], json!(7000.0));
    assert_eq!((&own["transport"]["mss_bytes"], &fork["transport"]["mss_bytes"]), (&json!(1460), &json!(1380)));
    assert_eq!(
        (&own["transport"]["unlimited_rto"], &fork["transport"]["unlimited_rto"]),
        (&json!(false), &json!(true))
    );
    // What a profile means can be written out key by key.
    let aifo = spec(&[("profile", "netbench-sp-pifo"), ("scheduler", "[{ name = \"aifo\" }]")]);
    assert_eq!(aifo["scheduler"][0]["idle"], "admission");
}

#[test]
fn faults_name_their_place_and_what_would_be_right() {
    let line = |text: &str, number: usize| format!("x.toml:{number}: {text}");
    let typo = FABRIC.replace("leaves = 2", "leafs = 2");
    assert_eq!(
        run(&typo, &[], 1).unwrap_err().to_string(),
        line("topology.leafs: unknown key; did you mean leaves?", 6)
    );
    let unused = FABRIC.replace("size_bytes = 50_000", "size_bytes = 50_000\ninterpolation = \"linear\"");
    assert_eq!(
        run(&unused, &[], 1).unwrap_err().to_string(),
        line("workload.flows.interpolation: has no effect with the other keys: remove it", 21)
    );
    let incomplete = message(&[("workload.flows.pairs", "incast")]);
    assert!(
        incomplete.starts_with("x.toml:16: workload.flows.senders: is missing: expected an integer"),
        "{incomplete}"
    );
    for (key, value, expected) in [
        ("topology.access_rate_gbps", "0", "topology.access_rate_gbps = 0: expected a rate in whole bits per second"),
        ("topology.spines", "0", "topology.spines = 0: expected at least 1 where there are several leaves"),
        ("workload.flows.load", "-1", "workload.flows.load = -1: expected a number above 0"),
        (
            "workload.flows.size_bytes",
            "9223372036854775808",
            "workload.flows.size_bytes = 9223372036854775808: expected",
        ),
        ("workload.flows.start_s", "-1", "workload.flows.start_s = -1: expected a time"),
        ("transport.max_window_bytes", "9", "transport.max_window_bytes = 9: expected from 1460"),
        ("transport.gain", "0.1", "transport.gain: has no effect with the other keys: remove it"),
        ("port.in_service_occupies_buffer", "true", "expected false; only fifo without a rank function"),
        ("port.sampled_ranks", "live", "sampled_ranks = live: not supported for pifo"),
        ("metrics.size_classes_bytes", "[5, 5]", "metrics.size_classes_bytes: has 5 after 5: expected ascending sizes"),
        ("profile", "netbench", "profile = \"netbench\": expected one of netbench-sp-pifo, netbench-aifo"),
        ("host_port.scheduler", "{ name = \"pifo\" }", "host_port.scheduler: has no effect with the other keys"),
        ("transport.packet_ranks", "uniform", "transport.packet_ranks: has no effect"),
    ] {
        let message = message(&[(key, value)]);
        assert!(message.starts_with("x.toml: ") && message.contains(expected), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

/// A folder with a flow list of these rows, and the path of the list.
fn list(rows: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = folder.write("flows.csv", format!("flow,src,dst,size_bytes,start_ns\n{rows}"));
    (folder, path)
}

fn with_flows(text: &str, flows: &Path, overrides: &[(&str, &str)]) -> Result<Report, Error> {
    let spec = read_text(text, "x.toml", overrides, Some(flows), &())?;
    run_spec(&spec)
}

#[test]
fn a_flow_list_with_a_fault_is_refused_by_line_and_column() {
    for (rows, expected) in [
        ("0,1,1,5,0\n", ":2: dst: 1 is also the source: expected two different hosts"),
        ("0,1,8,5,0\n", ":2: dst: host 8: expected a host below 8"),
        ("0,1,2,5,-1\n", ":2: start_ns: \"-1\": expected a time from 0"),
        ("0,1,2,9223372036854775808,0\n", ":2: size_bytes: \"9223372036854775808\": expected 1 to 2^63 - 1 bytes"),
        ("0,1,2,5,9\n1,1,2,5,8\n", ":3: start_ns: 8 is before"),
        ("0,1,2,5,0\n0,1,2,5,0\n", ":3: flow: duplicate id 0"),
    ] {
        let (_folder, path) = list(rows);
        let message = with_flows(FABRIC, &path, &[]).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let (_folder, path) = list("7,0,1,9000000000000000000,0\n");
    let message = with_flows(FABRIC, &path, &[]).unwrap_err().to_string();
    assert!(message.starts_with("x.toml: workload.flows: flows[0] (flow 7): bytes = 9000000000000000000"), "{message}");
    let (_folder, path) = list("0,0,1,5,0\n");
    let one_link = "duration_s = 1\nlink = { rate_gbps = 1 }\n";
    let message = with_flows(one_link, &path, &[]).unwrap_err().to_string();
    assert!(message.starts_with("x.toml: --flows: has no effect: only a scenario on a network"), "{message}");
}

#[test]
fn rank_functions_that_a_network_tells_nothing_are_refused_at_every_port() {
    let written = format!("{FABRIC}\n[rank]\nname = \"edf\"\n");
    assert_eq!(
        run(&written, &[], 1).unwrap_err().to_string(),
        "x.toml:34: rank.name = \"edf\": has no effect on a network, where flows do not have deadlines: expected another \
         rank function, such as remaining-size"
    );
    for (name, missing) in [("lstf", "flows do not have deadlines"), ("fifo-plus", "packets belong to no class")] {
        let rank = format!("{{ name = \"{name}\" }}");
        let at_switches = message(&[("rank", &rank)]);
        let at_hosts = message(&[(
            "host_port",
            &format!("{{ queue = \"own\", scheduler = {{ name = \"pifo\" }}, rank = {rank} }}"),
        )]);
        for (message, key) in [(at_switches, "rank.name"), (at_hosts, "host_port.rank.name")] {
            assert!(
                message.contains(&format!("{key} = \"{name}\": has no effect on a network, where {missing}")),
                "{message}"
            );
        }
    }
}

#[test]
fn the_tables_of_a_run_are_known_before_it() {
    let text = format!("{FABRIC}\n[record]\nsample_interval_us = 100\nthroughput_interval_us = 100\n");
    let spec = crate::read_text(&text, "x.toml", &[], None, &()).unwrap();
    let shape = |tables: &[pifolab_metrics::Table]| -> Vec<_> {
        let names = |table: &pifolab_metrics::Table| table.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        tables.iter().map(|table| (table.name, names(table))).collect()
    };
    let before = spec.tables(&()).unwrap();
    let report = run_spec(&spec).unwrap();
    assert_eq!(shape(&before), shape(&report.tables));
    assert_eq!(before.iter().find(|table| table.name == "flows").unwrap().rows(), 0, "no flow started");
}

#[test]
fn an_interrupted_run_has_a_row_for_each_flow_that_had_started() {
    // A million flows, interrupted as soon as some simulated time has passed.
    let overrides = [("duration_s", "1000"), ("workload.flows.load", "0.00005"), ("workload.flows.size_bytes", "50")];
    let text = FABRIC.replace("duration_ms = 5\n", "");
    let report = run_text(&text, "x.toml", &overrides, None, 1, &(), &mut |state| {
        state.network.is_none_or(|network| network.simulated_s == 0.0)
    });
    let report = report.unwrap();
    assert!(report.partial);
    let (ends, starts) = (integers(&report, "schedulers", "end_ns"), integers(&report, "flows", "start_ns"));
    assert!(starts.len() < 900_000 && ends.iter().any(|end| starts.iter().all(|start| start <= end)));
}

/// Enough packets between two meetings of threads that the run is divided.
const BUSY: &str = r#"
duration_ms = 4

[engine]
equal_times = "by-place"

[topology]
kind = "fat-tree"
k = 4
access_rate_gbps = 100
delay_us = 50

[transport]
name = "dctcp"

[workload.flows]
arrivals = "periodic"
period_ns = 0.3
max_flows = 32
sizes = "fixed"
size_bytes = 40_000_000
pairs = "uniform"

[port]
ecn_threshold_bytes = 9_000

[metrics]
warm_up_ms = 1
measure_until_ms = 3

[[scheduler]]
name = "pifo"
capacity_packets = 20

[[scheduler]]
name = "sp-pifo"
"#;

#[test]
fn a_run_by_place_has_the_same_report_for_any_number_of_workers() {
    let shown = |workers, more: &str, watch_ports: &str| {
        let report = run(&format!("{BUSY}{more}"), &[("metrics.watch_ports", watch_ports)], workers).unwrap();
        assert!(!report.manifest["warnings"].to_string().contains("one processor"), "{more}");
        format!("{:?} {:?} {:?}", report.manifest, report.summary, report.tables)
    };
    let fair = "[rank]\nname = \"stfq\"\n";
    for (more, watch_ports) in [("", "true"), ("", "false"), (fair, "true"), (fair, "false")] {
        let one = shown(1, more, watch_ports);
        for workers in [2, 4, 6, 16] {
            assert_eq!(shown(workers, more, watch_ports), one, "{workers} workers, {more}, {watch_ports}");
        }
    }
}

#[test]
fn a_run_by_place_that_cannot_be_divided_says_why() {
    let warning = |more: &str, overrides: &[(&str, &str)]| {
        let few = [overrides, &[("workload.flows.max_flows", "2")]].concat();
        let report = run(&format!("{BUSY}{more}"), &few, 4).unwrap();
        let warnings = report.manifest["warnings"].as_array().unwrap().iter().filter_map(|warning| warning.as_str());
        warnings.filter(|warning| warning.contains("one processor")).map(str::to_owned).next().unwrap_or_default()
    };
    let whole = |reason: &str| format!("pifo: this run uses one processor: {reason}");
    let sprayed = warning("", &[("engine.routing", "spray")]);
    assert_eq!(sprayed, whole("packets are sprayed by one sequence of draws"));
    assert_eq!(warning("", &[("topology.delay_us", "0")]), whole("a link has no delay"));
    let recorded = warning("[record]\nthroughput_interval_us = 100\n", &[]);
    assert_eq!(recorded, whole("[record] keeps the order of all packets"));
    let read = warning("[rank]\nname = \"unacknowledged\"\n", &[]);
    assert_eq!(read, whole("a rank function reads what the sender knows at the same time"));
    assert_eq!(warning("", &[("engine.equal_times", "departures-first"), ("topology.delay_us", "0")]), "");
}

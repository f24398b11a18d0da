//! The warnings about parts of a scenario that a run never exercised.

use crate::testing::run;
use serde_json::json;

fn warnings(text: &str, overrides: &[(&str, &str)]) -> Vec<String> {
    let report = run(text, overrides).unwrap();
    let warnings = report.manifest["warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

const LINK: &str = r#"
duration_ms = 1
link = { rate_gbps = 1 }
workload = { arrivals = "constant", rate_gbps = 1.2, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "pifo" }]
"#;

#[test]
fn a_scheduler_that_had_no_order_to_choose_on_one_link_says_why() {
    let of = |overrides: &[(&str, &str)]| warnings(LINK, overrides);
    let none: [String; 0] = [];
    assert_eq!(of(&[]), none);
    assert_eq!(of(&[("workload.rate_gbps", "0.5")]), none);
    let equal = ("workload.ranks", "{ distribution = \"constant\", value = 7 }");
    let same = "pifo: all packets had rank 7, from the workload: there was no order to choose";
    assert_eq!(of(&[equal]), [same]);
    // First-in first-out and fair queueing read no ranks.
    for other in ["fifo", "drr"] {
        assert_eq!(of(&[equal, ("scheduler.name", other), ("workload.flows", "2")]), none, "{other}");
    }
    let computed =
        [("workload", "{ arrivals = \"constant\", rate_gbps = 1.2, size_bytes = 1500 }"), ("rank.name", "las")];
    assert_eq!(of(&computed), none);
    let bounds = [("scheduler", "[{ name = \"strict-priority\", queues = 2, bounds = [0, 1000] }]")];
    assert_eq!(of(&bounds), ["strict-priority: all packets were in queue 0 of 2, which is first-in first-out"]);
}

#[test]
fn an_admission_test_that_refused_nothing_says_so() {
    let none: [String; 0] = [];
    for (scheduler, key, loose, tight) in
        [("aifo", "capacity_packets", "10000", "4"), ("rifo", "capacity_packets", "10000", "4")]
    {
        let of = |capacity: &str| {
            let text = format!("[{{ name = \"{scheduler}\", {key} = {capacity} }}]");
            warnings(LINK, &[("scheduler", text.as_str()), ("duration_ms", "3"), ("workload.rate_gbps", "2")])
        };
        assert_eq!(of(loose), [format!("{scheduler}: the admission test refused no packet")]);
        assert_eq!(of(tight), none, "{scheduler}");
    }
    let managed = "[{ name = \"managed\", policy = \"codel\", scheduler = { name = \"fifo\" } }]";
    assert_eq!(warnings(LINK, &[("scheduler", managed)]), ["managed: queue management dropped or marked no packet"]);
    let codel = ["fq-codel: queue management dropped or marked no packet"];
    assert_eq!(warnings(LINK, &[("scheduler", "[{ name = \"fq-codel\" }]"), ("workload.flows", "4")]), codel);
    // Also inside other schedulers.
    for (inside, said) in [
        ("aifo\", capacity_packets = 10000", "the admission test refused"),
        ("fq-codel\"", "queue management dropped or marked"),
        ("managed\", policy = \"codel\", scheduler = { name = \"fifo\" }", "queue management dropped or marked"),
    ] {
        let tree =
            format!("[{{ name = \"tree\", child = [{{ name = \"tree\", child = [{{ name = \"{inside} }}] }}] }}]");
        assert_eq!(warnings(LINK, &[("scheduler", &tree)]), [format!("tree: {said} no packet")], "{inside}");
    }
}

#[test]
fn flows_that_alone_take_turns_and_leaves_that_no_flow_comes_to_are_named() {
    let none: [String; 0] = [];
    for name in ["drr", "scrr", "afq"] {
        let of = |flows: &str| warnings(LINK, &[("scheduler.name", name), ("workload.flows", flows)]);
        assert_eq!(of("1"), [format!("{name}: all packets were of flow 0: there was no order to choose")]);
        assert_eq!(of("2"), none, "{name}");
    }
    let tree = |classify: &str, takes: &str| {
        let text = format!(
            "[{{ name = \"tree\", {classify} child = [{{ name = \"fifo\", takes = \"0-1\" }}, {{ name = \"tree\", label = \"b\", \
             child = [{{ name = \"pifo\", takes = {takes} }}, {{ name = \"fifo\", takes = \"rest\" }}] }}] }}]"
        );
        warnings(LINK, &[("scheduler", &text), ("workload.flows", "4")])
    };
    assert_eq!(tree("", "2"), none);
    assert_eq!(tree("", "[77, 79]"), ["tree: no packet was stored in the leaf b/0"]);
    assert_eq!(tree("", "[2, \"3-9\"]"), ["tree: no packet was stored in the leaf b/1"], "the rest is nothing");
    let many: Vec<String> = (0..8).map(|flow| format!("{{ name = \"fifo\", takes = {flow} }}")).collect();
    let text = format!("[{{ name = \"tree\", child = [{}] }}]", many.join(", "));
    let said = warnings(LINK, &[("scheduler", &text)]);
    assert_eq!(said, ["tree: no packet was stored in the leaf 1, 2, 3, 4, 5 and 2 more"]);
    assert_eq!(tree("classify = \"size\",", "1500"), ["tree: no packet was stored in the leaf 0, b/1"]);
}

#[test]
fn deadlines_by_which_nothing_ranks_packets_are_named() {
    let none: [String; 0] = [];
    let source = "{ arrivals = \"constant\", rate_gbps = 1.2, size_bytes = 1500, deadline_us = 100 }";
    let of = |rank: &str| warnings(LINK, &[("workload", source), ("rank.name", rank)]);
    for rank in ["edf", "lstf"] {
        assert_eq!(of(rank), none, "{rank}");
    }
    let said =
        "pifo: nothing ranked packets by the deadlines of the workload: expected rank.name = \"edf\" or \"lstf\"";
    assert_eq!(of("las"), [said]);
    let leaf = "[{ name = \"tree\", child = [{ name = \"pifo\", takes = \"rest\", rank = { name = \"edf\" } }] }]";
    let workload = source.replace('}', ", ranks = \"uniform\" }");
    assert_eq!(warnings(LINK, &[("workload", &workload), ("scheduler", leaf)]), none);
}

#[test]
fn intervals_that_are_longer_than_the_run_are_named() {
    let none: [String; 0] = [];
    for key in ["throughput_interval", "sample_every"] {
        let of = |ms: &str| warnings(LINK, &[(&format!("metrics.{key}_ms"), ms)]);
        assert_eq!(of("5"), [format!("pifo: metrics.{key} is 5 ms, longer than the run, which took 1 ms")]);
        assert_eq!(of("0.5"), none, "{key}");
    }
    for key in ["throughput_interval", "sample_interval"] {
        let of = |ms: &str| warnings(NETWORK, &[("record", &format!("{{ {key}_ms = {ms} }}"))]);
        let [said] = of("500").try_into().unwrap();
        assert!(said.starts_with(&format!("pifo: record.{key} is 500 ms, longer than the run, which took ")), "{said}");
        assert_eq!(of("0.5"), none, "{key}");
    }
}

#[test]
fn sources_phases_and_tables_that_a_run_does_not_come_to_are_named() {
    let two = "[{ arrivals = \"constant\", rate_gbps = 1.2, size_bytes = 1500, ranks = \"uniform\" }, { arrivals = \
               \"constant\", rate_gbps = 1, size_bytes = 1500, ranks = \"uniform\", start_ms = 2 }]";
    let packets = [("workload", two), ("packets", "50"), ("duration_ms", "4")];
    let late = "pifo: workload 1 begins at 2 ms, after the end of the run";
    assert_eq!(warnings(LINK, &[packets[0], packets[1], packets[2], ("end", "drain")]), [late]);
    let phase = ("workload.phase", "[{ from_ms = 0.9, ranks = \"uniform\" }]");
    let none: [String; 0] = [];
    assert_eq!(warnings(LINK, &[phase]), none);
    let short = [phase, ("packets", "20"), ("end", "drain")];
    assert_eq!(warnings(LINK, &short), ["pifo: a phase of workload 0 begins at 900 us, after the end of the run"]);
    let window = ("metrics.unpifoness_window_packets", "100000");
    let rows = warnings(LINK, &[window]);
    assert!(rows.len() == 1 && rows[0].ends_with("has no rows: expected a longer run"), "{rows:?}");
}

const NETWORK: &str = r#"
duration_ms = 3
[topology]
kind = "single-switch"
hosts = 5
rate_gbps = 1
delay_us = 1
[transport]
name = "dctcp"
rank = "remaining-size"
[port]
ecn_threshold_bytes = 9000
[workload.flows]
arrivals = "periodic"
period_us = 500
max_flows = 8
sizes = "uniform"
low_bytes = 40_000
high_bytes = 60_000
pairs = "incast"
senders = 4
receiver = 0
[[scheduler]]
name = "pifo"
"#;

#[test]
fn marks_that_do_nothing_are_refused_or_said() {
    let none: [String; 0] = [];
    assert_eq!(warnings(NETWORK, &[]), none);
    let unmarked = |name: &str, ecn: &str| {
        let text = NETWORK
            .replace("[port]\necn_threshold_bytes = 9000\n", "")
            .replace("\"dctcp\"", &format!("\"{name}\"{ecn}"));
        run(&text, &[]).map(|report| report.manifest["warnings"].clone())
    };
    let refused = "x.toml: port.ecn_threshold_bytes: is missing: the transport answers to marks, and nothing marks packets: \
                   expected the bytes from which a port marks, such as 30000 (20 packets of 1500 bytes, usual at 1 Gb/s), or \
                   a scheduler that marks";
    for (name, ecn) in [("dctcp", ""), ("newreno", "\necn = true"), ("cubic", "\necn = true")] {
        assert_eq!(unmarked(name, ecn).unwrap_err().to_string(), refused, "{name}");
    }
    assert_eq!(unmarked("newreno", "").unwrap(), json!([]));
    // A scheduler that marks is enough.
    let text = NETWORK.replace("[port]\necn_threshold_bytes = 9000\n", "");
    let marks = "[{ name = \"managed\", policy = \"codel\", ecn = true, target_ns = 1000, interval_ns = 10000, scheduler = { name = \
                 \"fifo\" } }]";
    assert_eq!(warnings(&text, &[("scheduler", marks)]), none);
    let far = [("port.ecn_threshold_bytes", "10_000_000")];
    assert_eq!(
        warnings(NETWORK, &far),
        [
            "pifo: no packet was marked, so that dctcp answered to losses alone: never exercised: port.ecn_threshold_bytes"
        ]
    );
    for name in ["newreno", "cubic", "pfabric"] {
        let transport = ("transport", format!("{{ name = \"{name}\", rank = \"remaining-size\" }}"));
        let said = warnings(NETWORK, &[(transport.0, &transport.1), far[0]]);
        assert_eq!(said, ["pifo: no packet was marked: no queue reached the ecn_threshold"], "{name}");
    }
    let deaf = warnings(NETWORK, &[("transport", "{ name = \"newreno\", rank = \"remaining-size\" }")]);
    let [warning] = deaf.as_slice() else { panic!("{deaf:?}") };
    let end =
        "packets were marked, to which newreno does not answer: expected dctcp, or ecn = true with newreno or cubic";
    assert!(warning.ends_with(end), "{warning}");
}

#[test]
fn parts_of_a_network_that_no_packet_exercised_are_named() {
    let none: [String; 0] = [];
    let aifo = |capacity: &str| {
        let text = format!("[{{ name = \"aifo\", capacity_packets = {capacity}, k = 0.5 }}]");
        warnings(NETWORK, &[("scheduler", text.as_str())])
    };
    // Marks keep the queue below the headroom.
    assert_eq!(aifo("1000"), ["aifo: the admission test refused no packet"]);
    assert_eq!(aifo("8"), none);
    let alone = [("workload.flows.senders", "1"), ("workload.flows.max_flows", "1"), ("port.ecn_threshold_bytes", "0")];
    assert_eq!(
        warnings(NETWORK, &alone),
        ["pifo: packets never waited together, so that there was no order to choose"]
    );
    let zero = warnings(NETWORK, &[("transport", "{ name = \"dctcp\" }")]);
    assert_eq!(zero, ["pifo: all packets had rank 0, from transport.rank = zero: there was no order to choose"]);
    let buffer = [("switch_buffer", "{ shared_bytes = 100_000_000, alpha = 1 }")];
    assert_eq!(warnings(NETWORK, &buffer), ["pifo: switch_buffer refused no packet"]);
    // Four senders are all hosts except the receiver; a single flow leaves the other links idle.
    let one = [("workload.flows.senders", "1"), ("workload.flows.max_flows", "1"), ("port.ecn_threshold_bytes", "1")];
    let fails =
        ("link_failure", "[{ link = \"host4-switch0\", at_ms = 1 }, { link = \"host0-switch0\", at_ms = 2.9 }]");
    let all = warnings(NETWORK, &[one[0], one[1], one[2], fails]);
    assert!(all.contains(&"pifo: no packet came to the link host4-switch0, which failed".to_owned()), "{all:?}");
    assert!(!all.iter().any(|warning| warning.contains("host0-switch0")), "{all:?}");
    let late = [("metrics.warm_up_ms", "2.9")];
    let said = "pifo: no flow starts in the measured time: expected a shorter warm_up, or a longer run";
    assert_eq!(warnings(NETWORK, &late), [said]);
    let record = [("record", "{ arrival_order = [\"host1\"] }")];
    let rows = "pifo: the table arrival_order has no rows: expected a longer run, or other ports or hosts";
    assert_eq!(warnings(NETWORK, &record), [rows]);
}

/// One packet of 15,000 bytes on each of so many days, from the first on; each is due after `deadline_s`.
fn days(rank: &str, days: u32, deadline_s: f64) -> Vec<String> {
    let text = format!(
        "packets = {days}\nlink = {{ rate_gbps = 1 }}\nrank.name = \"{rank}\"\nscheduler = [{{ name = \"fifo\" }}]\n\
         [[workload]]\narrivals = \"batches\"\nbatch_packets = 1\nperiod_s = 86400\nsize_bytes = 15000\ndeadline_s = {deadline_s}\n"
    );
    warnings(&text, &[])
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn a_run_whose_ranks_run_out_says_after_how_long(length in 1u32..200, deadline_ms in 1u64..18_000_000_000) {
        let deadline_s = deadline_ms as f64 / 1e3;
        for rank in ["edf", "lstf"] {
            // The last packet comes at the end of the last day but one. 15,000 bytes take 120 us at this rate.
            let due = |day: u32| f64::from(day) * 86_400.0 + deadline_s;
            let most = 2f64.powi(63) / 1e12;
            // Skips cases within a nanosecond of the limit.
            proptest::prop_assume!((0..=length).all(|day| (due(day) - most).abs() > 1.0));
            let first = (0..length).find(|day| due(*day) > most);
            let said = days(rank, length, deadline_s);
            match first {
                None => proptest::prop_assert_eq!(said.len(), 0, "{:?}", said),
                Some(day) => {
                    let after = if day == 0 { "0 ps".to_owned() } else { format!("{day} days") };
                    let all = format!(
                        "fifo: ranks ran out after {after}: packets from there on share the largest rank, 2^63 - 1, and are not in order"
                    );
                    proptest::prop_assert_eq!(said, [all]);
                }
            }
        }
    }
}

#[test]
fn packets_without_a_deadline_rank_last_and_do_not_count_as_ranks_that_ran_out() {
    let source = "arrivals = \"batches\", batch_packets = 1, period_s = 86400, size_bytes = 15000";
    let of = |packets: u32| {
        let text = format!(
            "packets = {packets}\nlink = {{ rate_gbps = 1 }}\nrank.name = \"edf\"\nscheduler = [{{ name = \"fifo\" }}]\n\
             workload = [{{ {source} }}, {{ {source}, deadline_s = 1 }}]"
        );
        warnings(&text, &[])
    };
    let none: [String; 0] = [];
    assert_eq!(of(200), none);
    let after = "fifo: ranks ran out after 106.75 days: packets from there on share the largest rank, 2^63 - 1, and are not in order";
    assert_eq!(of(260), [after]);
}

#[test]
fn a_sum_of_magnitudes_that_a_column_cannot_hold_is_null_and_said() {
    let text = "link = { rate_mbps = 100 }\nscheduler = [{ name = \"fifo\" }]\n[workload]\narrivals = \"batches\"\n\
                batch_packets = 5\nperiod_s = 1\nsize_bytes = 1500\nrank_sequence = RANKS\n";
    let of = |ranks: &str| {
        let text = text.replace("RANKS", ranks);
        let report = run(&text, &[]).unwrap();
        (report.summary["schedulers"][0]["inversion_magnitude"].clone(), report.manifest["warnings"].clone())
    };
    let large = 1u64 << 62;
    let warning = "fifo: inversion_magnitude is null: the sum is above 2^63 - 1";
    assert_eq!(of(&format!("[0, {large}, {large}, {large}, 0]")), (json!(null), json!([warning])));
    assert_eq!(of(&format!("[5, {large}, {large}, 1, 0]")), (json!(null), json!([warning])));
    assert_eq!(of(&format!("[5, {large}, {}, 0, 0]", large - 1)), (json!(2 * large - 1), json!([])));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn a_rate_limit_that_holds_no_packet_back_is_named(
        offered in 100u64..900,
        limit in 100u64..900,
        burst in 1_500u64..6_000,
        is_leaf: bool,
        is_arrival: bool,
    ) {
        // Within the ten milliseconds the burst is used up where the limit is a tenth below what is offered.
        proptest::prop_assume!(limit >= offered || limit * 10 < offered * 9);
        let charge = if is_arrival { "arrival" } else { "departure" };
        let shape = format!("shape_gbps = {}, shape_burst_bytes = {burst}", limit as f64 / 1e3);
        let leaf = "name = \"fifo\", capacity_packets = 10_000, takes = \"rest\"";
        let child = if is_leaf {
            format!("{{ {leaf}, label = \"a\", {shape} }}")
        } else {
            format!("{{ name = \"tree\", label = \"a\", {shape}, child = [{{ {leaf} }}] }}")
        };
        let tree = format!("[{{ name = \"tree\", charge = \"{charge}\", child = [{child}] }}]");
        let rate = format!("{}", offered as f64 / 1e3);
        let said = warnings(LINK, &[("duration_ms", "10"), ("workload.rate_gbps", &rate), ("scheduler", &tree)]);
        let expected = if limit < offered { vec![] } else { vec!["tree: no packet waited for the rate limit of a"] };
        proptest::prop_assert_eq!(said, expected);
    }
}

#[test]
fn leaves_and_rate_limits_that_no_port_of_a_network_needs_are_named() {
    let of = |takes: &str, gbps: &str| {
        let tree = format!(
            "[{{ name = \"tree\", child = [{{ name = \"pifo\", takes = \"0-3\" }}, {{ name = \"pifo\", label = \"b\", takes = \
             {takes}, shape_gbps = {gbps} }}] }}]"
        );
        warnings(NETWORK, &[("scheduler", &tree)])
    };
    let none: [String; 0] = [];
    assert_eq!(of("\"rest\"", "0.1"), none);
    assert_eq!(of("\"rest\"", "100"), ["tree: no packet waited for the rate limit of b"]);
    assert_eq!(of("[4, 5, 6, 7]", "0.1"), none);
    assert_eq!(
        of("77", "0.1"),
        ["tree: no packet was stored in the leaf b", "tree: no packet waited for the rate limit of b"]
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn a_tree_whose_nodes_run_out_of_ranks_says_so(days in 1u32..200, is_ordered: bool, is_first: bool) {
        // A packet comes to a child on each day; what it is charged takes no time beside that.
        let order = if is_ordered { "order = { name = \"pifo\" }, " } else { "" };
        let takes = if is_first { "[0]" } else { "\"rest\"" };
        let text = format!(
            "packets = {days}\nlink = {{ rate_gbps = 1 }}\n\
             scheduler = [{{ name = \"tree\", discipline = \"wfq\", rate_gbps = 1, {order}child = [{{ name = \"fifo\", takes = {takes} }}] }}]\n\
             [[workload]]\narrivals = \"batches\"\nbatch_packets = 1\nperiod_s = 86400\nsize_bytes = 15000\nranks = \"uniform\"\n"
        );
        let said = warnings(&text, &[]);
        let ran_out = said.iter().any(|warning| warning.starts_with("tree: the ranks of a node ran out: "));
        // 2^63 ps are 106.75 days, and the first packet comes at once. Without `order` a node rebases its tags.
        proptest::prop_assert_eq!(ran_out, is_ordered && days > 107, "{:?}", said);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn a_tree_of_a_network_whose_nodes_run_out_of_ranks_says_so(days in 1u32..200, is_ordered: bool, is_watched: bool) {
        // A datagram on each day, all to one host.
        let order = if is_ordered { "order = { name = \"pifo\" }, " } else { "" };
        let text = format!(
            "duration_s = {}\nmetrics = {{ watch_ports = {is_watched} }}\n\
             topology = {{ kind = \"single-switch\", hosts = 2, rate_gbps = 1, delay_us = 1 }}\n\
             transport = {{ name = \"udp\", payload_bytes = 1000, interval_us = 100 }}\n\
             scheduler = [{{ name = \"tree\", discipline = \"wfq\", rate_gbps = 1, {order}child = [{{ name = \"fifo\", takes = \"rest\" }}] }}]\n\
             [workload.flows]\narrivals = \"periodic\"\nperiod_s = 86400\nsizes = \"fixed\"\nsize_bytes = 1000\npairs = \"incast\"\n\
             senders = 1\nreceiver = 0\n",
            u64::from(days) * 86_400
        );
        let said = warnings(&text, &[]);
        let ran_out = said.iter().any(|warning| warning.starts_with("tree: the ranks of a node ran out: "));
        proptest::prop_assert_eq!(ran_out, is_ordered && days > 107, "{:?}", said);
    }
}

/// Runs `text` with each key of `[transport]` or `[engine]` beside it, and returns the warnings that are new.
fn with_key(text: &str, key: &str, value: &str) -> Vec<String> {
    let before = warnings(text, &[]);
    warnings(text, &[(key, value)]).into_iter().filter(|warning| !before.contains(warning)).collect()
}

#[test]
fn keys_of_a_network_that_nothing_exercised_are_named() {
    let quiet = NETWORK.replace("senders = 4", "senders = 1").replace("max_flows = 8", "max_flows = 1");
    // By remaining size packets of one flow overtake one another.
    let quiet =
        quiet.replace("ecn_threshold_bytes = 9000", "ecn_threshold_bytes = 1").replace("remaining-size", "zero");
    let losses = "pifo: no packet was lost or overtaken, and no timer expired: never exercised: ";
    for (key, value, reason) in [
        ("transport.recovery", "rack", losses),
        ("transport.duplicate_threshold", "5", losses),
        ("transport.limited_transmit", "false", losses),
        ("transport.accept_data_in_handshake", "false", losses),
        ("transport.min_rto_ms", "2", losses),
        ("transport.max_rto_s", "9", losses),
        ("transport.unlimited_rto", "true", losses),
        ("engine.routing_seed", "7", "pifo: no packet had several shortest paths to choose from: never exercised: "),
        ("engine.routing", "spray", "pifo: no packet had several shortest paths to choose from: never exercised: "),
        (
            "engine.rounding",
            "down-to-nanosecond",
            "pifo: every byte takes whole nanoseconds at these rates: never exercised: ",
        ),
    ] {
        assert_eq!(with_key(&quiet, key, value), [format!("{reason}{key}")], "{key}");
    }
    let udp = quiet.replace("name = \"dctcp\"", "name = \"udp\"\npayload_bytes = 1000\ninterval_us = 10");
    let said = with_key(&udp, "transport.ack_rank", "remaining");
    assert_eq!(said, ["pifo: udp has no acknowledgements: never exercised: transport.ack_rank"]);
}

#[test]
fn keys_of_one_link_that_nothing_exercised_are_named() {
    let of = |overrides: &[(&str, &str)]| warnings(LINK, overrides);
    let none: [String; 0] = [];
    assert_eq!(
        of(&[("metrics.delta_to", "pifo")]),
        ["pifo: there is no other scheduler to compare: never exercised: metrics.delta_to"]
    );
    let two = ("scheduler", "[{ name = \"pifo\" }, { name = \"fifo\" }]");
    assert_eq!(of(&[("metrics.delta_to", "fifo"), two]), none);
    let every = ("metrics.sample_every_packets", "10");
    let window = ("metrics.sample_window", "true");
    assert_eq!(of(&[every, window]), ["metrics.sample_window was never exercised: no scheduler has a window of ranks"]);
    let aifo = ("scheduler", "[{ name = \"fifo\" }, { name = \"aifo\", capacity_packets = 4 }]");
    assert_eq!(of(&[every, window, aifo, ("workload.rate_gbps", "2"), ("duration_ms", "3")]), none);
    assert_eq!(
        of(&[window, ("metrics.max_samples", "0")]),
        ["pifo: metrics.max_samples is 0: never exercised: metrics.sample_window"]
    );
    assert_eq!(
        of(&[("link.rounding", "down-to-nanosecond")]),
        ["pifo: every byte takes whole nanoseconds at this rate: never exercised: link.rounding"]
    );
    let paced =
        "token-bucket held no packet back, since this scheduler sends whenever it can: expected pieo, alone or inside";
    let leaf = |name: &str| {
        format!(
            "[{{ name = \"tree\", child = [{{ name = \"{name}\", takes = \"rest\", rank = {{ name = \"token-bucket\" }} }}] }}]"
        )
    };
    for name in ["pifo", "fifo", "sp-pifo"] {
        assert!(of(&[("rank.name", "token-bucket"), ("scheduler.name", name)]).contains(&format!("{name}: {paced}")));
        assert!(of(&[("scheduler", &leaf(name))]).contains(&format!("tree: {paced}")), "{name}");
    }
    assert_eq!(of(&[("rank.name", "token-bucket"), ("scheduler.name", "pieo")]), none);
    assert_eq!(of(&[("scheduler", &leaf("pieo"))]), none);
}

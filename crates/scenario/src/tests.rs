use super::*;
use crate::testing::{integers, run, run_spec};
use serde_json::json;

const PACKS: &str = r#"
title = "PACKS section 6.1"
duration_ms = 10
seeds = [1, 2]

[link]
rate_gbps = 10

[workload]
arrivals = "constant"
rate_gbps = 11
size_bytes = 1500
ranks = "uniform"

[[scheduler]]
name = "pifo"

[[scheduler]]
name = "sp-pifo"

[[scheduler]]
name = "fifo"
"#;

fn message(text: &str, overrides: &[(&str, &str)]) -> String {
    run(text, overrides).expect_err("it is faulty").to_string()
}

#[test]
fn every_scheduler_sees_the_same_arrivals_and_loses_none_of_them_unsaid() {
    let report = run(PACKS, &[]).unwrap();
    let arrived = integers(&report, "schedulers", "arrived_packets");
    assert_eq!(arrived, [9_167; 3]);
    for (index, arrived) in arrived.iter().enumerate() {
        let of = |column| integers(&report, "schedulers", column)[index];
        assert_eq!(*arrived, of("sent_packets") + of("dropped_packets") + of("waiting_packets"));
    }
    let inversions = integers(&report, "schedulers", "inversions");
    assert_eq!(inversions[0], 0, "PIFO makes none");
    assert!(inversions[1] < inversions[2], "{inversions:?}");
    assert_eq!(report.summary["schedulers"][0]["delta"], json!(0.0));
    assert!(report.summary["schedulers"][2]["delta"].as_f64().unwrap() > 0.0);
    assert_eq!(integers(&report, "ranks", "departures").iter().sum::<i64>(), 3 * 8_334);
    assert!(!report.partial);
}

#[test]
fn seeds_change_the_trace_and_workers_do_not() {
    let with = |seed, workers| {
        let report = run_text(PACKS, "x.toml", &[], seed, workers, &(), &mut |_| true).unwrap();
        (report.manifest["trace_hash"].clone(), report.tables)
    };
    let one = with(Some(7), 1);
    assert_eq!(one.0, with(Some(7), 2).0);
    // NaN is not a value to compare by; the text form is.
    assert_eq!(format!("{:?}", one.1), format!("{:?}", with(Some(7), 3).1));
    assert_ne!(one.0, with(Some(8), 1).0);
    assert_eq!(with(None, 1).0, with(Some(1), 1).0, "the first seed of the file is the default");
}

#[test]
fn the_manifest_holds_every_default_and_what_was_built() {
    let report = run(PACKS, &[("scheduler.sp-pifo.queues", "4")]).unwrap();
    let spec = &report.manifest["spec"];
    assert_eq!(spec["duration_ns"], json!(1e7));
    assert_eq!(spec["end"], "horizon");
    assert_eq!(
        spec["link"],
        json!({"rate_bps": 10_000_000_000u64, "rounding": "up-to-picosecond", "tie": "departure-first"})
    );
    assert_eq!(spec["workload"]["ranks"], json!({"distribution": "uniform", "low": 0, "high": 99}));
    assert_eq!(spec["scheduler"][1]["push_down"], "cost");
    assert_eq!(spec["scheduler"][1]["queues"], 4);
    assert_eq!(spec["scheduler"][1]["built"], json!({"capacity": "40 packets", "queues": 4}));
    assert_eq!(spec["scheduler"][0]["built"]["capacity"], "80 packets");
    assert_eq!(spec["metrics"]["delta_to"], "pifo");
    assert_eq!(report.manifest["overrides"], json!(["scheduler.sp-pifo.queues=4"]));
    assert_eq!(report.manifest["text"], PACKS);
}

#[test]
fn rank_functions_join_every_scheduler() {
    let overrides = [("workload.ranks", "{}"), ("rank.name", "las"), ("workload.flows", "5")];
    let text = PACKS.replace("ranks = \"uniform\"\n", "");
    let report = run(&text, &overrides[1..]).unwrap();
    assert_eq!(report.manifest["spec"]["rank"], json!({"name": "las"}));
    let ranks = integers(&report, "ranks", "rank");
    assert_eq!(ranks[..3], [0, 1500, 3000]);
    assert_eq!(
        message(PACKS, &overrides[1..2]),
        "x.toml:13: workload.ranks: has no effect with the other keys: remove it"
    );
    assert_eq!(
        message(&text, &[("rank.name", "edf")]),
        "x.toml: --set: rank: edf needs deadlines: give the workload a deadline_us"
    );
    assert!(run(&text, &[("rank.name", "edf"), ("workload.deadline_us", "5")]).is_ok());
}

#[test]
fn several_sources_have_flows_of_their_own_and_share_the_link() {
    let text = r#"
        duration_us = 100
        link = { rate_mbps = 1000 }
        scheduler = [{ name = "fifo", capacity_packets = 10 }]
        metrics = { throughput_interval_us = 50, sample_every_us = 10, unpifoness_window_packets = 4 }
        [[workload]]
        arrivals = "poisson"
        rate_mbps = 500
        size_bytes = { distribution = "uniform", low = 64, high = 128 }
        ranks = { distribution = "constant", value = 1 }
        flows = 3
        flow_order = "random"
        [[workload]]
        arrivals = "batches"
        batch_packets = 2
        period_us = 10
        size_bytes = 100
        rank_sequence = [5, 6]
        repeat_sequence = true
        start_us = 20
        stop_us = 60
    "#;
    let report = run(text, &[]).unwrap();
    assert_eq!(integers(&report, "flows", "flow").last(), Some(&3));
    let (flows, bytes) = (integers(&report, "throughput", "flow"), integers(&report, "throughput", "bytes"));
    let sent: i64 = flows.iter().zip(&bytes).filter(|(flow, _)| **flow == 3).map(|(_, bytes)| bytes).sum();
    assert_eq!(sent, 8 * 100, "four batches of two packets");
    assert!(report.table("unpifoness_windows").unwrap().rows() > 0);
    assert_eq!(integers(&report, "samples", "time_ns").len(), 10);
}

#[test]
fn phases_shift_ranks_and_change_their_distribution() {
    let text = format!("{PACKS}\n[[workload.phase]]\nfrom_ms = 5\nshift_ranks = 100\n");
    let ranks = integers(&run(&text, &[]).unwrap(), "ranks", "rank");
    assert!(ranks.contains(&5) && ranks.contains(&150) && !ranks.contains(&200), "{ranks:?}");
    let text = format!("{text}[[workload.phase]]\nfrom_ms = 5\n");
    assert_eq!(
        message(&text, &[]),
        "x.toml:28: workload.phase.from_ms = 5 ms: expected a time after 5 ms, when the phase before begins"
    );
}

#[test]
fn runs_drain_where_there_is_no_horizon() {
    let text = PACKS.replace("duration_ms = 10", "packets = 500");
    let report = run(&text, &[]).unwrap();
    assert_eq!(integers(&report, "schedulers", "waiting_packets"), [0; 3]);
    assert_eq!(report.manifest["spec"]["end"], "drain");
    let drained = run(PACKS, &[("end", "drain")]).unwrap();
    assert_eq!(integers(&drained, "schedulers", "waiting_packets"), [0; 3]);
}

#[test]
fn every_fault_names_its_place_and_what_would_be_right() {
    let cases: &[(&str, &str, &str)] = &[
        ("rate_gbps = 10\n", "rate_gbs = 10\n", "x.toml:7: link.rate_gbs: unknown key; did you mean rate_gbps?"),
        ("seeds = [1, 2]", "seds = [1]", "x.toml:4: seds: unknown key; did you mean seeds?"),
        (
            "seeds = [1, 2]",
            "seeds = [1, \"x\"]",
            "x.toml:4: seeds = [1, \"x\"]: expected a list of integers from 0 to 2^63 - 1",
        ),
        (
            "duration_ms = 10",
            "duration_ms = -1",
            "x.toml:3: duration_ms = -1: expected a time in whole picoseconds, at most 213 days",
        ),
        ("duration_ms = 10", "duration_s = 0", "x.toml:3: duration_s = 0: expected a time above 0"),
        (
            "duration_ms = 10",
            "duration_ms = 10\nduration_s = 1",
            "x.toml:3: duration_ms: conflicts with duration_s: remove one of them",
        ),
        (
            "duration_ms = 10",
            "end = \"horizon\"\npackets = 5",
            "x.toml:3: end = \"horizon\": expected a duration_s beside it",
        ),
        (
            "duration_ms = 10\n",
            "",
            "x.toml: duration_s: is missing: expected duration_s or packets, since the arrivals do not end by themselves",
        ),
        (
            "\"uniform\"",
            "\"unifrom\"",
            "x.toml:13: workload.ranks.distribution = \"unifrom\": expected one of uniform, exponential, inverse-exponential, poisson, convex, minmax, constant, histogram; did you mean uniform?",
        ),
        (
            "\"uniform\"",
            "{ distribution = \"uniform\", mean = 3 }",
            "x.toml:13: workload.ranks.mean: has no effect with the other keys: remove it",
        ),
        (
            "\"uniform\"",
            "{ distribution = \"uniform\", low = 100 }",
            "x.toml:13: workload.ranks: low = 100: expected an integer not above high",
        ),
        (
            "\"uniform\"",
            "{ distribution = \"histogram\", file = \"no.csv\" }",
            "no.csv: cannot be opened: No such file or directory (os error 2)",
        ),
        (
            "ranks = \"uniform\"",
            "",
            "x.toml:9: workload.ranks: is missing: expected a distribution of ranks, a rank_sequence, or a [rank] function",
        ),
        (
            "\"constant\"",
            "\"constant\"\njitter = 0.1",
            "x.toml:11: workload.jitter: has no effect with the other keys: remove it",
        ),
        (
            "size_bytes = 1500",
            "size_bytes = 0",
            "x.toml:12: workload.size_bytes = 0: expected an integer from 1 to 4294967295, or a distribution",
        ),
        ("\"pifo\"", "\"pfio\"", "x.toml:16: scheduler.name: unknown scheduler \"pfio\"; did you mean pifo?"),
        (
            "name = \"pifo\"",
            "nam = \"pifo\"",
            "x.toml:15: scheduler.name: is missing: expected a name that pifolab show lists",
        ),
        (
            "\"sp-pifo\"",
            "\"sp-pifo\"\nqueues = 0",
            "x.toml:20: scheduler.queues = 0: expected an integer from 1 to 1024 (queues)",
        ),
        ("\"sp-pifo\"", "\"sp-pifo\"\nqeues = 2", "x.toml:20: scheduler.qeues = 2: unknown key; did you mean queues?"),
        (
            "\"sp-pifo\"",
            "\"pifo\"",
            "x.toml:18: scheduler.label: duplicate label \"pifo\": give each [[scheduler]] a label of its own",
        ),
    ];
    let mut wrong = String::new();
    for (from, to, expected) in cases {
        let text = PACKS.replacen(from, to, 1);
        assert_ne!(text, PACKS, "{from}");
        let got = message(&text, &[]);
        if got != *expected {
            wrong += &format!("{to}\n     got {got}\nexpected {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(
        message(PACKS, &[("metrics.delta_to", "fif")]),
        "x.toml: --set: metrics.delta_to: unknown scheduler \"fif\"; did you mean fifo?"
    );
    assert_eq!(
        message(PACKS, &[("metrics.throughput_interval_ns", "5")]),
        "x.toml: --set: metrics.throughput_interval_ns = 5 ns: expected a time of at least 1 us"
    );
    assert_eq!(
        message(PACKS, &[("metrics.sample_every_us", "0")]),
        "x.toml: --set: metrics.sample_every_us = 0: expected a time above 0"
    );
    assert_eq!(
        message("", &[]),
        "x.toml: link: is missing: expected a table; the link that packets leave on; also missing: workload (expected a table or \
         a list of tables), duration_s (expected duration_s or packets, since the arrivals do not end by themselves), scheduler \
         (expected [[scheduler]], one table for each scheduler)"
    );
    assert_eq!(message("x", &[]).split("invalid TOML").next(), Some("x.toml:1: "));
}

#[test]
fn a_fault_of_a_flag_says_which_of_several_schedulers_it_is_about() {
    for (path, value, expected) in [
        ("scheduler.1.queues", "0", "scheduler.sp-pifo.queues = 0: expected an integer from 1 to 1024 (queues)"),
        ("scheduler.sp-pifo.qeues", "2", "scheduler.sp-pifo.qeues = 2: unknown key; did you mean queues?"),
        ("scheduler.0.label", "3", "scheduler.pifo.label: expected a non-empty text"),
        (
            "scheduler.1.label",
            "pifo",
            "scheduler.1.label: duplicate label \"pifo\": give each [[scheduler]] a label of its own",
        ),
    ] {
        assert_eq!(message(PACKS, &[(path, value)]), format!("x.toml: --set: {expected}"));
    }
    assert_eq!(
        message(PACKS, &[("scheduler", "[{ name = \"fifo\" }, { name = \"packs\", window = 0 }]")]),
        "x.toml: --set: scheduler.packs.window = 0: expected an integer from 1 to 16777216 (ranks)"
    );
    // With one scheduler the shorter name is enough.
    let alone = message(PACKS, &[("scheduler", "[{ name = \"sp-pifo\", queues = 0 }]")]);
    assert_eq!(alone, "x.toml: --set: scheduler.queues = 0: expected an integer from 1 to 1024 (queues)");
}

#[test]
fn a_cancelled_run_reports_what_is_done_or_says_that_nothing_is() {
    let mut calls = 0;
    let text = PACKS.replace("duration_ms = 10", "duration_ms = 400");
    let none = run_text(&text, "x.toml", &[], None, 1, &(), &mut |_| false);
    // The first call may come when the first scheduler is done already.
    match none {
        Ok(report) => assert!(report.partial),
        Err(error) => assert_eq!(error, Error::Cancelled),
    }
    let some = run_text(&text, "x.toml", &[], None, 1, &(), &mut |state| {
        calls += 1;
        state.schedulers_done == 0
    });
    let report = some.unwrap();
    assert!(calls > 0 && report.partial);
    assert_eq!(report.manifest["partial"], json!(true));
    assert!(report.table("schedulers").unwrap().rows() < 3);
}

/// A scheduler of the user's: a FIFO under another name.
struct Mine;

impl Extras for Mine {
    fn scheduler(
        &self,
        name: &str,
        args: &[(String, pifolab_sched::params::Value)],
        _random: pifolab_workload::Stream,
    ) -> Option<Result<registry::BoxedScheduler, String>> {
        (name == "mine").then(|| match args {
            [] => {
                Ok(registry::find_scheduler("fifo").unwrap().build(pifolab_sched::params::Args::new("mine")).unwrap())
            }
            _ => Err("mine takes no parameters".to_owned()),
        })
    }
    fn scheduler_names(&self) -> Vec<String> {
        vec!["mine".to_owned()]
    }
}

#[test]
fn schedulers_of_the_user_s_run_beside_the_others() {
    let text = PACKS.replace("\"sp-pifo\"", "\"mine\"");
    let report = run_text(&text, "x.toml", &[], None, 2, &Mine, &mut |_| true).unwrap();
    let hashes = |index: usize| report.summary["schedulers"][index]["trace_hash"].clone();
    assert_eq!(hashes(1), hashes(2), "it is a FIFO");
    let error = run_text(&text.replace("\"mine\"", "\"mine\"\nx = 1"), "x.toml", &[], None, 1, &Mine, &mut |_| true);
    assert_eq!(error.unwrap_err().to_string(), "x.toml:18: scheduler: mine takes no parameters");
    let unknown = message(&text, &[]);
    let listed = "x.toml:19: scheduler.name: unknown scheduler \"mine\"; pifolab show schedulers prints all ";
    assert!(unknown.starts_with(listed), "{unknown}");
    assert_eq!(
        run_text(&text.replace("mine", "minee"), "t", &[], None, 1, &Mine, &mut |_| true).unwrap_err().to_string(),
        "t:19: scheduler.name: unknown scheduler \"minee\"; did you mean mine?"
    );
}

#[test]
fn the_tables_of_a_run_are_known_before_it() {
    let overrides = [("metrics.sample_window", "true")];
    let spec = read_text(PACKS, "x.toml", &overrides, None, &()).unwrap();
    let shape = |tables: &[pifolab_metrics::Table]| -> Vec<_> {
        let names = |table: &pifolab_metrics::Table| table.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        tables.iter().map(|table| (table.name, names(table))).collect()
    };
    let before = spec.tables(&()).unwrap();
    let report = run_spec(&spec).unwrap();
    assert_eq!(shape(&before), shape(&report.tables));
    assert!(before.iter().all(|table| table.rows() <= 3), "no packet came");
}

#[test]
fn the_tables_of_a_run_are_known_wherever_the_scheduler_stands_that_others_are_compared_with() {
    // PIFO is the last of three instead of the first.
    let text = PACKS.replacen("\"pifo\"", "\"aifo\"", 1).replacen("\"fifo\"", "\"pifo\"", 1);
    let tables = read_text(&text, "x.toml", &[], None, &()).unwrap().tables(&()).unwrap();
    assert!(tables.iter().any(|table| table.name == "schedulers" && table.rows() == 3));
}

#[test]
fn a_seed_stands_once() {
    let text = PACKS.replace("seeds = [1, 2]", "seeds = [1, 2, 1]");
    let message = read_text(&text, "x.toml", &[], None, &()).unwrap_err().to_string();
    assert_eq!(message, "x.toml:4: seeds = [1, 2, 1]: seed 1 is a duplicate: expected each seed once");
}

/// The result of a scenario on one link of `rate_bps` with packets of `size_bytes`.
fn slow_link(rate_bps: &str, size_bytes: &str) -> Result<Report, Error> {
    let text = format!(
        "packets = 3\nend = \"drain\"\n[link]\nrate_bps = {rate_bps}\n[workload]\narrivals = \"constant\"\n\
         rate_gbps = 1\nsize_bytes = {size_bytes}\nranks = \"uniform\"\n[[scheduler]]\nname = \"fifo\"\n"
    );
    run_text(&text, "x.toml", &[], None, 1, &(), &mut |_| true)
}

#[test]
fn a_packet_that_takes_longer_than_time_can_hold_is_refused_with_the_least_rate() {
    let message = |rate, size| slow_link(rate, size).unwrap_err().to_string();
    assert_eq!(
        message("1", "4294967295"),
        "x.toml:4: link.rate_bps = 1 b/s: a packet of 4294967295 bytes would take more than 213 days: expected at least \
         1863 b/s, or smaller packets"
    );
    // The rate in the message is valid, and every slower one is refused.
    assert!(message("1862", "4294967295").contains("expected at least 1863 b/s"));
    let report = slow_link("1863", "4294967295").unwrap();
    assert_eq!(report.summary["schedulers"][0]["waiting_packets"], json!(1));
}

#[test]
fn a_drain_that_reaches_the_end_of_time_says_what_still_waits() {
    let drained = slow_link("1000", "1500").unwrap();
    assert_eq!(drained.manifest["warnings"], json!([]));
    // Each packet takes 139 days: the third one never begins.
    let report = slow_link("1", "1500000").unwrap();
    assert_eq!(
        report.manifest["warnings"],
        json!(["fifo: not drained within 213 days, the longest run: 1 packets (1500000 bytes) wait"])
    );
}

#[test]
fn packets_that_come_after_the_end_of_time_are_told() {
    // A packet of 1500 bytes every 12,000 s at 1 b/s: the largest time is 213.5 days.
    let text = "packets = 1600\n[link]\nrate_gbps = 1\n[workload]\narrivals = \"constant\"\nrate_bps = 1\n\
                size_bytes = 1500\nranks = \"uniform\"\n[[scheduler]]\nname = \"fifo\"\n";
    let warnings = |text: &str| run(text, &[]).unwrap().manifest["warnings"].clone();
    assert_eq!(warnings(text), json!(["fifo: 1538 of 1600 packets arrived within 213 days, the longest run"]));
    assert_eq!(warnings(&text.replace("1600", "1500")), json!([]));
    assert_eq!(warnings(&text.replace("packets = 1600", "packets = 1600\nduration_s = 1e6")), json!([]));
}

#[test]
fn a_run_in_which_no_packet_was_sent_says_why() {
    let link = |duration_ms, rate_bps, arrivals, size_bytes, more: &str| {
        let text = format!(
            "duration_ms = {duration_ms}\nlink = {{ rate_bps = {rate_bps} }}\n[workload]\narrivals = \"constant\"\n\
             rate_bps = {arrivals}\nsize_bytes = {size_bytes}\nranks = \"uniform\"\n[[scheduler]]\nname = \"fifo\"\n{more}"
        );
        run_text(&text, "x.toml", &[], None, 1, &(), &mut |_| true).unwrap().manifest["warnings"].clone()
    };
    let whole = "fifo: none of 5 packets was sent completely in 5 ms: 1500 bytes take 12000 s at 1 b/s: expected a \
                 longer run, a faster link, or smaller packets";
    assert_eq!(link(5, "1", "1e7", 1500, ""), json!([whole]));
    let large = "fifo: none of 1 packets was sent completely in 5 ms: 4294967295 bytes take 34.36 s at 1 Gb/s: \
                 expected a longer run, a faster link, or smaller packets";
    assert_eq!(link(5, "1e9", "1", u32::MAX, ""), json!([large]));
    let held = "fifo: none of 5 packets was sent: 5 were dropped, 0 are waiting";
    assert_eq!(link(5, "1e9", "1e7", 1500, "capacity_bytes = 1000\n"), json!([held]));
    // The first packet is sent as a whole, though the second is not.
    assert_eq!(link(5, "3e6", "1e7", 1500, ""), json!([]));
}

#[test]
fn a_run_to_which_no_packet_came_says_so() {
    let text = "duration_ms = 5\nlink = { rate_gbps = 1 }\nworkload = { arrivals = \"poisson\", rate_bps = 1000, \
                size_bytes = 1500, ranks = \"uniform\" }\n[[scheduler]]\nname = \"fifo\"\n";
    let warning = "fifo: no packet arrived in 5 ms: expected a longer run, or a higher rate of arrivals";
    assert_eq!(run(text, &[]).unwrap().manifest["warnings"], json!([warning]));
}

#[test]
fn rates_that_time_cannot_tell_apart_are_refused() {
    for rate in ["9223372036854775808", "8000000000001", "0"] {
        let error = slow_link(rate, "1500").unwrap_err().to_string();
        let expected =
            "expected a rate in whole bits per second, from 1 b/s to 8000 Gb/s, at which a byte takes a picosecond";
        assert_eq!(error, format!("x.toml:4: link.rate_bps = {rate}: {expected}"));
    }
    assert!(slow_link("8000000000000", "1500").is_ok());
}

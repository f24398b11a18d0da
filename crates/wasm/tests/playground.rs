//! Tests the playground's library through the page's requests.

use pifolab_metrics::{Departures, Drops, Inversions};
use pifolab_params::{Args, Value as Written};
use pifolab_registry::{SCHEDULERS, find_scheduler};
use pifolab_sim::equal_times::EqualTimesOnLink;
use pifolab_sim::one_link::{End, OneLink};
use pifolab_units::{RankMap, Rate, Rounding, Time, behaviour};
use pifolab_wasm::request::Playground;
use pifolab_workload::{ArrivalProcess, Distribution, FlowAssignment, RankSource, Source};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Sends a request that must succeed.
fn ask(playground: &mut Playground, request: &Value) -> Value {
    ask_with(playground, request, Vec::new()).unwrap_or_else(|error| panic!("{request}: {error}"))
}

fn ask_with(playground: &mut Playground, request: &Value, file: Vec<u8>) -> Result<Value, String> {
    let mut answer: Value = serde_json::from_str(&playground.ask(request.to_string().as_bytes(), file)).unwrap();
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["ok"].take()),
    }
}

fn error(request: &Value, file: &[u8]) -> String {
    ask_with(&mut Playground::default(), request, file.to_vec()).expect_err("an error was expected")
}

fn batch(ranks: &str, lanes: &[(&str, &str)]) -> Playground {
    let mut playground = Playground::default();
    let lanes: Vec<Value> =
        lanes.iter().map(|(scheduler, params)| json!({"scheduler": scheduler, "params": params})).collect();
    ask(
        &mut playground,
        &json!({"do": "open", "trace": {"kind": "ranks", "ranks": ranks, "load": null}, "lanes": lanes}),
    );
    playground
}

fn ranks(packets: &Value) -> Vec<u64> {
    packets.as_array().unwrap().iter().map(|packet| packet["rank"].as_u64().unwrap()).collect()
}

#[test]
fn every_vector_gives_the_answers_that_it_expects_and_queues_show_what_waits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut seen = BTreeSet::new();
    for folder in [folder.clone(), folder.join("worst-cases")] {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            let mut playground = Playground::default();
            let open = json!({"do": "open", "trace": {"kind": "vector", "name": name}, "lanes": []});
            let opened = ask_with(&mut playground, &open, fs::read(&path).unwrap()).unwrap();
            seen.insert(opened["lanes"][0]["scheduler"].as_str().unwrap().to_owned());
            loop {
                let moved = ask(&mut playground, &json!({"do": "forward", "steps": 50}));
                let state = ask(&mut playground, &json!({"do": "state"}));
                let lane = &state["lanes"][0];
                let shown: u64 =
                    lane["queues"].as_array().unwrap().iter().map(|q| q["packets"].as_u64().unwrap()).sum();
                assert_eq!(shown, lane["waiting"].as_u64().unwrap(), "{name}");
                if moved["more"] == false {
                    assert_eq!(state["expected"]["mismatches"], 0, "{name}");
                    assert_eq!(state["position"], state["steps"], "{name}");
                    break;
                }
            }
        }
    }
    let rows = pifolab_registry::rows::SCHEDULERS;
    let all: BTreeSet<String> = rows.iter().map(|entry| entry.info.name.to_owned()).collect();
    assert_eq!(seen, all, "each scheduler of the library has a vector");
}

#[test]
fn a_link_gives_what_a_simulation_gives() {
    let lanes = ["pifo", "fifo", "sp-pifo", "packs", "aifo", "rifo"];
    let mut playground = Playground::default();
    let shape = json!({"name": "uniform", "low": 0, "high": 99});
    let trace =
        json!({"kind": "distribution", "shape": shape, "packets": 20_000, "load": "1.1", "flows": 1, "seed": 7});
    let chosen: Vec<Value> = lanes.iter().map(|name| json!({"scheduler": name, "params": ""})).collect();
    ask(&mut playground, &json!({"do": "open", "trace": trace, "lanes": chosen}));
    while ask(&mut playground, &json!({"do": "forward", "steps": 10_000}))["more"] == true {}
    let state = ask(&mut playground, &json!({"do": "state"}));

    let mut ideal = None;
    for (at, name) in lanes.iter().enumerate() {
        let source = Source {
            process: ArrivalProcess::ConstantBitRate { rate: Rate::from_gbps(11) },
            sizes: Distribution::constant(1500).unwrap(),
            ranks: RankSource::drawn(Distribution::uniform(0, 99).unwrap()),
            flows: FlowAssignment::One(0),
            start: Time::ZERO,
            end: Time::MAX,
            packets: 20_000,
        };
        let link = OneLink {
            rate: Rate::from_gbps(10),
            rounding: Rounding::default(),
            equal_times: EqualTimesOnLink::DeparturesFirst,
            end: End::Drain,
        };
        let mut scheduler = find_scheduler(name).unwrap().build(Args::new(*name)).unwrap();
        let mut watched = (Inversions::default(), Drops::default(), Departures::default());
        let totals = link.run(source.stream(7, "source-0").unwrap(), &mut scheduler, &mut watched);
        let (inversions, drops, departures) = watched;
        let ideal = ideal.get_or_insert_with(|| departures.clone());
        let counts = &state["lanes"][at]["counts"];
        assert_eq!(counts["sent"], totals.sent.packets, "{name}");
        assert_eq!(counts["lost"], drops.total().all(), "{name}");
        assert_eq!(counts["inversions"], inversions.total().inversions, "{name}");
        assert_eq!(counts["pairwise"], inversions.total().pairwise, "{name}");
        assert_eq!(counts["delta"], departures.delta(ideal), "{name}");
        assert_eq!(counts["lowest_lost"], json!(drops.lowest_rank().map(|rank| rank.get())), "{name}");
    }
}

#[test]
fn sp_pifos_figure_3_step_by_step_and_back() {
    let mut playground = batch("3 4 1 4 5 2 1", &[("sp-pifo", "queues = 2"), ("pifo", "")]);
    ask(&mut playground, &json!({"do": "forward", "steps": 7}));
    let state = ask(&mut playground, &json!({"do": "state"}));
    let queues = &state["lanes"][0]["queues"];
    assert_eq!(ranks(&queues[0]["first"]), [1, 2, 1]);
    assert_eq!(ranks(&queues[1]["first"]), [3, 4, 4, 5]);
    assert_eq!(ranks(&state["lanes"][1]["queues"][0]["first"]), [1, 1, 2, 3, 4, 4, 5], "a PIFO is shown in its order");
    assert_eq!(state["steps"], 14);
    ask(&mut playground, &json!({"do": "rewind"}));
    ask(&mut playground, &json!({"do": "forward", "steps": 7}));
    assert_eq!(ask(&mut playground, &json!({"do": "state"})), state, "the same again");
    let moved = ask(&mut playground, &json!({"do": "forward", "steps": 100}));
    assert_eq!(moved, json!({"position": 14, "more": false}));
    let state = ask(&mut playground, &json!({"do": "state"}));
    assert_eq!(ranks(&state["lanes"][0]["sent"]), [1, 2, 1, 3, 4, 4, 5]);
    assert_eq!(state["lanes"][0]["counts"]["inversions"], 1);
    assert_eq!(state["lanes"][0]["sent"][1]["inversion"], true, "rank 2 left while 1 waited");
    assert_eq!(state["lanes"][1]["counts"]["inversions"], 0);
}

#[test]
fn why_tells_what_the_scheduler_saw_and_who_overtook() {
    let mut playground = batch(
        "1 4 5 2 1 2",
        &[("packs", "queues = 2, queue_capacity_packets = 2, window = 4"), ("pifo", "capacity_packets = 4")],
    );
    ask(&mut playground, &json!({"do": "forward", "steps": 100}));
    let why = |playground: &mut Playground, lane: u64, packet: u64| {
        ask(playground, &json!({"do": "why", "lane": lane, "packet": packet}))
    };
    // After the fourth packet the window holds 1 4 5 2.
    let fourth = why(&mut playground, 0, 3);
    assert_eq!(fourth["rank"], 2);
    assert_eq!(fourth["after"]["seen"], json!({"ranks": 4, "lower": 1, "equal": 1}));
    // In a PIFO of four packets, the fifth packet pushes out rank 5, and the sixth pushes out rank 4.
    let third = why(&mut playground, 1, 2);
    assert_eq!(
        third["fate"],
        json!({"state": "lost", "reason": "pushed-out", "queue": 0,
        "text": "entered queue 0, and was pushed out later by a packet of lower rank"})
    );
    assert_eq!(ranks(&third["before"]["queues"][0]["first"]), [1, 4]);
    let fifth = why(&mut playground, 1, 4);
    assert_eq!(fifth["fate"]["state"], "sent");
    assert_eq!(fifth["overtook"]["count"], 1, "the packet of rank 2 that came before it");
    assert_eq!(fifth["overtaken_by"]["count"], 0);
    let fourth = why(&mut playground, 1, 3);
    assert_eq!(fourth["overtaken_by"], json!({"count": 1, "first": [{"packet": 4, "rank": 1}]}));
    assert_eq!(fourth["lower_ranks_waited"]["count"], 0);
    let unknown = ask_with(&mut playground, &json!({"do": "why", "lane": 0, "packet": 9}), Vec::new());
    assert_eq!(unknown, Err("packet 9: it was not offered yet".to_owned()));
}

#[test]
fn a_packet_that_is_dropped_when_it_should_leave_was_in_a_queue() {
    // All packets arrive together, and the link needs 300 ms for them: longer than CoDel's 5 ms for more than its 100
    // ms.
    let burst: String = (0..100).map(|at| format!("{at},1500,1,a\n")).collect();
    let csv = format!("time_us,size_bytes,rank,flow\n{burst}300000,1500,1,a\n");
    let open = json!({"do": "open", "trace": {"kind": "file", "name": "burst.csv", "load": "1"},
                      "lanes": [{"scheduler": "fq-codel", "params": ""}]});
    let mut playground = Playground::default();
    ask_with(&mut playground, &open, csv.into_bytes()).unwrap();
    while ask(&mut playground, &json!({"do": "forward", "steps": 10}))["more"] == true {}
    let whys: Vec<Value> =
        (0..101).map(|at| ask(&mut playground, &json!({"do": "why", "lane": 0, "packet": at}))).collect();
    let lost: Vec<&Value> = whys.iter().filter(|why| why["fate"]["state"] == "lost").collect();
    assert!(!lost.is_empty(), "CoDel dropped nothing");
    for why in lost {
        assert!(why["fate"]["queue"].is_u64(), "{why}");
        assert_eq!(
            why["fate"]["text"],
            format!(
                "entered queue {}, and was dropped when it should have left: queue management discards it",
                why["fate"]["queue"]
            )
        );
    }
}

#[test]
fn every_scheduler_that_has_defaults_runs_and_a_tree_does_with_a_policy() {
    for entry in SCHEDULERS {
        let name = entry.info.name;
        let tree = entry.info.params.iter().any(|param| param.name == "policy");
        let params = if tree { "policy = \"rr[fifo[0], fifo[1-9]]\"" } else { "" };
        let mut playground = Playground::default();
        let lanes = json!([{"scheduler": name, "params": params}]);
        let open = json!({"do": "open", "trace": {"kind": "ranks", "ranks": "3 1 2", "load": null}, "lanes": lanes});
        if let Err(error) = ask_with(&mut playground, &open, Vec::new()) {
            assert!(error.contains("missing"), "{name}: {error}");
            continue;
        }
        while ask(&mut playground, &json!({"do": "forward", "steps": 1}))["more"] == true {
            ask(&mut playground, &json!({"do": "state"}));
            ask(&mut playground, &json!({"do": "why", "lane": 0, "packet": 0}));
        }
        let counts = &ask(&mut playground, &json!({"do": "state"}))["lanes"][0]["counts"];
        assert_eq!(counts["sent"].as_u64().unwrap() + counts["lost"].as_u64().unwrap(), 3, "{name}");
    }
}

#[test]
fn departures_may_stand_between_ranks() {
    // PACKS's Theorem 3 needs batches: after a departure in between, PACKS sends 0, 1, 0 but AIFO sends 0, 0, 1.
    let packs = "queues = 2, queue_capacity_packets = 1, window = 2, k = 0";
    let aifo = "capacity_packets = 2, window = 2, k = 0";
    let mut playground = batch("0, 0 - 1", &[("packs", packs), ("aifo", aifo)]);
    ask(&mut playground, &json!({"do": "forward", "steps": 100}));
    let state = ask(&mut playground, &json!({"do": "state"}));
    assert_eq!(ranks(&state["lanes"][0]["sent"]), [0, 1, 0]);
    assert_eq!(ranks(&state["lanes"][1]["sent"]), [0, 0, 1]);
}

#[test]
fn a_csv_trace_and_a_load_make_the_link() {
    let csv = b"time_us,size_bytes,rank,flow\n0,1000,7,a\n1,1000,3,b\n2,1000,1,a\n";
    let open = json!({"do": "open", "trace": {"kind": "file", "name": "my.csv", "load": "1"},
                      "lanes": [{"scheduler": "fifo", "params": ""}]});
    let opened = ask_with(&mut Playground::default(), &open, csv.to_vec()).unwrap();
    assert_eq!(opened["packets"], 3);
    // 24,000 bits in 2 us.
    assert_eq!(opened["note"], "3 packets, ranks from its column rank; at load 1 the link has 12 Gb/s.");
}

#[test]
fn every_scheduler_is_in_the_tables_with_its_parameters() {
    let tables = ask(&mut Playground::default(), &json!({"do": "tables"}));
    let schedulers = tables["schedulers"].as_array().unwrap();
    assert_eq!(schedulers.len(), SCHEDULERS.len());
    for (shown, entry) in schedulers.iter().zip(SCHEDULERS) {
        assert_eq!(shown["name"], entry.info.name);
        assert_eq!(shown["params"].as_array().unwrap().len(), entry.info.params.len());
    }
    let packs = schedulers.iter().find(|entry| entry["name"] == "packs").unwrap();
    let window = packs["params"].as_array().unwrap().iter().find(|param| param["name"] == "window").unwrap();
    assert_eq!(window["field"], "integer");
    assert_eq!(window["default"], "1000");
    let mut args = Args::new("packs");
    args.set("window", Written::Integer(1000));
    assert!(find_scheduler("packs").unwrap().build(args).is_ok());
}

/// A capture of raw IP packets with these DSCPs, one every microsecond.
fn capture(dscps: &[u8]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for (at, dscp) in (0u32..).zip(dscps) {
        file.extend([0, at, 20, 1000].map(u32::to_le_bytes).concat());
        file.extend([0x45, dscp << 2, 3, 232, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    }
    file
}

#[test]
fn dscps_of_a_capture_have_the_ranks_that_the_command_gives_them() {
    let all: Vec<u8> = (0..64).collect();
    let sent = |dscps: &[u8], map: Value| {
        let mut playground = Playground::default();
        let trace = json!({"kind": "file", "name": "a.pcap", "load": "1/100", "map": map});
        let open = json!({"do": "open", "trace": trace, "lanes": [{"scheduler": "fifo", "params": ""}]});
        let opened = ask_with(&mut playground, &open, capture(dscps)).unwrap();
        ask(&mut playground, &json!({"do": "forward", "steps": 1000}));
        let state = ask(&mut playground, &json!({"do": "state"}));
        (ranks(&state["lanes"][0]["sent"]), opened["note"].as_str().unwrap().to_owned())
    };
    for map in ["46=0,34=1", "EF=3,CS6=0,1=60000"] {
        let known: RankMap = map.parse().unwrap();
        for some in all.chunks(8) {
            let expected: Vec<u64> = some.iter().map(|dscp| known.rank(*dscp).get()).collect();
            assert_eq!(sent(some, map.into()).0, expected, "{map}");
        }
    }
    // EF, AF41, AF43, CS6, best effort and lower effort, in the order of RFC 4594.
    assert_eq!(sent(&[46, 34, 38, 48, 0, 1], "phb".into()).0, [1, 3, 5, 0, 15, 17]);
    assert_eq!(sent(&[46, 34, 0], "dscp".into()).0, [46, 34, 0]);
    // A single class of a behaviour suffices, and without any the numbers are the ranks.
    for dscp in 0..64 {
        let (found, note) = sent(&[0, dscp], Value::Null);
        let is_named = behaviour(dscp).is_some();
        assert_eq!(found[1], if is_named { RankMap::PHB.rank(dscp).get() } else { dscp.into() }, "{note}");
        assert_eq!(note.contains("in the order of per-hop behaviours"), is_named);
    }
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    let open = |trace: Value, scheduler: &str, params: &str| json!({"do": "open", "trace": trace, "lanes": [{"scheduler": scheduler, "params": params}]});
    let pasted = |ranks: &str| json!({"kind": "ranks", "ranks": ranks, "load": null});
    let file = |name: &str| json!({"kind": "file", "name": name, "load": "1.1"});
    for (request, file, expected) in [
        (open(pasted("1 2"), "pack", ""), &b""[..], "unknown scheduler \"pack\"; did you mean packs?"),
        (open(pasted("1 2"), "packs", "queus = 2"), b"", "packs: queus = 2: unknown key; did you mean queues?"),
        (
            open(pasted("1 2"), "packs", "queues = 0"),
            b"",
            "packs: queues = 0: expected an integer from 1 to 1024 (queues)",
        ),
        (
            open(pasted("1 x"), "fifo", ""),
            b"",
            "ranks: word 2 is \"x\": expected a rank from 0 to 2^63 - 1, or - for a departure",
        ),
        (open(pasted(" "), "fifo", ""), b"", "ranks: empty: expected ranks such as 1 4 5 2 1 2"),
        (open(file("a.csv"), "fifo", ""), b"", "a.csv: "),
        (open(file("a.pcap"), "fifo", ""), b"no capture at all", "a.pcap"),
        (
            open(json!({"kind": "file", "name": "a.pcap", "load": "1", "map": "46="}), "fifo", ""),
            b"",
            "map = 46=: expected phb, or DSCPs (0 to 63, or names such as EF) and their ranks",
        ),
        (open(json!({"kind": "vector", "name": "v.json"}), "fifo", ""), b"{", "v.json: line 1 column 1: "),
        (json!({"do": "state"}), b"", "nothing is open yet"),
        (json!({"do": "dance"}), b"", "unknown variant `dance`"),
    ] {
        let error = error(&request, file);
        assert!(error.starts_with(expected), "{request}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let shape = json!({"name": "uniform", "low": 9, "high": 1});
    let wrong = json!({"kind": "distribution", "shape": shape, "packets": 10, "load": "1", "flows": 1, "seed": 1});
    assert_eq!(error(&open(wrong, "fifo", ""), b""), "ranks: low = 9: expected an integer not above high");
}

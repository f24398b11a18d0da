//! Networks whose switches run a P4 program.

use crate::testing::Folder;
use crate::{Report, read_text};
use pifolab_metrics::Column;
use proptest::prelude::*;

const COMPILED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dataplane/p4/compiled");

/// A folder of this test with these entries for the switches.
fn folder(entries: &str) -> Folder {
    let folder = Folder::new();
    folder.write("entries.txt", entries);
    folder
}

fn scenario(topology: &str, transport: &str, rest: &str) -> String {
    format!(
        "duration_ms = 2\n[topology]\n{topology}\n[transport]\n{transport}\n[workload.flows]\narrivals = \"poisson\"\nload = 0.7\n\
         max_flows = 40\nsizes = \"uniform\"\nlow_bytes = 1_000\nhigh_bytes = 60_000\npairs = \"uniform\"\n{rest}"
    )
}

fn switch(program: &str, more: &str) -> String {
    format!("[switch]\nprogram = \"{COMPILED}/{program}.json.gz\"\n{more}\n")
}

fn run_in(folder: &Folder, text: &str) -> Report {
    folder.run(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn column(report: &Report, table: &str, column: &str) -> Vec<i64> {
    match report.table(table).and_then(|table| table.column(column)) {
        Some(Column::Integers(values)) => values.clone(),
        Some(Column::Optional(values)) => values.iter().map(|value| value.unwrap_or(-1)).collect(),
        other => panic!("{table}.{column}: {other:?}"),
    }
}

fn frames(report: &Report) -> Vec<Vec<u8>> {
    let Some(Column::Texts(texts)) = report.table("frames").and_then(|table| table.column("frame")) else {
        panic!("no frames")
    };
    let byte = |frame: &str, at: usize| u8::from_str_radix(&frame[at..at + 2], 16).unwrap();
    texts.iter().map(|frame| (0..frame.len()).step_by(2).map(|at| byte(frame, at)).collect()).collect()
}

/// Links with delays that differ, so that no two packets arrive at one instant and no order is left open.
fn file_topology(folder: &Folder, links: &[(u32, u32)], hosts: u32, switches: u32) -> String {
    let link = |(number, (a, b)): (usize, &(u32, u32))| {
        format!("[[link]]\na = {a}\nb = {b}\ndelay_ns = {}\n", 1000 + 37 * number * number)
    };
    let links: String = links.iter().enumerate().map(link).collect();
    let text = format!("hosts = {hosts}\nswitches = {switches}\nrate_gbps = 1\n{links}");
    folder.write("links.toml", text);
    "kind = \"file\"\nfile = \"links.toml\"".to_owned()
}

/// A line of three switches with two hosts each: links and the routes of every switch.
fn line() -> (Vec<(u32, u32)>, String) {
    let mut links: Vec<_> = (0..6).map(|host| (host, 6 + host / 2)).collect();
    links.extend([(6, 7), (7, 8)]);
    let mut entries = String::new();
    for switch in 0..3u32 {
        entries.push_str(&format!("switch {}\n", 6 + switch));
        for host in 0..6u32 {
            // Ports 0 and 1 lead to hosts, 2 and 3 to the left and the right, where there is one.
            let at = host / 2;
            let port = if at == switch {
                host % 2
            } else if at > switch && switch > 0 {
                3
            } else {
                2
            };
            entries.push_str(&format!("table_add route to_port 10.0.0.{host}/32 => {port}\n"));
        }
    }
    (links, entries)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_program_that_forwards_as_the_network_does_changes_nothing(
        transport in prop_oneof![
            Just("name = \"newreno\""), Just("name = \"pfabric\""), Just("name = \"dctcp\""),
        ],
        scheduler in prop_oneof![
            Just("name = \"fifo\"\ncapacity_packets = 30"),
            Just("name = \"pifo\"\ncapacity_packets = 20"),
            Just("name = \"packs\"\nqueues = 4\nqueue_capacity_packets = 6\nwindow = 20"),
            Just("name = \"sp-pifo\"\nqueues = 4\nqueue_capacity_packets = 6"),
            Just("name = \"fq-codel\""),
        ],
        rank in prop_oneof![Just(""), Just("[rank]\nname = \"las\"\n")],
        seed in 1u64..1_000_000,
    ) {
        let (links, entries) = line();
        let folder = folder(&entries);
        let topology = file_topology(&folder, &links, 6, 3);
        let rest = format!("[port]\necn_threshold_bytes = 15_000\n[[scheduler]]\n{scheduler}\n{rank}");
        let text = format!("seeds = [{seed}]\n{}", scenario(&topology, transport, &rest));
        let plain = run_in(&folder, &text);
        let programmed = run_in(&folder, &(text + &switch("ecn", "entries = \"entries.txt\"")));
        for (table, name) in [("flows", "fct_ns"), ("flows", "retransmissions"), ("ports", "arrived_packets"), ("ports", "sent_bytes")] {
            prop_assert_eq!(column(&plain, table, name), column(&programmed, table, name), "{}", name);
        }
        prop_assert!(column(&plain, "flows", "fct_ns").iter().any(|fct| *fct > 0));
    }
}

const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\naccess_rate_gbps = 1\nfabric_rate_gbps = 1\ndelay_us = 1";

/// Two hosts below each leaf: ports 0 and 1 lead to them, 2 and 3 to the spines.
const ROUTES: &str = "switch leaf0\ntable_set_default identity write_hop 100\ntable_add route to_port 10.0.0.0/32 => 0\n\
                      table_add route to_port 10.0.0.1/32 => 1\ntable_add route spread 10.0.0.2/31 => 2 2\n\
                      switch leaf1\ntable_set_default identity write_hop 101\ntable_add route to_port 10.0.0.2/32 => 0\n\
                      table_add route to_port 10.0.0.3/32 => 1\ntable_add route spread 10.0.0.0/31 => 2 2\n\
                      switch spine0\ntable_set_default identity write_hop 200\nswitch spine1\ntable_set_default identity write_hop 201\n\
                      switch spine0 spine1\ntable_add route to_port 10.0.0.0/31 => 0\ntable_add route to_port 10.0.0.2/31 => 1\n";

const FIFO: &str = "[[scheduler]]\nname = \"fifo\"\ncapacity_packets = 30\n";

#[test]
fn each_switch_writes_into_the_packet_who_it_is_and_how_long_its_queue_was() {
    let folder = folder(ROUTES);
    let rest = format!(
        "{FIFO}{}[record]\nframes = [\"host0\"]\nsample_interval_us = 1\n",
        switch("hops", "entries = \"entries.txt\"")
    );
    let text = scenario(LEAF_SPINE, "name = \"newreno\"", &rest).replace("duration_ms = 2", "duration_ms = 10");
    let report = run_in(&folder, &text);
    let all = frames(&report);
    let sizes = column(&report, "frames", "size_bytes");
    assert!(all.len() > 100);
    let word = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let (mut spines, mut deepest) = ([0, 0], 0);
    for (frame, size) in all.iter().zip(sizes) {
        assert_eq!((word(&frame[12..14]), word(&frame[14..16])), (0x88B5, 0x0800));
        let hops: Vec<_> = frame[17..17 + 8 * usize::from(frame[16])].chunks(8).collect();
        let path: Vec<_> = hops.iter().map(|hop| word(&hop[..2])).collect();
        deepest = hops.iter().map(|hop| word(&hop[2..4])).max().unwrap().max(deepest);
        // The last switch first. The trail has made the packet longer, data and acknowledgements alike.
        match path[..] {
            [100] => assert_eq!(word(&frame[17 + 8 + 12..][..4]), 0x0A00_0001, "from host 1"),
            [100, spine, 101] => spines[spine as usize - 200] += 1,
            _ => panic!("{path:?}"),
        }
        assert_eq!(frame.len(), 50 + 3 + 8 * path.len());
        // What the last switch added is not yet in the size.
        let before = if path.len() == 1 { 0 } else { 3 + 8 * (path.len() as i64 - 1) };
        assert!((40..=1_500).contains(&(size - before)), "{size}");
    }
    assert!(spines.iter().all(|count| *count > 20), "the hash uses both spines: {spines:?}");
    assert!((5..30).contains(&deepest), "{deepest}");
    assert_eq!(column(&report, "schedulers", "unreachable_packets"), [0]);
}

#[test]
fn lengths_and_waits_that_packets_carry_are_those_of_the_port() {
    // Three hosts send datagrams of 1040 bytes to a fourth as fast as their links: the port holds seven at most.
    let folder = folder("table_add route to_port 10.0.0.3/32 => 3\n");
    let text = "duration_us = 500\n[topology]\nkind = \"single-switch\"\nhosts = 4\nrate_gbps = 1\ndelay_us = 0\n[transport]\nname = \"udp\"\n\
                payload_bytes = 1000\ninterval_us = 9\n[workload.flows]\narrivals = \"periodic\"\nperiod_us = 2\nmax_flows = 3\nsizes = \"fixed\"\n\
                size_bytes = 30_000\npairs = \"incast\"\nsenders = 3\nreceiver = 3\n[record]\nframes = [\"host3\"]\n";
    let more = switch("hops", "entries = \"entries.txt\"");
    let report = run_in(&folder, &format!("{text}[[scheduler]]\nname = \"fifo\"\ncapacity_packets = 7\n{more}"));
    let word = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | i64::from(*byte));
    let carried: Vec<_> = frames(&report).iter().map(|frame| [word(&frame[19..21]), word(&frame[21..25])]).collect();
    for [depth, waited_us] in &carried {
        // Those ahead take 8.32 us each, and the one on the wire what is left of it; times are cut off to microseconds.
        let (least, most) = (depth * 832 / 100 - 1, (depth + 1) * 832 / 100 + 1);
        assert!((least..=most).contains(waited_us), "{depth} packets ahead, {waited_us} us");
    }
    assert_eq!(carried.iter().map(|[depth, _]| *depth).max(), Some(6));
    assert!(carried.len() > 30);
}

#[test]
fn marks_of_a_program_slow_the_transport_down() {
    let folder = folder(ROUTES.replace("table_set_default identity write_hop", "#").as_str());
    let rest = |ecn: bool| {
        let more = format!("entries = \"entries.txt\"\necn = {ecn}");
        format!("{}{}", FIFO.replace("30", "1000"), switch("ecn", &more))
    };
    let marked = |report: &Report| column(report, "schedulers", "marked_packets")[0];
    let text = scenario(LEAF_SPINE, "name = \"dctcp\"", &rest(true)).replace("max_flows = 40", "max_flows = 400");
    let text = text.replace("duration_ms = 2", "duration_ms = 20");
    let report = run_in(&folder, &text);
    assert!(marked(&report) > 10, "{}", marked(&report));
    // Without marks DCTCP would be another transport: refused, as without a program.
    let refused = read_text(&scenario(LEAF_SPINE, "name = \"dctcp\"", &rest(false)), "net.toml", &[], None, &());
    assert!(refused.unwrap_err().to_string().contains("net.toml"));
}

#[test]
fn packets_that_a_program_sends_astray_or_drops_are_unreachable() {
    let entries = "table_add route to_port 10.0.0.0/31 => 0\ntable_add route to_port 10.0.0.2/32 => 7\ntable_add route drop 10.0.0.3/32 =>\n";
    let folder = folder(entries);
    let topology = "kind = \"single-switch\"\nhosts = 4\nrate_gbps = 1\ndelay_us = 1";
    let text = scenario(
        topology,
        "name = \"udp\"\npayload_bytes = 1000\ninterval_us = 10",
        &(FIFO.to_owned() + &switch("ecn", "entries = \"entries.txt\"")),
    );
    let report = run_in(&folder, &text);
    let flows = [column(&report, "flows", "dst"), column(&report, "flows", "fct_ns")];
    for (dst, fct) in flows[0].iter().zip(&flows[1]) {
        assert!(*dst == 0 || *fct == -1, "nothing reaches host {dst}");
    }
    assert!(flows[1].iter().any(|fct| *fct > 0));
    assert!(column(&report, "schedulers", "unreachable_packets")[0] > 50);
}

fn refused(rest: &str, entries: &str) -> String {
    let folder = folder(entries);
    let file = folder.0.join("net.toml").display().to_string();
    let text = scenario(LEAF_SPINE, "name = \"newreno\"", &(FIFO.to_owned() + rest));
    let error = match read_text(&text, &file, &[], None, &()) {
        Ok(_) => panic!("{text}"),
        Err(error) => error.to_string(),
    };
    assert!(!error.contains('\n'), "{error}");
    error.replace(&folder.0.display().to_string(), "").replace(COMPILED, "")
}

#[test]
fn what_a_switch_cannot_be_is_one_line() {
    let with = |more: &str| switch("ecn", "entries = \"entries.txt\"") + more;
    for (rest, entries, expected) in [
        ("[switch]\n".to_owned(), "", "switch.program: is missing"),
        ("[switch]\nprogram = \"none.json\"\n".to_owned(), "", "switch.program = \"none.json\": "),
        ("[switch]\nprogram = \"entries.txt\"\n".to_owned(), "{", "switch.program = \"entries.txt\": "),
        (with(""), "switch leaf9\n", "switch.entries = \"entries.txt\": line 1: unknown node \"leaf9\""),
        (with(""), "\nswitch host0\n", "switch.entries = \"entries.txt\": line 2: host0 is a host: expected a switch"),
        (with(""), "switch\n", "switch.entries = \"entries.txt\": line 1: switch: expected the names of switches"),
        (
            with(""),
            "switch leaf0\ntable_add rout to_port 1 => 1\n",
            "switch.entries = \"entries.txt\": line 2: rout: expected the name of a table",
        ),
        (
            with(""),
            "mirroring_add 1 2\n",
            "switch.entries = \"entries.txt\": mirroring and multicast groups: expected no entry",
        ),
        (with("[engine]\nrouting = \"spray\"\n"), "", "engine.routing: has no effect beside [switch]: remove it"),
        (with("[port]\nidle = \"bypass\"\n"), "", "port.idle: expected scheduler or admission beside [switch]"),
        (
            with("[switch_buffer]\nshared_bytes = 100000\nalpha = 1\n"),
            "",
            "switch_buffer: is not supported beside [switch]",
        ),
        (
            with("[port]\nin_service_occupies_buffer = true\n"),
            "",
            "port.in_service_occupies_buffer: is not supported beside [switch]",
        ),
        (
            with("[[link_failure]]\nlink = \"leaf0-spine0\"\nat_us = 1\n"),
            "",
            "link_failure: is not supported beside [switch]",
        ),
        (
            "[record]\nframes = [\"host0\"]\n".to_owned(),
            "",
            "record.frames: has no effect: packets have bytes only where [switch]",
        ),
    ] {
        let message = refused(&rest, entries);
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    let folder = folder("");
    let text = format!(
        "profile = \"netbench-packs\"\n{}",
        scenario(LEAF_SPINE, "name = \"newreno\"", &(FIFO.to_owned() + &switch("ecn", "")))
    );
    let error =
        read_text(&text, &folder.0.join("x.toml").display().to_string(), &[], None, &()).unwrap_err().to_string();
    assert!(error.contains("profile"), "{error}");
}

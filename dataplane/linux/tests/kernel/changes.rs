//! Parameters that change while the data plane is up.

use crate::life::{Lab, command, root_qdisc, run, tool, wait_until};
use crate::traffic::packet_socket;
use crate::{arguments, can_run};
use pifolab_dataplane::Error;
use pifolab_dataplane::ebpf::harness::frame;
use pifolab_dataplane::ebpf::program::PARAMETERS;
use pifolab_dataplane::ebpf::programs::sp_pifo;
use pifolab_dataplane::ebpf::window;
use pifolab_dataplane::ebpf::{Occupancy, Plane, PlaneConfig, RankSource, Settings, Snapshot};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::process::Stdio;

fn settings(scheduler: &str, parameters: &str) -> Settings {
    Settings::new(scheduler, arguments(scheduler, parameters), RankSource::Dscp, Occupancy::Walk).expect("valid")
}

fn up(scheduler: &str, parameters: &str) -> Plane {
    let settings = settings(scheduler, parameters);
    let config =
        PlaneConfig { interface: "v0".to_owned(), rate_bps: 100_000_000, settings, per_queue: false, force: false };
    Plane::up(config).expect("it comes up")
}

/// Sends a frame of each DSCP; what they find in the queues does not matter here.
fn send(ranks: std::ops::Range<u8>) {
    send_long(ranks, 50);
}

/// The same, of so many bytes.
fn send_long(ranks: std::ops::Range<u8>, bytes: u16) {
    let socket = packet_socket("v0");
    for rank in ranks {
        let mut frame = frame(0, rank).to_vec();
        frame.resize(bytes.into(), 0);
        frame[16..18].copy_from_slice(&(bytes - 14).to_be_bytes());
        // SAFETY: the frame is as long as said.
        unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    }
}

fn updates_on_full(plane: &Plane) -> u32 {
    plane.loaded().get::<sp_pifo::Frozen>(PARAMETERS).expect("it is there").update_on_full
}

/// The ranks of the window that the test sent.
fn window(snapshot: &Snapshot) -> Vec<u64> {
    let ranks = snapshot.registers.value["window"].as_array().unwrap_or_else(|| panic!("{snapshot}"));
    ranks.iter().map(|rank| rank.as_u64().expect("a rank")).filter(|rank| *rank > 0).collect()
}

#[test]
fn parameters_change_while_it_is_up_and_window_and_statistics_stay() {
    if !can_run("parameters_change_while_it_is_up_and_window_and_statistics_stay") {
        return;
    }
    let _lab = Lab::new();
    for scheduler in ["aifo", "packs"] {
        let mut plane = up(scheduler, "window=20 k=0.9");
        send(1..41);
        let before = plane.snapshot().expect("a snapshot");
        assert!(window(&before).ends_with(&(35..41).collect::<Vec<_>>()), "{scheduler}: {before}");
        assert!(before.admitted() >= 20, "{scheduler}: {before}");

        // A longer window, a shorter one, and another k.
        plane.change(settings(scheduler, "window=100 k=0.9"), None).expect("it can be changed");
        let frozen: window::Frozen = plane.loaded().get(window::WINDOW).expect("it is there");
        assert_eq!(frozen.slots, 100);
        assert!(window(&plane.snapshot().expect("a snapshot")).starts_with(&window(&before)), "{scheduler}");
        send(41..51);
        plane.change(settings(scheduler, "window=8 k=0.5"), None).expect("it can be changed");
        let after = plane.snapshot().expect("a snapshot");
        assert!(window(&after).ends_with(&[48, 49, 50]), "{scheduler}: {after}");
        assert!(
            after.admitted() + after.dropped() >= before.admitted() + before.dropped() + 10,
            "{scheduler}: {after}"
        );
        // There is one filter, with the new program.
        let root = String::from_utf8_lossy(&tool("tc", "filter show dev v0").stdout).into_owned();
        assert_eq!(root.matches("pifolab:").count(), 1, "{root}");
        send(51..54);
        assert!(window(&plane.snapshot().expect("a snapshot")).ends_with(&[51, 52, 53]), "the new program decides");
    }
}

/// What tc says of the leaf of `queue`, and of its class.
fn leaf_and_class(queue: usize) -> (String, String) {
    let root = root_qdisc("v0");
    let major = root.split_ascii_whitespace().nth(2).expect("a handle").trim_end_matches(':').to_owned();
    let class = format!("{major}:{:x}", queue + 1);
    let shown = |line: &str| String::from_utf8_lossy(&tool("tc", line).stdout).into_owned();
    let leaves = shown("qdisc show dev v0");
    let leaf = leaves.lines().find(|line| line.contains(&format!("parent {class} "))).unwrap_or_default();
    (leaf.to_owned(), shown(&format!("class show dev v0 classid {class}")))
}

#[test]
fn queues_capacities_and_rate_change_while_it_is_up_and_no_packet_is_lost() {
    if !can_run("queues_capacities_and_rate_change_while_it_is_up_and_no_packet_is_lost") {
        return;
    }
    let _lab = Lab::new();
    for interface in ["v0", "v1"] {
        assert!(tool("ip", &format!("link set {interface} mtu 9000")).status.success());
    }
    for occupancy in [Occupancy::Walk, Occupancy::Counters, Occupancy::Clock] {
        let settings = |parameters: &str| {
            Settings::new("sp-pifo", arguments("sp-pifo", parameters), RankSource::Dscp, occupancy).expect("valid")
        };
        // So slow that what is sent stays for a while, also on a slow machine: at 80 kb/s a frame takes most of a second.
        let start = settings("queues=2 queue_capacity_packets=30");
        let config = PlaneConfig {
            interface: "v0".to_owned(),
            rate_bps: 80_000,
            settings: start,
            per_queue: false,
            force: false,
        };
        let mut plane = Plane::up(config).expect("it comes up");
        for _ in 0..4 {
            send_long(1..41, 9000);
        }
        let held = |plane: &Plane| -> u64 {
            plane.snapshot().expect("a snapshot").queues.iter().map(|queue| queue.occupancy).sum()
        };
        let (before, shown) = (plane.snapshot().expect("a snapshot"), held(&plane));
        assert!(shown >= 40, "{occupancy}: {before}");

        // More queues, larger ones.
        plane.change(settings("queues=5 queue_capacity_packets=50"), None).expect("it can be changed");
        let after = plane.snapshot().expect("a snapshot");
        assert_eq!(after.queues.len(), 5, "{occupancy}");
        assert!(after.queues.iter().all(|queue| queue.capacity == 50), "{occupancy}: {after}");
        assert!(held(&plane) + 20 >= shown, "{occupancy}: packets were lost: {before}\n{after}");
        assert!(after.admitted() >= before.admitted(), "{occupancy}: {after}");
        let bound = |snapshot: &Snapshot, queue: usize| snapshot.queues[queue].bound;
        assert_eq!(
            bound(&after, 4),
            bound(&before, 1),
            "{occupancy}: a new queue begins with the bound of the last one"
        );
        assert!(leaf_and_class(0).0.contains("limit 50p") && leaf_and_class(4).0.contains("limit 50p"), "{occupancy}");
        for _ in 0..4 {
            send_long(1..41, 9000);
        }
        let filled = plane.snapshot().expect("a snapshot");
        assert!(filled.queues[4].occupancy > 0, "{occupancy}: the new queues are in use: {filled}");

        // Fewer queues, and another rate: what the others hold is sent all the same.
        plane.change(settings("queues=3 queue_capacity_packets=50"), Some(2_000_000)).expect("it can be changed");
        assert!(leaf_and_class(2).1.contains("ceil 2Mbit"), "{}", leaf_and_class(2).1);
        wait_until("the queues to run empty", || {
            let shown = String::from_utf8_lossy(&tool("tc", "-s qdisc show dev v0 root").stdout).into_owned();
            shown.contains("backlog 0b 0p")
        });
        assert_eq!(plane.snapshot().expect("a snapshot").queues.len(), 3);
        send_long(1..41, 9000);
        // Those that were left are there to be used again.
        plane.change(settings("queues=5 queue_capacity_packets=9"), None).expect("it can be changed");
        assert!(leaf_and_class(4).0.contains("limit 9p"), "{}", leaf_and_class(4).0);
    }
}

#[test]
fn bounds_of_sp_pifo_stay_and_what_takes_a_new_start_is_refused_and_changes_nothing() {
    if !can_run("bounds_of_sp_pifo_stay_and_what_takes_a_new_start_is_refused_and_changes_nothing") {
        return;
    }
    let _lab = Lab::new();
    let mut plane = up("sp-pifo", "queues=4 queue_capacity_packets=50");
    send(1..41);
    let bounds = |plane: &Plane| -> Vec<_> {
        plane.snapshot().expect("a snapshot").queues.iter().map(|queue| queue.bound).collect()
    };
    let before = bounds(&plane);
    assert!(before.iter().any(|bound| bound.is_some_and(|bound| bound > 0)), "{before:?}");
    plane
        .change(settings("sp-pifo", "queues=4 queue_capacity_packets=50 on_full=update"), None)
        .expect("it can be changed");
    assert_eq!((bounds(&plane), updates_on_full(&plane)), (before.clone(), 1));
    let another = Settings::new("sp-pifo", arguments("sp-pifo", "queues=4"), RankSource::Vlan, Occupancy::Walk);
    for refused in [
        settings("sp-pifo", "queues=9 queue_capacity_packets=50"),
        settings("sp-pifo", "queues=4 queue_capacity_bytes=9000"),
        settings("packs", "queues=4 queue_capacity_packets=50"),
        another.expect("valid"),
    ] {
        let error = plane.change(refused, None).expect_err("refused");
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        assert_eq!((bounds(&plane), updates_on_full(&plane)), (before.clone(), 1));
    }
    // Somebody has put another leaf in the place of ours: the rest must be as it was.
    let (leaf, _) = leaf_and_class(2);
    let parent = leaf.split_ascii_whitespace().skip_while(|word| *word != "parent").nth(1).expect("a parent");
    assert!(tool("tc", &format!("qdisc replace dev v0 parent {parent} handle 77: bfifo limit 9999")).status.success());
    plane.change(settings("sp-pifo", "queues=4 queue_capacity_packets=60"), None).expect_err("it is not ours");
    assert!(leaf_and_class(0).0.contains("limit 50p"), "{}", leaf_and_class(0).0);
    assert!(plane.snapshot().expect("a snapshot").queues.iter().all(|queue| queue.capacity == 50));
}

#[test]
fn the_range_of_rifo_stays_and_ends_where_a_shorter_one_does() {
    if !can_run("the_range_of_rifo_stays_and_ends_where_a_shorter_one_does") {
        return;
    }
    let _lab = Lab::new();
    let mut plane = up("rifo", "tracking_range_packets=100 k=0.9");
    let range = |plane: &Plane| plane.snapshot().expect("a snapshot").registers.value["range"].clone();
    send(20..60);
    let before = range(&plane);
    assert_eq!((&before["min"], &before["max"]), (&20.into(), &59.into()));
    plane.change(settings("rifo", "tracking_range_packets=200 k=0.8"), None).expect("it can be changed");
    assert_eq!(range(&plane), before);
    // The counter is beyond the new range: it begins anew with the next packet.
    plane.change(settings("rifo", "tracking_range_packets=10 k=0.8"), None).expect("it can be changed");
    send(30..34);
    let after = range(&plane);
    assert!(after["min"] == 30 && after["max"] == 33 && after["counter"].as_u64() <= Some(10), "{after}");
}

#[test]
fn a_running_switch_follows_its_file_of_parameters() {
    if !can_run("a_running_switch_follows_its_file_of_parameters") {
        return;
    }
    let _lab = Lab::new();
    let path = std::env::temp_dir().join(format!("pifolab-parameters-{}.txt", std::process::id()));
    // As the page says: a file that is renamed is never read in part.
    let write = |text: &str| {
        let beside = path.with_extension("new");
        std::fs::write(&beside, text).expect("a file");
        std::fs::rename(&beside, &path).expect("in the same folder");
    };
    write("queues = 3\n");
    let line = format!(
        "switch --in v0 --out v1 --scheduler sp-pifo --queues 8 --interval-s 0.05 --parameters {}",
        path.display()
    );
    let mut child = command(&line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut errors = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    // A line comes every 50 ms.
    let mut wait_for_queues = |queues: usize| {
        let found = lines.by_ref().take(2_000).any(|line| {
            let shown: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            shown["occupancy_packets"].as_array().expect("queues").len() == queues
        });
        assert!(found, "it never had {queues} queues");
    };
    wait_for_queues(3);
    write("queues = 5\nrate_mbps = 7\n");
    wait_for_queues(5);
    write("queues = 0\n");
    let mut said: Vec<String> = Vec::new();
    loop {
        said.push(errors.next().expect("it says what is wrong"));
        if said[said.len() - 1].contains("queues = 0") {
            break;
        }
    }
    write("queues = 12\n");
    wait_for_queues(12);
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    said.extend(errors);
    assert!(said[1].contains("queues = 0") && said[1].contains("the parameters are unchanged"), "{said:?}");
    assert_eq!(said.len(), 3, "{said:?}");
    // A file that is wrong from the beginning is refused.
    write("queues\n");
    let (status, text) = run(&line);
    assert!(status == Some(2) && text.contains("line 1") && text.contains("name = value"), "{text}");
    std::fs::remove_file(&path).expect("it is there");
}

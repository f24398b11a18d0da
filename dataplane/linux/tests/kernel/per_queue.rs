//! `up --per-queue`: a scheduler for each transmit queue, under `mq`.

use crate::life::{Lab, command, run, tool, up, wait_until};
use crate::traffic::packet_socket;
use crate::{Random, can_run};
use pifolab_frames::frame::udp_frame;
use serde_json::Value;
use std::os::fd::AsRawFd;
use std::process::{Child, Output};

const QUEUES: usize = 4;

fn tc(line: &str) -> String {
    let output = tool("tc", line);
    assert!(output.status.success(), "tc {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Adds the wire `w0` to `w1`, with several transmit queues.
fn add_wire() {
    let line = "link add name w0 numtxqueues 4 numrxqueues 4 type veth peer name w1 numtxqueues 4 numrxqueues 4";
    assert!(tool("ip", line).status.success(), "ip {line}");
    for dev in ["w0", "w1"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{dev}/disable_ipv6"), "1");
        assert!(tool("ip", &format!("link set {dev} up")).status.success(), "ip link set {dev} up");
    }
}

fn status() -> Value {
    let (status, text) = run("status --dev w0 --json");
    assert_eq!(status, Some(0), "{text}");
    serde_json::from_str(text.trim()).expect("JSON")
}

fn transmit_queues() -> Vec<Value> {
    status()["transmit_queues"].as_array().expect("they are shown").clone()
}

fn sum(queue: &Value, key: &str) -> u64 {
    queue["queues"].as_array().expect("queues").iter().map(|queue| queue[key].as_u64().expect("a number")).sum()
}

/// Sends `count` frames of 64 flows with random ranks at once.
fn send(count: u64) {
    let sender = packet_socket("w0");
    let mut random = Random(45);
    for _ in 0..count {
        let frame = udp_frame(random.below(64) as u8, 1000 + random.below(64) as u16, &[0; 958]);
        // A dropped frame is reported as ENOBUFS: that is the point.
        // SAFETY: the frame is as long as said.
        unsafe { libc::send(sender.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    }
}

/// The major number of the root qdisc.
fn major() -> String {
    let shown = tc("qdisc show dev w0 root");
    shown.split_ascii_whitespace().nth(2).expect("a handle").trim_end_matches(':').to_owned()
}

fn finish(mut child: Child) -> Output {
    wait_until("the end of the command", || child.try_wait().expect("a child").is_some());
    child.wait_with_output().expect("its output")
}

#[test]
fn per_queue_gives_each_transmit_queue_a_scheduler_that_counts_its_own_packets() {
    if !can_run("per_queue_gives_each_transmit_queue_a_scheduler_that_counts_its_own_packets") {
        return;
    }
    let _lab = Lab::new();
    add_wire();
    for more in ["", " --occupancy-from counters", " --occupancy-from clock", " --rank stfq"] {
        let line = format!(
            "up --dev w0 --rate-mbps 4 --scheduler sp-pifo --queues 3 --queue-capacity-packets 7 --per-queue --background{more}"
        );
        let (code, text) = run(&line);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("w0: each of its 4 transmit queues has a scheduler and 1/4 of the rate"), "{text}");
        let qdiscs = tc("qdisc show dev w0");
        assert_eq!(
            (qdiscs.matches("qdisc mq ").count(), qdiscs.matches("qdisc htb ").count()),
            (1, QUEUES),
            "{qdiscs}"
        );
        let classes = tc("class show dev w0");
        assert_eq!(classes.matches(" rate 1Mbit ").count(), QUEUES, "a fourth of the rate: {classes}");
        // More than all queues hold together, before anything can leave.
        let sent = 2000;
        send(sent);
        let queues = transmit_queues();
        assert_eq!(queues.len(), QUEUES);
        let counted = |key: &str| queues.iter().map(|queue| sum(queue, key)).sum::<u64>();
        assert_eq!(counted("admitted_packets") + counted("dropped_full"), sent, "{more}: {queues:?}");
        let used: Vec<_> = queues.iter().filter(|queue| sum(queue, "admitted_packets") > 0).collect();
        assert!(used.len() > 1, "{more}: flows go to several transmit queues: {queues:?}");
        for queue in used {
            assert!(sum(queue, "dropped_full") > 0, "{more}: {queue}");
            // The program sees how full the leaves of its own transmit queue are.
            let by_leaf = sum(queue, "dropped_by_leaf");
            assert!(by_leaf == 0 || more.contains("clock"), "{more}: {queue}");
        }
        let (_, metrics) = run("status --metrics");
        let sample =
            "pifolab_queue_capacity{interface=\"w0\",scheduler=\"sp-pifo\",transmit_queue=\"3\",queue=\"2\"} 7\n";
        assert!(metrics.contains(sample), "{metrics}");
        let (_, text) = run("status");
        assert!(text.contains("transmit queue 3\nqueue "), "{text}");
        assert_eq!(run("down --dev w0").0, Some(0));
        assert!(!tc("qdisc show dev w0").contains("htb"));
    }
}

#[test]
fn per_queue_changes_the_parameters_of_all_transmit_queues() {
    if !can_run("per_queue_changes_the_parameters_of_all_transmit_queues") {
        return;
    }
    let _lab = Lab::new();
    add_wire();
    let file = std::env::temp_dir().join(format!("pifolab-per-queue-{}", std::process::id()));
    std::fs::write(&file, "queue_capacity_packets = 7\nrate_mbps = 4\n").expect("a file");
    let line = format!("up --dev w0 --rate-mbps 4 --scheduler packs --per-queue --parameters {}", file.display());
    let child = up(&line);
    let capacities = || transmit_queues().iter().map(|queue| sum(queue, "capacity")).collect::<Vec<_>>();
    assert_eq!(capacities(), [7 * 8; QUEUES]);
    std::fs::write(&file, "queue_capacity_packets = 5\nrate_mbps = 8\n").expect("a file");
    wait_until("the new parameters", || capacities() == [5 * 8; QUEUES]);
    wait_until("the new rate", || tc("class show dev w0").matches(" rate 2Mbit ").count() == QUEUES);
    assert_eq!(run("down --dev w0").0, Some(0));
    assert!(finish(child).status.success());
    std::fs::remove_file(&file).expect("it is there");
}

#[test]
fn per_queue_ends_with_a_line_when_the_qdisc_of_a_transmit_queue_is_replaced() {
    if !can_run("per_queue_ends_with_a_line_when_the_qdisc_of_a_transmit_queue_is_replaced") {
        return;
    }
    let _lab = Lab::new();
    add_wire();
    let child = up("up --dev w0 --rate-mbps 4 --scheduler aifo --per-queue --offloads-off");
    let mq = major();
    tc(&format!("qdisc replace dev w0 parent {mq}:2 handle 9: pfifo limit 5"));
    let output = finish(child);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("w0: the qdisc of transmit queue 1 was replaced (now pfifo 9:); aifo has ended"), "{said}");
    assert!(said.contains(&format!("not install it: mq {mq}: with pfifo 9: at transmit queue 1")), "{said}");
    assert!(tc("qdisc show dev w0").contains("pfifo 9:"), "it removed what is not its own");
}

#[test]
fn per_queue_is_shown_as_disturbed_and_what_a_killed_command_leaves_is_removed() {
    if !can_run("per_queue_is_shown_as_disturbed_and_what_a_killed_command_leaves_is_removed") {
        return;
    }
    let _lab = Lab::new();
    add_wire();
    let mut child = up("up --dev w0 --rate-mbps 4 --scheduler rifo --per-queue");
    // Stopped, so that only `status` looks.
    // SAFETY: a system call with the number of a child.
    unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
    let mq = major();
    assert_eq!(status()["disturbed"], Value::Null);
    tc(&format!("qdisc del dev w0 parent {mq}:4"));
    assert_eq!(status()["disturbed"], "the qdisc of transmit queue 3 was replaced (now the kernel's default)");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let (code, text) = run("down");
    assert_eq!(code, Some(0), "{text}");
    assert!(!tc("qdisc show dev w0").contains(&format!("{mq}:")), "{}", tc("qdisc show dev w0"));
}

#[test]
fn per_queue_without_several_queues_is_refused_in_a_line() {
    if !can_run("per_queue_without_several_queues_is_refused_in_a_line") {
        return;
    }
    let _lab = Lab::new();
    for (more, expected) in [
        ("", "--per-queue: v0 uses 1 transmit queues: expected from 2 to 63"),
        (" --qdisc bpf", "--per-queue: expected --qdisc htb"),
    ] {
        let output = command(&format!("up --dev v0 --rate-mbps 4 --scheduler fifo --per-queue{more}")).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

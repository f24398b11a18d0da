//! A data plane beside other owners of its interface: other commands, people with `tc` and `ip`, other namespaces.

use crate::can_run;
use crate::life::{Lab, command, root_qdisc, run, tool, up, wait_until};
use crate::traffic::packet_socket;
use pifolab_dataplane::ebpf::harness::frame;
use pifolab_dataplane::net::namespace::NetNamespace;
use pifolab_dataplane::net::offload::{self, Offload};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Output, Stdio};

fn tc(line: &str) {
    let output = tool("tc", line);
    assert!(output.status.success(), "tc {line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn ip(line: &str) {
    let output = tool("ip", line);
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The major number of the root qdisc of v0.
fn major() -> String {
    let shown = root_qdisc("v0");
    shown.split_ascii_whitespace().nth(2).expect("a handle").trim_end_matches(':').to_owned()
}

/// Waits for its end, and returns what it said.
fn finish(mut child: Child) -> Output {
    wait_until("the end of the command", || child.try_wait().expect("a child").is_some());
    child.wait_with_output().expect("its output")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn one_of_two_ups_at_once_wins_and_the_other_changes_nothing() {
    if !can_run("one_of_two_ups_at_once_wins_and_the_other_changes_nothing") {
        return;
    }
    let _lab = Lab::new();
    for round in 0..6 {
        let lines =
            ["sp-pifo", "aifo"].map(|name| format!("up --dev v0 --rate-mbps 20 --scheduler {name} --background"));
        let children = lines.map(|line| {
            let mut command = command(&line);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts")
        });
        let outputs = children.map(finish);
        let mut statuses = outputs.each_ref().map(|output| output.status.code());
        statuses.sort_unstable();
        assert_eq!(statuses, [Some(0), Some(2)], "round {round}: {outputs:?}");
        let (winner, loser) = if outputs[0].status.success() { (0, 1) } else { (1, 0) };
        let text = said(&outputs[loser]);
        assert!(text.contains(&format!("{} is up already (process ", ["sp-pifo", "aifo"][winner])), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        // The winner's queues and filter are there.
        assert!(root_qdisc("v0").contains("htb"), "round {round}: the loser removed the winner's queues");
        let filters = tool("tc", &format!("filter show dev v0 parent {}:", major()));
        let filters = String::from_utf8_lossy(&filters.stdout).into_owned();
        assert!(filters.contains(&format!("pifolab:{}", ["sp-pifo", "aifo"][winner])), "round {round}: {filters}");
        assert_eq!(run("down").0, Some(0));
        assert!(!root_qdisc("v0").contains("htb"));
    }
}

#[test]
fn queues_in_a_new_namespace_with_the_number_of_an_old_one_are_not_taken_for_ours() {
    if !can_run("queues_in_a_new_namespace_with_the_number_of_an_old_one_are_not_taken_for_ours") {
        return;
    }
    // A killed command leaves its record; its namespace ends with the thread.
    let old = std::thread::spawn(|| {
        let _lab = Lab::new();
        let mut child = up("up --dev v0 --rate-mbps 20 --scheduler fifo");
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        NetNamespace::current().expect("a namespace").inode()
    });
    let old = old.join().expect("the thread ends well");
    // The kernel gives the lowest free number, and frees that of an ended namespace after a while. Where something else got
    // it, the test shows less, but what it asserts must hold all the same.
    for _ in 0..200 {
        let found = std::thread::spawn(move || {
            let _lab = Lab::new();
            if NetNamespace::current().expect("a namespace").inode() != old {
                std::thread::sleep(std::time::Duration::from_millis(20));
                return false;
            }
            tc("qdisc add dev v0 root handle 1: htb default 1");
            assert_eq!(run("status").0, Some(1), "nothing is up here");
            let (status, text) = run("down --dev v0");
            assert_eq!(status, Some(0), "{text}");
            assert!(root_qdisc("v0").contains("htb 1:"), "down removed what is not ours: {text}");
            let (status, text) = run("up --dev v0 --rate-mbps 20 --scheduler fifo --background");
            assert!(status == Some(2) && text.contains("not installed by pifolab (htb 1:)"), "{text}");
            true
        });
        if found.join().expect("the thread ends well") {
            break;
        }
    }
}

#[test]
fn what_a_crash_left_in_another_namespace_stays_known_as_long_as_that_lives() {
    if !can_run("what_a_crash_left_in_another_namespace_stays_known_as_long_as_that_lives") {
        return;
    }
    let _lab = Lab::new();
    let (crashed, after_crash) = std::sync::mpsc::channel();
    let (looked, after_look) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        let _lab = Lab::new();
        let mut child = up("up --dev v0 --rate-mbps 20 --scheduler packs");
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        let stem = NetNamespace::current().expect("a namespace").id().file_stem();
        crashed.send(stem.clone()).expect("the test waits");
        after_look.recv().expect("the test goes on");
        assert!(root_qdisc("v0").contains("htb"), "nobody else removes it");
        let (status, text) = run("down");
        assert!(status == Some(0) && text.contains("packs is down"), "{text}");
        assert!(!root_qdisc("v0").contains("htb"), "{}", root_qdisc("v0"));
        // Another one, which the namespace takes with it.
        let mut child = up("up --dev v0 --rate-mbps 20 --scheduler aifo");
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        assert_eq!(records_of(&stem), 1, "a crash leaves its record");
    });
    let stem = after_crash.recv().expect("the other thread says");
    let (status, text) = run("down");
    assert!(status == Some(0) && text.contains("nothing is up in this network namespace"), "{text}");
    looked.send(()).expect("the other thread waits");
    other.join().expect("the thread ends well");
    // The kernel takes a namespace apart in its own time.
    wait_until("the end of the record", || run("down").0 == Some(0) && records_of(&stem) == 0);
}

/// Records of the namespace whose files' names begin so.
fn records_of(stem: &str) -> usize {
    let names = std::fs::read_dir("/run/pifolab").expect("records");
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("{stem}-")) && name.ends_with(".json")).count()
}

#[test]
fn down_leaves_alone_what_others_have_put_in_the_place_of_ours() {
    if !can_run("down_leaves_alone_what_others_have_put_in_the_place_of_ours") {
        return;
    }
    let _lab = Lab::new();
    for theirs in ["htb", "htb default 1"] {
        let mut child = up("up --dev v0 --rate-mbps 20 --scheduler aifo");
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        tc("qdisc del dev v0 root");
        tc(&format!("qdisc add dev v0 root handle 1: {theirs}"));
        assert_eq!(run("down").0, Some(0));
        assert!(root_qdisc("v0").contains("htb 1:"), "down removed what is not ours");
        tc("qdisc del dev v0 root");
    }
    // With our own queues in place, but somebody's filter on them.
    let mut child = up("up --dev v0 --rate-mbps 20 --scheduler aifo");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let major = major();
    tc(&format!("filter add dev v0 parent {major}: protocol ip prio 9 u32 match u32 0 0 classid {major}:1"));
    let (status, text) = run("down");
    assert!(status == Some(2) && text.contains("pifolab did not install it") && text.contains("u32"), "{text}");
    assert!(root_qdisc("v0").contains(&major));
    tc("qdisc del dev v0 root");
    // The same while the process lives: it leaves the queues, and `down` says that they are there.
    let child = up("up --dev v0 --rate-mbps 20 --scheduler aifo --offloads-off");
    let major = self::major();
    tc(&format!("filter add dev v0 parent {major}: protocol ip prio 9 u32 match u32 0 0 classid {major}:1"));
    let (status, text) = run("down");
    assert!(status == Some(2) && text.contains("pifolab did not install it") && text.contains("u32"), "{text}");
    assert!(root_qdisc("v0").contains(&major));
    assert!(said(&finish(child)).contains("pifolab did not install it"));
}

#[test]
fn a_filter_that_somebody_puts_before_its_own_is_told_of_once_and_shown() {
    if !can_run("a_filter_that_somebody_puts_before_its_own_is_told_of_once_and_shown") {
        return;
    }
    let _lab = Lab::new();
    let expected = "a filter of somebody else (bpf) was put before its own";
    let child = up("up --dev v0 --rate-mbps 20 --scheduler sp-pifo --offloads-off");
    let filter = |change: &str, rest: &str| {
        let line = format!("filter {change} dev v0 parent {}: protocol all {rest}", major());
        let output = tool("tc", &line);
        assert!(output.status.success(), "{line}: {}", said(&output));
    };
    // Behind its own, no packet comes to it.
    filter("add", &format!("prio 7 u32 match u32 0 0 classid {}:1", major()));
    let (status, text) = run("status");
    assert!(status == Some(0) && !text.contains("as it was put up"), "{text}");
    filter("del", "prio 7");
    // Of those of one preference, the kernel runs the newest first.
    for handle in ["0x2", "0x3"] {
        filter("add", &format!("prio 1 handle {handle} bpf bytecode 1,6\t0\t0\t0, classid {}:1", major()));
        let (status, text) = run("status");
        assert!(status == Some(0) && text.contains(&format!("v0: {expected}: sp-pifo (process ")), "{text}");
        let (_, text) = run("status --metrics");
        assert!(text.contains("pifolab_up{interface=\"v0\",scheduler=\"sp-pifo\"} 0"), "{text}");
    }
    filter("del", "prio 1 handle 0x2 bpf");
    filter("del", "prio 1 handle 0x3 bpf");
    assert!(!run("status").1.contains("as it was put up"), "it is alone again");
    assert_eq!(run("down").0, Some(0));
    let output = finish(child);
    assert_eq!(said(&output).matches(expected).count(), 1, "{}", said(&output));
    assert!(!root_qdisc("v0").contains("htb"));
}

#[test]
fn a_renamed_interface_is_shown_and_cleaned_under_its_new_name() {
    if !can_run("a_renamed_interface_is_shown_and_cleaned_under_its_new_name") {
        return;
    }
    let _lab = Lab::new();
    for (named, left_by_a_crash) in [("", false), (" --dev w0", false), (" --dev v0", false), ("", true)] {
        let mut child = up("up --dev v0 --rate-mbps 20 --scheduler packs");
        ip("link set v0 down");
        ip("link set v0 name w0");
        let (status, text) = run("status --dev w0");
        assert!(status == Some(0) && text.contains("packs") && text.contains("w0"), "{text}");
        if left_by_a_crash {
            child.kill().expect("SIGKILL");
        }
        let (status, text) = run(&format!("down{named}"));
        assert!(status == Some(0) && text.contains("packs is down") && text.contains("w0"), "down{named}: {text}");
        assert!(!root_qdisc("w0").contains("htb"), "down{named}: {}", root_qdisc("w0"));
        let output = finish(child);
        assert!(left_by_a_crash || said(&output).contains("its name is w0 now"), "{}", said(&output));
        ip("link set w0 name v0");
        ip("link set v0 up");
    }
}

#[test]
fn up_ends_with_a_line_when_its_interface_or_its_queues_are_taken_away() {
    if !can_run("up_ends_with_a_line_when_its_interface_or_its_queues_are_taken_away") {
        return;
    }
    let _lab = Lab::new();
    let child = up("up --dev v0 --rate-mbps 20 --scheduler rifo --offloads-off");
    tc("qdisc replace dev v0 root handle 9: pfifo limit 5");
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("the root qdisc was replaced (now pfifo 9:)"), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(root_qdisc("v0").contains("pfifo 9:"), "it removed what is not its own");
    tc("qdisc del dev v0 root");

    let child = up("up --dev v0 --rate-mbps 20 --scheduler rifo --offloads-off");
    tc(&format!("filter del dev v0 parent {}:", major()));
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("v0: its filter was removed"), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(!root_qdisc("v0").contains("htb"), "queues without a scheduler were left");

    let child = up("up --dev v0 --rate-mbps 20 --scheduler rifo --offloads-off");
    ip("link del v0");
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("v0: the interface is gone; rifo has ended"), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert_eq!(run("status").0, Some(1), "it left no record");
}

fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: a signal to a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn status_says_what_was_done_to_a_data_plane_whose_process_has_not_seen_it() {
    if !can_run("status_says_what_was_done_to_a_data_plane_whose_process_has_not_seen_it") {
        return;
    }
    let _lab = Lab::new();
    for (change, expected) in [
        ("filter del dev v0 parent MAJOR:", "its filter was removed"),
        ("qdisc del dev v0 root", "its root qdisc was removed"),
        ("qdisc replace dev v0 root handle 9: pfifo limit 5", "its root qdisc was replaced (now pfifo 9:)"),
    ] {
        let child = up("up --dev v0 --rate-mbps 20 --scheduler rifo");
        let shown: Value = serde_json::from_str(run("status --json").1.trim()).expect("JSON");
        assert_eq!(shown["disturbed"], Value::Null);
        signal(&child, libc::SIGSTOP);
        tc(&change.replace("MAJOR", &major()));
        let (status, text) = run("status");
        assert!(status == Some(0) && text.contains(&format!("v0: {expected}: rifo (process ")), "{text}");
        let shown: Value = serde_json::from_str(run("status --json").1.trim()).expect("JSON");
        assert_eq!(shown["disturbed"], expected);
        let (_, text) = run("status --metrics");
        assert!(text.contains("pifolab_up{interface=\"v0\",scheduler=\"rifo\"} 0"), "{text}");
        signal(&child, libc::SIGCONT);
        assert_eq!(finish(child).status.code(), Some(1));
        let _ = tool("tc", "qdisc del dev v0 root");
    }
}

#[test]
fn a_class_that_somebody_changed_or_removed_is_told_of_once_and_shown() {
    if !can_run("a_class_that_somebody_changed_or_removed_is_told_of_once_and_shown") {
        return;
    }
    let _lab = Lab::new();
    let (changed, removed) = ("a class of its root qdisc was changed", "a class of its root qdisc was removed");
    let path = std::env::temp_dir().join(format!("pifolab-classes-{}.txt", std::process::id()));
    let write = |text: &str| std::fs::write(&path, text).expect("/tmp is writable");
    write("rate_mbps = 20\n");
    let line = format!("up --dev v0 --rate-mbps 20 --scheduler sp-pifo --offloads-off --parameters {}", path.display());
    let child = up(&line);
    // What it changes itself is as it should be.
    write("rate_mbps = 10\nqueues = 5\n");
    let is_changed =
        || String::from_utf8_lossy(&tool("tc", "class show dev v0").stdout).contains("rate 10Mbit ceil 10Mbit");
    // The fifth queue is shown once the change is recorded.
    let is_recorded = || {
        let (status, text) = run("status");
        status == Some(0) && text.contains("\n    4 ") && !text.contains("as it was put up")
    };
    wait_until("the new rate", || is_changed() && is_recorded());
    for (change, expected) in [
        ("change dev v0 parent MAJOR: classid MAJOR:fff0 htb rate 5mbit ceil 5mbit", changed),
        ("change dev v0 parent MAJOR: classid MAJOR:fff0 htb rate 6mbit ceil 6mbit", changed),
        ("change dev v0 parent MAJOR:fff0 classid MAJOR:3 htb rate 1mbit ceil 1mbit", changed),
        ("del dev v0 classid MAJOR:2", removed),
    ] {
        tc(&format!("class {}", change.replace("MAJOR", &major())));
        let (status, text) = run("status");
        assert!(status == Some(0) && text.contains(&format!("v0: {expected}: ")), "{text}");
        assert!(text.contains("sp-pifo (process ") && text.contains("does not work as it was put up"), "{text}");
        let (_, text) = run("status --metrics");
        assert!(text.contains("pifolab_up{interface=\"v0\",scheduler=\"sp-pifo\"} 0"), "{text}");
    }
    assert_eq!(run("down").0, Some(0));
    let output = finish(child);
    assert!(output.status.success());
    let _ = std::fs::remove_file(&path);
    for once in [changed, removed] {
        assert_eq!(said(&output).matches(once).count(), 1, "{}", said(&output));
    }
    assert!(!root_qdisc("v0").contains("htb"));
}

#[test]
fn status_says_what_is_still_being_put_up() {
    if !can_run("status_says_what_is_still_being_put_up") {
        return;
    }
    let _lab = Lab::new();
    let child = up("up --dev v0 --rate-mbps 20 --scheduler packs --offloads-off");
    // As the record is before the program is loaded.
    let own = format!("\"pid\": {},", child.id());
    let records = std::fs::read_dir("/run/pifolab").expect("records").map(|entry| entry.expect("a record").path());
    let is_own = |path: &std::path::PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains(&own));
    let path = records.into_iter().find(is_own).expect("its record");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&path).expect("its record")).expect("JSON");
    (record["complete"], record["program"], record["maps"]) = (false.into(), Value::Null, Value::Array(Vec::new()));
    std::fs::write(&path, record.to_string()).expect("root may");
    let (status, text) = run("status");
    let expected = format!("v0: packs is being put up by process {}\n", child.id());
    assert_eq!((status, text.as_str()), (Some(0), expected.as_str()));
    let shown: Value = serde_json::from_str(run("status --json").1.trim()).expect("JSON");
    assert_eq!((&shown["interface"], &shown["complete"]), (&"v0".into(), &false.into()));
    let (status, text) = run("status --metrics");
    assert!(status == Some(0) && text.contains("pifolab_up{interface=\"v0\",scheduler=\"packs\"} 0"), "{text}");
    assert_eq!(run("down").0, Some(0));
    assert!(finish(child).status.success());
}

#[test]
fn down_ends_a_process_that_was_stopped() {
    if !can_run("down_ends_a_process_that_was_stopped") {
        return;
    }
    let _lab = Lab::new();
    let child = up("up --dev v0 --rate-mbps 20 --scheduler aifo");
    signal(&child, libc::SIGSTOP);
    let (status, text) = run("down");
    assert!(status == Some(0) && text.contains("v0: aifo is down"), "{text}");
    assert!(!root_qdisc("v0").contains("htb"));
    assert!(finish(child).status.success(), "it ended in order");
}

#[test]
fn an_interface_with_mq_becomes_one_queue_with_a_line_that_says_so() {
    if !can_run("an_interface_with_mq_becomes_one_queue_with_a_line_that_says_so") {
        return;
    }
    let _lab = Lab::new();
    let expected = "w0: its 4 transmit queues, which mq serves side by side, have one queue and one lock";
    ip("link add name w0 numtxqueues 4 type veth peer name w1");
    ip("link set w0 up");
    let line = "up --dev w0 --rate-mbps 20 --scheduler fifo --background";
    let (status, text) = run(line);
    assert!(status == Some(0) && !text.contains("transmit queues"), "it has no mq: {text}");
    assert_eq!(run("down").0, Some(0));
    tc("qdisc add dev w0 root handle 1: mq");
    let (status, text) = run(line);
    assert!(status == Some(2) && text.contains("not installed by pifolab (mq 1:)"), "{text}");
    let (status, text) = run(&format!("{line} --force"));
    assert!(status == Some(0) && text.contains(expected), "{text}");
    assert_eq!(run("down").0, Some(0));
    ip("link del w0");
    // The kernel's own mq, which it gives an interface with several queues.
    if !tool("ip", "link add name w0 numtxqueues 4 type ifb").status.success() {
        eprintln!("not tried: this kernel has no interface of type ifb");
        return;
    }
    ip("link set w0 up");
    assert!(root_qdisc("w0").contains("mq"), "{}", root_qdisc("w0"));
    let (status, text) = run(line);
    assert!(status == Some(0) && text.contains(expected), "{text}");
    assert_eq!(run("down").0, Some(0));
    assert!(root_qdisc("w0").contains("mq"), "the kernel's default is back");
}

#[test]
fn an_interface_may_have_any_name_that_the_kernel_lets_it_have() {
    if !can_run("an_interface_may_have_any_name_that_the_kernel_lets_it_have") {
        return;
    }
    let _lab = Lab::new();
    let mut now = "v0";
    for name in ["a#b", "#", "it's", "\"q\"", "a\\", "-x", "e\u{e9}", "a;b", "abcdefghijklmno"] {
        ip(&format!("link set dev {now} down"));
        ip(&format!("link set dev {now} name {name}"));
        ip(&format!("link set dev {name} up"));
        now = name;
        let (status, text) = run(&format!("up --dev={name} --rate-mbps 20 --scheduler sp-pifo --background"));
        assert!(status == Some(0) && text.contains(&format!("{name}: sp-pifo on 8 queues")), "{name}: {text}");
        assert!(root_qdisc(name).contains("htb"), "{name}");
        let (status, text) = run(&format!("status --dev={name}"));
        assert!(status == Some(0) && text.contains(&format!("{name}: sp-pifo")), "{name}: {text}");
        assert_eq!(text.matches("\n    ").count(), 8, "eight queues: {text}");
        assert_eq!(run(&format!("down --dev={name}")).0, Some(0), "{name}");
        assert!(!root_qdisc(name).contains("htb"), "{name}");
    }
}

#[test]
fn offloads_that_are_turned_on_while_it_is_up_are_told_of() {
    if !can_run("offloads_that_are_turned_on_while_it_is_up_are_told_of") {
        return;
    }
    let _lab = Lab::new();
    offload::set("v0", &Offload::OUTGOING, true).expect("veth has both");
    let mut child = up("up --dev v0 --rate-mbps 20 --scheduler fifo --offloads-off");
    let said = BufReader::new(child.stderr.take().expect("it is piped"));
    let (line, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|said| line.send(said)));
    for offload in Offload::OUTGOING {
        // It may not watch yet, or see that the offload is on only when it is off again.
        let mut told = None;
        wait_until("a line about the offload", || {
            offload::set("v0", &[offload], true).expect("veth has both");
            told = lines.recv_timeout(std::time::Duration::from_secs(1)).ok();
            offload::set("v0", &[offload], false).expect("veth has both");
            told.is_some()
        });
        let told = told.expect("it was told");
        assert!(told.contains(&format!("v0: {offload} turned on while fifo is up")), "{told}");
        assert!(told.contains(&format!("ethtool -K v0 {offload} off")), "{told}");
    }
    assert_eq!(run("down").0, Some(0));
    assert!(finish(child).status.success());
    assert_eq!(offload::enabled("v0", &Offload::OUTGOING).expect("it is told"), Offload::OUTGOING, "as it was");
}

#[test]
fn offloads_are_told_of_and_turned_off_as_long_as_is_asked_for() {
    if !can_run("offloads_are_told_of_and_turned_off_as_long_as_is_asked_for") {
        return;
    }
    let _lab = Lab::new();
    let on = || offload::enabled("v0", &Offload::OUTGOING).expect("it is told");
    offload::set("v0", &Offload::OUTGOING, true).expect("veth has both");
    let line = "up --dev v0 --rate-mbps 20 --scheduler fifo --background";
    let (status, text) = run(line);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("tso and gso on") && text.contains("ethtool -K v0 tso off gso off"), "{text}");
    assert_eq!(on(), Offload::OUTGOING, "nobody asked for a change");
    assert_eq!(run("down").0, Some(0));
    // One of them is off already, and stays so.
    offload::set("v0", &[Offload::Tso], false).expect("veth has both");
    let (status, text) = run(&format!("{line} --offloads-off"));
    assert!(status == Some(0) && !text.contains("gso"), "{text}");
    assert!(on().is_empty(), "it was asked for");
    assert_eq!(run("down").0, Some(0));
    assert_eq!(on(), [Offload::Gso], "as it was");
    // Also after a crash.
    let mut child = up("up --dev v0 --rate-mbps 20 --scheduler fifo --offloads-off");
    wait_until("the offloads", || on().is_empty());
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    assert_eq!(run("down").0, Some(0));
    assert_eq!(on(), [Offload::Gso], "as it was");
    // The switch looks at what comes in.
    offload::set("v0", &[Offload::Gro], true).expect("veth has it");
    let (_, text) = run("switch --in v0 --out v1 --scheduler fifo --duration-s 0.1");
    assert!(text.contains("v0: gro on") && text.contains("--offloads-off"), "{text}");
    let (status, text) = run("switch --in v0 --out v1 --scheduler fifo --duration-s 0.1 --offloads-off");
    assert!(status == Some(0) && !text.contains("gro"), "{text}");
    let gro = || offload::enabled("v0", &Offload::INCOMING).expect("it is told");
    assert_eq!(gro(), [Offload::Gro], "as it was");
    // After a crash they come back with the next `down`, and with the next switch.
    let line = "switch --in v0 --out v1 --scheduler fifo --offloads-off --interval-s 0.05";
    for next in ["down", "down --dev v0", "switch --in v0 --out v1 --scheduler fifo --duration-s 0.1"] {
        let mut child = switch(line);
        assert!(gro().is_empty(), "it was asked for");
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        assert!(gro().is_empty(), "a killed process cannot clean up");
        let (status, text) = run(next);
        assert_eq!(status, Some(0), "{next}: {text}");
        assert_eq!(gro(), [Offload::Gro], "{next}: {text}");
        assert!(!next.starts_with("down") || text.contains("v0: gro on again"), "{next}: {text}");
    }
}

/// Starts a switch and waits until it counts frames.
fn switch(line: &str) -> Child {
    let mut command = command(line);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    out.read_line(&mut said).expect("a line");
    assert!(said.starts_with('{'), "{line}: {said}");
    // Without somebody who reads, it would end.
    std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    child
}

#[test]
fn one_switch_at_a_time_has_an_interface() {
    if !can_run("one_switch_at_a_time_has_an_interface") {
        return;
    }
    let _lab = Lab::new();
    ip("link add w0 type veth peer name w1");
    let mut first = switch("switch --in v0 --out v1 --scheduler fifo --interval-s 0.05");
    for line in [
        "switch --in v0 --out v1 --scheduler pifo --duration-s 0.1",
        "switch --in v1 --out v0 --scheduler pifo --duration-s 0.1",
        "switch --in w0 --out v1 --scheduler pifo --duration-s 0.1",
    ] {
        let (status, text) = run(line);
        assert_eq!((status, text.lines().count()), (Some(2), 1), "{line}: {text}");
        // Which of the two is asked for first is their order in the kernel.
        let held = format!(": another switch has this interface (process {}); stop it first", first.id());
        assert!(text.contains(&format!("v0{held}")) || text.contains(&format!("v1{held}")), "{line}: {text}");
    }
    let (status, text) = run("switch --in w0 --out w1 --scheduler pifo --duration-s 0.1");
    assert_eq!(status, Some(0), "others are free: {text}");
    assert!(first.try_wait().expect("a child").is_none(), "the first one goes on");
    first.kill().expect("SIGKILL");
    first.wait().expect("it ends");
    let (status, text) = run("switch --in v1 --out v0 --scheduler pifo --duration-s 0.1");
    assert_eq!(status, Some(0), "also after a crash: {text}");
}

#[test]
fn metrics_are_in_the_prometheus_text_format() {
    if !can_run("metrics_are_in_the_prometheus_text_format") {
        return;
    }
    let _lab = Lab::new();
    let (status, text) = run("status --metrics");
    assert_eq!((status, text.lines().last()), (Some(0), Some("pifolab_data_planes 0")));
    for (dev, scheduler) in [("v0", "packs --queues 4"), ("v1", "aifo")] {
        let (status, text) = run(&format!("up --dev {dev} --rate-mbps 20 --scheduler {scheduler} --background"));
        assert_eq!(status, Some(0), "{text}");
    }
    let (status, text) = run("status --metrics");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("pifolab_up{interface=\"v0\",scheduler=\"packs\"} 1"), "{text}");
    assert_eq!(text.matches("\npifolab_queue_capacity{interface=\"v0\"").count(), 4, "{text}");
    assert!(text.contains(
        "pifolab_queue_dropped_packets_total{interface=\"v1\",scheduler=\"aifo\",queue=\"0\",reason=\"full\"} "
    ));
    // The format: HELP, then TYPE, then the samples of each metric, once.
    let mut seen = std::collections::BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            current = rest.split(' ').next().expect("a name").to_owned();
            assert!(seen.insert(current.clone()), "{current} comes twice");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            assert!(
                name == current
                    && (kind == "counter") == name.ends_with("_total")
                    && ["counter", "gauge"].contains(&kind)
            );
        } else {
            let (sample, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert_eq!(sample.split('{').next(), Some(current.as_str()), "{line}");
        }
    }
    assert_eq!(run("down").0, Some(0));
}

#[test]
fn a_service_manager_is_told_when_it_is_up() {
    if !can_run("a_service_manager_is_told_when_it_is_up") {
        return;
    }
    let _lab = Lab::new();
    let path = std::env::temp_dir().join(format!("pifolab-notify-{}", std::process::id()));
    let socket = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(120))).expect("a time-out");
    let mut command = command("up --dev v0 --rate-mbps 20 --scheduler fifo");
    command.env("NOTIFY_SOCKET", &path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let mut buffer = [0; 32];
    let received = loop {
        match socket.recv(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            received => break received,
        }
    };
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(&buffer[..received.expect("a message")], b"READY=1");
    assert!(root_qdisc("v0").contains("htb"));
    assert_eq!(run("down").0, Some(0));
    assert!(child.wait().expect("it ends").success());
}

/// What the leaf of the second queue holds, and what the program has let in there.
fn held_and_admitted() -> (u64, u64) {
    let (status, text) = run("status --json");
    assert_eq!(status, Some(0), "{text}");
    let shown: Value = serde_json::from_str(text.trim()).expect("JSON");
    let number = |key: &str| shown["queues"][1][key].as_u64().expect("a count");
    (number("occupancy"), number("admitted_packets"))
}

#[test]
fn a_leaf_that_somebody_replaced_is_read_and_never_the_memory_of_the_old_one() {
    if !can_run("a_leaf_that_somebody_replaced_is_read_and_never_the_memory_of_the_old_one") {
        return;
    }
    let _lab = Lab::new();
    // 8 kb/s: a frame of 9000 bytes lasts nine seconds, so that hardly anything leaves while this test looks, on a slow
    // machine either. Packets of one rank are all for the second queue.
    ip("link set v0 mtu 9000");
    ip("link set v1 mtu 9000");
    let child = up("up --dev v0 --rate-mbps 0.008 --scheduler sp-pifo --queues 2 --queue-capacity-packets 10");
    let sender = packet_socket("v0");
    let mut long = frame(0, 7).to_vec();
    long.resize(9000, 0);
    long[16..18].copy_from_slice(&8986u16.to_be_bytes());
    let send = |packets: usize| {
        for _ in 0..packets {
            // A dropped frame is reported as an error.
            // SAFETY: the frame is as long as said.
            unsafe { libc::send(sender.as_raw_fd(), long.as_ptr().cast(), long.len(), 0) };
        }
    };
    // Of ten, some may have left when this test looks.
    let about_ten = 5..=10;
    send(40);
    let (held, _) = held_and_admitted();
    assert!(about_ten.contains(&held), "{held}");
    let major = major();
    for change in [
        format!("qdisc replace dev v0 parent {major}:2 handle 77: pfifo limit 1000"),
        format!("qdisc replace dev v0 parent {major}:2 handle 78: bfifo limit 10000000"),
    ] {
        tc(&change);
        let (held, before) = held_and_admitted();
        // But for stray multicast of a fresh interface.
        assert!(held <= 3, "the new qdisc holds {held}: {change}");
        send(40);
        let (held, after) = held_and_admitted();
        // The new leaf would take all forty: that ten are let in, the program has read from the new one.
        assert!(about_ten.contains(&held), "the program believes that a full queue is not: holds {held} ({change})");
        assert!((5..=20).contains(&(after - before)), "admitted {} ({change})", after - before);
    }
    // Without its class, packets go where HTB sends them, and the program reads nothing that is gone.
    tc(&format!("class del dev v0 classid {major}:2"));
    send(20);
    tc(&format!("class add dev v0 parent {major}:fff0 classid {major}:2 htb rate 8bit ceil 8000bit prio 1"));
    tc(&format!("qdisc add dev v0 parent {major}:2 handle 79: pfifo limit 1000"));
    send(40);
    let (held, _) = held_and_admitted();
    assert!(about_ten.contains(&held), "a class that was made anew is found again: {held}");
    assert_eq!(run("down").0, Some(0));
    let output = finish(child);
    assert!(output.status.success());
    assert!(said(&output).contains("the qdisc of queue 1 was changed"), "{}", said(&output));
}

/// As root with nothing but the capabilities that docs/dataplane.md names, and as another user with them.
#[test]
fn up_and_down_need_the_capabilities_that_the_docs_name_and_no_other() {
    if !can_run("up_and_down_need_the_capabilities_that_the_docs_name_and_no_other") {
        return;
    }
    if tool("setpriv", "--version").status.code() != Some(0) {
        eprintln!("not tried: the command setpriv is missing (Debian: util-linux)");
        return;
    }
    let _lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_pifolab-dataplane");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dataplane.md");
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON"), "the page names others than this test");
    let named = "-all,+bpf,+net_admin,+perfmon";
    let with = |capabilities: &str, line: &str| {
        let bounds = format!("--bounding-set={capabilities} --inh-caps={capabilities} -- {program} {line}");
        let output = tool("setpriv", &bounds);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for parameters in
        ["sp-pifo", "aifo --occupancy-from counters", "sp-pifo --rank stfq", "rifo --occupancy-from clock"]
    {
        let (status, text) = with(named, &format!("up --dev v0 --rate-mbps 20 --scheduler {parameters} --background"));
        assert_eq!(status, Some(0), "{parameters}: {text}");
        // The kernel opens the maps of another process only for CAP_SYS_ADMIN.
        let (status, text) = with(&format!("{named},+sys_admin"), "status");
        assert!(status == Some(0) && text.contains("queue"), "{text}");
        let (status, text) = with(named, "status");
        assert!(status == Some(3) && text.contains("CAP_SYS_ADMIN"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        // A process that ends in order needs nobody who may change the interface.
        let (status, text) = with(if parameters.starts_with("aifo") { "-all" } else { named }, "down");
        assert_eq!(status, Some(0), "{parameters}: {text}");
        assert!(!root_qdisc("v0").contains("htb"));
    }
    // Each of them is needed.
    for fewer in ["-all,+bpf,+net_admin", "-all,+bpf,+perfmon", "-all,+net_admin,+perfmon"] {
        let (status, text) = with(fewer, "up --dev v0 --rate-mbps 20 --scheduler sp-pifo --background");
        assert_eq!(status, Some(3), "{fewer}: {text}");
        assert!(!root_qdisc("v0").contains("htb"), "{fewer}");
    }
    // Another user, whose folder for records is in a mount namespace of its own.
    let mut nobody = std::process::Command::new("setpriv");
    let ambient = "+bpf,+net_admin,+perfmon";
    let line = format!("--reuid=65534 --regid=65534 --clear-groups --inh-caps={ambient} --ambient-caps={ambient} --");
    nobody.args(line.split(' ')).args([
        "sh",
        "-c",
        "\"$0\" up --dev v0 --rate-mbps 20 --scheduler packs --background && \"$0\" down",
    ]);
    // Where this user may read it.
    let copy = std::path::Path::new("/run/pifolab/program");
    nobody.arg(copy);
    let prepare = move || {
        let mount = |what: &std::ffi::CStr, on: &std::ffi::CStr, kind: &std::ffi::CStr, flags| {
            // SAFETY: C strings.
            match unsafe { libc::mount(what.as_ptr(), on.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: system calls with plain numbers and C strings.
        unsafe {
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE)?;
            mount(c"none", c"/run", c"tmpfs", 0)?;
            libc::mkdir(c"/run/pifolab".as_ptr(), 0o755);
            libc::chown(c"/run/pifolab".as_ptr(), 65534, 65534);
        }
        std::fs::copy(program, copy).map(drop)
    };
    // SAFETY: between fork and exec it makes system calls, and copies a file.
    unsafe { nobody.pre_exec(prepare) };
    let output = nobody.stdin(Stdio::null()).output().expect("setpriv starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    assert!(output.status.success() && text.contains("packs is down"), "{text}");
    assert!(!root_qdisc("v0").contains("htb"));
}

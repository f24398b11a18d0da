//! The user-space switch and the testbed, run as a user runs them: through the command.
//!
//! Shares are asserted, never rates: the processors may be shared with anything. The command itself repeats a run, a
//! bounded number of times and saying so, when its senders did not get the processor.
//!
//! Where namespaces are not allowed (tier U), or programs cannot be loaded (tier K), tests say so and end; with
//! `DATAPLANE_REQUIRE=U` or `K` (or `UK`) in the environment they fail instead.

use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The exit status that means "this machine or this user cannot".
const UNSUPPORTED: i32 = 3;
/// The processors carry one experiment at a time.
static PROCESSORS: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pifolab-dataplane"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// Nothing here takes so long, however busy the machine is.
const HANGS: Duration = Duration::from_secs(300);

/// Waits until the command has ended, which it does unless it hangs.
fn finish(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("a child can be waited for").is_none() {
        if start.elapsed() > HANGS {
            child.kill().expect("a child can be killed");
            panic!("the command did not end within {HANGS:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("the output can be read")
}

/// Waits until an experiment has its namespaces, or has ended because it may not have any.
fn wait_for_namespaces(child: &mut Child) {
    let held = format!("/proc/{}/fd", child.id());
    let start = Instant::now();
    while child.try_wait().expect("a child can be waited for").is_none() {
        let files = fs::read_dir(&held).into_iter().flatten().flatten();
        let names = files.filter_map(|file| fs::read_link(file.path()).ok());
        // Those of the sender, the router and the receiver.
        if names.filter(|name| name.to_string_lossy().starts_with("net:[")).count() >= 3 {
            return;
        }
        assert!(start.elapsed() < HANGS, "the experiment does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn run(mut command: Command) -> Output {
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be started"))
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("pifolab-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a line past the test harness, which would keep it to itself: nobody must take a skip for a test that passed.
fn tell(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}

/// Whether the tier is missing, as the command says; a skip is told, and is a failure where the tier is required.
fn skipped(test: &str, tier: char, output: &Output) -> bool {
    if output.status.code() != Some(UNSUPPORTED) {
        return false;
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let required = std::env::var("DATAPLANE_REQUIRE").is_ok_and(|tiers| tiers.contains(tier));
    assert!(!required, "{test} cannot run, and DATAPLANE_REQUIRE asks for it: {reason}");
    tell(&format!("skipped {test}: {}", reason.trim()));
    true
}

/// Runs an experiment and returns its summary; `None` if this machine cannot.
fn testbed(test: &str, tier: char, arguments: &str) -> Option<Value> {
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Folder::new();
    let out = folder.0.join("out");
    let mut command = command(&format!("testbed {arguments}"));
    command.arg("--out").arg(&out);
    let output = run(command);
    if skipped(test, tier, &output) {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    eprint!("{said}");
    let text = fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    for run in summary["runs"].as_array().expect("runs") {
        let series = out.join(run["series"].as_str().expect("a file name"));
        let lines = fs::read_to_string(series).expect("a time series").lines().count();
        assert!(lines > 10, "the time series has {lines} lines");
    }
    Some(summary)
}

/// The shares of the last phase of each run, with the scheduler's name; without runs whose senders were starved.
fn last_shares(summary: &Value) -> Vec<(String, Vec<f64>)> {
    let shares = |run: &Value| {
        let phase = run["phases"].as_array().and_then(|phases| phases.last()).expect("a phase");
        phase["share"].as_array().expect("shares").iter().map(|share| share.as_f64().expect("a number")).collect()
    };
    let runs = summary["runs"].as_array().expect("runs").iter();
    // The command has tried those again, and says what they are: a link that is not full has no shares.
    let (without, carried): (Vec<_>, Vec<_>) =
        runs.partition(|run| run["starved"] == true || run["lost_outside"] == true);
    for run in without {
        tell(&format!("no verdict on {}: its senders did not get the processor", run["scheduler"]));
    }
    carried.into_iter().map(|run| (run["scheduler"].as_str().expect("a name").to_owned(), shares(run))).collect()
}

/// Runs an experiment until nothing is amiss, at most three times. A sender that stood still for a moment on a busy
/// machine shifts shares once; a defect shifts them each time.
fn holds_in_one_of_three_runs(test: &str, tier: char, arguments: &str, amiss: impl Fn(&Value) -> Vec<String>) {
    for attempt in 1..=3 {
        let Some(summary) = testbed(test, tier, arguments) else { return };
        let found = amiss(&summary);
        if found.is_empty() {
            return;
        }
        tell(&format!("{test}, run {attempt} of 3: {}", found.join("; ")));
        assert!(attempt < 3, "{test}: {}", found.join("; "));
    }
}

#[test]
fn qdiscs_of_linux_run_beside_the_library_and_those_that_are_missing_are_skipped_by_name() {
    let name = "qdiscs_of_linux_run_beside_the_library_and_those_that_are_missing_are_skipped_by_name";
    let arguments = "fair-shares --schedulers fifo,drr,fq-codel,scrr --data-plane switch,linux --repeat 1 --phase-s 0.6 --rate-mbps 40";
    holds_in_one_of_three_runs(name, 'U', arguments, |summary| qdiscs_that_differ_from_the_library(name, summary));
}

fn qdiscs_that_differ_from_the_library(name: &str, summary: &Value) -> Vec<String> {
    let (runs, skipped) = (summary["runs"].as_array().expect("runs"), summary["skipped"].as_array().expect("a list"));
    // Each is in one of both lists, and says why it is in the second.
    for scheduler in ["fifo", "drr", "fq-codel", "scrr"] {
        let linux = |one: &&Value| one["scheduler"] == scheduler && one["data_plane"] == "linux";
        let reason = skipped.iter().find(linux).map(|one| one["reason"].as_str().expect("a reason"));
        assert_ne!(runs.iter().any(|run| linux(&run)), reason.is_some(), "{scheduler}: {reason:?}");
        if let Some(reason) = reason {
            tell(&format!("{name}: {scheduler} is not compared: {reason}"));
            assert!(reason.contains("has no"), "{scheduler}: {reason}");
        }
    }
    assert!(skipped.iter().any(|one| one["scheduler"] == "scrr"), "Linux has no SCRR");
    let mut differ = Vec::new();
    for of in runs.iter().filter(|run| run["data_plane"] == "linux") {
        let library = runs.iter().find(|run| run["data_plane"] == "switch" && run["scheduler"] == of["scheduler"]);
        let pair = [of, library.expect("the switch runs every scheduler")];
        if pair.iter().any(|run| run["starved"] == true || run["lost_outside"] == true) {
            tell(&format!("{name}: no verdict on {}: its senders did not get the processor", of["scheduler"]));
            continue;
        }
        let [linux, library] = pair.map(|run| &run["phases"][0]["share"]);
        let apart = |flow: usize| {
            let share = |shares: &Value| shares[flow].as_f64().expect("a share");
            (share(linux) - share(library)).abs() > 0.05
        };
        if (0..4).any(apart) {
            differ.push(format!("{}: {linux} on Linux's qdisc, {library} on pifolab's", of["scheduler"]));
        }
    }
    differ
}

#[test]
fn what_would_run_twice_under_one_name_and_ranks_that_cannot_be_read_are_refused_before_anything_runs() {
    let folder = Folder::new();
    for (arguments, message) in [
        ("fair-shares --schedulers fifo,aifo,fifo", "--schedulers fifo,aifo,fifo: duplicate fifo"),
        ("fair-shares --data-plane switch,switch", "duplicate switch"),
        ("custom --flow rank=1,rate-mbps=2 --schedulers fifo --rank payload:9:9", "--rank \"payload:9:9\": expected"),
        ("custom --flow rank=1,rate-mbps=2,rank=3", "duplicate rank"),
    ] {
        let out = folder.0.join("out");
        let mut command = command(&format!("testbed {arguments}"));
        command.arg("--out").arg(&out);
        let output = run(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(message) && !out.exists(), "{arguments}: {said}");
    }
}

/// The schedulers that do not give the link to the newest flow, with the shares they gave. FIFO has no preference.
/// Slack-SP gives 0.888 to the newest of these flows when nothing disturbs them, the others more than 0.98.
fn newest_flow_does_not_take_the_link(summary: &Value) -> Vec<String> {
    let wrong = |(scheduler, shares): &(String, Vec<f64>)| match scheduler.as_str() {
        "fifo" => !shares.iter().all(|share| (0.2..=0.3).contains(share)),
        "slack-sp" => shares[3] < 0.8,
        _ => shares[3] < 0.85,
    };
    let told = |(scheduler, shares): (String, Vec<f64>)| format!("{scheduler}: {shares:?}");
    last_shares(summary).into_iter().filter(wrong).map(told).collect()
}

/// Whatever did not arrive and was not dropped by the scheduler has a counter that says where it was lost.
fn no_packet_vanishes(summary: &Value) {
    for run in summary["runs"].as_array().expect("runs") {
        let losses = &run["losses"];
        let packets = |key: &str| losses[key].as_u64().unwrap_or_else(|| panic!("{key}: {losses}"));
        let lost = packets("before_scheduler_packets") + packets("after_scheduler_packets");
        let told = packets("switch_packets") + packets("wire_packets") + packets("receiver_socket_packets");
        assert!(packets("sent_packets") > 0 && lost <= told, "{losses} {}", run["counters"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in ["doctor --json", "down --dev lo"] {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let output = finish(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.is_empty(), "{arguments}: {said}");
        assert_ne!(output.status.code(), Some(101), "{arguments}");
    }
}

#[test]
fn a_run_that_loses_packets_outside_the_scheduler_says_so_and_gives_no_verdict() {
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Folder::new();
    let out = folder.0.join("out");
    // Room for a packet or two, between wake-ups of a millisecond in which eight come.
    let mut command = command(
        "testbed udp-four-flows --data-plane switch --schedulers fifo --repeat 1 --phase-s 0.4 --attempts 2 \
         --receiver-buffer-kb 2",
    );
    let output = run({
        command.arg("--out").arg(&out);
        command
    });
    if skipped("losses", 'U', &output) {
        return;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("attempt 1: ") && said.contains("were lost outside the scheduler"), "{said}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("lost outside the scheduler, more than 0.1 %: no verdict"), "{table}");
    let text = fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    no_packet_vanishes(&summary);
    let run = &summary["runs"][0];
    assert_eq!((&run["lost_outside"], &run["attempts"]), (&Value::Bool(true), &Value::from(2)));
    let by_sockets = run["losses"]["receiver_socket_packets"].as_u64().expect("a count");
    let by_flow = run["udp"].as_array().expect("flows").iter().map(|flow| flow["receiver_lost_packets"].as_u64());
    assert!(by_sockets > 0);
    assert_eq!(by_flow.sum::<Option<u64>>(), Some(by_sockets));
}

#[test]
fn flows_of_the_user_s_own_have_the_rates_and_sizes_that_they_were_given() {
    let arguments = "custom --data-plane switch --schedulers pifo --rate-mbps 20 --repeat 1 --phase-s 1 --attempts 6 \
                     --flow rank=9,rate-mbps=30,start-s=0.5 --flow rank=1,rate-mbps=0.2,packet-bytes=64:7/576:4/1500:1,count=40";
    holds_in_one_of_three_runs("flows of one's own", 'U', arguments, own_flows_differ_from_what_was_asked);
}

fn own_flows_differ_from_what_was_asked(summary: &Value) -> Vec<String> {
    no_packet_vanishes(summary);
    assert_eq!(summary["flows"].as_array().expect("flows").len(), 41);
    let run = &summary["runs"][0];
    let counts = run["udp"].as_array().expect("counts");
    // 64:7, 576:4, 1500:1 have 353.3 bytes on average, and 14 more on the wire: 68 packets a second at 0.2 Mb/s.
    let small: u64 = counts[..40].iter().map(|flow| flow["sent_packets"].as_u64().expect("a count")).sum();
    let due: u64 = counts[..40]
        .iter()
        .map(|flow| flow["sent_packets"].as_u64().unwrap_or(0) + flow["given_up_packets"].as_u64().unwrap_or(0))
        .sum();
    assert!(small > 0);
    // PIFO gives them what they ask for, 8 of 20 Mb/s, before the flow of rank 9.
    let share = run["phases"][1]["share"].as_array().expect("shares");
    let own: f64 = share[..40].iter().map(|share| share.as_f64().expect("a share")).sum();
    let mut amiss = Vec::new();
    if !(3400..4800).contains(&due) {
        amiss.push(format!("{due} packets of 40 flows in 1.5 s"));
    }
    if run["starved"] != true && !(0.3..0.5).contains(&own) {
        amiss.push(format!("share {own}"));
    }
    amiss
}

#[test]
fn a_sender_of_the_user_s_own_is_run_and_what_arrives_is_counted_by_port() {
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Folder::new();
    let out = folder.0.join("out");
    let script = "exec bash -c 'for n in {1..50}; do echo hello > \
                  /dev/udp/$PIFOLAB_RECEIVER/$((PIFOLAB_FIRST_PORT + PIFOLAB_FLOWS - 1)); done; sleep 3600'";
    let mut command =
        command("testbed custom --data-plane switch --schedulers fifo --repeat 1 --phase-s 0.5 --rank dscp");
    command.args(["--flow", "rank=3", "--flow", "rank=2", "--sender", script]).arg("--out").arg(&out);
    // The sender is ended after the experiment: by itself it would go on for an hour.
    let output = run(command);
    if skipped("a sender of one's own", 'U', &output) {
        return;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let counts = &summary["runs"][0]["udp"];
    assert_eq!(counts[0]["received_packets"], 0);
    assert!((1..=50).contains(&counts[1]["received_packets"].as_u64().expect("a count")), "{counts}");
    // One that fails fails the experiment.
    let arguments = ["testbed", "custom", "--data-plane", "switch", "--schedulers", "fifo", "--repeat", "1"];
    let mut wrong = Command::new(env!("CARGO_BIN_EXE_pifolab-dataplane"));
    wrong.args(arguments).args(["--flow", "rank=3", "--sender", "exit 3"]).stdin(Stdio::null());
    let output = run(wrong);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("--sender exit 3: it ended with"), "{said}");
}

#[test]
fn the_switch_gives_the_link_to_the_newest_of_four_udp_flows() {
    let arguments = "udp-four-flows --data-plane switch --repeat 1 --phase-s 0.6 --attempts 6";
    holds_in_one_of_three_runs("the switch", 'U', arguments, |summary| {
        assert_eq!(summary["runs"].as_array().expect("runs").len(), 8);
        no_packet_vanishes(summary);
        for run in summary["runs"].as_array().expect("runs") {
            let forward = &run["counters"]["forward"];
            let packets = |key: &str| forward[key]["packets"].as_u64().expect("a count");
            let refused = packets("dropped_admission") + packets("dropped_full") + packets("bypassed");
            assert_eq!(packets("received"), packets("admitted") + refused, "{forward}");
            assert_eq!(run["counters"]["input"]["ring_dropped"], 0, "the ring is long enough");
        }
        newest_flow_does_not_take_the_link(summary)
    });
}

#[test]
fn the_kernel_gives_the_link_to_the_newest_of_four_udp_flows() {
    let schedulers = "fifo,sp-pifo,aifo,packs,rifo,exp-pifo";
    let arguments =
        format!("udp-four-flows --data-plane ebpf --schedulers {schedulers} --repeat 1 --phase-s 0.6 --attempts 6");
    holds_in_one_of_three_runs("the kernel's data plane", 'K', &arguments, |summary| {
        no_packet_vanishes(summary);
        newest_flow_does_not_take_the_link(summary)
    });
}

#[test]
fn start_time_fair_queueing_gives_max_min_fair_shares() {
    let arguments =
        "fair-shares --data-plane switch --schedulers fifo,pifo,sp-pifo --repeat 1 --phase-s 2 --attempts 6";
    holds_in_one_of_three_runs("fair queueing", 'U', arguments, |summary| {
        let unfair = |(scheduler, shares): &(String, Vec<f64>)| {
            // FIFO shares in proportion to what is offered, 80:40:20:10.
            let expected = if scheduler == "fifo" { [0.533, 0.267, 0.133, 0.067] } else { [0.35, 0.35, 0.2, 0.1] };
            shares.iter().zip(expected).any(|(share, expected)| (share - expected).abs() >= 0.06)
        };
        let told = |(scheduler, shares): (String, Vec<f64>)| format!("{scheduler}: {shares:?}");
        last_shares(summary).into_iter().filter(unfair).map(told).collect()
    });
}

#[test]
fn tcp_flows_of_low_rank_finish_first() {
    let arguments =
        "fct --data-plane switch --schedulers fifo,pifo --repeat 1 --flows 20 --largest-kb 400 --phase-s 20";
    let mean_of_small = |run: &Value| {
        let times: Vec<f64> = run["completion_s"].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
        (times.len() == 20).then(|| times[..10].iter().sum::<f64>() / 10.0)
    };
    holds_in_one_of_three_runs("TCP", 'U', arguments, |summary| {
        match (mean_of_small(&summary["runs"][0]), mean_of_small(&summary["runs"][1])) {
            (Some(fifo), Some(pifo)) if pifo < 0.7 * fifo => Vec::new(),
            (fifo, pifo) => {
                vec![format!("smaller half: PIFO {pifo:?} s, FIFO {fifo:?} s (none: not every flow ended)")]
            }
        }
    });
}

/// The switch as a user starts it, between namespaces that the test makes (which needs root here; the testbed's own runs show
/// the way without).
#[test]
fn the_switch_command_carries_both_directions_with_delay_and_tells_what_it_did() {
    use pifolab_dataplane::testbed::namespace::{Lab, RECEIVER};
    use std::net::UdpSocket;
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let lab = match Lab::new(false, 1500) {
        Ok(lab) => lab,
        Err(error) => {
            let required = std::env::var("DATAPLANE_REQUIRE").is_ok_and(|tiers| tiers.contains('U'));
            assert!(!required, "DATAPLANE_REQUIRE asks for the switch: {error}");
            tell(&format!("skipped the switch command: {error}"));
            return;
        }
    };
    let arguments = "switch --in r0 --out r1 --scheduler sp-pifo --queues 4 --delay-us 20000 --interval-s 0.2";
    let start = || command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = lab.router.enter(start).expect("the command can be started");
    let receiver = lab.receiver.enter(|| UdpSocket::bind((RECEIVER, 7))).expect("a socket");
    let sender = lab.sender.enter(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    sender.connect((RECEIVER, 7)).expect("a route");
    receiver.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
    sender.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
    let mut buffer = [0_u8; 64];
    let mut round_trips = 0;
    // The first ones may come before the switch is up, or wait for the address resolution and arrive in a later attempt.
    for attempt in 0..60 {
        let begin = Instant::now();
        sender.send(&[attempt; 32]).expect("datagrams can be sent");
        let arrived = std::iter::from_fn(|| receiver.recv_from(&mut buffer).ok().map(|(_, from)| (buffer[0], from)));
        let Some((_, from)) = arrived.take(60).find(|(number, _)| *number == attempt) else { continue };
        receiver.send_to(&[attempt; 32], from).expect("datagrams can be sent");
        let mut answers = std::iter::from_fn(|| sender.recv(&mut buffer).ok().map(|_| buffer[0])).take(60);
        if answers.any(|number| number == attempt) {
            assert!(begin.elapsed() >= Duration::from_millis(40), "20 ms each way: {:?}", begin.elapsed());
            round_trips += 1;
        }
        if round_trips == 10 {
            break;
        }
    }
    assert_eq!(round_trips, 10);
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let output = finish(child);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("text");
    assert!(lines.lines().count() >= 3, "a line every 0.2 s and one at the end: {lines}");
    let last: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    let sent = last["forward"]["dequeued"]["packets"].as_u64().expect("a count");
    assert!(sent >= 10 && last["forward"]["admitted"]["packets"] == sent, "{last}");
    assert!(last["reverse"]["received"]["packets"].as_u64().expect("a count") >= 10, "{last}");
    assert_eq!(last["bounds"].as_array().expect("bounds").len(), 4);
}

#[test]
fn the_switch_ends_with_a_line_when_an_interface_is_removed() {
    use pifolab_dataplane::testbed::namespace::Lab;
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (removed, from_the_receiver) in [("r0", false), ("r1", true)] {
        let lab = match Lab::new(false, 1500) {
            Ok(lab) => lab,
            Err(error) => {
                let required = std::env::var("DATAPLANE_REQUIRE").is_ok_and(|tiers| tiers.contains('U'));
                assert!(!required, "DATAPLANE_REQUIRE asks for the switch: {error}");
                tell(&format!("skipped the switch command: {error}"));
                return;
            }
        };
        let arguments = "switch --in r0 --out r1 --scheduler fifo --interval-s 0.05";
        let start = || command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = lab.router.enter(start).expect("the command can be started");
        // It carries frames once it counts.
        let mut lines = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
        std::io::BufRead::read_line(&mut lines, &mut String::new()).expect("a line");
        let output = std::thread::scope(|scope| {
            // The switch must be able to say all that it wants.
            scope.spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            // With one end of a pair goes the other.
            match from_the_receiver {
                false => lab.router.ip(&format!("link del {removed}")).expect("it is there"),
                true => lab.receiver.ip("link del d0").expect("it is there"),
            }
            finish(child)
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.trim(), format!("pifolab: {removed}: the interface is gone; the switch has ended"));
    }
}

#[test]
fn nothing_is_left_after_kill_nine() {
    let before = fs::read_to_string("/proc/net/dev").expect("a table of interfaces");
    let arguments = "testbed udp-four-flows --data-plane switch --schedulers pifo --repeat 1 --phase-s 10";
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut child = command(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a child");
    wait_for_namespaces(&mut child);
    if child.try_wait().expect("a child can be waited for").is_some() {
        let output = child.wait_with_output().expect("the output can be read");
        assert!(skipped("kill -9", 'U', &output), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let pid = child.id();
    child.kill().expect("a child can be killed");
    child.wait().expect("a child can be waited for");
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let after = fs::read_to_string("/proc/net/dev").expect("a table of interfaces");
    let names =
        |table: &str| table.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "no interface appeared here");
    let named = fs::read_dir("/run/netns").map_or(0, |names| {
        names.flatten().filter(|name| name.file_name().to_string_lossy().contains(&pid.to_string())).count()
    });
    assert_eq!(named, 0, "no named namespace is left");
}

#[test]
fn a_signal_ends_an_experiment_in_good_order() {
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let arguments = "testbed udp-four-flows --data-plane switch --schedulers pifo --repeat 1 --phase-s 10";
    let mut child = command(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a child");
    wait_for_namespaces(&mut child);
    if child.try_wait().expect("a child can be waited for").is_none() {
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    }
    let output = finish(child);
    if !skipped("a signal", 'U', &output) {
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    }
}

#[test]
fn an_unprivileged_user_gets_the_switch_or_a_clear_message() {
    let _alone = PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let arguments = "testbed udp-four-flows --schedulers pifo --repeat 1 --phase-s 0.6 --attempts 1 --rate-mbps 20";
    // SAFETY: a system call without arguments.
    let root = unsafe { libc::geteuid() } == 0;
    let folder = Folder::new();
    // A build folder may be closed to others: they get a copy of the command.
    let copy = folder.0.join("pifolab-dataplane");
    fs::copy(env!("CARGO_BIN_EXE_pifolab-dataplane"), &copy).expect("a copy of the command");
    let mut command = Command::new(&copy);
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).current_dir("/");
    if root {
        const NOBODY: u32 = 65_534;
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => assert!(String::from_utf8_lossy(&output.stdout).contains("switch"), "the switch carried it"),
        Some(UNSUPPORTED) => assert!(said.contains("namespace"), "{said}"),
        other => panic!("exit status {other:?}: {said}"),
    }
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn wrong_command_lines_are_told_in_one_line() {
    for (arguments, words) in [
        ("testbed udp-four-flows --schedulers sp-pifi", vec!["sp-pifi", "sp-pifo"]),
        ("testbed udp-four-flows --rate-mbps 0", vec!["--rate-mbps 0", "from 0.1"]),
        ("testbed udp-four-flows --schedulers fifo --queues 4", vec!["--queues", "none of the schedulers"]),
        ("testbed fct --flows 1001", vec!["--flows 1001", "1000"]),
        ("testbed custom", vec!["at least one --flow"]),
        ("testbed custom --flow rank=1", vec!["--flow rank=1", "rate-mbps is missing"]),
        ("testbed udp-four-flows --flow rank=1,rate-mbps=1", vec!["--flow", "only on custom"]),
        ("testbed udp-four-flows --packet-bytes 9", vec!["--packet-bytes 9", "from 52"]),
        ("testbed udp-four-flows --offered-mbps 1,2", vec!["--offered-mbps 1,2", "4 rates"]),
        ("testbed udp-four-flows --repeat 0", vec!["--repeat", "1 or more"]),
        ("switch --in lo --out lo", vec!["--in lo --out lo", "two interfaces"]),
        ("switch --in lo --out lo --rate-mbps 0", vec!["--rate-mbps 0", "0.001"]),
        ("switch --in lo --out lo --rank flow-size", vec!["flow-size", "frames do not carry"]),
        ("switch --in nowhere0 --out lo", vec!["nowhere0", "no such interface"]),
    ] {
        let output = run(command(arguments));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments}: {:?} {said}", output.status.code());
        assert_eq!(said.trim().lines().count(), 1, "{arguments}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments}: {word:?} is not in {said:?}");
        }
    }
}

#[test]
fn results_are_not_overwritten() {
    let folder = Folder::new();
    fs::write(folder.0.join("summary.json"), "{}").expect("a file");
    let mut command = command("testbed udp-four-flows --schedulers pifo --data-plane switch");
    let output = run({
        command.arg("--out").arg(&folder.0);
        command
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("earlier run"), "{said}");
}

#[test]
fn conformance_prints_one_object_if_asked() {
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/");
    let mut command = command("conformance --through switch --json");
    let done =
        command.args(["fifo_packets.json", "rifo_pow2_bytes.json"].map(|name| format!("{vector}{name}"))).output();
    let told: serde_json::Value = serde_json::from_slice(&done.unwrap().stdout).unwrap();
    assert_eq!(told["through"], "switch");
    assert_eq!(told["mismatches"], 0);
    assert_eq!(told["vectors"].as_u64().unwrap() + told["skipped"].as_array().unwrap().len() as u64, 2, "{told}");
}

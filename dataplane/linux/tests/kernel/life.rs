//! Up, status and down as a user types them, in a network namespace that ends with the test's thread.

use crate::can_run;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A namespace of the calling thread's own with a veth pair, `v0` and `v1`.
pub struct Lab;

impl Lab {
    pub fn new() -> Self {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("root may have a namespace");
        assert!(tool("ip", "link add v0 type veth peer name v1").status.success(), "ip link add");
        // Else the kernel sends packets of its own (neighbour and multicast discovery) beside the tests'.
        for dev in ["v0", "v1"] {
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{dev}/disable_ipv6"), "1");
            assert!(tool("ip", &format!("link set {dev} up")).status.success(), "ip link set {dev} up");
        }
        Self
    }
}

/// Children inherit the namespace of the thread that makes them.
pub fn tool(name: &str, line: &str) -> Output {
    Command::new(name).args(line.split(' ')).output().unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pifolab-dataplane"));
    command.args(line.split(' '));
    command
}

/// Exit status, and both outputs together.
pub fn run(line: &str) -> (Option<i32>, String) {
    let output = command(line).stdin(Stdio::null()).output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

pub fn root_qdisc(dev: &str) -> String {
    String::from_utf8_lossy(&tool("tc", &format!("qdisc show dev {dev} root")).stdout).into_owned()
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    // As long as a machine may take that does other things: nothing is concluded from how long it takes.
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within two minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts `up` in the foreground and waits until it says that all is in place. It does not outlive the test's thread, and with
/// it the namespace, whatever becomes of the test.
pub fn up(line: &str) -> Child {
    let mut command = command(line);
    // SAFETY: after fork the closure only makes a system call.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut said = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    out.read_line(&mut said).expect("a line");
    if !said.contains(" is up") {
        let output = child.wait_with_output().expect("it ends");
        panic!("{line}: {said}{}", String::from_utf8_lossy(&output.stderr));
    }
    child
}

#[test]
fn a_data_plane_is_put_up_shown_and_taken_down() {
    if !can_run("a_data_plane_is_put_up_shown_and_taken_down") {
        return;
    }
    let _lab = Lab::new();
    let line =
        "up --dev v0 --rate-mbps 20 --scheduler packs --queues 4 --queue-capacity-packets 7 --window 30 --background";
    let (status, text) = run(line);
    assert_eq!(status, Some(0), "{text}");
    assert!(root_qdisc("v0").contains("htb"));
    assert!(!root_qdisc("v1").contains("htb"), "the other interface is left alone");

    let (status, text) = run("status --json");
    assert_eq!(status, Some(0), "{text}");
    let shown: Value = serde_json::from_str(text.trim()).expect("JSON");
    assert_eq!((shown["scheduler"].as_str(), shown["interface"].as_str()), (Some("packs"), Some("v0")));
    let queues = shown["queues"].as_array().expect("queues");
    assert_eq!(queues.len(), 4);
    assert!(queues.iter().all(|queue| queue["capacity"] == 7 && queue["bound"].is_i64()));

    let (status, text) = run(line);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("up already"), "{text}");

    let (status, text) = run("down --dev v0");
    assert_eq!(status, Some(0), "{text}");
    assert!(!root_qdisc("v0").contains("htb"));
    assert_eq!(run("status").0, Some(1), "nothing is up");
    assert_eq!(run("down").0, Some(0), "there is nothing to do");
}

#[test]
fn what_a_killed_command_leaves_is_removed_by_down_and_by_the_next_up() {
    if !can_run("what_a_killed_command_leaves_is_removed_by_down_and_by_the_next_up") {
        return;
    }
    let _lab = Lab::new();
    let line = "up --dev v0 --rate-mbps 20 --scheduler sp-pifo";
    for next in ["down", "up --dev v0 --rate-mbps 20 --scheduler aifo --background"] {
        let mut child = up(line);
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        assert!(root_qdisc("v0").contains("htb"), "a killed process cannot clean up");
        let (status, text) = run("status");
        assert!(status == Some(0) && text.contains("which has ended"), "{text}");
        let (status, text) = run(next);
        assert_eq!(status, Some(0), "{next}: {text}");
    }
    let (_, text) = run("status");
    assert!(text.contains("aifo"), "{text}");
    assert_eq!(run("down").0, Some(0));
    assert!(!root_qdisc("v0").contains("htb"));
}

#[test]
fn a_signal_takes_it_down_in_order() {
    if !can_run("a_signal_takes_it_down_in_order") {
        return;
    }
    let _lab = Lab::new();
    let mut child = up("up --dev v0 --rate-mbps 20 --scheduler exp-pifo --occupancy-from counters");
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it lives");
    assert!(child.wait().expect("it ends").success());
    assert!(!root_qdisc("v0").contains("htb"));
    assert_eq!(run("status").0, Some(1));
}

#[test]
fn a_foreign_root_qdisc_is_left_alone_unless_forced() {
    if !can_run("a_foreign_root_qdisc_is_left_alone_unless_forced") {
        return;
    }
    let _lab = Lab::new();
    assert!(tool("tc", "qdisc add dev v0 root handle 1: htb").status.success());
    let line = "up --dev v0 --rate-mbps 20 --scheduler fifo --background";
    let (status, text) = run(line);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("not installed by pifolab (htb 1:)") && text.contains("--force"), "{text}");
    assert_eq!(run("down --dev v0").0, Some(0));
    assert!(root_qdisc("v0").contains("htb 1:"), "down leaves it alone, too");
    let (status, text) = run(&format!("{line} --force"));
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(run("down").0, Some(0));
}

#[test]
fn wrong_use_and_missing_rights_are_said_in_one_message() {
    if !can_run("wrong_use_and_missing_rights_are_said_in_one_message") {
        return;
    }
    let _lab = Lab::new();
    for (line, status, word) in [
        ("up --dev nosuch --rate-mbps 20 --scheduler fifo", 2, "nosuch"),
        ("up --dev v0 --rate-mbps 0 --scheduler fifo", 2, "rate-mbps 0"),
        ("up --dev v0 --rate-mbps 20 --scheduler fifi", 2, "fifo"),
        ("up --dev v0 --rate-mbps 20 --scheduler sp-pifo --queues 9", 3, "8 priorities"),
        ("up --dev v0 --rate-mbps 20 --scheduler pifo", 3, "switch"),
        ("up --dev v0 --rate-mbps 20 --scheduler aifo --k 2", 2, "k = 2"),
        ("up --dev v0 --rate-mbps 20 --scheduler fifo --rank dcsp", 2, "payload:OFFSET:WIDTH"),
        ("up --dev v0 --rate-mbps 20 --scheduler aifo --qdisc bpf", 3, "BPF qdisc"),
        ("up --dev v0 --rate-mbps 20 --scheduler pifo --qdisc bpf --occupancy-from walk", 2, "no effect"),
        ("cost --count-instructions", 3, "does not count instructions"),
    ] {
        let (got, text) = run(line);
        assert_eq!(got, Some(status), "{line}: {text}");
        assert!(text.contains(word), "{line}: {text}");
    }
    // As nobody, where nobody can read the program at all.
    let mut nobody = command("up --dev v0 --rate-mbps 20 --scheduler fifo");
    match nobody.uid(65_534).gid(65_534).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert!(text.contains("requires root") && text.contains("switch"), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
        Err(error) => eprintln!("as nobody: not tried, since nobody cannot start the program here: {error}"),
    }
    assert!(!root_qdisc("v0").contains("htb"), "nothing was put up");
}

#[test]
fn cost_measures_the_whole_way_of_a_packet_without_with_plain_htb_and_with_every_program() {
    if !can_run("cost_measures_the_whole_way_of_a_packet_without_with_plain_htb_and_with_every_program") {
        return;
    }
    let (status, text) = run("cost --whole --runs 1 --json");
    assert_eq!(status, Some(0), "{text}");
    let shown: Value = serde_json::from_str(text.trim()).expect("JSON");
    let paths = shown["paths"].as_array().expect("paths");
    let of = |scheduler: &str, rank: &str| {
        paths.iter().filter(|path| path["scheduler"] == scheduler && path["rank"] == rank).count()
    };
    assert_eq!((of("none", ""), of("htb", ""), of("sp-pifo", "las"), of("sp-pifo", "stfq")), (1, 1, 1, 1), "{text}");
    let mut expected = 4;
    for program in pifolab_dataplane::ebpf::programs::filters() {
        assert_eq!(of(program.name(), "dscp"), program.cases().len(), "{text}");
        expected += program.cases().len();
    }
    assert_eq!(paths.len(), expected, "{text}");
    for path in paths {
        let number = |key: &str| path[key].as_f64().unwrap_or_else(|| panic!("{key}: {path}"));
        assert!(number("min_ns") > 0.0 && number("min_ns") <= number("median_ns"), "{path}");
        assert!((number("packets_per_s") * number("median_ns") / 1e9 - 1.0).abs() < 1e-6, "{path}");
        assert!(path["scheduler"] != "htb" || number("beyond_htb_ns") == 0.0, "{path}");
    }
    let (status, text) = run("cost --whole --count-instructions");
    assert!(status == Some(2) && text.contains("cannot be used with"), "{text}");
    assert_eq!(run("status").0, Some(1), "nothing is up");
}

#[test]
fn cost_tells_instructions_and_time_of_every_program_and_leaves_nothing() {
    if !can_run("cost_tells_instructions_and_time_of_every_program_and_leaves_nothing") {
        return;
    }
    let (status, text) = run("cost --runs 1 --json");
    assert_eq!(status, Some(0), "{text}");
    let shown: Value = serde_json::from_str(text.trim()).expect("JSON");
    let programs = shown["programs"].as_array().expect("programs");
    let cases: usize = pifolab_dataplane::ebpf::programs::filters().map(|program| program.cases().len()).sum();
    assert_eq!(programs.len(), cases);
    for program in programs {
        let number = |key: &str| program[key].as_u64().unwrap_or_else(|| panic!("{key}: {program}"));
        let counted = !program["executed_instructions"].is_null() && !program["walk_instructions"].is_null();
        assert!(counted, "not counted yet: GUEST_WRITE=1 make guest-test writes instructions.json: {program}");
        assert!(number("min_ns") > 0 && number("min_ns") <= number("median_ns"), "{program}");
        // Fewer than 100 machine instructions read no headers, and more than 20 for each of 1000 slots are a mistake.
        assert!((100..20_000).contains(&number("executed_instructions")), "{program}");
        assert!(number("walk_ns") < 10_000 && (100..5_000).contains(&number("walk_instructions")), "{program}");
    }
    assert!(shown["instructions_counted"]["emulator"].as_str().is_some_and(|emulator| emulator.contains("icount")));
    assert_eq!(run("status").0, Some(1), "nothing is up");
}

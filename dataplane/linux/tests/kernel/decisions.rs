//! Every option of every program against the library, operation by operation.

use crate::life::Lab;
use crate::traffic::packet_socket;
use crate::{Random, arguments, can_run};
use pifolab_dataplane::Error;
use pifolab_dataplane::conformance::{Replay, Through};
use pifolab_dataplane::ebpf::harness::{FirstError, Harnessed, frame};
use pifolab_dataplane::ebpf::intf::Clock;
use pifolab_dataplane::ebpf::program::Program;
use pifolab_dataplane::ebpf::programs::{filters, qdiscs};
use pifolab_dataplane::ebpf::{Loaded, Occupancy, QdiscConfig, QdiscPlane, RankSource, Settings, qdisc};
use pifolab_dataplane::rank::RankOptions;
use pifolab_registry::find_scheduler;
use pifolab_sched::{Enqueued, InspectExt, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use std::os::fd::AsRawFd;

/// Each line is a scheduler and its parameters.
const CONFIGURATIONS: &[&str] = &[
    "fifo capacity_packets=10",
    "fifo capacity_bytes=9000",
    "sp-pifo queues=4 queue_capacity_packets=5",
    "sp-pifo queues=4 queue_capacity_packets=5 on_full=update",
    "sp-pifo queue_capacity_packets=2,6,9 push_down=queue-bound",
    "sp-pifo queues=4 queue_capacity_packets=5 push_down=queue-bound-old on_full=update",
    "sp-pifo queues=4 queue_capacity_packets=5 push_down=rank clamp=0",
    "sp-pifo queues=4 queue_capacity_packets=5 push_down=one clamp=-3",
    "sp-pifo queues=3 queue_capacity_packets=4 order=push-down-first",
    "sp-pifo queues=3 queue_capacity_packets=4 order=push-down-first push_down=rank on_full=update",
    "sp-pifo queues=3 queue_capacity_packets=4 order=push-down-first push_down=one clamp=0",
    "sp-pifo queues=3 queue_capacity_packets=4 order=push-down-first push_down=queue-bound",
    "sp-pifo queues=20 queue_capacity_packets=3",
    "sp-pifo queues=4 queue_capacity_bytes=6000",
    "aifo capacity_packets=20 window=20 k=0.1",
    "aifo capacity_packets=20 window=20 k=0.7 quantile=le update=after",
    "aifo capacity_packets=10 window=5 k=1/4 compare=lt update=after",
    "aifo capacity_packets=10 window=8 k=0.1 sample=3",
    "aifo capacity_packets=20 target_packets=12 window=12 k=0.2",
    "aifo capacity_packets=10 window=8 k=0 start_window=0,0,0,0,0,0,0,0",
    "aifo capacity_packets=10 window=16 k=0 start_window=9,2,5",
    "aifo capacity_bytes=20000 window=20 k=0.1",
    "aifo capacity_packets=200 window=1024 k=0.1",
    "packs queues=4 queue_capacity_packets=5 window=20 k=0.1",
    "packs queue_capacity_packets=2,6,9 window=16 k=1/4 quantile=le",
    "packs queues=4 queue_capacity_packets=5 window=20 k=0.7 update=after",
    "packs queues=4 queue_capacity_packets=5 window=16 occupancy=global",
    "packs queues=4 queue_capacity_packets=5 window=16 occupancy=global fall_through=false k=0.25",
    "packs queues=3 queue_capacity_packets=4 window=7 shift=25",
    "packs queues=3 queue_capacity_packets=4 window=7 shift=-25 quantile=le",
    "packs queues=3 queue_capacity_packets=4 window=7 shift=-9223372036854775807",
    "packs queues=4 queue_capacity_bytes=6000 window=20",
    "slack-sp queues=4 queue_capacity_packets=5",
    "slack-sp queue_capacity_packets=2,6,9 eps=1/3 step=40 initial_bounds=10,60",
    "slack-sp queues=4 queue_capacity_packets=5 fall_through=false step=1/8",
    "slack-sp queues=4 queue_capacity_packets=5 steps=proportional step=2/3 ranks=35184372088832",
    "slack-sp queues=4 queue_capacity_packets=5 steps=proportional step=1/1000 fall_through=false",
    "slack-sp queues=4 queue_capacity_packets=5 admission_gain=1/4",
    "slack-sp queues=4 queue_capacity_packets=5 admission_gain=1000000 target_packets=3",
    "slack-sp queues=4 queue_capacity_bytes=6000",
    "slack-sp queues=1 queue_capacity_packets=5",
    "slack-sp queues=32 queue_capacity_packets=3",
    "rifo capacity_packets=20 tracking_range_packets=10",
    "rifo capacity_packets=20 tracking_range_packets=10 mode=eq3 reset_counter=0",
    "rifo capacity_packets=20 tracking_range_packets=10 mode=pow2",
    "rifo capacity_packets=64 tracking_range_packets=100 k=0 mode=pow2",
    "rifo capacity_packets=1 k=0.9 mode=pow2",
    "rifo capacity_bytes=90000 tracking_range_packets=30 mode=pow2",
    "rifo capacity_bytes=30000 tracking_range_packets=30 k=1/3",
    "exp-pifo queues=8 queue_capacity_packets=5 window_packets=50",
    "exp-pifo queues=3 queue_capacity_packets=5 window_packets=6 beta0=last reset=ge",
    "exp-pifo queues=8 queue_capacity_packets=5 window_packets=50 r_min=1500 beta=ceil",
    "exp-pifo queues=5 queue_capacity_packets=5 window_packets=50 mapping=bounds",
    "exp-pifo queues=5 queue_capacity_packets=5 window_packets=50 mapping=bounds beta=ceil r_min=7",
    "exp-pifo queues=1 queue_capacity_packets=5",
];

/// Where ranks are drawn from: few, many, and up to the largest.
const RANK_LIMITS: [u64; 3] = [8, 100, Rank::MAX.get()];

fn draw(random: &mut Random, limit: u64) -> Rank {
    // Large ranks of every length, not only of the greatest.
    let shift = if limit > 100 { random.below(63) } else { 0 };
    let low = random.below(1 << 30);
    let wide = random.below(1 << 40) << 30 | low;
    Rank::saturating(if limit > 100 { (wide & Rank::MAX.get()) >> shift } else { low % limit })
}

/// Frames of one burst through a BPF qdisc: few, of which each counts, and many.
const BURSTS: [usize; 3] = [25, 90, 400];
/// So long that none leaves during a burst but those for which the link has credit.
const LONG_FRAME: usize = 1400;

/// Runs where the kernel has BPF qdiscs; `make guest-test` runs it in a virtual machine.
#[test]
fn bpf_qdiscs_decide_like_the_library() {
    let test = "bpf_qdiscs_decide_like_the_library";
    if !can_run(test) {
        return;
    }
    if let Err(reason) = qdisc::supported() {
        let line = format!("skipped {test}: {reason}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    }
    let _lab = Lab::new();
    let own = |program: &'static dyn Program| {
        let variants = program.variants().iter().copied();
        std::iter::once(&[][..]).chain(variants).map(move |parameters| (program, parameters))
    };
    for (place, (program, parameters)) in qdiscs().flat_map(own).enumerate() {
        for burst in BURSTS {
            let name = program.name();
            let args = program.info().arguments(parameters);
            let mut library = find_scheduler(name).expect("known").build(args.clone()).expect("valid parameters");
            let config = QdiscConfig {
                interface: "v0".to_owned(),
                rate_bps: 8_000,
                scheduler: name.to_owned(),
                args,
                rank: RankSource::Payload { offset: 0, width: 8 },
                rank_options: RankOptions::default(),
                force: false,
            };
            let plane = match QdiscPlane::up(config) {
                // Of capacities in bytes, more frames fit than a qdisc holds.
                Err(Error::Unsupported(reason)) if reason.contains("holds at most") => continue,
                plane => plane.unwrap_or_else(|error| panic!("{name} {parameters:?}: {error}")),
            };
            let mut random = Random((place * 1000 + burst) as u64);
            let ranks: Vec<u64> = (0..burst).map(|_| random.below(100)).collect();
            let socket = packet_socket("v0");
            for rank in &ranks {
                let mut bytes = frame(*rank, 0).to_vec();
                bytes.resize(LONG_FRAME, 0);
                // SAFETY: the buffer is as long as said. A dropped packet is an error here.
                unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
            }
            let got = plane.snapshot().expect("a snapshot");
            let ranked = got.admitted_packets - (got.neighbour + got.not_ip - got.dropped_not_ip);
            let held = got.occupancy_packets - got.occupancy_not_ip;
            // Those left at once, when nothing else waited.
            let mut left = ranked - got.evicted_packets - held;
            let context = format!("{name} {parameters:?}, {burst} frames\n{got}");
            assert!((1..=4).contains(&left), "{left} left: {context}");
            let (mut admitted, mut dropped, mut evicted) = (0, 0, 0);
            for (id, rank) in ranks.iter().enumerate() {
                let (rank, size) = (Rank::from(*rank as u32), LONG_FRAME as u32);
                let packet = Packet { id: id as u64, flow: 0, size, rank, arrival: Time::ZERO };
                match library.enqueue(packet, Time::ZERO) {
                    Enqueued::Dropped { .. } => dropped += 1,
                    Enqueued::Evicted { victims, .. } => {
                        (admitted, evicted) = (admitted + 1, evicted + victims.len() as u64)
                    }
                    Enqueued::Admitted { .. } => admitted += 1,
                }
                if left > 0 && !library.is_empty() {
                    let _ = library.dequeue(Time::ZERO);
                    left -= 1;
                }
            }
            let dropped_ranked = got.dropped_packets - got.dropped_not_ip;
            assert_eq!((ranked, dropped_ranked, got.evicted_packets), (admitted, dropped, evicted), "{context}");
            assert_eq!(held, library.len() as u64, "{context}");
            for (queue, held) in got.queues.iter().enumerate() {
                assert_eq!(*held, library.queue_len(queue) as u64, "queue {queue}: {context}");
            }
        }
    }
}

#[test]
fn programs_decide_like_the_library_with_every_option() {
    if !can_run("programs_decide_like_the_library_with_every_option") {
        return;
    }
    // What a program says of itself is tried, too, so that a new one is.
    let own =
        filters().flat_map(|program| program.variants().iter().map(move |parameters| (program.name(), *parameters)));
    let own = own.map(|(name, parameters)| {
        let parameters: Vec<_> = parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{name} {}", parameters.join(" "))
    });
    let configurations = CONFIGURATIONS.iter().map(|line| (*line).to_owned()).chain(own);
    for (place, configuration) in configurations.enumerate() {
        let (name, text) = configuration.split_once(' ').expect("a name and parameters");
        for limit in [RANK_LIMITS[place % 2], RANK_LIMITS[2]] {
            let first_error = FirstError::default();
            let args = arguments(name, text);
            let mut library = find_scheduler(name).expect("known").build(args.clone()).expect("valid parameters");
            let mut program = Harnessed::scheduler(name, args, first_error.clone()).expect("the program loads");
            let mut random = Random(limit ^ 0x5eed);
            for id in 0..500 {
                let context = || format!("{configuration}, ranks below {limit}, operation {id}");
                if random.below(100) < 40 {
                    assert_eq!(program.dequeue(Time::ZERO), library.dequeue(Time::ZERO), "{}", context());
                    continue;
                }
                let (rank, size) = (draw(&mut random, limit), 64 + random.below(1400) as u32);
                let packet = || Packet { id, flow: 0, size, rank, arrival: Time::ZERO };
                let (got, expected) = (program.enqueue(packet(), Time::ZERO), library.enqueue(packet(), Time::ZERO));
                assert_eq!(got, expected, "{}", context());
            }
            let first_error = first_error.lock().expect("no thread panicked while it held the lock").take();
            assert!(first_error.is_none(), "{configuration}: {first_error:?}");
        }
    }
}

#[test]
fn the_projects_vectors_agree_in_every_answer() {
    if !can_run("the_projects_vectors_agree_in_every_answer") {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).expect("the vectors of the project") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match Through::Kernel.replay_file(&path).unwrap_or_else(|error| panic!("{error}")) {
            Replay::Skipped(reason) => eprintln!("skipped {}: {reason}", path.display()),
            Replay::Done(outcome) => {
                assert_eq!(outcome.mismatches, 0, "{:?}", outcome.first);
                replayed += 1;
            }
        }
    }
    assert!(replayed >= 20, "only {replayed} vectors were replayed");
}

#[test]
fn a_vector_with_a_wrong_answer_is_found_and_one_without_program_is_skipped_with_its_reason() {
    if !can_run("a_vector_with_a_wrong_answer_is_found_and_one_without_program_is_skipped_with_its_reason") {
        return;
    }
    let replay = |name: &str, text: &str| {
        let path = std::env::temp_dir().join(format!("pifolab-{name}-{}.json", std::process::id()));
        std::fs::write(&path, text).expect("a file in the temporary folder");
        let replayed = Through::Kernel.replay_file(&path);
        std::fs::remove_file(&path).expect("it was just written");
        replayed
    };
    let vector = r#"{"scheduler": "fifo", "config": {"capacity": 1}, "ops": [["enq", 0, 5], ["enq", 1, 2], ["deq"]],
                     "expect": [["adm", 0], ["adm", 0], ["deq", 0]]}"#;
    let Ok(Replay::Done(outcome)) = replay("wrong", vector) else { panic!("it can be replayed") };
    assert_eq!((outcome.operations, outcome.mismatches), (3, 1));
    let first = outcome.first.expect("there is one");
    assert_eq!((first.operation, first.got.as_str()), (1, r#"["drop", "full"]"#));

    let pifo = r#"{"scheduler": "pifo", "config": {"capacity": 1}, "ops": [["deq"]], "expect": [["deq", null]]}"#;
    let Ok(Replay::Skipped(reason)) = replay("pifo", pifo) else { panic!("there is no such program") };
    assert!(reason.contains("no eBPF program of pifo"), "{reason}");

    let broken = vector.replace("capacity", "capacty");
    let error = replay("broken", &broken).expect_err("an unknown key").to_string();
    assert!(error.contains("capacty"), "{error}");
}

#[test]
fn what_a_program_cannot_do_is_refused_by_name_and_what_the_library_refuses_too() {
    let settings = |name: &str, text: &str| {
        Settings::new(name, arguments(name, text), RankSource::Dscp, Occupancy::Walk).expect_err("refused")
    };
    for (name, text, word) in [
        ("packs", "window=2000", "2000"),
        ("sp-pifo", "queues=40", "40"),
        ("aifo", "arithmetic=netbench update=after compare=lt", "floating-point"),
        ("aifo", "capacity_bytes=1000000000000 window=1000 k=1/1000001", "64 bits"),
        ("afq", "bytes_per_round=1500", "switch"),
        ("packs", "map=geometric", "map"),
        ("packs", "sample=3", "sample"),
        ("rifo", "mode=netbench", "floating-point"),
        ("aifo", "occupancy_delay_packets=1", "occupancy_delay_packets = 0"),
        ("packs", "occupancy_delay_packets=7", "occupancy_delay_packets = 0"),
        ("rifo", "occupancy_delay_packets=100", "occupancy_delay_packets = 0"),
    ] {
        let error = settings(name, text);
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains(word), "{name} {text}: {error}");
    }
    for (name, text, word) in [("aifo", "k=3/2", "k"), ("fifo", "queues=3", "queues"), ("sp-pifi", "", "sp-pifo")] {
        let error = settings(name, text);
        assert!(matches!(error, Error::Usage(_)) && error.to_string().contains(word), "{name} {text}: {error}");
    }
}

#[test]
fn the_clock_reckons_the_link_time_of_frames_that_are_not_ip() {
    if !can_run("the_clock_reckons_the_link_time_of_frames_that_are_not_ip") {
        return;
    }
    let args = arguments("fifo", "capacity_packets=1000");
    let mut settings = Settings::new("fifo", args, RankSource::Dscp, Occupancy::Clock).expect("valid");
    // About 0.1 byte in a microsecond, half of it for frames that are not IP. What waits lasts a second.
    settings.config.rate = 105;
    settings.config.not_ip_share = 1 << 15;
    let loaded = Loaded::load(settings).expect("it loads");
    let ip = frame(0, 0);
    let mut arp = ip;
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let send = |frame: &[u8], frames: usize| {
        for _ in 0..frames {
            loaded.test(frame, 1000).expect("a decision");
        }
        loaded.get::<Clock>(".data.clock").expect("the clock")
    };
    let due = |before: &Clock, after: &Clock| ((after.last_ns - before.last_ns) * 105) >> 20;
    // Without such frames the queue has all of the link.
    let before = send(&ip, 100);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let after = send(&ip, 1);
    let served = before.bytes[0] + 1000 - after.bytes[0];
    assert!(served.abs_diff(due(&before, &after)) <= 2, "{served} of {}", due(&before, &after));
    // With them it has half.
    send(&arp, 60);
    let before = send(&ip, 100);
    assert!(before.paced_bytes > 30_000, "{}", before.paced_bytes);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let after = send(&ip, 1);
    let due = due(&before, &after);
    assert!(due / 2 < before.paced_bytes, "this machine stood still for a second: nothing is shown");
    let (served, paced) = (before.bytes[0] + 1000 - after.bytes[0], before.paced_bytes - after.paced_bytes);
    assert!(served.abs_diff(due / 2) <= 2 && paced.abs_diff(due / 2) <= 2, "{served} and {paced} of {due}");
    // A flood waits in two queues of 32 frames, whatever comes.
    assert!(send(&arp, 1000).paced_bytes <= 64_000);
}

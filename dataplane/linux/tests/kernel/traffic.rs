//! Frames through the queues of a real interface.

use crate::life::Lab;
use crate::{Random, arguments, can_run};
use pifolab_dataplane::ebpf::harness::frame;
use pifolab_dataplane::ebpf::{
    Occupancy, Plane, PlaneConfig, QdiscConfig, QdiscPlane, RankSource, Settings, Snapshot, qdisc,
};
use pifolab_dataplane::rank::RankOptions;
use pifolab_dataplane::switch::bridge::prefer_this_thread;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const FRAME_BYTES: usize = 1000;
/// 250 frames per second: slow, so that a queue outlasts the pauses of a sender that compilers keep from the processor.
const RATE_BPS: u64 = 2_000_000;
const LASTING: Duration = Duration::from_millis(1200);
/// Up to 8000 frames per second.
const FRAMES_PER_BURST: usize = 8;
const BURST_EVERY: Duration = Duration::from_millis(1);
/// Half of what ten frames last. In a longer pause of the sender, the queue of low ranks runs empty, and high ranks rightly
/// get the link.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);
const ATTEMPTS: u32 = 5;

/// A packet socket on interface `name` of the calling thread's namespace.
pub fn packet_socket(name: &str) -> OwnedFd {
    let name = std::ffi::CString::new(name).expect("no zero inside");
    // SAFETY: plain system calls; the address is that of a local variable of the given size.
    unsafe {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, i32::from(protocol));
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let size = size_of::<libc::sockaddr_ll>() as u32;
        assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0, "{}", std::io::Error::last_os_error());
        let buffer = 16_000_000i32;
        for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
            let status = libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const buffer).cast(), 4);
            assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    }
}

/// Frames received so far, by their DSCP.
fn received(socket: &OwnedFd) -> [usize; 64] {
    let mut by_dscp = [0; 64];
    let mut buffer = [0u8; 2048];
    loop {
        // SAFETY: the buffer is as long as said.
        let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if length < 0 {
            return by_dscp;
        }
        if length as usize == FRAME_BYTES && buffer[12..14] == [8, 0] {
            by_dscp[usize::from(buffer[15] >> 2)] += 1;
        }
    }
}

/// What came of an overload.
struct Outcome {
    sent: u64,
    by_dscp: [usize; 64],
    snapshot: Snapshot,
    longest_pause: Duration,
}

/// As [`overload_once`], again (and saying so) if the sender did not get the processor.
fn overload(scheduler: &str, parameters: &str, rank: &str, dscps: [u8; 2], occupancy: Occupancy) -> Outcome {
    let mut attempt = 1;
    loop {
        let outcome = overload_once(scheduler, parameters, rank, dscps, occupancy);
        if outcome.longest_pause <= LONGEST_PAUSE || attempt == ATTEMPTS {
            return outcome;
        }
        eprintln!("{scheduler}, attempt {attempt}: the sender waited {:?} for the processor", outcome.longest_pause);
        attempt += 1;
    }
}

/// Overloads the link with frames of two DSCPs in random order.
fn overload_once(scheduler: &str, parameters: &str, rank: &str, dscps: [u8; 2], occupancy: Occupancy) -> Outcome {
    let args = arguments(scheduler, parameters);
    let settings = Settings::new(scheduler, args, rank.parse().expect("a source"), occupancy).expect("valid");
    let config =
        PlaneConfig { interface: "v0".to_owned(), rate_bps: RATE_BPS, settings, per_queue: false, force: false };
    let plane = Plane::up(config).expect("it comes up");
    let (sender, receiver) = (packet_socket("v0"), packet_socket("v1"));
    let mut random = Random(7);
    let frames = dscps.map(|dscp| {
        let mut long = frame(0, dscp).to_vec();
        long.resize(FRAME_BYTES, 0);
        long[16..18].copy_from_slice(&((FRAME_BYTES - 14) as u16).to_be_bytes());
        long
    });
    prefer_this_thread();
    let (mut sent, start) = (0, Instant::now());
    let (mut last_burst, mut longest_pause) = (start, Duration::ZERO);
    while start.elapsed() < LASTING {
        longest_pause = longest_pause.max(last_burst.elapsed());
        last_burst = Instant::now();
        for _ in 0..FRAMES_PER_BURST {
            let frame = &frames[random.below(2) as usize];
            // A dropped frame is reported as ENOBUFS: that is the point.
            // SAFETY: the frame is as long as said.
            unsafe { libc::send(sender.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        }
        sent += FRAMES_PER_BURST as u64;
        std::thread::sleep(BURST_EVERY);
    }
    let by_dscp = received(&receiver);
    Outcome { sent, by_dscp, snapshot: plane.snapshot().expect("a snapshot"), longest_pause }
}

#[test]
fn low_ranks_get_the_link_and_no_packet_is_unaccounted_for() {
    if !can_run("low_ranks_get_the_link_and_no_packet_is_unaccounted_for") {
        return;
    }
    let _lab = Lab::new();
    let ranked = [
        ("sp-pifo", "queues=8", "dscp:phb", [46, 0], Occupancy::Walk),
        ("packs", "queues=8 window=20", "dscp:46=0,34=1,0=900", [34, 0], Occupancy::Walk),
        ("aifo", "", "dscp:CS1=0,10=1", [8, 46], Occupancy::Walk),
        ("rifo", "", "dscp:56=2,0=1", [0, 56], Occupancy::Walk),
    ];
    let plain = [
        ("fifo", "", Occupancy::Walk),
        ("sp-pifo", "queues=8", Occupancy::Walk),
        ("sp-pifo", "queues=8", Occupancy::Counters),
        ("sp-pifo", "queues=8 queue_capacity_bytes=10000", Occupancy::Walk),
        ("aifo", "", Occupancy::Walk),
        ("aifo", "", Occupancy::Clock),
        ("packs", "queues=8 window=20", Occupancy::Walk),
        ("packs", "queues=8 window=20", Occupancy::Counters),
        ("rifo", "", Occupancy::Walk),
        ("rifo", "mode=pow2", Occupancy::Walk),
        ("exp-pifo", "queues=8", Occupancy::Walk),
    ];
    let plain = plain.map(|(scheduler, parameters, occupancy)| (scheduler, parameters, "dscp", [4, 40], occupancy));
    for (scheduler, parameters, rank, dscps, occupancy) in plain.into_iter().chain(ranked) {
        let Outcome { sent, by_dscp, snapshot, longest_pause } =
            overload(scheduler, parameters, rank, dscps, occupancy);
        let context = format!(
            "{scheduler} {parameters} {rank}, {occupancy}, sender's longest pause {longest_pause:?}: {by_dscp:?}\n{snapshot}"
        );
        let [low, high] = dscps.map(|dscp| by_dscp[usize::from(dscp)] as f64);
        let share = low / (low + high);
        match scheduler {
            _ if longest_pause > LONGEST_PAUSE => eprintln!("no verdict on the shares, the link ran dry: {context}"),
            _ if low + high < 150.0 => panic!("hardly anything arrived: {context}"),
            "fifo" => assert!((0.4..=0.6).contains(&share), "share {share}: {context}"),
            // Exp-PIFO puts ranks less than two powers of two below the highest into one queue with it.
            _ => assert!(share >= 0.7, "share {share}: {context}"),
        }
        let dropped: u64 = snapshot.dropped();
        let by_leaf: u64 = snapshot.queues.iter().map(|queue| queue.dropped_by_leaf).sum();
        // What the leaf refused had been admitted by the program. Stray multicast of a fresh interface may add some.
        let accounted = snapshot.admitted() + dropped - by_leaf;
        assert!((sent..sent + 50).contains(&accounted), "{accounted} of {sent} accounted for: {context}");
        if occupancy == Occupancy::Walk {
            assert_eq!(by_leaf, 0, "a program that knows the occupancy leaves nothing to the leaf: {context}");
        }
        for queue in &snapshot.queues {
            assert!(queue.occupancy <= queue.capacity, "{context}");
        }
    }
}

/// Frames received so far, by their EtherType: IPv4, ARP, and the one that is kept for experiments.
fn received_by_type(socket: &OwnedFd) -> [usize; 3] {
    let mut by_type = [0; 3];
    let mut buffer = [0u8; 2048];
    loop {
        // SAFETY: the buffer is as long as said.
        let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if length < 0 {
            return by_type;
        }
        if length as usize == FRAME_BYTES {
            match buffer[12..14] {
                [0x08, 0x00] => by_type[0] += 1,
                [0x08, 0x06] => by_type[1] += 1,
                [0x88, 0xb5] => by_type[2] += 1,
                _ => {}
            }
        }
    }
}

/// Sends IP frames, ARP and frames of a type that is kept for experiments, three of four not IP, more than the link carries.
/// Returns what arrived of each.
fn flood(lasting: Duration) -> [usize; 3] {
    let (sender, receiver) = (packet_socket("v0"), packet_socket("v1"));
    let frames = [[0x08, 0x00], [0x88, 0xb5], [0x88, 0xb5], [0x08, 0x06]].map(|kind| {
        let mut long = frame(0, 4).to_vec();
        long.resize(FRAME_BYTES, 0);
        long[16..18].copy_from_slice(&((FRAME_BYTES - 14) as u16).to_be_bytes());
        long[12..14].copy_from_slice(&kind);
        long
    });
    prefer_this_thread();
    let start = Instant::now();
    while start.elapsed() < lasting {
        for frame in frames.iter().cycle().take(2 * FRAMES_PER_BURST) {
            // SAFETY: the frame is as long as said.
            unsafe { libc::send(sender.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        }
        std::thread::sleep(BURST_EVERY);
    }
    received_by_type(&receiver)
}

/// 5 %, and what the share may send at once in the beginning. Without a share of their own, frames that are not IP would take
/// three quarters, or everything.
fn assert_shares([ip, arp, others]: [usize; 3], context: &str) {
    assert!(ip + arp + others >= 150, "hardly anything arrived: {context}");
    assert!(((arp + others) as f64) < 0.12 * (ip + arp + others) as f64, "{context}");
    assert!(arp >= 2 && others >= 2, "{context}");
}

#[test]
fn a_flood_that_is_not_ip_leaves_the_link_to_ranked_traffic_and_arp_lives() {
    if !can_run("a_flood_that_is_not_ip_leaves_the_link_to_ranked_traffic_and_arp_lives") {
        return;
    }
    let _lab = Lab::new();
    for queues in ["fifo", "sp-pifo"] {
        // The program must find the queues of all eight priorities beside the classes of the share.
        let parameters = if queues == "fifo" { "" } else { "queues=8" };
        let settings = Settings::new(queues, arguments(queues, parameters), RankSource::Dscp, Occupancy::Walk);
        let settings = settings.expect("valid");
        let config =
            PlaneConfig { interface: "v0".to_owned(), rate_bps: RATE_BPS, settings, per_queue: false, force: false };
        let plane = Plane::up(config).expect("it comes up");
        let by_type = flood(LASTING);
        let snapshot = plane.snapshot().expect("a snapshot");
        let context = format!("{queues}: {by_type:?}\n{snapshot}");
        assert_shares(by_type, &context);
        assert!(snapshot.neighbour > 100 && snapshot.not_ip > 100, "{context}");
    }
}

/// Runs where the kernel has BPF qdiscs; `make guest-test` runs it in a virtual machine.
#[test]
fn a_flood_that_is_not_ip_leaves_the_link_of_a_bpf_qdisc_to_ranked_traffic_and_arp_lives() {
    let name = "a_flood_that_is_not_ip_leaves_the_link_of_a_bpf_qdisc_to_ranked_traffic_and_arp_lives";
    if !can_run(name) {
        return;
    }
    if let Err(reason) = qdisc::supported() {
        let line = format!("skipped {name}: {reason}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    }
    let _lab = Lab::new();
    for scheduler in ["pifo", "sp-pifo"] {
        let config = QdiscConfig {
            interface: "v0".to_owned(),
            // Slow enough for an emulated processor: 37 frames a second.
            rate_bps: 300_000,
            scheduler: scheduler.to_owned(),
            args: arguments(scheduler, ""),
            rank: RankSource::Dscp,
            rank_options: RankOptions::default(),
            force: false,
        };
        let plane = QdiscPlane::up(config).expect("it comes up");
        let by_type = flood(Duration::from_secs(6));
        let snapshot = plane.snapshot().expect("a snapshot");
        let context = format!("{scheduler}: {by_type:?}\n{snapshot}");
        assert_shares(by_type, &context);
        assert!(snapshot.neighbour > 100 && snapshot.not_ip > 100, "{context}");
    }
}

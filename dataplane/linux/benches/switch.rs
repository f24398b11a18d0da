//! What the user-space switch can carry from one virtual Ethernet pair to another.
//!
//! `cargo bench --bench switch` (or `make bench-switch`) measures each scheduler with frames of 1514 bytes (packets of
//! 1500) on a link of 500 Mb/s that is offered 10 % more. Then it measures, with frames of 60 and of 1514 bytes, a link
//! that sends everything at once, offered as much as a sender on the other processor can make: with one frame for each
//! system call, and with as many as [`BURST`], in turn, several times; each figure is the median. Frames are counted
//! behind the switch, by the interface that receives them. Processor time is that of the switch's thread, which waits for
//! short times without sleeping: of one processor on the paced link, per frame on the other.
//!
//! Ends with status 1 if a link of 500 Mb/s was not kept full.

use pifolab_dataplane::Result;
use pifolab_dataplane::rank::RankOptions;
use pifolab_dataplane::switch::bridge::prefer_this_thread;
use pifolab_dataplane::switch::choice::SchedulerOptions;
use pifolab_dataplane::switch::socket::BURST;
use pifolab_dataplane::switch::{self, LinkArgs, SwitchConfig};
use pifolab_dataplane::testbed::namespace::{Lab, gain_network_rights};
use pifolab_frames::frame::udp_frame;
use pifolab_units::Span;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SCHEDULERS: [&str; 7] = ["fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo", "pifo"];
/// The shortest and the longest frame of Ethernet, without its check sum.
const FRAME_BYTES: [usize; 2] = [60, 1514];
/// Rounds of unpaced runs.
const ROUNDS: usize = 3;
const LINK_MBPS: f64 = 500.0;
/// What a link must carry to count as full.
const FULL: f64 = 0.99;
/// A link that never keeps a frame waiting.
const UNPACED_MBPS: f64 = 1e6;
const WARM_UP: Duration = Duration::from_millis(200);
const LASTING: Duration = Duration::from_millis(1000);
/// Frames in one system call of the sender.
const BATCH: usize = 8;
/// Frames of different ranks and flows, sent in turn.
const FRAMES: u8 = 64;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a link of {LINK_MBPS} Mb/s was not kept full");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("pifolab: {error}");
            error.exit_code()
        }
    }
}

fn run() -> Result<bool> {
    gain_network_rights()?;
    println!("On a link of {LINK_MBPS} Mb/s, frames of {} bytes:\n", FRAME_BYTES[1]);
    println!("{:<9} {:>12} {:>8} {:>9}", "", "carried", "lost", "processor");
    let mut kept_up = true;
    for scheduler in SCHEDULERS {
        let paced = measure(scheduler, FRAME_BYTES[1], BURST, LINK_MBPS, Some(1.1 * LINK_MBPS))?;
        kept_up &= paced.carried_mbps() >= FULL * LINK_MBPS && paced.lost == 0.0;
        println!(
            "{scheduler:<9} {:>7.1} Mb/s {:>6.1} % {:>7.0} %",
            paced.carried_mbps(),
            100.0 * paced.lost,
            100.0 * paced.processor,
        );
    }
    println!("\nUnpaced, frames for each system call: 1, and at most {BURST} (medians of {ROUNDS} runs in turn):\n");
    println!(
        "{:<9} {:>6} | {:>9} {:>9} {:>6} | {:>13} {:>13} | {:>6}",
        "", "bytes", "frames/s", "frames/s", "gain", "user + system", "user + system", "lost"
    );
    for bytes in FRAME_BYTES {
        for scheduler in SCHEDULERS {
            let (mut single, mut burst) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                single.push(measure(scheduler, bytes, 1, UNPACED_MBPS, None)?);
                burst.push(measure(scheduler, bytes, BURST, UNPACED_MBPS, None)?);
            }
            let (single, burst) = (median(single), median(burst));
            println!(
                "{scheduler:<9} {bytes:>6} | {:>9.0} {:>9.0} {:>4.0} % | {:>4.0} + {:>4.0} ns {:>4.0} + {:>4.0} ns | {:>4.0} %",
                single.frames_per_s,
                burst.frames_per_s,
                100.0 * (burst.frames_per_s / single.frames_per_s - 1.0),
                single.user_ns,
                single.system_ns,
                burst.user_ns,
                burst.system_ns,
                100.0 * burst.lost,
            );
        }
    }
    Ok(kept_up)
}

/// The run with the median rate.
fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.frames_per_s.total_cmp(&b.frames_per_s));
    runs.swap_remove(runs.len() / 2)
}

struct Measured {
    frame_bytes: usize,
    frames_per_s: f64,
    /// The share of the offered frames that never came to the switch, since its ring was full.
    lost: f64,
    /// The switch's processor time per frame that it received.
    user_ns: f64,
    system_ns: f64,
    /// The same per time that passed.
    processor: f64,
}

impl Measured {
    fn carried_mbps(&self) -> f64 {
        self.frames_per_s * self.frame_bytes as f64 * 8e-6
    }
}

/// Carries frames through `scheduler` for a while, at most `burst` for each system call; they are offered at
/// `offered_mbps`, or as fast as they can be made.
fn measure(
    scheduler: &str,
    frame_bytes: usize,
    burst: usize,
    rate_mbps: f64,
    offered_mbps: Option<f64>,
) -> Result<Measured> {
    let lab = Lab::new(false, 1500)?;
    let config = SwitchConfig {
        input: "r0".to_owned(),
        output: "r1".to_owned(),
        scheduler: scheduler.to_owned(),
        parameters: SchedulerOptions::default(),
        parameter_file: None,
        flow_timeout: None,
        rank: "dscp".to_owned(),
        rank_options: RankOptions::default(),
        link: LinkArgs { rate_mbps, delay_us: 0, overhead_bytes: 0 },
    };
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let switching = lab.router.spawn(scope, || {
            let mut switch = switch::open(&config)?.sending_at_most(burst);
            prefer_this_thread();
            let (before, start) = (processor_time_ns(), Instant::now());
            switch.run(stop, Span::ZERO, |_| {});
            let (user, system) = processor_time_ns();
            Ok((switch.snapshot(), user - before.0, system - before.1, start.elapsed()))
        });
        let sending = lab.sender.spawn(scope, || send(frame_bytes, offered_mbps, stop));
        let count = || lab.receiver.enter(frames_received);
        thread::sleep(WARM_UP);
        let (first, start) = (count(), Instant::now());
        thread::sleep(LASTING);
        let (last, took) = (count(), start.elapsed());
        stop.store(true, Ordering::Relaxed);
        sending.join().expect("the sender does not panic");
        let (snapshot, user, system, ran) = switching.join().expect("the switch does not panic")?;
        let received = snapshot.forward.received.packets.max(1) as f64;
        let lost = snapshot.input.ring_dropped as f64;
        Ok(Measured {
            frame_bytes,
            frames_per_s: (last - first) as f64 / took.as_secs_f64(),
            lost: lost / (received + lost),
            user_ns: user as f64 / received,
            system_ns: system as f64 / received,
            processor: (user + system) as f64 / ran.as_nanos() as f64,
        })
    })
}

/// Sends frames of `frame_bytes` from `s0` until `stop`.
fn send(frame_bytes: usize, offered_mbps: Option<f64>, stop: &AtomicBool) {
    prefer_this_thread();
    let socket = packet_socket("s0");
    let frames: Vec<Vec<u8>> = (0..FRAMES)
        .map(|number| udp_frame(number.wrapping_mul(37) % 64, u16::from(number % 4), &vec![number; frame_bytes - 42]))
        .collect();
    let mut parts: Vec<libc::iovec> = frames
        .iter()
        .map(|frame| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|part| {
            // SAFETY: mmsghdr is plain data, for which zeroes are valid.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (&raw mut *part, 1);
            message
        })
        .collect();
    let gap = offered_mbps.map(|mbps| Duration::from_secs_f64((BATCH * frame_bytes) as f64 * 8e-6 / mbps));
    let (start, mut batches) = (Instant::now(), 0_u32);
    while !stop.load(Ordering::Relaxed) {
        if let Some(gap) = gap {
            let due = gap * batches;
            let early = due.saturating_sub(start.elapsed());
            if !early.is_zero() {
                thread::sleep(early);
            }
        }
        let first = batches as usize * BATCH % messages.len();
        // SAFETY: the messages describe `parts`, which describe `frames`; all three live through the call.
        unsafe { libc::sendmmsg(socket.as_raw_fd(), messages[first..].as_mut_ptr(), BATCH as u32, 0) };
        batches += 1;
    }
}

/// A packet socket that sends from interface `name` of the calling thread's namespace, past its queueing discipline.
fn packet_socket(name: &str) -> OwnedFd {
    let name = std::ffi::CString::new(name).expect("no zero inside");
    // SAFETY: plain system calls; the address and the option are local variables of the given sizes.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let socket = OwnedFd::from_raw_fd(fd);
        let on: libc::c_int = 1;
        let set = libc::setsockopt(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, (&raw const on).cast(), 4);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0, "{}", std::io::Error::last_os_error());
        socket
    }
}

/// Frames that have arrived at `d0` of the calling thread's namespace.
fn frames_received() -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("a table of interfaces");
    let fields = table.lines().find_map(|line| line.trim_start().strip_prefix("d0:")).expect("the interface is there");
    fields.split_ascii_whitespace().nth(1).and_then(|packets| packets.parse().ok()).expect("a count")
}

/// What the calling thread used of the processor: in its own code, and in the kernel for it.
fn processor_time_ns() -> (u64, u64) {
    // SAFETY: fills in the structure that it is given, for which zeroes are valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

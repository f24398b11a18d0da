//! What a packet costs between two devices of DPDK: the library's schedulers beside what DPDK has.
//!
//! Two devices: net_null, which copies nothing and needs no other process (nanoseconds of this thread, whatever else runs),
//! and memif to a generator in a process of its own, which copies every frame twice (frames per second). All candidates take
//! turns in short rounds; the table has the median of the rounds. Of ten packets that arrive nine may leave, so that every
//! buffer (512 packets) is full. The generator writes ranks from 0 to 99 behind the headers of UDP frames of 60 bytes.

#[path = "../src/node.rs"]
#[expect(dead_code, reason = "the program needs more of it")]
mod node;

use node::{Device, Node, Opaque, pool, start_dpdk};
use pifolab_c::{pifolab_reader, pifolab_scheduler};
use pifolab_frames::RankSource;
use pifolab_frames::frame::udp_frame;
use pifolab_frames::reader::RankReader;
use pifolab_registry::{find_scheduler, text, usual_form};
use pifolab_units::Rank;
use std::ffi::c_int;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const NULL_US: u64 = 8_000;
const MEMIF_US: u64 = 60_000;
const WARM_US: u64 = 1_000;
const MBUFS: u32 = 32_767;
const FRAME_BYTES: u16 = 2048;
/// The least that each of the papers' schedulers carries over memif, in frames per second.
const AIM_FPS: f64 = 10e6;
/// The goals of FIFO's cost, in that of rte_ring.
const AIM_TIMES: f64 = 1.5;
const MOST_TIMES: f64 = 1.6;

static STOP: AtomicBool = AtomicBool::new(false);

/// Kinds of candidates, as in carry.c.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Forward,
    Ring,
    Red,
    Sched,
    Library,
    Node,
}

/// `struct candidate` of carry.c, as far as Rust sets it; the rest is C's.
#[repr(C)]
struct Candidate {
    kind: Kind,
    pipes: u32,
    scheduler: *mut pifolab_scheduler,
    node: *mut Node,
    of_c: [u64; 64],
}

#[repr(C)]
#[derive(Default)]
struct Figures {
    received: u64,
    sent: u64,
    wall_ns: u64,
    thread_ns: u64,
}

#[expect(improper_ctypes, reason = "C has the scheduler as a pointer that it does not look behind")]
unsafe extern "C" {
    static carry_size: u64;
    fn carry_begin(candidate: *mut Candidate) -> c_int;
    fn carry(candidate: *mut Candidate, input: u16, output: u16, microseconds: u64, figures: *mut Figures) -> c_int;
    fn carry_end(candidate: *mut Candidate);
    fn carry_fill(pool: *mut Opaque, header: *const u8);
    fn carry_generate(pool: *mut Opaque, input: u16, output: u16) -> !;
}

/// A row of the table.
struct Row {
    name: &'static str,
    /// DPDK's own, or a scheduler with its parameters.
    what: Result<(Kind, u32), (&'static str, &'static str)>,
    /// Whether one of the five papers has it.
    of_paper: bool,
}

const fn own(name: &'static str, kind: Kind, pipes: u32) -> Row {
    Row { name, what: Ok((kind, pipes)), of_paper: false }
}

const fn ours(name: &'static str, scheduler: &'static str, params: &'static str, of_paper: bool) -> Row {
    Row { name, what: Err((scheduler, params)), of_paper }
}

const QUEUES: &str = "queues = 8, queue_capacity_packets = 64";

/// The row that the rates of the others are compared with.
const FORWARD: &str = "forward, no scheduler";

const ROWS: [Row; 14] = [
    own(FORWARD, Kind::Forward, 0),
    own("rte_ring as FIFO", Kind::Ring, 0),
    own("rte_red, rte_ring", Kind::Red, 0),
    own("rte_sched, 1 pipe", Kind::Sched, 1),
    own("rte_sched, 4096 pipes", Kind::Sched, 4096),
    ours("fifo", "fifo", "capacity_packets = 512", false),
    ours("pifo", "pifo", "capacity_packets = 512", false),
    ours("sp-pifo", "sp-pifo", QUEUES, true),
    ours("aifo, window 20", "aifo", "capacity_packets = 512, window = 20", true),
    ours("packs, window 20", "packs", "queues = 8, queue_capacity_packets = 64, window = 20", true),
    ours("packs, window 1000", "packs", "queues = 8, queue_capacity_packets = 64, window = 1000", true),
    ours("rifo", "rifo", "capacity_packets = 512", true),
    ours("exp-pifo", "exp-pifo", QUEUES, true),
    ours("slack-sp", "slack-sp", QUEUES, false),
];

fn scheduler(name: &str, params: &str) -> pifolab_scheduler {
    let entry = find_scheduler(name).expect("it is in the library");
    let args = text::arguments(entry.info, params).expect("parameters of the table");
    pifolab_scheduler::of_parts((entry.read)(args).expect("parameters of the table").parts(usual_form()))
}

/// Runs a row once; `None` if DPDK has no memory for it.
fn run(row: &Row, through_node: bool, devices: [u16; 2], microseconds: u64) -> Option<Figures> {
    // SAFETY: a constant.
    assert!(size_of::<Candidate>() as u64 >= unsafe { carry_size }, "C has room for its part of the struct");
    let (kind, pipes) = row.what.unwrap_or((if through_node { Kind::Node } else { Kind::Library }, 0));
    let mut candidate =
        Candidate { kind, pipes, scheduler: std::ptr::null_mut(), node: std::ptr::null_mut(), of_c: [0; 64] };
    let mut alone = row.what.err().map(|(name, params)| Box::new(scheduler(name, params)));
    let mut whole = row.what.err().filter(|_| through_node).map(|(name, params)| {
        let ranks = RankReader::new(Some(RankSource::Payload { offset: 0, width: 2 }), Rank::MAX);
        Node::new(scheduler(name, params), pifolab_reader::of(ranks, Rank::MAX, None), &STOP)
    });
    candidate.scheduler = alone.as_mut().map_or(std::ptr::null_mut(), |alone| &raw mut **alone);
    candidate.node = whole.as_mut().map_or(std::ptr::null_mut(), |whole| &raw mut **whole);
    let mut figures = Figures::default();
    // SAFETY: the candidate is whole and outlives the calls; the devices are started.
    unsafe {
        let candidate = &raw mut candidate;
        if carry_begin(candidate) != 0 {
            return None;
        }
        let mut warm = Figures::default();
        let failed = carry(candidate, devices[0], devices[1], WARM_US, &raw mut warm)
            | carry(candidate, devices[0], devices[1], microseconds, &raw mut figures);
        assert_eq!(failed, 0, "{}: the library has failed", row.name);
        carry_end(candidate);
    }
    Some(figures)
}

fn header() -> Vec<u8> {
    udp_frame(0, 4000, &[0; 18])
}

fn has_huge_pages() -> bool {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = text.lines().find_map(|line| line.strip_prefix("HugePages_Free:")?.trim().parse::<u32>().ok());
    let size =
        text.lines().find_map(|line| line.strip_prefix("Hugepagesize:")?.trim().strip_suffix(" kB")?.parse().ok());
    // Two processes with 256 MB each.
    u64::from(free.unwrap_or(0)) * size.unwrap_or(0_u64) >= 2 * 256 * 1024
}

fn start(name: &str, core: usize, devices: &[String]) -> Result<(), String> {
    let mut words: Vec<String> =
        ["bench", "--no-telemetry", "--log-level=4", "--no-pci", "-m", "256"].map(str::to_owned).into();
    words.push(format!("--file-prefix=pifolab-{name}-{}", std::process::id()));
    words.push(format!("--lcores=0@{core}"));
    let memory: &[&str] = if has_huge_pages() { &["--in-memory"] } else { &["--no-huge", "--no-shconf"] };
    words.extend(memory.iter().map(|word| (*word).to_owned()));
    words.extend(devices.iter().map(|device| format!("--vdev={device}")));
    start_dpdk(&words)
}

fn memif(number: u32, role: &str, folder: &str) -> String {
    format!("net_memif{number},role={role},id={number},socket={folder}/{number}.sock,socket-abstract=no")
}

fn device(name: &str, pool: *mut Opaque) -> Device {
    let device = Device::find(name).unwrap_or_else(|| panic!("{name}: no such device"));
    device.start(1, pool).unwrap_or_else(|said| panic!("{name}: {said}"));
    device
}

/// Sends and receives until it is killed.
fn generate(folder: &str) {
    start("generator", 1, &[memif(0, "client", folder), memif(1, "client", folder)]).expect("DPDK starts");
    let full = pool(MBUFS, FRAME_BYTES).expect("there is memory");
    let (to, from) = (device("net_memif0", full), device("net_memif1", full));
    // SAFETY: the pool, a frame of 60 bytes, and devices that are started.
    unsafe {
        carry_fill(full, header().as_ptr());
        carry_generate(full, from.port, to.port)
    }
}

/// The generator ends with this process, however that ends.
struct Generator(Child);

impl Drop for Generator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The medians over the rounds of two figures of each row.
fn rounds(through_node: &[bool], devices: [u16; 2], us: u64, figure: fn(&Figures) -> [f64; 2]) -> Vec<Vec<[f64; 2]>> {
    let mut found = vec![vec![[Vec::new(), Vec::new()]; ROWS.len()]; through_node.len()];
    for _ in 0..ROUNDS {
        for (number, row) in ROWS.iter().enumerate() {
            for (way, through_node) in through_node.iter().enumerate() {
                // DPDK's own do not run in the node.
                if way > 0 && row.what.is_ok() {
                    continue;
                }
                if let Some(figures) = run(row, *through_node, devices, us) {
                    let places = found[way][number].iter_mut();
                    places.zip(figure(&figures)).for_each(|(place, value)| place.push(value));
                }
            }
        }
    }
    found.into_iter().map(|rows| rows.into_iter().map(|both| both.map(median)).collect()).collect()
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--generator") {
        generate(&words[at + 1]);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("two processors are needed: one for the node, one for the generator".to_owned());
    }
    let folder = std::env::temp_dir().join(format!("pifolab-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = folder.to_str().ok_or("the folder of temporary files is not UTF-8")?.to_owned();
    let result = measure(&folder, cores);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn measure(folder: &str, cores: usize) -> Result<(), String> {
    let (huge, before) = (has_huge_pages(), load());
    let nulls = ["net_null0,size=60".to_owned(), "net_null1".to_owned()];
    start("node", 0, &[&nulls[..], &[memif(0, "server", folder), memif(1, "server", folder)]].concat())?;
    let frames = pool(MBUFS, FRAME_BYTES)?;
    // SAFETY: the pool and a frame of 60 bytes.
    unsafe { carry_fill(frames, header().as_ptr()) };
    let null = ["net_null0", "net_null1"].map(|name| device(name, frames).port);
    // Nanoseconds of this thread for each received packet.
    let cost = rounds(&[false, true], null, NULL_US, |figures| {
        [figures.thread_ns as f64 / figures.received.max(1) as f64, 0.0]
    });
    let mut memif = ["net_memif0", "net_memif1"].map(|name| device(name, frames));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let generator = Command::new(program).args(["--generator", folder]).spawn().map_err(|error| error.to_string())?;
    let generator = Generator(generator);
    let end = Instant::now() + Duration::from_secs(20);
    while !memif.iter_mut().all(|device| !device.has_lost_its_link() && device.was_up()) {
        if Instant::now() > end {
            return Err("the generator does not come up".to_owned());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ports = [memif[0].port, memif[1].port];
    let rates = rounds(&[true], ports, MEMIF_US, |figures| {
        [figures.received, figures.sent].map(|count| count as f64 * 1e9 / figures.wall_ns.max(1) as f64)
    });
    drop(generator);
    print(&cost, &rates[0]);
    let pages = if huge { "with huge pages" } else { "without huge pages" };
    println!("\n{pages}; {cores} processors; load before {before}, after {}; medians of {ROUNDS} rounds", load());
    Ok(())
}

fn print(cost: &[Vec<[f64; 2]>], rates: &[[f64; 2]]) {
    println!(
        "| candidate | net_null: library alone, ns | node, ns | memif: received, Mpps | sent, Mpps | of forwarding |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let of = |name: &str| ROWS.iter().position(|row| row.name == name).expect("a row of the table");
    let forward = rates[of(FORWARD)][0];
    for (number, row) in ROWS.iter().enumerate() {
        let [alone, whole] = [0, 1].map(|way| cost[way][number][0]);
        let whole = if row.what.is_ok() { String::new() } else { format!("{whole:.1}") };
        let [received, sent] = rates[number].map(|rate| rate / 1e6);
        let share = rates[number][0] / forward * 100.0;
        println!("| {} | {alone:.1} | {whole} | {received:.1} | {sent:.1} | {share:.0} % |", row.name);
    }
    let (fifo, ring) = (cost[0][of("fifo")][0], cost[0][of("rte_ring as FIFO")][0]);
    let times = fifo / ring;
    println!(
        "\nfifo through the C interface takes {times:.2} times rte_ring's {ring:.1} ns (at most {MOST_TIMES}: {}; aim {AIM_TIMES}: {})",
        met(times <= MOST_TIMES),
        met(times <= AIM_TIMES)
    );
    let papers = || (0..ROWS.len()).filter(|number| ROWS[*number].of_paper);
    let slow: Vec<_> = papers().filter(|number| rates[*number][0] < AIM_FPS).map(|number| ROWS[number].name).collect();
    let said = if slow.is_empty() { "all of them".to_owned() } else { format!("not {}", slow.join(", not ")) };
    println!("the papers' schedulers carry 10 Mpps over memif: {said}");
    let least = papers().map(|number| rates[number][0] / forward * 100.0).fold(f64::INFINITY, f64::min);
    println!(
        "without a scheduler this machine forwards {:.1} Mpps over memif; the papers' schedulers receive at least {least:.0} % of that",
        forward / 1e6
    );
}

const fn met(is: bool) -> &'static str {
    if is { "met" } else { "missed" }
}

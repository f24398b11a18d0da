//! The cost of a packet's whole way through the kernel: from a packet socket through the queues of one end of a virtual
//! wire to the other end, which has no receiver. Without a queueing discipline, with HTB alone, and with HTB and each
//! program.
//!
//! All candidates exist side by side, each in its own namespace, and send in turn, so that whatever else the machine
//! does concerns all alike. The link is so fast that no packet waits: each is queued and leaves at once, which calls
//! every part of the path. The time is that of the sending thread on its processor, which also runs the receiving end.

use super::plane::{Plane, PlaneConfig, best_occupancy};
use super::program::{Case, Program};
use super::programs::{filters, find_filter};
use super::settings::Settings;
use crate::error::Trying;
use crate::net::namespace::NetNamespace;
use crate::net::root::RootQdisc;
use crate::net::tc::QueueTree;
use crate::rank::RankSource;
use crate::switch::socket::PacketSocket;
use crate::testbed::namespace::Namespace;
use crate::{Error, Result};
use pifolab_frames::frame::udp_frame;
use serde::Serialize;

/// Packets of one candidate in one round.
const PACKETS: usize = 4096;
/// Frames of as many flows, each with another DSCP, sent in turn.
const FLOWS: u8 = 64;
/// The shortest frame of Ethernet, without its check sum.
const FRAME_BYTES: usize = 60;
/// The rate of the link: the time of a frame is far below that of the path.
const RATE_BPS: u64 = 100_000_000_000;
/// The sending end of each wire.
const WIRE: &str = "v0";
/// The words for HTB without a program, to which the others are compared.
const PLAIN: &str = "htb";
/// The scheduler whose filter is also measured with ranks that are computed in the kernel.
const RANKED: &str = "sp-pifo";

/// The cost of one path.
#[derive(Clone, Debug, Serialize)]
pub struct PathCost {
    /// `none`, `htb`, or the name of the scheduler whose program is HTB's filter.
    pub scheduler: &'static str,
    /// Its parameters in words.
    pub variant: &'static str,
    /// The source of ranks.
    pub rank: &'static str,
    /// Nanoseconds per packet in the median round.
    pub median_ns: f64,
    /// Nanoseconds per packet in the fastest round.
    pub min_ns: f64,
    /// The median difference to HTB without a program in the same round, in nanoseconds per packet.
    pub beyond_htb_ns: f64,
    /// Packets per second in the median round.
    pub packets_per_s: f64,
}

/// A path to measure, which exists until it is dropped: the queues before their namespace.
struct Path {
    cost: PathCost,
    socket: PacketSocket,
    _plane: Option<Plane>,
    _namespace: Namespace,
}

impl Path {
    fn new(
        scheduler: &'static str,
        variant: &'static str,
        rank: &'static str,
        up: impl FnOnce() -> Result<Option<Plane>> + Send,
    ) -> Result<Self> {
        let namespace = Namespace::new("path")?;
        namespace.ip(&format!("link add {WIRE} type veth peer name v1"))?;
        namespace.offloads_off(WIRE)?;
        namespace.ip("link set v1 up")?;
        namespace.ip(&format!("link set {WIRE} up"))?;
        let open = || PacketSocket::through_queues(WIRE).trying(|| format!("sending to {WIRE}"));
        let (plane, socket) = namespace.enter(|| Ok::<_, Error>((up()?, open()?)))?;
        let (median_ns, min_ns, beyond_htb_ns, packets_per_s) = (0.0, 0.0, 0.0, 0.0);
        let cost = PathCost { scheduler, variant, rank, median_ns, min_ns, beyond_htb_ns, packets_per_s };
        Ok(Self { cost, socket, _plane: plane, _namespace: namespace })
    }

    fn program(program: &'static dyn Program, case: &Case, rank: RankSource, name: &'static str) -> Result<Self> {
        Self::new(program.name(), case.variant, name, || {
            let args = program.info().arguments(case.parameters);
            let settings = Settings::of(program, args, rank, best_occupancy())?;
            Plane::up(PlaneConfig {
                interface: WIRE.to_owned(),
                rate_bps: RATE_BPS,
                settings,
                per_queue: false,
                force: false,
            })
            .map(Some)
        })
    }

    /// HTB with the queues of a program and without the program; all packets take the first queue.
    fn plain() -> Result<Self> {
        Self::new(PLAIN, "8 x 10 packets, no program", "", || {
            let (burst_bytes, frame_bytes) = (RATE_BPS / 8 * 120 / 1_000_000, 1514);
            let (capacities, made, in_bytes, not_ip_share) = (vec![10; 8], 8, false, 0);
            let tree =
                QueueTree { rate_bps: RATE_BPS, burst_bytes, frame_bytes, capacities, made, in_bytes, not_ip_share };
            tree.install(&NetNamespace::current()?, WIRE, &RootQdisc::tagged("htb")?, None).map(|()| None)
        })
    }

    /// Sends the packets of one round, and returns the nanoseconds per packet.
    fn send(&mut self, frames: &[Vec<u8>]) -> Result<f64> {
        let before = self.socket.counters().sent.packets;
        let start = thread_ns();
        for burst in frames.chunks(crate::switch::socket::BURST).cycle().take(PACKETS / crate::switch::socket::BURST) {
            self.socket.send(burst.iter().map(Vec::as_slice));
        }
        let taken = thread_ns() - start;
        match self.socket.counters().sent.packets - before {
            sent if sent as usize == PACKETS => Ok(taken as f64 / PACKETS as f64),
            sent => Err(Error::Failed(format!("{}: sent {sent} of {PACKETS} packets", self.cost.scheduler))),
        }
    }
}

/// The time of the calling thread on its processor.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures every path in `rounds` rounds.
pub fn measure(rounds: u32) -> Result<Vec<PathCost>> {
    let mut paths = vec![Path::new("none", "no queueing discipline", "", || Ok(None))?, Path::plain()?];
    for program in filters() {
        for case in program.cases() {
            paths.push(Path::program(program, case, RankSource::Dscp, "dscp")?);
        }
    }
    let ranked = find_filter(RANKED)?;
    let case = ranked.cases().first().expect("a test checks it");
    paths.push(Path::program(ranked, case, RankSource::Las, "las")?);
    paths.push(Path::program(ranked, case, RankSource::Stfq, "stfq")?);
    // To a station that is not there: the receiving end drops them before it looks for a route.
    let mut frames: Vec<_> =
        (0..FLOWS).map(|flow| udp_frame(flow.wrapping_mul(37) % 64, flow.into(), &[0; FRAME_BYTES - 42])).collect();
    frames.iter_mut().for_each(|frame| frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]));
    let mut times = vec![Vec::new(); paths.len()];
    // The first round fills caches and finds the queues.
    for round in 0..=rounds {
        for (path, times) in paths.iter_mut().zip(&mut times) {
            let time = path.send(&frames)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    let plain = paths.iter().position(|path| path.cost.scheduler == PLAIN).expect("it is among them");
    let plain = times[plain].clone();
    let costs = paths.into_iter().zip(times).map(|(path, times)| {
        let differences = times.iter().zip(&plain).map(|(time, plain)| time - plain).collect();
        let min_ns = times.iter().copied().fold(f64::INFINITY, f64::min);
        let (median_ns, beyond_htb_ns) = (median(times), median(differences));
        PathCost { median_ns, min_ns, beyond_htb_ns, packets_per_s: 1e9 / median_ns, ..path.cost }
    });
    Ok(costs.collect())
}

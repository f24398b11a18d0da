//! A list of frames, ordinary and odd, through both data planes: each must be the same to both, with the same rank.

use crate::{Random, arguments, can_run};
use pifolab_dataplane::ebpf::{Loaded, Occupancy, RankSource, Settings};
use pifolab_dataplane::rank::RankOptions;
use pifolab_frames::frame::{Kind, parse, udp_frame};
use pifolab_frames::reader::RankReader;
use pifolab_units::Rank;

/// Where `bpf/intf.h` puts frames that have no rank.
const NEIGHBOUR: u32 = 32;
const OTHER: u32 = 33;

const SOURCES: &[&str] = &[
    "dscp",
    "dscp:phb",
    "dscp:46=0,34=1",
    "payload:0:1",
    "payload:0:4",
    "payload:2:8",
    "payload:11:2",
    "vlan",
    "mpls",
    "table",
];

/// What becomes of a frame: a rank, or a place in front of ranked packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Rank(u64),
    Neighbour,
    Other,
}

/// One rank source in both data planes.
pub struct Both {
    name: &'static str,
    kernel: Loaded,
    switch: RankReader,
}

impl Both {
    pub fn new(name: &'static str, options: &RankOptions) -> Self {
        let source: RankSource = name.parse().expect("a source");
        let args = arguments("fifo", "capacity_packets=10");
        let settings = Settings::new("fifo", args, source, Occupancy::Harness).expect("valid");
        let wanted = RankOptions {
            rank_table: options.rank_table.clone().filter(|_| source == RankSource::Table),
            ..options.clone()
        };
        let settings = settings.with_ranks(source, &wanted, None).expect("a table");
        let mut switch = RankReader::new(Some(source), Rank::new(settings.config.rank_missing).expect("a rank"));
        if let Some(path) = &wanted.rank_table {
            let table = settings.flow_table.clone().expect("a table");
            switch.table = Some(pifolab_dataplane::rank::table::followed(table, path.clone()));
        }
        Self { name, kernel: Loaded::load(settings).expect("it loads"), switch }
    }

    pub fn in_kernel(&self, frame: &[u8]) -> Reading {
        let decision = self.kernel.test(frame, frame.len() as u32).expect("a decision");
        match decision.queue {
            NEIGHBOUR => Reading::Neighbour,
            OTHER => Reading::Other,
            _ => Reading::Rank(decision.rank),
        }
    }

    pub fn in_switch(&mut self, frame: &[u8]) -> Reading {
        match parse(frame, self.switch.reads_labels()) {
            Kind::Ip(headers) => {
                let rank = self.switch.read(frame, &headers).unwrap_or(self.switch.missing);
                Reading::Rank(rank.get())
            }
            Kind::Neighbour => Reading::Neighbour,
            Kind::Other => Reading::Other,
        }
    }
}

const IP: usize = 14;
const PAYLOAD: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

fn changed(mut frame: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

fn inserted(mut frame: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    frame.splice(at..at, bytes.iter().copied());
    frame
}

fn padded(mut frame: Vec<u8>, length: usize) -> Vec<u8> {
    frame.resize(length, 0xee);
    frame
}

/// UDP over IPv4, with DSCP 13.
fn udp() -> Vec<u8> {
    udp_frame(13, 4000, PAYLOAD)
}

/// With options in the IP header, and a total length that says so.
fn with_options(words: usize) -> Vec<u8> {
    let frame = inserted(udp(), IP + 20, &vec![1; 4 * words]);
    let length = (frame.len() - IP) as u16;
    changed(changed(frame, IP, &[0x45 + words as u8]), IP + 2, &length.to_be_bytes())
}

/// TCP over IPv4 with a header of `words` words.
fn tcp(words: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = udp_frame(13, 4000, payload)[..34].to_vec();
    frame[IP + 9] = 6;
    let mut header = vec![0x0f, 0xa0, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 2, words << 4, 0x18, 0, 9, 0, 0, 0, 0];
    header.resize(usize::from(words.max(5)) * 4, 1);
    frame.extend(header);
    frame.extend(payload);
    let length = (frame.len() - IP) as u16;
    changed(frame, IP + 2, &length.to_be_bytes())
}

/// IPv6 with traffic class 0xb8 (DSCP 46).
fn ipv6(next: u8, hops: u8, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x6b, 0x80, 0, 0];
    frame.extend((rest.len() as u16).to_be_bytes());
    frame.extend([next, hops]);
    frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame.extend(rest);
    frame
}

fn udp_segment() -> Vec<u8> {
    udp()[34..].to_vec()
}

const VLAN: &[u8] = &[0x81, 0x00, 0xa0, 0x07];
const QINQ: &[u8] = &[0x88, 0xa8, 0x60, 0x09];

/// Whether the kernel takes it as a test frame: not without a payload, and not with half an IP header.
fn can_be_tested(frame: &[u8]) -> bool {
    let least = match frame.get(12..14) {
        Some([0x08, 0x00]) => IP + 20,
        Some([0x86, 0xdd]) => IP + 40,
        _ => IP + 1,
    };
    frame.len() >= least
}

/// Every frame with its name, and its rank by DSCP if that is to be held, too.
fn frames() -> Vec<(&'static str, Vec<u8>, Option<Reading>)> {
    use Reading::{Neighbour, Other, Rank};
    let ip = |rank| Some(Rank(rank));
    let ether = |kind: [u8; 2]| changed(udp(), 12, &kind);
    let mut frames = vec![
        ("UDP over IPv4", udp(), ip(13)),
        ("TCP over IPv4", tcp(5, PAYLOAD), ip(13)),
        ("TCP with options", tcp(8, PAYLOAD), ip(13)),
        ("TCP without a payload", tcp(5, &[]), ip(13)),
        ("TCP whose header is said to be shorter than any", tcp(4, PAYLOAD), ip(13)),
        ("TCP whose header is said to be longer than the packet", changed(tcp(5, &[]), IP + 32, &[0xf0]), ip(13)),
        ("TCP that is cut within its header", tcp(5, &[])[..IP + 20 + 12].to_vec(), ip(13)),
        ("UDP over IPv6", ipv6(17, 64, &udp_segment()), ip(46)),
        ("TCP over IPv6", ipv6(6, 64, &tcp(6, PAYLOAD)[34..]), ip(46)),
        ("a VLAN tag", inserted(udp(), 12, VLAN), ip(13)),
        ("a VLAN tag, IPv6", inserted(ipv6(17, 64, &udp_segment()), 12, VLAN), ip(46)),
        ("a VLAN tag of priority 0", inserted(udp(), 12, &[0x81, 0, 0, 7]), ip(13)),
        ("a VLAN tag of priority 1", inserted(udp(), 12, &[0x81, 0, 0x20, 7]), ip(13)),
        ("a VLAN tag of priority 7", inserted(udp(), 12, &[0x81, 0, 0xe0, 7]), ip(13)),
        ("QinQ", inserted(inserted(udp(), 12, VLAN), 12, QINQ), ip(13)),
        ("QinQ, IPv6", inserted(inserted(ipv6(17, 64, &udp_segment()), 12, VLAN), 12, QINQ), ip(46)),
        ("QinQ of two customer tags", inserted(inserted(udp(), 12, VLAN), 12, VLAN), ip(13)),
        ("three tags", inserted(inserted(inserted(udp(), 12, VLAN), 12, VLAN), 12, QINQ), Some(Other)),
        ("a tag that is cut", inserted(udp(), 12, VLAN)[..15].to_vec(), Some(Other)),
        ("a tagged ARP", inserted(ether([0x08, 0x06]), 12, VLAN), Some(Neighbour)),
        ("the first fragment", changed(udp(), IP + 6, &[0x20, 0]), ip(13)),
        ("a middle fragment", changed(udp(), IP + 6, &[0x20, 8]), ip(13)),
        ("the last fragment", changed(udp(), IP + 6, &[0, 8]), ip(13)),
        ("not to be fragmented", changed(udp(), IP + 6, &[0x40, 0]), ip(13)),
        ("IPv6, the first fragment", ipv6(44, 64, &[&[17, 0, 0, 1, 0, 0, 0, 1], &udp_segment()[..]].concat()), ip(46)),
        ("IPv6, hop-by-hop options", ipv6(0, 64, &[&[17, 0, 1, 4, 0, 0, 0, 0], &udp_segment()[..]].concat()), ip(46)),
        ("one word of options", with_options(1), ip(13)),
        ("ten words of options", with_options(10), ip(13)),
        ("options, tagged", inserted(with_options(3), 12, VLAN), ip(13)),
        ("version 5", changed(udp(), IP, &[0x55]), Some(Other)),
        ("version 6 behind the type of IPv4", changed(udp(), IP, &[0x65]), Some(Other)),
        ("version 4 behind the type of IPv6", ether([0x86, 0xdd]), Some(Other)),
        ("a header of four words", changed(udp(), IP, &[0x44]), Some(Other)),
        ("a header of no words", changed(udp(), IP, &[0x40]), Some(Other)),
        ("a header longer than the frame", changed(udp(), IP, &[0x4f]), Some(Other)),
        ("a total length shorter than the header", changed(udp(), IP + 2, &[0, 19]), Some(Other)),
        ("a total length of 0", changed(udp(), IP + 2, &[0, 0]), ip(13)),
        ("a total length of the header alone", changed(udp(), IP + 2, &[0, 20]), ip(13)),
        ("a total length that ends within UDP's header", changed(udp(), IP + 2, &[0, 24]), ip(13)),
        ("a total length that ends within the rank", changed(udp(), IP + 2, &[0, 31]), ip(13)),
        ("a total length beyond the frame", changed(udp(), IP + 2, &[0xff, 0xff]), ip(13)),
        ("IPv6 with a payload length of 0", changed(ipv6(17, 64, &udp_segment()), IP + 4, &[0, 0]), ip(46)),
        ("IPv6 with a payload length that is too long", changed(ipv6(17, 64, &udp_segment()), IP + 4, &[9, 9]), ip(46)),
        ("padding behind a short packet", padded(udp_frame(13, 1, &[7]), 60), ip(13)),
        ("padding behind no payload", padded(udp_frame(13, 1, &[]), 60), ip(13)),
        ("padding behind a tagged packet", padded(inserted(udp_frame(13, 1, &[7, 8]), 12, VLAN), 64), ip(13)),
        ("padding behind TCP", padded(tcp(5, &[9]), 60), ip(13)),
        ("IP in IP", changed(inserted(udp(), IP, &udp()[IP..IP + 20]), IP + 9, &[4]), ip(13)),
        ("GRE", changed(udp(), IP + 9, &[47]), ip(13)),
        ("ESP", changed(udp(), IP + 9, &[50]), ip(13)),
        ("ICMP", changed(udp(), IP + 9, &[1]), ip(13)),
        ("SCTP", changed(udp(), IP + 9, &[132]), ip(13)),
        ("VXLAN: a frame in UDP", udp_frame(13, 4789, &[&[8, 0, 0, 0, 0, 0, 7, 0], &udp()[..]].concat()), ip(13)),
        ("ARP", padded(ether([0x08, 0x06])[..42].to_vec(), 60), Some(Neighbour)),
        ("RARP", ether([0x80, 0x35]), Some(Other)),
        ("LLDP", ether([0x88, 0xcc]), Some(Other)),
        ("PPPoE", ether([0x88, 0x64]), Some(Other)),
        ("an 802.3 length", ether([0, 46]), Some(Other)),
        ("MPLS", inserted(ether([0x88, 0x47]), IP, &[0, 1, 0x0b, 64]), Some(Other)),
        ("MPLS behind a tag", inserted(inserted(ether([0x88, 0x47]), IP, &[0, 1, 0x0b, 64]), 12, VLAN), Some(Other)),
        ("MPLS, two labels", inserted(ether([0x88, 0x48]), IP, &[0, 1, 0x0e, 64, 0, 2, 1, 64]), Some(Other)),
        ("a neighbour solicitation", ipv6(58, 255, &[135; 24]), Some(Neighbour)),
        ("a router advertisement", ipv6(58, 255, &[134; 24]), Some(Neighbour)),
        ("a neighbour solicitation from far away", ipv6(58, 64, &[135; 24]), ip(46)),
        ("an ICMPv6 echo", ipv6(58, 255, &[128; 24]), ip(46)),
        ("ICMPv6 without a message", ipv6(58, 255, &[]), ip(46)),
        ("random bytes of the type of IPv4", changed(vec![0xa5; 64], 12, &[8, 0]), Some(Other)),
    ];
    // Frames cut at every length: what is missing must be missed by both.
    let whole = [udp(), tcp(6, PAYLOAD), ipv6(17, 64, &udp_segment()), inserted(inserted(udp(), 12, VLAN), 12, QINQ)];
    for frame in whole {
        frames.extend((IP..frame.len()).map(|length| ("cut", frame[..length].to_vec(), None)));
    }
    frames.retain(|(_, frame, _)| can_be_tested(frame));
    frames
}

/// A table with an entry for most frames of the list.
fn table() -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("pifolab-frames-{}.txt", std::process::id()));
    let text = "flow udp 10.0.0.1:4000 10.0.0.2:5001 3\nflow udp 10.0.0.1:0 10.0.0.2:0 4\nflow tcp 10.0.0.1:4000 10.0.0.2:5001 5\n\
                flow 47 10.0.0.1 10.0.0.2 6\nflow udp [2001:db8::1]:4000 [2001:db8::2]:5001 7\n\
                dst 10.0.0.0/30 8\nsrc 2001:db8::/64 9\nsrc 0.0.0.0/0 10\n";
    std::fs::write(&path, text).expect("a file in the temporary folder");
    path
}

#[test]
fn both_data_planes_read_the_same_rank_in_every_frame_of_a_list() {
    if !can_run("both_data_planes_read_the_same_rank_in_every_frame_of_a_list") {
        return;
    }
    let path = table();
    let options = RankOptions { rank_table: Some(path.clone()), ..RankOptions::default() };
    for name in SOURCES {
        let mut both = Both::new(name, &options);
        for (what, frame, by_dscp) in frames() {
            let (kernel, switch) = (both.in_kernel(&frame), both.in_switch(&frame));
            assert_eq!(kernel, switch, "{what}, {}, kernel and switch: {frame:02x?}", both.name);
            if let Some(expected) = by_dscp.filter(|_| *name == "dscp") {
                assert_eq!(switch, expected, "{what}");
            }
        }
    }
    std::fs::remove_file(&path).expect("it is there");
}

#[test]
fn both_data_planes_read_the_same_rank_in_frames_that_are_changed_at_random() {
    if !can_run("both_data_planes_read_the_same_rank_in_frames_that_are_changed_at_random") {
        return;
    }
    let frames = frames();
    let mut random = Random(15);
    for name in ["dscp", "payload:0:4", "vlan", "mpls"] {
        let mut both = Both::new(name, &RankOptions::default());
        for _ in 0..3_000 {
            let (what, mut frame, _) = frames[random.below(frames.len() as u64) as usize].clone();
            for _ in 0..1 + random.below(3) {
                // Headers, mostly.
                let at = (12 + random.below(60) as usize) % frame.len();
                frame[at] = random.below(256) as u8;
            }
            if !can_be_tested(&frame) {
                continue;
            }
            assert_eq!(both.in_kernel(&frame), both.in_switch(&frame), "{what}, {name}: {frame:02x?}");
        }
    }
}

#[test]
fn an_ip_packet_without_a_rank_has_the_worst_unless_another_is_given() {
    if !can_run("an_ip_packet_without_a_rank_has_the_worst_unless_another_is_given") {
        return;
    }
    let without = [
        ("payload:0:4", tcp(5, &[]), 0xffff_ffff),
        ("payload:0:2", changed(udp(), IP + 6, &[0, 8]), 0xffff),
        ("payload:0:1", padded(udp_frame(13, 1, &[]), 60), 0xff),
        ("vlan", udp(), 7),
        ("mpls", udp(), 7),
        ("mark", udp(), 0xffff_ffff),
    ];
    for (name, frame, worst) in without {
        let given = RankOptions { rank_missing: "11".parse().expect("a rank"), ..RankOptions::default() };
        for (options, rank) in [(RankOptions::default(), worst), (given, 11)] {
            let mut both = Both::new(name, &options);
            assert_eq!(both.in_kernel(&frame), Reading::Rank(rank), "{name}");
            assert_eq!(both.in_switch(&frame), Reading::Rank(rank), "{name}");
            assert_eq!(both.kernel.stats().expect("statistics").unranked, 1);
        }
    }
}

#[test]
fn the_mark_of_the_kernel_is_a_rank() {
    if !can_run("the_mark_of_the_kernel_is_a_rank") {
        return;
    }
    let both = Both::new("mark", &RankOptions::default());
    for mark in [1, 77, u32::MAX - 1] {
        let decision = both.kernel.test_marked(&udp(), 100, mark).expect("a decision");
        assert_eq!(decision.rank, u64::from(mark));
    }
}

#[test]
fn frames_that_are_not_ip_can_have_a_rank_in_the_kernel_too() {
    if !can_run("frames_that_are_not_ip_can_have_a_rank_in_the_kernel_too") {
        return;
    }
    let options = RankOptions { rank_not_ip: "worst".parse().expect("a rank"), ..RankOptions::default() };
    let both = Both::new("dscp", &options);
    assert_eq!(both.kernel.config().rank_not_ip, 63);
    let arp = changed(udp(), 12, &[0x08, 0x06]);
    let decision = both.kernel.test(&arp, arp.len() as u32).expect("a decision");
    assert_eq!((decision.queue, decision.drop), (0, None), "the scheduler decides");
    let stats = both.kernel.stats().expect("statistics");
    assert_eq!((stats.neighbour, stats.admitted_packets[0]), (1, 1));
}

//! Tests that the dissection finds the inner packet in every encapsulation, and that no packet makes the rest
//! unreadable.

use super::capture_builder::{Builder, ethernet, ipv4, ipv6, tcp, udp};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const US: u32 = 0xa1b2_c3d4;

/// The number of tunnels of an IP packet in another. `options` are drawn bits.
const TUNNELS: usize = 12;

fn tunnel(kind: usize, v6: bool, options: u16, inner: &[u8]) -> (u8, Vec<u8>) {
    let kind_of_ip = if v6 { 0x86dd } else { 0x0800 };
    let frame = ethernet(&[0x8100][..usize::from(options & 1)], kind_of_ip, inner);
    // Bits that belong neither to PPP's protocol nor to a length.
    let noise = (options >> 8) as u8;
    let ppp = ppp(v6, options, inner);
    let on_udp = |port, header: &[u8], inside: &[u8]| (17, udp(50_000, port, &[header, inside].concat()));
    match kind {
        0 => on_udp(4789, &[0x08 | noise & 0xf0, noise, noise, noise, 0, 1, 2, noise], &frame),
        1 => on_udp(4790, &[0x0c, 0, 0, if v6 { 2 } else { 1 }, 0, 0, 1, 0], inner),
        2 => {
            let words = usize::from(options & 7);
            on_udp(6081, &[&[words as u8, 0, 0x65, 0x58, 0, 0, 1, 0][..], &vec![noise; 4 * words]].concat(), &frame)
        }
        3 => {
            let (flags, rest) = gtp_options(options);
            on_udp(2152, &[&[flags, 0xff, 0, 0, 0, 0, 0, 7][..], rest].concat(), inner)
        }
        4 => {
            let flags = (options & 0xb000, if options & 1 == 0 { 0x6558 } else { kind_of_ip });
            let fields = 4 * flags.0.count_ones() as usize;
            let inside = if options & 1 == 0 { &frame } else { inner };
            (47, [&flags.0.to_be_bytes()[..], &flags.1.to_be_bytes(), &vec![noise; fields], inside].concat())
        }
        5 => {
            let acknowledged = options & 0x0080;
            let flags = (0x3001 | acknowledged).to_be_bytes();
            let numbers = if acknowledged == 0 { 4 } else { 8 };
            (47, [&flags[..], &[0x88, 0x0b, 0, 9, 0, 9], &vec![noise; numbers], &ppp].concat())
        }
        6 => {
            let flags = options & 0x4a00 | 2;
            let mut header = flags.to_be_bytes().to_vec();
            header.extend(vec![noise; if flags & 0x4000 == 0 { 0 } else { 2 }]);
            header.extend([0, 1, 0, 2]);
            header.extend(vec![noise; if flags & 0x0800 == 0 { 0 } else { 4 }]);
            if flags & 0x0200 != 0 {
                header.extend([0, 3, noise, noise, noise]);
            }
            on_udp(1701, &header, &ppp)
        }
        7 if v6 => {
            let authentication = [&[0, 1, 2, 1, 9, 9, 9][..], &[noise; 9]].concat();
            let origin = [0, 0, noise, noise, noise, noise, noise, noise];
            let header = [
                &authentication[..if options & 1 == 0 { 0 } else { 16 }],
                &origin[..if options & 2 == 0 { 0 } else { 8 }],
            ];
            on_udp(3544, &header.concat(), inner)
        }
        8 => on_udp(6635, &labels(options), inner),
        9 => (97, [&[0x30, 0][..], &frame].concat()),
        10 => (137, [&labels(options)[..], inner].concat()),
        _ => (if v6 { 41 } else { 4 }, inner.to_vec()),
    }
}

/// The flags of GTP-U, and the bytes after its first 8 bytes.
fn gtp_options(options: u16) -> (u8, &'static [u8]) {
    match options & 3 {
        0 => (0x30, &[]),
        1 => (0x32, &[0, 9, 0, 0]),
        // Numbers, and the type of the first extension. It has two words and the type of the second, which has one
        // word.
        _ => (0x36, &[0, 9, 0, 0x85, 2, 1, 2, 3, 4, 5, 6, 0x40, 1, 7, 7, 0]),
    }
}

fn labels(options: u16) -> Vec<u8> {
    let count = usize::from(options >> 4 & 3);
    (0..=count).flat_map(|at| [0x12, 0x34, 0x50 | u8::from(at == count), 64]).collect()
}

fn ppp(v6: bool, options: u16, inner: &[u8]) -> Vec<u8> {
    let address: &[u8] = if options & 4 == 0 { &[] } else { &[0xff, 3] };
    let protocol = if v6 { 0x57 } else { 0x21 };
    let protocol: &[u8] = if options & 8 == 0 { &[0, protocol] } else { &[protocol] };
    [address, protocol, inner].concat()
}

fn snap(v6: bool, options: u16, inner: &[u8]) -> Vec<u8> {
    if !v6 && options & 16 != 0 {
        return [&[6, 6, 3][..], inner].concat();
    }
    let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    [&[0xaa, 0xaa, 3, 0, 0, if options & 32 == 0 { 0 } else { 0xf8 }][..], &kind, inner].concat()
}

/// A data frame of 802.11; the header is padded to 32 bits if `padded`.
fn wireless(v6: bool, options: u16, padded: bool, inner: &[u8]) -> Vec<u8> {
    let (qos, four, high, several) =
        (options & 1 != 0, options & 2 != 0, options & 0x41 == 0x41, options & 0x81 == 0x81);
    let flags = if four { 3 } else { 0 } | if high { 0x80 } else { 0 };
    let mut frame = [&[if qos { 0x88 } else { 0x08 }, flags][..], &[2; 20], &[0x50, 1]].concat();
    frame.extend(vec![3; if four { 6 } else { 0 }]);
    frame.extend(if qos { vec![if several { 0x80 } else { 0 }, 0] } else { vec![] });
    frame.extend(vec![0; if high { 4 } else { 0 }]);
    if padded {
        frame.resize(frame.len().next_multiple_of(4), 0);
    }
    let inside = snap(v6, options, inner);
    if several {
        frame.extend([2; 12]);
        frame.extend((inside.len() as u16).to_be_bytes());
    }
    [frame, inside].concat()
}

/// The number of link layers.
const LINKS: usize = 13;

fn link(kind: usize, v6: bool, options: u16, inner: &[u8]) -> (u32, Vec<u8>) {
    let kind_of_ip: u16 = if v6 { 0x86dd } else { 0x0800 };
    let tags = &[0x88a8, 0x8100, 0x9100][..usize::from(options & 3)];
    let mut cooked = [0; 20];
    let protocol = kind_of_ip.to_be_bytes();
    match kind {
        0 => (1, ethernet(tags, kind_of_ip, inner)),
        1 => {
            let inside = snap(v6, options, inner);
            let length = if inside.len() <= 1500 { inside.len() as u16 } else { 0x8870 };
            (1, ethernet(tags, length, &inside))
        }
        2 => (1, ethernet(tags, 0x8847, &[&labels(options)[..], inner].concat())),
        3 => (1, ethernet(tags, 0x8864, &[&[0x11, 0, 0, 7, 0, 0][..], &ppp(v6, options & !4, inner)].concat())),
        4 => (9, ppp(v6, options, inner)),
        5 => (50, [&[0x0f, 0][..], &protocol, inner].concat()),
        6 => (104, [&[0x8f, 0][..], &protocol, inner].concat()),
        7 => (105, wireless(v6, options, false, inner)),
        8 => {
            // Two words of fields with a clock and flags, or one word with flags only.
            let padded = options & 0x100 != 0;
            let flags = u8::from(padded) * 0x20;
            let header = if options & 0x200 == 0 {
                vec![0, 0, 10, 0, 2, 0, 0, 0, flags, 0]
            } else {
                [&[0, 0, 28, 0, 3, 0, 0, 0x80, 0, 0, 0, 0][..], &[9; 4], &[7; 8], &[flags, 0, 0, 0]].concat()
            };
            (127, [header, wireless(v6, options, padded, inner)].concat())
        }
        9 => (192, [&[0, 0, 8, 0, 105, 0, 0, 0][..], &wireless(v6, options, false, inner)].concat()),
        10 => {
            cooked[14..16].copy_from_slice(&protocol);
            (113, [&cooked[..16], inner].concat())
        }
        11 => {
            cooked[..2].copy_from_slice(&protocol);
            (276, [&cooked[..], inner].concat())
        }
        _ => (101, inner.to_vec()),
    }
}

#[derive(Clone, Debug)]
struct Inner {
    v6: bool,
    is_tcp: bool,
    hosts: [u8; 2],
    ports: [u16; 2],
    dscp: u8,
    payload: Vec<u8>,
}

prop_compose! {
    /// Ports below those of tunnels.
    fn inner()(v6: bool, is_tcp: bool, hosts: [u8; 2], ports in [1u16..1700, 1u16..1700], dscp in 0u8..64, payload in vec(any::<u8>(), 1..60)) -> Inner {
        Inner { v6, is_tcp, hosts, ports, dscp, payload }
    }
}

impl Inner {
    fn bytes(&self) -> Vec<u8> {
        let [from, to] = self.ports;
        let (protocol, segment) =
            if self.is_tcp { (6, tcp(from, to, &self.payload)) } else { (17, udp(from, to, &self.payload)) };
        self.on_ip(self.v6, protocol, self.dscp, &segment)
    }

    fn on_ip(&self, v6: bool, protocol: u8, dscp: u8, inside: &[u8]) -> Vec<u8> {
        let [from, to] = self.hosts;
        if v6 { ipv6(dscp, protocol, from, to, inside) } else { ipv4(dscp, protocol, from, to, inside) }
    }

    fn flow(&self) -> String {
        let ends = [0, 1].map(|end| {
            let (host, port) = (self.hosts[end], self.ports[end]);
            let address = std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host.into());
            if self.v6 { format!("[{address}]:{port}") } else { format!("10.0.0.{host}:{port}") }
        });
        format!("{} > {} {}", ends[0], ends[1], if self.is_tcp { "tcp" } else { "udp" })
    }
}

proptest! {
    #[test]
    fn a_frame_of_any_encapsulation_is_dissected_to_what_was_put_in(
        inner in inner(),
        tunnels in vec((0..TUNNELS, any::<bool>(), any::<u16>(), 0u8..64), 0..4),
        on in 0..LINKS,
        options: u16,
    ) {
        let (mut packet, mut v6, mut dscp) = (inner.bytes(), inner.v6, inner.dscp);
        for (kind, outer, options, outer_dscp) in &tunnels {
            let (protocol, inside) = tunnel(*kind, v6, *options, &packet);
            packet = inner.on_ip(*outer, protocol, *outer_dscp, &inside);
            (v6, dscp) = (*outer, *outer_dscp);
        }
        let (number, frame) = link(on, v6, options, &packet);
        let mut file = Builder::pcap(options & 1 == 0, US, number);
        file.packet(1, 2, &frame);
        let rank = TraceRank::Payload { offset: 0, width: RankWidth::One, order: ByteOrder::Big };
        for (rank, expected) in [(TraceRank::Dscp, dscp), (rank, inner.payload[0])] {
            let options = TraceOptions { rank, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
            let mut reader = TraceReader::new(&file.bytes[..], "t", options).unwrap();
            let arrival = reader.next().unwrap().unwrap();
            prop_assert_eq!(reader.flow_names(), [inner.flow()]);
            prop_assert_eq!(reader.counts(), TraceCounts { packets: 1, ..TraceCounts::default() });
            prop_assert_eq!((arrival.rank.get(), arrival.bytes), (u64::from(expected), frame.len() as u32));
        }
    }

    #[test]
    fn no_packet_costs_the_rest_of_a_capture(
        noise in vec((vec(any::<u8>(), 0..120), 0usize..200, any::<bool>(), 0u32..3000, 0..TUNNELS, any::<u16>()), 1..30),
        on in 0..LINKS,
        options: u16,
    ) {
        // Between intact packets there are random bytes, and frames with one byte changed or removed.
        let known = Inner { v6: false, is_tcp: true, hosts: [7, 8], ports: [80, 443], dscp: 9, payload: vec![1] };
        let (number, whole) = link(on, false, options, &known.bytes());
        let mut file = Builder::pcap(false, US, number);
        let (mut packets, mut bytes) = (0, 0);
        for (random, place, damaged, original, kind, options) in &noise {
            let (protocol, inside) = tunnel(*kind, false, *options, &known.bytes());
            let (_, mut frame) = link(on, false, *options, &known.on_ip(false, protocol, 0, &inside));
            if *damaged {
                let at = place % frame.len();
                frame[at] = random.first().copied().unwrap_or(0);
                frame.truncate(frame.len() - place % 7);
            } else {
                frame.clone_from(random);
            }
            file.cut_packet(1, 2, &frame, *original).packet(1, 2, &whole);
            let length = if *original == 0 { frame.len() as u64 } else { u64::from(*original) };
            packets += 1 + u64::from(length > 0);
            bytes += length + whole.len() as u64;
        }
        let options = TraceOptions { rank: TraceRank::Later, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
        let mut reader = TraceReader::new(&file.bytes[..], "t", options).unwrap();
        let found: Vec<Arrival> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(found.len() as u64, packets);
        prop_assert_eq!(found.iter().map(|arrival| u64::from(arrival.bytes)).sum::<u64>(), bytes);
        let names = reader.flow_names();
        let of_known = found.iter().filter(|arrival| names[arrival.flow as usize] == known.flow()).count();
        prop_assert!(of_known >= noise.len(), "{} of {}", of_known, noise.len());
    }
}

#[test]
fn frames_without_readable_packets_are_counted() {
    let inner = Inner { v6: false, is_tcp: true, hosts: [7, 8], ports: [80, 443], dscp: 9, payload: vec![1] };
    let counts = |number: u32, packets: &[Vec<u8>]| {
        let mut file = Builder::pcap(false, US, number);
        packets.iter().for_each(|packet| {
            file.packet(0, 0, packet);
        });
        let options = TraceOptions { rank: TraceRank::Dscp, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
        let mut reader = TraceReader::new(&file.bytes[..], "t", options).unwrap();
        assert!(reader.by_ref().all(|arrival| arrival.is_ok()));
        let TraceCounts { not_ip, tunnels, .. } = reader.counts();
        (not_ip, tunnels)
    };
    let with = |at: usize, byte: u8| {
        let mut frame = wireless(false, 0, false, &inner.bytes());
        frame[at] = byte;
        frame
    };
    // A beacon, a null frame, an encrypted frame and a later fragment.
    assert_eq!(counts(105, &[with(0, 0x80), with(0, 0x48), with(1, 0x40), with(22, 0x51)]), (4, 0));
    // Link control of PPP, LLC of another protocol, SNAP of another organisation.
    assert_eq!(counts(9, &[vec![0xc0, 0x21, 1, 2, 3, 4]]), (1, 0));
    let spanning_tree = ethernet(&[], 38, &[0x42, 0x42, 3, 0, 0, 0]);
    let cisco = ethernet(&[], 38, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]);
    assert_eq!(counts(1, &[spanning_tree, cisco]), (2, 0));
    // Tunnels with unread content: L2TP of version 3, IPsec with address translation, GPE with another protocol.
    let on_udp = |port, bytes: &[u8]| inner.on_ip(false, 17, 0, &udp(50_000, port, bytes));
    let unread = [
        on_udp(1701, &[0, 3, 0, 0, 0, 0, 0, 1]),
        on_udp(4500, &[0, 1, 2, 3, 4]),
        on_udp(4790, &[0x0c, 0, 0, 4, 0, 0, 0, 0]),
    ];
    assert_eq!(counts(101, &unread), (0, 3));
    // Control messages of tunnels are not inside a tunnel.
    let signals = [on_udp(1701, &[0xc8, 2, 0, 12]), on_udp(2152, &[0x32, 1, 0, 4]), on_udp(4500, &[0, 0, 0, 0, 5])];
    assert_eq!(counts(101, &signals), (0, 0));
    // Endlessly nested LLC is not followed.
    let nested = (0..100_000).fold(Vec::new(), |mut frame, _| {
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x70]);
        frame
    });
    assert_eq!(counts(1, &[ethernet(&[], 0x8870, &nested)]), (1, 0));
}

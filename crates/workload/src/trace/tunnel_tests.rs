//! Tests of packets within packets, of packets without a known flow, and of captures that end within a packet.

use super::capture_builder::{Builder, ethernet, ipv4, ipv6, tcp, udp};
use super::*;

const US: u32 = 0xa1b2_c3d4;

fn options(rank: TraceRank) -> TraceOptions {
    TraceOptions { rank, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error }
}

/// The flow names, DSCPs and counts of packets on Ethernet.
fn seen(packets: &[Vec<u8>]) -> (Vec<String>, Vec<u64>, TraceCounts) {
    let mut file = Builder::pcap(false, US, 1);
    for packet in packets {
        file.packet(0, 0, packet);
    }
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
    let dscps = reader.by_ref().map(|arrival| arrival.unwrap().rank.get()).collect();
    (reader.flow_names(), dscps, reader.counts())
}

/// The name and DSCP of the flow of a packet that is completely dissected.
fn flow_of(packet: Vec<u8>) -> (String, u64) {
    let (names, dscps, counts) = seen(&[packet]);
    assert_eq!(counts, TraceCounts { packets: 1, ..TraceCounts::default() }, "{names:?}");
    (names.concat(), dscps[0])
}

fn label(bottom: bool) -> [u8; 4] {
    [0x12, 0x34, 0x50 | u8::from(bottom), 64]
}

fn pppoe(protocol: u16, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 2).to_be_bytes();
    [&[0x11, 0, 0, 7][..], &length, &protocol.to_be_bytes(), payload].concat()
}

fn vxlan(payload: &[u8]) -> Vec<u8> {
    [&[0x08, 0, 0, 0, 0, 0, 42, 0][..], payload].concat()
}

fn gre(flags: u16, kind: u16, payload: &[u8]) -> Vec<u8> {
    let options = 4 * (flags & 0xb000).count_ones() as usize;
    [&flags.to_be_bytes()[..], &kind.to_be_bytes(), &vec![9; options], payload].concat()
}

/// A packet with DSCP 33, and the name of its flow.
fn inner() -> (Vec<u8>, String) {
    (ipv4(33, 6, 7, 8, &tcp(80, 4000, b"x")), "10.0.0.7:80 > 10.0.0.8:4000 tcp".to_owned())
}

fn inner6() -> (Vec<u8>, String) {
    (ipv6(33, 17, 7, 8, &udp(80, 4000, b"x")), "[fd00::7]:80 > [fd00::8]:4000 udp".to_owned())
}

#[test]
fn the_flow_under_mpls_labels_is_read() {
    for ((ip, flow), kind) in [inner(), inner6()].into_iter().zip([0x8847, 0x8848]) {
        let one = [&label(true)[..], &ip].concat();
        let three = [&label(false)[..], &label(false), &label(true), &ip].concat();
        let pseudowire = [&label(false)[..], &label(true), &[0; 4], &ethernet(&[0x8100], 0x0800, &inner().0)].concat();
        assert_eq!(flow_of(ethernet(&[], kind, &one)), (flow.clone(), 33));
        assert_eq!(flow_of(ethernet(&[0x88a8, 0x8100], kind, &three)), (flow, 33));
        assert_eq!(flow_of(ethernet(&[], kind, &pseudowire)), (inner().1, 33));
    }
}

#[test]
fn the_flow_in_a_pppoe_session_is_read() {
    assert_eq!(flow_of(ethernet(&[0x8100], 0x8864, &pppoe(0x0021, &inner().0))), (inner().1, 33));
    assert_eq!(flow_of(ethernet(&[], 0x8864, &pppoe(0x0057, &inner6().0))), (inner6().1, 33));
    let labelled = [&label(true)[..], &inner().0].concat();
    assert_eq!(flow_of(ethernet(&[], 0x8864, &pppoe(0x0281, &labelled))), (inner().1, 33));
    // Discovery, and the link control of a session.
    let (names, _, counts) =
        seen(&[ethernet(&[], 0x8863, &[0x11; 40]), ethernet(&[], 0x8864, &pppoe(0xc021, &[1, 2, 3, 4]))]);
    assert_eq!((names, counts.not_ip), (vec!["not IP".to_owned()], 2));
}

#[test]
fn the_flow_in_a_tunnel_is_the_inner_one_and_the_dscp_the_outer_one() {
    let frame = ethernet(&[], 0x0800, &inner().0);
    let geneve = [&[0x02, 0, 0x65, 0x58, 0, 0, 1, 0][..], &[0xee; 8], &frame].concat();
    for (protocol, carried) in [
        (17, udp(50_000, 4789, &vxlan(&frame))),
        (17, udp(50_000, 8472, &vxlan(&ethernet(&[0x8100], 0x0800, &inner().0)))),
        (17, udp(50_000, 6081, &geneve)),
        (47, gre(0, 0x0800, &inner().0)),
        (47, gre(0xb000, 0x6558, &frame)),
        (4, inner().0),
    ] {
        let outer = ipv4(5, protocol, 1, 2, &carried);
        assert_eq!(flow_of(ethernet(&[], 0x0800, &outer)), (inner().1, 5), "protocol {protocol}");
        let outer = ipv6(5, protocol, 1, 2, &carried);
        assert_eq!(flow_of(ethernet(&[], 0x86dd, &outer)), (inner().1, 5), "protocol {protocol} on IPv6");
    }
    assert_eq!(flow_of(ethernet(&[], 0x0800, &ipv4(5, 41, 1, 2, &inner6().0))), (inner6().1, 5));
}

#[test]
fn ranks_in_the_payload_are_those_of_the_inner_packet() {
    let frame = ethernet(&[], 0x0800, &ipv4(0, 17, 7, 8, &udp(1, 2, &[0, 77])));
    let mut file = Builder::pcap(false, US, 1);
    file.packet(0, 0, &ethernet(&[], 0x0800, &ipv4(0, 17, 1, 2, &udp(50_000, 4789, &vxlan(&frame)))));
    let rank = TraceRank::Payload { offset: 0, width: RankWidth::Two, order: ByteOrder::Big };
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(rank)).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().rank.get(), 77);
}

#[test]
fn what_cannot_be_told_apart_is_counted_by_its_reason() {
    let on_ip = |protocol, carried: &[u8]| ethernet(&[], 0x0800, &ipv4(5, protocol, 1, 2, carried));
    let mut fragment = on_ip(17, &udp(5, 6, b"x"));
    fragment[14 + 6..14 + 8].copy_from_slice(&[0x20, 0x10]);
    let packets = [
        on_ip(17, &udp(50_000, 4789, &vxlan(&ethernet(&[], 0x0806, &[0; 28])))),
        on_ip(50, &[1; 40]),
        on_ip(47, &gre(1, 0x880b, &[0; 30])),
        fragment,
        ethernet(&[], 0x88cc, &[0; 40]),
        ethernet(&[], 0x8847, &[&label(true)[..], &[0x20; 40]].concat()),
        on_ip(17, &udp(5, 6, b"x")),
    ];
    let (names, dscps, counts) = seen(&packets);
    assert_eq!(counts, TraceCounts { packets: 7, not_ip: 2, tunnels: 3, fragments: 1, ..TraceCounts::default() });
    assert_eq!(dscps, [5, 5, 5, 5, 0, 0, 5]);
    assert_eq!(names[0], "10.0.0.1:50000 > 10.0.0.2:4789 udp");
    assert_eq!(names[1], "10.0.0.1 > 10.0.0.2 protocol 50");
    // A packet of another program on VXLAN's port is not a tunnel.
    assert_eq!(flow_of(on_ip(17, &udp(50_000, 8472, b"GET /"))).0, "10.0.0.1:50000 > 10.0.0.2:8472 udp");
    assert_eq!(flow_of(on_ip(17, &udp(50_000, 4789, b""))).0, "10.0.0.1:50000 > 10.0.0.2:4789 udp");
}

#[test]
fn a_snap_length_that_cuts_the_inner_packet_leaves_the_flow_of_the_tunnel() {
    let frame = ethernet(&[], 0x0800, &inner().0);
    let whole = ethernet(&[], 0x0800, &ipv4(5, 17, 1, 2, &udp(50_000, 4789, &vxlan(&frame))));
    for cut in 38..whole.len() {
        let mut file = Builder::pcap(false, US, 1);
        file.cut_packet(0, 0, &whole[..cut], whole.len() as u32);
        let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().rank.get(), 5);
        // Outer headers up to byte 50, then Ethernet, IP, and the ports.
        let expected = if cut < 50 + 14 + 20 + 4 { "10.0.0.1:50000 > 10.0.0.2:4789 udp" } else { &inner().1 };
        assert_eq!(reader.flow_names(), [expected], "{cut} bytes");
        assert_eq!(reader.counts().tunnels, u64::from(cut < 88), "{cut} bytes");
    }
}

#[test]
fn packets_in_packets_without_end_are_given_up() {
    let nested = (0..1000).fold(inner().0, |packet, _| ipv4(5, 4, 1, 2, &packet));
    let labels = (0..1000).fold(inner().0, |packet, _| [&label(false)[..], &packet].concat());
    let wires = (0..1000).fold(ethernet(&[], 0x0800, &inner().0), |frame, _| {
        ethernet(&[], 0x8847, &[&label(true)[..], &[0; 4], &frame].concat())
    });
    let (names, _, counts) = seen(&[ethernet(&[], 0x0800, &nested), ethernet(&[], 0x8847, &labels), wires]);
    assert_eq!((counts.tunnels, counts.not_ip), (1, 2));
    assert_eq!(names, ["10.0.0.1 > 10.0.0.2 protocol 4", "not IP"]);
}

#[test]
fn a_last_packet_that_is_not_whole_is_left_out_and_named() {
    let frame = ethernet(&[], 0x0800, &inner().0);
    let mut pcap = Builder::pcap(false, US, 1);
    pcap.packet(0, 0, &frame);
    let whole = pcap.bytes.len();
    pcap.packet(1, 0, &frame);
    let mut pcapng = Builder::pcapng(false);
    pcapng.interface(1, &[]).enhanced(0, 0, &frame);
    let whole_ng = pcapng.bytes.len();
    pcapng.enhanced(0, 1, &frame);
    for (bytes, whole) in [(&pcap.bytes, whole), (&pcapng.bytes, whole_ng)] {
        for end in whole + 1..bytes.len() {
            let mut reader = TraceReader::new(&bytes[..end], "t", options(TraceRank::Later)).unwrap();
            assert_eq!(reader.by_ref().map(Result::unwrap).count(), 1, "{end} bytes");
            let left_out = reader.left_out().unwrap();
            assert!(
                left_out.contains("the file is cut off in the") && left_out.ends_with("; it was left out"),
                "{left_out}"
            );
        }
        for end in [whole, bytes.len()] {
            let mut reader = TraceReader::new(&bytes[..end], "t", options(TraceRank::Later)).unwrap();
            assert!(reader.by_ref().all(|arrival| arrival.is_ok()));
            assert_eq!(reader.left_out(), None);
        }
    }
    let sorted = TraceOptions { out_of_order: OutOfOrder::Sort, ..options(TraceRank::Later) };
    let reader = TraceReader::new(&pcap.bytes[..pcap.bytes.len() - 1], "t", sorted).unwrap();
    assert_eq!(
        reader.left_out().unwrap(),
        format!(
            "packet 2 at byte {whole}: the file is cut off in the packet: {} of {} bytes; it was left out",
            frame.len() - 1,
            frame.len()
        )
    );
}

#[test]
fn more_than_a_packet_is_never_left_out() {
    let mut pcap = Builder::pcap(false, US, 1);
    pcap.packet(0, 0, &ethernet(&[], 0x0800, &inner().0));
    let damaged = pcap.bytes.len();
    // A length of 15 MiB, followed by only 300 kB of further packets.
    pcap.u32(0).u32(0).u32(15 << 20).u32(15 << 20).raw(&[0; 300_000]);
    let found: Result<Vec<_>, _> = TraceReader::new(&pcap.bytes[..], "t", options(TraceRank::Later)).unwrap().collect();
    assert_eq!(
        found.unwrap_err().to_string(),
        format!("t: packet 2 at byte {damaged}: the file is cut off in the packet: 300000 of 15728640 bytes")
    );
}

#[test]
fn a_trace_without_packets_is_an_error() {
    let first = |bytes: &[u8]| {
        let mut reader = TraceReader::new(bytes, "t", options(TraceRank::Later)).unwrap();
        reader.next().unwrap().unwrap_err().to_string()
    };
    assert_eq!(first(&Builder::pcap(false, US, 1).bytes), "t: has no packets: expected at least one");
    assert_eq!(first(&Builder::pcapng(true).bytes), "t: has no packets: expected at least one");
    assert_eq!(first(b"time_ns,size_bytes\n\n"), "t: has no packets: expected at least one");
    let sort = TraceOptions { out_of_order: OutOfOrder::Sort, ..options(TraceRank::Later) };
    let found = TraceReader::new(&b"time_ns,size_bytes\n"[..], "t", sort).err().unwrap().to_string();
    assert_eq!(found, "t: has no packets: expected at least one");
}

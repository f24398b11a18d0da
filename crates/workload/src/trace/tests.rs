use super::capture_builder::{Builder, ethernet, ipv4, ipv6, tcp, udp};
use super::*;
use pifolab_units::Span;
use std::io::Write;

const US: u32 = 0xa1b2_c3d4;
const NS: u32 = 0xa1b2_3c4d;

fn options(rank: TraceRank) -> TraceOptions {
    TraceOptions { rank, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error }
}

fn read(bytes: &[u8], options: TraceOptions) -> Result<Vec<Arrival>, FileError> {
    TraceReader::new(bytes, "t", options)?.collect()
}

fn message(bytes: &[u8], rank: TraceRank) -> String {
    read(bytes, options(rank)).unwrap_err().to_string()
}

fn frame(src_port: u16) -> Vec<u8> {
    ethernet(&[], 0x0800, &ipv4(10, 17, 1, 2, &udp(src_port, 9, b"payload")))
}

/// The flows and DSCPs of packets of one link type.
fn contents(link_type: u32, packets: &[Vec<u8>]) -> Vec<(u32, u64)> {
    let mut file = Builder::pcap(false, US, link_type);
    for packet in packets {
        file.packet(0, 0, packet);
    }
    read(&file.bytes, options(TraceRank::Dscp)).unwrap().iter().map(|a| (a.flow, a.rank.get())).collect()
}

#[test]
fn dscps_are_ranked_by_a_map_and_what_is_not_ip_as_best_effort() {
    let mut file = Builder::pcap(false, US, 1);
    for dscp in [46, 0, 34, 48, 1] {
        file.packet(0, 0, &ethernet(&[], 0x0800, &ipv4(dscp, 17, 1, 2, &udp(1, 2, b""))));
    }
    file.packet(0, 0, &ethernet(&[], 0x0806, &[0; 28]));
    let ranks = |map: &str| {
        let rank = TraceRank::DscpBy(map.parse().unwrap());
        read(&file.bytes, options(rank)).unwrap().iter().map(|arrival| arrival.rank.get()).collect::<Vec<_>>()
    };
    assert_eq!(ranks("phb"), [1, 15, 3, 0, 17, 15]);
    assert_eq!(ranks("46=0,34=1"), [0, 2, 1, 2, 2, 2]);
}

#[test]
fn both_byte_orders_and_both_resolutions_read_the_same() {
    for big in [false, true] {
        for (magic, unit) in [(US, 1_000), (NS, 1)] {
            let mut file = Builder::pcap(big, magic, 1);
            file.packet(7, 999_999_000 / unit, &frame(1)).packet(8, 1_000 / unit, &frame(2));
            file.packet(8, 1_000 / unit, &frame(1));
            let arrivals = read(&file.bytes, options(TraceRank::Dscp)).unwrap();
            let bytes = frame(1).len() as u32;
            let expected =
                |us, flow| Arrival { time: Time::ZERO + Span::from_us(us), bytes, rank: Rank::from(10u32), flow };
            assert_eq!(arrivals, [expected(0, 0), expected(2, 1), expected(2, 0)], "big {big}, magic {magic:x}");
        }
    }
}

#[test]
fn pcapng_in_both_byte_orders_with_foreign_blocks() {
    for big in [false, true] {
        let mut file = Builder::pcapng(big);
        file.block(0xbad, b"unknown").interface(1, &[(2, b"eth0")]).enhanced(0, 5_000_000_000_000, &frame(1));
        // A statistics block, then a new section with an interface in nanoseconds.
        file.block(5, &[0; 12]).section().interface(101, &[(9, &[9])]);
        file.enhanced(0, 5_000_000_000_001_500, &frame(1)[14..]);
        let arrivals = read(&file.bytes, options(TraceRank::Dscp)).unwrap();
        assert_eq!(arrivals.len(), 2);
        assert_eq!((arrivals[1].time, arrivals[1].flow, arrivals[1].rank.get()), (Time::from_ns(1_500), 0, 10));
    }
}

#[test]
fn timestamps_follow_the_interfaces_resolution_and_offset() {
    let second_tick = |resolution: u8, ticks: u64| {
        let mut file = Builder::pcapng(false);
        file.interface(1, &[(9, &[resolution])]).enhanced(0, 0, &frame(1)).enhanced(0, ticks, &frame(1));
        read(&file.bytes, options(TraceRank::Later)).unwrap()[1].time.as_ps()
    };
    assert_eq!(second_tick(0, 2), 2_000_000_000_000);
    assert_eq!(second_tick(3, 2), 2_000_000_000);
    assert_eq!(second_tick(6, 2), 2_000_000);
    assert_eq!(second_tick(12, 2), 2);
    assert_eq!(second_tick(13, 25), 2);
    assert_eq!(second_tick(127, u64::MAX), 0);
    assert_eq!(second_tick(0x80, 3), 3_000_000_000_000);
    assert_eq!(second_tick(0x80 | 10, 1_024), 1_000_000_000_000);
    assert_eq!(second_tick(0xff, u64::MAX), 0);
    let mut file = Builder::pcapng(true);
    file.interface(1, &[(14, &(-3i64).to_be_bytes())]).interface(1, &[(14, &(-1i64).to_be_bytes())]);
    file.enhanced(0, 0, &frame(1)).enhanced(1, 0, &frame(1));
    assert_eq!(read(&file.bytes, options(TraceRank::Later)).unwrap()[1].time, Time::ZERO + Span::from_s(2));
}

#[test]
fn the_obsolete_packet_block_is_read() {
    let mut file = Builder::pcapng(false);
    file.interface(1, &[]);
    let data = frame(1);
    let mut body = Builder::pcapng(false);
    body.bytes.clear();
    body.u16(0).u16(9).u32(0).u32(1).u32(data.len() as u32).u32(1500).raw(&data);
    file.block(2, &body.bytes);
    assert_eq!(read(&file.bytes, options(TraceRank::Dscp)).unwrap()[0].bytes, 1500);
}

#[test]
fn every_link_type_finds_the_ip_header() {
    let ip = ipv4(33, 17, 1, 2, &udp(5, 6, b"x"));
    let cooked = |header: &[u8], ethertype_at: usize| {
        let mut packet = header.to_vec();
        packet[ethertype_at..ethertype_at + 2].copy_from_slice(&[0x08, 0x00]);
        [packet, ip.clone()].concat()
    };
    for (link_type, packet) in [
        (1, ethernet(&[], 0x0800, &ip)),
        (1, ethernet(&[0x8100], 0x0800, &ip)),
        (1, ethernet(&[0x88a8, 0x8100], 0x0800, &ip)),
        (1, ethernet(&[0x9100, 0x8100, 0x8100], 0x0800, &ip)),
        (113, cooked(&[0; 16], 14)),
        (276, cooked(&[0; 20], 0)),
        (101, ip.clone()),
        (12, ip.clone()),
        (228, ip.clone()),
        (0, [&[2, 0, 0, 0][..], &ip].concat()),
        (108, [&[0, 0, 0, 2][..], &ip].concat()),
        (0x0400_0000 | 1, ethernet(&[], 0x0800, &ip)),
    ] {
        assert_eq!(contents(link_type, &[packet]), [(0, 33)], "link type {link_type}");
    }
}

#[test]
fn flows_are_5_tuples_in_order_of_appearance() {
    let packets = [
        ipv4(1, 17, 1, 2, &udp(5, 6, b"")),
        ipv4(2, 6, 1, 2, &tcp(5, 6, b"")),
        ipv4(3, 17, 2, 1, &udp(6, 5, b"")),
        ipv4(4, 17, 1, 2, &udp(5, 7, b"")),
        ipv4(5, 17, 1, 2, &udp(5, 6, b"again")),
        ipv4(6, 1, 1, 2, &[8, 0, 0, 0, 1, 2, 3, 4]),
        ipv4(7, 1, 1, 2, &[8, 0, 0, 0, 9, 9, 9, 9]),
        ipv6(8, 17, 1, 2, &udp(5, 6, b"")),
        ipv6(9, 17, 1, 2, &udp(5, 6, b"")),
    ];
    let seen = contents(101, &packets);
    assert_eq!(seen, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (4, 6), (4, 7), (5, 8), (5, 9)]);
}

#[test]
fn flows_have_readable_names() {
    let mut file = Builder::pcap(false, US, 1);
    file.packet(0, 0, &ethernet(&[], 0x0800, &ipv4(0, 6, 1, 2, &tcp(80, 4000, b""))));
    file.packet(0, 0, &ethernet(&[], 0x86dd, &ipv6(0, 17, 1, 2, &udp(1, 2, b""))));
    file.packet(0, 0, &ethernet(&[], 0x0806, &[0; 28]));
    file.packet(0, 0, &ethernet(&[], 0x0800, &ipv4(0, 1, 1, 2, &[0; 8])));
    file.packet(0, 0, &ethernet(&[], 0x86dd, &ipv6(0, 58, 1, 2, &[0; 8])));
    file.packet(0, 0, &ethernet(&[], 0x0800, &ipv4(0, 89, 1, 2, &[0; 8])));
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
    assert!(reader.by_ref().all(|arrival| arrival.is_ok()));
    assert_eq!(
        reader.flow_names(),
        [
            "10.0.0.1:80 > 10.0.0.2:4000 tcp",
            "[fd00::1]:1 > [fd00::2]:2 udp",
            "not IP",
            "10.0.0.1 > 10.0.0.2 icmp",
            "fd00::1 > fd00::2 icmpv6",
            "10.0.0.1 > 10.0.0.2 protocol 89"
        ]
    );
    assert_eq!(reader.counts(), TraceCounts { packets: 6, not_ip: 1, ..TraceCounts::default() });
}

#[test]
fn ipv6_extension_headers_are_passed_over() {
    let inner = udp(5, 6, b"x");
    let hop_by_hop = |next: u8, rest: &[u8]| [&[next, 0, 1, 4, 0, 0, 0, 0][..], rest].concat();
    let destination = |next: u8, rest: &[u8]| [&[next, 1][..], &[0; 14], rest].concat();
    let authentication = |next: u8, rest: &[u8]| [&[next, 4][..], &[0; 22], rest].concat();
    let fragment = |next: u8, offset: u16, rest: &[u8]| {
        let position = (offset << 3 | 1).to_be_bytes();
        [&[next, 0, position[0], position[1], 0, 0, 0, 1][..], rest].concat()
    };
    let plain = ipv6(1, 17, 1, 2, &inner);
    let chained = ipv6(2, 0, 1, 2, &hop_by_hop(60, &destination(51, &authentication(17, &inner))));
    let first = ipv6(3, 44, 1, 2, &fragment(17, 0, &inner));
    let later = ipv6(4, 44, 1, 2, &fragment(17, 100, &inner));
    // The data of a later fragment resembles an endless extension header, but is not parsed as one.
    let later_options = ipv6(5, 44, 1, 2, &fragment(0, 100, &[0; 8]));
    assert_eq!(
        contents(101, &[plain, chained, first, later.clone(), later, later_options]),
        [(0, 1), (0, 2), (0, 3), (1, 4), (1, 4), (2, 5)]
    );
}

#[test]
fn later_ipv4_fragments_share_a_flow_without_ports() {
    let first = ipv4(1, 17, 1, 2, &udp(5, 6, b"x"));
    let mut later = ipv4(2, 17, 1, 2, &udp(7, 8, b"x"));
    later[6..8].copy_from_slice(&[0x20, 0x10]);
    let mut last = ipv4(3, 17, 1, 2, &udp(9, 10, b"x"));
    last[6..8].copy_from_slice(&[0x00, 0x20]);
    assert_eq!(contents(101, &[first, later, last]), [(0, 1), (1, 2), (1, 3)]);
}

#[test]
fn what_is_no_ip_makes_one_flow_of_rank_0() {
    let bad_version = ethernet(&[], 0x0800, &[0x95; 40]);
    let short_header = ethernet(&[], 0x0800, &[&[0x44][..], &[0xff; 39]].concat());
    let short_total = ethernet(&[], 0x0800, &[&[0x45, 0, 0, 19][..], &[0; 36]].concat());
    let no_room_for_ports = ethernet(&[], 0x0800, &ipv4(9, 17, 1, 2, b"abc"));
    let arp = ethernet(&[], 0x0806, &[0; 28]);
    let tiny = vec![1, 2, 3];
    let seen = contents(1, &[arp, bad_version, short_header, short_total, no_room_for_ports, tiny]);
    assert_eq!(seen, [(0, 0); 6]);
}

#[test]
fn cut_packets_count_with_their_original_length() {
    let whole = frame(1);
    let mut file = Builder::pcap(false, US, 1);
    file.cut_packet(0, 0, &whole[..38], 1500);
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
    let arrival = reader.next().unwrap().unwrap();
    assert_eq!((arrival.bytes, arrival.flow, arrival.rank.get()), (1500, 0, 10));
    assert_eq!(reader.counts().cut, 1);
    drop(reader);
    let mut all_short = Builder::pcap(false, US, 1);
    for file in [&mut file, &mut all_short] {
        file.cut_packet(0, 0, &whole[..37], 1500).cut_packet(0, 0, &[], 60);
    }
    // If one packet is readable, the others are counted.
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
    assert_eq!(reader.by_ref().map(|arrival| arrival.unwrap().bytes).collect::<Vec<_>>(), [1500, 1500, 60]);
    assert_eq!(reader.counts(), TraceCounts { packets: 3, cut: 3, short: 2, ..TraceCounts::default() });
    assert_eq!(reader.flow_names()[1..], ["cut before its addresses"]);
    assert_eq!(
        message(&all_short.bytes, TraceRank::Dscp),
        "t: packet 1 at byte 24: the addresses and ports end at byte 38, of which 37 were captured: capture with a \
         longer snap length"
    );
}

#[test]
fn payload_ranks_have_offset_width_and_byte_order() {
    let payload = [1, 2, 3, 4, 5, 6, 7, 8, 0xff];
    let packets = [ipv4(0, 17, 1, 2, &udp(5, 6, &payload)), ipv6(0, 6, 1, 2, &tcp(5, 6, &payload))];
    let mut file = Builder::pcap(false, US, 101);
    packets.iter().for_each(|packet| {
        file.packet(0, 0, packet);
    });
    let ranks = |offset, width, order| {
        let rank = TraceRank::Payload { offset, width, order };
        let ranks: Vec<_> = read(&file.bytes, options(rank)).unwrap().iter().map(|a| a.rank.get()).collect();
        assert_eq!(ranks[0], ranks[1]);
        ranks[0]
    };
    use ByteOrder::{Big, Little};
    assert_eq!(ranks(0, RankWidth::One, Big), 1);
    assert_eq!(ranks(1, RankWidth::Two, Big), 0x0203);
    assert_eq!(ranks(1, RankWidth::Two, Little), 0x0302);
    assert_eq!(ranks(2, RankWidth::Four, Big), 0x0304_0506);
    assert_eq!(ranks(0, RankWidth::Eight, Little), 0x0807_0605_0403_0201);
    assert_eq!(ranks(1, RankWidth::Eight, Little), Rank::MAX.get());
    assert_eq!(ranks(2, RankWidth::Eight, Big), 0);
}

#[test]
fn a_rank_that_was_never_sent_or_cut_is_counted_unless_no_packet_has_one() {
    let rank = TraceRank::Payload { offset: 0, width: RankWidth::Four, order: ByteOrder::Big };
    let mut file = Builder::pcap(false, US, 101);
    // A pure acknowledgement that the link padded beyond its length.
    let padded = [ipv4(0, 6, 1, 2, &tcp(1, 2, b"")), vec![0xee; 6]].concat();
    let packet = ipv4(0, 17, 1, 2, &udp(5, 6, &[0, 0, 0, 9]));
    file.packet(0, 0, &padded).packet(0, 0, &packet);
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(rank)).unwrap();
    let ranks: Vec<_> = reader.by_ref().map(|arrival| arrival.unwrap().rank.get()).collect();
    assert_eq!((ranks, reader.counts().unranked), (vec![0, 9], 1));
    drop(reader);
    file.cut_packet(0, 0, &packet[..30], packet.len() as u32);
    let mut reader = TraceReader::new(&file.bytes[..], "t", options(rank)).unwrap();
    assert_eq!(reader.by_ref().map(|arrival| arrival.unwrap().rank.get()).collect::<Vec<_>>(), [0, 9, 0]);
    assert_eq!(reader.counts().unranked, 2);
    let mut without = Builder::pcap(false, US, 101);
    without.packet(0, 0, &padded).cut_packet(0, 0, &packet[..30], packet.len() as u32);
    assert!(
        message(&without.bytes, rank)
            .ends_with("the rank ends at byte 32, of which 30 were captured: capture with a longer snap length")
    );
}

#[test]
fn gzip_is_told_by_its_content() {
    let mut file = Builder::pcap(true, NS, 1);
    file.packet(0, 5, &frame(1)).packet(0, 6, &frame(2));
    let plain = read(&file.bytes, options(TraceRank::Dscp)).unwrap();
    assert_eq!(read(&zipped(&file.bytes), options(TraceRank::Dscp)).unwrap(), plain);
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_gzip_file_that_is_cut_keeps_the_packets_that_are_there() {
    let mut pcap = Builder::pcap(true, NS, 1);
    let mut pcapng = Builder::pcapng(false);
    pcapng.interface(1, &[]);
    for number in 0..60u8 {
        let data: Vec<u8> = (0..90).map(|at: u8| at.wrapping_mul(at).wrapping_mul(number) ^ number).collect();
        let data = [frame(number.into()), data].concat();
        pcap.packet(0, u32::from(number), &data);
        pcapng.enhanced(0, u64::from(number), &data);
    }
    for bytes in [&pcap.bytes, &pcapng.bytes] {
        let whole = read(bytes, options(TraceRank::Dscp)).unwrap();
        let zipped = zipped(bytes);
        let (mut most, mut between) = (0, 0);
        for left in 1..zipped.len() {
            let cut = |error: FileError| {
                let error = error.to_string();
                assert!(error.starts_with("t: ") && error.contains("the file is cut off"), "{left} bytes: {error}");
            };
            let mut reader = match TraceReader::new(&zipped[..left], "t", options(TraceRank::Dscp)) {
                Ok(reader) => reader,
                Err(error) => {
                    cut(error);
                    continue;
                }
            };
            match reader.by_ref().collect::<Result<Vec<_>, _>>() {
                Ok(found) => {
                    assert_eq!(found, whole[..found.len()]);
                    let note = reader.left_out().unwrap();
                    let is_between = note.contains("the gzip data end early: the file is cut off; ");
                    let end = if is_between { "; the packets before it were read" } else { "; it was left out" };
                    assert!(note.contains("the file is cut off") && note.ends_with(end), "{note}");
                    between += u32::from(is_between);
                    assert!(found.len() >= most, "more bytes have no fewer packets");
                    most = found.len();
                }
                Err(error) => {
                    assert_eq!(most, 0);
                    cut(error);
                }
            }
        }
        assert_eq!(most, whole.len(), "only the checksum is missing");
        assert!(between > 0, "the checksum is behind the last packet");
    }
}

#[test]
fn joined_files_are_read_as_one() {
    let mut first = Builder::pcap(false, US, 1);
    first.packet(5, 1, &frame(1)).packet(5, 2, &frame(2));
    let mut second = Builder::pcap(true, NS, 101);
    second.packet(5, 3_000, &ipv4(0, 17, 9, 1, &udp(1, 2, &[])));
    let mut third = Builder::pcap(false, US, 1);
    third.packet(5, 4, &frame(2));
    let joined = [&first.bytes[..], &second.bytes, &third.bytes].concat();
    let members = [zipped(&first.bytes), zipped(&second.bytes), zipped(&third.bytes)].concat();
    for bytes in [&joined, &members] {
        let mut reader = TraceReader::new(&bytes[..], "t", options(TraceRank::Later)).unwrap();
        let found: Vec<_> = reader.by_ref().map(Result::unwrap).map(|a| (a.time.as_ns(), a.bytes, a.flow)).collect();
        let length = frame(1).len() as u32;
        assert_eq!(found, [(0, length, 0), (1_000, length, 1), (2_000, 28, 2), (3_000, length, 1)]);
        assert!(
            reader.format().starts_with("pcap, times in micro- and nanoseconds, 3 files in a row"),
            "{}",
            reader.format()
        );
        assert_eq!((reader.left_out(), reader.counts().not_ip), (None, 0));
    }
    // The header of the second file is damaged, or not whole; or its packets are earlier.
    let at = first.bytes.len();
    let with = |byte: usize, value: u8| {
        let mut bytes = joined.clone();
        bytes[at + byte] = value;
        message(&bytes, TraceRank::Later)
    };
    assert!(with(23, 195).starts_with(&format!("t: byte {}: link type 195 is not supported", at + 20)));
    let damaged =
        format!("t: packet 4 at byte {}: 83886080 bytes captured, more than 16 MiB: the file is damaged", at + 16);
    assert_eq!(with(0, 0), damaged);
    for end in at + 1..at + 24 {
        let mut reader = TraceReader::new(&joined[..end], "t", options(TraceRank::Later)).unwrap();
        assert_eq!(reader.by_ref().map(Result::unwrap).count(), 2, "{end} bytes");
        assert!(reader.left_out().unwrap().contains("the file is cut off in "));
    }
    let again = [&third.bytes[..], &first.bytes].concat();
    let place = third.bytes.len() + 24;
    assert!(
        message(&again, TraceRank::Later)
            .starts_with(&format!("t: packet 2 at byte {place}: is 3 us earlier than the previous packet"))
    );
}

#[test]
fn packets_out_of_order_are_an_error_or_sorted() {
    let mut file = Builder::pcap(false, US, 1);
    file.packet(5, 10, &frame(1)).packet(5, 7, &frame(2)).packet(5, 10, &frame(3));
    assert_eq!(
        message(&file.bytes, TraceRank::Later),
        "t: packet 2 at byte 89: is 3 us earlier than the previous packet; if it was captured so, sort the trace \
         with --sort (in a scenario: out_of_order = \"sort\")"
    );
    let sorted = TraceOptions { out_of_order: OutOfOrder::Sort, ..options(TraceRank::Later) };
    let arrivals: Vec<_> = read(&file.bytes, sorted).unwrap().iter().map(|a| (a.time.as_ns(), a.flow)).collect();
    assert_eq!(arrivals, [(0, 1), (3_000, 0), (3_000, 2)]);
}

#[test]
fn the_speed_up_is_exact() {
    let text = "time_ns,size_bytes\n100,1\n107,1\n400,1\n";
    let times = |speed_up: &str| {
        let options = TraceOptions { speed_up: speed_up.parse().unwrap(), ..options(TraceRank::Later) };
        read(text.as_bytes(), options).map(|all| all.iter().map(|a| a.time.as_ps()).collect::<Vec<_>>())
    };
    assert_eq!(times("1").unwrap(), [0, 7_000, 300_000]);
    assert_eq!(times("3").unwrap(), [0, 2_333, 100_000]);
    assert_eq!(times("1/2").unwrap(), [0, 14_000, 600_000]);
    assert_eq!(times("0").unwrap_err().to_string(), "t: speed-up 0: expected a factor above 0");
    let long = "time_s,size_bytes\n0,1\n20000000,1\n";
    assert_eq!(
        read(long.as_bytes(), options(TraceRank::Later)).unwrap_err().to_string(),
        "t:3: is over 213 days after the first packet: expected a shorter trace, or a faster one with --speed-up (in a scenario: speed_up)"
    );
}

#[test]
fn damaged_pcap_files_are_refused_with_the_place() {
    let mut good = Builder::pcap(false, US, 1);
    good.packet(0, 0, &frame(1));
    let at = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.bytes.clone();
        change(&mut bytes);
        message(&bytes, TraceRank::Dscp)
    };
    assert_eq!(at(&|b| b.clear()), "t: empty: expected a pcap, pcapng or CSV trace");
    assert_eq!(
        at(&|b| b[0] = 0xee),
        "t: begins with the bytes ee c3 b2 a1: expected a pcap, pcapng or CSV trace (editcap -F pcap writes one)"
    );
    assert_eq!(at(&|b| b.truncate(20)), "t: byte 0: the file is cut off in its header: 20 of 24 bytes");
    assert_eq!(at(&|b| b[4] = 3), "t: byte 4: pcap version 3.4: expected 2");
    assert_eq!(
        at(&|b| b[20] = 195),
        "t: byte 20: link type 195 is not supported: expected Ethernet (1), PPP (9, 50), Cisco HDLC (104), 802.11 (105, 127, 192), \
         Linux cooked (113, 276), raw IP (101, 228, 229) or loopback (0, 108)"
    );
    assert_eq!(
        at(&|b| b.truncate(30)),
        "t: packet 1 at byte 24: the file is cut off in the packet's header: 6 of 16 bytes"
    );
    assert_eq!(at(&|b| b.truncate(50)), "t: packet 1 at byte 24: the file is cut off in the packet: 10 of 49 bytes");
    assert_eq!(
        at(&|b| b[35] = 2),
        "t: packet 1 at byte 24: 33554481 bytes captured, more than 16 MiB: the file is damaged"
    );
    assert_eq!(
        at(&|b| {
            (b[32], b[36]) = (0, 0);
            b.truncate(40);
        }),
        "t: packet 1 at byte 24: a packet of 0 bytes: expected at least 1"
    );
    assert_eq!(message(&good.bytes, TraceRank::Column), "t: a capture does not have a column rank");
}

#[test]
fn damaged_pcapng_files_are_refused_with_the_place() {
    let mut good = Builder::pcapng(false);
    good.interface(1, &[(9, &[6])]);
    let packet = good.bytes.len();
    good.enhanced(0, 1, &frame(1));
    let length = good.bytes.len() - packet;
    let at = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.bytes.clone();
        change(&mut bytes);
        message(&bytes, TraceRank::Dscp)
    };
    assert_eq!(packet, 60);
    assert_eq!(at(&|b| b[8] = 0), "t: byte 0: the section's byte-order magic is 003c2b1a: expected 1a2b3c4d");
    assert_eq!(at(&|b| b[12] = 2), "t: byte 0: pcapng version 2.0: expected 1");
    assert_eq!(at(&|b| b[4] = 24), "t: byte 0: a section header of 24 bytes: expected at least 28");
    assert_eq!(at(&|b| b[4] = 29), "t: byte 0: a block of 29 bytes: expected a multiple of 4, at least 12");
    assert_eq!(at(&|b| b[24] = 32), "t: byte 0: the block begins with the length 28 and ends with 32");
    for end in [4, 10, 14, 22, 26] {
        let expected = format!("t: byte 0: the file is cut off in the block, after {end} bytes");
        assert_eq!(at(&|b| b.truncate(end)), expected);
    }
    assert_eq!(at(&|b| b.truncate(64)), "t: byte 60: the file is cut off in the block, after 4 bytes");
    assert_eq!(at(&|b| b.truncate(70)), "t: packet 1 at byte 60: the file is cut off in the block, after 10 bytes");
    assert_eq!(at(&|b| b[64] = 8), "t: packet 1 at byte 60: a block of 8 bytes: expected a multiple of 4, at least 12");
    assert_eq!(
        at(&|b| b[67] = 2),
        format!("t: packet 1 at byte 60: a block of {} bytes: the file is damaged", length + (2 << 24))
    );
    assert_eq!(
        at(&|b| b[packet + length - 4] = 0),
        format!("t: packet 1 at byte 60: the block begins with the length {length} and ends with 0")
    );
    assert_eq!(at(&|b| b[68] = 1), "t: packet 1 at byte 60: interface 1: only 1 are described");
    assert_eq!(
        at(&|b| (b[80], b[84]) = (60, 60)),
        "t: packet 1 at byte 60: 60 bytes captured do not fit in the block's 52"
    );
    assert_eq!(at(&|b| b[60] = 3), "t: packet 1 at byte 60: a simple packet block: it has no timestamp to replay");
    assert!(at(&|b| b[36] = 195).starts_with("t: packet 1 at byte 60: link type 195 is not supported"));
    assert_eq!(at(&|b| b[46] = 40), "t: byte 28: option 9 of 40 bytes does not fit in its block");
    assert_eq!(at(&|b| b[46] = 2), "t: byte 28: option 9 has 2 bytes: expected 1");
    assert_eq!(at(&|b| b[44] = 14), "t: byte 28: option 14 has 1 bytes: expected 8");
    let short = |kind, body: &[u8]| {
        let mut file = Builder::pcapng(false);
        file.block(kind, body);
        message(&file.bytes, TraceRank::Dscp)
    };
    assert_eq!(short(1, &[0; 4]), "t: byte 28: an interface description of 4 bytes: expected at least 8");
    assert_eq!(short(6, &[0; 16]), "t: packet 1 at byte 28: a packet block of 16 bytes: expected at least 20");
    assert_eq!(message(&good.bytes, TraceRank::Column), "t: a capture does not have a column rank");
}

#[test]
fn csv_traces_have_times_sizes_ranks_and_named_flows() {
    let text =
        "flow, rank,time_s,size_bytes\nweb,5,1700000000.000000001,1500\n\ndns,0,1700000000.5,64\nweb,9,1700000001,9\n";
    let mut reader = TraceReader::new(text.as_bytes(), "t", options(TraceRank::Column)).unwrap();
    let rows: Vec<_> = reader
        .by_ref()
        .map(|arrival| arrival.map(|a| (a.time.as_ns(), a.bytes, a.rank.get(), a.flow)).unwrap())
        .collect();
    assert_eq!(rows, [(0, 1500, 5, 0), (499_999_999, 64, 0, 1), (999_999_999, 9, 9, 0)]);
    assert_eq!((reader.flow_names(), reader.counts().packets), (vec!["web".to_owned(), "dns".to_owned()], 3));
    let later = read(text.as_bytes(), options(TraceRank::Later)).unwrap();
    assert!(later.iter().all(|arrival| arrival.rank == Rank::ZERO));
}

#[test]
fn numbers_are_read_as_python_pandas_and_r_write_them() {
    let text = "\"\",\"time_s\",\"size_bytes\",\"rank\",\"flow\",\"class\"\n\"1\",0,1500.0,5.0,\"a\",2.0\n\"2\",1e-05,1e+03,1E2,\"b\",0\n\
                3,0.30000000000000004,64,0,a,1e0\n";
    let mut reader = TraceReader::new(text.as_bytes(), "t", options(TraceRank::Column)).unwrap();
    let mut rows = Vec::new();
    while let Some(arrival) = reader.next() {
        let a = arrival.unwrap();
        rows.push((a.time.as_ps(), a.bytes, a.rank.get(), a.flow, reader.labels().class));
    }
    assert_eq!(rows, [(0, 1500, 5, 0, 2), (10_000_000, 1000, 100, 1, 0), (300_000_000_000, 64, 0, 0, 1)]);
    // One time is finer than a picosecond.
    assert_eq!((reader.counts().rounded, reader.flow_names().concat()), (1, "ab".to_owned()));
    assert_eq!(reader.format(), "CSV (time_s,size_bytes,rank,flow,class)");
}

#[test]
fn a_file_of_another_kind_is_named() {
    let of = |start: &[u8]| message(&[start, &[b'x'; 40]].concat(), TraceRank::Later);
    let expected = "expected a pcap, pcapng or CSV trace (editcap -F pcap writes one)";
    assert_eq!(of(b"BZh91AY&SY"), format!("t: is packed by bzip2 (<(bzcat FILE) unpacks it): {expected}"));
    assert_eq!(of(b"\xfd7zXZ\0"), format!("t: is packed by xz (<(xzcat FILE) unpacks it): {expected}"));
    assert_eq!(of(b"RTSS\0\x01"), format!("t: begins with the bytes 52 54 53 53: {expected}"));
}

#[test]
fn snoop_and_pcap_with_long_headers_are_read() {
    let mut snoop = Builder::pcap(true, US, 1);
    snoop.bytes.clear();
    snoop.raw(b"snoop\0\0\0").u32(2).u32(4);
    for (us, port) in [(5, 1), (9, 2)] {
        let data = frame(port);
        let filling = data.len().next_multiple_of(4) - data.len();
        let record = (24 + data.len() + filling) as u32;
        snoop.u32(1500).u32(data.len() as u32).u32(record).u32(0).u32(7).u32(us).raw(&data).raw(&vec![0; filling]);
    }
    let mut long = Builder::pcap(false, 0xa1b2_cd34, 1);
    for (us, port) in [(5, 1), (9, 2)] {
        let data = frame(port);
        long.u32(7).u32(us).u32(data.len() as u32).u32(1500).u32(3).u32(0x0800).raw(&data);
    }
    for (file, name) in [(&snoop, "snoop"), (&long, "pcap with long headers, times in microseconds")] {
        let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
        let rows: Vec<_> = reader.by_ref().map(|a| a.map(|a| (a.time.as_ns(), a.bytes, a.flow)).unwrap()).collect();
        assert_eq!((rows, reader.format()), (vec![(0, 1500, 0), (4_000, 1500, 1)], name.to_owned()));
        for end in 1..file.bytes.len() {
            let _ = read(&file.bytes[..end], options(TraceRank::Dscp));
        }
    }
    let at = |place: usize, value: u8| {
        let mut bytes = snoop.bytes.clone();
        bytes[place] = value;
        message(&bytes, TraceRank::Dscp)
    };
    assert_eq!(at(11, 3), "t: byte 8: snoop version 3: expected 2");
    assert_eq!(at(15, 8), "t: byte 12: snoop datalink type 8: expected 802.3 (0) or Ethernet (4)");
    assert_eq!(at(27, 3), "t: packet 1 at byte 16: a record of 3 bytes with 49 captured: the file is damaged");
}

/// An empty packet and its possible faults, between two intact packets.
#[test]
fn one_odd_packet_leaves_the_others_usable() {
    let mut empty = Builder::pcap(false, US, 1);
    empty.packet(9, 10, &frame(1)).packet(9, 10, &[]).packet(9, 20, &frame(2));
    let mut more_captured = Builder::pcap(false, US, 1);
    more_captured.packet(9, 10, &frame(1)).cut_packet(9, 15, &frame(1), 48).packet(9, 20, &frame(2));
    let mut no_fraction = Builder::pcap(false, US, 1);
    no_fraction.packet(9, 10, &frame(1)).packet(9, 1_000_000, &frame(1)).packet(10, 20, &frame(2));
    let mut interface = Builder::pcapng(false);
    interface.interface(1, &[]).interface(195, &[]);
    interface.enhanced(0, 1, &frame(1)).enhanced(7, 1, &frame(1)).block(3, &[0; 60]).block(6, &[0; 16]);
    let mut foreign = Builder::pcapng(false);
    foreign.interface(1, &[]).interface(195, &[]).enhanced(0, 1, &frame(1)).enhanced(1, 1, &frame(1));
    let zero = TraceCounts::default();
    for (file, counts, left_out) in [
        (
            &empty,
            TraceCounts { packets: 2, skipped: 1, ..zero },
            Some("packet 2 at byte 89: a packet of 0 bytes: expected at least 1; it was left out"),
        ),
        (&more_captured, TraceCounts { packets: 3, odd: 1, ..zero }, None),
        (&no_fraction, TraceCounts { packets: 3, odd: 1, ..zero }, None),
        (
            &interface,
            TraceCounts { packets: 1, skipped: 3, ..zero },
            Some(
                "3 packets were left out, of which the first: packet 2 at byte 152: interface 7: only 2 are described",
            ),
        ),
        (&foreign, TraceCounts { packets: 2, not_ip: 1, ..zero }, None),
    ] {
        let mut reader = TraceReader::new(&file.bytes[..], "t", options(TraceRank::Dscp)).unwrap();
        let found = reader.by_ref().map(Result::unwrap).count() as u64;
        assert_eq!((found, reader.counts(), reader.left_out().as_deref()), (counts.packets, counts, left_out));
    }
}

#[test]
fn each_fault_of_a_csv_trace_names_line_and_column() {
    let csv = |text: &str| message(text.as_bytes(), TraceRank::Column);
    let rows = |rows: &str| csv(&format!("time_us,size_bytes,rank,flow\n{rows}"));
    assert_eq!(rows("1,64,x,0\n"), "t:2: rank: \"x\": expected an integer from 0 to 2^63 - 1");
    assert_eq!(
        rows("1,64,9223372036854775808,0\n"),
        "t:2: rank: \"9223372036854775808\": expected an integer from 0 to 2^63 - 1"
    );
    assert_eq!(rows("1,64,1,0\n1,0,1,0\n"), "t:3: size_bytes: \"0\": expected 1 to 2^32 - 1 bytes");
    assert_eq!(rows("-1,64,1,0\n"), "t:2: time_us: \"-1\": expected a time, 0 or above");
    assert_eq!(rows("1,64,1,\n"), "t:2: flow: \"\": expected a name or number");
    assert_eq!(rows("1,64,1\n"), "t:2: 3 fields where the header has 4");
    assert_eq!(rows("1,64,1,0,5,6\n"), "t:2: 6 fields where the header has 4");
    assert_eq!(
        rows("5,64,1,0\n4.5,64,1,0\n"),
        "t:3: is 500 ns earlier than the previous packet; if it was captured so, sort the trace with --sort (in a \
         scenario: out_of_order = \"sort\")"
    );
    assert_eq!(
        csv("time_ns,size_bytes,rnak\n"),
        "t:1: \"rnak\": expected the columns time_ns (or time_us, time_s), size_bytes, and perhaps rank, flow, class and \
         eligible_ns (or eligible_us, eligible_s)"
    );
    assert_eq!(csv("size_bytes,rank\n"), "t:1: the time column is missing: expected time_ns, time_us or time_s");
    assert_eq!(csv("time_ns,rank\n"), "t:1: the column size_bytes is missing");
    assert_eq!(csv("time_ns,size_bytes\n"), "t:1: the column rank is missing");
    assert_eq!(csv("time_ns,time_s,size_bytes\n"), "t:1: time_s is a second time column");
    assert_eq!(csv("time_ns,rank,rank\n"), "t:1: duplicate column rank");
    assert_eq!(
        message(b"time_ns,size_bytes\n", TraceRank::Dscp),
        "t: a CSV trace has no headers or payload to take the rank from: use its column rank"
    );
}

/// The arrival and eligible time of each packet, in picoseconds.
fn eligible(text: &str, speed_up: Ratio, out_of_order: OutOfOrder) -> Result<Vec<(u64, u64)>, FileError> {
    let options = TraceOptions { speed_up, out_of_order, ..options(TraceRank::Later) };
    let mut reader = TraceReader::new(text.as_bytes(), "t", options)?;
    let mut rows = Vec::new();
    while let Some(arrival) = reader.next() {
        rows.push((arrival?.time.as_ps(), reader.eligible().as_ps()));
    }
    assert_eq!(reader.has_eligible(), text.starts_with("eligible"));
    Ok(rows)
}

#[test]
fn packets_may_leave_from_the_time_of_a_column_on_which_is_that_of_the_file() {
    let plain = eligible("time_ns,size_bytes\n7,1\n9,1\n", Ratio::ONE, OutOfOrder::Error);
    assert_eq!(plain.unwrap(), [(0, 0), (2_000, 2_000)]);
    // Other units than the arrivals' unit; an eligible time before the arrival becomes the arrival's.
    let text = "eligible_us,time_ns,size_bytes\n1.5,1000,1\n0,1002,1\n1.0025,1003,1\n";
    let three = [(0, 500_000), (2_000, 2_000), (3_000, 3_000)];
    assert_eq!(eligible(text, Ratio::ONE, OutOfOrder::Error).unwrap(), three);
    assert_eq!(
        eligible(text, Ratio::new(1, 2).unwrap(), OutOfOrder::Error).unwrap(),
        three.map(|(a, b)| (2 * a, 2 * b))
    );
    // Both times are divided by the speed-up and rounded down.
    let thirds = [(0, 166_666), (666, 666), (1_000, 1_000)];
    assert_eq!(eligible(text, Ratio::new(3, 1).unwrap(), OutOfOrder::Error).unwrap(), thirds);
    let unsorted = "eligible_ns,time_ns,size_bytes\n30,20,1\n90,10,1\n0,10,1\n";
    let sorted = [(0, 80_000), (0, 0), (10_000, 20_000)];
    assert_eq!(eligible(unsorted, Ratio::ONE, OutOfOrder::Sort).unwrap(), sorted);
}

#[test]
fn each_fault_of_the_times_at_which_packets_may_leave_names_line_and_column() {
    let message = |text: &str| eligible(text, Ratio::ONE, OutOfOrder::Error).unwrap_err().to_string();
    let cell = |cell: &str| message(&format!("eligible_ns,time_ns,size_bytes\n5,5,1\n{cell},6,1\n"));
    for wrong in ["-1", "", "soon", "nan"] {
        let expected = format!("t:3: eligible_ns: \"{wrong}\": expected a time, 0 or above");
        assert_eq!(cell(wrong), expected);
    }
    let days_214 = "18489600000000000";
    let expected = "expected a time within 213 days after the packet arrives";
    assert_eq!(cell(days_214), format!("t:3: eligible_ns: \"{days_214}\": {expected}"));
    // Each of the two is within 213 days.
    let both = "eligible_s,time_s,size_bytes\n0,0,1\n20736000,10368000,1\n";
    assert_eq!(
        message(both),
        "t:3: may leave over 213 days after the first packet arrives: expected an earlier time, or a faster trace with --speed-up (in a scenario: speed_up)"
    );
    assert_eq!(
        message("eligible_ns,eligible_us,time_ns,size_bytes\n"),
        "t:1: eligible_us is a second column of times at which packets may leave"
    );
    assert_eq!(message("eligible_ns,time_ns,size_bytes\n6,1\n"), "t:2: 2 fields where the header has 3");
}

#[test]
fn nothing_comes_after_an_error() {
    let mut reader = TraceReader::new(&b"time_ns,size_bytes\n1,x\n2,5\n"[..], "t", options(TraceRank::Later)).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

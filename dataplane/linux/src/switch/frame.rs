//! What the switch reads in an Ethernet frame: who talks to whom, the DSCP, and where the payload begins.

/// The bytes of a frame's two MAC addresses: a VLAN tag stands behind them.
const ADDRESSES: usize = 12;
const ETHER_IPV4: u16 = 0x0800;
const ETHER_IPV6: u16 = 0x86dd;
const ETHER_VLAN: u16 = 0x8100;
const ETHER_QINQ: u16 = 0x88a8;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What makes packets belong to one flow: addresses, protocol and ports (0 where the protocol or a fragment has none).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// Source address; IPv4 addresses in the low 32 bits.
    pub source: u128,
    /// Destination address.
    pub destination: u128,
    /// Source port in the high half, destination port in the low half.
    pub ports: u32,
    /// IP protocol number.
    pub protocol: u8,
}

/// The parts of an IP frame that decide its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFrame {
    /// Its flow.
    pub flow: FlowKey,
    /// The six bits of the differentiated services code point.
    pub dscp: u8,
    /// Where the transport header begins.
    pub transport: usize,
    /// Where the payload of UDP or TCP begins (and ends): empty for other protocols and for later fragments.
    pub payload: (usize, usize),
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads an IPv4 or IPv6 frame; `None` for anything else (ARP, LLDP, ...) and for headers that are cut short.
pub fn parse(frame: &[u8]) -> Option<IpFrame> {
    let mut at = ADDRESSES;
    let mut ether = u16_at(frame, at)?;
    while ether == ETHER_VLAN || ether == ETHER_QINQ {
        at += 4;
        ether = u16_at(frame, at)?;
    }
    let network = at + 2;
    let (flow, dscp, transport, end, fragment) = match ether {
        ETHER_IPV4 => {
            let header = frame.get(network..network + 20)?;
            let length = usize::from(header[0] & 0x0f) * 4;
            if header[0] >> 4 != 4 || length < 20 {
                return None;
            }
            let word = |from: usize| u128::from(u32::from_be_bytes([0, 1, 2, 3].map(|i| header[from + i])));
            let flow = FlowKey { source: word(12), destination: word(16), ports: 0, protocol: header[9] };
            let fragment = u16_at(header, 6)? & 0x3fff != 0;
            (flow, header[1] >> 2, network + length, network + usize::from(u16_at(header, 2)?), fragment)
        }
        ETHER_IPV6 => {
            let header = frame.get(network..network + 40)?;
            if header[0] >> 4 != 6 {
                return None;
            }
            let address = |from: usize| u128::from_be_bytes(core::array::from_fn(|i| header[from + i]));
            let flow = FlowKey { source: address(8), destination: address(24), ports: 0, protocol: header[6] };
            let class = (header[0] << 4) | (header[1] >> 4);
            (flow, class >> 2, network + 40, network + 40 + usize::from(u16_at(header, 4)?), false)
        }
        _ => return None,
    };
    // Ethernet pads short frames: the IP header says where the packet ends.
    let end = end.min(frame.len());
    let mut ip = IpFrame { flow, dscp, transport, payload: (end, end) };
    if fragment || !matches!(ip.flow.protocol, TCP | UDP) {
        return Some(ip);
    }
    let Some(ports) = frame.get(transport..transport + 4) else { return Some(ip) };
    ip.flow.ports = u32::from_be_bytes([ports[0], ports[1], ports[2], ports[3]]);
    let header = if ip.flow.protocol == UDP {
        8
    } else {
        frame.get(transport + 12).map_or(usize::MAX / 2, |offset| usize::from(offset >> 4) * 4)
    };
    ip.payload.0 = (transport + header).min(end);
    Some(ip)
}

/// Fills in the TCP or UDP checksum that the sender left to a network card which is not there (`CHECKSUM_PARTIAL`, as
/// virtual Ethernet pairs deliver it). Frames of other protocols are left alone.
pub fn complete_checksum(frame: &mut [u8]) {
    let Some(ip) = parse(frame) else { return };
    let at = ip.transport
        + match ip.flow.protocol {
            TCP => 16,
            UDP => 6,
            _ => return,
        };
    let end = ip.payload.1;
    if at + 2 > end {
        return;
    }
    frame[at..at + 2].fill(0);
    let fold = |address: u128| (0..8).map(|i| (address >> (16 * i)) as u64 & 0xffff).sum::<u64>();
    let mut sum = fold(ip.flow.source) + fold(ip.flow.destination);
    sum += u64::from(ip.flow.protocol) + (end - ip.transport) as u64;
    for pair in frame[ip.transport..end].chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = match !(sum as u16) {
        // A UDP checksum of zero means "none": its other representation is sent instead.
        0 if ip.flow.protocol == UDP => 0xffff,
        checksum => checksum,
    };
    frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Builds a UDP frame over IPv4, for tests and the conformance harness: 10.0.0.1 to 10.0.0.2, no UDP checksum.
///
/// # Panics
/// If the payload does not fit in a datagram.
pub fn udp_frame(dscp: u8, source_port: u16, payload: &[u8]) -> Vec<u8> {
    let udp = u16::try_from(payload.len() + 8).expect("a datagram holds less than 64 KiB");
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ETHER_IPV4.to_be_bytes());
    frame.extend([0x45, dscp << 2]);
    frame.extend((udp + 20).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(source_port.to_be_bytes());
    frame.extend(5001u16.to_be_bytes());
    frame.extend(udp.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend_from_slice(payload);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_udp_frame_says_its_flow_dscp_and_payload() {
        let frame = udp_frame(13, 4000, b"pifo");
        let ip = parse(&frame).expect("an IP frame");
        assert_eq!(ip.dscp, 13);
        assert_eq!(ip.flow.ports, (4000 << 16) | 5001);
        assert_eq!(ip.flow.source, 0x0a00_0001);
        assert_eq!(&frame[ip.payload.0..ip.payload.1], b"pifo");
    }

    #[test]
    fn a_vlan_tag_and_ethernet_padding_change_nothing() {
        let mut frame = udp_frame(5, 1, b"xy");
        let plain = parse(&frame).expect("an IP frame");
        frame.resize(60, 0xee);
        assert_eq!(parse(&frame), Some(plain));
        frame.splice(12..12, [0x81, 0x00, 0x00, 0x07]);
        let tagged = parse(&frame).expect("an IP frame");
        assert_eq!((tagged.flow, tagged.dscp), (plain.flow, plain.dscp));
        assert_eq!(&frame[tagged.payload.0..tagged.payload.1], b"xy");
    }

    #[test]
    fn cut_frames_and_foreign_protocols_are_no_ip_frames() {
        let frame = udp_frame(5, 1, b"payload");
        for length in 0..frame.len() {
            if let Some(ip) = parse(&frame[..length]) {
                assert!(length >= 34 && ip.payload.1 <= length, "at {length}: {ip:?}");
            }
        }
        let mut arp = frame;
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(parse(&arp), None);
    }

    #[test]
    fn later_fragments_share_one_flow_without_ports() {
        let mut frame = udp_frame(5, 1, b"payload");
        frame[20] = 0x20;
        let ip = parse(&frame).expect("an IP frame");
        assert_eq!(ip.flow.ports, 0);
        assert_eq!(ip.payload.0, ip.payload.1);
    }

    #[test]
    fn ipv6_carries_a_traffic_class() {
        let mut frame = vec![0; 14];
        frame[12..14].copy_from_slice(&ETHER_IPV6.to_be_bytes());
        frame.extend([0x60 | (46 >> 2), (46 << 6) as u8, 0, 0, 0, 12, UDP, 64]);
        frame.extend([0; 31]);
        frame.push(7);
        frame.extend([0x10, 0x00, 0x20, 0x00, 0, 12, 0, 0, 1, 2, 3, 4]);
        let ip = parse(&frame).expect("an IP frame");
        assert_eq!((ip.dscp, ip.flow.destination, ip.flow.ports), (46, 7, 0x1000_2000));
        assert_eq!(&frame[ip.payload.0..ip.payload.1], [1, 2, 3, 4]);
    }

    #[test]
    fn a_completed_checksum_sums_to_all_ones() {
        for payload in [&b"even"[..], b"odd"] {
            let mut frame = udp_frame(0, 77, payload);
            complete_checksum(&mut frame);
            let ip = parse(&frame).expect("an IP frame");
            let mut sum = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + u64::from(UDP) + (8 + payload.len()) as u64;
            for pair in frame[ip.transport..].chunks(2) {
                sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(sum, 0xffff);
        }
    }
}

//! Reads Ethernet frames: the flow, the priority bits, and the place of the payload. The eBPF programs read frames in
//! the same way (`bpf/frame.h`); a list of frames in `dataplane/linux/tests/kernel/frames.rs` compares the two.

use pifolab_sched::Labels;

/// The bytes of a frame's two MAC addresses, which a VLAN tag follows.
const ADDRESSES: usize = 12;
const ETHER_IPV4: u16 = 0x0800;
const ETHER_ARP: u16 = 0x0806;
const ETHER_IPV6: u16 = 0x86dd;
const ETHER_VLAN: u16 = 0x8100;
const ETHER_QINQ: u16 = 0x88a8;
const ETHER_MPLS: u16 = 0x8847;
const ETHER_MPLS_MULTICAST: u16 = 0x8848;
/// The most VLAN tags; frames with more are not read further.
const MOST_TAGS: usize = 2;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// The fields that identify a flow: addresses, protocol and ports (0 if the protocol or a fragment has none).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Source address; IPv4 addresses in the low 32 bits.
    pub source: u128,
    /// Destination address.
    pub destination: u128,
    /// Source port in the high half, destination port in the low half.
    pub ports: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Version of IP: 4 or 6.
    pub version: u8,
}

impl Headers {
    /// The header fields for classifiers.
    pub fn labels(&self) -> Labels {
        Labels {
            class: 0,
            source: self.flow.source as u32,
            destination: self.flow.destination as u32,
            source_port: (self.flow.ports >> 16) as u16,
            destination_port: self.flow.ports as u16,
            dscp: self.dscp.unwrap_or(0),
            ecn: 0,
        }
    }
}

/// The parts of a frame that decide its rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Its flow.
    pub flow: FlowKey,
    /// The six bits of the differentiated services code point; `None` behind an MPLS label.
    pub dscp: Option<u8>,
    /// The priority in the outer VLAN tag.
    pub vlan_priority: Option<u8>,
    /// The traffic class of the outer MPLS label.
    pub traffic_class: Option<u8>,
    /// The offset of the transport header.
    pub transport: usize,
    /// The offset of the payload of UDP or TCP: `None` for other protocols, for fragments and for broken headers.
    pub payload: Option<usize>,
    /// The end of the packet; Ethernet's padding may follow.
    pub end: usize,
}

/// The kind of a frame for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IP: it has a rank.
    Ip(Headers),
    /// Address resolution and neighbour discovery, which IP needs.
    Neighbour,
    /// Everything else, including broken IP headers.
    Other,
}

impl Kind {
    /// The headers of an IP frame.
    pub const fn ip(self) -> Option<Headers> {
        match self {
            Self::Ip(headers) => Some(headers),
            Self::Neighbour | Self::Other => None,
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads a frame. With `labels`, frames with an MPLS label count as IP.
#[inline(always)]
pub fn parse(frame: &[u8], labels: bool) -> Kind {
    read(frame, labels).unwrap_or(Kind::Other)
}

/// `None` if a header is broken or truncated.
///
/// Compiled into each caller, as are the functions that it calls, so that the headers stay in registers: a struct of this
/// size is returned through memory, and reading it at once with wider loads stalls the processor.
#[inline(always)]
fn read(frame: &[u8], labels: bool) -> Option<Kind> {
    let mut headers = Headers::default();
    let (mut at, mut ether, mut tags) = (ADDRESSES, u16_at(frame, ADDRESSES)?, 0);
    while (ether == ETHER_VLAN || ether == ETHER_QINQ) && tags < MOST_TAGS {
        let priority = (u16_at(frame, at + 2)? >> 13) as u8;
        headers.vlan_priority = headers.vlan_priority.or(Some(priority));
        at += 4;
        tags += 1;
        ether = u16_at(frame, at)?;
    }
    let network = at + 2;
    let fragment = match ether {
        ETHER_IPV4 => headers.read_ipv4(frame, network)?,
        ETHER_IPV6 => {
            let (next, hops) = headers.read_ipv6(frame, network)?;
            // Neighbour discovery comes from this link: a router would have lowered its hop limit (RFC 4861).
            let message = frame.get(headers.transport).copied();
            if next == ICMPV6 && hops == 255 && matches!(message, Some(133..=137)) {
                return Some(Kind::Neighbour);
            }
            false
        }
        ETHER_ARP => return Some(Kind::Neighbour),
        ETHER_MPLS | ETHER_MPLS_MULTICAST if labels => {
            headers.traffic_class = Some(frame.get(network..network + 4)?[2] >> 1 & 7);
            return Some(Kind::Ip(headers));
        }
        _ => return None,
    };
    // Only the first fragment of a datagram has ports, so the ports of all fragments are ignored: all are one flow with
    // one rank.
    if !fragment {
        headers.read_transport(frame);
    }
    Some(Kind::Ip(headers))
}

impl Headers {
    /// Whether it is a fragment; `None` for a broken header.
    #[inline(always)]
    fn read_ipv4(&mut self, frame: &[u8], network: usize) -> Option<bool> {
        let header = frame.get(network..network + 20)?;
        let length = usize::from(header[0] & 0x0f) * 4;
        let total = usize::from(u16_at(header, 2)?);
        let broken = header[0] >> 4 != 4 || length < 20 || network + length > frame.len();
        if broken || (total != 0 && total < length) {
            return None;
        }
        let word = |from: usize| u128::from(u32::from_be_bytes([0, 1, 2, 3].map(|i| header[from + i])));
        self.flow = FlowKey { source: word(12), destination: word(16), ports: 0, protocol: header[9], version: 4 };
        self.dscp = Some(header[1] >> 2);
        self.transport = network + length;
        self.end = end_of(frame, network, total);
        Some(u16_at(header, 6)? & 0x3fff != 0)
    }

    /// The next header and the hop limit; `None` for a broken header.
    #[inline(always)]
    fn read_ipv6(&mut self, frame: &[u8], network: usize) -> Option<(u8, u8)> {
        let header = frame.get(network..network + 40)?;
        if header[0] >> 4 != 6 {
            return None;
        }
        let address = |from: usize| u128::from_be_bytes(core::array::from_fn(|i| header[from + i]));
        let (source, destination) = (address(8), address(24));
        self.flow = FlowKey { source, destination, ports: 0, protocol: header[6], version: 6 };
        self.dscp = Some((header[0] << 4 | header[1] >> 4) >> 2);
        self.transport = network + 40;
        self.end = end_of(frame, self.transport, usize::from(u16_at(header, 4)?));
        Some((header[6], header[7]))
    }

    /// Reads the ports and the offset of the payload, as far as the frame has them.
    #[inline(always)]
    fn read_transport(&mut self, frame: &[u8]) {
        let Some(segment) = frame.get(self.transport..self.end) else { return };
        let header = match self.flow.protocol {
            UDP if segment.len() >= UDP_HEADER => UDP_HEADER,
            TCP if segment.len() >= TCP_HEADER => usize::from(segment[12] >> 4) * 4,
            _ => return,
        };
        self.flow.ports = u32::from_be_bytes([segment[0], segment[1], segment[2], segment[3]]);
        let whole = header <= segment.len() && (self.flow.protocol == UDP || header >= TCP_HEADER);
        self.payload = whole.then_some(self.transport + header);
    }
}

/// The end of a packet of `length` bytes that begins at `from`. Ethernet pads short frames. A packet that is segmented
/// later, and is too long for the field, has a length of 0.
fn end_of(frame: &[u8], from: usize, length: usize) -> usize {
    if length == 0 { frame.len() } else { (from + length).min(frame.len()) }
}

/// Computes the TCP or UDP checksum that the sender left to a network card (`CHECKSUM_PARTIAL`, as virtual Ethernet
/// pairs deliver it). Frames of other protocols stay unchanged.
pub fn complete_checksum(frame: &mut [u8]) {
    let Some(ip) = parse(frame, false).ip() else { return };
    let at = ip.transport
        + match ip.flow.protocol {
            TCP => 16,
            UDP => 6,
            _ => return,
        };
    let end = ip.end;
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

    fn ip(frame: &[u8]) -> Headers {
        parse(frame, false).ip().expect("an IP frame")
    }

    fn payload<'a>(frame: &'a [u8], ip: &Headers) -> &'a [u8] {
        &frame[ip.payload.expect("a payload")..ip.end]
    }

    #[test]
    fn a_udp_frame_says_its_flow_dscp_and_payload() {
        let frame = udp_frame(13, 4000, b"pifo");
        let ip = ip(&frame);
        assert_eq!(ip.dscp, Some(13));
        assert_eq!(ip.flow.ports, (4000 << 16) | 5001);
        assert_eq!(ip.flow.source, 0x0a00_0001);
        assert_eq!(payload(&frame, &ip), b"pifo");
    }

    #[test]
    fn a_vlan_tag_and_ethernet_padding_change_nothing() {
        let mut frame = udp_frame(5, 1, b"xy");
        let plain = ip(&frame);
        frame.resize(60, 0xee);
        assert_eq!(ip(&frame), plain);
        frame.splice(12..12, [0x81, 0x00, 0xa0, 0x07]);
        let tagged = ip(&frame);
        assert_eq!((tagged.flow, tagged.dscp, tagged.vlan_priority), (plain.flow, plain.dscp, Some(5)));
        assert_eq!(payload(&frame, &tagged), b"xy");
    }

    #[test]
    fn cut_frames_and_foreign_protocols_are_no_ip_frames() {
        let frame = udp_frame(5, 1, b"payload");
        for length in 0..frame.len() {
            if let Kind::Ip(ip) = parse(&frame[..length], false) {
                assert!(length >= 34 && ip.end <= length, "at {length}: {ip:?}");
            }
        }
        let mut arp = frame;
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(parse(&arp, false), Kind::Neighbour);
        arp[12..14].copy_from_slice(&[0x88, 0xcc]);
        assert_eq!(parse(&arp, false), Kind::Other);
        assert_eq!(parse(&[], false), Kind::Other);
    }

    #[test]
    fn fragments_share_one_flow_without_ports() {
        let mut frame = udp_frame(5, 1, b"payload");
        for (high, low) in [(0x20, 0), (0x20, 8), (0, 8)] {
            frame[20..22].copy_from_slice(&[high, low]);
            let ip = ip(&frame);
            assert_eq!((ip.flow.ports, ip.payload), (0, None));
        }
    }

    #[test]
    fn ipv6_carries_a_traffic_class() {
        let mut frame = vec![0; 14];
        frame[12..14].copy_from_slice(&ETHER_IPV6.to_be_bytes());
        frame.extend([0x60 | (46 >> 2), (46 << 6) as u8, 0, 0, 0, 12, UDP, 64]);
        frame.extend([0; 31]);
        frame.push(7);
        frame.extend([0x10, 0x00, 0x20, 0x00, 0, 12, 0, 0, 1, 2, 3, 4]);
        let ip = ip(&frame);
        assert_eq!((ip.dscp, ip.flow.destination, ip.flow.ports), (Some(46), 7, 0x1000_2000));
        assert_eq!(payload(&frame, &ip), [1, 2, 3, 4]);
    }

    #[test]
    fn neighbour_discovery_is_told_from_what_came_from_further_away() {
        let mut frame = vec![0; 14];
        frame[12..14].copy_from_slice(&ETHER_IPV6.to_be_bytes());
        frame.extend([0x60, 0, 0, 0, 0, 24, ICMPV6, 255]);
        frame.extend([0; 32]);
        frame.extend([135; 24]);
        assert_eq!(parse(&frame, false), Kind::Neighbour);
        frame[21] = 64;
        assert!(parse(&frame, false).ip().is_some(), "it has passed a router");
        (frame[21], frame[54]) = (255, 128);
        assert!(parse(&frame, false).ip().is_some(), "an echo request");
    }

    #[test]
    fn a_completed_checksum_sums_to_all_ones() {
        for payload in [&b"even"[..], b"odd"] {
            let mut frame = udp_frame(0, 77, payload);
            complete_checksum(&mut frame);
            let ip = ip(&frame);
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

//! Finds flow, DSCP and payload in a packet's first bytes.
//!
//! Link layers: Ethernet with any number of VLAN tags (QinQ) and with LLC and SNAP (IEEE 802.3), Linux cooked (both
//! versions), raw IP, BSD loopback, PPP, Cisco HDLC, IEEE 802.11 data frames (also after radiotap and PPI headers).
//! Above them: MPLS label stacks (also with an Ethernet pseudowire after a control word, RFC 4385) and PPPoE sessions;
//! IPv4 with options and fragments, IPv6 with extension headers. Tunnels: VXLAN, Geneve, GTP-U, GRE, L2TP, PPTP,
//! Teredo, MPLS in UDP, IP in IP. A tunnel's flow is that of the inner packet. Its DSCP is that of the outermost IP
//! header, which switches on the way read. A tunnel with unreadable content (encrypted, truncated by the capture, not
//! IP) has the flow of its outer packet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// LINKTYPE_ETHERNET.
    Ethernet,
    /// LINKTYPE_LINUX_SLL.
    LinuxCooked,
    /// LINKTYPE_LINUX_SLL2.
    LinuxCooked2,
    /// LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6: no header before the IP header.
    Raw,
    /// LINKTYPE_NULL and LINKTYPE_LOOP: an address family of 4 bytes, in either byte order.
    Loopback,
    /// LINKTYPE_PPP and LINKTYPE_PPP_HDLC: a protocol, optionally after the address and control bytes ff 03.
    Ppp,
    /// LINKTYPE_C_HDLC: address, control, an Ethernet type.
    CiscoHdlc,
    /// LINKTYPE_IEEE802_11.
    Wireless,
    /// LINKTYPE_IEEE802_11_RADIOTAP: 802.11 after a header of the receiver.
    Radiotap,
    /// LINKTYPE_PPI: a similar header, which contains the type of the next header.
    PerPacketInformation,
    /// Any other number; such packets are not read.
    Other(u16),
}

impl Link {
    /// Converts the registered number.
    pub(super) const fn from_type(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            // Some systems wrote 12 and 14 for raw IP before the number was fixed.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            104 => Self::CiscoHdlc,
            105 => Self::Wireless,
            113 => Self::LinuxCooked,
            127 => Self::Radiotap,
            192 => Self::PerPacketInformation,
            276 => Self::LinuxCooked2,
            number => Self::Other(number),
        }
    }

    /// The reason why packets of this type are not read; `None` if they are.
    pub(super) fn unsupported(self) -> Option<String> {
        let Self::Other(number) = self else { return None };
        Some(format!(
            "link type {number} is not supported: expected Ethernet (1), PPP (9, 50), Cisco HDLC (104), 802.11 (105, 127, 192), Linux \
             cooked (113, 276), raw IP (101, 228, 229) or loopback (0, 108)"
        ))
    }
}

/// A flow's 5-tuple: addresses, protocol and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    /// An IPv4 address uses the first four bytes.
    src: [u8; 16],
    dst: [u8; 16],
    ports: [u16; 2],
    protocol: u8,
    v6: bool,
}

impl Tuple {
    /// The flow in the other direction.
    pub(super) fn reversed(&self) -> Self {
        let [source, destination] = self.ports;
        Self { src: self.dst, dst: self.src, ports: [destination, source], ..*self }
    }

    /// The address to which its packets go.
    pub(super) fn destination(&self) -> IpAddr {
        let [a, b, c, d, ..] = self.dst;
        if self.v6 { Ipv6Addr::from(self.dst).into() } else { Ipv4Addr::new(a, b, c, d).into() }
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, address: [u8; 16], port: u16| {
            let [a, b, c, d, ..] = address;
            match (self.v6, has_ports(self.protocol)) {
                (false, true) => write!(f, "{}:{port}", Ipv4Addr::new(a, b, c, d)),
                (false, false) => write!(f, "{}", Ipv4Addr::new(a, b, c, d)),
                (true, true) => write!(f, "[{}]:{port}", Ipv6Addr::from(address)),
                (true, false) => write!(f, "{}", Ipv6Addr::from(address)),
            }
        };
        end(f, self.src, self.ports[0])?;
        f.write_str(" > ")?;
        end(f, self.dst, self.ports[1])?;
        match self.protocol {
            TCP => f.write_str(" tcp"),
            UDP => f.write_str(" udp"),
            ICMP => f.write_str(" icmp"),
            ICMPV6 => f.write_str(" icmpv6"),
            protocol => write!(f, " protocol {protocol}"),
        }
    }
}

/// The start of a packet's payload, and its length when sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// Header fields of a packet of a trace, or its class. Unknown fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceLabels {
    /// The column `class` of a CSV file.
    pub class: u32,
    /// The IPv4 source address; for IPv6 its last 32 bits.
    pub source: u32,
    /// The IPv4 destination address; for IPv6 its last 32 bits.
    pub destination: u32,
    /// The source port of TCP or UDP.
    pub source_port: u16,
    /// The destination port of TCP or UDP.
    pub destination_port: u16,
    /// The DSCP field of the outermost IP header.
    pub dscp: u8,
}

/// The completeness of a packet's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The whole flow.
    Flow,
    /// A later fragment, which contains no ports.
    WithoutPorts,
    /// The end points of a tunnel with unreadable packets inside.
    Outside,
}

/// The content of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip {
    pub(super) tuple: Tuple,
    pub(super) dscp: u8,
    /// `None` in a later fragment.
    pub(super) payload: Option<Payload>,
    pub(super) known: Known,
}

impl Ip {
    /// The packet's labels.
    pub(super) fn labels(&self) -> TraceLabels {
        let Tuple { src, dst, ports, v6, .. } = self.tuple;
        let address = |address: [u8; 16]| {
            let at = if v6 { 12 } else { 0 };
            u32::from_be_bytes([address[at], address[at + 1], address[at + 2], address[at + 3]])
        };
        TraceLabels {
            class: 0,
            source: address(src),
            destination: address(dst),
            source_port: ports[0],
            destination_port: ports[1],
            dscp: self.dscp,
        }
    }
}

/// The result of dissecting a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// An IP packet.
    Ip(Ip),
    /// Not an IP packet, or one with invalid headers.
    Other,
    /// The capture truncated the packet before byte `needed`, the end of its flow's fields.
    Cut {
        /// The number of bytes that the dissection requires.
        needed: usize,
    },
}

const ICMP: u8 = 1;
const IPV4_INSIDE: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const IPV6_HOP_BY_HOP: u8 = 0;
const IPV6_INSIDE: u8 = 41;
const IPV6_ROUTING: u8 = 43;
const IPV6_FRAGMENT: u8 = 44;
const GRE: u8 = 47;
const ENCRYPTED: u8 = 50;
const AUTHENTICATION: u8 = 51;
const ICMPV6: u8 = 58;
const IPV6_DESTINATION: u8 = 60;
const SCTP: u8 = 132;
const IPV6_MOBILITY: u8 = 135;
const UDP_LITE: u8 = 136;
const IPV6_HOST_IDENTITY: u8 = 139;
const IPV6_SHIM6: u8 = 140;

const L2TP_OVER_IP: u8 = 115;
const ETHERNET_INSIDE: u8 = 97;
const MPLS_INSIDE: u8 = 137;

/// An Ethernet type up to this value is the length of an IEEE 802.3 frame.
const LONGEST_802_3: u16 = 1500;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_ETHERNET: u16 = 0x6558;
const ETHERTYPE_MPLS: u16 = 0x8847;
const ETHERTYPE_MPLS_UPSTREAM: u16 = 0x8848;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const ETHERTYPE_LLC: u16 = 0x8870;
const ETHERTYPE_PPTP: u16 = 0x880b;

/// The UDP ports of VXLAN: IANA's, the port of the extension GPE, and Linux's port before IANA assigned one.
const VXLAN_PORTS: [u16; 3] = [4789, 4790, 8472];
const GENEVE_PORT: u16 = 6081;
const GTP_PORT: u16 = 2152;
const L2TP_PORT: u16 = 1701;
const TEREDO_PORT: u16 = 3544;
const MPLS_PORT: u16 = 6635;
const ENCRYPTED_PORT: u16 = 4500;

/// The largest depth of packets within packets that is dissected.
const DEEPEST: u8 = 8;

const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
}

/// A packet's captured bytes. A read beyond them distinguishes a truncated packet from a packet without those bytes.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    data: &'a [u8],
    original: usize,
}

impl Bytes<'_> {
    #[inline]
    fn upto(&self, end: usize) -> Result<&[u8], Contents> {
        match self.data.get(..end) {
            Some(bytes) => Ok(bytes),
            None if end <= self.original => Err(Contents::Cut { needed: end }),
            None => Err(Contents::Other),
        }
    }

    #[inline]
    fn u8(&self, at: usize) -> Result<u8, Contents> {
        Ok(self.upto(at + 1)?[at])
    }

    #[inline]
    fn u16(&self, at: usize) -> Result<u16, Contents> {
        let bytes = self.upto(at + 2)?;
        Ok(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
    }
}

/// Dissects `data`, the captured bytes of a packet of `original` bytes.
#[inline]
pub(super) fn dissect(link: Link, data: &[u8], original: u32) -> Contents {
    let bytes = Bytes { data, original: data.len().max(original as usize) };
    let found = match link {
        Link::Raw => internet(bytes, 0, 0),
        Link::Ethernet => ethernet(bytes, 0, 0),
        Link::LinuxCooked => bytes.u16(14).and_then(|kind| network(bytes, 16, kind, 0)),
        Link::LinuxCooked2 => bytes.u16(0).and_then(|kind| network(bytes, 20, kind, 0)),
        Link::Loopback => bytes.upto(4).and_then(|_| internet(bytes, 4, 0)),
        // The first byte of Cisco's framing never occurs first in PPP.
        Link::Ppp if matches!(data.first(), Some(0x0f | 0x8f)) => cisco_hdlc(bytes, 0),
        Link::Ppp => ppp(bytes, 0, 0),
        Link::CiscoHdlc => cisco_hdlc(bytes, 0),
        Link::Wireless => wireless(bytes, 0, false),
        Link::Radiotap => radiotap(bytes),
        Link::PerPacketInformation => per_packet_information(bytes),
        Link::Other(_) => Err(Contents::Other),
    };
    found.unwrap_or_else(|contents| contents)
}

#[inline]
fn ethernet(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    network(bytes, at + 14, bytes.u16(at + 12)?, depth)
}

/// Dissects the header at `at`, of Ethernet type `kind`.
#[inline]
fn network(bytes: Bytes<'_>, mut at: usize, mut kind: u16, depth: u8) -> Result<Contents, Contents> {
    loop {
        match kind {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return internet(bytes, at, depth),
            // Customer, service and two older service VLAN tags.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                kind = bytes.u16(at + 2)?;
                at += 4;
            }
            ETHERTYPE_PPPOE_SESSION => {
                // Version 1, type 1, code 0: session data after the header of 6 bytes.
                return if bytes.u16(at)? == 0x1100 { ppp(bytes, at + 6, depth) } else { Err(Contents::Other) };
            }
            ETHERTYPE_MPLS | ETHERTYPE_MPLS_UPSTREAM => return mpls(bytes, at, depth),
            0..=LONGEST_802_3 | ETHERTYPE_LLC => return llc(bytes, at, depth),
            _ => return Err(Contents::Other),
        }
    }
}

/// IEEE 802.2: IP, or SNAP (RFC 1042, IEEE 802.1H) with an Ethernet type.
fn llc(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    match (bytes.u16(at)?, bytes.u8(at + 2)?) {
        (0x0606, 0x03) => internet(bytes, at + 3, depth),
        // SNAP can carry LLC again.
        (0xaaaa, 0x03) if depth < DEEPEST => match (bytes.u8(at + 3)?, bytes.u16(at + 4)?, bytes.u16(at + 6)?) {
            (0, 0 | 0x00f8, kind) => network(bytes, at + 8, kind, depth + 1),
            _ => Err(Contents::Other),
        },
        _ => Err(Contents::Other),
    }
}

/// RFC 1661 and 1662. The address and control bytes are optional, and the protocol may be compressed to one byte.
fn ppp(bytes: Bytes<'_>, mut at: usize, depth: u8) -> Result<Contents, Contents> {
    if bytes.u16(at)? == 0xff03 {
        at += 2;
    }
    let first = bytes.u8(at)?;
    let (protocol, at) = if first & 1 == 1 { (u16::from(first), at + 1) } else { (bytes.u16(at)?, at + 2) };
    match protocol {
        0x0021 | 0x0057 => internet(bytes, at, depth),
        0x0281 | 0x0283 => mpls(bytes, at, depth),
        _ => Err(Contents::Other),
    }
}

/// Address, control and an Ethernet type, as in RFC 1547.
fn cisco_hdlc(bytes: Bytes<'_>, at: usize) -> Result<Contents, Contents> {
    network(bytes, at + 4, bytes.u16(at + 2)?, 0)
}

/// IEEE 802.11: unencrypted data frames carry LLC. `padded` if the header is padded to 32 bits.
fn wireless(bytes: Bytes<'_>, at: usize, padded: bool) -> Result<Contents, Contents> {
    let (kind, flags) = (bytes.u8(at)?, bytes.u8(at + 1)?);
    let (data, without_data, qos) = (kind & 0x0f == 0x08, kind & 0x40 != 0, kind & 0x80 != 0);
    // A later fragment has no LLC header.
    if !data || without_data || flags & 0x40 != 0 || bytes.u8(at + 22)? & 0x0f != 0 {
        return Err(Contents::Other);
    }
    // The optional fields: a fourth address between two access points, quality of service, and high-throughput control.
    let addresses: usize = if flags & 3 == 3 { 30 } else { 24 };
    let header = addresses + if qos { 2 } else { 0 } + if qos && flags & 0x80 != 0 { 4 } else { 0 };
    let start = at + if padded { header.next_multiple_of(4) } else { header };
    // A frame can hold several packets, each after addresses and a length. The first one counts.
    let several = qos && bytes.u8(at + addresses)? & 0x80 != 0;
    llc(bytes, if several { start + 14 } else { start }, 0)
}

/// The header of radiotap.org: its length, and fields; the flags are the second field.
fn radiotap(bytes: Bytes<'_>) -> Result<Contents, Contents> {
    let length = usize::from(bytes.u16(2)?.swap_bytes());
    let fields = bytes.u8(4)?;
    let mut at = 8;
    while bytes.u8(at - 1)? & 0x80 != 0 {
        at += 4;
    }
    // A clock of 8 bytes may precede the flags.
    let flags = if fields & 1 == 0 { at } else { at.next_multiple_of(8) + 8 };
    let padded = fields & 2 != 0 && flags < length && bytes.u8(flags)? & 0x20 != 0;
    wireless(bytes, length, padded)
}

/// The header of CACE Technologies' PPI: its length, and the link type of the next header.
fn per_packet_information(bytes: Bytes<'_>) -> Result<Contents, Contents> {
    let length = usize::from(bytes.u16(2)?.swap_bytes());
    match Link::from_type(bytes.u16(4)?.swap_bytes()) {
        Link::Wireless => wireless(bytes, length, false),
        Link::Ethernet => ethernet(bytes, length, 0),
        Link::Raw => internet(bytes, length, 0),
        _ => Err(Contents::Other),
    }
}

/// An MPLS label stack. It does not name the inner protocol; as in routers, the first four bits decide.
fn mpls(bytes: Bytes<'_>, mut at: usize, depth: u8) -> Result<Contents, Contents> {
    while bytes.u8(at + 2)? & 1 == 0 {
        at += 4;
    }
    at += 4;
    match bytes.u8(at)? >> 4 {
        4 | 6 => internet(bytes, at, depth),
        0 if depth < DEEPEST => ethernet(bytes, at + 4, depth + 1),
        _ => Err(Contents::Other),
    }
}

#[inline]
fn internet(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    match bytes.u8(at)? >> 4 {
        4 => ipv4(bytes, at, depth),
        6 => ipv6(bytes, at, depth),
        _ => Err(Contents::Other),
    }
}

#[inline]
fn ipv4(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    let header = &bytes.upto(at + 20)?[at..];
    let header_length = usize::from(header[0] & 0x0f) * 4;
    let stated = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // A sender that leaves segmentation to its device writes 0. The packet then fills the frame.
    let total = if stated == 0 { bytes.original - at } else { stated };
    if header_length < 20 || total < header_length {
        return Err(Contents::Other);
    }
    let first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let mut tuple = Tuple { src: [0; 16], dst: [0; 16], ports: [0; 2], protocol: header[9], v6: false };
    tuple.src[..4].copy_from_slice(&header[12..16]);
    tuple.dst[..4].copy_from_slice(&header[16..20]);
    let part = Part { at: at + header_length, end: at + total, first, depth };
    transport(bytes, part, header[1] >> 2, tuple)
}

fn ipv6(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    let header = &bytes.upto(at + 40)?[at..];
    let dscp = (header[0] << 2 & 0x3c) | header[1] >> 6;
    let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // A jumbogram has 0, and so has a packet whose sender leaves segmentation to its device.
    let end = if stated == 0 { bytes.original } else { at + 40 + stated };
    let mut tuple = Tuple { src: [0; 16], dst: [0; 16], ports: [0; 2], protocol: header[6], v6: true };
    tuple.src.copy_from_slice(&header[8..24]);
    tuple.dst.copy_from_slice(&header[24..40]);
    let (mut at, mut first) = (at + 40, true);
    loop {
        let length = match tuple.protocol {
            IPV6_HOP_BY_HOP | IPV6_ROUTING | IPV6_DESTINATION | IPV6_MOBILITY | IPV6_HOST_IDENTITY | IPV6_SHIM6 => {
                (usize::from(bytes.u8(at + 1)?) + 1) * 8
            }
            AUTHENTICATION => (usize::from(bytes.u8(at + 1)?) + 2) * 4,
            IPV6_FRAGMENT => {
                first &= bytes.u16(at + 2)? >> 3 == 0;
                8
            }
            _ => return transport(bytes, Part { at, end, first, depth }, dscp, tuple),
        };
        tuple.protocol = bytes.u8(at)?;
        at += length;
        if at > end {
            return Err(Contents::Other);
        }
        if !first {
            // A later fragment contains data, not headers.
            return transport(bytes, Part { at, end, first, depth }, dscp, tuple);
        }
    }
}

/// The payload of an IP packet.
struct Part {
    at: usize,
    end: usize,
    /// Whether the part begins with a header; false in a later fragment.
    first: bool,
    /// The number of packets around this one.
    depth: u8,
}

#[inline]
fn transport(bytes: Bytes<'_>, part: Part, dscp: u8, mut tuple: Tuple) -> Result<Contents, Contents> {
    let Part { at, end, first, depth } = part;
    if !first {
        return Ok(Contents::Ip(Ip { tuple, dscp, payload: None, known: Known::WithoutPorts }));
    }
    if has_ports(tuple.protocol) {
        if at + 4 > end {
            return Err(Contents::Other);
        }
        tuple.ports = [bytes.u16(at)?, bytes.u16(at + 2)?];
    }
    let header = match tuple.protocol {
        // Without the byte of the header's length, the payload is unknown, but the flow is known.
        TCP => match bytes.u8(at + 12) {
            Ok(offset) => usize::from(offset >> 4) * 4,
            Err(_) => 20,
        },
        UDP | UDP_LITE => 8,
        _ => 0,
    };
    let start = at + header;
    let known = match inside(bytes, start, &tuple, depth) {
        None => Known::Flow,
        Some(Ok(Contents::Ip(inner))) => return Ok(Contents::Ip(Ip { dscp, ..inner })),
        Some(_) => Known::Outside,
    };
    let payload = Some(Payload { start, length: end.saturating_sub(start) });
    Ok(Contents::Ip(Ip { tuple, dscp, payload, known }))
}

/// Dissects the content of a tunnel whose header begins at `at`; `None` if the packet is not part of a tunnel.
#[inline]
fn inside(bytes: Bytes<'_>, at: usize, outer: &Tuple, depth: u8) -> Option<Result<Contents, Contents>> {
    let ports = outer.ports;
    let tunnel: fn(Bytes<'_>, usize, u8) -> Option<Result<Contents, Contents>> = match (outer.protocol, ports[1]) {
        (UDP, port) if VXLAN_PORTS.contains(&port) => vxlan,
        (UDP, GENEVE_PORT) => geneve,
        (UDP, GTP_PORT) => gtp,
        (UDP, MPLS_PORT) => |bytes, at, depth| Some(mpls(bytes, at, depth)),
        (UDP, _) if ports.contains(&L2TP_PORT) => l2tp,
        (UDP, _) if ports.contains(&TEREDO_PORT) => teredo,
        (UDP, _) if ports.contains(&ENCRYPTED_PORT) => encrypted,
        (IPV4_INSIDE | IPV6_INSIDE, _) => |bytes, at, depth| Some(internet(bytes, at, depth)),
        (MPLS_INSIDE, _) => |bytes, at, depth| Some(mpls(bytes, at, depth)),
        (ETHERNET_INSIDE, _) => |bytes, at, depth| Some(ethernet(bytes, at + 2, depth)),
        (GRE, _) => |bytes, at, depth| Some(gre(bytes, at, depth)),
        (ENCRYPTED | L2TP_OVER_IP, _) => |_, _, _| Some(Err(Contents::Other)),
        _ => return None,
    };
    if depth < DEEPEST { tunnel(bytes, at, depth + 1) } else { Some(Err(Contents::Other)) }
}

/// Converts the result of reading a tunnel's header: a truncated header belongs to a tunnel, a too short one does not.
fn header<T>(read: Result<T, Contents>) -> Result<T, Option<Result<Contents, Contents>>> {
    read.map_err(|contents| matches!(contents, Contents::Cut { .. }).then_some(Err(contents)))
}

/// RFC 7348. Other programs may use the port: without the flag of a valid network it is not VXLAN. With the flag of the
/// extension GPE (draft-ietf-nvo3-vxlan-gpe), the header contains the type of its payload.
fn vxlan(bytes: Bytes<'_>, at: usize, depth: u8) -> Option<Result<Contents, Contents>> {
    let flags = match header(bytes.u8(at)) {
        Ok(flags) => flags,
        Err(found) => return found,
    };
    let carried = if flags & 0x04 == 0 { Ok(3) } else { bytes.u8(at + 3) };
    (flags & 0x08 != 0).then(|| match carried? {
        1 | 2 => internet(bytes, at + 8, depth),
        3 => ethernet(bytes, at + 8, depth),
        _ => Err(Contents::Other),
    })
}

/// 3GPP TS 29.281, section 5: version 1 with user packets. The tunnel's own messages are not inside a tunnel.
fn gtp(bytes: Bytes<'_>, at: usize, depth: u8) -> Option<Result<Contents, Contents>> {
    let (flags, message) = match (header(bytes.u8(at)), header(bytes.u8(at + 1))) {
        (Ok(flags), Ok(message)) => (flags, message),
        (Err(found), _) | (_, Err(found)) => return found,
    };
    if flags & 0xf0 != 0x30 || message != 0xff {
        return None;
    }
    let inside = || {
        let mut start = at + 8;
        if flags & 7 != 0 {
            // Sequence number, packet number, and the type of the first extension. Each extension ends with the type of
            // the next.
            start += 4;
            let mut next = if flags & 4 == 0 { 0 } else { bytes.u8(start - 1)? };
            while next != 0 {
                let words = usize::from(bytes.u8(start)?).max(1);
                start += 4 * words;
                next = bytes.u8(start - 1)?;
            }
        }
        internet(bytes, start, depth)
    };
    Some(inside())
}

/// RFC 2661: data of version 2 is PPP. Control messages are not inside a tunnel; version 3 has no type of its payload.
fn l2tp(bytes: Bytes<'_>, at: usize, depth: u8) -> Option<Result<Contents, Contents>> {
    let flags = match header(bytes.u16(at)) {
        Ok(flags) => flags,
        Err(found) => return found,
    };
    match (flags & 0x8000, flags & 0x000f) {
        (0, 2) => {}
        (0, 3) => return Some(Err(Contents::Other)),
        _ => return None,
    }
    let inside = || {
        // Flags announce the length, the sequence numbers, and the size of a gap before the data.
        let mut start = at + 6 + if flags & 0x4000 == 0 { 0 } else { 2 } + if flags & 0x0800 == 0 { 0 } else { 4 };
        if flags & 0x0200 != 0 {
            start += 2 + usize::from(bytes.u16(start)?);
        }
        ppp(bytes, start, depth)
    };
    Some(inside())
}

/// RFC 4380, section 5.1.1: IPv6 after the optional authentication and the optional origin indication.
fn teredo(bytes: Bytes<'_>, at: usize, depth: u8) -> Option<Result<Contents, Contents>> {
    let inside = |mut at: usize| {
        if bytes.u16(at)? == 1 {
            at += 13 + usize::from(bytes.u8(at + 2)?) + usize::from(bytes.u8(at + 3)?);
        }
        if bytes.u16(at)? == 0 {
            at += 8;
        }
        if bytes.u8(at)? >> 4 == 6 { ipv6(bytes, at, depth) } else { Err(Contents::Other) }
    };
    Some(inside(at))
}

/// RFC 3948: encrypted packets, except packets that begin with the marker of a key exchange and one-byte keepalives.
fn encrypted(bytes: Bytes<'_>, at: usize, _: u8) -> Option<Result<Contents, Contents>> {
    match (header(bytes.u16(at)), header(bytes.u16(at + 2))) {
        (Ok(0), Ok(0)) => None,
        (Ok(_), Ok(_)) => Some(Err(Contents::Other)),
        (Err(found), _) | (_, Err(found)) => found,
    }
}

/// RFC 8926.
fn geneve(bytes: Bytes<'_>, at: usize, depth: u8) -> Option<Result<Contents, Contents>> {
    let header = match (bytes.u8(at), bytes.u16(at + 2)) {
        (Ok(first), Ok(kind)) if first >> 6 == 0 => (8 + usize::from(first & 0x3f) * 4, kind),
        (Err(cut @ Contents::Cut { .. }), _) | (_, Err(cut @ Contents::Cut { .. })) => return Some(Err(cut)),
        _ => return None,
    };
    Some(match header {
        (length, ETHERTYPE_ETHERNET) => ethernet(bytes, at + length, depth),
        (length, kind) => network(bytes, at + length, kind, depth),
    })
}

/// RFC 2784 and 2890. Version 1 (PPTP, RFC 2637) carries PPP. With routing the inner packet is not read.
fn gre(bytes: Bytes<'_>, at: usize, depth: u8) -> Result<Contents, Contents> {
    let (flags, kind) = (bytes.u16(at)?, bytes.u16(at + 2)?);
    if (flags & 7, kind) == (1, ETHERTYPE_PPTP) {
        // The key is always present; flags announce sequence and acknowledgement numbers. Without a sequence number
        // there is no packet.
        let length = 8 + 4 * (flags & 0x1080).count_ones() as usize;
        return if flags & 0x1000 == 0 { Err(Contents::Other) } else { ppp(bytes, at + length, depth) };
    }
    if flags & 0x4007 != 0 {
        return Err(Contents::Other);
    }
    // Flags announce checksum, key and sequence number.
    let length = 4 + 4 * (flags & 0xb000).count_ones() as usize;
    match kind {
        ETHERTYPE_ETHERNET => ethernet(bytes, at + length, depth),
        _ => network(bytes, at + length, kind, depth),
    }
}

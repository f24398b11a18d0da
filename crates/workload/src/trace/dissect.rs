//! From a packet's first bytes to its flow, DSCP and payload.
//!
//! Link layers: Ethernet with any number of VLAN tags, Linux cooked (both versions), raw IP, BSD loopback. IPv4 with
//! options and fragments, IPv6 with extension headers. No tunnels, no MPLS, no PPPoE: such packets are "other".

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// LINKTYPE_ETHERNET.
    Ethernet,
    /// LINKTYPE_LINUX_SLL.
    LinuxCooked,
    /// LINKTYPE_LINUX_SLL2.
    LinuxCooked2,
    /// LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6: the IP header at once.
    Raw,
    /// LINKTYPE_NULL and LINKTYPE_LOOP: an address family of 4 bytes, in either byte order.
    Loopback,
}

impl Link {
    /// From the registered number.
    pub(super) fn from_type(number: u16) -> Option<Self> {
        match number {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            // 12 and 14 are what some systems wrote for raw IP before the number was fixed.
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }

    /// What to say of a number that is none of these.
    pub(super) fn unsupported(number: u16) -> String {
        format!(
            "link type {number} is not supported: expected Ethernet (1), Linux cooked (113, 276), raw IP (101, 228, 229) \
             or loopback (0, 108)"
        )
    }
}

/// A flow's name: addresses, protocol and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    /// IPv4 addresses stand in the first four bytes.
    src: [u8; 16],
    dst: [u8; 16],
    ports: [u16; 2],
    protocol: u8,
    v6: bool,
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

/// Where a packet's payload begins, and how long it was when sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// What an IP packet says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip {
    pub(super) tuple: Tuple,
    pub(super) dscp: u8,
    /// None in a later fragment.
    pub(super) payload: Option<Payload>,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// An IP packet.
    Ip(Ip),
    /// No IP packet, or one whose headers are none.
    Other,
    /// The capture cut the packet before byte `needed`, where its flow would be known.
    Cut {
        /// Bytes that would have to be captured.
        needed: usize,
    },
}

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const IPV6_HOP_BY_HOP: u8 = 0;
const IPV6_ROUTING: u8 = 43;
const IPV6_FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const ICMPV6: u8 = 58;
const IPV6_DESTINATION: u8 = 60;
const SCTP: u8 = 132;
const IPV6_MOBILITY: u8 = 135;
const UDP_LITE: u8 = 136;
const IPV6_HOST_IDENTITY: u8 = 139;
const IPV6_SHIM6: u8 = 140;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Customer, service and two older service VLAN tags.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
}

/// A packet's captured bytes; a read beyond them tells a cut packet from one that never had those bytes.
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

/// What `data`, the captured bytes of a packet of `original` bytes, is.
#[inline]
pub(super) fn dissect(link: Link, data: &[u8], original: u32) -> Contents {
    let bytes = Bytes { data, original: original as usize };
    network_header(link, bytes).and_then(|at| internet(bytes, at)).unwrap_or_else(|contents| contents)
}

/// The offset of the IP header.
#[inline]
fn network_header(link: Link, bytes: Bytes<'_>) -> Result<usize, Contents> {
    let (mut at, type_at) = match link {
        Link::Raw => return Ok(0),
        Link::Ethernet => (14, 12),
        Link::LinuxCooked => (16, 14),
        Link::LinuxCooked2 => (20, 0),
        Link::Loopback => {
            bytes.upto(4)?;
            return Ok(4);
        }
    };
    let mut ethertype = bytes.u16(type_at)?;
    while ETHERTYPES_VLAN.contains(&ethertype) {
        ethertype = bytes.u16(at + 2)?;
        at += 4;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(at),
        _ => Err(Contents::Other),
    }
}

#[inline]
fn internet(bytes: Bytes<'_>, at: usize) -> Result<Contents, Contents> {
    match bytes.u8(at)? >> 4 {
        4 => ipv4(bytes, at),
        6 => ipv6(bytes, at),
        _ => Err(Contents::Other),
    }
}

#[inline]
fn ipv4(bytes: Bytes<'_>, at: usize) -> Result<Contents, Contents> {
    let header = &bytes.upto(at + 20)?[at..];
    let header_length = usize::from(header[0] & 0x0f) * 4;
    let stated = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // A sender that leaves segmentation to its device writes 0; the packet then fills the frame.
    let total = if stated == 0 { bytes.original - at } else { stated };
    if header_length < 20 || total < header_length {
        return Err(Contents::Other);
    }
    let first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let mut tuple = Tuple { src: [0; 16], dst: [0; 16], ports: [0; 2], protocol: header[9], v6: false };
    tuple.src[..4].copy_from_slice(&header[12..16]);
    tuple.dst[..4].copy_from_slice(&header[16..20]);
    transport(bytes, at + header_length, at + total, first, header[1] >> 2, tuple)
}

fn ipv6(bytes: Bytes<'_>, at: usize) -> Result<Contents, Contents> {
    let header = &bytes.upto(at + 40)?[at..];
    let dscp = (header[0] << 2 & 0x3c) | header[1] >> 6;
    let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // 0 stands in a jumbogram, and where segmentation is left to the device.
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
            _ => return transport(bytes, at, end, first, dscp, tuple),
        };
        tuple.protocol = bytes.u8(at)?;
        at += length;
        if at > end {
            return Err(Contents::Other);
        }
        if !first {
            // What follows in a later fragment is data, not headers.
            return transport(bytes, at, end, first, dscp, tuple);
        }
    }
}

/// The transport header at `at` of an IP packet that ends at `end`.
#[inline]
fn transport(
    bytes: Bytes<'_>,
    at: usize,
    end: usize,
    first: bool,
    dscp: u8,
    mut tuple: Tuple,
) -> Result<Contents, Contents> {
    let mut payload = None;
    if first {
        if has_ports(tuple.protocol) {
            if at + 4 > end {
                return Err(Contents::Other);
            }
            tuple.ports = [bytes.u16(at)?, bytes.u16(at + 2)?];
        }
        let header = match tuple.protocol {
            // Without the byte that holds the header's length nothing can be said of the payload; the flow is known.
            TCP => match bytes.u8(at + 12) {
                Ok(offset) => usize::from(offset >> 4) * 4,
                Err(_) => 20,
            },
            UDP | UDP_LITE => 8,
            _ => 0,
        };
        let start = at + header;
        payload = Some(Payload { start, length: end.saturating_sub(start) });
    }
    Ok(Contents::Ip(Ip { tuple, dscp, payload }))
}

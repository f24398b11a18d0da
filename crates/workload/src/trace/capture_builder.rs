//! Builds captures byte by byte, for tests.

use super::window::Endian;

/// Writes integers in one byte order.
pub(super) struct Builder {
    pub(super) bytes: Vec<u8>,
    endian: Endian,
}

impl Builder {
    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        let two = if self.endian.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&two)
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        let four = if self.endian.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&four)
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A pcap file header.
    pub(super) fn pcap(big: bool, magic: u32, link_type: u32) -> Self {
        let mut builder = Self { bytes: Vec::new(), endian: Endian { big } };
        builder.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(link_type);
        builder
    }

    /// A pcap packet, captured completely.
    pub(super) fn packet(&mut self, seconds: u32, fraction: u32, data: &[u8]) -> &mut Self {
        self.cut_packet(seconds, fraction, data, data.len() as u32)
    }

    /// A pcap packet of `original` bytes, of which `data` is captured.
    pub(super) fn cut_packet(&mut self, seconds: u32, fraction: u32, data: &[u8], original: u32) -> &mut Self {
        self.u32(seconds).u32(fraction).u32(data.len() as u32).u32(original).raw(data)
    }

    /// A pcapng section header.
    pub(super) fn pcapng(big: bool) -> Self {
        let mut builder = Self { bytes: Vec::new(), endian: Endian { big } };
        builder.section();
        builder
    }

    pub(super) fn section(&mut self) -> &mut Self {
        self.u32(0x0a0d_0d0a).u32(28).u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]).u32(28)
    }

    /// A pcapng block with `body` padded to 32 bits.
    pub(super) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padded = body.len().next_multiple_of(4);
        let length = 12 + padded as u32;
        self.u32(kind).u32(length).raw(body).raw(&vec![0; padded - body.len()]).u32(length)
    }

    /// An interface description with options.
    pub(super) fn interface(&mut self, link_type: u16, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = Self { bytes: Vec::new(), endian: self.endian };
        body.u16(link_type).u16(0).u32(0);
        for (code, value) in options {
            body.u16(*code).u16(value.len() as u16).raw(value);
            body.raw(&vec![0; value.len().next_multiple_of(4) - value.len()]);
        }
        if !options.is_empty() {
            body.u16(0).u16(0);
        }
        self.block(1, &body.bytes)
    }

    /// An enhanced packet, captured completely.
    pub(super) fn enhanced(&mut self, interface: u32, ticks: u64, data: &[u8]) -> &mut Self {
        let mut body = Self { bytes: Vec::new(), endian: self.endian };
        body.u32(interface).u32((ticks >> 32) as u32).u32(ticks as u32);
        body.u32(data.len() as u32).u32(data.len() as u32).raw(data);
        self.block(6, &body.bytes)
    }
}

/// An IPv4 header for `payload`, followed by the payload.
pub(super) fn ipv4(dscp: u8, protocol: u8, src: u8, dst: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let mut bytes = vec![0x45, dscp << 2, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
    bytes.extend_from_slice(&[10, 0, 0, src, 10, 0, 0, dst]);
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 header for `payload`, followed by the payload.
pub(super) fn ipv6(dscp: u8, next: u8, src: u8, dst: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let mut bytes = vec![0x60 | dscp >> 2, dscp << 6, 0, 0, length[0], length[1], next, 64];
    for host in [src, dst] {
        bytes.extend_from_slice(&[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// A UDP header for `payload`, followed by the payload.
pub(super) fn udp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [src.to_be_bytes(), dst.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes(), [0; 2]].concat();
    bytes.extend_from_slice(payload);
    bytes
}

/// A TCP header with 12 bytes of options for `payload`, followed by the payload.
pub(super) fn tcp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [src.to_be_bytes(), dst.to_be_bytes()].concat();
    bytes.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&[1; 12]);
    bytes.extend_from_slice(payload);
    bytes
}

/// An Ethernet header with the given VLAN tags and type for `payload`, followed by the payload.
pub(super) fn ethernet(tags: &[u16], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    for tag in tags {
        bytes.extend_from_slice(&tag.to_be_bytes());
        bytes.extend_from_slice(&[0, 7]);
    }
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

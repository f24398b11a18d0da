//! The frame of a packet of the simulator: Ethernet, IPv4, UDP and eight bytes of payload.

use super::program::RankIn;
use pifolab_sched::{Labels, Packet};

/// Its length.
pub(super) const BYTES: usize = 50;
const IPV4: usize = 14;
const UDP: usize = 34;
const PAYLOAD: usize = 42;
/// The ECN codepoint of a marked packet.
pub(super) const MARKED: u8 = 3;

/// Room for a frame, with what all frames have.
pub(super) struct Frame([u8; BYTES]);

impl Frame {
    pub(super) fn new() -> Self {
        let mut frame = [0; BYTES];
        (frame[0], frame[6], frame[12]) = (2, 2, 8);
        (frame[IPV4], frame[IPV4 + 8], frame[IPV4 + 9]) = (0x45, 64, 17);
        Self(frame)
    }

    /// The frame of a packet. It says that it is `length` bytes long.
    pub(super) fn write(&mut self, packet: &Packet, labels: &Labels, length: u32, rank_in: RankIn) -> &[u8; BYTES] {
        let address = |host: u32| if host < 1 << 24 { 10 << 24 | host } else { host }.to_be_bytes();
        let (source, destination) = (address(labels.source), address(labels.destination));
        let length = |headers: usize| u16::try_from(length - headers as u32).unwrap_or(u16::MAX).to_be_bytes();
        let rank = packet.rank.get();
        let (dscp, carried) = match rank_in {
            RankIn::Payload => (labels.dscp, rank),
            RankIn::Dscp => (rank.min(63) as u8, 0),
        };
        let frame = &mut self.0;
        let mut put = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
        put(2, &destination);
        put(8, &source);
        put(IPV4 + 1, &[dscp << 2 | labels.ecn & 3]);
        put(IPV4 + 2, &length(IPV4));
        put(IPV4 + 12, &source);
        put(IPV4 + 16, &destination);
        put(UDP, &packet.flow.to_be_bytes());
        put(UDP + 4, &length(UDP));
        put(PAYLOAD, &carried.to_be_bytes());
        write_checksum(&mut frame[IPV4..UDP]);
        frame
    }
}

/// Writes the checksum of an IPv4 header.
fn write_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let checksum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The ECN field of a frame; 0 where it is not of IPv4.
pub(super) fn ecn_of(frame: &[u8]) -> u8 {
    match frame {
        [_, _, _, _, _, _, _, _, _, _, _, _, 8, 0, _, service, ..] => service & 3,
        _ => 0,
    }
}

/// Sets the ECN field of a frame of IPv4 that is whole.
pub(super) fn mark(frame: &mut [u8]) {
    let words = frame.get(IPV4).map_or(0, |first| usize::from(first & 0xF));
    if frame.get(12..IPV4) == Some(&[8, 0])
        && words >= 5
        && let Some(header) = frame.get_mut(IPV4..IPV4 + 4 * words)
    {
        header[1] |= MARKED;
        write_checksum(header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::{Rank, Time};

    #[test]
    fn a_mark_is_in_the_frame_with_its_checksum_and_in_no_frame_that_is_not_ipv4() {
        let packet = Packet { id: 1, flow: 7, size: 1500, rank: Rank::from(9), arrival: Time::ZERO };
        let labels = Labels { source: 3, destination: 4, ecn: 2, ..Labels::default() };
        let mut frame = *Frame::new().write(&packet, &labels, 1500, RankIn::Payload);
        assert_eq!(ecn_of(&frame), 2);
        mark(&mut frame);
        assert_eq!(ecn_of(&frame), MARKED);
        let words = frame[IPV4..UDP].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
        for cut in 0..UDP {
            let mut short = frame[..cut].to_vec();
            mark(&mut short);
            assert_eq!(short, frame[..cut], "{cut}");
        }
        frame[12] = 0x86;
        let before = frame;
        mark(&mut frame);
        assert_eq!(frame, before);
    }
}

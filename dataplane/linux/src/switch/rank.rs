//! Where a frame's rank stands: in the DSCP, in the payload, or nowhere (a rank function computes it).

use super::frame::IpFrame;
use pifolab_units::Rank;
use std::str::FromStr;

/// Where the rank of a frame is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankSource {
    /// The six bits of the DSCP.
    Dscp,
    /// A big-endian integer in the UDP or TCP payload. Segments without it (handshakes, acknowledgements) have rank 0.
    Payload {
        /// Bytes of payload before it.
        offset: usize,
        /// Its width in bytes: 1, 2, 4 or 8.
        width: usize,
    },
    /// Frames carry no rank.
    Nowhere,
}

/// What `--rank` may say, in words.
pub const RANK_FORMS: &str = "dscp, payload:OFFSET:WIDTH (bytes; WIDTH is 1, 2, 4 or 8), or a rank function that \
                              needs no more than the frame, such as stfq, las or fcfs";

impl FromStr for RankSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "dscp" {
            return Ok(Self::Dscp);
        }
        let wrong = || format!("{text:?} is no place of a rank: expected {RANK_FORMS}");
        let place = text.strip_prefix("payload:").ok_or_else(wrong)?;
        let (offset, width) = place.split_once(':').ok_or_else(wrong)?;
        let offset = offset.parse().ok().filter(|offset| *offset < 65_536).ok_or_else(wrong)?;
        let width = width.parse().ok().filter(|width| matches!(width, 1 | 2 | 4 | 8)).ok_or_else(wrong)?;
        Ok(Self::Payload { offset, width })
    }
}

impl RankSource {
    /// The rank that `frame` carries; `None` where it has no room for one.
    #[inline]
    pub fn read(self, frame: &[u8], ip: &IpFrame) -> Option<Rank> {
        match self {
            Self::Dscp => Some(Rank::from(u32::from(ip.dscp))),
            Self::Payload { offset, width } => {
                let payload = &frame[ip.payload.0..ip.payload.1];
                let bytes = payload.get(offset..offset + width)?;
                let value = bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte));
                Some(Rank::saturating(value))
            }
            Self::Nowhere => Some(Rank::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::frame::{parse, udp_frame};

    fn rank(source: &str, frame: &[u8]) -> Option<u64> {
        let source: RankSource = source.parse().expect("a place of a rank");
        source.read(frame, &parse(frame).expect("an IP frame")).map(Rank::get)
    }

    #[test]
    fn ranks_are_read_where_they_were_said_to_stand() {
        let frame = udp_frame(41, 1, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(rank("dscp", &frame), Some(41));
        assert_eq!(rank("payload:0:1", &frame), Some(1));
        assert_eq!(rank("payload:1:2", &frame), Some(0x0203));
        assert_eq!(rank("payload:5:4", &frame), Some(0x0607_0809));
        assert_eq!(rank("payload:1:8", &frame), Some(0x0203_0405_0607_0809));
        assert_eq!(rank("payload:6:4", &frame), None);
        let large = udp_frame(0, 1, &[0xff; 8]);
        assert_eq!(rank("payload:0:8", &large), Some(Rank::MAX.get()));
    }

    #[test]
    fn what_is_no_place_of_a_rank_is_refused_with_the_forms() {
        for text in ["", "dcsp", "payload", "payload:1", "payload:x:2", "payload:0:3", "payload:70000:1"] {
            let error = text.parse::<RankSource>().expect_err("not a place");
            assert!(error.contains("payload:OFFSET:WIDTH"), "{error}");
        }
    }
}

//! The source of a frame's rank, in the words of the command line.

use pifolab_sched::params::FromArgs;
use pifolab_sched::ranks::{Las, Stfq};
use pifolab_units::{Rank, RankMap};
use std::fmt;
use std::str::FromStr;

/// The source of a packet's rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankSource {
    /// The six bits of the DSCP.
    Dscp,
    /// The value that this map assigns to the DSCP.
    DscpBy(RankMap),
    /// A big-endian integer in the UDP or TCP payload.
    Payload {
        /// The number of payload bytes before the rank.
        offset: u16,
        /// Its width in bytes: 1, 2, 4 or 8.
        width: u8,
    },
    /// The priority of the outer VLAN tag: priority 7 has rank 0, and priority 1 (background) the last rank, 7.
    Vlan,
    /// The traffic class of the outer MPLS label: class 7 has rank 0, class 0 has rank 7.
    Mpls,
    /// The packet's mark in the kernel; 0 is no mark.
    Mark,
    /// A table of flows and prefixes from a file.
    Table,
    /// The bytes of the flow that have passed this port; in the switch, a rank function of the library.
    Las,
    /// Start-time fair queueing; in the switch, a rank function of the library.
    Stfq,
}

/// The valid values of `--rank`, in words.
pub const RANK_FORMS: &str = "dscp, dscp:phb (EF before AF before best effort), dscp:46=0,34=1 (others last), payload:OFFSET:WIDTH (bytes; WIDTH is 1, 2, 4 or 8), vlan, mpls, mark, table, las or stfq";

/// The sources written as one word; rank functions have the library's names.
const WORDS: [(&str, RankSource); 7] = [
    ("dscp", RankSource::Dscp),
    ("vlan", RankSource::Vlan),
    ("mpls", RankSource::Mpls),
    ("mark", RankSource::Mark),
    ("table", RankSource::Table),
    (Las::INFO.name, RankSource::Las),
    (Stfq::INFO.name, RankSource::Stfq),
];

impl FromStr for RankSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: expected {RANK_FORMS}");
        if let Some((_, source)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*source);
        }
        if let Some(map) = text.strip_prefix("dscp:") {
            return map.parse().map(Self::DscpBy).map_err(|error| format!("{map:?}: {error}"));
        }
        let (offset, width) =
            text.strip_prefix("payload:").and_then(|place| place.split_once(':')).ok_or_else(wrong)?;
        let width = width.parse().ok().filter(|width| matches!(width, 1 | 2 | 4 | 8)).ok_or_else(wrong)?;
        Ok(Self::Payload { offset: offset.parse().map_err(|_| wrong())?, width })
    }
}

impl fmt::Display for RankSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DscpBy(map) => write!(f, "dscp:{map}"),
            Self::Payload { offset, width } => write!(f, "payload:{offset}:{width}"),
            source => f.write_str(WORDS.iter().find(|(_, known)| known == source).expect("all others have a word").0),
        }
    }
}

impl RankSource {
    /// The largest rank that packets can carry. The largest rank of a table is unknown here, so its result is the
    /// largest possible rank.
    pub fn worst(self) -> Rank {
        match self {
            Self::Dscp => Rank::from(63),
            Self::DscpBy(map) => map.worst(),
            Self::Payload { width, .. } => Rank::saturating(u64::MAX >> (64 - 8 * u32::from(width))),
            Self::Vlan | Self::Mpls => Rank::from(7),
            Self::Mark => Rank::from(u32::MAX),
            Self::Table | Self::Las | Self::Stfq => Rank::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rank_source_is_refused_with_the_forms() {
        for text in ["", "dcsp", "payload", "payload:1", "payload:x:2", "payload:0:3", "payload:70000:1"] {
            let error = text.parse::<RankSource>().expect_err("not a source");
            assert!(error.contains("payload:OFFSET:WIDTH"), "{error}");
        }
        assert!("dscp:64=1".parse::<RankSource>().expect_err("no DSCP").contains("expected phb, or DSCPs"));
        for text in
            ["dscp", "dscp:phb", "dscp:34=1,46=0", "payload:4:8", "vlan", "mpls", "mark", "table", "las", "stfq"]
        {
            assert_eq!(text.parse::<RankSource>().expect("a source").to_string(), text);
        }
    }

    #[test]
    fn the_worst_rank_is_the_largest_that_the_source_can_give() {
        let worst = |text: &str| text.parse::<RankSource>().expect("a source").worst().get();
        assert_eq!(
            ["dscp", "dscp:phb", "vlan", "mpls", "mark", "payload:0:1", "payload:0:2", "payload:0:4", "payload:0:8"]
                .map(worst),
            [63, 17, 7, 7, 0xffff_ffff, 0xff, 0xffff, 0xffff_ffff, Rank::MAX.get()]
        );
    }
}

//! The rank of a frame: from the frame itself or from a table of flows. A rank function of the library computes it
//! otherwise.

use crate::RankSource;
use crate::frame::{FlowKey, Headers};
use pifolab_units::Rank;

/// A table of flows: the rank of a flow, if the table has one.
pub type LookUp = Box<dyn FnMut(&FlowKey) -> Option<Rank> + Send>;

/// Reads ranks.
pub struct RankReader {
    /// The source of ranks; `None` if a rank function computes them.
    pub source: Option<RankSource>,
    /// The rank of IP frames that carry none.
    pub missing: Rank,
    /// The rank of frames that are not IP; `None` if they have a separate share.
    pub not_ip: Option<Rank>,
    /// The table, for [`RankSource::Table`].
    pub table: Option<LookUp>,
}

impl RankReader {
    /// Reads ranks from `source`; IP frames that carry none get the rank `missing`.
    pub const fn new(source: Option<RankSource>, missing: Rank) -> Self {
        Self { source, missing, not_ip: None, table: None }
    }

    /// Whether frames with an MPLS label have ranks.
    #[inline]
    pub fn reads_labels(&self) -> bool {
        self.source == Some(RankSource::Mpls)
    }

    /// The rank that `frame` carries; `None` if it carries none.
    #[inline]
    pub fn read(&mut self, frame: &[u8], headers: &Headers) -> Option<Rank> {
        match self.source {
            Some(RankSource::Dscp) => headers.dscp.map(|dscp| Rank::from(u32::from(dscp))),
            Some(RankSource::DscpBy(map)) => headers.dscp.map(|dscp| map.rank(dscp)),
            Some(RankSource::Payload { offset, width }) => {
                let from = headers.payload? + usize::from(offset);
                let bytes = frame[..headers.end].get(from..from + usize::from(width))?;
                let value = bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte));
                Some(Rank::saturating(value))
            }
            Some(RankSource::Vlan) => headers.vlan_priority.map(vlan_rank),
            Some(RankSource::Mpls) => headers.traffic_class.map(|class| Rank::from(u32::from(7 - class))),
            Some(RankSource::Table) => self.table.as_mut()?(&headers.flow),
            // Frames do not carry the kernel's mark.
            Some(RankSource::Mark) => None,
            Some(RankSource::Las | RankSource::Stfq) | None => Some(Rank::ZERO),
        }
    }
}

/// VLAN priorities in the order of service: 1 (background) comes after 0 (best effort), as in IEEE 802.1Q.
fn vlan_rank(priority: u8) -> Rank {
    Rank::from(u32::from(if priority > 1 { 7 - priority } else { 6 + priority }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{parse, udp_frame};

    fn rank(source: &str, frame: &[u8]) -> Option<u64> {
        let mut reader = RankReader::new(Some(source.parse().expect("a source")), Rank::MAX);
        reader.read(frame, &parse(frame, reader.reads_labels()).ip().expect("an IP frame")).map(Rank::get)
    }

    #[test]
    fn ranks_are_read_where_they_were_said_to_stand() {
        let frame = udp_frame(41, 1, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(rank("dscp", &frame), Some(41));
        assert_eq!(rank("dscp:phb", &udp_frame(46, 1, &[])), Some(1));
        assert_eq!(rank("dscp:phb", &frame), Some(15));
        assert_eq!(rank("dscp:41=3", &frame), Some(3));
        assert_eq!(rank("payload:0:1", &frame), Some(1));
        assert_eq!(rank("payload:1:2", &frame), Some(0x0203));
        assert_eq!(rank("payload:5:4", &frame), Some(0x0607_0809));
        assert_eq!(rank("payload:1:8", &frame), Some(0x0203_0405_0607_0809));
        assert_eq!(rank("payload:6:4", &frame), None);
        let large = udp_frame(0, 1, &[0xff; 8]);
        assert_eq!(rank("payload:0:8", &large), Some(Rank::MAX.get()));
    }

    #[test]
    fn vlan_priorities_and_mpls_classes_go_from_the_highest_down() {
        let mut tagged = udp_frame(0, 1, b"x");
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        let ranks = [7, 6, 5, 4, 3, 2, 0, 1].map(|priority: u8| {
            tagged[14] = priority << 5;
            rank("vlan", &tagged)
        });
        assert_eq!(ranks, [0, 1, 2, 3, 4, 5, 6, 7].map(Some));
        assert_eq!(rank("vlan", &udp_frame(0, 1, b"x")), None);
        let mut labelled = udp_frame(0, 1, b"x");
        labelled.splice(12..14, [0x88, 0x47, 0, 0, 0x01 | 5 << 1, 64]);
        assert_eq!(rank("mpls", &labelled), Some(2));
        assert_eq!(rank("mpls", &udp_frame(0, 1, b"x")), None);
    }
}

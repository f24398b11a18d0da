//! Ranks of DSCPs. A DSCP is a label without an order; its per-hop behaviour defines the order of service.
//!
//! Traces, the playground, the switch and the eBPF programs share this table.

use crate::Rank;
use core::fmt;
use core::str::FromStr;

/// A per-hop behaviour: its name, its DSCP, and its rank in the order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phb {
    /// The name in the RFCs.
    pub name: &'static str,
    /// The six-bit value in the IP header.
    pub dscp: u8,
    /// The rank; smaller ranks are served first.
    pub rank: u16,
}

const fn phb(name: &'static str, dscp: u8, rank: u16) -> Phb {
    Phb { name, dscp, rank }
}

/// The per-hop behaviours in the order of service of RFC 4594, section 2: routing, telephony and its signalling, the
/// assured classes from the fourth to the first by drop precedence, best effort, and lower-effort traffic. A class
/// selector has the rank of the assured class with its number. Other DSCPs are best effort (RFC 2474, section 3).
pub const PHBS: [Phb; 23] = [
    // RFC 2474, section 4.2.2: class selectors; RFC 4594, section 3: network control.
    phb("CS7", 56, 0),
    phb("CS6", 48, 0),
    // RFC 3246, and RFC 5865 for admitted capacity.
    phb("EF", 46, 1),
    phb("VOICE-ADMIT", 44, 1),
    // RFC 4594, section 4.2: signalling.
    phb("CS5", 40, 2),
    // RFC 2597: classes with three drop precedences.
    phb("CS4", 32, 3),
    phb("AF41", 34, 3),
    phb("AF42", 36, 4),
    phb("AF43", 38, 5),
    phb("CS3", 24, 6),
    phb("AF31", 26, 6),
    phb("AF32", 28, 7),
    phb("AF33", 30, 8),
    phb("CS2", 16, 9),
    phb("AF21", 18, 9),
    phb("AF22", 20, 10),
    phb("AF23", 22, 11),
    phb("AF11", 10, 12),
    phb("AF12", 12, 13),
    phb("AF13", 14, 14),
    phb("DF", 0, BEST_EFFORT),
    // RFC 4594, section 4.10: low priority. RFC 8622 defines the lower-effort behaviour.
    phb("CS1", 8, 16),
    phb("LE", 1, 17),
];

const BEST_EFFORT: u16 = 15;

/// The per-hop behaviour of `dscp`; `None` for best effort and for a DSCP without a name.
#[must_use]
pub fn behaviour(dscp: u8) -> Option<&'static Phb> {
    PHBS.iter().find(|phb| phb.dscp == dscp && phb.dscp != 0)
}

/// The rank of each DSCP.
///
/// ```
/// use pifolab_units::RankMap;
/// let phb: RankMap = "phb".parse()?;
/// assert!(phb.rank(46) < phb.rank(34) && phb.rank(34) < phb.rank(0) && phb.rank(0) < phb.rank(1));
/// let own: RankMap = "EF=0,AF41=1,8=9".parse()?;
/// assert_eq!([46, 34, 8, 0].map(|dscp| own.rank(dscp).get()), [0, 1, 9, 10]);
/// # Ok::<(), pifolab_units::ParseRankMapError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RankMap {
    ranks: [u16; 64],
    /// The rank of the other DSCPs.
    others: u16,
}

impl RankMap {
    /// The ranks of the per-hop behaviours.
    pub const PHB: Self = {
        let (mut ranks, mut at) = ([BEST_EFFORT; 64], 0);
        while at < PHBS.len() {
            ranks[PHBS[at].dscp as usize] = PHBS[at].rank;
            at += 1;
        }
        Self { ranks, others: BEST_EFFORT }
    };

    /// The rank of the low six bits of `dscp`.
    #[inline]
    #[must_use]
    pub fn rank(&self, dscp: u8) -> Rank {
        Rank::from(u32::from(self.ranks[usize::from(dscp & 63)]))
    }

    /// The ranks in the order of the DSCPs.
    #[must_use]
    pub const fn ranks(&self) -> [u16; 64] {
        self.ranks
    }

    /// The largest rank.
    #[must_use]
    pub fn worst(&self) -> Rank {
        Rank::from(u32::from(self.ranks.into_iter().fold(0, u16::max)))
    }
}

/// The error of a text that is not a [`RankMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseRankMapError;

impl fmt::Display for ParseRankMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected phb, or DSCPs (0 to 63, or names such as EF) and their ranks (0 to 65534), each once, such as 46=0,34=1",
        )
    }
}

impl core::error::Error for ParseRankMapError {}

impl FromStr for RankMap {
    type Err = ParseRankMapError;

    /// Parses `phb`, or pairs such as `46=0,AF41=1`. Other DSCPs get the largest rank.
    fn from_str(text: &str) -> Result<Self, ParseRankMapError> {
        if text == "phb" {
            return Ok(Self::PHB);
        }
        let mut listed = [None; 64];
        for pair in text.split(',') {
            let (dscp, rank) = pair.split_once('=').ok_or(ParseRankMapError)?;
            let (dscp, rank) = (dscp.trim(), rank.trim().parse::<u16>().map_err(|_| ParseRankMapError)?);
            let named = PHBS.iter().find(|phb| phb.name.eq_ignore_ascii_case(dscp)).map(|phb| phb.dscp);
            let number = named.or_else(|| dscp.parse().ok()).filter(|dscp| *dscp < 64).ok_or(ParseRankMapError)?;
            if rank == u16::MAX || listed[usize::from(number)].replace(rank).is_some() {
                return Err(ParseRankMapError);
            }
        }
        let others = 1 + listed.iter().flatten().fold(0, |most, rank| *rank.max(&most));
        Ok(Self { ranks: listed.map(|rank| rank.unwrap_or(others)), others })
    }
}

impl fmt::Display for RankMap {
    /// Prints in the format that [`FromStr`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::PHB {
            return f.write_str("phb");
        }
        let listed = self.ranks.iter().enumerate().filter(|(_, rank)| **rank != self.others);
        for (place, (dscp, rank)) in listed.enumerate() {
            write!(f, "{}{dscp}={rank}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for RankMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RankMap({self})")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn behaviours_are_ordered_as_routers_serve_them() {
        let rank =
            |name: &str| PHBS.iter().find(|phb| phb.name == name).map(|phb| RankMap::PHB.rank(phb.dscp)).unwrap();
        let order = [
            "CS6", "EF", "CS5", "AF41", "AF42", "AF43", "AF31", "AF32", "AF33", "AF21", "AF22", "AF23", "AF11", "AF12",
            "AF13", "DF", "CS1", "LE",
        ];
        assert!(order.map(rank).is_sorted_by(|a, b| a < b));
        assert_eq!((rank("CS7"), rank("VOICE-ADMIT"), rank("CS4")), (rank("CS6"), rank("EF"), rank("AF41")));
        // A DSCP without a name is best effort, and each name has a different DSCP.
        assert_eq!(RankMap::PHB.rank(63), rank("DF"));
        let mut dscps: Vec<u8> = PHBS.iter().map(|phb| phb.dscp).collect();
        dscps.sort_unstable();
        dscps.dedup();
        assert_eq!(dscps.len(), PHBS.len());
        // The DSCPs of AF are 8 x class + 2 x precedence (RFC 2597, section 6), those of CS 8 x class (RFC 2474).
        for phb in PHBS {
            let digits: Vec<u8> = phb.name.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
            match (&phb.name[..2], digits.as_slice()) {
                ("AF", [class, precedence]) => assert_eq!(phb.dscp, 8 * class + 2 * precedence),
                ("CS", [class]) => assert_eq!(phb.dscp, 8 * class),
                _ => assert!(["EF", "VOICE-ADMIT", "DF", "LE"].contains(&phb.name)),
            }
        }
        assert_eq!((behaviour(46).map(|phb| phb.name), behaviour(0), behaviour(63)), (Some("EF"), None, None));
    }

    #[test]
    fn what_is_written_is_read_again_and_others_are_refused() {
        for text in ["phb", "46=0,34=1", "0=9,46=0", "63=65534"] {
            let read: RankMap = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
        let named: RankMap = "ef=0, af41 = 1".parse().unwrap();
        assert_eq!(named.to_string(), "34=1,46=0");
        assert_eq!((named.worst().get(), RankMap::PHB.worst().get()), (2, 17));
        for text in ["", "46", "46=", "=1", "64=0", "46=65535", "46=-1", "46=0,EF=1", "XX=1", "46=0,", "PHB"] {
            assert_eq!(text.parse::<RankMap>(), Err(ParseRankMapError), "{text}");
        }
    }
}

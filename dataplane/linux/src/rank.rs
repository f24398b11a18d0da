//! Sources of ranks, and the treatment of packets without a rank: command-line options that both data planes share.

pub mod table;

use crate::{Error, Result};
pub use pifolab_frames::{RANK_FORMS, RankSource};
use pifolab_units::Rank;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A given rank, or the worst one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GivenRank {
    /// The largest rank that packets can carry.
    #[default]
    Worst,
    /// This rank.
    Rank(Rank),
}

impl FromStr for GivenRank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "worst" {
            return Ok(Self::Worst);
        }
        let rank = text.parse().ok().and_then(Rank::new);
        rank.map(Self::Rank).ok_or_else(|| format!("{text:?}: expected worst, or a rank from 0 to {}", Rank::MAX.get()))
    }
}

impl fmt::Display for GivenRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worst => f.write_str("worst"),
            Self::Rank(rank) => write!(f, "{}", rank.get()),
        }
    }
}

/// The treatment of frames that are not IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotIp {
    /// Around the scheduler, before ranked packets, but at most at this share of the link, in 65536ths.
    Share(u32),
    /// Through the scheduler, with this rank.
    Rank(GivenRank),
}

/// The whole link, as a share.
pub const WHOLE: u32 = 1 << 16;

impl Default for NotIp {
    fn default() -> Self {
        Self::Share(WHOLE / 20)
    }
}

impl FromStr for NotIp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.strip_prefix("share:") else {
            return text
                .parse()
                .map(Self::Rank)
                .map_err(|_| format!("{text:?}: expected share:PERCENT (from 0.1 to 50), worst, or a rank"));
        };
        let percent = percent.parse::<f64>().ok().filter(|percent| (0.1..=50.0).contains(percent));
        let percent = percent.ok_or_else(|| format!("{text:?}: expected a share from 0.1 to 50 percent"))?;
        Ok(Self::Share((percent / 100.0 * f64::from(WHOLE)) as u32))
    }
}

impl fmt::Display for NotIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "share:{:.1}", 100.0 * f64::from(*share) / f64::from(WHOLE)),
            Self::Rank(rank) => rank.fmt(f),
        }
    }
}

/// What becomes of packets without a rank, and where the table is.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct RankOptions {
    /// Rank of IP packets that carry none: worst (the largest that --rank can give) or a number
    #[arg(long, value_name = "RANK", default_value_t)]
    pub rank_missing: GivenRank,
    /// Where frames go that are not IP: share:PERCENT (of the link at most, before ranked packets), worst, or a rank
    #[arg(long, value_name = "WHERE", default_value_t)]
    pub rank_not_ip: NotIp,
    /// With --rank table: a file of flows and prefixes with their ranks; read again whenever it changes
    #[arg(long, value_name = "FILE")]
    pub rank_table: Option<PathBuf>,
}

impl RankOptions {
    /// The rank of an IP packet without a rank, if ranks come from `source` (and `table`).
    pub fn missing(&self, source: RankSource, table: Option<&table::Table>) -> Rank {
        self.given(self.rank_missing, source, table)
    }

    /// The rank of a frame that is not IP, unless such frames have a share.
    pub fn not_ip(&self, source: RankSource, table: Option<&table::Table>) -> Option<Rank> {
        match self.rank_not_ip {
            NotIp::Share(_) => None,
            NotIp::Rank(rank) => Some(self.given(rank, source, table)),
        }
    }

    fn given(&self, rank: GivenRank, source: RankSource, table: Option<&table::Table>) -> Rank {
        match (rank, table) {
            (GivenRank::Rank(rank), _) => rank,
            (GivenRank::Worst, Some(table)) => Rank::saturating(table.largest()),
            (GivenRank::Worst, None) => source.worst(),
        }
    }

    /// Reads the table, if `source` requires one.
    pub fn read_table(&self, source: Option<RankSource>) -> Result<Option<table::Table>> {
        match (&self.rank_table, source) {
            (Some(path), Some(RankSource::Table)) => table::Table::read(path, table::Values::Ranks).map(Some),
            (None, Some(RankSource::Table)) => {
                Err(Error::Usage("--rank table: --rank-table FILE is missing: the file with the ranks".to_owned()))
            }
            (Some(path), _) => {
                Err(Error::Usage(format!("--rank-table {}: has no effect without --rank table", path.display())))
            }
            (None, _) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_given_ranks_are_read_and_others_refused() {
        assert_eq!("share:5".parse(), Ok(NotIp::default()));
        assert_eq!("12".parse(), Ok(NotIp::Rank(GivenRank::Rank(Rank::from(12)))));
        assert_eq!("worst".parse(), Ok(NotIp::Rank(GivenRank::Worst)));
        for text in ["share:0", "share:51", "share:x", "share", "-1", "9223372036854775808", "best"] {
            text.parse::<NotIp>().expect_err("refused");
        }
        for text in ["-1", "best", ""] {
            assert!(text.parse::<GivenRank>().expect_err("refused").contains("worst"));
        }
        let options = RankOptions::default();
        assert_eq!(
            (options.rank_missing.to_string(), options.rank_not_ip.to_string()),
            ("worst".into(), "share:5.0".into())
        );
    }
}

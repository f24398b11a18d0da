//! What a row in the list of rank functions says. Code that needs one of these reads the row, never the name.

use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Facts, RankFn, Scheduler};
use alloc::boxed::Box;

/// A scheduler chosen at run time.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

/// A rank function that can be built from text.
pub struct RankEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
    /// What its ranks are the size of, if they count bytes, for the axes of figures.
    pub size_of: Option<&'static str>,
    /// Whether its ranks depend on the time of a call.
    pub reads_time: bool,
    /// Builds it from its arguments; every argument must be known and have an effect.
    pub build: fn(Args) -> Result<BoxedRankFn, ParamError>,
}

impl RankEntry {
    /// The same row, of a rank function that reads the time.
    pub(crate) const fn timed(self) -> Self {
        Self { reads_time: true, ..self }
    }

    /// What it must be told about each packet.
    ///
    /// # Panics
    /// If it cannot be built without arguments.
    pub fn needs(&self) -> Facts {
        (self.build)(Args::new(self.info.name)).expect("a rank function has defaults").needs()
    }
}

/// A row for a rank function whose ranks are sizes in bytes.
pub(crate) const fn size_rank<R: FromArgs + RankFn + Send + 'static>(size_of: &'static str) -> RankEntry {
    RankEntry { size_of: Some(size_of), ..rank::<R>() }
}

/// A rank function chosen at run time.
pub type BoxedRankFn = Box<dyn RankFn + Send>;

pub(crate) const fn rank<R: FromArgs + RankFn + Send + 'static>() -> RankEntry {
    RankEntry { info: &R::INFO, size_of: None, reads_time: false, build: |args| Ok(Box::new(R::build(args)?)) }
}

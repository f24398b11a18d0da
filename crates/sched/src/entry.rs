//! A row in the list of rank functions. Code reads the properties of a rank function from its row, never from its name.

use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Facts, RankFn, Scheduler};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

/// A scheduler chosen at run time.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

/// A rank function that can be built from text.
#[derive(Debug)]
pub struct RankEntry {
    /// Its description for users.
    pub info: &'static Info,
    /// What its ranks measure if they count bytes: a label for the axes of figures.
    pub size_of: Option<&'static str>,
    /// Whether its ranks depend on the time of a call.
    pub reads_time: bool,
    /// Whether it counts arrivals: each rank is larger than all before it.
    pub counts_arrivals: bool,
    /// Whether it also gives each packet an earliest time to leave, which only schedulers that are not work-conserving read.
    pub sets_times: bool,
    /// Reads its arguments. Each must be known and have an effect.
    pub read: fn(Args) -> Result<MadeRank, ParamError>,
}

impl RankEntry {
    /// The same row for a rank function that reads the time.
    pub(crate) const fn timed(self) -> Self {
        Self { reads_time: true, ..self }
    }

    /// The same row for a rank function that gives packets earliest times to leave.
    pub(crate) const fn pacing(self) -> Self {
        Self { sets_times: true, ..self }
    }

    /// The same row for a rank function that counts arrivals.
    pub(crate) const fn counting(self) -> Self {
        Self { counts_arrivals: true, ..self }
    }

    /// The rank function with these arguments.
    ///
    /// # Errors
    /// Arguments that the rank function refuses.
    pub fn build(&self, args: Args) -> Result<BoxedRankFn, ParamError> {
        Ok((self.read)(args)?.rank_fn())
    }

    /// The facts that it needs about each packet.
    ///
    /// # Panics
    /// If it cannot be built without arguments.
    pub fn needs(&self) -> Facts {
        self.build(Args::new(self.info.name)).expect("a rank function has defaults").needs()
    }
}

/// A row for a rank function whose ranks are sizes in bytes.
pub(crate) const fn size_rank<R: FromArgs + RankFn + Clone + Send + Sync + 'static>(
    size_of: &'static str,
) -> RankEntry {
    RankEntry { size_of: Some(size_of), ..rank::<R>() }
}

/// A rank function chosen at run time.
pub type BoxedRankFn = Box<dyn RankFn + Send>;

/// A factory of one rank function with checked arguments: it makes any number of them without reading an argument
/// again.
#[derive(Clone)]
pub struct MadeRank(Arc<dyn Unused>);

/// A rank function that has ranked no packet yet and can be copied.
trait Unused: Send + Sync {
    fn copy(&self) -> BoxedRankFn;
    fn any(&self) -> &dyn Any;
}

impl<R: RankFn + Clone + Send + Sync + 'static> Unused for R {
    fn copy(&self) -> BoxedRankFn {
        Box::new(self.clone())
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl MadeRank {
    /// A new rank function.
    pub fn rank_fn(&self) -> BoxedRankFn {
        self.0.copy()
    }

    /// The original that is copied, if it is an `R`.
    pub fn unused<R: 'static>(&self) -> Option<&R> {
        self.0.any().downcast_ref()
    }
}

impl fmt::Debug for MadeRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MadeRank")
    }
}

pub(crate) const fn rank<R: FromArgs + RankFn + Clone + Send + Sync + 'static>() -> RankEntry {
    RankEntry {
        info: &R::INFO,
        size_of: None,
        reads_time: false,
        counts_arrivals: false,
        sets_times: false,
        read: |args| Ok(MadeRank(Arc::new(R::build(args)?))),
    }
}

//! Deciders that reproduce the papers' published simulations, which are all forks of Netbench. Their admission tests,
//! arithmetic and windows differ from the papers' algorithms. The algorithms in `pifolab-sched` do not depend on this
//! crate.

mod aifo;
mod live_window;
mod netbench;
mod packs;
mod rifo;

pub use aifo::{Aifo, AifoVariant, Compare};
pub use live_window::{LiveAdmission, LiveRank, LiveTest, LiveWindow};
pub use packs::Packs;
pub use rifo::Rifo;

use pifolab_params::{Param, choices};

choices! {
    /// The arithmetic of a test.
    #[derive(Default)]
    pub enum Arithmetic {
        #[default]
        Exact = "exact": "integers, without rounding",
        /// k and 1 - k are 32-bit floating point, the rest is 64-bit.
        Netbench = "netbench": "the published simulations' mix of 32- and 64-bit floating point",
    }
}

/// The row of the arithmetic of AIFO's and PACKS's tests.
pub const ARITHMETIC: Param = Param::choice::<Arithmetic>("arithmetic")
    .or_word(Arithmetic::Exact.word())
    .doc("The arithmetic of the test; netbench is for repeating published runs, with compare = lt.");

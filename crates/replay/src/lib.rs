//! What repeats the papers' published simulations, all of them forks of Netbench: admission tests, arithmetic and windows that
//! differ from the papers' algorithms. Each is a decider of its own; the algorithms of `pifolab-sched` know nothing of them.

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
    /// In what numbers a test is done.
    #[derive(Default)]
    pub enum Arithmetic {
        #[default]
        Exact = "exact": "integers, without rounding",
        /// k and 1 - k are in 32-bit floating point, the rest in 64-bit.
        Netbench = "netbench": "the published simulations' mix of 32- and 64-bit floating point",
    }
}

/// The numbers of AIFO's and PACKS's tests.
pub const ARITHMETIC: Param = Param::choice::<Arithmetic>("arithmetic")
    .or_word(Arithmetic::Exact.word())
    .doc("The arithmetic of the test; netbench is for repeating published runs, with compare = lt.");

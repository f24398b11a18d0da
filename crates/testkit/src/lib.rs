//! Compares every scheduler with its contract and with an oracle: a slow, obvious transliteration of the papers'
//! pseudo-code that shares no data structure with the library. For development only.
//!
//! A [`Case`] (settings and operations) is decoded from plain bytes. Property tests, fuzz targets and the writer of
//! `conformance/` all use such bytes, which `proptest` and libFuzzer shrink and mutate. The file of a scheduler's
//! oracle adds the scheduler.

mod case;
mod contract;
mod double;
mod draw;
mod flows;
mod line;
mod oracle;
mod oracles;
mod settings;
mod source;
pub mod suite;
pub mod vectors;

pub use case::{Answer, Case, Offer, Op, Ranks};
pub use double::Double;
pub use oracle::Oracle;
pub use settings::Settings;
pub use source::Source;

/// The settings of a property test: `cases` cases unless `PROPTEST_CASES` sets another number, and no file of failures.
/// Fewer cases under Miri, which is slow, with a cheaper random generator.
pub fn cases(cases: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config { failure_persistence: None, ..Default::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if cfg!(miri) {
        let rng_algorithm = proptest::test_runner::RngAlgorithm::XorShift;
        return proptest::test_runner::Config { cases: config.cases.min(2), rng_algorithm, ..config };
    }
    config
}

/// The number of steps of a test loop: `few` under Miri, which takes about a thousand times as long, else `usual`.
pub const fn steps(usual: u64, few: u64) -> u64 {
    if cfg!(miri) { few } else { usual }
}

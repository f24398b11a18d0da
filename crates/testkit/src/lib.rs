//! Holds every scheduler to its contract and to an oracle: a slow, obvious transliteration of the papers' pseudo-code
//! that shares no data structure with the library. Development only.
//!
//! A [`Case`] (settings and operations) is decoded from plain bytes, so that property tests, fuzz targets and the
//! writer of `conformance/` draw from one source: `proptest` and libFuzzer shrink and mutate the bytes. A scheduler joins
//! with the file of its oracle.

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

/// The settings of a property test: so many cases, and no file of failures. Under Miri, which interprets, few of them, and
/// random numbers of the cheap kind.
pub fn cases(cases: u32) -> proptest::test_runner::Config {
    let config = proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() };
    if cfg!(miri) {
        let rng_algorithm = proptest::test_runner::RngAlgorithm::XorShift;
        return proptest::test_runner::Config { cases: cases.min(2), rng_algorithm, ..config };
    }
    config
}

/// The steps of a test that loops: `few` under Miri, which interprets and takes about a thousand times as long.
pub const fn steps(usual: u64, few: u64) -> u64 {
    if cfg!(miri) { few } else { usual }
}

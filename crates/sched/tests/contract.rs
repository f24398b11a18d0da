//! Tests every scheduler of the library against the contract and its oracle, on random operation sequences under random
//! settings: one test for each file of oracles.

use pifolab_testkit::{Case, suite};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

fn keeps_the_contract_and_follows_its_oracle(name: &str) {
    let lines: Vec<_> = suite::lines_of(name).collect();
    assert!(!lines.is_empty(), "no line of the suite is about {name}");
    for line in lines {
        let config = pifolab_testkit::cases(512);
        // The same cases on every machine and in every run, so that failures are reproducible.
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let check = |case: Case| suite::check(line, &case).map_err(TestCaseError::fail);
        match TestRunner::new_with_rng(config, random).run(&Case::strategy(line.settings), check) {
            Ok(()) => {}
            Err(TestError::Fail(reason, case)) => panic!("{reason}\nsmallest case: {:#?}", case.ops),
            Err(error) => panic!("{error}"),
        }
    }
}

macro_rules! tests {
    ($($oracle:ident)*) => {
        $(
            #[test]
            fn $oracle() {
                keeps_the_contract_and_follows_its_oracle(&stringify!($oracle).replace('_', "-"));
            }
        )*

        #[test]
        fn every_line_of_the_suite_is_run() {
            for line in suite::lines() {
                assert!([$(stringify!($oracle)),*].contains(&&*line.name.replace('-', "_")), "{} is not run", line.name);
            }
        }
    };
}

pifolab_testkit::each_oracle!(tests);

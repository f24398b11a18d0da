//! Every scheduler of the library, held to the contract and to its oracle on random operation sequences under random
//! settings: one line each.

use pifolab_testkit::{Case, suite};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

fn keeps_the_contract_and_follows_its_oracle(name: &str) {
    let lines: Vec<_> = suite::lines_of(name).collect();
    assert!(!lines.is_empty(), "{name} has no line in the suite");
    for line in lines {
        let config = pifolab_testkit::cases(512);
        // The same cases on every machine and in every run: a failure is a failure for all.
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let check = |case: Case| suite::check(line, &case).map_err(TestCaseError::fail);
        match TestRunner::new_with_rng(config, random).run(&Case::strategy(line.settings), check) {
            Ok(()) => {}
            Err(TestError::Fail(reason, case)) => panic!("{reason}\nsmallest case: {:#?}", case.ops),
            Err(error) => panic!("{error}"),
        }
    }
}

macro_rules! suite {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                keeps_the_contract_and_follows_its_oracle($name);
            }
        )*

        #[test]
        fn every_line_of_the_suite_is_run() {
            for line in suite::LINES {
                assert!([$($name),*].contains(&line.name), "{} is not run", line.name);
            }
        }
    };
}

suite! {
    fifo: "fifo",
    pifo: "pifo",
    strict_priority: "strict-priority",
    sp_pifo: "sp-pifo",
    sp_pifo_greedy: "sp-pifo-greedy",
    sp_pifo_optimal: "sp-pifo-optimal",
    slack_sp: "slack-sp",
    spring: "spring",
    aifo: "aifo",
    packs: "packs",
    rifo: "rifo",
    exp_pifo: "exp-pifo",
    afq: "afq",
    pieo: "pieo",
}

//! Operation sequences and settings of schedulers: the contract holds, and every answer is the oracle's. The environment variable
//! SCHEDULER names one of them, by whose branches the fuzzer is guided then; without it every input goes to all.
#![no_main]

use pifolab_testkit::suite;
use std::sync::LazyLock;

static SCHEDULER: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("SCHEDULER").ok());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| suite::check_bytes(SCHEDULER.as_deref(), bytes));

//! Operation sequences and settings of slack-sp: the contract holds, and every answer is the oracle's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pifolab_testkit::suite::check_bytes("slack-sp", bytes));

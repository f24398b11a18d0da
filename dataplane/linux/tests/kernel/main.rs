//! The eBPF data plane in the kernel: decisions against the library's, and the life of a data plane on an interface.
//!
//! Tests that need rights or kernel features which are missing say so and end; with `DATAPLANE_REQUIRE=K` in the
//! environment they fail instead.
#![cfg(feature = "ebpf")]

mod changes;
mod composed;
mod decisions;
mod frames;
mod life;
mod owners;
mod per_queue;
mod ranks;
mod traffic;

use pifolab_dataplane::doctor;
use pifolab_registry::find_scheduler;
use pifolab_sched::params::Args;

/// Why tier K (programs in the kernel, HTB) cannot be tested here.
fn missing() -> Option<String> {
    doctor::load_classifier().and_then(|_| pifolab_dataplane::net::tc::try_qdisc("htb")).err()
}

/// Whether to go on; a skip says why, and is a failure where the tier is required.
fn can_run(test: &str) -> bool {
    let Some(reason) = missing() else { return true };
    let required = std::env::var("DATAPLANE_REQUIRE").is_ok_and(|tiers| tiers.contains('K'));
    assert!(!required, "{test} cannot run, and DATAPLANE_REQUIRE asks for it: {reason}");
    // Past the test harness, which would keep it to itself: nobody must take a skip for a test that passed.
    static TOLD: std::sync::Once = std::sync::Once::new();
    TOLD.call_once(|| {
        let line = format!("skipped every test of the kernel's data plane: {reason}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    });
    false
}

/// Arguments as a command line gives them: `window=20 k=0.1 update=after`.
fn arguments(scheduler: &str, text: &str) -> Args {
    let pairs = text.split_ascii_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
    // A name that the library does not have is for the program to refuse.
    let info = find_scheduler(scheduler).map(|entry| entry.info);
    info.map_or_else(|_| Args::new(scheduler), |info| info.arguments(&pairs.collect::<Vec<_>>()))
}

/// A small generator (Knuth's MMIX), so that tests repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 16) % limit
    }
}

//! Any text as a scenario, on one link or on a network: an error of one line that names the file, or a specification
//! whose resolved form is whole. Nothing is run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_scenario::{Spec, ValidSpec};

const TOPOLOGY: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n\
                        access_rate_gbps = 1\nfabric_rate_gbps = 4\ndelay_us = 1\n";
const TRANSPORT: &str = "[transport]\nname = \"pfabric\"\n";
const FLOWS: &str = "[workload.flows]\narrivals = \"poisson\"\nload = 0.8\nsizes = \"fixed\"\nsize_bytes = 9000\n\
                     pairs = \"uniform\"\n";
const SCHEDULER: &str = "[[scheduler]]\nname = \"pifo\"\n";

/// Scenarios on networks that are whole but for what comes last: anything, or the rest of a table.
const NETWORKS: [[&str; 4]; 6] = [
    [TOPOLOGY, TRANSPORT, FLOWS, SCHEDULER],
    [TOPOLOGY, TRANSPORT, FLOWS, "[[scheduler]]\n"],
    [TOPOLOGY, TRANSPORT, SCHEDULER, "[workload.flows]\n"],
    [TRANSPORT, FLOWS, SCHEDULER, "[topology]\n"],
    [TOPOLOGY, FLOWS, SCHEDULER, "[transport]\n"],
    [TOPOLOGY, TRANSPORT, FLOWS, ""],
];

/// Texts that name other files would be about those files.
fn names_a_file(text: &str) -> bool {
    let text = text.replace("profile", "");
    ["trace", "file", "list"].iter().any(|word| text.contains(word))
}

/// Whether a number in the text has more than `digits` digits, or is not decimal. Whole networks are laid out before they
/// are refused or run, so large ones would be about memory.
fn has_longer_number(text: &str, digits: usize) -> bool {
    ["0x", "0o", "0b"].iter().any(|prefix| text.contains(prefix))
        || text
            .split(|c: char| !c.is_ascii_digit() && c != '_')
            .any(|run| run.bytes().filter(u8::is_ascii_digit).count() > digits)
}

fuzz_target!(|input: (u8, &str)| {
    let (start, rest) = input;
    if names_a_file(rest) {
        return;
    }
    // The first half of the starts is none: a scenario on one link, whose rate is given.
    let network = usize::from(start).checked_sub(128).map(|start| NETWORKS[start % NETWORKS.len()]);
    let spec = match network {
        None => Spec::parse(rest, "fuzz").and_then(|mut spec| {
            spec.set("link.rate_gbps", "10")?;
            ValidSpec::new(spec, &())
        }),
        Some(start) => {
            // A fat tree has k^3 / 4 hosts.
            if has_longer_number(rest, if rest.contains("fat") { 1 } else { 2 }) {
                return;
            }
            let text = format!("duration_ms = 1\n{}{rest}", start.concat());
            Spec::parse(&text, "fuzz").and_then(|spec| ValidSpec::new(spec, &()))
        }
    };
    match spec {
        Ok(spec) => {
            assert!(!spec.seeds().is_empty());
            let resolved = spec.resolved();
            assert!(resolved["scheduler"].is_array());
            match (&spec, network) {
                (ValidSpec::OneLink(_), None) => assert!(resolved["link"]["rate_bps"].is_u64()),
                (ValidSpec::Network(_), Some(_)) => {
                    assert!(resolved["topology"].is_object() && resolved["transport"].is_object());
                }
                (other, _) => panic!("read as something else: {other:?}"),
            }
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("fuzz") && !error.contains('\n'), "{error}");
        }
    }
});

//! Any text as a network, in TOML or as other tools write it: an error of one line that names the file, or a network
//! whose links go both ways between nodes that exist.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_units::{Rate, Span};

/// Where larger networks would be about memory.
const MOST_DIGITS: usize = 4;

/// Names of files, and how one of that kind begins.
const KINDS: [(&str, &str); 5] = [
    ("fuzz.toml", "hosts = 2\nswitches = 2\nrate_gbps = 1\ndelay_us = 1\n[[link]]\n"),
    ("fuzz.topology", "|V|=4\n|E|=4\nServers=set(0,1)\n"),
    (
        "fuzz.graphml",
        "<graphml><key id=\"t\" attr.name=\"type\"/><graph><node id=\"0\"><data key=\"t\">host</data></node><node id=\"1\"/>",
    ),
    ("fuzz.txt", "4 2 3\n2 3\n"),
    ("fuzz.topo", "Nodes 4\nTiers 2\nPodsize 4\nTier 0\n"),
];

fuzz_target!(|input: (u8, bool, &str)| {
    let (kind, with_head, rest) = input;
    if rest.split(|c: char| !c.is_ascii_digit() && c != '_').any(|run| run.len() > MOST_DIGITS) {
        return;
    }
    let (file, head) = KINDS[usize::from(kind) % KINDS.len()];
    let head = if with_head { head } else { "" };
    match pifolab_scenario::read_topology(&format!("{head}{rest}"), file, Rate::from_gbps(1), Span::from_us(1)) {
        Ok(network) => {
            assert!(network.hosts <= network.nodes);
            let goes = |from, to| network.links.iter().any(|link| (link.from, link.to) == (from, to));
            for link in &network.links {
                assert!(link.from < network.nodes && link.to < network.nodes && link.from != link.to);
                assert!(goes(link.to, link.from));
            }
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("fuzz") && !error.contains('\n'), "{error}");
        }
    }
});

//! Any text as a network, in TOML or as an edge list of Netbench: an error of one line that names the file, or a network
//! whose links go both ways between nodes that exist.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_units::{Rate, Span};

/// Where larger networks would be about memory.
const MOST_DIGITS: usize = 4;

fuzz_target!(|input: (bool, bool, &str)| {
    let (as_edges, with_head, rest) = input;
    if rest.split(|c: char| !c.is_ascii_digit() && c != '_').any(|run| run.len() > MOST_DIGITS) {
        return;
    }
    let head = match (with_head, as_edges) {
        (false, _) => "",
        (true, true) => "|V|=4\n|E|=4\nServers=set(0,1)\n",
        (true, false) => "hosts = 2\nswitches = 2\nrate_gbps = 1\ndelay_us = 1\n[[link]]\n",
    };
    let rates = (Rate::from_gbps(1), Rate::from_gbps(4), Span::from_us(1));
    match pifolab_scenario::read_topology(&format!("{head}{rest}"), "fuzz", as_edges.then_some(rates)) {
        Ok(network) => {
            assert!(network.hosts > 0 && network.hosts <= network.nodes);
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

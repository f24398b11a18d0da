//! The parts of a network that have names of their own, for whoever lists and explains them: transports and topologies.

use crate::spec::topology::TOPOLOGY;
use crate::spec::transport;
use pifolab_params::{Param, Word};

/// A part of a network, as its section calls it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// The keys that may stand beside its name, from the table that reads them.
    pub params: Vec<Param>,
}

impl Part {
    fn new((name, summary): Word, params: Vec<Param>) -> Self {
        Self { name, summary, params }
    }
}

/// What flows are sent with, by what `transport.name` calls it: every congestion controller, and what is more than one.
pub fn transports() -> Vec<Part> {
    transport::each().map(|(word, rows)| Part::new(word, rows)).collect()
}

/// The kinds of networks, by what `topology.kind` calls them.
pub fn topologies() -> Vec<Part> {
    let of = |kind: &Param, word: &Word| {
        let own = kind.cases().iter().filter(|(name, _)| *name == word.0).flat_map(|(_, rows)| *rows);
        Part::new(*word, own.copied().collect())
    };
    TOPOLOGY.iter().flat_map(|kind| kind.words().iter().map(move |word| of(kind, word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_keys_and_no_others() {
        let keys = |parts: &[Part], name: &str| -> Vec<&str> {
            let part = parts.iter().find(|part| part.name == name).unwrap();
            part.params.iter().map(|param| param.name).collect()
        };
        let (transports, topologies) = (transports(), topologies());
        assert_eq!(keys(&topologies, "fat-tree"), ["k", "access_rate", "fabric_rate", "delay"]);
        assert_eq!(keys(&topologies, "two-hosts"), ["rate", "delay"]);
        assert_eq!(keys(&transports, "udp"), ["rank", "ack_rank", "payload_bytes", "interval"]);
        let dctcp = keys(&transports, "dctcp");
        assert!(dctcp.ends_with(&["rank", "ack_rank", "gain", "initial_alpha", "cut"]) && !dctcp.contains(&"ecn"));
        let mut names: Vec<_> = transports.iter().chain(&topologies).map(|part| part.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), transports.len() + topologies.len(), "a name is one thing");
    }
}

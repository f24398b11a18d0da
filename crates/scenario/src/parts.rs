//! The named parts of a network, for lists and descriptions: transports and topologies.

use crate::spec::topology::TOPOLOGY;
use crate::spec::transport::TRANSPORT;
use pifolab_params::Param;

/// A part of a network.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name in the section.
    pub name: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
    /// The keys that may accompany its name, from the table that reads them.
    pub params: &'static [Param],
}

/// The transports, by their name in `transport.name`: every congestion controller, and transports that are more than
/// one.
pub fn transports() -> Vec<Part> {
    cases(TRANSPORT).collect()
}

/// The kinds of networks, by their name in `topology.kind`.
pub fn topologies() -> Vec<Part> {
    cases(TOPOLOGY).collect()
}

/// The words of the key that selects the other keys, with the keys of each.
fn cases(rows: &'static [Param]) -> impl Iterator<Item = Part> {
    rows.iter().flat_map(|row| row.words().iter().zip(row.cases())).map(|((name, summary), (case, params))| {
        assert_eq!(name, case, "the cases of a choice have the order of its words");
        Part { name, summary, params }
    })
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

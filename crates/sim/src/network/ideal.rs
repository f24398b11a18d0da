//! The completion time of a flow that has the network to itself: what slowdowns are relative to.

use super::config::Config;
use super::engine::Network;
use super::result::RunError;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::collections::BTreeMap;

impl Network {
    /// For each flow, its completion time alone in this network, with the same transport, ports and path; `None` where
    /// it would never complete (a datagram that no queue can hold).
    ///
    /// Measured, not computed: one run for each size and kind of path (the rates and delays along it, both ways), so a
    /// slowdown of 1 can be attained. Flows of one kind share one run; the cost grows with the number of different
    /// sizes.
    ///
    /// # Errors
    /// If a flow does not fit the network, or packets are not conserved.
    pub fn ideal_fcts(&self, flows: &[Flow]) -> Result<Vec<Option<Span>>, RunError> {
        let alone = Network::new(Config {
            end: Time::from_ps(u64::MAX / 2),
            link_changes: Vec::new(),
            ..self.config().clone()
        })?;
        let mut routes = self.routes().clone();
        let mut known = BTreeMap::new();
        flows
            .iter()
            .map(|flow| {
                let mut path = Vec::new();
                for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                    let hash = routes.path_hash(from, to, flow.id);
                    let mut node = from;
                    while node != to {
                        // Where there is no way, the run below says so.
                        let Some(port) = routes.first_port(node, to, hash) else { break };
                        let link = &self.config().topology.links[port as usize];
                        path.push((link.rate, link.delay));
                        node = link.to;
                    }
                }
                let key = (flow.bytes, path);
                if let Some(fct) = known.get(&key) {
                    return Ok(*fct);
                }
                let result = alone.run(&[Flow { start: Time::ZERO, ..*flow }], &mut ())?;
                let fct = result.flows[0].fct;
                known.insert(key, fct);
                Ok(fct)
            })
            .collect()
    }
}

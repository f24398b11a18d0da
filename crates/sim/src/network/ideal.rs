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
        let alone = self.without_end();
        self.ideal_fcts_by(flows, |_| true, |flow| alone.fct_alone(flow))
    }

    /// As [`ideal_fcts`](Self::ideal_fcts), for the flows at the `wanted` places alone, `None` elsewhere. `alone` runs
    /// one flow of each kind: where ports cannot be made anew, it does so in a network of its own.
    ///
    /// # Errors
    /// Those of `alone`.
    pub fn ideal_fcts_by<E>(
        &self,
        flows: &[Flow],
        wanted: impl Fn(usize) -> bool,
        mut alone: impl FnMut(&Flow) -> Result<Option<Span>, E>,
    ) -> Result<Vec<Option<Span>>, E> {
        let mut routes = self.routes().clone();
        let mut known = BTreeMap::new();
        let mut ideal_fct = |flow: &Flow| {
            let mut path = Vec::new();
            for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                let hash = routes.path_hash(from, to, flow.id);
                let mut node = from;
                while node != to {
                    // Where there is no way, the run of the flow says so.
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
            let fct = alone(flow)?;
            known.insert(key, fct);
            Ok(fct)
        };
        let of = |(place, flow)| if wanted(place) { ideal_fct(flow) } else { Ok(None) };
        flows.iter().enumerate().map(of).collect()
    }

    /// The same network, whose links stay as they are and whose runs go on until nothing happens any more.
    #[must_use]
    pub fn without_end(&self) -> Self {
        let end = Time::from_ps(u64::MAX / 2);
        self.with_config(Config { end, link_changes: Vec::new(), ..self.config().clone() })
    }

    /// The completion time of `flow` when it runs here by itself, from time 0.
    ///
    /// # Errors
    /// If the flow does not fit the network, or packets are not conserved.
    pub fn fct_alone(&self, flow: &Flow) -> Result<Option<Span>, RunError> {
        let result = self.run(&[Flow { start: Time::ZERO, ..*flow }], &mut ())?;
        Ok(result.flows[0].fct)
    }
}

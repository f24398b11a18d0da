//! The completion time of a flow alone in the network, to which slowdowns are relative.

use super::config::Config;
use super::result::RunError;
use super::routing::Routing;
use super::simulation::Network;
use pifolab_units::{Rate, Span, Time};
use pifolab_workload::flows::Flow;
use std::collections::BTreeMap;

/// Rate and delay of a link on a path.
type Hop = (Rate, Span);

impl Network {
    /// For each of the flows at the `wanted` places, its completion time alone in this network, with the same
    /// transport, ports and path; `None` for the others, and for flows that would never complete (a datagram that no
    /// queue can hold).
    ///
    /// Measured, not computed: one run for each size and kind of path (the rates and delays along it, both ways), so a
    /// slowdown of 1 can be attained. Flows of one kind share one run; the cost grows with the number of different
    /// sizes. A run has no more ports than the path, unless packets are sprayed or
    /// forwarded by programs.
    ///
    /// # Errors
    /// If a flow does not fit the network, or packets are not conserved.
    pub fn ideal_fcts(&self, flows: &[Flow], wanted: impl Fn(usize) -> bool) -> Result<Vec<Option<Span>>, RunError> {
        let whole = self.without_end();
        // All flows of a kind use the hosts and the path of the first one.
        let mut narrow: BTreeMap<Vec<Hop>, (Flow, Self)> = BTreeMap::new();
        self.of_each_kind(flows, wanted, |flow, ports, kind| {
            if self.config().forwarders.is_some() || matches!(self.config().routing, Routing::Spray { .. }) {
                return whole.fct_alone(flow);
            }
            if !narrow.contains_key(kind) {
                narrow.insert(kind.to_vec(), (*flow, whole.along(ports)));
            }
            let (first, network) = &narrow[kind];
            network.fct_alone(&Flow { bytes: flow.bytes, ..*first })
        })
    }

    /// As [`ideal_fcts`](Self::ideal_fcts), for ports that cannot be made twice: `alone` runs one flow of each kind in
    /// a separate network.
    ///
    /// # Errors
    /// The errors of `alone`.
    pub fn ideal_fcts_by<E>(
        &self,
        flows: &[Flow],
        wanted: impl Fn(usize) -> bool,
        mut alone: impl FnMut(&Flow) -> Result<Option<Span>, E>,
    ) -> Result<Vec<Option<Span>>, E> {
        self.of_each_kind(flows, wanted, |flow, _, _| alone(flow))
    }

    /// Calls `alone` with one flow for each size and kind of path, the ports of its path there and back, and the kind.
    fn of_each_kind<E>(
        &self,
        flows: &[Flow],
        wanted: impl Fn(usize) -> bool,
        mut alone: impl FnMut(&Flow, &[u32], &[Hop]) -> Result<Option<Span>, E>,
    ) -> Result<Vec<Option<Span>>, E> {
        let mut routes = self.routes().clone();
        let mut known = BTreeMap::new();
        let mut ports = Vec::new();
        let mut ideal_fct = |flow: &Flow| {
            ports.clear();
            let mut kind = Vec::new();
            for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                let hash = routes.path_hash(from, to, flow.id);
                let mut node = from;
                while node != to {
                    // If there is no path, the run of the flow reports it.
                    let Some(port) = routes.first_port(node, to, hash) else { break };
                    let link = &self.config().topology.links[port as usize];
                    kind.push((link.rate, link.delay));
                    ports.push(port);
                    node = link.to;
                }
            }
            let key = (flow.bytes, kind);
            if let Some(fct) = known.get(&key) {
                return Ok(*fct);
            }
            let fct = alone(flow, &ports, &key.1)?;
            known.insert(key, fct);
            Ok(fct)
        };
        let of = |(place, flow)| if wanted(place) { ideal_fct(flow) } else { Ok(None) };
        flows.iter().enumerate().map(of).collect()
    }

    /// The same nodes with only these links.
    fn along(&self, ports: &[u32]) -> Self {
        let links = ports.iter().map(|port| self.config().topology.links[*port as usize]).collect();
        self.with_links(links)
    }

    /// The same network without link changes and without an end: runs stop when no event is left.
    #[must_use]
    pub fn without_end(&self) -> Self {
        let end = Time::from_ps(u64::MAX / 2);
        self.with_config(Config { end, link_changes: Vec::new(), ..self.config().clone() })
    }

    /// The completion time of `flow` when it runs alone, from time 0.
    ///
    /// # Errors
    /// If the flow does not fit the network, or packets are not conserved.
    pub fn fct_alone(&self, flow: &Flow) -> Result<Option<Span>, RunError> {
        let result = self.run(&[Flow { start: Time::ZERO, ..*flow }], &mut ())?;
        Ok(result.flows[0].fct)
    }
}

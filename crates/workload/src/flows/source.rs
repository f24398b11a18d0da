//! Randomly drawn flows: starts from an arrival process, pairs from a pattern, sizes from a distribution.

use super::pairs::PairDraws;
use super::{Flow, FlowSizes, Pairs};
use crate::{ParameterError, Stream};
use pifolab_units::{Rate, Span, Time};

/// The arrival process of starts. The pattern of [`Pairs`] defines the number of flows per start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowArrivals {
    /// Independent exponential gaps.
    Poisson {
        /// Starts per second in the whole network.
        starts_per_s: f64,
    },
    /// Independent Pareto gaps: bursts and long pauses.
    Pareto {
        /// Starts per second in the whole network.
        starts_per_s: f64,
        /// Tail exponent, above 1; the gaps' variance is finite above 2.
        shape: f64,
    },
    /// One start per `period`; the first at the beginning.
    Periodic {
        /// Time between starts.
        period: Span,
    },
}

/// The starts per second at which each of `hosts` hosts offers, on average, the share `load` of its access link's rate
/// `access` as payload. Headers and acknowledgements are additional.
pub fn starts_per_s_for_load(load: f64, access: Rate, hosts: u32, sizes: &FlowSizes, pairs: &Pairs) -> f64 {
    load * access.as_bps() as f64 * f64::from(hosts) / (8.0 * sizes.mean() * pairs.flows_per_start(hosts) as f64)
}

/// The definition of a network's flows.
///
/// ```
/// use pifolab_units::{Rate, Span, Time};
/// use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs, starts_per_s_for_load};
/// let sizes = FlowSizes::web_search(Interpolation::Linear);
/// let starts_per_s = starts_per_s_for_load(0.5, Rate::from_gbps(10), 16, &sizes, &Pairs::Uniform);
/// let source = FlowSource {
///     hosts: 16,
///     arrivals: FlowArrivals::Poisson { starts_per_s },
///     sizes,
///     pairs: Pairs::Uniform,
///     start: Time::ZERO,
///     end: Time::ZERO + Span::from_s(1),
///     flows: u64::MAX,
/// };
/// let flows: Vec<_> = source.stream(1, "flows")?.collect();
/// assert!(flows.iter().all(|flow| flow.src != flow.dst));
/// # Ok::<(), pifolab_workload::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlowSource {
    /// Number of hosts, at least 2.
    pub hosts: u32,
    /// The arrival process of starts.
    pub arrivals: FlowArrivals,
    /// The distribution of sizes.
    pub sizes: FlowSizes,
    /// The pattern of senders and receivers.
    pub pairs: Pairs,
    /// No flow starts before this time.
    pub start: Time,
    /// No flow starts at or after this time.
    pub end: Time,
    /// The largest number of flows.
    pub flows: u64,
}

impl FlowSource {
    /// The flows of the run with seed `seed`, numbered from 0. The random streams are `name/starts`, `name/pairs` and
    /// `name/sizes`. Runs that differ in one part therefore share the draws of the other parts.
    ///
    /// # Errors
    /// If a part is invalid: a rate not above 0, a Pareto shape not above 1, an empty period, or a pattern that does
    /// not fit the hosts.
    pub fn stream(&self, seed: u64, name: &str) -> Result<FlowStream, ParameterError> {
        self.pairs.check(self.hosts)?;
        match self.arrivals {
            FlowArrivals::Poisson { starts_per_s } | FlowArrivals::Pareto { starts_per_s, .. }
                if !(starts_per_s.is_finite() && starts_per_s > 0.0) =>
            {
                return Err(ParameterError::new("starts_per_s", starts_per_s, "a finite number above 0"));
            }
            FlowArrivals::Pareto { shape, .. } if !(shape.is_finite() && shape > 1.0) => {
                return Err(ParameterError::new("shape", shape, "a finite number above 1"));
            }
            FlowArrivals::Periodic { period: Span::ZERO } => {
                return Err(ParameterError::new("period", Span::ZERO, "a span above 0"));
            }
            _ => {}
        }
        let stream = |part: &str| Stream::named(seed, &format!("{name}/{part}"));
        let mut starts = stream("starts");
        let next = match self.arrivals {
            FlowArrivals::Periodic { .. } => self.start,
            _ => self.start.saturating_add(self.arrivals.gap(&mut starts)),
        };
        Ok(FlowStream {
            arrivals: self.arrivals,
            starts,
            next,
            end: self.end,
            left: self.flows,
            id: 0,
            pairs: PairDraws::new(&self.pairs, self.hosts, stream("pairs")),
            sizes: self.sizes.clone(),
            size_draws: stream("sizes"),
        })
    }
}

impl FlowArrivals {
    fn gap(&self, stream: &mut Stream) -> Span {
        let ps = match *self {
            Self::Poisson { starts_per_s } => stream.exponential() * 1e12 / starts_per_s,
            Self::Pareto { starts_per_s, shape } => {
                let scale = 1e12 / starts_per_s * (shape - 1.0) / shape;
                scale * libm::pow(stream.open_uniform(), -1.0 / shape)
            }
            Self::Periodic { period } => return period,
        };
        Span::from_ps((ps + 0.5) as u64)
    }
}

/// The flows of a [`FlowSource`] in order of start.
#[derive(Clone, Debug)]
pub struct FlowStream {
    arrivals: FlowArrivals,
    starts: Stream,
    next: Time,
    end: Time,
    left: u64,
    id: u64,
    pairs: PairDraws,
    sizes: FlowSizes,
    size_draws: Stream,
}

impl Iterator for FlowStream {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let start = self.next;
        if start >= self.end || self.left == 0 {
            return None;
        }
        let ((src, dst), last) = self.pairs.next();
        let bytes = self.sizes.draw(&mut self.size_draws);
        if last {
            self.next = start.saturating_add(self.arrivals.gap(&mut self.starts));
        }
        let id = self.id;
        self.id += 1;
        self.left -= 1;
        Some(Flow { id, src, dst, bytes, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Interpolation;

    fn source(arrivals: FlowArrivals) -> FlowSource {
        FlowSource {
            hosts: 8,
            arrivals,
            sizes: FlowSizes::web_search(Interpolation::Linear),
            pairs: Pairs::Uniform,
            start: Time::ZERO,
            end: Time::ZERO + Span::from_s(10),
            flows: u64::MAX,
        }
    }

    #[test]
    fn poisson_and_pareto_starts_keep_their_rate() {
        let count = |arrivals| source(arrivals).stream(2, "f").unwrap().count();
        let poisson = count(FlowArrivals::Poisson { starts_per_s: 20_000.0 });
        assert!(poisson.abs_diff(200_000) < 2_240, "{poisson}");
        let pareto = count(FlowArrivals::Pareto { starts_per_s: 20_000.0, shape: 3.0 });
        // The gaps' standard deviation is mean / sqrt(shape (shape - 2)) = 0.58 means.
        assert!(pareto.abs_diff(200_000) < 1_300, "{pareto}");
    }

    #[test]
    fn a_load_is_what_the_hosts_offer() {
        let (access, hosts) = (Rate::from_gbps(10), 8);
        for pairs in [Pairs::Uniform, Pairs::Incast { senders: 4, receiver: None }, Pairs::AllToAll] {
            let sizes = FlowSizes::fixed(100_000).unwrap();
            let starts_per_s = starts_per_s_for_load(0.4, access, hosts, &sizes, &pairs);
            let mut source = source(FlowArrivals::Poisson { starts_per_s });
            (source.sizes, source.pairs) = (sizes, pairs);
            let bytes: u64 = source.stream(4, "f").unwrap().map(|flow| flow.bytes).sum();
            let load = bytes as f64 * 8.0 / 10.0 / (10e9 * f64::from(hosts));
            assert!((load - 0.4).abs() < 0.008, "{load} for {:?}", source.pairs);
        }
    }

    #[test]
    fn the_published_arrival_rates_have_their_nominal_loads() {
        let sizes = FlowSizes::web_search(Interpolation::StepLower);
        let whole = starts_per_s_for_load(1.0, Rate::from_gbps(1), 144, &sizes, &Pairs::Uniform);
        let load = |starts_per_s: f64| starts_per_s / whole;
        assert!((load(3_600.0) - 0.198).abs() < 5e-4);
        assert!((load(19_000.0) - 1.042).abs() < 5e-4);
    }

    #[test]
    fn an_incast_starts_its_flows_together() {
        let mut incast = source(FlowArrivals::Periodic { period: Span::from_us(100) });
        incast.pairs = Pairs::Incast { senders: 3, receiver: Some(0) };
        incast.flows = 7;
        let starts: Vec<_> = incast.stream(1, "f").unwrap().map(|flow| flow.start.as_ns()).collect();
        assert_eq!(starts, [0, 0, 0, 100_000, 100_000, 100_000, 200_000]);
    }

    #[test]
    fn another_rate_keeps_pairs_and_sizes() {
        let flows = |starts_per_s, seed| {
            let stream = source(FlowArrivals::Poisson { starts_per_s }).stream(seed, "f").unwrap();
            stream.take(100).map(|flow| (flow.src, flow.dst, flow.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(flows(1_000.0, 1), flows(2_000.0, 1));
        assert_ne!(flows(1_000.0, 1), flows(1_000.0, 2));
    }

    #[test]
    fn impossible_sources_are_refused() {
        let message = |arrivals| source(arrivals).stream(1, "f").unwrap_err().to_string();
        assert_eq!(
            message(FlowArrivals::Poisson { starts_per_s: 0.0 }),
            "starts_per_s = 0: expected a finite number above 0"
        );
        assert_eq!(
            message(FlowArrivals::Pareto { starts_per_s: 1.0, shape: 1.0 }),
            "shape = 1: expected a finite number above 1"
        );
        assert_eq!(message(FlowArrivals::Periodic { period: Span::ZERO }), "period = 0 ps: expected a span above 0");
        let mut lonely = source(FlowArrivals::Poisson { starts_per_s: 1.0 });
        lonely.hosts = 1;
        assert_eq!(lonely.stream(1, "f").unwrap_err().to_string(), "hosts = 1: expected at least 2");
    }
}

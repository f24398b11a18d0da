//! Flow completion times and slowdowns, by flow size.

use crate::MeasuredTime;
use pifolab_sim::network::{Flow, FlowResult};
use pifolab_units::Span;

/// The completion times of flows whose sizes lie in one range.
#[derive(Clone, Debug)]
pub struct SizeClass {
    /// The name of the class, for example `100 KB to 1 MB`.
    pub name: String,
    /// Smallest size in bytes.
    pub from: u64,
    /// Upper limit of the size in bytes, exclusive; `None` if unbounded.
    pub below: Option<u64>,
    /// The number of measured flows in this class, complete or not.
    pub flows: u64,
    /// Completion times of completed flows in nanoseconds, ascending.
    fct: Vec<f64>,
    /// Slowdowns of completed flows, ascending.
    slowdown: Vec<f64>,
}

impl SizeClass {
    /// The statistics, in the order of the table's columns.
    pub fn statistics(&self) -> [(&'static str, Option<f64>); 8] {
        let of = |share| quantile(&self.fct, share);
        [
            ("mean_ns", mean(&self.fct)),
            ("p50_ns", of(0.5)),
            ("p99_ns", of(0.99)),
            ("p999_ns", of(0.999)),
            ("max_ns", self.fct.last().copied()),
            ("mean_slowdown", mean(&self.slowdown)),
            ("p50_slowdown", quantile(&self.slowdown, 0.5)),
            ("p99_slowdown", quantile(&self.slowdown, 0.99)),
        ]
    }

    /// The number of completed flows.
    pub fn completed(&self) -> usize {
        self.fct.len()
    }
}

/// Groups the measured flows into one class of all flows and one class per size range between the ascending `borders`.
/// At least one border is required. `ideal` holds each flow's completion time on an empty network.
pub fn size_classes(
    borders: &[u64],
    flows: &[Flow],
    ideal: &[Option<Span>],
    results: &[FlowResult],
    measured: &MeasuredTime,
) -> Vec<SizeClass> {
    let mut ranges = vec![("all".to_owned(), 0, None)];
    ranges.push((format!("< {}", size(borders[0])), 0, Some(borders[0])));
    ranges.extend(
        borders.windows(2).map(|pair| (format!("{} to {}", size(pair[0]), size(pair[1])), pair[0], Some(pair[1]))),
    );
    let last = borders[borders.len() - 1];
    ranges.push((format!(">= {}", size(last)), last, None));
    let class = |(name, from, below): (String, u64, Option<u64>)| {
        let mut class = SizeClass { name, from, below, flows: 0, fct: Vec::new(), slowdown: Vec::new() };
        for ((flow, result), ideal) in flows.iter().zip(results).zip(ideal) {
            if !measured.holds(flow) || flow.bytes < from || below.is_some_and(|below| flow.bytes >= below) {
                continue;
            }
            class.flows += 1;
            if let Some(fct) = result.fct {
                class.fct.push(fct.as_ps() as f64 / 1e3);
                class.slowdown.extend(slowdown(fct, *ideal));
            }
        }
        class.fct.sort_by(f64::total_cmp);
        class.slowdown.sort_by(f64::total_cmp);
        class
    };
    ranges.into_iter().map(class).collect()
}

/// The slowdown of a completed flow. `None` if the flow would never complete on an empty network.
pub fn slowdown(fct: Span, ideal: Option<Span>) -> Option<f64> {
    ideal.map(|ideal| fct.as_ps() as f64 / ideal.as_ps() as f64)
}

/// Formats a size in the largest decimal unit that divides it.
fn size(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    match units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

fn mean(sorted: &[f64]) -> Option<f64> {
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// The quantile by linear interpolation between the two nearest ranks, the default of numpy.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * sorted.len().checked_sub(1)? as f64;
    let low = sorted[at as usize];
    let high = sorted[(at as usize + 1).min(sorted.len() - 1)];
    Some(low + (high - low) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_nearest_ranks() {
        // numpy.percentile([1, 2, 4, 8], [0, 50, 99, 100]) = [1, 3, 7.88, 8]
        let sorted = [1.0, 2.0, 4.0, 8.0];
        let expected = [(0.0, 1.0), (0.5, 3.0), (0.99, 7.88), (1.0, 8.0)];
        for (share, value) in expected {
            assert!((quantile(&sorted, share).unwrap() - value).abs() < 1e-12, "at {share}");
        }
        assert_eq!((quantile(&[], 0.5), mean(&[]), quantile(&[5.0], 0.99)), (None, None, Some(5.0)));
    }

    #[test]
    fn sizes_are_named_in_whole_units() {
        assert_eq!([100_000, 1_000_000, 1_234, 3_000_000_000].map(size), ["100 KB", "1 MB", "1234 B", "3 GB"]);
    }
}

//! Warnings about a run in which no packet left, since its tables look as if nothing were wrong.

use crate::spec::one_link::OneLinkSpec;
use pifolab_sim::network::{Flow, RunResult};
use pifolab_sim::one_link::Totals;
use pifolab_units::{Bytes, Span, Time};

/// Why no packet was completely sent on one link, if none was.
pub(super) fn on_one_link(spec: &OneLinkSpec, totals: &Totals) -> Option<String> {
    let Totals { arrived, dropped, sent, waiting, busy, .. } = totals;
    let length = if spec.arrivals_end < Time::MAX { spec.arrivals_end } else { totals.end };
    let length = readable(length.since(Time::ZERO));
    let on_the_wire = spec.link.rate.checked_serialisation(Bytes(sent.bytes), spec.link.rounding);
    match (arrived.packets, sent.packets) {
        (0, _) => Some(format!("no packet arrived in {length}: expected a longer run, or a higher rate of arrivals")),
        (arrived, 0) => {
            let (dropped, waiting) = (dropped.packets, waiting.packets);
            Some(format!("none of {arrived} packets was sent: {dropped} were dropped, {waiting} are waiting"))
        }
        (arrived, 1) if on_the_wire.is_none_or(|whole| whole > *busy) => {
            let (bytes, rate) = (sent.bytes, spec.link.rate);
            let takes = on_the_wire.map_or_else(|| "more than 213 days".to_owned(), readable);
            Some(format!(
                "none of {arrived} packets was sent completely in {length}: {bytes} bytes take {takes} at {rate}: \
                 expected a longer run, a faster link, or smaller packets"
            ))
        }
        _ => None,
    }
}

/// Why no flow of a network delivered data, if none did.
pub(super) fn on_a_network(flows: &[Flow], result: &RunResult) -> Option<String> {
    let length = readable(result.end.since(Time::ZERO));
    if flows.is_empty() {
        return Some(format!("no flow started in {length}: expected a longer run, or more flows per second"));
    }
    if result.flows.iter().any(|flow| flow.fct.is_some() || flow.acknowledged_bytes > 0) {
        return None;
    }
    let flows = flows.len();
    Some(format!("none of {flows} flows delivered any data in {length}: expected a longer run, or faster links"))
}

/// A span with about three digits: `34.4 s`.
pub(super) fn readable(span: Span) -> String {
    let seconds = span.as_s_f64();
    let units = [("days", 86_400.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
    let (unit, size) = units.into_iter().find(|(_, size)| seconds >= *size).unwrap_or(("ps", 1e-12));
    format!("{} {unit}", (seconds / size * 100.0).round() / 100.0)
}

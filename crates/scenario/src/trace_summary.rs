//! A summary of a trace, read once and in little memory for any length.

use crate::error::Error;
use crate::extras::Extras;
use crate::inputs::read_digested;
use crate::spec::trace::{LOOK_EVERY, check_room, room_to_sort};
use pifolab_units::Ratio;
use pifolab_workload::trace::{BothWays, OutOfOrder, TraceCounts, TraceOptions, TraceRank, TraceReader};
use std::io::Read;
use std::path::Path;

/// The peak is taken over intervals of a millisecond, doubled until the trace has no more of them than this.
const MOST_INTERVALS: usize = 1000;
const MILLISECOND_PS: u128 = 1_000_000_000;
/// The number of largest flows in the summary.
const LARGEST: usize = 5;

/// The summary of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSummary {
    /// The format of the file, from [`TraceReader::format`].
    pub format: String,
    /// Bytes of all packets on the wire.
    pub bytes: u64,
    /// Flows.
    pub flows: usize,
    /// The time from the first packet to the last, in picoseconds; it may be longer than any run.
    pub span_ps: u128,
    /// Bits per second from the first packet up to the last instant, without the packets of that instant; `None` if all
    /// packets arrive at once.
    pub mean_bps: Option<f64>,
    /// The most bits per second in an interval, never below the mean; `None` if the trace is no longer than an interval.
    pub peak_bps: Option<f64>,
    /// The length of an interval, in milliseconds: a power of two.
    pub interval_ms: u64,
    /// The largest flows with their bytes, largest first; of equal ones the earliest first.
    pub largest: Vec<(String, u64)>,
    /// The numbers of packets, and of those that could not be read.
    pub counts: TraceCounts,
    /// Packets that may not leave as soon as they arrive; `None` without a column of eligibility times.
    pub held_back: Option<u64>,
    /// The two directions, if most flows have a reverse flow.
    pub both_ways: Option<BothWays>,
    /// What was left out, and why, without the name of the file.
    pub left_out: Option<String>,
}

impl TraceSummary {
    /// Reads the trace at `path`, which may be a pipe of the shell, once; with `sort` packets may be out of order.
    ///
    /// # Errors
    /// If the trace has a fault, if its flows (or with `sort` its packets) do not fit into memory, or if `extras`
    /// interrupts.
    pub fn read(path: &Path, sort: bool, extras: &dyn Extras) -> Result<Self, Error> {
        read_digested(path, |content, name| summarise(content, name, sort, extras)).map(|(summary, _)| summary)
    }
}

fn summarise(content: impl Read + Send, file: &str, sort: bool, extras: &dyn Extras) -> Result<TraceSummary, Error> {
    // Times are read without the speed-up; the largest one lets the longest trace of any clock pass the limit of a run.
    let speed_up = Ratio::new(u64::from(u32::MAX), 1).expect("the denominator is not 0");
    let out_of_order = if sort { OutOfOrder::Sort } else { OutOfOrder::Error };
    let options = TraceOptions { rank: TraceRank::Later, speed_up, out_of_order };
    let mut reader = TraceReader::within(content, file, options, room_to_sort())?;
    let mut peaks = Peaks { width_ps: MILLISECOND_PS, bytes: Vec::new() };
    let mut of_flows: Vec<u64> = Vec::new();
    let mut held_back = reader.has_eligible().then_some(0);
    let (mut packets, mut bytes, mut at_last, mut last_ps) = (0u64, 0u64, 0u64, 0u128);
    while let Some(arrival) = reader.next() {
        let arrival = arrival?;
        let (now, size) = (reader.elapsed_ps(), u64::from(arrival.bytes));
        at_last = if now == last_ps { at_last + size } else { size };
        (packets, bytes, last_ps) = (packets + 1, bytes + size, now);
        peaks.add(now, size);
        let flow = arrival.flow as usize;
        if flow >= of_flows.len() {
            of_flows.resize(flow + 1, 0);
        }
        of_flows[flow] += size;
        if let Some(held_back) = &mut held_back {
            *held_back += u64::from(reader.is_held_back());
        }
        if packets.is_multiple_of(LOOK_EVERY) {
            if extras.interrupted() {
                return Err(Error::Cancelled);
            }
            check_room(file, 0, of_flows.len(), packets)?;
        }
    }
    let mean_bps = (last_ps > 0).then(|| bits_per_second(bytes - at_last, last_ps));
    let longer = last_ps > peaks.width_ps;
    let mut order: Vec<u32> = (0..of_flows.len() as u32).collect();
    order.sort_by_key(|flow| std::cmp::Reverse(of_flows[*flow as usize]));
    order.truncate(LARGEST);
    let names = reader.names_of_flows(&order);
    Ok(TraceSummary {
        format: reader.format(),
        bytes,
        flows: of_flows.len(),
        span_ps: last_ps,
        mean_bps,
        peak_bps: mean_bps.filter(|_| longer).map(|mean| peaks.most().max(mean)),
        interval_ms: u64::try_from(peaks.width_ps / MILLISECOND_PS).unwrap_or(u64::MAX),
        largest: names.into_iter().zip(order.iter().map(|flow| of_flows[*flow as usize])).collect(),
        counts: reader.counts(),
        held_back,
        both_ways: reader.both_ways(&of_flows),
        left_out: reader.left_out(),
    })
}

fn bits_per_second(bytes: u64, ps: u128) -> f64 {
    bytes as f64 * 8e12 / ps as f64
}

/// The bytes in each of at most [`MOST_INTERVALS`] intervals.
struct Peaks {
    width_ps: u128,
    bytes: Vec<u64>,
}

impl Peaks {
    fn add(&mut self, now: u128, size: u64) {
        while now / self.width_ps >= MOST_INTERVALS as u128 {
            self.width_ps *= 2;
            self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let interval = (now / self.width_ps) as usize;
        if interval >= self.bytes.len() {
            self.bytes.resize(interval + 1, 0);
        }
        self.bytes[interval] += size;
    }

    fn most(&self) -> f64 {
        bits_per_second(self.bytes.iter().copied().max().unwrap_or(0), self.width_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(csv: &str, sort: bool) -> TraceSummary {
        summarise(csv.as_bytes(), "t.csv", sort, &()).unwrap()
    }

    #[test]
    fn a_steady_stream_has_its_rate_as_mean_and_as_peak() {
        let found = of("time_us,size_bytes\n0,1500\n1000,1500\n2000,1500\n3000,1500\n", false);
        assert_eq!((found.mean_bps, found.peak_bps, found.interval_ms), (Some(12e6), Some(12e6), 1));
        assert_eq!(found.format, "CSV (time_us,size_bytes)");
        let once = of("time_us,size_bytes\n5,1500\n5,64\n", false);
        assert_eq!((once.mean_bps, once.peak_bps, once.span_ps), (None, None, 0));
    }

    #[test]
    fn a_trace_longer_than_any_run_is_summarised() {
        let found = of("time_s,size_bytes\n0,1500\n34560000,1500\n", false);
        assert_eq!((found.span_ps, found.counts.packets), (34_560_000_000_000_000_000, 2));
        assert!(
            found.interval_ms.is_power_of_two()
                && found.span_ps.div_ceil(MILLISECOND_PS) / u128::from(found.interval_ms) <= 1000
        );
    }

    proptest! {
        #[test]
        fn a_summary_is_what_a_reader_of_the_whole_trace_counts(
            packets in prop::collection::vec((0u64..40_000_000, 1u64..2000, 0usize..9), 1..200),
            scale in 0u32..7,
        ) {
            let rows: Vec<_> = packets.iter().map(|(us, size, flow)| (us * 10u64.pow(scale), *size, *flow)).collect();
            let text: String = rows.iter().map(|(us, size, flow)| format!("{us},{size},f{flow}\n")).collect();
            let found = of(&format!("time_us,size_bytes,flow\n{text}"), true);
            let first = rows.iter().map(|row| row.0).min().unwrap();
            let last = rows.iter().map(|row| row.0).max().unwrap();
            let total: u64 = rows.iter().map(|row| row.1).sum();
            prop_assert_eq!((found.bytes, found.counts.packets as usize), (total, rows.len()));
            prop_assert_eq!(found.span_ps, u128::from(last - first) * 1_000_000);
            prop_assert!(found.interval_ms == 1 || u128::from(found.interval_ms) * 500 * MILLISECOND_PS <= found.span_ps);
            let mut flows = std::collections::BTreeMap::new();
            rows.iter().for_each(|(_, size, flow)| *flows.entry(format!("f{flow}")).or_insert(0) += size);
            prop_assert_eq!(found.flows, flows.len());
            let mut sizes: Vec<_> = flows.values().copied().collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            sizes.truncate(5);
            prop_assert_eq!(found.largest.iter().map(|(_, size)| *size).collect::<Vec<_>>(), sizes);
            prop_assert!(found.largest.iter().all(|(name, size)| flows[name] == *size));
            let before: u64 = rows.iter().filter(|row| row.0 < last).map(|row| row.1).sum();
            prop_assert_eq!(found.mean_bps, (last > first).then(|| bits_per_second(before, found.span_ps)));
            let width = found.interval_ms * 1000;
            let mut bins = std::collections::BTreeMap::new();
            rows.iter().for_each(|(us, size, _)| *bins.entry((us - first) / width).or_insert(0u64) += size);
            let most = bits_per_second(*bins.values().max().unwrap(), u128::from(width) * 1_000_000);
            if let (Some(mean), Some(peak)) = (found.mean_bps, found.peak_bps) {
                prop_assert!(peak >= mean && peak == most.max(mean), "{} {}", peak, mean);
            }
        }
    }
}

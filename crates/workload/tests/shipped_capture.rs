//! Compares the result of reading the shipped capture with the results of other tools.

use pifolab_units::Ratio;
use pifolab_workload::trace::{OutOfOrder, TraceCounts, TraceOptions, TraceRank, TraceReader};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn the_demo_capture_has_the_packets_that_capinfos_and_tcpdump_count() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/pifolab/data/tcp-mix.pcap.gz");
    let options = TraceOptions { rank: TraceRank::Dscp, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
    let mut reader = TraceReader::open(&path, options).unwrap();
    let (mut bytes, mut last, mut per_rank) = (0, 0, BTreeMap::new());
    for arrival in reader.by_ref() {
        let arrival = arrival.unwrap();
        bytes += u64::from(arrival.bytes);
        last = arrival.time.as_ns();
        *per_rank.entry(arrival.rank.get()).or_insert(0) += 1;
    }
    let counts = reader.counts();
    assert_eq!(counts, TraceCounts { packets: 23_378, cut: counts.cut, ..TraceCounts::default() });
    assert_eq!(reader.left_out(), None);
    assert!(counts.cut > 20_000, "{}", counts.cut);
    assert_eq!(bytes, 35_017_524);
    assert_eq!(last, 3_730_129_040);
    assert_eq!(reader.flow_names().len(), 60);
    assert_eq!(per_rank, BTreeMap::from([(0, 430), (10, 1_218), (20, 5_502), (30, 16_228)]));
}

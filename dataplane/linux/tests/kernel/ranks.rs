//! Where ranks come from: seen through the bound of a single SP-PIFO queue, which is the rank that it let in last.

use crate::{arguments, can_run};
use pifolab_dataplane::ebpf::harness::frame;
use pifolab_dataplane::ebpf::programs::sp_pifo::Bounds;
use pifolab_dataplane::ebpf::{Loaded, Occupancy, RankSource, Settings};
use pifolab_dataplane::rank::RankOptions;
use pifolab_dataplane::rank::table::{Table, Values};
use pifolab_units::Span;

struct Probe(Loaded);

impl Probe {
    fn new(rank: RankSource) -> Self {
        let args = arguments("sp-pifo", "queues=1 queue_capacity_packets=10");
        let settings = Settings::new("sp-pifo", args, rank, Occupancy::Harness).expect("valid");
        Self(Loaded::load(settings).expect("it loads"))
    }

    fn rank_of(&self, frame: &[u8], bytes: u32) -> i64 {
        let decision = self.0.test(frame, bytes).expect("a decision");
        assert_eq!(decision.drop, None);
        self.0.state::<Bounds>().expect("its state").bounds[0]
    }
}

/// The frame with another UDP source port: another flow.
fn of_flow(flow: u8, mut frame: [u8; 50]) -> [u8; 50] {
    frame[35] = flow;
    frame
}

#[test]
fn ranks_are_read_from_the_dscp_and_the_payload() {
    if !can_run("ranks_are_read_from_the_dscp_and_the_payload") {
        return;
    }
    let packet = frame(0x0102_0304_0506_0708, 41);
    assert_eq!(Probe::new(RankSource::Dscp).rank_of(&packet, 100), 41);
    for (text, rank) in [
        ("payload:0:8", 0x0102_0304_0506_0708),
        ("payload:2:4", 0x0304_0506),
        ("payload:6:2", 0x0708),
        ("payload:7:1", 8),
        ("payload:5:4", 0xffff_ffff),
    ] {
        assert_eq!(Probe::new(text.parse().expect("a rank")).rank_of(&packet, 100), rank, "{text}");
    }
    // Larger than any rank.
    assert_eq!(Probe::new("payload:0:8".parse().expect("a rank")).rank_of(&frame(u64::MAX, 0), 100), i64::MAX);
}

#[test]
fn tags_and_the_next_protocol_version_are_understood_and_the_rest_passes_by() {
    if !can_run("tags_and_the_next_protocol_version_are_understood_and_the_rest_passes_by") {
        return;
    }
    let probe = Probe::new(RankSource::Dscp);
    let packet = frame(0, 41);
    let mut tagged = packet[..12].to_vec();
    tagged.extend([0x81, 0, 0, 7]);
    tagged.extend(&packet[12..]);
    assert_eq!(probe.rank_of(&tagged, 100), 41);
    // Traffic class 0xB8 (DSCP 46) over the first two bytes.
    let mut six = vec![0; 14 + 40];
    six[12..16].copy_from_slice(&[0x86, 0xdd, 0x6b, 0x80]);
    assert_eq!(probe.rank_of(&six, 100), 46);
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(probe.rank_of(&arp, 100), 46, "the bound is as it was");
    assert_eq!(probe.0.stats().expect("statistics").neighbour, 1);
}

#[test]
fn las_counts_the_bytes_of_each_flow_and_stfq_its_finish_tags() {
    if !can_run("las_counts_the_bytes_of_each_flow_and_stfq_its_finish_tags") {
        return;
    }
    let (one, two) = (of_flow(1, frame(0, 0)), of_flow(2, frame(0, 0)));
    let las = Probe::new(RankSource::Las);
    let ranks = [(one, 100), (one, 200), (two, 60), (one, 70)].map(|(frame, bytes)| las.rank_of(&frame, bytes));
    assert_eq!(ranks, [0, 100, 0, 300]);
    // Nothing is dequeued here, so virtual time stands still and a tag grows by 1024 a byte.
    let stfq = Probe::new(RankSource::Stfq);
    let ranks = [(one, 100), (one, 200), (two, 60), (one, 70)].map(|(frame, bytes)| stfq.rank_of(&frame, bytes));
    assert_eq!(ranks, [0, 100 * 1024, 0, 300 * 1024]);
}

#[test]
fn a_flow_that_was_silent_for_longer_than_the_time_out_begins_anew_in_ebpf() {
    if !can_run("a_flow_that_was_silent_for_longer_than_the_time_out_begins_anew_in_ebpf") {
        return;
    }
    let (one, two) = (of_flow(1, frame(0, 0)), of_flow(2, frame(0, 0)));
    // Every flow is silent for longer than a nanosecond, none for longer than an hour; 0 is no time-out at all.
    for (timeout, las, stfq) in [
        (Span::from_ns(1), [0, 0, 0, 0], [0, 0, 0, 0]),
        (Span::from_us(3_600_000_000), [0, 100, 0, 300], [0, 102_400, 0, 307_200]),
        (Span::ZERO, [0, 100, 0, 300], [0, 102_400, 0, 307_200]),
    ] {
        for (source, expected) in [(RankSource::Las, las), (RankSource::Stfq, stfq)] {
            let probe = Probe(Loaded::load(settings(source).with_flow_timeout(timeout)).expect("it loads"));
            let ranks =
                [(one, 100), (one, 200), (two, 60), (one, 70)].map(|(frame, bytes)| probe.rank_of(&frame, bytes));
            assert_eq!(ranks, expected, "{source}, {timeout:?}");
        }
    }
}

/// A table in a file that ends with the test.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pifolab-{name}-{}.txt", std::process::id()));
        std::fs::write(&path, text).expect("a file in the temporary folder");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn settings(rank: RankSource) -> Settings {
    let args = arguments("sp-pifo", "queues=1 queue_capacity_packets=10");
    Settings::new("sp-pifo", args, rank, Occupancy::Harness).expect("valid")
}

#[test]
fn stfq_charges_a_flow_by_its_weight() {
    if !can_run("stfq_charges_a_flow_by_its_weight") {
        return;
    }
    // The frames are from 192.0.2.1; the port of flow 1 is 1.
    let file = File::new("weights", "flow udp 192.0.2.1:1 192.0.2.2:0 4\nsrc 192.0.2.0/24 2\n");
    let weighted = settings(RankSource::Stfq).with_ranks(RankSource::Stfq, &RankOptions::default(), Some(&file.0));
    let stfq = Probe(Loaded::load(weighted.expect("weights")).expect("it loads"));
    let (one, two) = (of_flow(1, frame(0, 0)), of_flow(2, frame(0, 0)));
    let ranks = [(one, 100), (one, 200), (two, 60), (two, 70)].map(|(frame, bytes)| stfq.rank_of(&frame, bytes));
    assert_eq!(ranks, [0, 100 * 1024 / 4, 0, 60 * 1024 / 2]);
    assert_eq!(stfq.rank_of(&one, 60), 100 * 1024 / 4 + 200 * 1024 / 4);

    let unwanted = settings(RankSource::Dscp).with_ranks(RankSource::Dscp, &RankOptions::default(), Some(&file.0));
    assert!(unwanted.expect_err("no effect").to_string().contains("--flow-weights"));
}

#[test]
fn a_table_changes_while_the_program_is_loaded_and_nothing_else_does() {
    if !can_run("a_table_changes_while_the_program_is_loaded_and_nothing_else_does") {
        return;
    }
    let file = File::new("ranks", "flow udp 192.0.2.1:1 192.0.2.2:0 4\ndst 192.0.2.0/24 50\nsrc 0.0.0.0/0 60\n");
    let options = RankOptions { rank_table: Some(file.0.clone()), ..RankOptions::default() };
    let table = settings(RankSource::Table).with_ranks(RankSource::Table, &options, None).expect("a table");
    let probe = Probe(Loaded::load(table).expect("it loads"));
    let mut maps = probe.0.flow_maps().expect("maps");
    let (one, two) = (of_flow(1, frame(0, 0)), of_flow(2, frame(0, 0)));
    assert_eq!([one, two].map(|frame| probe.rank_of(&frame, 100)), [4, 50]);
    let mut change = |text: &str| {
        std::fs::write(&file.0, text).expect("a file");
        maps.hold(Table::read(&file.0, Values::Ranks).expect("a table")).expect("the kernel takes it");
    };
    change("flow udp 192.0.2.1:2 192.0.2.2:0 7\ndst 192.0.0.0/16 51\n");
    assert_eq!([one, two].map(|frame| probe.rank_of(&frame, 100)), [51, 7]);
    // What is in no line has the worst rank: the largest that the table had when the program was loaded.
    change("dst 10.0.0.0/8 1\n");
    assert_eq!([one, two].map(|frame| probe.rank_of(&frame, 100)), [60, 60]);
    let stats = probe.0.stats().expect("statistics");
    assert_eq!((stats.admitted_packets[0], stats.unranked), (6, 2), "what was counted goes on");
}

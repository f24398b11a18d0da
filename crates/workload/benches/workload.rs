//! Packets per second of the sources, the trace readers and the flow generators.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pifolab_units::{Rate, Ratio, Span, Time};
use pifolab_workload::flows::{FlowSizes, Interpolation, NETBENCH_SEED, NetbenchFlows, NetbenchFork};
use pifolab_workload::trace::{OutOfOrder, TraceOptions, TraceRank, TraceReader};
use pifolab_workload::{ArrivalProcess, Distribution, FlowAssignment, RankSource, Source};
use std::hint::black_box;

const PACKETS: u64 = 1_000_000;

fn source(process: ArrivalProcess, ranks: Distribution) -> Source {
    Source {
        process,
        sizes: Distribution::constant(1500).unwrap(),
        ranks: RankSource::drawn(ranks),
        flows: FlowAssignment::One(0),
        start: Time::ZERO,
        end: Time::MAX,
        packets: PACKETS,
    }
}

fn streams(c: &mut Criterion) {
    let mut group = c.benchmark_group("stream");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(20);
    let rate = Rate::from_gbps(11);
    let constant = ArrivalProcess::ConstantBitRate { rate };
    let mut mixed = source(ArrivalProcess::Poisson { rate }, Distribution::poisson(50.0).unwrap());
    mixed.sizes = Distribution::histogram(&[(64, 5), (576, 2), (1500, 3)]).unwrap();
    mixed.flows = FlowAssignment::Drawn(Distribution::uniform(0, 99).unwrap());
    for (name, source) in [
        ("constant-rate, uniform ranks", source(constant, Distribution::uniform(0, 99).unwrap())),
        ("constant-rate, exponential ranks", source(constant, Distribution::exponential(25.0, 100).unwrap())),
        ("Poisson, uniform ranks", source(ArrivalProcess::Poisson { rate }, Distribution::uniform(0, 99).unwrap())),
        ("Poisson, drawn sizes, ranks and flows", mixed),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let arrivals = source.stream(1, "bench").unwrap();
                arrivals.fold(0, |sum: u64, a| sum.wrapping_add(a.rank.get() ^ a.time.as_ps() ^ u64::from(a.bytes)))
            });
        });
    }
    group.finish();
}

/// A capture with nanosecond times: UDP packets of 1000 flows in turn, 96 captured bytes each.
fn capture(packets: u32) -> Vec<u8> {
    let mut file: Vec<u8> =
        [0xa1b2_3c4d, 0x0004_0002, 0, 0, 96, 1].iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
    for i in 0..packets {
        file.extend([i / 1_000_000, i % 1_000_000 * 1_000, 96, 1_514].iter().flat_map(|n: &u32| n.to_le_bytes()));
        let mut packet = [0u8; 96];
        packet[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x28]);
        packet[16..18].copy_from_slice(&1_500u16.to_be_bytes());
        packet[23] = 17;
        packet[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[34..36].copy_from_slice(&((i % 1_000) as u16).to_be_bytes());
        file.extend(packet);
    }
    file
}

fn traces(c: &mut Criterion) {
    let mut group = c.benchmark_group("trace");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    let options = |rank| TraceOptions { rank, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
    let replay = |file: &[u8], rank| {
        let reader = TraceReader::new(black_box(file), "bench", options(rank)).unwrap();
        reader.fold(0, |sum: u64, arrival| sum.wrapping_add(arrival.unwrap().time.as_ps()))
    };
    let pcap = capture(PACKETS as u32);
    group.bench_function("pcap, 1000 flows", |b| b.iter(|| replay(&pcap, TraceRank::Dscp)));
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut zipped, &pcap).unwrap();
    let zipped = zipped.finish().unwrap();
    group.bench_function("pcap.gz, 1000 flows", |b| b.iter(|| replay(&zipped, TraceRank::Dscp)));
    let mut csv = "time_ns,size_bytes,rank,flow\n".to_owned();
    for i in 0..PACKETS {
        csv += &format!("{},1500,{},{}\n", i * 1_000, i % 100, i % 1_000);
    }
    group.bench_function("CSV, 1000 flows", |b| b.iter(|| replay(csv.as_bytes(), TraceRank::Column)));
    group.finish();
}

fn flows(c: &mut Criterion) {
    let mut group = c.benchmark_group("flows");
    group.throughput(Throughput::Elements(19_000)).sample_size(20);
    group.bench_function("netbench, 144 hosts, about 19,000 flows", |b| {
        b.iter(|| {
            let end = Time::ZERO + Span::from_s(1);
            let sizes = FlowSizes::web_search(Interpolation::StepLower);
            NetbenchFlows::new(NetbenchFork::SpPifo, NETBENCH_SEED, 19_000, 144, sizes, end).unwrap().count()
        });
    });
    group.finish();
}

criterion_group!(benches, streams, traces, flows);
criterion_main!(benches);

//! Packets per second of whole programs: a packet in, through ingress, its queue, egress and the deparser, and out.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::GzDecoder;
use pifolab_bmv2::{Limits, Program, Switch};
use std::io::Read;
use std::sync::Arc;

fn load(name: &str) -> Program {
    let path = format!("{}/../../dataplane/p4/compiled/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = Vec::new();
    GzDecoder::new(file).read_to_end(&mut text).expect("a whole file");
    Program::load(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// An Ethernet frame with IPv4, UDP, and a rank that begins the payload.
fn frame(rank: u64) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 80, 0, 0]);
    bytes.extend(rank.to_be_bytes());
    bytes.resize(114, 0);
    bytes
}

fn programs(criterion: &mut Criterion) {
    let frames: Vec<Vec<u8>> = (0..256u64).map(|i| frame(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57)).collect();
    let mut group = criterion.benchmark_group("packets");
    for name in ["fifo", "sp_pifo", "rifo", "exp_pifo", "packs_20"] {
        let mut switch = Switch::new(Arc::new(load(name)), Limits::default(), 0);
        group.throughput(Throughput::Elements(frames.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for (index, frame) in frames.iter().enumerate() {
                    switch.receive(0, frame, frame.len() as u32, 0, 0);
                    // A few packets wait half of the time.
                    if index % 16 >= 8 {
                        switch.send(1, 0);
                        switch.send(1, 0);
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, programs);
criterion_main!(benches);

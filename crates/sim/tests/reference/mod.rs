//! Reads the reference data next to this file.

use pifolab_sim::network::Flow;
use pifolab_units::Time;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One scheme of one reference run.
pub struct Reference {
    /// The offered flows.
    pub flows: Vec<Flow>,
    /// The completion time of each flow, if it completed.
    pub fct_ns: Vec<Option<u64>>,
    /// The counters.
    pub counters: Counters,
}

/// The counters of a reference run.
#[derive(Debug, PartialEq, Eq)]
pub struct Counters {
    /// `PACKETS_DROPPED`
    pub dropped: u64,
    /// `PACKETS_DROPPED_AT_SOURCE`
    pub dropped_at_source: u64,
    /// `TCP_FAST_RETRANSMIT`
    pub fast_retransmissions: u64,
    /// `TCP_RETRANSMISSION_TIMEOUT`
    pub timeouts: u64,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference")
}

fn text(run: &str) -> String {
    let plain = folder().join(format!("{run}.csv"));
    if plain.exists() {
        return std::fs::read_to_string(plain).unwrap();
    }
    let packed = std::fs::File::open(folder().join(format!("{run}.csv.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text
}

impl Reference {
    /// Reads scheme `scheme` of run `run`.
    pub fn read(run: &str, scheme: &str) -> Self {
        let text = text(run);
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let column = |name: &str| {
            header.iter().position(|title| *title == name).unwrap_or_else(|| panic!("{run} has no column {name}"))
        };
        let fct = column(scheme);
        let columns = ["flow", "src", "dst", "size_bytes", "start_ns"].map(column);
        let (mut flows, mut fct_ns) = (Vec::new(), Vec::new());
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let [id, src, dst, bytes, start] = columns.map(|column| cells[column].parse::<u64>().unwrap());
            flows.push(Flow { id, src: src as u32, dst: dst as u32, bytes, start: Time::from_ns(start) });
            fct_ns.push(if cells[fct].is_empty() { None } else { Some(cells[fct].parse().unwrap()) });
        }
        let table = std::fs::read_to_string(folder().join("counters.csv")).unwrap();
        let row = table.lines().find(|line| line.starts_with(&format!("{run},{scheme},")));
        let row = row.unwrap_or_else(|| panic!("no counters for {run} {scheme}"));
        let values: Vec<u64> = row.split(',').skip(2).take(4).map(|cell| cell.parse().unwrap()).collect();
        let counters = Counters {
            dropped: values[0],
            dropped_at_source: values[1],
            fast_retransmissions: values[2],
            timeouts: values[3],
        };
        Self { flows, fct_ns, counters }
    }
}

//! The stored programs.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;

pub fn program(name: &str) -> Value {
    let path = format!("{}/../../dataplane/p4/compiled/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

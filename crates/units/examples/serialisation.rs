//! How long packets take on links of several rates, exactly.
//!
//! `cargo run -p pifolab-units --example serialisation`

use pifolab_units::{Bytes, Rate, Rounding};

fn main() {
    for (gbps, bytes, picoseconds) in [(10, 1500, 1_200_000), (100, 64, 5_120), (400, 1500, 30_000)] {
        let time = Rate::from_gbps(gbps).serialisation(Bytes(bytes), Rounding::UpToPicosecond);
        println!("{bytes} bytes at {gbps} Gb/s: {time}");
        assert_eq!(time.as_ps(), picoseconds);
    }
}

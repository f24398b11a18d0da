//! The share of the last 1,000 ranks that are below the one that arrives, as AIFO and PACKS need it for every packet.
//!
//! `cargo run -p pifolab-simd --example quantile`

use pifolab_simd::{RankWindow, Window};
use pifolab_units::Rank;

fn main() {
    let mut window = RankWindow::new(1000);
    for packet in 0u32..10_000 {
        window.push(Rank::from(packet * 37 % 1000));
    }
    let below = window.count_below(250);
    println!("{below} of the last 1000 ranks are below 250");
    assert_eq!(below, 250);
}

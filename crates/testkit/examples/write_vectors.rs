//! Writes the vectors of `conformance/` from the oracles: `cargo run -p pifolab-testkit --example write_vectors`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    for (name, text) in pifolab_testkit::vectors::all() {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

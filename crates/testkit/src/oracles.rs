//! One oracle per scheduler and file, written from the papers and from the interpretations in the documentation.
//! Oracles search plain vectors from end to end, and their fractions never round. `build.rs` lists the files.

include!(concat!(env!("OUT_DIR"), "/oracles.rs"));

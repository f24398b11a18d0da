//! One oracle per scheduler and file, written from the papers and from the readings that the documentation fixes, with
//! vectors that are searched from end to end and fractions that never round. `build.rs` lists the files.

include!(concat!(env!("OUT_DIR"), "/oracles.rs"));

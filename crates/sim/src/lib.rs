//! sim: see the crate's description.

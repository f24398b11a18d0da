//! testkit: see the crate's description.

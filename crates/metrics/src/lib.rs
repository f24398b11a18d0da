//! metrics: see the crate's description.

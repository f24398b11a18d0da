//! workload: see the crate's description.

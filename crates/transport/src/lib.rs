//! transport: see the crate's description.

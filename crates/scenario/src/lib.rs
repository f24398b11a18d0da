//! scenario: see the crate's description.

//! Deciders that wrap another decider.

pub mod delayed;

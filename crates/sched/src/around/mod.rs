//! Deciders around deciders.

pub mod delayed;

//! From text to a validated, reproducible run and its report; the only place that builds things from text.

pub mod conformance;
pub mod registry;

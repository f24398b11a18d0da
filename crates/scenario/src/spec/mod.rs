//! From text to a checked scenario: [`written`] holds the text, [`one_link`] and [`network`] the checked forms.

pub(crate) mod common;
mod failure;
mod flows;
pub(crate) mod network;
pub(crate) mod network_fields;
pub(crate) mod one_link;
pub(crate) mod one_link_fields;
mod record;
pub(crate) mod schedulers;
#[cfg(not(target_family = "wasm"))]
mod switch;
pub(crate) mod topology;
mod topology_fields;
pub(crate) mod topology_file;
mod topology_foreign;
pub(crate) mod trace;
pub(crate) mod transport;
mod words;
pub(crate) mod workload;
pub(crate) mod written;

//! The flow ([`flows`]) and the rank ([`reader`]) of an Ethernet frame for a scheduler, from its headers ([`frame`]).
//!
//! The user-space switch, the DPDK node and the C library read frames with this crate. The eBPF programs read them in the same way.

pub mod flows;
pub mod frame;
pub mod reader;
mod source;

pub use source::{RANK_FORMS, RankSource};

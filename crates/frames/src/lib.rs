//! What a scheduler needs from an Ethernet frame: its flow ([`flows`]) and its rank ([`reader`]), as its headers have them ([`frame`]).
//!
//! The user-space switch, the DPDK node and the C library read frames with this crate. The eBPF programs read them in the same way.

pub mod flows;
pub mod frame;
pub mod reader;
mod source;

pub use source::{RANK_FORMS, RankSource};

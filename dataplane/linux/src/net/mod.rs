//! What the kernel's network configuration is asked to do.

pub mod filter;
pub mod interface;
pub mod namespace;
pub mod tc;

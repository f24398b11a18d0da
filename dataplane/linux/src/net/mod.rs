//! Access to the kernel's network configuration.

pub mod class;
pub mod filter;
pub mod interface;
pub mod monitor;
pub mod namespace;
pub mod netlink;
pub mod offload;
pub mod part;
pub mod root;
pub mod tc;

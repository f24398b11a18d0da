//! The commands that put data planes up, show them, and take them down.

pub mod down;
pub mod metrics;
#[cfg(feature = "ebpf")]
pub mod status;
#[cfg(feature = "ebpf")]
pub mod up;

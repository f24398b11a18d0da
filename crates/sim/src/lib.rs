//! Event queue, links, ports, switches, hosts, and the engines that run them.

pub mod bench;
pub mod equal_times;
pub mod event_queue;
pub mod network;
pub mod observer;
pub mod one_link;
mod port;
pub mod replay;
pub mod trace_hash;

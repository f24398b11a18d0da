//! Runs of scenarios: every scheduler on the same packets or flows, on any number of threads.

mod feed;
mod network;
mod one_link;
mod pool;

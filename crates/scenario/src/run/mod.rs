//! Runs of scenarios: every scheduler on the same packets or flows, on as many threads as wanted.

mod feed;
mod network;
mod one_link;
mod pool;

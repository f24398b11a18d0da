//! Code that repeats the runs of published simulators: option sets, port options, and windows that follow their
//! packets.
//!
//! No other code in this crate serves only that purpose. A [`Profile`] sets options that a user can also set one by
//! one.

mod live_window;
mod port_options;
mod profile;

pub use live_window::NetbenchLiveWindow;
pub use port_options::{IdlePort, WireTime};
pub use profile::{NetbenchTransport, Profile};

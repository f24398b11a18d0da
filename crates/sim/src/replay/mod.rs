//! What repeats the runs of published simulators: option sets, port options, and windows that follow their packets.
//!
//! Nothing else in this crate is there for their sake. A [`Profile`] sets options that anybody can set one by one.

mod live_window;
mod port_options;
mod profile;

pub use live_window::NetbenchLiveWindow;
pub use port_options::{IdlePort, WireTime};
pub use profile::{NetbenchTransport, Profile};

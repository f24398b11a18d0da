//! One switch at a time has an interface. The right to it is a name in the network namespace (an abstract Unix socket), which
//! needs no folder and no privilege, and which ends with the process, however that ends.

use crate::{Error, Result};
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The right to let frames of an interface through a switch.
#[derive(Debug)]
pub struct InterfaceLock {
    _name: UnixListener,
}

impl InterfaceLock {
    /// Locks `interfaces`, in the calling thread's namespace. An interface that is not there is passed over: opening it says
    /// so.
    pub fn take(interfaces: &[&str]) -> Result<Vec<Self>> {
        let mut wanted: Vec<_> =
            interfaces.iter().filter_map(|name| Some((nix::net::if_::if_nametoindex(*name).ok()?, *name))).collect();
        // In one order for all: of two that begin at once, the one that gets the first interface gets both.
        wanted.sort_unstable();
        wanted.dedup();
        wanted.into_iter().map(|(index, name)| Self::one(index, name)).collect()
    }

    fn one(index: u32, name: &str) -> Result<Self> {
        let tried = || format!("{name}: locking it for the switch");
        let address = SocketAddr::from_abstract_name(format!("pifolab-switch-{index}"));
        let address = address.map_err(|error| Error::failed(tried(), error))?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Self { _name: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let holder = holder(&address).map_or_else(String::new, |pid| format!(" (process {pid})"));
                Err(Error::Held(format!("{name}: another switch has this interface{holder}; stop it first")))
            }
            Err(error) => Err(Error::failed(tried(), error)),
        }
    }
}

/// The process that holds a name; `None` if it is gone by now, or of another PID namespace.
fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `peer`.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    (status == 0 && peer.pid != 0).then_some(peer.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_locked_once_and_free_again_afterwards() {
        let held = InterfaceLock::take(&["lo", "nowhere0", "lo"]).expect("nobody else has it");
        assert_eq!(held.len(), 1);
        let said = InterfaceLock::take(&["lo"]).expect_err("it is held").to_string();
        assert!(said.contains(&format!("lo: another switch has this interface (process {})", std::process::id())));
        drop(held);
        InterfaceLock::take(&["lo"]).expect("it is free");
    }
}

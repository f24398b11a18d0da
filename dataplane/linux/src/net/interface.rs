//! A network interface by name.

use crate::error::Trying;
use crate::{Error, Result};
use std::ffi::CString;

/// An interface of the namespace that the calling thread was in when it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// Whether frames on it have an Ethernet header.
    pub ethernet: bool,
}

impl Interface {
    /// Looks `name` up.
    ///
    /// # Errors
    /// No such interface.
    pub fn find(name: &str) -> Result<Self> {
        let missing = || Error::Usage(format!("--dev {name}: there is no such interface here; `ip link` lists them"));
        let c_name = CString::new(name).map_err(|_| missing())?;
        // SAFETY: a C string.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        if index == 0 || name.len() >= libc::IFNAMSIZ {
            return Err(missing());
        }
        Ok(Self {
            mtu: ask(name, libc::SIOCGIFMTU, |request| {
                // SAFETY: the kernel has filled in the MTU.
                unsafe { request.ifr_ifru.ifru_mtu as u32 }
            })?,
            ethernet: ask(name, libc::SIOCGIFHWADDR, |request| {
                // SAFETY: the kernel has filled in the hardware address.
                let family = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
                matches!(family, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK)
            })?,
            name: name.to_owned(),
            index,
        })
    }

    /// The longest frame.
    pub const fn frame_bytes(&self) -> u32 {
        self.mtu + 14
    }
}

fn ask<T>(name: &str, what: libc::Ioctl, answer: impl FnOnce(&libc::ifreq) -> T) -> Result<T> {
    // SAFETY: an ifreq of zeros is valid; the socket is closed below; the name fits, as checked by the caller.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let status = if socket < 0 { -1 } else { libc::ioctl(socket, what as _, &raw mut request) };
        let error = std::io::Error::last_os_error();
        if socket >= 0 {
            libc::close(socket);
        }
        if status < 0 { Err(error).trying(|| format!("asking about {name}")) } else { Ok(answer(&request)) }
    }
}

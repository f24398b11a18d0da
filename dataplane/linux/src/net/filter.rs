//! Attaches a program as the filter of HTB's root, by netlink: `tc` needs a pinned program for that, and a pin is one
//! more thing to be left behind. The filter keeps the program alive.

use crate::{Error, Result};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What the names of our filters begin with.
pub const NAME_PREFIX: &str = "pifolab:";

/// linux/pkt_cls.h
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// The handle 1: of the HTB.
const PARENT: u32 = 0x0001_0000;
/// The program sets the minor number only; this gives the major one, and the class if it set none.
const CLASS: u32 = 0x0001_0001;

/// A netlink message under construction.
struct Message(Vec<u8>);

impl Message {
    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.pad();
    }

    fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.attribute(kind, &[]);
        fill(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

/// Attaches `program` to the HTB 1: of interface `index` in the calling thread's namespace.
///
/// # Errors
/// The kernel refuses.
pub fn attach(index: u32, program: BorrowedFd<'_>, scheduler: &str) -> Result<()> {
    let mut message = Message(Vec::with_capacity(256));
    // nlmsghdr: length (later), type, flags, sequence, port.
    message.0.extend(0u32.to_ne_bytes());
    message.0.extend(libc::RTM_NEWTFILTER.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    message.0.extend((flags as u16).to_ne_bytes());
    message.0.extend([0; 8]);
    // tcmsg: family, index, handle (the kernel picks), parent, preference and protocol.
    message.0.extend([0; 4]);
    message.0.extend(index.to_ne_bytes());
    message.0.extend(0u32.to_ne_bytes());
    message.0.extend(PARENT.to_ne_bytes());
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    message.0.extend((1 << 16 | u32::from(protocol)).to_ne_bytes());
    message.attribute(libc::TCA_KIND, b"bpf\0");
    message.nested(libc::TCA_OPTIONS, |options| {
        options.attribute(TCA_BPF_CLASSID, &CLASS.to_ne_bytes());
        options.attribute(TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
        options.attribute(TCA_BPF_NAME, format!("{NAME_PREFIX}{scheduler}\0").as_bytes());
        options.attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes());
    });
    let length = message.0.len() as u32;
    message.0[..4].copy_from_slice(&length.to_ne_bytes());
    request(&message.0).map_err(|error| Error::failed("attaching the filter", error))
}

/// Sends a request and waits for the kernel's word.
fn request(message: &[u8]) -> std::io::Result<()> {
    // SAFETY: a fresh descriptor that nothing else owns, checked before it is owned.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mut answer = [0u8; 4096];
    // SAFETY: both buffers outlive the calls.
    let received = unsafe {
        if libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    if received < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // nlmsgerr: the header (16 bytes), then 0 or a negative errno.
    match answer[16..20].try_into().map(i32::from_ne_bytes) {
        Ok(0) => Ok(()),
        Ok(error) => Err(std::io::Error::from_raw_os_error(-error)),
        Err(_) => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

//! Messages to and from the kernel's routing netlink (RFC 3549); only those that the data plane needs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Length of `nlmsghdr`.
const HEADER: usize = 16;
/// The length of the longest reply.
const LONGEST: usize = 64 << 10;

/// A request under construction.
pub struct Message(Vec<u8>);

impl Message {
    /// Creates a request of `kind` (`RTM_...`) with further `flags` (`NLM_F_...`) and the struct `body` after the
    /// header.
    pub fn new(kind: u16, flags: i32, body: &[u8]) -> Self {
        let mut message = Vec::with_capacity(256);
        // Length (later), type, flags, sequence, port.
        message.extend(0u32.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        Self(message)
    }

    /// Appends an attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Appends an attribute that contains the attributes appended by `fill`.
    pub fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.attribute(kind, &[]);
        fill(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// `struct tcmsg` of a qdisc or filter of interface `index`.
pub fn traffic_control(index: u32, handle: u32, parent: u32, info: u32) -> [u8; 20] {
    let mut body = [0; 20];
    for (place, word) in [index, handle, parent, info].into_iter().enumerate() {
        body[4 + 4 * place..8 + 4 * place].copy_from_slice(&word.to_ne_bytes());
    }
    body
}

/// One message from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// `RTM_...`.
    pub kind: u16,
    /// The bytes after the header.
    pub body: Vec<u8>,
}

impl Reply {
    /// The 32-bit word at byte `at`; 0 beyond the end.
    pub fn word(&self, at: usize) -> u32 {
        word(&self.body, at)
    }

    /// The attributes after a struct of `fixed` bytes.
    pub fn attributes(&self, fixed: usize) -> Attributes<'_> {
        Attributes(self.body.get(fixed..).unwrap_or_default())
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().expect("four bytes")))
}

/// The attributes of a message: kind and value of each.
#[derive(Clone, Copy)]
pub struct Attributes<'a>(pub &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let half = |at: usize| Some(u16::from_ne_bytes(self.0.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(half(0)?), half(2)?);
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits are flags.
        Some((kind & 0x3FFF, value))
    }
}

impl<'a> Attributes<'a> {
    /// The value of the first attribute of `kind`.
    pub fn find(mut self, wanted: u16) -> Option<&'a [u8]> {
        Iterator::find(&mut self, |(kind, _)| *kind == wanted).map(|(_, value)| value)
    }

    /// The value as text, without the final zero.
    pub fn text(self, wanted: u16) -> Option<String> {
        let value = self.find(wanted)?;
        let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
        Some(String::from_utf8_lossy(&value[..end]).into_owned())
    }

    /// The value as a 32-bit word.
    pub fn number(self, wanted: u16) -> Option<u32> {
        self.find(wanted).filter(|value| value.len() == 4).map(|value| word(value, 0))
    }
}

/// A routing socket in the namespace in which the calling thread opened it.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    /// Opens a socket.
    pub fn open() -> io::Result<Self> {
        // SAFETY: a new descriptor that nothing else owns, checked before it is owned.
        unsafe {
            let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Subscribes to the kernel's multicast groups (`RTNLGRP_...`).
    pub fn subscribe(&self, groups: &[u32]) -> io::Result<()> {
        // SAFETY: a netlink address of zeros is valid: the kernel chooses the port.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups.iter().fold(0, |mask, group| mask | 1 << (group - 1));
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `address`.
        match unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), size) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends a request, and collects all replies.
    pub fn ask(&self, message: Message) -> io::Result<Vec<Reply>> {
        let message = message.finish();
        // SAFETY: the pointer and the length describe `message`.
        if unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut all = Vec::new();
        loop {
            for reply in self.receive(0)? {
                match i32::from(reply.kind) {
                    // nlmsgerr: 0 for an acknowledgement, or a negative error number.
                    libc::NLMSG_ERROR => {
                        return match reply.word(0) as i32 {
                            0 => Ok(all),
                            error => Err(io::Error::from_raw_os_error(-error)),
                        };
                    }
                    libc::NLMSG_DONE => return Ok(all),
                    _ => all.push(reply),
                }
            }
        }
    }

    /// The messages received so far; may be empty.
    ///
    /// # Errors
    /// If the kernel refuses; `ENOBUFS` if messages were lost.
    pub fn waiting(&self) -> io::Result<Vec<Reply>> {
        match self.receive(libc::MSG_DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            other => other,
        }
    }

    fn receive(&self, flags: i32) -> io::Result<Vec<Reply>> {
        let mut buffer = vec![0u8; LONGEST];
        let length = loop {
            // SAFETY: the pointer and the length describe `buffer`.
            let length = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
            match usize::try_from(length) {
                Ok(length) => break length,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        };
        let mut rest = &buffer[..length];
        let mut replies = Vec::new();
        while rest.len() >= HEADER {
            let length = word(rest, 0) as usize;
            let Some(body) = rest.get(HEADER..length) else { break };
            replies.push(Reply { kind: u16::from_ne_bytes([rest[4], rest[5]]), body: body.to_vec() });
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(replies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let mut message = Message::new(libc::RTM_NEWQDISC, 0, &traffic_control(7, 0x10000, 2, 3));
        message.attribute(1, b"htb\0");
        message.nested(2, |options| {
            options.attribute(11, &42u32.to_ne_bytes());
            options.attribute(7, b"n\0");
        });
        let bytes = message.finish();
        assert_eq!(word(&bytes, 0) as usize, bytes.len());
        let reply = Reply { kind: 0, body: bytes[HEADER..].to_vec() };
        assert_eq!([4, 8, 12, 16].map(|at| reply.word(at)), [7, 0x10000, 2, 3]);
        let attributes = reply.attributes(20);
        assert_eq!(attributes.text(1).as_deref(), Some("htb"));
        let options = Attributes(attributes.find(2).expect("options"));
        assert_eq!((options.number(11), options.text(7).as_deref()), (Some(42), Some("n")));
        assert_eq!(options.find(8), None);
    }

    #[test]
    fn attributes_that_claim_more_than_there_is_end_the_list() {
        for bytes in [&[9, 0, 1, 0, 5][..], &[2, 0, 1, 0], &[0; 8], &[4]] {
            assert!(Attributes(bytes).count() <= 2, "{bytes:?}");
        }
        assert_eq!(Attributes(&[200, 0, 1, 0, 5, 6]).next(), None);
    }
}

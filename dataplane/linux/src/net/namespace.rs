//! The network namespace in which commands work.

use crate::Result;
use crate::error::Trying;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// linux/socket.h, since Linux 5.14.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// The identity of a namespace. The kernel reuses inode numbers, but not cookies until a reboot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceId {
    /// The inode number, as `lsns` shows it.
    pub inode: u64,
    /// The file system of the inode.
    device: u64,
    /// The kernel's cookie of the namespace; absent before Linux 5.14.
    cookie: Option<u64>,
    /// The id of the kernel's boot.
    boot: String,
}

impl NamespaceId {
    /// A file name that is unique among this kernel's namespaces.
    pub fn file_stem(&self) -> String {
        format!("{:x}-{:x}", self.inode, self.cookie.unwrap_or(0))
    }

    /// Whether the namespace no longer exists, because the existing `other` has its number but another identity, or
    /// another boot.
    pub fn is_replaced_by(&self, other: &Self) -> bool {
        let same_number = (self.inode, self.device) == (other.inode, other.device);
        let told_apart = matches!((self.cookie, other.cookie), (Some(one), Some(two)) if one != two);
        self.boot != other.boot || (same_number && told_apart)
    }
}

/// A network namespace, kept alive by an open file.
#[derive(Debug)]
pub struct NetNamespace {
    file: File,
    id: NamespaceId,
}

impl NetNamespace {
    /// The namespace of this thread.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        let file = File::open(path).trying(|| format!("opening {path}"))?;
        let metadata = file.metadata().trying(|| format!("reading {path}"))?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let id = NamespaceId { inode: metadata.ino(), device: metadata.dev(), cookie: cookie(), boot };
        Ok(Self { file, id })
    }

    /// The inode number, as `lsns` shows it.
    pub const fn inode(&self) -> u64 {
        self.id.inode
    }

    /// The identity of the namespace.
    pub const fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// Makes `command` run in this namespace, independent of the calling thread's namespace.
    pub fn enter_before(&self, command: &mut Command) {
        let fd = self.file.as_raw_fd();
        // SAFETY: after fork the closure only makes system calls.
        unsafe { command.pre_exec(move || enter(fd)) };
    }

    /// Runs `work` in this namespace: on the calling thread if it is in the namespace, else on a new thread.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let fd = self.file.as_raw_fd();
        if same_namespace(fd) {
            return work();
        }
        std::thread::scope(|scope| {
            let entered = scope.spawn(move || enter(fd).and_then(|()| work()));
            entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn enter(fd: i32) -> io::Result<()> {
    // SAFETY: a system call on a descriptor that the caller keeps open.
    match unsafe { libc::setns(fd, libc::CLONE_NEWNET) } {
        0 => Ok(()),
        // Without the right to enter namespaces, the current one is still not an error.
        _ if same_namespace(fd) => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn same_namespace(fd: i32) -> bool {
    // SAFETY: zeroed stat buffers are valid, and the path is a C string.
    unsafe {
        let (mut ours, mut theirs) = (std::mem::zeroed::<libc::stat>(), std::mem::zeroed::<libc::stat>());
        libc::stat(c"/proc/thread-self/ns/net".as_ptr(), &raw mut ours) == 0
            && libc::fstat(fd, &raw mut theirs) == 0
            && (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    }
}

/// The cookie of the calling thread's namespace, read from a socket.
fn cookie() -> Option<u64> {
    let socket = std::os::unix::net::UnixDatagram::unbound().ok()?;
    let mut cookie = 0u64;
    let mut length = size_of_val(&cookie) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `cookie`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    (status == 0).then_some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_itself_and_its_file_name_says_which() {
        let (one, again) = (NetNamespace::current().expect("a namespace"), NetNamespace::current().expect("another"));
        assert_eq!(one.id(), again.id());
        assert_eq!(one.within(|| Ok(7)).expect("it is entered"), 7);
        let reused = NamespaceId { cookie: Some(u64::MAX), ..one.id().clone() };
        assert_ne!(one.id(), &reused, "another namespace of the same number");
        assert_ne!(one.id().file_stem(), reused.file_stem());
        assert!(reused.is_replaced_by(one.id()) && !one.id().is_replaced_by(again.id()));
        let elsewhere = NamespaceId { inode: 1, ..reused.clone() };
        assert!(!elsewhere.is_replaced_by(one.id()), "one of another number may live");
        assert!(NamespaceId { boot: "another run of the kernel".to_owned(), ..elsewhere }.is_replaced_by(one.id()));
    }
}

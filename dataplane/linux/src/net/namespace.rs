//! The network namespace that commands work in.

use crate::Result;
use crate::error::Trying;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A network namespace, kept alive by an open file.
#[derive(Debug)]
pub struct NetNamespace {
    file: File,
    inode: u64,
}

impl NetNamespace {
    /// The one that this thread is in.
    ///
    /// # Errors
    /// No /proc.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        let file = File::open(path).trying(|| format!("opening {path}"))?;
        let inode = file.metadata().trying(|| format!("reading {path}"))?.ino();
        Ok(Self { file, inode })
    }

    /// Its number, as `lsns` shows it.
    pub const fn inode(&self) -> u64 {
        self.inode
    }

    /// Lets `command` run in it, wherever the calling thread is by then.
    pub fn enter_before(&self, command: &mut Command) {
        let fd = self.file.as_raw_fd();
        let enter = move || {
            // SAFETY: a system call on a descriptor that `self` keeps open while commands are made and run.
            match unsafe { libc::setns(fd, libc::CLONE_NEWNET) } {
                0 => Ok(()),
                // Without the right to enter any namespace, the one that we are in already is no error.
                _ if same_namespace(fd) => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: after fork the closure only makes system calls.
        unsafe { command.pre_exec(enter) };
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

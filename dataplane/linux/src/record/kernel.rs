//! The kernel's remains of a data plane whose process has ended.

use std::io;

/// `BPF_MAP_GET_FD_BY_ID` of linux/bpf.h.
const BPF_MAP_GET_FD_BY_ID: libc::c_long = 14;

/// Whether the kernel has a map with this id; `None` if unknown, because the query requires CAP_SYS_ADMIN. The kernel
/// reuses an id only after 2^31 others.
pub fn has_map(id: u32) -> Option<bool> {
    // The first words of `union bpf_attr`: the map's id, an unused word, and flags.
    let attributes = [id, 0, 0];
    // SAFETY: the kernel reads exactly the bytes of the attributes.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_GET_FD_BY_ID, attributes.as_ptr(), size_of_val(&attributes)) };
    if fd >= 0 {
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        unsafe { libc::close(fd as i32) };
        return Some(true);
    }
    (io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT)).then_some(false)
}

//! What the kernel still holds of a data plane whose process is gone.

use std::io;

/// `BPF_MAP_GET_FD_BY_ID` of linux/bpf.h.
const BPF_MAP_GET_FD_BY_ID: libc::c_long = 14;

/// Whether the kernel has a map of this number; `None` if it does not tell (it does so for CAP_SYS_ADMIN alone). Numbers are
/// not used again before 2^31 others.
pub fn has_map(id: u32) -> Option<bool> {
    // The first words of `union bpf_attr`: the map's number, one that is not used here, and flags.
    let attributes = [id, 0, 0];
    // SAFETY: the kernel reads as many bytes as the attributes have.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_GET_FD_BY_ID, attributes.as_ptr(), size_of_val(&attributes)) };
    if fd >= 0 {
        // SAFETY: it was opened just now, and is not known elsewhere.
        unsafe { libc::close(fd as i32) };
        return Some(true);
    }
    (io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT)).then_some(false)
}

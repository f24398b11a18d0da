//! Ends the process with one line if there is no more memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator. If it fails, the standard library would abort the process with a signal and a trace; this
/// one ends it with one line and the status of wrong input.
struct OrOneLine;

#[global_allocator]
static ALLOCATOR: OrOneLine = OrOneLine;

unsafe extern "C" {
    /// Ends the process without running code that needs memory.
    fn _exit(status: i32) -> !;
}

#[cold]
#[inline(never)]
fn refused(bytes: usize) -> ! {
    let mut error = std::io::stderr();
    // Standard error is not buffered, and needs no memory.
    let _ = writeln!(
        error,
        "pifolab: out of memory: {bytes} bytes more were refused: expected more memory, or a smaller run"
    );
    // SAFETY: the function has no conditions.
    unsafe { _exit(2) }
}

fn checked(place: *mut u8, bytes: usize) -> *mut u8 {
    if place.is_null() { refused(bytes) } else { place }
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for OrOneLine {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.realloc(place, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

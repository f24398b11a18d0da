//! The functions of `pifolab-c` as a static and a shared library. A crate of its own, since the linker optimises libraries for C as
//! a whole only where their crate makes nothing else.

pub use pifolab_c::*;

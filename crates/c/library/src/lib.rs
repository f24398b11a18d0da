//! The functions of `pifolab-c` as a static and a shared library. It is a separate crate, because link-time
//! optimisation of libraries for C works only in crates that build nothing else.

pub use pifolab_c::*;

//! Gives the shared library its SONAME, so that a program started with an incompatible version is refused by the loader.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // ELF only: on other systems the name is chosen when the library is installed.
    let elf = ["linux", "android", "freebsd", "netbsd", "openbsd", "dragonfly", "illumos", "solaris"];
    if elf.contains(&var("CARGO_CFG_TARGET_OS").unwrap_or_default().as_str()) {
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        // Before 1.0 a new minor version may break its users.
        let interface = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpifolab_sched.so.{interface}");
    }
}

//! Gives the shared library its SONAME, so that a program started with an incompatible version is refused by the loader, and
//! makes it smaller where the linker and the loader of this machine can.

use std::env::var;
use std::fs::write;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // ELF only: on other systems the name is chosen when the library is installed.
    let elf = ["linux", "android", "freebsd", "netbsd", "openbsd", "dragonfly", "illumos", "solaris"];
    if elf.contains(&var("CARGO_CFG_TARGET_OS").unwrap_or_default().as_str()) {
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        // Before 1.0 a new minor version may break its users.
        let interface = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpifolab_sched.so.{interface}");
        // Equal functions once (lld), and relocations in a twentieth of the space (a loader such as glibc 2.36 must know
        // them). An archive for other machines is made without the latter.
        println!("cargo::rerun-if-env-changed=PIFOLAB_FOR_OLD_LOADERS");
        let packed = var("PIFOLAB_FOR_OLD_LOADERS").is_err().then_some("-Wl,-z,pack-relative-relocs");
        for option in ["-Wl,--icf=all"].into_iter().chain(packed).filter(|option| works(option)) {
            println!("cargo::rustc-cdylib-link-arg={option}");
        }
    }
}

/// Whether a program that is linked with this option runs here.
fn works(option: &str) -> bool {
    let [compiler, target, folder] = ["RUSTC", "TARGET", "OUT_DIR"].map(|name| var(name).expect("Cargo sets it"));
    let (source, program) = (Path::new(&folder).join("probe.rs"), Path::new(&folder).join("probe"));
    let mut compile = Command::new(compiler);
    // As the library will be linked.
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compile.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    compile.args(["--target", &target, "-C", &format!("link-arg={option}")]);
    if let Ok(linker) = var("RUSTC_LINKER") {
        compile.args(["-C", &format!("linker={linker}")]);
    }
    let runs = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    write(&source, "fn main() {}").is_ok()
        && runs(compile.arg("-o").arg(&program).arg(&source))
        && runs(&mut Command::new(program))
}

//! Compiles the eBPF programs with clang; they become part of the binary.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAMS: [&str; 6] = ["fifo", "sp_pifo", "aifo", "packs", "rifo", "exp_pifo"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for program in PROGRAMS {
        let object = out.join(format!("{program}.bpf.o"));
        compile(&Path::new("bpf").join(format!("{program}.bpf.c")), &object);
    }
}

fn compile(source: &Path, object: &Path) {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    // asm/types.h lies in a folder of the architecture's name on Debian; clang does not look there for another target.
    let machine = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let headers = format!("/usr/include/{machine}-linux-gnu");
    let mut command = Command::new(&clang);
    command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    if fs::exists(&headers).unwrap_or(false) {
        command.arg(format!("-I{headers}"));
    }
    let output = command.arg("-c").arg(source).arg("-o").arg(object).output();
    let install = "install clang, libbpf-dev and libelf-dev (scripts/install_dataplane_deps.sh does it on Debian), or build \
                   the user-space switch alone with --no-default-features";
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            panic!("{clang} could not compile {}:\n{errors}\nIf headers are missing: {install}", source.display());
        }
        Err(error) => panic!("{clang} could not be run ({error}): {install}"),
    }
}

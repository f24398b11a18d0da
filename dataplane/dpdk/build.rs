//! Compiles the burst loop, which is C since DPDK's calls are inline functions, and links DPDK.

use std::process::Command;

const INSTALL: &str =
    "on Debian and Ubuntu: apt-get install libdpdk-dev dpdk (scripts/install_dataplane_deps.sh does it)";

fn pkg_config(what: &str) -> Vec<String> {
    let output = Command::new("pkg-config").args([what, "libdpdk"]).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).split_ascii_whitespace().map(str::to_owned).collect()
        }
        Ok(_) => panic!("DPDK is not installed (pkg-config finds no libdpdk); {INSTALL}"),
        Err(error) => panic!("pkg-config cannot be run ({error}); {INSTALL}"),
    }
}

fn main() {
    for file in ["src/node.c", "src/node.h", "benches/carry.c"] {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-changed=../../crates/c/include/pifolab_sched.h");
    let mut build = cc::Build::new();
    build.file("src/node.c").file("benches/carry.c").include("../../crates/c/include").opt_level(3).std("gnu11");
    build.flag("-Wall").flag("-Wextra");
    // rte_sched.h has inline functions that call experimental ones.
    build.define("ALLOW_EXPERIMENTAL_API", None);
    for flag in pkg_config("--cflags") {
        match flag.strip_prefix("-I") {
            // Warnings of DPDK's own headers are not ours.
            Some(folder) => build.flag("-isystem").flag(folder),
            None => build.flag(&flag),
        };
    }
    build.compile("node");
    // Captures are counted by the library that DPDK's own driver reads them with; libdpdk-dev requires it.
    println!("cargo::rustc-link-lib=pcap");
    for flag in pkg_config("--libs") {
        if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={name}");
        } else if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo::rustc-link-search={folder}");
        }
    }
}

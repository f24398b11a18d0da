//! Finds the eBPF programs, lists them, and compiles them with clang; they become part of the binary.

#[path = "build/programs.rs"]
mod programs;

use pifolab_params::c_constants;
use pifolab_registry::rows::SCHEDULERS;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// BPF qdiscs need a clang that tells the kernel which pointers own what: 16 does not, 17 does.
const OLDEST_FOR_QDISCS: u32 = 17;
/// Where packages put commands.
const COMMANDS: &str = "/usr/bin";

/// Each scheduler has a file here.
const FILES: &str = "src/ebpf/programs";

/// And a folder, which has these.
const FILTER: &str = "filter";
const QDISC: &str = "qdisc";

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed={FILES}");
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rustc-check-cfg=cfg(bpf_qdisc)");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let names = match programs::in_order(&folders(), &stems()) {
        Ok(names) => names,
        Err(faults) => return faults.iter().for_each(|fault| println!("cargo::error={fault}")),
    };
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    fs::write(out.join("programs.rs"), programs::rust(&names, &root.join(FILES))).expect("OUT_DIR can be written to");
    // The numbers of choices come from the library's own lists of words.
    let infos = SCHEDULERS.iter().map(|entry| entry.info).filter(|info| names.contains(&info.name));
    let choices: String =
        infos.flat_map(|info| info.params.iter().map(|param| c_constants(info.name, param))).collect();
    fs::write(out.join("choices.h"), choices).expect("OUT_DIR can be written to");
    for (source, object) in sources(FILTER, &out) {
        compile(&clang(), &source, &object);
    }
    // Optional: most kernels have no BPF qdisc, and a distribution's clang may be too old.
    let clang = clang_for_qdiscs();
    for (source, object) in sources(QDISC, &out) {
        match &clang {
            Some(clang) => compile(clang, &source, &object),
            None => fs::write(object, []).expect("OUT_DIR can be written to"),
        }
    }
    if clang.is_some() {
        println!("cargo::rustc-cfg=bpf_qdisc");
    } else if Path::new(COMMANDS).exists() {
        // Asked again once a newer clang may be there.
        println!("cargo::rerun-if-changed={COMMANDS}");
    }
}

/// The folders with a program.
fn folders() -> Vec<String> {
    let has_program = |path: &PathBuf| [FILTER, QDISC].iter().any(|kind| path.join(format!("{kind}.bpf.c")).exists());
    entries("bpf").filter(has_program).map(|path| text(path.file_name())).collect()
}

/// The names of the files in Rust, without `.rs`.
fn stems() -> Vec<String> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    entries(FILES).filter(is_rust).map(|path| text(path.file_stem())).filter(|stem| stem != "mod").collect()
}

/// What is in a folder, by name.
fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter()
}

fn text(name: Option<&OsStr>) -> String {
    name.expect("an entry has a name").to_string_lossy().into_owned()
}

/// The sources of a kind, with the object of each.
fn sources(kind: &str, out: &Path) -> Vec<(PathBuf, PathBuf)> {
    let sources = entries("bpf").map(|folder| (folder.join(format!("{kind}.bpf.c")), folder));
    let sources = sources.filter(|(source, _)| source.exists());
    let object = |folder: &Path| out.join(format!("{}.{kind}.bpf.o", folder.file_name().expect("a name").display()));
    sources.map(|(source, folder)| (source, object(&folder))).collect()
}

fn clang() -> String {
    env::var("CLANG").unwrap_or_else(|_| "clang".to_owned())
}

/// The first clang that is new enough, by what it says of itself.
fn clang_for_qdiscs() -> Option<String> {
    let others = (OLDEST_FOR_QDISCS..30).rev().map(|version| format!("clang-{version}"));
    std::iter::once(clang()).chain(others).find(|clang| {
        let output = Command::new(clang).arg("-dumpversion").output();
        let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
        let major = version.and_then(|version| version.split('.').next()?.trim().parse::<u32>().ok());
        major.is_some_and(|major| major >= OLDEST_FOR_QDISCS)
    })
}

fn compile(clang: &str, source: &Path, object: &Path) {
    // asm/types.h lies in a folder of the architecture's name on Debian; clang does not look there for another target.
    let machine = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let headers = format!("/usr/include/{machine}-linux-gnu");
    let mut command = Command::new(clang);
    // In a file, so that scripts/test_programs_in_guests.sh compiles with the same.
    command.args(include_str!("bpf/flags").split_ascii_whitespace());
    command.arg(format!("-I{}", object.parent().expect("a file in OUT_DIR").display()));
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

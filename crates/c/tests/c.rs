//! The tests in C, linked to the static library and run under the address and the undefined-behaviour sanitizer; and the example.
//!
//! They need a C compiler (`CC`, or `cc`). Without one they print that, and fail if `CI` is set.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The system libraries that a static library of Rust needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lrt"];

/// Builds the static library in the profile of this test program, since `cargo test` alone does not.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the target folder");
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--locked", "--quiet", "--package", "pifolab-c-library", "--lib", "--profile", profile]);
        let done = command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("--target-dir").arg(target).status().unwrap();
        assert!(done.success(), "the library cannot be made");
        target.join(if profile == "dev" { "debug" } else { "release" }).join("libpifolab_sched.a")
    })
}

fn compiled(source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]).args(flags);
    command.arg("-I").arg(crate_dir.join("include")).arg(crate_dir.join(source)).arg(library());
    let Ok(output) = command.args(SYSTEM).arg("-o").arg(&program).output() else {
        assert!(std::env::var_os("CI").is_none(), "there is no C compiler {compiler}");
        println!("skipped: there is no C compiler {compiler}");
        return None;
    };
    assert!(output.status.success(), "{source}:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn passes(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {}\n{text}", program.display(), output.status);
    text
}

#[test]
fn the_tests_in_c_pass_under_sanitizers() {
    let flags = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];
    if let Some(program) = compiled("tests/c/suite.c", "suite", &flags) {
        let text = passes(&program, &[]);
        assert!(text.trim_end().ends_with("tests passed"), "{text}");
    }
}

#[test]
fn the_header_is_also_one_of_cpp() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let header = crate_dir.join("include/pifolab_sched.h");
    let mut command = Command::new(&compiler);
    command.args(["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).arg(header);
    match command.output() {
        // With a C compiler but no C++ compiler only this test is skipped.
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("cc1plus") => {
            println!("skipped: no C++ compiler")
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => assert!(std::env::var_os("CI").is_none(), "there is no C compiler {compiler}: {error}"),
    }
}

#[test]
fn the_example_moves_every_packet() {
    if let Some(program) = compiled("examples/node.c", "node", &["-O2"]) {
        for scheduler in ["sp-pifo", "packs", "pifo", "fifo"] {
            let text = passes(&program, &[scheduler, "", "200000"]);
            assert!(text.contains("200000 packets in"), "{text}");
        }
    }
}

#[test]
fn the_example_has_no_error_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: there is no valgrind");
        return;
    }
    let Some(program) = compiled("examples/node.c", "node-valgrind", &["-O1"]) else { return };
    for scheduler in ["sp-pifo", "packs", "aifo", "pifo"] {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all"]);
        command.args(["--errors-for-leak-kinds=definite,indirect,possible"]);
        let output = command.arg(&program).args([scheduler, "", "20000"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{scheduler}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("20000 packets in"), "{text}");
    }
}

/// A program loads the interface for which it was compiled (`libpifolab_sched.so.0.1`), not any library of that name.
#[test]
#[cfg(target_os = "linux")]
fn a_program_asks_for_the_shared_library_by_its_soname() {
    let shared = library().with_extension("so");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("soname");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("node");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.arg("-I").arg(crate_dir.join("include")).arg(crate_dir.join("examples/node.c")).arg(&shared);
    let Ok(output) = command.arg("-o").arg(&program).output() else {
        assert!(std::env::var_os("CI").is_none(), "there is no C compiler {compiler}");
        println!("skipped: there is no C compiler {compiler}");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let run = || {
        let mut command = Command::new(&program);
        command.args(["sp-pifo", "", "20000"]).env("LD_LIBRARY_PATH", &folder).output().unwrap()
    };
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let interface = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    // A library of another interface is not loaded, whatever other files exist.
    std::os::unix::fs::symlink(&shared, folder.join("libpifolab_sched.so")).unwrap();
    std::os::unix::fs::symlink(&shared, folder.join("libpifolab_sched.so.999")).unwrap();
    let missing = run();
    assert!(!missing.status.success(), "{}", String::from_utf8_lossy(&missing.stdout));
    assert!(String::from_utf8_lossy(&missing.stderr).contains(&format!("libpifolab_sched.so.{interface}")));
    std::os::unix::fs::symlink(&shared, folder.join(format!("libpifolab_sched.so.{interface}"))).unwrap();
    assert!(run().status.success());
}

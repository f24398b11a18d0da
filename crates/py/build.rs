//! Compiles the revision of the source into the module, for manifests: a commit, followed by `+changes` if the Rust
//! sources differ from it. A build without git can set it with `PIFOLAB_REVISION`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PIFOLAB_REVISION");
    // A change of any source may change `git status`, and a commit or a switch of branches changes HEAD.
    println!("cargo::rerun-if-changed=..");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let revision = std::env::var("PIFOLAB_REVISION").ok().or_else(revision);
    println!("cargo::rustc-env=PIFOLAB_REVISION={}", revision.as_deref().unwrap_or("unknown"));
}

/// The commit of the work tree that has this file; `None` if the sources were unpacked inside another work tree.
fn revision() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes =
        git(&["status", "--porcelain", "--untracked-files=no", "--", "..", "../../Cargo.toml", "../../Cargo.lock"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}+changes") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

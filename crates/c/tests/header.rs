//! The committed header equals the one generated from the sources.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(crate_dir.join("src/lib.rs"))
        .generate()
        .expect("the sources can be read")
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = crate_dir.join("include/pifolab_sched.h");
    if std::env::var_os("PIFOLAB_WRITE_HEADER").is_some() {
        let temporary = path.with_extension("h.tmp");
        std::fs::write(&temporary, &made).unwrap();
        std::fs::rename(&temporary, &path).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "include/pifolab_sched.h is not what the sources make: run make c-header");
}

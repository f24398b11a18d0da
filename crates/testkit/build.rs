//! Lists the files of `src/oracles` as modules, collects their `SUITE`s, and generates `each_oracle!`, which makes one
//! test per file. A new file therefore adds its oracle to the suite, the vectors and the fuzz target.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/oracles");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("src/oracles");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of the oracles")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let names: Vec<_> = files.iter().map(|file| file.file_stem().expect("a file").to_string_lossy()).collect();
    let modules = names.iter().zip(&files).map(|(name, file)| format!("#[path = {file:?}]\npub(crate) mod {name};\n"));
    let suites: Vec<_> = names.iter().map(|name| format!("&{name}::SUITE")).collect();
    let text = format!(
        "{}\n/// What each file brings into the suite.\npub(crate) const SUITES: &[&crate::line::Suite] = &[{}];\n\n\
         /// Calls `$each!` with the names of all files of oracles, which are those of schedulers with `_` for `-`.\n\
         #[macro_export]\nmacro_rules! each_oracle {{\n    ($each:ident) => {{ $each! {{ {} }} }};\n}}\n",
        modules.collect::<String>(),
        suites.join(", "),
        names.join(" "),
    );
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("oracles.rs");
    fs::write(target, text).expect("cargo's folder can be written");
}

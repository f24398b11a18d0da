//! Which eBPF programs there are, and the Rust that lists them. A program is a folder `bpf/<name>/` and a file
//! `src/ebpf/programs/<name>.rs`, with `_` for `-`, whose type has the name in camel case. A test includes this file, too.

use pifolab_registry::rows::SCHEDULERS;
use std::fmt::Write;
use std::path::Path;

/// The names of the programs in the order in which they are shown: that of the library, those that no paper has at the end.
/// `folders` are those with C, `stems` the names of the files without `.rs`.
pub fn in_order(folders: &[String], stems: &[String]) -> Result<Vec<&'static str>, Vec<String>> {
    let folder = |name: &str| format!("dataplane/linux/bpf/{name}");
    let file = |stem: &str| format!("dataplane/linux/src/ebpf/programs/{stem}.rs");
    let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
    let mut faults = Vec::new();
    for name in folders {
        let stem = name.replace('-', "_");
        if !has(stems, &stem) {
            faults.push(format!("{}/ has no {}: write it, or remove the folder", folder(name), file(&stem)));
        } else if !SCHEDULERS.iter().any(|entry| entry.info.name == name) {
            let expected = "expected the name of one that `pifolab list schedulers` shows";
            faults.push(format!("{}/: the library has no scheduler {name:?}; {expected}", folder(name)));
        }
    }
    for stem in stems {
        let name = stem.replace('_', "-");
        if !has(folders, &name) {
            faults.push(format!(
                "{} has no {}/filter.bpf.c or qdisc.bpf.c: write one, or remove the file (what programs share is in \
                 dataplane/linux/src/ebpf/, as window.rs is)",
                file(stem),
                folder(&name),
            ));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut infos: Vec<_> = SCHEDULERS.iter().map(|entry| entry.info).collect();
    infos.sort_by_key(|info| !info.has_paper());
    Ok(infos.into_iter().map(|info| info.name).filter(|name| has(folders, name)).collect())
}

/// The modules, whose files are in `folder`, and the list `PROGRAMS`.
pub fn rust(names: &[&str], folder: &Path) -> String {
    let (mut modules, mut list) = (String::new(), String::new());
    for name in names {
        let module = name.replace('-', "_");
        let file = folder.join(format!("{module}.rs"));
        writeln!(modules, "#[path = {file:?}]\npub mod {module};").expect("a String takes all");
        writeln!(list, "    &{module}::{},", camel_case(name)).expect("a String takes all");
    }
    format!(
        "{modules}\n/// Every program, in the order in which they are shown.\n\
         pub static PROGRAMS: &[&dyn Program] = &[\n{list}];\n"
    )
}

/// `SpPifo` for `sp-pifo`.
fn camel_case(name: &str) -> String {
    let capitalised = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capitalised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn faults(folders: &[&str], stems: &[&str]) -> Vec<String> {
        in_order(&strings(folders), &strings(stems)).expect_err("a half is missing")
    }

    #[test]
    fn programs_are_in_the_librarys_order_and_those_of_no_paper_last() {
        let names = in_order(&strings(&["slack-sp", "aifo", "fifo"]), &strings(&["aifo", "fifo", "slack_sp"]));
        assert_eq!(names, Ok(vec!["fifo", "aifo", "slack-sp"]));
    }

    #[test]
    fn a_missing_half_is_named_with_what_would_be_right() {
        assert_eq!(
            faults(&["fifo", "sp-pifo"], &["fifo"]),
            [
                "dataplane/linux/bpf/sp-pifo/ has no dataplane/linux/src/ebpf/programs/sp_pifo.rs: write it, or remove the folder"
            ]
        );
        assert_eq!(
            faults(&["fifo"], &["fifo", "sp_pifo"]),
            [
                "dataplane/linux/src/ebpf/programs/sp_pifo.rs has no dataplane/linux/bpf/sp-pifo/filter.bpf.c or qdisc.bpf.c: \
              write one, or remove the file (what programs share is in dataplane/linux/src/ebpf/, as window.rs is)"
            ]
        );
        assert_eq!(faults(&["pifo"], &["fifo"]).len(), 2);
    }

    #[test]
    fn a_scheduler_that_the_library_has_not_is_refused() {
        assert_eq!(
            faults(&["fifi"], &["fifi"]),
            [
                "dataplane/linux/bpf/fifi/: the library has no scheduler \"fifi\"; expected the name of one that `pifolab list \
              schedulers` shows"
            ]
        );
    }

    #[test]
    fn a_module_has_the_scheduler_s_name_and_its_type_has_it_in_camel_case() {
        let expected = "#[path = \"/p/sp_pifo.rs\"]\npub mod sp_pifo;\n\n\
                        /// Every program, in the order in which they are shown.\n\
                        pub static PROGRAMS: &[&dyn Program] = &[\n    &sp_pifo::SpPifo,\n];\n";
        assert_eq!(rust(&["sp-pifo"], Path::new("/p")), expected);
    }
}

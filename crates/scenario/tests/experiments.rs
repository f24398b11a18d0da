//! Every experiment on one link that the project ships is a valid scenario.

use pifolab_scenario::{Spec, ValidSpec};
use std::path::{Path, PathBuf};

fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_experiment_on_one_link_is_valid_and_states_its_seeds() {
    let mut found = Vec::new();
    scenarios(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    let mut checked = 0;
    for path in found {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if !text.contains("[link]") {
            continue;
        }
        let spec = Spec::parse(&text, &path.display().to_string()).and_then(|spec| spec.validate(&()));
        let spec = spec.unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(spec, ValidSpec::OneLink(_)), "{}: no link", path.display());
        assert!(spec.seeds().len() > 1, "{}: one seed is no experiment", path.display());
        assert!(spec.resolved()["description"].is_string(), "{}: without description", path.display());
        checked += 1;
    }
    assert!(checked >= 14, "only {checked} experiments were found");
}

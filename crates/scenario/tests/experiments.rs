//! Every experiment that the project ships is a valid scenario.

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
fn every_experiment_is_valid_and_one_on_a_link_has_several_seeds() {
    let mut found = Vec::new();
    scenarios(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    let (mut links, mut networks) = (0, 0);
    for path in found {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        // A sweep names the scenario that it runs.
        if text.lines().any(|line| line.starts_with("scenario =")) {
            continue;
        }
        let spec = Spec::parse(&text, &path.display().to_string()).and_then(|spec| ValidSpec::new(spec, &()));
        let spec = spec.unwrap_or_else(|error| panic!("{error}"));
        assert!(spec.resolved()["description"].is_string(), "{}: without description", path.display());
        match spec {
            ValidSpec::OneLink(_) => {
                assert!(spec.seeds().len() > 1, "{}: an experiment has several seeds", path.display());
                links += 1;
            }
            ValidSpec::Network(_) => networks += 1,
        }
    }
    assert!(links >= 14 && networks >= 40, "only {links} experiments on links and {networks} on networks were found");
}

//! Replays the vectors of the project through the library.

use pifolab_params::{Absent, Kind, Param};
use pifolab_scenario::conformance::{Outcome, replay_file};
use pifolab_scenario::registry::{Form, SCHEDULERS, SchedulerEntry};
use std::path::Path;

fn replay_all(form: Form) -> Vec<Outcome> {
    let mut outcomes = replay_folder("../../conformance", form);
    outcomes.append(&mut replay_folder("../../conformance/worst-cases", form));
    outcomes
}

fn replay_folder(folder: &str, form: Form) -> Vec<Outcome> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is in the tree");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|file| replay_file(file, form).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn the_library_answers_every_vector_of_the_project_in_both_forms() {
    for outcome in [Form::Plain, Form::Twins].into_iter().flat_map(replay_all) {
        if let Some(first) = outcome.first {
            panic!("{} mismatches\n{first}", outcome.mismatches);
        }
    }
}

#[test]
fn the_library_pops_every_policy_as_the_public_simulator_of_trees() {
    let outcomes = replay_folder("../../conformance/trees", Form::Twins);
    assert_eq!(outcomes.len(), 15);
    for outcome in outcomes {
        if let Some(first) = outcome.first {
            panic!("{} mismatches\n{first}", outcome.mismatches);
        }
    }
}

#[test]
fn every_scheduler_has_a_vector() {
    let mut outcomes = replay_all(Form::Plain);
    outcomes.extend(replay_folder("../../conformance/trees", Form::Twins));
    // Schedulers that wrap another one are tested by the vectors of that one.
    let alone = |entry: &&SchedulerEntry| {
        let joins =
            |param: &Param| matches!(param.kind, Kind::Component(_)) && matches!(param.absent, Absent::Required);
        // A P4 program is tested by the vectors of the scheduler from which it was compiled.
        !entry.info.params.iter().any(joins) && entry.files.is_empty()
    };
    for entry in SCHEDULERS.iter().filter(alone) {
        let name = entry.info.name;
        assert!(outcomes.iter().any(|outcome| outcome.scheduler == name), "no vector in conformance/ is about {name}");
    }
}

//! Parameter files say what the library says, and refuse what a target has not.

use super::*;
use pifolab_params::Value;
use std::fs;
use std::path::Path;

fn args(name: &str, keys: &[(&str, Value)]) -> Args {
    let mut args = Args::new(name);
    for (key, value) in keys {
        args.set(*key, value.clone());
    }
    args
}

fn text(name: &str, keys: &[(&str, Value)]) -> String {
    compile(name, args(name, keys), Target::Bmv2).expect("BMv2 can do it").text
}

fn refusal(name: &str, keys: &[(&str, Value)], target: Target) -> String {
    compile(name, args(name, keys), target).expect_err("it is refused").to_string()
}

#[test]
fn every_program_compiles_with_the_librarys_defaults_or_a_small_window() {
    for program in &PROGRAMS {
        for name in program.schedulers {
            let keys: &[(&str, Value)] = match program.name {
                "aifo" | "packs" => &[("window", Value::Integer(16))],
                "strict_priority" if *name == "sp-pifo-optimal" => {
                    &[("weights", Value::List(vec![Value::Integer(1); 16]))]
                }
                _ => &[],
            };
            let compiled = compile(name, args(name, keys), Target::Bmv2).expect("the defaults are possible");
            assert_eq!(compiled.program, program.name);
            assert!(compiled.text.contains("PF_QUEUES"));
        }
    }
}

#[test]
fn what_the_target_has_not_is_refused_in_one_line() {
    let nine = refusal("sp-pifo", &[("queues", Value::Integer(9))], Target::Bmv2);
    assert_eq!(nine, "sp-pifo on BMv2: queues = 9: expected at most 8");
    let wide = refusal("aifo", &[("window", Value::Integer(257))], Target::Bmv2);
    assert_eq!(wide, "aifo on BMv2: window = 257: expected at most 256");
    let wide = refusal("packs", &[("window", Value::Integer(17))], Target::Tofino);
    assert_eq!(wide, "packs on Tofino: queues = 8: expected 4");
    let float = refusal("aifo", &[("arithmetic", Value::Text("netbench".into()))], Target::Bmv2);
    assert!(float.contains("arithmetic = exact"), "{float}");
    let map =
        refusal("packs", &[("window", Value::Integer(8)), ("map", Value::Text("geometric".into()))], Target::Bmv2);
    assert_eq!(map, "packs on BMv2: map = geometric: expected occupancy");
    let headroom = refusal("aifo", &[("window", Value::Integer(8)), ("headroom", Value::Flag(false))], Target::Bmv2);
    assert_eq!(headroom, "aifo on BMv2: headroom = false: expected true");
    let shares = refusal("slack-sp", &[("map", Value::Text("shares".into()))], Target::Bmv2);
    assert_eq!(shares, "slack-sp on BMv2: map = shares: expected bounds");
    let admission = refusal("slack-sp", &[("admission_gain", Value::Integer(1))], Target::Bmv2);
    assert_eq!(admission, "slack-sp on BMv2: admission: expected none");
    let nowhere = refusal("slack-sp", &[], Target::Tofino);
    assert_eq!(nowhere, "slack-sp on Tofino: there is no program: expected BMv2");
    let foreign = refusal("pieo", &[], Target::Bmv2);
    assert!(foreign.starts_with("there is no P4 program of pieo"), "{foreign}");
}

#[test]
fn refusals_for_tofino_name_the_value_that_is_refused_and_the_one_that_is_expected() {
    let keep = refusal("sp-pifo", &[], Target::Tofino);
    assert_eq!(keep, "sp-pifo on Tofino: on_full = keep: expected update");
    let exact = refusal("rifo", &[], Target::Tofino2);
    assert_eq!(exact, "rifo on Tofino 2: mode = alg1: expected pow2");
    let four = refusal("aifo", &[("window", Value::Integer(4))], Target::Tofino);
    assert_eq!(four, "aifo on Tofino: expected start_window = [0, 0, 0, 0], as registers start");
}

#[test]
fn what_the_library_refuses_is_said_in_its_words() {
    let one = args("aifo", &[("k", Value::Integer(1)), ("window", Value::Integer(8))]);
    let refused = compile("aifo", one.clone(), Target::Bmv2).expect_err("k = 1 divides by zero");
    let entry = find_scheduler("aifo").expect("the library has AIFO");
    let library = entry.build(one).err().expect("the library refuses it, too").to_string();
    assert_eq!(refused, Refusal::Wrong(library));
}

#[test]
fn exponents_are_powers_of_two_above_the_smallest_rank() {
    let text = text("exp-pifo", &[("r_min", Value::Integer(3))]);
    let line = text.lines().find(|line| line.contains("PF_LOGARITHM")).expect("it has logarithms");
    assert!(line.starts_with("#define PF_LOGARITHM(A) 64w0 .. 64w5 : A(8w0); 64w6 .. 64w11 : A(8w1);"), "{line}");
    assert!(line.ends_with("64w6917529027641081856 .. 64w9223372036854775807 : A(8w61);"), "{line}");
}

#[test]
fn exp_pifos_queues_follow_the_formula() {
    let text = text("exp-pifo", &[("queues", Value::Integer(4)), ("beta0", Value::Text("last".into()))]);
    let line = text.lines().find(|line| line.contains("PF_QUEUE_OF")).expect("it has queues");
    // min(M, ((x+1)(M-1)) div beta + 1) of beta = 0 (the option: the last queue), 3 and 4, counted from 0.
    for entry in ["(8w0, 8w0) : A(8w3);", "(8w3, 8w0) : A(8w1);", "(8w3, 8w2 .. 8w3) : A(8w3);", "(8w4, 8w0) : A(8w0);"]
    {
        assert!(line.contains(entry), "{entry} in {line}");
    }
}

#[test]
fn a_vector_brings_its_parameters_in_its_own_words() {
    let vector =
        br#"{"scheduler":"rifo","config":{"capacity":10,"T":4,"k":[1,2]},"ops":[["enq",0,5]],"expect":[["adm",0]]}"#;
    let (compiled, outcome) = compile_vector("v.json", vector, Target::Bmv2).expect("a valid vector");
    assert_eq!((compiled.program, compiled.in_bytes, compiled.capacities), ("rifo", false, vec![10]));
    assert_eq!((outcome.operations, outcome.mismatches), (1, 0));
    assert!(compiled.text.contains("#define PF_GUARANTEED 64w5\n"));
}

#[test]
fn every_vector_of_the_programs_compiles_but_for_what_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut compiled = 0;
    for path in [folder.clone(), folder.join("worst-cases")].iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = path.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        match compile_vector(&name, &fs::read(&path).unwrap(), Target::Bmv2) {
            Ok((_, outcome)) => {
                assert_eq!(outcome.mismatches, 0, "{name}");
                compiled += 1;
            }
            Err(Refusal::Unsupported(reason)) => {
                let known = [
                    "there is no P4 program of",
                    "arithmetic = exact",
                    "map = geometric",
                    "arithmetic = netbench",
                    "occupancy_delay_packets = ",
                    "map = shares",
                    "admission: expected none",
                ];
                assert!(known.iter().any(|known| reason.contains(known)), "{name}: {reason}");
            }
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    }
    assert!(compiled > 60, "{compiled} vectors were compiled");
}

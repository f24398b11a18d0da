//! The rest of the project reads properties of schedulers and rank functions from their rows in the registry: no source
//! file compares their names.

use pifolab_params::{Place, Table};
use pifolab_scenario::registry::{RANKS, SCHEDULERS, SchedulerEntry};
use pifolab_sched::params::{Args, Value};
use pifolab_sched::{Dequeued, Enqueued, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use std::fs;
use std::path::{Path, PathBuf};

fn names() -> Vec<&'static str> {
    let schedulers = SCHEDULERS.iter().map(|entry| entry.info.name);
    schedulers.chain(RANKS.iter().map(|entry| entry.info.name)).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !["target", "tests", "benches", "examples"].contains(&name) {
            sources(&path, found);
        } else if (name.ends_with(".rs") && !name.ends_with("tests.rs")) || name.ends_with(".py") {
            found.push(path);
        }
    }
}

/// Whether this line of code compares something with the quoted `name`, or looks something up by it.
fn compares(line: &str, name: &str) -> bool {
    let line = line.trim();
    if ["//", "#", ">>>", "..."].iter().any(|start| line.starts_with(start)) {
        return false;
    }
    let quoted = format!("\"{name}\"");
    line.match_indices(&quoted).any(|(at, _)| {
        let (before, after) = (line[..at].trim_end(), line[at + quoted.len()..].trim_start());
        let membership = before.rsplit_once(['(', '{', '[']).is_some_and(|(head, members)| {
            let loops = head.contains("for ");
            !loops && head.trim_end().ends_with(" in") && members.chars().all(|c| c != ')' && c != '}' && c != ']')
        });
        let matched = before.contains("matches!(") || before.ends_with("case") || before.ends_with("filter(scheduler=");
        ["==", "!="].iter().any(|operator| before.ends_with(operator) || after.starts_with(operator))
            || after.starts_with("=>")
            || after.starts_with("in ")
            || after.starts_with("not in ")
            || (after.starts_with('|') && !after.starts_with("||"))
            || membership
            || matched
    })
}

#[test]
fn comparisons_with_a_name_are_found() {
    for line in [
        r#"let fair = name == "afq";"#,
        r#"if "afq" != name {"#,
        r#""afq" => 1,"#,
        r#""fifo" | "afq" => 1,"#,
        r#"if name in ("pifo", "afq"):"#,
        r#"if "afq" in names and more:"#,
        r#"case "afq":"#,
        r#"matches!(name, "afq")"#,
        r#"table.filter(scheduler="afq")"#,
    ] {
        assert!(compares(line, "afq"), "{line}");
    }
    for line in [
        r#"name: "afq","#,
        r#"build("afq")"#,
        r#"for name in names("afq"):"#,
        r#"// name == "afq""#,
        r#"f(x) for x in ("afq", "fifo")"#,
    ] {
        assert!(!compares(line, "afq"), "{line}");
    }
}

#[test]
fn no_source_file_compares_the_name_of_a_scheduler_or_a_rank_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    let planes = ["control", "ebpf", "switch", "testbed"].map(|folder| format!("dataplane/linux/src/{folder}"));
    for folder in planes.iter().map(String::as_str).chain(["crates", "python/pifolab"]) {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 200, "only {} files were found", files.len());
    let (names, mut found) = (names(), Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if names.iter().any(|name| compares(line, name)) {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "ask the row in the registry instead:\n{}", found.join("\n"));
}

/// A scheduler inside another, and the packets that it takes.
fn child(name: &str, takes: &str) -> Table {
    let mut child = Table::of("child", Place::File, "name", Value::Text(name.to_owned()));
    child.put("takes", Place::File, Value::Text(takes.to_owned()));
    child
}

/// The answers of a scheduler to packets whose rank, flow and time are drawn, or the same for all.
fn answers(entry: &SchedulerEntry, vary: [bool; 3]) -> Vec<String> {
    let mut args = Args::new(entry.info.name);
    if entry.info.params.iter().any(|param| param.name == "weights") {
        args.set("weights", Value::List(vec![Value::Integer(1); 100]));
    }
    // Three microseconds are enough to be late.
    if entry.info.params.iter().any(|param| param.name == "target_ns") {
        args.set("target_ns", Value::Integer(10));
        args.set("interval_ns", Value::Integer(100));
    }
    if entry.info.params.iter().any(|param| param.name == "scheduler") {
        let pifo = Table::of("scheduler", Place::File, "name", Value::Text("pifo".to_owned()));
        args.set("scheduler", Value::Table(pifo));
    }
    if entry.info.params.iter().any(|param| param.name == "child") {
        args.set("child", Value::Tables(vec![child("pieo", "0-24"), child("pifo", "rest")]));
    }
    let mut scheduler = entry.build(args).expect("defaults build it");
    let mut answers = Vec::new();
    let (mut random, mut held) = (1_u64, 0);
    for id in 0..3_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = |vary: bool, bits: u32, below: u64| if vary { (random >> bits) % below } else { 0 };
        let now = if vary[2] { Time::from_ns(id) } else { Time::ZERO };
        let (rank, flow) = (Rank::from(drawn(vary[0], 20, 100) as u32), drawn(vary[1], 30, 50) as u32);
        let packet = Packet { id, flow, size: 1000, rank, arrival: now };
        let eligible = Time::from_ns(if entry.traits.reads_time { 50 * (random >> 60) } else { 0 });
        match scheduler.enqueue_eligible(packet, eligible, now) {
            Enqueued::Admitted { queue, .. } => {
                held += 1;
                answers.push(format!("+{queue}"));
            }
            Enqueued::Evicted { queue, victims, .. } => {
                held += 1 - victims.iter().count();
                answers.push(format!("{queue}!{:?}", victims.iter().map(|victim| victim.id).collect::<Vec<_>>()));
            }
            Enqueued::Dropped { reason, .. } => answers.push(format!("{reason}")),
        }
        if random >> 63 == 1 {
            let answer = scheduler.dequeue(now);
            match answer {
                Dequeued::Packet { packet, .. } => {
                    held -= 1;
                    answers.push(format!("-{}", packet.id));
                }
                Dequeued::Dropped { packet, .. } => {
                    held -= 1;
                    answers.push(format!("x{}", packet.id));
                }
                other => {
                    let idle = held > 0;
                    assert!(!(idle && entry.traits.conserves_work), "{} waits: {other:?}", entry.info.name);
                    answers.push(if idle { "waits".to_owned() } else { "empty".to_owned() });
                }
            }
        }
    }
    answers
}

#[test]
fn what_a_row_declares_is_what_the_scheduler_does() {
    // The file of a program defines what it reads, so its row declares that it may read everything.
    for entry in SCHEDULERS.iter().filter(|entry| entry.files.is_empty()) {
        let name = entry.info.name;
        let base = answers(entry, [false; 3]);
        let differs = |vary| answers(entry, vary) != base;
        assert_eq!(differs([true, false, false]), entry.traits.reads_ranks, "{name}: ranks");
        assert_eq!(differs([false, true, false]), entry.traits.reads_flows, "{name}: flows");
        assert_eq!(differs([false, false, true]), entry.traits.reads_time, "{name}: time");
        assert_eq!(base.contains(&"waits".to_owned()), !entry.traits.conserves_work, "{name}: conserves work");
    }
    assert_eq!(SCHEDULERS.iter().filter(|entry| entry.traits.ideal).count(), 1);
}

#[test]
fn no_two_schedulers_look_alike_in_a_figure() {
    let looks: Vec<_> = SCHEDULERS.iter().map(|entry| (entry.info.name, entry.look)).collect();
    for (at, (name, look)) in looks.iter().enumerate() {
        for (other, its) in &looks[..at] {
            assert_ne!(look.label, its.label, "{name} and {other} have one label");
            assert_ne!(look.colour, its.colour, "{name} and {other} have one colour");
            // Dash and marker must be unique without colour.
            assert_ne!((look.dash, look.marker), (its.dash, its.marker), "{name} and {other} have one dash and marker");
        }
    }
}

#[test]
fn every_scheduler_and_rank_function_has_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let rows = SCHEDULERS.iter().map(|entry| ("schedulers", entry.info.name));
    for (folder, name) in rows.chain(RANKS.iter().map(|entry| ("ranks", entry.info.name))) {
        let page = docs.join(folder).join(name).with_extension("md");
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(text.starts_with(&format!("# {name}\n")), "{}: expected the title {name}", page.display());
        assert!(text.contains("**At a glance.** "), "{}: expected a line At a glance", page.display());
    }
}

/// The part of a page that begins with `start`, up to the next empty line; in a table of tables only the row.
fn part(page: &str, start: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let at = text.find(start).unwrap_or_else(|| panic!("{page}: expected a part that begins with {start}"));
    // A start such as "| `[" selects one row; any other selects up to the next empty line, such as a whole table.
    let end = if start.starts_with("| `[") { "\n" } else { "\n\n" };
    text[at..].split(end).next().unwrap_or_default().to_owned()
}

/// The values that the schema allows at `pointer`: words, or the constants of its cases.
fn words(pointer: &str) -> Vec<String> {
    let schema = pifolab_scenario::schema::schema();
    let (object, key) = pointer.rsplit_once('/').expect("the way to a key");
    let object = schema.pointer(object).unwrap_or_else(|| panic!("the schema has no {object}"));
    let texts = |all: &serde_json::Value| -> Vec<String> {
        all.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let cases = object["anyOf"].as_array().into_iter().flatten();
    let consts = cases.filter_map(|case| case["properties"][key]["const"].as_str().map(str::to_owned));
    [texts(&object["properties"][key]["enum"]), consts.collect()].concat()
}

#[test]
fn lists_of_words_on_pages_are_complete() {
    let flows = "/then/properties/workload/properties/flows/anyOf/0";
    for (page, start, pointer) in [
        ("network-scenarios.md", "| `kind` |", "/then/properties/topology/kind"),
        ("network.md", "`[transport]` has ", "/then/properties/transport/name"),
        ("network.md", "`[host_port]` has ", "/then/properties/host_port/queue"),
        ("network-scenarios.md", "**Arrivals** ", &format!("{flows}/arrivals")),
        ("network-scenarios.md", "**Sizes** ", &format!("{flows}/sizes")),
        ("network-scenarios.md", "**Sizes** ", &format!("{flows}/interpolation")),
        ("network-scenarios.md", "**Pairs** ", &format!("{flows}/pairs")),
    ] {
        let (known, text) = (words(pointer), part(page, start));
        assert!(!known.is_empty(), "the schema has no words at {pointer}");
        for word in known {
            assert!(text.contains(&format!("`{word}`")), "{page}: {start}: expected `{word}` as well");
        }
    }
}

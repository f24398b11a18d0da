use crate::{Form, Made, find_scheduler};
use pifolab_params::Value;
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Args, ParamError};
use pifolab_sched::{Dequeued, DropReason, Enqueued, Hints, InspectExt, Labels, Packet};
use pifolab_units::{Rank, Time};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::OnceLock;

fn compiled(name: &str) -> String {
    format!("{}/../../dataplane/p4/compiled/{name}.json.gz", env!("CARGO_MANIFEST_DIR"))
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn try_build(name: &str, keys: &[(&str, Value)]) -> Result<Made, ParamError> {
    let mut args = Args::new(name);
    for (key, value) in keys {
        args.set(*key, value.clone());
    }
    (find_scheduler(name).unwrap().read)(args)
}

fn program(file: &str, keys: &[(&str, Value)]) -> BoxedScheduler {
    let keys = [&[("program", text(file))], keys].concat();
    made("p4", &keys).scheduler(Form::Plain)
}

fn made(name: &str, keys: &[(&str, Value)]) -> Made {
    try_build(name, keys).unwrap_or_else(|error| panic!("{error}"))
}

/// The stored programs, and the schedulers and parameters from which they were compiled (as in `FORWARDING` of
/// `compiled.py`).
fn pairs() -> Vec<(&'static str, [Made; 2])> {
    let integer = |value| Value::Integer(value);
    let each = || vec![("queues", integer(8)), ("queue_capacity_packets", integer(8))];
    let capacity = || vec![("capacity_packets", integer(64))];
    let k = || vec![("k", text("0.1"))];
    let window = |ranks| vec![("window", integer(ranks))];
    let library = |name, keys: &[Vec<(&str, Value)>]| made(name, &keys.concat());
    let all = vec![
        ("fifo", library("fifo", &[capacity()])),
        ("strict_priority", library("strict-priority", &[each(), vec![("ranks", integer(64))]])),
        ("sp_pifo", library("sp-pifo", &[each()])),
        ("aifo", library("aifo", &[capacity(), window(16), k()])),
        ("packs", library("packs", &[each(), window(16), k()])),
        ("packs_20", library("packs", &[each(), window(20), k()])),
        ("rifo", library("rifo", &[capacity(), k(), vec![("mode", text("pow2"))]])),
        ("exp_pifo", library("exp-pifo", &[each()])),
        ("slack_sp", library("slack-sp", &[each()])),
    ];
    all.into_iter()
        .map(|(name, library)| (name, [made("p4", &[("program", text(&compiled(name)))]), library]))
        .collect()
}

fn packet(id: u64, rank: u64) -> Packet {
    Packet {
        id,
        flow: (id % 5) as u32,
        size: 1 + (id % 7) as u32 * 200,
        rank: Rank::saturating(rank),
        arrival: Time::ZERO,
    }
}

/// Offers packets of these ranks and takes one out for each `None`. Returns how many answers differ; the reason of a
/// drop does not count.
fn differences(program: &mut BoxedScheduler, library: &mut BoxedScheduler, steps: &[Option<u64>]) -> usize {
    let mut differ = 0;
    for (at, step) in (0u64..).zip(steps) {
        let now = Time::from_ns(at * 100);
        let same = match step {
            Some(rank) => match (program.enqueue(packet(at, *rank), now), library.enqueue(packet(at, *rank), now)) {
                (Enqueued::Dropped { packet: ours, .. }, Enqueued::Dropped { packet: theirs, .. }) => ours == theirs,
                (ours, theirs) => ours == theirs,
            },
            None => program.dequeue(now) == library.dequeue(now),
        };
        let alike = program.held(None) == library.held(None)
            && (0..library.queues()).all(|queue| program.held(Some(queue)) == library.held(Some(queue)));
        differ += usize::from(!(same && alike));
    }
    differ
}

proptest! {
    #[test]
    fn a_program_decides_as_the_scheduler_that_it_was_compiled_from(
        spread in prop::sample::select(vec![8u64, 100, 1 << 40]),
        steps in prop::collection::vec(prop_oneof![3 => any::<u64>().prop_map(Some), 2 => Just(None)], 0..400),
    ) {
        let steps: Vec<_> = steps.into_iter().map(|step| step.map(|rank| rank % spread)).collect();
        static PAIRS: OnceLock<Vec<(&str, [Made; 2])>> = OnceLock::new();
        for (name, pair) in PAIRS.get_or_init(pairs) {
            let [mut program, mut library] = pair.each_ref().map(|made| made.scheduler(Form::Plain));
            prop_assert_eq!(differences(&mut program, &mut library, &steps), 0, "{}", name);
        }
    }
}

#[test]
fn a_ghost_register_is_as_old_as_the_last_departure() {
    // Eight bursts of low ranks into one queue: the ghost still reads the length at the last departure.
    let burst = |of: u64| (0..30).map(move |rank| Some(rank * 3 + of)).chain([None]);
    let steps: Vec<_> = (0..8).flat_map(burst).collect();
    let [exact, ghost] = ["packs_20", "packs_20_ghost"].map(|name| {
        let (_, [_, library]) = pairs().into_iter().find(|(name, _)| *name == "packs_20").unwrap();
        differences(&mut program(&compiled(name), &[]), &mut library.scheduler(Form::Plain), &steps)
    });
    assert_eq!(exact, 0);
    assert!(ghost > 20, "{ghost} answers differ");
}

#[test]
fn a_queue_of_the_port_refuses_what_the_program_would_admit() {
    let mut port = program(&compiled("fifo"), &[("queue_capacity_packets", Value::Integer(2))]);
    let outcomes: Vec<_> = (0..3).map(|id| port.enqueue(packet(id, 1), Time::ZERO)).collect();
    assert!(outcomes[0].is_admitted() && outcomes[1].is_admitted());
    assert!(matches!(outcomes[2], Enqueued::Dropped { reason: DropReason::Full, .. }));
    assert_eq!((port.len(), port.capacity().to_string()), (2, "16 packets".to_owned()));
}

#[test]
fn a_rank_may_be_in_the_dscp() {
    let port = |rank: &str| program(&compiled("strict_priority"), &[("rank", text(rank))]);
    // The program was compiled for ranks in the payload, which are 0 then.
    let mut dscp = port("dscp");
    let mut payload = port("payload");
    let queue = |port: &mut BoxedScheduler| match port.enqueue(packet(0, 63), Time::ZERO) {
        Enqueued::Admitted { queue, .. } => queue,
        other => panic!("{other:?}"),
    };
    assert_eq!((queue(&mut dscp), queue(&mut payload)), (0, 7));
}

#[test]
fn a_program_that_sets_the_ecn_field_marks_what_can_carry_a_mark() {
    let mut port = program(&compiled("ecn"), &[("ecn", Value::Flag(true))]);
    for id in 0..60 {
        let labels = Labels { ecn: (id % 4) as u8, ..Labels::default() };
        port.hint(id, &Hints { labels, ..Hints::default() });
        assert!(port.enqueue(packet(id, 0), Time::ZERO).is_admitted());
        assert!(!port.take_mark());
    }
    for id in 0..60 {
        assert!(matches!(port.dequeue(Time::ZERO), Dequeued::Packet { packet, .. } if packet.id == id));
        // 20 packets waited before it; 3 was marked before.
        assert_eq!(port.take_mark(), id >= 20 && [1, 2].contains(&(id % 4)), "{id}");
        assert!(!port.take_mark(), "a mark is told once");
    }
}

/// A program whose egress drops every packet.
fn drops_in_egress() -> Json {
    let drop = json!({"op": "assign", "parameters": [
        {"type": "field", "value": ["standard_metadata", "egress_spec"]}, {"type": "hexstr", "value": "0x1ff"}]});
    json!({
        "__meta__": {"version": [2, 23]},
        "header_types": [{"name": "standard_t", "id": 0, "fields": [["egress_spec", 9, false], ["_pad", 7, false]]}],
        "headers": [{"name": "standard_metadata", "id": 0, "header_type": "standard_t", "metadata": true}],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{"name": "start", "id": 0,
            "parser_ops": [], "transition_key": [],
            "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}]}]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": []}],
        "actions": [{"name": "drop", "id": 0, "runtime_data": [], "primitives": [drop]}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": null, "tables": [], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": "t", "conditionals": [], "tables": [{"name": "t", "id": 0, "key": [],
                "match_type": "exact", "type": "simple", "max_size": 1, "action_ids": [0], "actions": ["drop"],
                "next_tables": {"drop": null}, "base_default_next": null, "default_entry": {"action_id": 0,
                "action_const": true, "action_data": [], "action_entry_const": true}}]}
        ]
    })
}

/// A file with this content, for one test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pifolab-p4-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_packet_that_egress_drops_is_given_up_where_it_would_have_left() {
    let file = Temporary::new("drops.json", &drops_in_egress().to_string());
    let mut port = program(file.path(), &[]);
    for id in 0..3 {
        assert!(port.enqueue(packet(id, 0), Time::ZERO).is_admitted());
    }
    for id in 0..3 {
        let left = port.dequeue(Time::ZERO);
        assert!(matches!(left, Dequeued::Dropped { packet, reason: DropReason::Aqm } if packet.id == id));
    }
    assert_eq!((port.dequeue(Time::ZERO), port.len()), (Dequeued::Empty, 0));
}

#[test]
fn what_is_wrong_with_a_program_is_one_line_with_its_place() {
    let error = |keys: &[(&str, Value)]| try_build("p4", keys).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(error(&[]), "p4: program is missing: expected a text");
    assert_eq!(
        error(&[("program", text("/nowhere.json"))]),
        "p4: program = \"/nowhere.json\": cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(error(&[("program", text("/dev/zero"))]), "p4: program = \"/dev/zero\": expected a file");
    let broken = Temporary::new("broken.json", "{\"__meta__\": {\"version\": [3, 0]}}");
    let problem = "__meta__.version[0]: 3: expected 2, the format's major version";
    assert_eq!(error(&[("program", text(broken.path()))]), format!("p4: program = {:?}: {problem}", broken.path()));
    let fifo = ("program", text(&compiled("fifo")));
    let entries = Temporary::new("entries.txt", "# none\nregister_write held 0 1\n");
    let said = error(&[fifo.clone(), ("entries", text(entries.path()))]);
    assert!(said.starts_with(&format!("p4: entries = {:?}: line 2: held: no such register", entries.path())), "{said}");
    let copies = Temporary::new("copies.txt", "mirroring_add 5 1\n");
    assert!(
        error(&[fifo.clone(), ("entries", text(copies.path()))])
            .ends_with("mirroring and multicast groups: expected no entry that copies packets")
    );
    let nine = error(&[fifo.clone(), ("queues", Value::Integer(9))]);
    assert_eq!(nine, "p4: queues = 9: expected an integer from 1 to 8 (queues)");
    let mut round = drops_in_egress();
    round["field_lists"] = json!([{"id": 1, "name": "all", "elements": []}]);
    let again = json!({"op": "recirculate", "parameters": [{"type": "hexstr", "value": "0x1"}]});
    round["actions"][0]["primitives"] = json!([again]);
    let round = Temporary::new("round.json", &round.to_string());
    let said = error(&[("program", text(round.path()))]);
    assert!(said.ends_with("recirculate: expected a program that sends no packet round again"), "{said}");
}

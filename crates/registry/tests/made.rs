//! Arguments are read once, and the schedulers and rank functions made from them share no state.

use pifolab_params::{Place, Table, Value};
use pifolab_registry::{Form, Made, RANKS, find_rank, find_scheduler};
use pifolab_sched::params::Args;
use pifolab_sched::{Packet, RankFn, Scheduler};
use pifolab_units::{Rank, Time};
use proptest::prelude::*;

fn named(name: &str, more: &[(&str, Value)]) -> Table {
    let mut table = Table::of("inside", Place::File, "name", Value::Text(name.to_owned()));
    for (key, value) in more {
        table.put(key, Place::File, value.clone());
    }
    table
}

fn made(name: &str, keys: &[(&'static str, Value)]) -> Made {
    let mut args = Args::new(name);
    for (key, value) in keys {
        args.set(*key, value.clone());
    }
    (find_scheduler(name).unwrap().read)(args).unwrap()
}

/// Schedulers made of others.
fn joined() -> Vec<(&'static str, Made)> {
    let text = |text: &str| Value::Text(text.to_owned());
    let leaf = |name: &str, takes: Value| named(name, &[("takes", takes)]);
    let ranked = named("pifo", &[("takes", text("rest")), ("rank", Value::Table(named("stfq", &[])))]);
    let children =
        |last| Value::Tables([leaf("fifo", Value::Integer(0)), leaf("packs", Value::Integer(1)), last].into());
    let inner = named("tree", &[("discipline", text("stfq")), ("child", children(ranked.clone()))]);
    let shaped = named(
        "tree",
        &[("shape_gbps", Value::Integer(1)), ("child", Value::Tables([leaf("fifo", Value::Integer(5))].into()))],
    );
    let managed =
        |policy| made("managed", &[("policy", text(policy)), ("scheduler", Value::Table(named("packs", &[])))]);
    let by_rank = ("rank", Value::Table(named("las", &[])));
    vec![
        ("codel", managed("codel")),
        ("pie", managed("pie")),
        ("red", managed("red")),
        ("policy", made("tree", &[("policy", text("rr[fifo[0], strict[(fifo[1], 1), (fifo[2-9], 2)]]"))])),
        ("ranked", made("tree", &[("discipline", text("rank")), by_rank, ("child", children(ranked))])),
        ("shaped", made("tree", &[("child", Value::Tables([shaped, inner.clone()].into()))])),
        (
            "ordered",
            made(
                "tree",
                &[
                    ("order", Value::Table(named("sp-pifo", &[]))),
                    ("child", Value::Tables([leaf("fifo", Value::Integer(5)), inner].into())),
                ],
            ),
        ),
    ]
}

/// The outcomes of packets, with one taken out after every two.
fn answers(scheduler: &mut dyn Scheduler, packets: &[(u32, u32, u32)]) -> Vec<String> {
    let mut answers = Vec::new();
    for (id, (flow, size, rank)) in (0..).zip(packets) {
        let now = Time::from_ns(700 * id);
        let packet = Packet { id, flow: *flow, size: *size, rank: Rank::from(*rank), arrival: now };
        answers.push(format!("{:?}", scheduler.enqueue(packet, now)));
        if id % 2 == 1 {
            answers.push(format!("{:?}", scheduler.dequeue(now)));
        }
    }
    answers
}

fn packets() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    prop::collection::vec((0u32..8, 64u32..1_500, 0u32..100), 1..120)
}

proptest! {
    #[test]
    fn schedulers_that_are_made_of_the_same_arguments_share_nothing(packets in packets()) {
        for (name, made) in joined() {
            for form in [Form::Twins, Form::Plain] {
                let (mut first, mut second) = (made.scheduler(form), made.clone().scheduler(form));
                let alone = answers(&mut *first, &packets);
                prop_assert_eq!(alone, answers(&mut *second, &packets), "{}", name);
            }
        }
    }

    #[test]
    fn rank_functions_that_are_made_of_the_same_arguments_share_nothing(packets in packets()) {
        for entry in RANKS {
            let made = (find_rank(entry.info.name).unwrap().read)(Args::new(entry.info.name)).unwrap();
            let ranks = || {
                let mut function = made.rank_fn();
                let rank = |(id, (flow, size, rank)): (u64, &(u32, u32, u32))| {
                    let now = Time::from_ns(700 * id);
                    let packet = Packet { id, flow: *flow, size: *size, rank: Rank::from(*rank), arrival: now };
                    function.rank(&packet, now)
                };
                (0..).zip(&packets).map(rank).collect::<Vec<_>>()
            };
            let first = ranks();
            prop_assert_eq!(first, ranks(), "{}", entry.info.name);
        }
    }
}

//! The page's state as JSON.

use crate::lane::{Choice, Fate, Lane, Last, State};
use crate::session::{Session, Step};
use crate::trace::Service;
use pifolab_registry::conformance::Answer;
use pifolab_sched::params::Choice as _;
use pifolab_sched::{Capacity, DropReason, InspectExt};
use pifolab_units::Rank;
use serde_json::{Value, json};
use std::rc::Rc;

/// The largest number of packets listed per queue, as sent and as lost. The page shows only the number of the others.
const LISTED: usize = 60;
/// The largest number of a window's values shown.
const WINDOW: usize = 200;
/// The largest integer up to which JavaScript's numbers are exact.
const EXACT: u64 = 1 << 53;

/// The scheduler of a lane.
pub(crate) fn chosen(choice: &Choice) -> Value {
    json!({
        "scheduler": choice.entry.info.name,
        "params": choice.params,
        "label": choice.entry.look.label,
        "colour": choice.entry.look.colour,
    })
}

/// A rank as a number, or as text above JavaScript's exact numbers.
pub(crate) fn rank(rank: Rank) -> Value {
    if rank.get() <= EXACT { json!(rank.get()) } else { json!(rank.get().to_string()) }
}

/// The state of a packet.
pub(crate) fn fate(fate: &Fate) -> Value {
    match fate.state {
        State::Waiting => json!({"state": "waiting", "queue": fate.queue}),
        State::Sent => json!({"state": "sent", "queue": fate.queue}),
        State::Lost(reason) => {
            let text = lost(reason, fate.queue);
            json!({"state": "lost", "reason": reason.word(), "queue": fate.queue, "text": text})
        }
    }
}

/// The whole state.
pub(crate) fn state(session: &mut Session, steps: Option<u64>) -> Value {
    let trace = Rc::clone(&session.trace);
    let ideal = session.lanes.iter().position(|lane| lane.choice.entry.traits.ideal);
    let deltas: Vec<Option<f64>> =
        session.lanes.iter().map(|lane| ideal.map(|ideal| lane.delta(&session.lanes[ideal]))).collect();
    let offered = session.offered();
    let at = |index: usize| json!({"packet": index, "rank": rank(trace.packets[index].rank)});
    let lanes = session.lanes.iter_mut().zip(deltas).map(|(lane, delta)| {
        let drops = lane.drops.total();
        let reasons: Value = DropReason::ALL.iter().map(|reason| json!([reason.word(), drops.of(*reason)])).collect();
        let inversions = lane.inversions.total();
        let sent = lane.sent.len().saturating_sub(LISTED);
        let lost = lane.lost.len().saturating_sub(LISTED);
        let on_wire = lane.busy_until.and(lane.sent.last()).map(|packet| at(*packet as usize));
        json!({
            "chosen": chosen(&lane.choice),
            "capacity": match lane.scheduler.capacity() {
                Capacity::Unlimited => "no limit".to_owned(),
                capacity => capacity.to_string(),
            },
            "in_order": lane.in_order,
            "waiting": lane.scheduler.len(),
            "waiting_bytes": lane.scheduler.backlog().0,
            "queues": queues(lane),
            "window": window(lane),
            "counts": {
                "arrived": lane.fates.len(),
                "sent": lane.sent.len(),
                "lost": drops.all(),
                "lost_for": reasons,
                "lowest_lost": lane.drops.lowest_rank().map(rank),
                "inversions": inversions.inversions,
                "pairwise": inversions.pairwise,
                "delta": delta,
            },
            "sent": lane.sent[sent..].iter().zip(&lane.overtook[sent..]).map(|(packet, overtook)| {
                let packet = *packet as usize;
                json!({"packet": packet, "rank": rank(trace.packets[packet].rank), "inversion": overtook})
            }).collect::<Value>(),
            "lost": lane.lost[lost..].iter().map(|packet| at(*packet as usize)).collect::<Value>(),
            "on_wire": on_wire,
            "answer": match &lane.last {
                Last::Offered(_, answer) | Last::Asked(answer) => Some(answer.to_string()),
                Last::Nothing => None,
            },
            "said": said(&lane.last, &|index| trace.packets[index].rank),
        })
    });
    let lanes: Value = lanes.collect();
    let next = match session.next_step() {
        Step::Offer(index, _) => json!({"step": "offer", "packet": at(index)}),
        Step::Ask(_) | Step::Serve(_) => json!({"step": "serve"}),
        Step::End => json!({"step": "end"}),
    };
    let coming: Value = (offered..trace.packets.len().min(offered + 24)).map(at).collect();
    json!({
        "position": session.position,
        "steps": steps,
        "time_ns": matches!(trace.service, Service::Link(_)).then(|| session.now.as_ps() as f64 / 1e3),
        "packets": trace.packets.len(),
        "expected": (!trace.expected.is_empty()).then(|| json!({
            "answers": trace.expected.len(),
            "mismatches": session.mismatches,
        })),
        "next": next,
        "coming": coming,
        "lanes": lanes,
    })
}

/// A description of the last event.
fn said(last: &Last, rank_of: &dyn Fn(usize) -> Rank) -> String {
    let name = |index: u64| format!("packet {index} (rank {})", rank_of(index as usize));
    match last {
        Last::Nothing => String::new(),
        Last::Offered(index, answer) => {
            let packet = name(*index as u64);
            match answer {
                Answer::Admitted { queue, evicted } if evicted.is_empty() => format!("{packet} enters queue {queue}"),
                Answer::Admitted { queue, evicted } => {
                    let evicted: Vec<String> = evicted.iter().map(|victim| name(*victim)).collect();
                    format!("{packet} enters queue {queue} and pushes out {}", evicted.join(", "))
                }
                Answer::Dropped(reason) => format!("{packet} is dropped: {}", meaning(*reason)),
                _ => packet,
            }
        }
        Last::Asked(Answer::Sent(Some(index))) => format!("{} is sent", name(*index)),
        Last::Asked(Answer::GivenUp(index, reason)) => {
            format!("{} is dropped when it should leave: {}", name(*index), meaning(*reason))
        }
        Last::Asked(Answer::NotBefore(time)) => format!("packets wait, but none may leave before {time}"),
        Last::Asked(_) => "nothing waits".to_owned(),
    }
}

/// A description of a packet's loss, as the end of a sentence.
fn lost(reason: DropReason, queue: Option<u32>) -> String {
    match (reason, queue) {
        (DropReason::PushedOut, Some(queue)) => {
            format!("entered queue {queue}, and was pushed out later by a packet of lower rank")
        }
        (_, Some(queue)) => {
            format!("entered queue {queue}, and was dropped when it should have left: {}", meaning(reason))
        }
        (_, None) => format!("was dropped: {}", meaning(reason)),
    }
}

const fn meaning(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Admission => "the admission test refuses it",
        DropReason::Full => "there is no room",
        DropReason::PushedOut => "a packet of lower rank pushes it out",
        DropReason::RankOutOfRange => "its rank is outside the range of the scheduler",
        DropReason::Aqm => "queue management discards it",
    }
}

/// The queues with their bounds and their waiting packets, in order of departure.
pub(crate) fn queues(lane: &mut Lane) -> Value {
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); lane.scheduler.queues()];
    for (index, fate) in lane.waiting() {
        let queue = fate.queue.expect("a packet that waits is in a queue");
        held[queue as usize].push(index);
    }
    let ranks = |lane: &Lane, index: usize| lane.ranks[index];
    if !lane.in_order {
        held.iter_mut().for_each(|queue| queue.sort_by_key(|index| (ranks(lane, *index), *index)));
    }
    let queues = held.iter().enumerate().map(|(queue, held)| {
        let bounds = lane.scheduler.queue_ranks(queue);
        let first = held.iter().take(LISTED);
        json!({
            "packets": held.len(),
            "lowest": bounds.lowest,
            "highest": bounds.highest,
            "first": first.map(|index| json!({"packet": index, "rank": rank(ranks(lane, *index))})).collect::<Value>(),
        })
    });
    queues.collect()
}

/// At most [`WINDOW`] ranks of the window, evenly chosen, in ascending order; null without a window.
fn window(lane: &Lane) -> Value {
    let mut ranks = Vec::new();
    lane.scheduler.visit_window(&mut |rank| ranks.push(rank));
    if ranks.is_empty() {
        return Value::Null;
    }
    ranks.sort_unstable();
    let shown = ranks.len().min(WINDOW);
    let ascending: Value = (0..shown).map(|at| rank(ranks[at * ranks.len() / shown])).collect();
    json!({"ranks": ranks.len(), "ascending": ascending})
}

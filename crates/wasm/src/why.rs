//! Explains a packet's fate: the scheduler's state at that moment, and the packets that overtook it.

use crate::lane::{Fate, Lane, State};
use crate::session::{Session, Step};
use crate::show::{fate, queues, rank};
use pifolab_sched::InspectExt;
use pifolab_units::Rank;
use serde_json::{Value, json};
use std::rc::Rc;

/// The largest number of packets named. The page shows only the number of the others.
const NAMED: usize = 20;

/// The explanation of the fate of packet `index` in lane `lane` up to the session's position.
///
/// # Errors
/// If the lane does not exist, or the packet has not been offered yet.
pub fn why(session: &Session, lane: usize, index: usize) -> Result<Value, String> {
    let now =
        session.lanes.get(lane).ok_or_else(|| format!("lane {lane}: expected one below {}", session.lanes.len()))?;
    let known = *now.fates.get(index).ok_or_else(|| format!("packet {index}: it was not offered yet"))?;
    // Replays the scheduler up to the packet, because the state at each packet is not stored.
    let mut replay = Session::new(Rc::clone(&session.trace), [now.choice.clone()]);
    while !matches!(replay.next_step(), Step::Offer(at, _) if at == index) {
        assert!(replay.step(), "a packet that was offered comes again");
    }
    let packet = session.trace.packets[index];
    let before = seen(&replay.lanes[0], packet.rank);
    let queues_before = queues(&mut replay.lanes[0]);
    replay.step();
    let after = seen(&replay.lanes[0], packet.rank);

    let rank_of = |at: usize| session.trace.packets[at].rank;
    let all = || now.fates.iter().enumerate();
    let overtaken_by = all().filter(|(at, other)| *at > index && passed(other, &known));
    let overtook = all().filter(|(at, other)| *at < index && known.state == State::Sent && present(other, &known));
    let lower_waited =
        all().filter(|(at, other)| known.state == State::Sent && present(other, &known) && rank_of(*at) < packet.rank);
    let named = |packets: &mut dyn Iterator<Item = (usize, &Fate)>| {
        let all: Vec<usize> = packets.map(|(at, _)| at).collect();
        let first: Value = all.iter().take(NAMED).map(|at| json!({"packet": at, "rank": rank(rank_of(*at))})).collect();
        json!({"count": all.len(), "first": first})
    };
    Ok(json!({
        "packet": index,
        "rank": rank(packet.rank),
        "flow": packet.flow,
        "bytes": packet.size,
        "time_ns": packet.time.as_ps() as f64 / 1e3,
        "fate": fate(&known),
        "before": {"seen": before, "queues": queues_before},
        "after": {"seen": after},
        "overtaken_by": named(&mut { overtaken_by }),
        "overtook": named(&mut { overtook }),
        "lower_ranks_waited": named(&mut { lower_waited }),
    }))
}

/// Whether `other`, a later arrival, was sent while `packet` waited.
fn passed(other: &Fate, packet: &Fate) -> bool {
    other.state == State::Sent && other.went < packet.went && packet.queue.is_some()
}

/// Whether `other` waited when `packet` was sent.
fn present(other: &Fate, packet: &Fate) -> bool {
    other.queue.is_some() && other.came < packet.went && other.went > packet.went
}

/// Compares the ranks of the lane's window with `rank`; null without a window.
fn seen(lane: &Lane, rank: Rank) -> Value {
    let (mut below, mut equal, mut all) = (0u64, 0u64, 0u64);
    lane.scheduler.visit_window(&mut |held| {
        all += 1;
        below += u64::from(held < rank);
        equal += u64::from(held == rank);
    });
    if all == 0 { Value::Null } else { json!({"ranks": all, "lower": below, "equal": equal}) }
}

//! Compares every scheduler of the library with the contract and with its oracle.

use crate::contract::Promised;
pub use crate::line::{Line, Property};
use crate::oracles::SUITES;
use crate::{Case, Op, contract};
use pifolab_registry::Form;
use pifolab_sched::{InspectExt, RankInterval, Scheduler};

/// The lines of all schedulers. A scheduler has several lines if its options declare different properties.
pub fn lines() -> impl Iterator<Item = &'static Line> {
    SUITES.iter().flat_map(|suite| suite.lines)
}

/// The lines of the scheduler `name`: several if its options declare different properties.
pub fn lines_of(name: &str) -> impl Iterator<Item = &'static Line> {
    lines().filter(move |line| line.name == name)
}

/// Checks a scheduler against the contract, its plain implementation against the oracle after every decision, and its
/// twin against the plain implementation.
pub fn check(line: &Line, case: &Case) -> Result<(), String> {
    let promised = Promised { name: line.name, properties: line.properties };
    for form in [Form::Plain, Form::Twins] {
        contract::check(&promised, &|| line.build(&case.settings, form), &case.ops)?;
    }
    let mut plain = line.build(&case.settings, Form::Plain)?;
    let mut twin = line.build(&case.settings, Form::Twins)?;
    let mut oracle = line.oracle(&case.settings);
    let fault = |index: usize, what: String| {
        Err(format!("{} {}: ops[{index}] = {:?} {what}", line.name, case.settings, case.ops[index]))
    };
    for (index, op) in case.ops.iter().enumerate() {
        let (got, expected) = (op.apply(&mut *plain), oracle.apply(op));
        if got != expected {
            return fault(index, format!("gave {got:?}; the oracle says {expected:?}"));
        }
        let by_twin = op.apply(&mut *twin);
        if by_twin != got {
            return fault(index, format!("gave {by_twin:?} in the twin, and {got:?} in the plain text"));
        }
        let seen = [&plain, &twin].map(|scheduler| seen(&**scheduler, op, index % STATE_EVERY == 0));
        if seen[0] != seen[1] {
            return fault(index, format!("left {:?} in the twin, and {:?} in the plain text", seen[1], seen[0]));
        }
    }
    Ok(())
}

/// The interval, in operations, between comparisons of state. Windows are long.
const STATE_EVERY: usize = 8;

/// The intended queue of a refused packet, the scheduler's state, and the ranks that its queues accept.
type Seen = (Option<u32>, Vec<i64>, Vec<RankInterval>);

fn seen(scheduler: &dyn Scheduler, op: &Op, remembered: bool) -> Seen {
    let refused_at = match op {
        Op::Enqueue(offer, _) => {
            let packet = offer.packet(op.now());
            scheduler.refused_at(packet.flow, packet.size, packet.rank)
        }
        Op::Dequeue(_) => None,
    };
    let (mut state, mut ranks) = (Vec::new(), Vec::new());
    if remembered {
        scheduler.visit_window(&mut |rank| state.push(rank.signed()));
        scheduler.visit_state(&mut |number| state.push(number));
        ranks.extend((0..scheduler.queues()).map(|queue| scheduler.queue_ranks(queue)));
    }
    (refused_at, state, ranks)
}

/// Checks a scheduler outside of the suite, created by `build`, against the contract and its declared `properties`.
pub fn check_contract(
    name: &str,
    properties: &[Property],
    build: &dyn Fn() -> Box<dyn Scheduler>,
    ops: &[Op],
) -> Result<(), String> {
    contract::check(&Promised { name, properties }, &|| Ok(build()), ops)
}

/// Checks the scheduler `name`, or all schedulers, with the case decoded from `bytes`. The fuzz target calls this
/// function.
///
/// # Panics
/// If a scheduler fails, or if no scheduler has the name.
pub fn check_bytes(name: Option<&str>, bytes: &[u8]) {
    let mut checked = 0;
    for line in lines().filter(|line| name.is_none_or(|name| line.name == name)) {
        checked += 1;
        if let Err(error) = check(line, &Case::decode(line.settings, bytes)) {
            panic!("{error}");
        }
    }
    assert!(checked > 0, "unknown scheduler {name:?}");
}

#[cfg(test)]
mod tests;

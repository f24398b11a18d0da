//! Every scheduler of the library, held to the contract and to its oracle.

use crate::contract::Promised;
pub use crate::line::{Line, Property};
use crate::oracles::SUITES;
use crate::{Case, Op, contract};
use pifolab_sched::Scheduler;

/// Every scheduler of the library: more than one line for it if its options declare different properties.
pub fn lines() -> impl Iterator<Item = &'static Line> {
    SUITES.iter().flat_map(|suite| suite.lines)
}

/// The lines of the scheduler `name`: more than one if its options declare different properties.
pub fn lines_of(name: &str) -> impl Iterator<Item = &'static Line> {
    lines().filter(move |line| line.name == name)
}

/// Holds a scheduler to the contract and, decision by decision, to its oracle.
///
/// # Errors
/// The first operation at which it fails either.
pub fn check(line: &Line, case: &Case) -> Result<(), String> {
    let promised = Promised { name: line.name, properties: line.properties };
    contract::check(&promised, &|| line.build(&case.settings), &case.ops)?;
    let mut scheduler = line.build(&case.settings)?;
    let mut oracle = line.oracle(&case.settings);
    for (index, op) in case.ops.iter().enumerate() {
        let (got, expected) = (op.apply(&mut *scheduler), oracle.apply(op));
        if got != expected {
            let settings = &case.settings;
            return Err(format!(
                "{} {settings}: ops[{index}] = {op:?} gave {got:?}; the oracle says {expected:?}",
                line.name
            ));
        }
    }
    Ok(())
}

/// Holds what `build` makes, a scheduler that is no line of the suite, to the contract and to the `properties` that it declares.
///
/// # Errors
/// The first operation at which it fails.
pub fn check_contract(
    name: &str,
    properties: &[Property],
    build: &dyn Fn() -> Box<dyn Scheduler>,
    ops: &[Op],
) -> Result<(), String> {
    contract::check(&Promised { name, properties }, &|| Ok(build()), ops)
}

/// Holds the scheduler `name`, or all of them, to the case that these bytes stand for: what the fuzz target calls.
///
/// # Panics
/// If a scheduler fails, or none has that name.
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

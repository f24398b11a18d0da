//! Policies on trees of another shape.

use crate::errors::{Fault, guard};
use pifolab_tree::{Compiled, Policy, Shape, WALL_CLOCK_TICKS};
use pifolab_units::Ratio;
use pyo3::prelude::*;

/// The policy in its normal order, with the classes of its leaves.
#[pyfunction]
pub fn read_policy(py: Python<'_>, text: &str) -> PyResult<(String, Vec<String>)> {
    guard(py, || {
        let policy = parse(text)?;
        Ok((policy.to_string(), policy.classes().into_iter().map(str::to_owned).collect()))
    })
}

/// Whether the tree of a policy embeds in that of another; None if that is not decided.
#[pyfunction]
pub fn policy_embeds(py: Python<'_>, text: &str, other: &str) -> PyResult<Option<bool>> {
    guard(py, || Ok(Shape::of(&parse(text)?).embeds_in(&Shape::of(&parse(other)?))))
}

/// The policy on a complete tree of this degree: its height, and the address of each leaf.
#[pyfunction]
pub fn compile_policy(py: Python<'_>, text: &str, degree: usize) -> PyResult<(usize, Vec<Vec<u32>>)> {
    guard(py, || {
        let policy = parse(text)?;
        let compiled = compile(&policy, degree)?;
        let addresses = (0..policy.classes().len()).map(|leaf| compiled.address_of(leaf)).collect();
        Ok((compiled.height(), addresses))
    })
}

/// Runs the policy on its own tree and on a complete one: the packets popped, or the operation at which the two differ.
#[pyfunction]
pub fn compare_compiled(
    py: Python<'_>,
    text: &str,
    degree: usize,
    operations: u64,
) -> PyResult<(Option<u64>, Option<u64>)> {
    guard(py, || {
        let policy = parse(text)?;
        let compared = compile(&policy, degree)?.compare(&policy, Ratio::ONE, WALL_CLOCK_TICKS, operations);
        Ok((compared.ok(), compared.err()))
    })
}

fn parse(text: &str) -> Result<Policy, Fault> {
    Policy::parse(text).map_err(|error| Fault::Input(error.to_string()))
}

fn compile(policy: &Policy, degree: usize) -> Result<Compiled, Fault> {
    if !(2..=1024).contains(&degree) {
        return Err(Fault::Input(format!("degree = {degree}: expected an integer from 2 to 1024")));
    }
    Ok(Compiled::new(policy, degree, Ratio::ONE, WALL_CLOCK_TICKS))
}

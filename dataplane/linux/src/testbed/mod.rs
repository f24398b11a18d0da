//! The testbed.

use crate::{Error, Result};

/// The arguments of `pifolab-dataplane testbed`.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Always, until it is written.
pub fn run(_: Args) -> Result<()> {
    Err(Error::Unsupported("the testbed is not written yet".to_owned()))
}

//! The command `pifolab-dataplane`, which `pifolab dataplane`, `pifolab testbed` and `pifolab doctor` call.

use clap::{Parser, Subcommand};
use pifolab_dataplane::{Result, switch, testbed};
use std::process::ExitCode;

/// pifolab's schedulers on real packets: eBPF in front of the kernel's queues, or a user-space switch.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run any scheduler of the library as a bump in the wire between two interfaces
    Switch(switch::Args),
    /// Run one of the papers' testbed experiments in network namespaces
    Testbed(testbed::Args),
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Switch(args) => switch::run(args),
        Command::Testbed(args) => testbed::run(args),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pifolab: {error}");
            error.exit_code()
        }
    }
}

//! The command `pifolab-dataplane`, which `pifolab dataplane` and `pifolab doctor` call.

use clap::{Parser, Subcommand};
use pifolab_dataplane::{Result, conformance, control::down, doctor, switch, testbed};
#[cfg(feature = "ebpf")]
use pifolab_dataplane::{
    control::{status, up},
    ebpf::cost,
};
use std::process::ExitCode;

/// pifolab's schedulers on real packets: eBPF in front of the kernel's queues, or a user-space switch.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Put a scheduler on an interface: HTB queues with an eBPF program in front
    #[cfg(feature = "ebpf")]
    Up(up::Args),
    /// Show what is up: bounds, occupancy, admitted and dropped packets
    #[cfg(feature = "ebpf")]
    Status(status::Args),
    /// Take down what is up, or what a crash left behind
    Down(down::Args),
    /// Replay vectors through a data plane and compare every decision with the library's
    Conformance(conformance::Args),
    /// Show what each eBPF program costs: registers, tables, instructions, nanoseconds
    #[cfg(feature = "ebpf")]
    Cost(cost::Args),
    /// Show what this machine supports and what to install
    Doctor(doctor::Args),
    /// Run any scheduler of the library as a bump in the wire between two interfaces
    Switch(switch::Args),
    /// Run one of the papers' testbed experiments in network namespaces
    Testbed(testbed::Args),
}

fn run(command: Command) -> Result<()> {
    match command {
        #[cfg(feature = "ebpf")]
        Command::Up(args) => up::run(args),
        #[cfg(feature = "ebpf")]
        Command::Status(args) => status::run(args),
        Command::Down(args) => down::run(args),
        Command::Conformance(args) => conformance::run(args),
        #[cfg(feature = "ebpf")]
        Command::Cost(args) => cost::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Switch(args) => switch::run(args),
        Command::Testbed(args) => testbed::run(args),
    }
}

/// Lets a command that only prints end when its output is closed, as other commands do. Commands that hold or change an
/// interface continue.
fn end_with_the_reader(command: &Command) {
    let holds = match command {
        #[cfg(feature = "ebpf")]
        Command::Up(_) => true,
        Command::Down(_) | Command::Switch(_) | Command::Testbed(_) => true,
        _ => false,
    };
    if !holds {
        // SAFETY: no thread has been started, and the default action is valid.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    end_with_the_reader(&command);
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pifolab: {error}");
            error.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn no_line_of_help_is_longer_than_a_hundred_characters() {
        let mut whole = Cli::command();
        whole.build();
        for command in whole.get_subcommands_mut() {
            for line in command.render_long_help().to_string().lines() {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
        }
    }
}

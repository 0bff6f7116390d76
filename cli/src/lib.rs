//! The `leaseflake` command: makes and decodes IDs, and looks after the registry.
//!
//! A library only so that tests reach what the command reads: nothing here is an interface.

mod args;
mod commands;
mod failure;
#[doc(hidden)]
pub mod input;
mod output;
mod time;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use failure::Failure;

/// 64-bit, time-sorted, globally unique IDs.
///
/// What makes an ID unique is a worker ID that nobody else uses. A process owns its worker ID by a
/// lease in a registry: a DynamoDB table for a fleet, a SQLite file for one machine. All who use
/// the same registry get IDs that never repeat among them.
#[derive(Parser)]
#[command(
    name = "leaseflake",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Try: leaseflake generate --count 3 | leaseflake decode",
    after_long_help = failure::exit_codes()
)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

/// The command, from its arguments to its exit code.
pub fn main() -> ExitCode {
    let mut failed = Ok(());
    // A bug must not look like anything else: a panic is INTERNAL here as in every language.
    let outcome = leaseflake::guard(|| {
        failed = run();
        Ok(())
    });
    match outcome.map_err(Failure::from).and(failed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<(), Failure> {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return Failure::of_usage(&error),
    };
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command.run(),
        Err(error) => Failure::of_usage(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}

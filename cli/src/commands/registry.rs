//! `leaseflake registry`: looks after the table that says who owns which worker ID.

mod create;
mod fence;
mod init;
mod show;
pub(super) mod survey;

use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;
pub use fence::parse_worker;

/// Look after the registry: who holds which worker ID, and until when.
#[derive(Args)]
pub(crate) struct Registry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Show(show::Show),
    Init(init::Init),
    Create(create::Create),
    Fence(fence::Fence),
}

/// How to show what was found.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

impl Registry {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Show(command) => command.run(),
            Command::Init(command) => command.run(),
            Command::Create(command) => command.run(),
            Command::Fence(command) => command.run(),
        }
    }
}

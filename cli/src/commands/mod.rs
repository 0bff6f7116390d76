//! The subcommands, one file each.

mod completions;
mod decode;
mod doctor;
mod generate;
mod registry;
#[cfg(feature = "server")]
mod serve;

use clap::Subcommand;

/// What the commands read from outside.
pub(crate) mod input {
    pub use super::decode::decode_lines;
    pub use super::registry::parse_worker;
}

use crate::failure::Failure;

#[derive(Subcommand)]
pub(crate) enum Command {
    Generate(Box<generate::Generate>),
    #[cfg(feature = "server")]
    Serve(Box<serve::Serve>),
    Decode(decode::Decode),
    Registry(registry::Registry),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Command::Generate(command) => command.run(),
            #[cfg(feature = "server")]
            Command::Serve(command) => command.run(),
            Command::Decode(command) => command.run(),
            Command::Registry(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Completions(command) => command.run(),
        }
    }
}

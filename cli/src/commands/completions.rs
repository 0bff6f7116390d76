//! `leaseflake completions`: what a shell needs to complete our command line.

use clap::{Args, CommandFactory};

use crate::failure::Failure;
use crate::output;

/// Print the completions of a shell.
#[derive(Args)]
#[command(after_help = "For bash: leaseflake completions bash > ~/.local/share/bash-completion/completions/leaseflake")]
pub(crate) struct Completions {
    /// Which shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "leaseflake", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}

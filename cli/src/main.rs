//! The `leaseflake` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseflake_cli::main()
}

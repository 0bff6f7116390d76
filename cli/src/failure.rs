//! How the command ends: one line on standard error, and an exit code from the error table.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use leaseflake::{Error, ErrorCode};

use crate::output;

/// Input cannot be read or output cannot be written: the number that `sysexits.h` calls EX_IOERR.
const IO_ERROR: u8 = 74;

/// Why a command ends without having done all that was asked.
pub(crate) enum Failure {
    /// An error of the table; its number is the exit code.
    Leaseflake(Error),
    /// Nobody reads our output any more: no fault, and nothing to say.
    ClosedPipe,
    /// What we read or write fails: what, and how.
    Io(String, io::Error),
    /// It has all been said; the exit code is 1.
    Said,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Leaseflake(error)
    }
}

impl Failure {
    /// A failed write to standard output.
    pub(crate) fn of_output(error: io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Io("standard output".to_owned(), error),
        }
    }

    /// What clap found wrong with the command line; help and version are no fault.
    pub(crate) fn of_usage(error: &clap::Error) -> Result<(), Failure> {
        if !error.use_stderr() {
            return output::print(&error.render().to_string());
        }
        // `arg_required_else_help`: the help is the answer, but nothing was done.
        let text = error.render().to_string();
        match text.strip_prefix("error: ") {
            Some(fault) => output::say(format_args!("{}: {}", ErrorCode::InvalidArgument, fault.trim_end())),
            None => output::say_plainly(text.trim_end()),
        }
        Err(Failure::Said)
    }

    /// Says what there is to say, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Leaseflake(error) => {
                // It may quote what others wrote into the registry.
                output::say(format_args!("{}: {}", error.name(), output::one_line(error.message())));
                ExitCode::from(u8::try_from(error.code().code()).unwrap_or(u8::MAX))
            }
            Failure::ClosedPipe => ExitCode::SUCCESS,
            Failure::Io(what, error) => {
                output::say(format_args!("{what}: {error}"));
                ExitCode::from(IO_ERROR)
            }
            Failure::Said => ExitCode::from(1),
        }
    }
}

/// The exit codes, for the help text.
pub(crate) fn exit_codes() -> String {
    let mut text = String::from(
        "Exit codes:\n  0   done; also when the reader of a pipe went away\n  1   INVALID_ARGUMENT; or `decode` met a \
         line that is no ID, or `doctor` found something wrong\n",
    );
    let line = |code: &ErrorCode| {
        let retry = if code.retryable() { " (the same call may succeed later)" } else { "" };
        (code.code(), format!("{}{retry}", code.name()))
    };
    let mut lines: Vec<_> =
        ErrorCode::ALL.iter().filter(|code| **code != ErrorCode::InvalidArgument).map(line).collect();
    lines.push((IO_ERROR.into(), "input cannot be read or output cannot be written".to_owned()));
    lines.sort();
    for (number, meaning) in lines {
        let _ = writeln!(text, "  {number:<3} {meaning}");
    }
    text.push('\n');
    text.push_str(
        "Environment:\n  LEASEFLAKE_<OPTION>  each option of a registry or a generator; the option itself wins\n  \
         LEASEFLAKE_LOG       error, warn, info, debug or trace: the library's log, on standard error",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_table_is_an_exit_code_and_none_means_io() {
        for code in ErrorCode::ALL {
            let number = u8::try_from(code.code()).expect("exit codes end at 255");
            assert_ne!(number, IO_ERROR);
            assert!(exit_codes().contains(code.name()));
        }
    }
}

//! Standard output and standard error: neither ever makes the command panic.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use crate::failure::Failure;

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_output)
}

/// Says one thing on standard error. Where nobody listens nothing is lost.
pub(crate) fn say(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "leaseflake: {text}");
}

/// As [`say`], without our name before it.
pub(crate) fn say_plainly(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// How many columns there are on standard output, if it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(io::stdout())?;
    io::stdout().is_terminal().then_some(usize::from(columns))
}

/// A text from outside, for one line of ours: without control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

/// Cuts a text that is longer than this many characters, and shows that it did.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_move_the_cursor_or_break_the_table() {
        assert_eq!(one_line("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(shortened("worker-é-17", 8), "worker-…");
        assert_eq!(shortened("worker-é", 8), "worker-é");
    }
}

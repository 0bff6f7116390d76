//! Log lines: on standard error, as text or JSON.

use std::io::{self, IsTerminal};

use leaseflake::Error;
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, ServerOptions};

/// The text, if it is a level or a filter.
pub(crate) fn checked<'a>(name: &str, text: &'a str) -> Result<&'a str, Error> {
    let allowed = "off, error, warn, info, debug, trace, or a filter such as info,leaseflake=debug";
    let wrong = || Error::invalid(name, text, allowed);
    if text.is_empty() || EnvFilter::try_new(own(text)).is_err() { Err(wrong()) } else { Ok(text) }
}

/// A bare level means our own events; those of the libraries below only where something is wrong.
fn own(filter: &str) -> String {
    let level = ["off", "error", "warn", "info", "debug", "trace"].contains(&filter.to_ascii_lowercase().as_str());
    if level { format!("error,leaseflake={filter}") } else { filter.to_owned() }
}

/// Begins to log, unless this process has a subscriber already.
pub(crate) fn init(options: &ServerOptions) {
    let Ok(filter) = EnvFilter::try_new(own(&options.log)) else { return };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // A log that cannot be written must not be complained about where it cannot be written.
        .log_internal_errors(false);
    // Whoever embeds the server has a subscriber of their own, and that is the one.
    let _ = match options.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}

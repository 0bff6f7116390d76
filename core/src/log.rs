//! `LEASEFLAKE_LOG=warn` writes to stderr; off by default, and never in the host's way.

use std::io::{IsTerminal, Write};
use std::sync::Once;

/// Installs the writer once, if the variable asks for it and the host has no subscriber already.
pub(crate) fn init() {
    static INIT: Once = Once::new();
    INIT.call_once(|| {
        let Some(filter) = std::env::var("LEASEFLAKE_LOG").ok().filter(|filter| !filter.is_empty()) else { return };
        let filter = match tracing_subscriber::EnvFilter::try_new(own(&filter)) {
            Ok(filter) => filter,
            Err(error) => {
                // Not `eprintln`, which panics where nothing can be written.
                let _ = writeln!(
                    std::io::stderr(),
                    "leaseflake: LEASEFLAKE_LOG: {filter:?} is not allowed ({error}); \
                     allowed: error, warn, info, debug, trace"
                );
                return;
            }
        };
        // A host that has a subscriber of its own gets the events there.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            // They would go to where nothing can be written, by way of a panic.
            .log_internal_errors(false)
            .try_init();
    });
}

/// A bare level means our own events, not those of every library below.
fn own(filter: &str) -> String {
    let level = ["off", "error", "warn", "info", "debug", "trace"].contains(&filter.to_ascii_lowercase().as_str());
    if level { format!("leaseflake={filter}") } else { filter.to_owned() }
}

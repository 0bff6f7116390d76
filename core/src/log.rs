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
                    stderr(),
                    "leaseflake: LEASEFLAKE_LOG: {filter:?} is not allowed ({error}); \
                     allowed: error, warn, info, debug, trace"
                );
                return;
            }
        };
        // A host that has a subscriber of its own gets the events there.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(stderr)
            .with_ansi(std::io::stderr().is_terminal())
            // They would go to where nothing can be written, by way of a panic.
            .log_internal_errors(false)
            .try_init();
    });
}

/// Standard error without the lock of the standard library: had another thread held that while the host forked, it
/// would be held in the child for ever, and the child's keeper would wait for it.
#[cfg(unix)]
fn stderr() -> impl Write {
    struct Unlocked;
    impl Write for Unlocked {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            use std::os::fd::FromRawFd;
            // SAFETY: only borrowed: never dropped, so never closed. Where there is no such file, writing fails.
            let file = unsafe { std::fs::File::from_raw_fd(libc::STDERR_FILENO) };
            std::mem::ManuallyDrop::new(file).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    Unlocked
}

#[cfg(not(unix))]
fn stderr() -> impl Write {
    std::io::stderr()
}

/// A bare level means our own events, not those of every library below.
fn own(filter: &str) -> String {
    let level = ["off", "error", "warn", "info", "debug", "trace"].contains(&filter.to_ascii_lowercase().as_str());
    if level { format!("leaseflake={filter}") } else { filter.to_owned() }
}

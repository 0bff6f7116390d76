//! Options of the service: `NAME=TEXT` on each line.

use std::time::Duration;

use leaseflake_server::{OPTION_NAMES, ServerOptions};

use crate::message::{is_fit_to_read, refuses_by_value};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Sets each option of the input, then checks them together.
pub fn server_options(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut options = ServerOptions::new();
    for line in text.split('\n') {
        let (name, text) = line.split_once('=').unwrap_or((line, ""));
        let before = format!("{options:?}");
        let Err(error) = options.set(name, text).map(drop) else {
            assert!(OPTION_NAMES.contains(&name), "{name:?} is no option");
            continue;
        };
        let about = if OPTION_NAMES.contains(&name) { (name, text) } else { ("option of the service", name) };
        refuses_by_value(&error, about.0, about.1);
        assert_eq!(format!("{options:?}"), before, "a refused value changed an option");
    }
    assert!((1..=1024).contains(&options.workers), "{options:?}");
    assert!(options.max_connections > 0 && options.max_streams > 0 && options.max_requests > 0, "{options:?}");
    let spans = [
        options.tls_reload,
        options.request_timeout,
        options.keepalive_interval,
        options.keepalive_timeout,
        options.max_connection_age,
        options.max_connection_age_grace,
        options.handshake_timeout,
        options.drain,
        options.grace,
    ];
    assert!(spans.into_iter().all(|span| span <= DAY), "{options:?}");
    let whole = options.tls_cert.is_some() == options.tls_key.is_some()
        && (options.tls_client_ca.is_none() || options.tls_cert.is_some());
    match options.check() {
        Ok(()) => assert!(whole, "{options:?}"),
        Err(error) => {
            assert!(!whole, "{options:?}: {error}");
            assert_eq!(error.name(), "INVALID_ARGUMENT");
            is_fit_to_read(error.message());
        }
    }
}

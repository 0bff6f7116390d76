//! `leaseflake serve`: a runtime, signals, and the service until the end.

use std::time::Duration;

use leaseflake::{Error, ErrorCode, Options};

use crate::config::ServerOptions;
use crate::log;
use crate::open_files;
use crate::server::Server;

/// How long threads of the runtime may take to end, once everything is given back.
pub(crate) const LAST: Duration = Duration::from_millis(500);

/// Serves until SIGTERM or SIGINT, then drains and gives the worker IDs back.
///
/// Options of the service that are left out do not come from the environment here: see
/// [`ServerOptions::with_environment`].
///
/// # Errors
///
/// As [`Server::start`]; also what keeps it from ever getting a worker ID: `STORE_REJECTED`,
/// `LAYOUT_MISMATCH`, `TIMESTAMP_OUT_OF_RANGE`, `INVALID_ARGUMENT`.
pub fn run(mut options: ServerOptions, generator: Options) -> Result<(), Error> {
    log::init(&options);
    options.max_connections = open_files::allow(options.max_connections);
    let failed = |what: &str, error: std::io::Error| Error::new(ErrorCode::Internal, format!("{what}: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("leaseflake-grpc")
        .build()
        .map_err(|error| failed("no threads to serve with", error))?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| failed("cannot listen to signals", error))?;
        let mut server = Server::start(options, generator).await?;
        let outcome = tokio::select! {
            signal = signals.next() => {
                tracing::info!(signal, "shutting down");
                // Whoever sits at a terminal waits for no balancer.
                if signal == "SIGINT" { Ok(true) } else { Ok(false) }
            }
            error = server.failed() => Err(error),
        };
        let at_once = async {
            if !matches!(outcome, Ok(false)) {
                return;
            }
            signals.next().await;
        };
        server.shut_down(at_once).await;
        outcome.map(|_| ())
    });
    runtime.shutdown_timeout(LAST);
    outcome
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the next signal.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) -> &'static str {
        // Without a way to listen, only a kill ends it.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "SIGINT"
    }
}

//! The service as a whole: started, running, ended.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseflake::{Error, ErrorCode, Options};
use tokio::task::JoinHandle;
use tonic_health::server::HealthReporter;

use crate::accept::{Listener, listen};
use crate::calls::Calls;
use crate::config::ServerOptions;
use crate::connection::Connections;
use crate::health::{self, Lead, Watch};
use crate::http::{self, Probes};
use crate::metrics::Metrics;
use crate::phase::{Heard, Phase, Phases};
use crate::pool::Pool;
use crate::registry;
use crate::routes::routes;
use crate::run::LAST;
use crate::service::Service;
use crate::tls::Tls;

/// How long giving the worker IDs back may take, whatever the grace time.
const LEAST_FOR_CLOSE: Duration = Duration::from_millis(300);

/// A running service. Dropping it without [`Server::shut_down`] cuts its clients off, and gives its
/// worker IDs back in the background.
///
/// It needs a tokio runtime with a timer and I/O, and installs nothing for the process.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    http_address: Option<SocketAddr>,
    phases: Phases,
    connections: JoinHandle<()>,
    opening: Option<JoinHandle<Result<(), Error>>>,
    pool: PoolHandle,
    drain: Duration,
    grace: Duration,
    close_timeout: Duration,
}

struct PoolHandle(Arc<Pool>);

impl std::fmt::Debug for PoolHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} slots", self.0.slots().len())
    }
}

impl Server {
    /// Listens, and begins to acquire worker IDs in the background: until there is one, health says
    /// NOT_SERVING and calls say why.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for options, TLS files, or an address that is not free.
    pub async fn start(options: ServerOptions, generator: Options) -> Result<Server, Error> {
        options.check()?;
        let generator = generator.with_environment()?;
        let first = slot_of(&generator)?;
        if first.saturating_add(options.workers) > 1024 {
            return Err(Error::invalid("workers", options.workers, format_args!("slots up to 1023, from {first} on")));
        }
        // What can be wrong with a registry's name or a layout is said before anything listens.
        generator.resolve_store()?;
        let layout = generator.resolve_layout()?;
        let tls = Tls::of(&options)?;
        let listener = listen("listen", options.listen).await?;
        let http_listener = match options.http_listen {
            Some(address) => Some(listen("http_listen", address).await?),
            None => None,
        };
        let address = listener.address()?;
        let http_address = http_listener.as_ref().map(Listener::address).transpose()?;

        let phases = Phases::new(Phase::Serving);
        let heard = || Heard::of(&phases);
        let metrics = Metrics::new(options.caller_labels);
        let pool = Arc::new(Pool::new(first, options.workers));
        let calls = Arc::new(Calls::new(Arc::clone(&metrics), options.max_requests, options.request_timeout));

        let reporter = HealthReporter::new();
        health::tell(&reporter, false).await;
        let health_service = tonic_health::server::HealthService::from_health_reporter(reporter.clone());
        let health_service = tonic_health::pb::health_server::HealthServer::new(health_service);
        let service = Service::new(Arc::clone(&pool), Arc::clone(&metrics), layout.max_batch());
        let answer = routes(service, health_service, Arc::clone(&calls), Arc::clone(&metrics));

        let lead = Lead::of(&generator);
        let watch = Watch::new(Arc::clone(&pool), Arc::clone(&metrics), calls, reporter, lead);
        tokio::spawn(watch.run(heard()));
        if let Some(listener) = http_listener {
            let probes = Arc::new(Probes::new(Arc::clone(&pool), Arc::clone(&metrics), heard()));
            tokio::spawn(http::serve(listener, probes, heard()));
        }
        if let Some(tls) = &tls {
            tokio::spawn(Arc::clone(tls).watch(options.tls_reload, heard()));
        }
        let mut over = heard();
        let free = registry::watch(Arc::clone(&pool), generator.clone(), Arc::clone(&metrics));
        tokio::spawn(async move {
            tokio::select! {
                () = free => {}
                () = over.reached(Phase::Finishing) => {}
            }
        });
        let (opening, mut ending) = (Arc::clone(&pool).open(generator.clone()), heard());
        let opening = tokio::spawn(async move {
            tokio::select! {
                opened = opening => opened,
                () = ending.reached(Phase::Draining) => Ok(()),
            }
        });

        tell_of(&options, address, http_address, tls.as_deref());
        let (drain, grace) = (options.drain, options.grace);
        let connections = Arc::new(Connections { answer, tls, metrics, options });
        let connections = tokio::spawn(connections.serve(listener, heard()));
        let close_timeout = generator.get("close_timeout_ms").and_then(|text| text.parse().ok()).unwrap_or(2_000);
        Ok(Server {
            address,
            http_address,
            phases,
            connections,
            opening: Some(opening),
            pool: PoolHandle(pool),
            drain,
            grace,
            close_timeout: Duration::from_millis(close_timeout),
        })
    }

    /// Where gRPC listens: the port, too, where a free one was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the HTTP port listens.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http_address
    }

    /// Whether at least one worker ID takes calls.
    pub fn is_ready(&self) -> bool {
        *self.phases.borrow() == Phase::Serving && self.pool.0.is_ready()
    }

    /// What the generators tell of themselves: one for each slot that has had a worker ID.
    pub fn statuses(&self) -> Vec<leaseflake::Status> {
        self.pool.0.slots().iter().filter_map(|slot| slot.generator()).map(|generator| generator.status()).collect()
    }

    /// Waits until the server cannot go on: the registry refuses it for good before it has ever
    /// had a worker ID. Otherwise it waits for ever.
    pub async fn failed(&mut self) -> Error {
        if let Some(opening) = &mut self.opening {
            let opened = opening.await;
            self.opening = None;
            match opened {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return error,
                Err(panic) => return Error::new(ErrorCode::Internal, format!("opening panicked: {panic}")),
            }
        }
        std::future::pending().await
    }

    /// Ends: not ready at once; then, unless `at_once`, goes on serving for `drain_ms`, so that balancers
    /// notice; then takes no new connections and lets calls finish; then gives the worker IDs back.
    /// All within `grace_ms`; what is left by then is cut off.
    pub async fn shut_down(mut self, at_once: impl Future<Output = ()>) {
        let began = Instant::now();
        // The leases are released within the grace time, too, and the process ends.
        let grace = self.grace.saturating_sub(LAST);
        let until_cut = grace.saturating_sub(self.close_timeout);
        self.phases.send_replace(Phase::Draining);
        if let Some(opening) = self.opening.take() {
            opening.abort();
        }
        if self.pool.0.has_any() {
            tracing::info!(drain_ms = self.drain.as_millis() as u64, "draining");
            tokio::select! {
                () = tokio::time::sleep(self.drain.min(until_cut)) => {}
                () = at_once => {}
            }
        }
        self.phases.send_replace(Phase::Finishing);
        tracing::info!("finishing the calls under way");
        let left = until_cut.saturating_sub(began.elapsed());
        let finished = tokio::time::timeout(left, &mut self.connections).await.is_ok();
        if !finished {
            tracing::warn!("calls are still under way at the end of the grace time: they are cut off");
        }
        self.phases.send_replace(Phase::Over);
        let left = grace.saturating_sub(began.elapsed()).max(LEAST_FOR_CLOSE);
        match tokio::time::timeout(left, Arc::clone(&self.pool.0).close()).await {
            Ok(()) => tracing::info!("the worker IDs are given back"),
            Err(_) => tracing::warn!("the registry does not answer in time: the leases end by themselves"),
        }
    }
}

fn slot_of(generator: &Options) -> Result<u32, Error> {
    let text = generator.get("slot").unwrap_or("0");
    text.parse().map_err(|_| Error::invalid("slot", text, "an integer, 0..=1023"))
}

/// Says where it listens, and what about that is unsafe.
fn tell_of(options: &ServerOptions, address: SocketAddr, http: Option<SocketAddr>, tls: Option<&Tls>) {
    let security = match tls {
        None => "none",
        Some(tls) if tls.is_mutual() => "mutual TLS",
        Some(_) => "TLS",
    };
    tracing::info!(
        grpc = %address,
        http = %http.map_or_else(|| "off".to_owned(), |address| address.to_string()),
        workers = options.workers,
        security,
        "listening"
    );
    if tls.is_none() && !address.ip().is_loopback() {
        tracing::warn!(
            grpc = %address,
            "anybody who reaches this address gets IDs, unencrypted: give tls_cert and tls_key (and tls_client_ca), or \
             listen on 127.0.0.1 or behind something that encrypts"
        );
    }
}

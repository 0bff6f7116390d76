//! The second port, for probes and Prometheus: HTTP/1, GET only, never with TLS.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::accept::Listener;
use crate::health::is_alive;
use crate::metrics::Metrics;
use crate::phase::{Heard, Phase};
use crate::pool::Pool;

/// How many connections at once; more wait in the kernel.
const CONNECTIONS: usize = 64;
/// How long a client may take for the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection is kept.
const LONGEST: Duration = Duration::from_secs(60);

/// What the port tells.
pub(crate) struct Probes {
    pool: Arc<Pool>,
    metrics: Arc<Metrics>,
    phase: Heard,
}

impl Probes {
    pub(crate) fn new(pool: Arc<Pool>, metrics: Arc<Metrics>, phase: Heard) -> Probes {
        Probes { pool, metrics, phase }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "GET only\n".to_owned());
        }
        match request.uri().path() {
            "/livez" => verdict(is_alive(&self.pool), "every generator has ended by a fault"),
            "/readyz" => match self.phase.now() {
                Phase::Serving => verdict(self.pool.is_ready(), &self.why_not_ready()),
                _ => verdict(false, "shutting down"),
            },
            "/metrics" => {
                let mut response = text(StatusCode::OK, self.metrics.text());
                let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            _ => text(StatusCode::NOT_FOUND, "there are /livez, /readyz and /metrics\n".to_owned()),
        }
    }

    fn why_not_ready(&self) -> String {
        let of_slot = |slot: &crate::pool::Slot| match slot.generator() {
            None => format!("slot {}: {}", slot.number, slot.failure()),
            Some(generator) => format!("slot {}: {}", slot.number, generator.status().state),
        };
        self.pool.slots().iter().map(of_slot).collect::<Vec<_>>().join("; ")
    }
}

fn verdict(well: bool, otherwise: &str) -> Response<Full<Bytes>> {
    if well {
        text(StatusCode::OK, "ok\n".to_owned())
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, format!("{otherwise}\n"))
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Serves until the end: probes are answered while the service drains, too.
pub(crate) async fn serve(mut listener: Listener, probes: Arc<Probes>, mut phase: Heard) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = tokio::select! {
            stream = listener.accept() => stream,
            () = phase.reached(Phase::Over) => return,
        };
        let (probes, mut phase) = (Arc::clone(&probes), phase.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = connection(stream, probes) => {}
                () = tokio::time::sleep(LONGEST) => {}
                () = phase.reached(Phase::Over) => {}
            }
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, probes: Arc<Probes>) {
    let answer = service_fn(move |request| {
        let response = probes.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection to the HTTP port failed: {error}");
    }
}

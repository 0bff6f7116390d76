//! Connections to the gRPC port, from the first byte to the last.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::accept::Listener;
use crate::config::ServerOptions;
use crate::gather::gather;
use crate::metrics::Metrics;
use crate::phase::{Heard, Phase};
use crate::preface::{self, Prefaced};
use crate::routes::Answer;
use crate::tls::Tls;
use crate::unread::Unread;

/// The most that the head of a request may hold, in bytes.
const LONGEST_HEAD: u32 = 16 * 1024;
/// How much of an answer is kept for a reader that is slow, in bytes for each stream.
const KEPT_FOR_A_SLOW_READER: usize = 64 * 1024;
/// How long an answer may stay unread at least, whatever the limit of calls.
const LEAST_UNREAD: Duration = Duration::from_secs(1);
/// How much a client may send ahead of being read, in bytes, on a stream: requests are small.
const AHEAD_ON_A_STREAM: u32 = 64 * 1024;
/// The same on its connection, for each call that it may make at once. HTTP/2 has the client calm down, and ends the
/// connection, where unread messages of less than 256 bytes each would fill half of it at that size.
const AHEAD_FOR_A_CALL: u32 = 1024;
const LARGEST_WINDOW: u32 = i32::MAX as u32;

/// What all connections share.
pub(crate) struct Connections<A> {
    pub(crate) answer: Arc<A>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) options: ServerOptions,
}

impl<A: Answer> Connections<A> {
    /// Accepts connections until the service finishes, and waits until all have ended.
    pub(crate) async fn serve(self: Arc<Self>, mut listener: Listener, mut phase: Heard) {
        let most = self.options.max_connections;
        let places = Arc::new(Semaphore::new(most as usize));
        loop {
            let stream = tokio::select! {
                stream = listener.accept() => stream,
                () = phase.reached(Phase::Finishing) => break,
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                self.metrics.refused_connection("too_many");
                continue;
            };
            let (connections, phase) = (Arc::clone(&self), phase.clone());
            tokio::spawn(async move {
                let connected = connections.metrics.connected();
                connections.begin(stream, phase).await;
                drop((connected, place));
            });
        }
        // Nobody can connect any more.
        drop(listener);
        // Every place is given back with its connection.
        let _ = places.acquire_many(most).await;
    }

    /// The handshakes, in their time; then the connection itself.
    async fn begin(&self, stream: TcpStream, phase: Heard) {
        let limit = tokio::time::sleep(self.options.handshake_timeout);
        let mut over = phase.clone();
        let refuse = |reason: &str| self.metrics.refused_connection(reason);
        tokio::select! {
            () = limit => refuse("too_slow"),
            // Whoever has not begun to speak has nothing to finish.
            () = over.reached(Phase::Finishing) => {}
            shaken = self.shake_hands(stream) => match shaken {
                Ok(Shaken::Plain(io)) => self.speak(io, phase).await,
                Ok(Shaken::Tls(io)) => self.speak(io, phase).await,
                Err(reason) => refuse(reason),
            },
        }
    }

    async fn shake_hands(&self, stream: TcpStream) -> Result<Shaken, &'static str> {
        let Some(tls) = &self.tls else {
            let prefaced = preface::expect(stream).await.map_err(|_| "broken")?;
            return prefaced.map(Shaken::Plain).ok_or("not_http2");
        };
        let stream = tls.acceptor().accept(stream).await.map_err(|error| {
            tracing::debug!("a TLS handshake failed: {error}");
            "tls"
        })?;
        let prefaced = preface::expect(Box::new(stream)).await.map_err(|_| "broken")?;
        prefaced.map(Shaken::Tls).ok_or("not_http2")
    }

    /// HTTP/2, until the client goes, the connection is too old or the service is over.
    async fn speak<I: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, io: I, phase: Heard) {
        let answer = Arc::clone(&self.answer);
        let unread = Arc::new(Unread::default());
        let held = Arc::clone(&unread);
        let service = service_fn(move |request| {
            let answered = Arc::clone(&answer).answer(request, Arc::clone(&held));
            async move { Ok::<_, Infallible>(answered.await) }
        });
        let (io, turns) = gather(io);
        let options = &self.options;
        let interval = (!options.keepalive_interval.is_zero()).then_some(options.keepalive_interval);
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(options.max_streams)
            .max_header_list_size(LONGEST_HEAD)
            .max_send_buf_size(KEPT_FOR_A_SLOW_READER)
            .initial_stream_window_size(AHEAD_ON_A_STREAM)
            .initial_connection_window_size(ahead_on_a_connection(options.max_streams))
            .keep_alive_interval(interval)
            .keep_alive_timeout(options.keepalive_timeout)
            .serve_connection(TokioIo::new(io), service);
        let mut connection = pin!(connection);
        let mut too_old = pin!(after(age_of_this_one(options.max_connection_age)));
        let mut cut_off = pin!(after(None));
        let mut stuck = pin!(unread.for_longer_than(options.request_timeout.max(LEAST_UNREAD)));
        let mut asked_to_leave = false;
        let (mut finishing, mut over) = (phase.clone(), phase);
        loop {
            tokio::select! {
                ended = turns.of(connection.as_mut()) => {
                    if let Err(error) = ended {
                        tracing::debug!("a connection failed: {error}");
                    }
                    return;
                }
                () = too_old.as_mut(), if !asked_to_leave => {
                    cut_off.set(after(Some(options.max_connection_age_grace)));
                }
                () = finishing.reached(Phase::Finishing), if !asked_to_leave => {}
                () = cut_off.as_mut(), if asked_to_leave => return,
                () = stuck.as_mut() => {
                    self.metrics.refused_connection("not_reading");
                    tracing::debug!("a connection left an answer unread for longer than request_timeout_ms");
                    return;
                }
                () = over.reached(Phase::Over) => return,
            }
            // No new calls; the client connects anew, and those under way are finished.
            connection.as_mut().graceful_shutdown();
            asked_to_leave = true;
        }
    }
}

/// A connection whose client has begun as it should.
enum Shaken {
    Plain(Prefaced<TcpStream>),
    Tls(Prefaced<Box<tokio_rustls::server::TlsStream<TcpStream>>>),
}

/// This much later, or never.
async fn after(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => pending().await,
    }
}

fn ahead_on_a_connection(streams: u32) -> u32 {
    streams.saturating_mul(AHEAD_FOR_A_CALL).clamp(16 * AHEAD_ON_A_STREAM, LARGEST_WINDOW)
}

/// The age, less up to a tenth: connections of one deployment must not all come anew at once.
fn age_of_this_one(age: Duration) -> Option<Duration> {
    if age.is_zero() {
        return None;
    }
    let mut random = [0_u8; 4];
    // Without randomness they do come at once, which is no fault.
    let _ = getrandom::fill(&mut random);
    let share = f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX);
    Some(age.mul_f64(1.0 - 0.1 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_spread_below_the_limit_and_zero_is_none() {
        assert_eq!(age_of_this_one(Duration::ZERO), None);
        let ages: Vec<_> = (0..100).filter_map(|_| age_of_this_one(Duration::from_secs(100))).collect();
        assert!(ages.iter().all(|age| (90..=100).contains(&age.as_secs())), "{ages:?}");
        assert!(ages.iter().any(|age| age != &ages[0]), "all at once");
    }
}

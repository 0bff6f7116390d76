//! Clients: as fast as they are answered, or at a pace.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use leaseflake_server::client::Channel;
use leaseflake_server::proto::{GenerateIdBatchRequest, GenerateIdRequest};
use tokio::task::JoinSet;

/// How many IDs a batch has.
pub(crate) const BATCH: i32 = 1000;
/// How many connections the callers share.
const CONNECTIONS: usize = 4;

/// What is called.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    One,
    Batch,
}

/// One round.
pub(crate) struct Measured {
    took: Duration,
    /// In nanoseconds.
    latencies: Histogram<u64>,
}

impl Measured {
    pub(crate) fn a_second(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn ms(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e6
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 60_000_000_000, 3).expect("bounds that make sense")
}

async fn channels(address: SocketAddr) -> Vec<Channel> {
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(Channel::connect(address).await.expect("it listens"));
    }
    channels
}

async fn make(channel: &Channel, call: Call) {
    let mut client = channel.client();
    match call {
        Call::One => {
            let request = GenerateIdRequest { caller_service: "bench".to_owned() };
            client.generate_id(request).await.expect("an answer");
        }
        Call::Batch => {
            let request = GenerateIdBatchRequest { count: BATCH, caller_service: "bench".to_owned() };
            let answer = client.generate_id_batch(request).await.expect("an answer");
            assert_eq!(answer.get_ref().ids.len(), BATCH as usize);
        }
    }
}

async fn joined(began: Instant, mut callers: JoinSet<Histogram<u64>>) -> Measured {
    let mut latencies = histogram();
    while let Some(caller) = callers.join_next().await {
        latencies += caller.expect("a caller does not panic");
    }
    Measured { took: began.elapsed(), latencies }
}

/// So many callers, each with its next call as soon as the last one is answered.
pub(crate) async fn closed(address: SocketAddr, callers: usize, call: Call, span: Duration) -> Measured {
    let channels = channels(address).await;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let channel = channels[caller % CONNECTIONS].clone();
        running.spawn(async move {
            let mut latencies = histogram();
            while began.elapsed() < span {
                let called = Instant::now();
                make(&channel, call).await;
                latencies.saturating_record(called.elapsed().as_nanos() as u64);
            }
            latencies
        });
    }
    joined(began, running).await
}

/// So many calls a second, spread evenly over callers that each wait for their answer. A caller that is late
/// calls at once and counts from when it should have called: a slow answer is not hidden by those that
/// it held up.
pub(crate) async fn paced(address: SocketAddr, a_second: f64, call: Call, span: Duration) -> Measured {
    // The timer of the runtime ticks once a millisecond: each caller has its tick.
    let callers = (a_second / 500.0).ceil().max(2.0) as usize;
    let channels = channels(address).await;
    let step = Duration::from_secs_f64(callers as f64 / a_second);
    let began = Instant::now();
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let channel = channels[caller % CONNECTIONS].clone();
        running.spawn(async move {
            let mut latencies = histogram();
            let mut due = began + step.mul_f64(caller as f64 / callers as f64);
            while due < began + span {
                tokio::time::sleep_until(due.into()).await;
                // The timer wakes late by up to a tick, which is the client's doing.
                let called = Instant::now().min(due + Duration::from_millis(2));
                make(&channel, call).await;
                latencies.saturating_record(called.elapsed().as_nanos() as u64);
                due += step;
            }
            latencies
        });
    }
    joined(began, running).await
}

//! Clients: as fast as they are answered, or at a pace.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use leaseflake_server::client::Channel;
use leaseflake_server::proto::{GenerateIdBatchRequest, GenerateIdRequest};
use tokio::runtime::Handle;
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

/// How late the pacer's thread may be woken without a call's counting from earlier than it was made.
const LATE: Duration = Duration::from_micros(200);

/// So many calls a second, evenly spaced, whether those before are answered or not: a slow answer holds up no
/// other call, and so hides none. Each counts from when it was made, or from soon after it was due if that was
/// much earlier.
pub(crate) async fn paced(address: SocketAddr, a_second: f64, call: Call, span: Duration) -> Measured {
    let channels = channels(address).await;
    let latencies = Arc::new(Mutex::new(histogram()));
    let runtime = Handle::current();
    let kept = Arc::clone(&latencies);
    // The runtime's timer ticks once a millisecond, which would make bursts of what should be spaced evenly.
    let pacer = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        let mut running = JoinSet::new();
        for (number, channel) in (0..).zip(channels.iter().cycle()) {
            let due = began + Duration::from_secs_f64(f64::from(number) / a_second);
            if due >= began + span {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let made = Instant::now().min(due + LATE);
            let (channel, latencies) = (channel.clone(), Arc::clone(&kept));
            let calling = async move {
                make(&channel, call).await;
                let took = made.elapsed().as_nanos() as u64;
                latencies.lock().expect("nobody panics with it").saturating_record(took);
            };
            running.spawn_on(calling, &runtime);
            while running.try_join_next().is_some_and(|ended| ended.is_ok()) {}
        }
        (began, running)
    });
    let (began, running) = pacer.await.expect("it only paces");
    running.join_all().await;
    let latencies = latencies.lock().expect("nobody panics with it").clone();
    Measured { took: began.elapsed(), latencies }
}

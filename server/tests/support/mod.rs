//! A server in this process, and what a client sees of it.
#![allow(dead_code, unreachable_pub, reason = "each test file takes what it needs")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use leaseflake::Options;
use leaseflake_server::client::Channel;
use leaseflake_server::proto::{
    GenerateIdBatchRequest, GenerateIdBatchResponse, GenerateIdRequest, GenerateIdResponse,
};
use leaseflake_server::{ERROR_DOMAIN, Server, ServerOptions};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

/// How long a condition may take on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Free ports, and no waiting for balancers.
pub fn service() -> ServerOptions {
    let mut options = ServerOptions::new();
    options.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    options.http_listen = Some(options.listen);
    options.drain = Duration::ZERO;
    options
}

/// A registry that no other test knows.
pub fn memory() -> Options {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    Options::new().store(format_args!("memory:test-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// A server that takes calls.
pub async fn start(options: ServerOptions, generator: Options) -> Server {
    let plain = options.tls_cert.is_none();
    let server = Server::start(options, generator).await.expect("options that are right");
    if plain {
        let channel = connect(&server).await;
        until("it takes calls and says so", async || is_serving(&channel).await).await;
    } else {
        until("it takes calls", async || server.is_ready()).await;
    }
    server
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub async fn connect(server: &Server) -> Channel {
    Channel::connect(server.address()).await.expect("it listens")
}

pub async fn one(channel: &Channel) -> Result<GenerateIdResponse, Status> {
    let request = GenerateIdRequest { caller_service: "tests".to_owned() };
    channel.client().generate_id(request).await.map(tonic::Response::into_inner)
}

pub async fn batch(channel: &Channel, count: i32) -> Result<GenerateIdBatchResponse, Status> {
    let request = GenerateIdBatchRequest { count, caller_service: "tests".to_owned() };
    channel.client().generate_id_batch(request).await.map(tonic::Response::into_inner)
}

/// Whether health says SERVING, for the server and for the service alike.
pub async fn is_serving(channel: &Channel) -> bool {
    let mut serving = [false; 2];
    for (serving, service) in serving.iter_mut().zip(["", "hispeeddesign.idgen.v1.IdGeneratorService"]) {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = HealthClient::new(channel.clone()).check(request).await.expect("health always answers");
        *serving = answer.into_inner().status() == tonic_health::pb::health_check_response::ServingStatus::Serving;
    }
    serving == [true; 2]
}

/// What an error must hold: its code, the name of the table as reason, and a delay exactly where a retry
/// helps.
#[track_caller]
pub fn assert_error(status: &Status, code: Code, reason: &str, retryable: bool) {
    assert_eq!(status.code(), code, "{status:?}");
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("no ErrorInfo in {status:?}"));
    assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason, ERROR_DOMAIN), "{status:?}");
    let delay = details.retry_info().and_then(|retry| retry.retry_delay);
    assert_eq!(delay.is_some_and(|delay| delay > Duration::ZERO), retryable, "{status:?}");
    assert!(!status.message().is_empty());
}

/// Which worker ID an error is about, as (datacenter, worker).
pub fn worker_of(status: &Status) -> Option<(u32, u32)> {
    let details = status.get_error_details();
    let metadata = &details.error_info()?.metadata;
    Some((metadata.get("datacenter")?.parse().ok()?, metadata.get("worker")?.parse().ok()?))
}

/// A page of the HTTP port: its status and text.
pub async fn page(address: SocketAddr, path: &str) -> (u16, String) {
    let stream = tokio::net::TcpStream::connect(address).await.expect("the HTTP port listens");
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("it speaks HTTP");
    tokio::spawn(connection);
    let request = http::Request::get(path).header("host", "localhost").body(String::new()).expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a body").to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

/// The value of a metric, by its name and labels as they are written.
pub fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

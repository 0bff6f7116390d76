//! Errors over the wire that no caller, registry or clock brings about: a generator that is closed, and a
//! bug of ours.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use leaseflake::clock::SystemClock;
use leaseflake::lease::store::{Reply, Request};
use leaseflake::{IdGenerator, Layout, Options};
use tonic::Code;
use tonic_types::StatusExt;

use crate::client::Channel;
use crate::config::ServerOptions;
use crate::proto::{GenerateIdBatchRequest, GenerateIdRequest};
use crate::server::Server;

async fn start(name: &str) -> (Server, Channel) {
    let mut options = ServerOptions::new();
    options.listen = (Ipv4Addr::LOCALHOST, 0).into();
    options.http_listen = None;
    let server = Server::start(options, Options::new().store(format_args!("memory:{name}"))).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !server.is_ready() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let channel = Channel::connect(server.address()).await.unwrap();
    (server, channel)
}

async fn refusals(channel: &Channel) -> [(Code, String, bool); 2] {
    let one = channel.client().generate_id(GenerateIdRequest::default()).await.unwrap_err();
    let batch = GenerateIdBatchRequest { count: 3, ..Default::default() };
    let batch = channel.client().generate_id_batch(batch).await.unwrap_err();
    [one, batch].map(|status| {
        let details = status.get_error_details();
        let reason = details.error_info().map(|info| info.reason.clone()).unwrap_or_default();
        (status.code(), reason, details.retry_info().is_some())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_dropped_gives_its_worker_id_back() {
    let (server, _channel) = start("dropped").await;
    let mut registry = Options::new().store("memory:dropped").resolve_store().unwrap();
    let mut leased = || {
        let request = Request::Read { datacenter_id: 0, layout: Layout::default() };
        let Ok(Reply::View(view)) = registry.call(&request).result else { panic!("no answer") };
        view.workers.iter().filter(|item| item.is_leased_at(SystemClock::wall_ms())).count()
    };
    assert_eq!(leased(), 1);
    drop(server);
    let deadline = Instant::now() + Duration::from_secs(20);
    while leased() > 0 {
        assert!(Instant::now() < deadline, "its lease is longer than this");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_is_not_allowed_is_so_without_a_worker_id_too() {
    let taken = Options::new().store("memory:taken").layout("43-0-0-20");
    let _holder = IdGenerator::open_async(taken.clone()).await.unwrap();
    let mut options = ServerOptions::new();
    options.listen = (Ipv4Addr::LOCALHOST, 0).into();
    options.http_listen = None;
    let server = Server::start(options, taken.slot(1)).await.unwrap();
    let channel = Channel::connect(server.address()).await.unwrap();
    for count in [0, 1001] {
        let batch = GenerateIdBatchRequest { count, ..Default::default() };
        let status = channel.client().generate_id_batch(batch).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(status.message().contains("1..=1000"), "{status:?}");
    }
    assert_eq!(refusals(&channel).await[1].0, Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_generator_is_unavailable_and_no_reason_to_come_back_here() {
    let (server, channel) = start("closed").await;
    let generator = server.pool.0.slots()[0].generator().unwrap();
    generator.close_async().await;
    for refusal in refusals(&channel).await {
        assert_eq!(refusal, (Code::Unavailable, "CLOSED".to_owned(), false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_call_is_internal_and_the_connection_goes_on() {
    let (server, channel) = start("panic").await;
    let slot = &server.pool.0.slots()[0];
    slot.panic_next(2);
    for refusal in refusals(&channel).await {
        assert_eq!(refusal, (Code::Internal, "INTERNAL".to_owned(), false));
    }
    channel.client().generate_id(GenerateIdRequest::default()).await.expect("the same connection serves on");
}

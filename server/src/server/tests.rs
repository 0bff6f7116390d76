//! Errors over the wire that no caller, registry or clock brings about: a generator that is closed, and a
//! bug of ours.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use leaseflake::Options;
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

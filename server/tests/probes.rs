//! Health, reflection, the HTTP port, and the end of the service, as operators and their tools see them.

mod support;

use std::time::{Duration, Instant};

use leaseflake::lease::store::memory::MemoryStore;
use leaseflake::lease::store::{LeaseStore, Reply, Request};
use leaseflake::{Id, Layout};
use leaseflake_server::Server;
use leaseflake_server::client::Channel;
use support::{batch, connect, is_serving, memory, metric, one, page, service, start, until};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_what_was_issued_to_whom_and_how_the_lease_is() {
    let server = start(service(), memory().datacenter_id(4)).await;
    let channel = connect(&server).await;
    for _ in 0..5 {
        one(&channel).await.unwrap();
    }
    batch(&channel, 100).await.unwrap();
    batch(&channel, 0).await.unwrap_err();
    let http = server.http_address().unwrap();
    let mut text = String::new();
    until("the registry has been looked at", async || {
        text = page(http, "/metrics").await.1;
        metric(&text, "leaseflake_worker_ids_free{datacenter=\"4\"}").is_some()
    })
    .await;
    let value = |name: &str| metric(&text, name).unwrap_or_else(|| panic!("{name} is not in\n{text}"));
    assert_eq!(value("leaseflake_ids_issued_total{caller_service=\"tests\"}"), 105.0);
    assert_eq!(value("leaseflake_requests_total{code=\"OK\",method=\"GenerateId\"}"), 5.0);
    assert_eq!(value("leaseflake_requests_total{code=\"OK\",method=\"GenerateIdBatch\"}"), 1.0);
    assert_eq!(value("leaseflake_requests_total{code=\"INVALID_ARGUMENT\",method=\"GenerateIdBatch\"}"), 1.0);
    assert_eq!(value("leaseflake_request_duration_seconds_count{method=\"GenerateId\"}"), 5.0);
    assert_eq!(value("leaseflake_worker_ids_free{datacenter=\"4\"}"), 31.0);
    assert_eq!(value("leaseflake_fencing_epoch{slot=\"0\"}"), 1.0);
    assert_eq!(value("leaseflake_datacenter_id{slot=\"0\"}"), 4.0);
    assert_eq!(value("leaseflake_lease_state{slot=\"0\",state=\"active\"}"), 1.0);
    assert_eq!(value("leaseflake_suspensions_total{slot=\"0\"}"), 0.0);
    assert_eq!(value("leaseflake_clock_steps_total{slot=\"0\"}"), 0.0);
    assert_eq!(value("leaseflake_ready"), 1.0);
    assert!((1.0..=30.0).contains(&value("leaseflake_lease_seconds_left{slot=\"0\"}")));
    // 2^41 ms from 2026 on end in September 2095.
    assert!((20_000.0..=25_500.0).contains(&value("leaseflake_timestamp_days_left")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_http_port_answers_probes_and_refuses_the_rest_politely() {
    let server = start(service(), memory()).await;
    let http = server.http_address().unwrap();
    assert_eq!(page(http, "/livez").await, (200, "ok\n".to_owned()));
    assert_eq!(page(http, "/readyz").await, (200, "ok\n".to_owned()));
    assert_eq!(page(http, "/").await.0, 404);
    assert_eq!(page(http, "/metrics/../livez").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn before_there_is_a_worker_id_probes_say_alive_and_not_ready_and_why() {
    let options = memory().layout("41-5-0-17").datacenter_id(0).acquire_timeout_ms(50);
    let holder = leaseflake::IdGenerator::open(options.clone().slot(9).acquire_timeout_ms(60_000)).unwrap();
    let server = Server::start(service(), options).await.unwrap();
    let http = server.http_address().unwrap();
    assert_eq!(page(http, "/livez").await.0, 200);
    until("it knows why", async || {
        let (status, text) = page(http, "/readyz").await;
        assert_eq!(status, 503);
        text.contains("NO_WORKER_ID")
    })
    .await;
    drop(holder);
    until("it is ready", async || page(http, "/readyz").await.0 == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_not_ready_then_drained_then_released() {
    let mut options = service();
    options.drain = Duration::from_secs(3600);
    let registry = memory().datacenter_id(2);
    let server = start(options, registry.clone()).await;
    let (address, http) = (server.address(), server.http_address().unwrap());
    let channel = connect(&server).await;
    let mut watch = HealthClient::new(channel.clone());
    let mut watch = watch.watch(HealthCheckRequest::default()).await.unwrap().into_inner();

    let (drained, at_once) = tokio::sync::oneshot::channel::<()>();
    let down = tokio::spawn(server.shut_down(async move { drop(at_once.await) }));
    until("the watcher is told", async || {
        watch.message().await.unwrap().is_some_and(|told| told.status() == ServingStatus::NotServing)
    })
    .await;
    assert!(!is_serving(&channel).await);
    assert_eq!(page(http, "/readyz").await.0, 503);
    assert_eq!(page(http, "/livez").await.0, 200);
    for _ in 0..20 {
        one(&channel).await.expect("it serves on while balancers notice");
        one(&Channel::connect(address).await.unwrap()).await.expect("new connections, too");
    }

    drop(drained);
    tokio::time::timeout(support::PATIENCE, down).await.expect("it ends by itself").unwrap();
    Channel::connect(address).await.expect_err("nobody listens any more");
    until("the old connection is closed", async || channel.is_closed()).await;
    let name = registry.get("store").unwrap().strip_prefix("memory:").unwrap().to_owned();
    let read = Request::Read { datacenter_id: 2, layout: Layout::default() };
    let Ok(Reply::View(view)) = MemoryStore::named(&name).call(&read).result else { panic!("a memory registry reads") };
    assert!(view.workers.iter().all(|item| item.is_released()), "the worker ID is given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_under_way_are_finished_and_a_client_that_never_ends_is_cut_off_in_time() {
    // 8 IDs a millisecond: calls under way wait for the clock for a second.
    let mut options = service();
    options.grace = Duration::from_secs(8);
    let registry = memory().layout("50-5-5-3").max_wait_ms(60_000).close_timeout_ms(1_000);
    let server = start(options, registry).await;
    let channel = connect(&server).await;
    // A stream that nobody ends: its connection cannot be closed in good order.
    let other = connect(&server).await;
    let mut idle = tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient::new(other.clone());
    let (questions, asked) = tokio::sync::mpsc::channel(1);
    let answers = idle.server_reflection_info(Questions(asked)).await.unwrap();

    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let channel = channel.clone();
        calls.spawn(async move { batch(&channel, 8).await });
    }
    // All of them are under way once one of them has been answered by a server that answers in order.
    calls.join_next().await.unwrap().unwrap().unwrap();
    let began = Instant::now();
    let down = tokio::spawn(server.shut_down(std::future::ready(())));
    let mut finished = 0;
    for answer in calls.join_all().await {
        match answer {
            Ok(_) => finished += 1,
            // It was sent after the server had said that it takes no more.
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
    }
    assert!(finished > 0, "calls under way are finished");
    tokio::time::timeout(support::PATIENCE, down).await.expect("it ends in spite of the idle stream").unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    until("the idle client is cut off", async || other.is_closed()).await;
    drop((questions, answers));
}

/// A stream of questions that a test asks as it likes.
struct Questions(tokio::sync::mpsc::Receiver<tonic_reflection::pb::v1::ServerReflectionRequest>);

impl tonic::codegen::tokio_stream::Stream for Questions {
    type Item = tonic_reflection::pb::v1::ServerReflectionRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_connection_is_asked_to_leave_without_a_failed_call() {
    let mut options = service();
    options.max_connection_age = Duration::from_millis(300);
    let server = start(options, memory()).await;
    let mut connections = 0;
    let mut last = 0;
    let began = Instant::now();
    while connections < 4 {
        assert!(began.elapsed() < support::PATIENCE, "connections never grow too old");
        let channel = connect(&server).await;
        connections += 1;
        let opened = Instant::now();
        while !channel.is_closed() {
            match one(&channel).await {
                Ok(answer) => {
                    assert!(answer.id > last);
                    last = answer.id;
                    Id::from_i64(answer.id).unwrap();
                }
                // Between the last answer and the next question it went; nothing was under way.
                Err(status) => {
                    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                    break;
                }
            }
            assert!(opened.elapsed() < support::PATIENCE, "the connection never grows too old");
        }
    }
}

//! The two calls over the wire, and every error of the table that a server in this process can be brought
//! to. Those of a clock that moves are in `tests/tests/server_clock.rs`, a panic and a closed generator
//! beside the code.

mod support;

use std::collections::HashSet;
use std::fs::File;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use leaseflake::lease::store::memory::MemoryStore;
use leaseflake::lease::store::{FenceRequest, LeaseStore, Reply, Request};
use leaseflake::{DEFAULT_EPOCH_MS, Id, IdGenerator, Layout, Options};
use leaseflake_server::Server;
use leaseflake_server::proto::GenerateIdRequest;
use support::{assert_error, batch, connect, is_serving, memory, one, service, start, until, worker_of};
use tonic::Code;

/// One worker ID in each datacenter, and 8 IDs a millisecond.
const SMALL: &str = "50-5-5-3";
const ONE_WORKER: &str = "41-5-0-17";

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_given_with_its_fields_and_its_string_and_never_twice() {
    let server = start(service(), memory().datacenter_id(7)).await;
    let channel = connect(&server).await;
    let mut seen = HashSet::new();
    let mut last = 0;
    for _ in 0..1000 {
        let began = now_ms();
        let answer = one(&channel).await.unwrap();
        assert!(answer.id > last, "IDs of one server and caller increase");
        last = answer.id;
        assert!(seen.insert(answer.id));
        assert_eq!(answer.id_str, answer.id.to_string());
        let parts = Layout::default().decode(Id::from_i64(answer.id).unwrap());
        assert_eq!(answer.timestamp_ms, parts.timestamp_ms);
        assert_eq!((answer.datacenter_id, answer.worker_id), (7, parts.worker_id as i32));
        assert!((began..=now_ms()).contains(&answer.timestamp_ms), "{began} {}", answer.timestamp_ms);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_one_run_of_one_millisecond_as_numbers_and_as_strings() {
    let server = start(service(), memory()).await;
    let channel = connect(&server).await;
    for count in [1, 2, 999, 1000] {
        let answer = batch(&channel, count).await.unwrap();
        assert_eq!(answer.epoch_offset_ms, DEFAULT_EPOCH_MS);
        assert_eq!(answer.ids.len(), count as usize);
        let texts: Vec<_> = answer.ids.iter().map(i64::to_string).collect();
        assert_eq!(answer.ids_str, texts);
        assert!(answer.ids.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        let ms = |id: &i64| Layout::default().decode(Id::from_i64(*id).unwrap()).timestamp_ms;
        assert_eq!(answer.ids.first().map(ms), answer.ids.last().map(ms));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_is_not_allowed_is_invalid_argument_and_says_what_is() {
    let server = start(service(), memory()).await;
    let channel = connect(&server).await;
    for count in [0, -1, 1001, i32::MIN, i32::MAX] {
        let status = batch(&channel, count).await.unwrap_err();
        assert_error(&status, Code::InvalidArgument, "INVALID_ARGUMENT", false);
        assert!(status.message().contains(&count.to_string()), "{status:?}");
        assert!(status.message().contains("1..=1000"), "{status:?}");
    }
    one(&channel).await.expect("and the next call is served");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_worker_id_taken_calls_say_no_worker_id_until_one_is_free() {
    let options = memory().layout(ONE_WORKER).datacenter_id(0).acquire_timeout_ms(2_000);
    let holder = IdGenerator::open(options.clone().slot(9).acquire_timeout_ms(60_000)).unwrap();
    let server = Server::start(service(), options).await.unwrap();
    let channel = connect(&server).await;
    let status = one(&channel).await.unwrap_err();
    assert_error(&status, Code::Unavailable, "NO_WORKER_ID", true);
    assert!(!is_serving(&channel).await);
    holder.close();
    until("the worker ID that is free again is taken", async || one(&channel).await.is_ok()).await;
    until("health follows", async || is_serving(&channel).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_cannot_be_reached_is_store_unavailable_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let options = Options::new().store(format_args!("sqlite:{}", path.display())).acquire_timeout_ms(300);
    drop(IdGenerator::open(options.clone().acquire_timeout_ms(60_000)).unwrap());
    // Whoever holds this lock keeps all others out, as a broken network would.
    let lock = File::options().write(true).open(path.with_extension("db.lock")).unwrap();
    lock.lock().unwrap();
    let server = Server::start(service(), options).await.unwrap();
    let channel = connect(&server).await;
    until("the first attempt is over", async || {
        let status = one(&channel).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        status.message().contains("registry.db")
    })
    .await;
    assert_error(&one(&channel).await.unwrap_err(), Code::Unavailable, "STORE_UNAVAILABLE", true);
    lock.unlock().unwrap();
    until("the registry is there again", async || one(&channel).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_retry_mends_is_failed_precondition_or_out_of_range_and_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("registry.db"), "no registry at all").unwrap();
    let rejected = Options::new().store(format_args!("sqlite:{}/registry.db", folder.path().display()));
    let mismatched = memory();
    drop(IdGenerator::open(mismatched.clone()).unwrap());
    // The timestamp field of this layout ended a second ago.
    let past = memory().layout("32-5-5-21").epoch_ms(now_ms() - (1 << 32) - 1000);
    for (options, code, reason) in [
        (rejected, Code::FailedPrecondition, "STORE_REJECTED"),
        (mismatched.layout(SMALL), Code::FailedPrecondition, "LAYOUT_MISMATCH"),
        (past, Code::OutOfRange, "TIMESTAMP_OUT_OF_RANGE"),
    ] {
        let mut server = Server::start(service(), options).await.unwrap();
        let error =
            tokio::time::timeout(support::PATIENCE, server.failed()).await.expect("it tells that it cannot go on");
        assert_eq!(error.name(), reason, "{error}");
        let channel = connect(&server).await;
        assert_error(&one(&channel).await.unwrap_err(), code, reason, false);
        assert!(!is_serving(&channel).await);
        server.shut_down(std::future::ready(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timestamp_field_that_ends_while_the_server_runs_is_out_of_range() {
    // 32 bits of milliseconds, of which a few seconds are left; more than the lead of readiness.
    let epoch_ms = now_ms() - (1 << 32) + 6_000;
    let registry = memory().layout("32-5-5-21").epoch_ms(epoch_ms).lease_ttl_ms(1_500);
    let server = start(service(), registry.heartbeat_interval_ms(100).safety_margin_ms(100)).await;
    let channel = connect(&server).await;
    let (_, text) = support::page(server.http_address().unwrap(), "/metrics").await;
    let days = support::metric(&text, "leaseflake_timestamp_days_left").expect("it is told beforehand");
    assert!((0.0..=6.0 / 86_400.0).contains(&days), "{days}");
    until("the field ends", async || one(&channel).await.is_err_and(|status| status.code() == Code::OutOfRange)).await;
    assert_error(&one(&channel).await.unwrap_err(), Code::OutOfRange, "TIMESTAMP_OUT_OF_RANGE", false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_lease_is_unavailable_and_health_has_gone_before_the_first_call_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let options = Options::new().store(format_args!("sqlite:{}", path.display())).datacenter_id(3);
    let options = options.lease_ttl_ms(5_000).heartbeat_interval_ms(500).safety_margin_ms(500);
    let server = start(service(), options).await;
    let channel = connect(&server).await;
    let worker = one(&channel).await.unwrap().worker_id as u32;

    let lock = File::options().write(true).open(path.with_extension("db.lock")).unwrap();
    lock.lock().unwrap();
    let mut warned = false;
    let status = loop {
        let serving = is_serving(&channel).await;
        match one(&channel).await {
            Ok(_) => warned |= !serving,
            Err(status) => break status,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(warned, "a call failed before health had said NOT_SERVING");
    assert_error(&status, Code::Unavailable, "LEASE_SUSPENDED", true);
    assert_eq!(worker_of(&status), Some((3, worker)));
    assert_error(&batch(&channel, 10).await.unwrap_err(), Code::Unavailable, "LEASE_SUSPENDED", true);
    let http = server.http_address().unwrap();
    assert_eq!(support::page(http, "/readyz").await.0, 503);
    assert_eq!(support::page(http, "/livez").await.0, 200, "a restart would not help");

    lock.unlock().unwrap();
    until("IDs flow again", async || one(&channel).await.is_ok()).await;
    until("health follows", async || is_serving(&channel).await).await;
    let (_, text) = support::page(http, "/metrics").await;
    assert!(support::metric(&text, "leaseflake_suspensions_total{slot=\"0\"}") >= Some(1.0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_is_unavailable_until_another_worker_id_is_there() {
    let options = memory().layout(ONE_WORKER).datacenter_id(0);
    let options = options.lease_ttl_ms(5_000).heartbeat_interval_ms(100).safety_margin_ms(500);
    let server = start(service(), options.clone()).await;
    let channel = connect(&server).await;
    one(&channel).await.unwrap();
    // An operator fences the only worker ID: nobody may claim it for the next few seconds.
    let name = options.get("store").unwrap().strip_prefix("memory:").unwrap().to_owned();
    let layout: Layout = options.resolve_layout().unwrap();
    let fence = FenceRequest { datacenter_id: 0, layout, at_ms: now_ms() + 4_000, worker_id: Some(0), lower: false };
    let fenced = MemoryStore::named(&name).call(&Request::Fence(fence)).result;
    assert!(matches!(fenced, Ok(Reply::Applied)));
    until("the next heartbeat finds out", async || one(&channel).await.is_err()).await;
    let status = one(&channel).await.unwrap_err();
    assert_error(&status, Code::Unavailable, "LEASE_LOST", true);
    assert_eq!(worker_of(&status), Some((0, 0)));
    until("health says so", async || !is_serving(&channel).await).await;
    until("the worker ID is claimed anew", async || one(&channel).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_worker_id_gives_is_resource_exhausted_and_nobody_waits_longer_than_max_wait() {
    let server = start(service(), memory().layout(SMALL).max_wait_ms(0)).await;
    let channel = connect(&server).await;
    let deadline = Instant::now() + support::PATIENCE;
    let status = 'refused: loop {
        assert!(Instant::now() < deadline, "8 IDs a millisecond were never exceeded");
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let channel = channel.clone();
            calls.spawn(async move { batch(&channel, 8).await });
        }
        for answer in calls.join_all().await {
            if let Err(status) = answer {
                break 'refused status;
            }
        }
    };
    assert_error(&status, Code::ResourceExhausted, "SEQUENCE_EXHAUSTED", true);
    assert!(batch(&channel, 9).await.unwrap_err().message().contains("1..=8"), "the layout's own limit is named");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_the_clock_ends_at_its_deadline_and_holds_nobody_up() {
    // 8 IDs a millisecond, and whoever comes waits for as long as it takes.
    let server = start(service(), memory().layout(SMALL).max_wait_ms(60_000)).await;
    let channel = connect(&server).await;
    // Two seconds of IDs are taken, so that the next call has to wait about as long.
    let mut taken = tokio::task::JoinSet::new();
    for _ in 0..2000 {
        let channel = channel.clone();
        taken.spawn(async move { batch(&channel, 8).await });
    }
    until("a call would have to wait", async || {
        let mut request = tonic::Request::new(GenerateIdRequest::default());
        request.set_timeout(Duration::from_millis(30));
        channel.client().generate_id(request).await.is_err_and(|status| status.code() == Code::DeadlineExceeded)
    })
    .await;
    let began = Instant::now();
    assert!(is_serving(&channel).await, "other calls of the connection are answered meanwhile");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let mut seen = HashSet::new();
    for answer in taken.join_all().await {
        seen.extend(answer.expect("all that were taken are given in time").ids);
    }
    assert_eq!(seen.len(), 16_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_workers_share_the_calls_and_one_that_is_lost_is_passed_over() {
    let mut options = service();
    options.workers = 3;
    let registry = memory().layout("41-5-2-15").datacenter_id(1);
    let registry = registry.lease_ttl_ms(5_000).heartbeat_interval_ms(100).safety_margin_ms(500);
    let server = start(options, registry.clone()).await;
    let channel = connect(&server).await;
    let mut workers = HashSet::new();
    until("all three serve", async || {
        workers.insert(one(&channel).await.unwrap().worker_id);
        workers.len() == 3
    })
    .await;
    // All four worker IDs are taken or fenced: one of the three is lost for good.
    let lost = *workers.iter().next().unwrap() as u32;
    let name = registry.get("store").unwrap().strip_prefix("memory:").unwrap().to_owned();
    let layout = registry.resolve_layout().unwrap();
    for worker_id in [lost, (0..4).find(|id| !workers.contains(id)).unwrap() as u32] {
        let at_ms = now_ms() + 3_600_000;
        let fence = FenceRequest { datacenter_id: 1, layout, at_ms, worker_id: Some(worker_id), lower: false };
        MemoryStore::named(&name).call(&Request::Fence(fence)).result.unwrap();
    }
    let http = server.http_address().unwrap();
    until("the loss is seen", async || {
        let (_, text) = support::page(http, "/metrics").await;
        let lost =
            |slot: u32| support::metric(&text, &format!("leaseflake_lease_state{{slot=\"{slot}\",state=\"lost\"}}"));
        (0..3).any(|slot| lost(slot) == Some(1.0))
    })
    .await;
    for _ in 0..100 {
        let answer = one(&channel).await.expect("the others take the calls");
        assert_ne!(answer.worker_id as u32, lost);
    }
    assert!(is_serving(&channel).await, "ready while at least one serves");
}

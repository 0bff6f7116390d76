//! A server whose clock is moved: what calls say, and what health says.

use std::time::{Duration, Instant};

use leaseflake_server::client::Channel;
use leaseflake_server::proto::GenerateIdRequest;
use leaseflake_tests::member::assert_no_repeat;
use leaseflake_tests::serve::{PATIENCE, Serve, ServeBuilder};
use leaseflake_tests::shim::ShimClock;
use tonic::{Code, Status};
use tonic_types::StatusExt;

async fn one(channel: &Channel) -> Result<i64, Status> {
    Ok(channel.client().generate_id(GenerateIdRequest::default()).await?.into_inner().id)
}

/// What `/readyz` answers.
async fn ready(server: &Serve) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(server.http).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status")
}

/// Calls until one is refused; all IDs until then are kept.
async fn refusal(channel: &Channel, ids: &mut Vec<i64>) -> Status {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match one(channel).await {
            Ok(id) => ids.push(id),
            Err(status) => return status,
        }
        assert!(Instant::now() < deadline, "no call is refused");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn assert_is(status: &Status, reason: &str) {
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().reason, reason, "{status:?}");
    assert!(details.retry_info().unwrap().retry_delay.unwrap() > Duration::ZERO);
}

async fn until_served(server: &Serve, channel: &Channel, ids: &mut Vec<i64>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(id) = one(channel).await {
            ids.push(id);
            if ready(server).await == 200 {
                return;
            }
        }
        assert!(Instant::now() < deadline, "IDs do not flow again: {:?}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_not_ready(server: &Serve) {
    let deadline = Instant::now() + PATIENCE;
    while ready(server).await != 503 {
        assert!(Instant::now() < deadline, "readiness does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_set_back_is_clock_backwards_and_one_far_ahead_is_clock_untrusted() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ShimClock::create(folder.path()).unwrap();
    // A long lease: what refuses is the rule about the clock, and not the end of the window.
    let store = format!("sqlite:{}/registry.db", folder.path().display());
    let builder = ServeBuilder::new(&store).option("lease-ttl-ms", "3600000");
    let mut server = builder.start_by(&clock);
    server.ready().await;
    let channel = Channel::connect(server.grpc).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(one(&channel).await.unwrap());
    }
    clock.set_offset_ms(-60_000);
    assert_is(&refusal(&channel, &mut ids).await, "CLOCK_BACKWARDS");
    until_not_ready(&server).await;
    clock.set_offset_ms(0);
    until_served(&server, &channel, &mut ids).await;

    clock.set_offset_ms(7_200_000 / 4);
    assert_is(&refusal(&channel, &mut ids).await, "CLOCK_UNTRUSTED");
    until_not_ready(&server).await;
    clock.set_offset_ms(0);
    until_served(&server, &channel, &mut ids).await;
    assert_no_repeat(&ids);
}

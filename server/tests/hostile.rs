//! What a network may send: whatever it is, the server lives and others are served.

mod support;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use leaseflake_server::Server;
use leaseflake_server::client::Channel;
use leaseflake_server::proto::{GenerateIdBatchResponse, GenerateIdRequest, GenerateIdResponse};
use prost::Message;
use support::{PATIENCE, connect, is_serving, memory, one, page, service, start, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tonic::{Code, Status};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const ONE: &str = "/hispeeddesign.idgen.v1.IdGeneratorService/GenerateId";
const BATCH: &str = "/hispeeddesign.idgen.v1.IdGeneratorService/GenerateIdBatch";

/// HTTP/2 by hand: streams that are begun and not finished, and what no gRPC library would send.
#[derive(Clone)]
struct Raw(SendRequest<Bytes>);

impl Raw {
    async fn connect(address: SocketAddr, builder: &mut h2::client::Builder) -> Raw {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        Raw(sender)
    }

    async fn begin(&self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let request = Request::post(format!("http://localhost{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .unwrap();
        self.0.clone().ready().await?.send_request(request, false)
    }

    async fn call(&self, path: &str, body: impl Into<Bytes>) -> Result<(HeaderMap, Vec<u8>, HeaderMap), h2::Error> {
        let (answer, mut sender) = self.begin(path).await?;
        // The answer may be there already, and then nobody takes the message.
        let _ = sender.send_data(body.into(), true);
        let (head, body) = answer.await?.into_parts();
        let (bytes, trailers) = read(body).await?;
        Ok((head.headers, bytes, trailers))
    }
}

async fn read(mut body: RecvStream) -> Result<(Vec<u8>, HeaderMap), h2::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, body.trailers().await?.unwrap_or_default()))
}

/// So many answers of 1,000 IDs, begun and not read.
async fn unread_batches(raw: &Raw, count: usize) -> Vec<RecvStream> {
    let mut bodies = Vec::new();
    for _ in 0..count {
        let (answer, mut sender) = raw.begin(BATCH).await.unwrap();
        sender.send_data(batch_request(1000), true).unwrap();
        bodies.push(answer.await.unwrap().into_body());
    }
    bodies
}

/// A message as gRPC frames it.
fn framed(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    let mut framed = vec![0];
    framed.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    framed.extend_from_slice(&bytes);
    framed.into()
}

fn request() -> Bytes {
    framed(&GenerateIdRequest { caller_service: "raw".to_owned() })
}

fn batch_request(count: i32) -> Bytes {
    framed(&leaseflake_server::proto::GenerateIdBatchRequest { count, caller_service: String::new() })
}

fn code(headers: &HeaderMap, trailers: &HeaderMap) -> Option<Code> {
    Status::from_header_map(headers).or_else(|| Status::from_header_map(trailers)).map(|status| status.code())
}

async fn assert_lives(server: &Server) {
    one(&connect(server).await).await.expect("others are served");
}

/// Sends bytes and reads whatever comes back, to the end.
async fn send(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may have closed already.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset is an end like any other.
    let _ = ended.expect("the server ends the connection");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_http1_and_a_tls_hello_on_the_plain_port_end_their_own_connection_only() {
    let mut options = service();
    options.handshake_timeout = Duration::from_millis(500);
    let server = start(options, memory()).await;
    let address = server.address();
    let hello = [b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03".as_slice(), &[7; 200]].concat();
    assert!(send(address, &hello).await.is_empty());
    let answer = send(address, b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with(b"HTTP/1.1 505 "), "{}", String::from_utf8_lossy(&answer));
    // The beginning of a preface, and nothing at all, until the server has had enough.
    for beginning in [b"PRI * HT".as_slice(), b""] {
        assert!(send(address, beginning).await.is_empty());
    }
    // Garbage after a right preface: frames of every kind, too long, on streams that do not exist.
    let mut seed = 1_u32;
    for round in 0..200_u32 {
        let mut bytes = PREFACE.to_vec();
        if round % 2 == 0 {
            bytes.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        }
        for _ in 0..200 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((seed >> 24) as u8);
        }
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(&bytes).await;
        drop(stream);
    }
    assert_lives(&server).await;
    let (_, text) = page(server.http_address().unwrap(), "/metrics").await;
    let refused = |reason: &str| {
        support::metric(&text, &format!("leaseflake_connections_refused_total{{reason=\"{reason}\"}}")).unwrap_or(0.0)
    };
    assert_eq!(refused("not_http2"), 2.0, "{text}");
    assert_eq!(refused("too_slow"), 2.0, "{text}");
    until("every connection has been given back", async || {
        let (_, text) = page(server.http_address().unwrap(), "/metrics").await;
        // Only the one that was opened to see whether it lives, if that.
        support::metric(&text, "leaseflake_connections") <= Some(1.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_too_long_malformed_or_cut_short_are_refused() {
    let mut options = service();
    options.request_timeout = Duration::from_millis(1500);
    let server = start(options, memory()).await;
    let long = framed(&GenerateIdRequest { caller_service: "x".repeat(1 << 20) });
    let bodies: [(&str, Bytes); 7] = [
        ("a message of 1 MiB", long),
        ("a length of 4 GiB", Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])),
        ("no protobuf", Bytes::from_static(&[0, 0, 0, 0, 3, 0xff, 0xff, 0xff])),
        ("a name that is not UTF-8", Bytes::from_static(&[0, 0, 0, 0, 4, 0x0a, 2, 0xc3, 0x28])),
        ("compressed, which was not agreed", Bytes::from_static(&[1, 0, 0, 0, 0])),
        ("less than it says", Bytes::from_static(&[0, 0, 0, 0, 9, 1])),
        ("nothing at all", Bytes::new()),
    ];
    for (what, body) in bodies {
        let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
        // The stream may be reset while we still send: that is a refusal, too.
        if let Ok((headers, _, trailers)) = raw.call(ONE, body).await {
            // Only what might still have come is out of time.
            let code = code(&headers, &trailers);
            let expected = if what == "less than it says" {
                [Code::DeadlineExceeded, Code::InvalidArgument]
            } else {
                [Code::InvalidArgument; 2]
            };
            assert!(code.is_some_and(|code| expected.contains(&code)), "{what}: {code:?}");
        }
    }
    let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
    // A message that never comes ends with the time that a call may take.
    let (answer, _sender) = raw.begin(ONE).await.unwrap();
    let answer = answer.await.unwrap();
    assert_eq!(code(answer.headers(), &HeaderMap::new()), Some(Code::DeadlineExceeded));
    // No such method, and no such protocol.
    let (headers, _, trailers) =
        raw.call("/hispeeddesign.idgen.v1.IdGeneratorService/Nothing", request()).await.unwrap();
    assert_eq!(code(&headers, &trailers), Some(Code::Unimplemented));
    let (headers, _, trailers) = raw.call("/", request()).await.unwrap();
    assert_eq!(code(&headers, &trailers), Some(Code::Unimplemented));
    let http =
        Request::post(format!("http://localhost{ONE}")).header("content-type", "application/json").body(()).unwrap();
    let (answer, _) = raw.0.clone().ready().await.unwrap().send_request(http, true).unwrap();
    assert_eq!(answer.await.unwrap().status().as_u16(), 415);
    let http = Request::get("http://localhost/metrics").body(()).unwrap();
    let (answer, _) = raw.0.clone().ready().await.unwrap().send_request(http, true).unwrap();
    assert_eq!(answer.await.unwrap().status().as_u16(), 405);
    let (headers, _, trailers) = raw.call(ONE, request()).await.expect("the connection itself is as good as before");
    assert_eq!(code(&headers, &trailers), Some(Code::Ok));
    // A head that is too long is refused, on this connection or with it.
    let huge = Request::post(format!("http://localhost{ONE}")).header("x", "y".repeat(64 * 1024)).body(()).unwrap();
    if let Ok((answer, _)) = raw.0.clone().ready().await.unwrap().send_request(huge, true)
        && let Ok(answer) = answer.await
    {
        assert_eq!(answer.status().as_u16(), 431);
    }
    assert_lives(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_is_no_fault_of_the_services_beside_either() {
    let server = start(service(), memory()).await;
    let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
    for (path, message, expected) in [
        ("/grpc.health.v1.Health/Check", &b"\0\0"[..], Code::InvalidArgument),
        ("/grpc.health.v1.Health/Check", b"\0\0\0\0\x02\x0a\x05", Code::InvalidArgument),
        ("/grpc.health.v1.Health/Nothing", b"\0\0\0\0\0", Code::Unimplemented),
    ] {
        let (headers, _, trailers) = raw.call(path, message).await.unwrap();
        assert_eq!(code(&headers, &trailers), Some(expected), "{path} {message:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_streams_that_are_reset_at_once_ends_at_most_its_own_connection() {
    let server = start(service(), memory()).await;
    for _ in 0..5 {
        let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
        for _ in 0..2000 {
            let Ok((answer, mut sender)) = raw.begin(ONE).await else { break };
            sender.send_reset(h2::Reason::CANCEL);
            drop(answer);
        }
    }
    assert_lives(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_streams_at_once_each_get_an_id_of_their_own() {
    const CONNECTIONS: usize = 10;
    const STREAMS: usize = 1000;
    let mut options = service();
    options.request_timeout = PATIENCE;
    let server = start(options, memory()).await;
    let http = server.http_address().unwrap();
    let mut begun = Vec::new();
    for _ in 0..CONNECTIONS {
        let raw = Raw::connect(
            server.address(),
            h2::client::Builder::new().initial_connection_window_size(8 << 20).initial_max_send_streams(STREAMS),
        )
        .await;
        for _ in 0..STREAMS {
            begun.push(raw.begin(ONE).await.unwrap());
        }
    }
    // All are under way at once: begun, and none has sent its message.
    until("all are under way", async || {
        let (_, text) = page(http, "/metrics").await;
        support::metric(&text, "leaseflake_requests_under_way") == Some((CONNECTIONS * STREAMS) as f64)
    })
    .await;
    assert_lives(&server).await;
    let mut calls = JoinSet::new();
    for (answer, mut sender) in begun {
        calls.spawn(async move {
            sender.send_data(request(), true).unwrap();
            let (bytes, trailers) = read(answer.await.unwrap().into_body()).await.unwrap();
            assert_eq!(code(&HeaderMap::new(), &trailers), Some(Code::Ok));
            GenerateIdResponse::decode(&bytes[5..]).unwrap().id
        });
    }
    let ids: HashSet<i64> = calls.join_all().await.into_iter().collect();
    assert_eq!(ids.len(), CONNECTIONS * STREAMS, "an ID was given twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_calls_that_a_connection_may_make_at_once_may_come_in_one_burst() {
    const STREAMS: u32 = 6000;
    let mut options = service();
    options.max_streams = STREAMS;
    options.request_timeout = PATIENCE;
    let server = start(options, memory()).await;
    let raw = Raw::connect(
        server.address(),
        h2::client::Builder::new()
            .initial_connection_window_size(8 << 20)
            .initial_max_send_streams(STREAMS as usize)
            .max_concurrent_reset_streams(0),
    )
    .await;
    let mut calls = JoinSet::new();
    for _ in 0..STREAMS {
        let (answer, mut sender) = raw.begin(ONE).await.unwrap();
        calls.spawn(async move {
            // As several libraries do: the message, and the end in a frame of its own.
            sender.send_data(request(), false).unwrap();
            sender.send_data(Bytes::new(), true).unwrap();
            answer.await.map(|answer| answer.status().as_u16())
        });
    }
    for answer in calls.join_all().await {
        assert_eq!(answer.expect("the connection holds"), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_holds_up_nobody_and_gets_all_once_it_does() {
    let mut options = service();
    options.request_timeout = PATIENCE;
    let server = start(options, memory()).await;
    // A window of a kilobyte: answers of 30 kB are stuck until it is widened.
    let slow = Raw::connect(
        server.address(),
        h2::client::Builder::new().initial_window_size(1024).initial_connection_window_size(8 << 20),
    )
    .await;
    let stuck = unread_batches(&slow, 90).await;
    let channel = connect(&server).await;
    let began = Instant::now();
    for _ in 0..100 {
        one(&channel).await.expect("others are served");
    }
    assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
    let mut ids = HashSet::new();
    for body in stuck {
        let (bytes, trailers) = read(body).await.unwrap();
        assert_eq!(code(&HeaderMap::new(), &trailers), Some(Code::Ok));
        ids.extend(GenerateIdBatchResponse::decode(&bytes[5..]).unwrap().ids);
    }
    assert_eq!(ids.len(), 90_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_never_reads_is_cut_off_and_its_places_are_free_again() {
    let mut options = service();
    options.request_timeout = Duration::from_secs(1);
    options.max_requests = 20;
    let server = start(options, memory()).await;
    let never = Raw::connect(server.address(), h2::client::Builder::new().initial_window_size(0)).await;
    let stuck = unread_batches(&never, 20).await;
    let channel = connect(&server).await;
    until("all places are free again", async || one(&channel).await.is_ok()).await;
    let (_, text) = page(server.http_address().unwrap(), "/metrics").await;
    let cut_off = support::metric(&text, "leaseflake_connections_refused_total{reason=\"not_reading\"}");
    assert_eq!(cut_off, Some(1.0), "{text}");
    for body in stuck {
        assert!(read(body).await.is_err(), "it was cut off");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_whose_client_goes_are_counted_as_cancelled() {
    let server = start(service(), memory()).await;
    let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
    let http = server.http_address().unwrap();
    let (answer, mut sender) = raw.begin(ONE).await.unwrap();
    until("it is under way", async || {
        support::metric(&page(http, "/metrics").await.1, "leaseflake_requests_under_way") == Some(1.0)
    })
    .await;
    sender.send_reset(h2::Reason::CANCEL);
    drop(answer);
    until("it has been counted", async || {
        let (_, text) = page(http, "/metrics").await;
        support::metric(&text, "leaseflake_requests_total{code=\"CANCELLED\",method=\"GenerateId\"}") == Some(1.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_of_calls_callers_are_told_to_come_back_and_health_still_answers() {
    let mut options = service();
    options.max_requests = 10;
    let server = start(options, memory()).await;
    let raw = Raw::connect(server.address(), &mut h2::client::Builder::new()).await;
    let mut begun = Vec::new();
    for _ in 0..10 {
        begun.push(raw.begin(ONE).await.unwrap());
    }
    until("the ten are under way", async || {
        let (_, text) = page(server.http_address().unwrap(), "/metrics").await;
        support::metric(&text, "leaseflake_requests_under_way") == Some(10.0)
    })
    .await;
    let channel = connect(&server).await;
    support::assert_error(&one(&channel).await.unwrap_err(), Code::ResourceExhausted, "SERVER_OVERLOADED", true);
    assert!(is_serving(&channel).await, "a probe that fails here would have the server killed for being busy");
    for (answer, mut sender) in begun {
        sender.send_data(request(), true).unwrap();
        read(answer.await.unwrap().into_body()).await.unwrap();
    }
    until("there is room again", async || one(&channel).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limits_of_connections_and_streams_the_rest_is_served() {
    let mut options = service();
    options.max_connections = 3;
    options.max_streams = 5;
    let server = start(options, memory()).await;
    until("the connection that looked whether it is ready is gone", async || {
        let (_, text) = page(server.http_address().unwrap(), "/metrics").await;
        support::metric(&text, "leaseflake_connections") == Some(0.0)
    })
    .await;
    let held = [connect(&server).await, connect(&server).await, connect(&server).await];
    for channel in &held {
        one(channel).await.unwrap();
    }
    let refused = match Channel::connect(server.address()).await {
        Ok(channel) => one(&channel).await.map(drop).map_err(|status| status.code()),
        Err(_) => Err(Code::Unavailable),
    };
    assert_eq!(refused, Err(Code::Unavailable));
    // More calls than streams: the client's library lets the rest wait for its turn.
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let channel = held[0].clone();
        calls.spawn(async move { one(&channel).await.unwrap().id });
    }
    assert_eq!(calls.join_all().await.into_iter().collect::<HashSet<_>>().len(), 50);
    drop(held);
    until("there is room again", async || match Channel::connect(server.address()).await {
        Ok(channel) => one(&channel).await.is_ok(),
        Err(_) => false,
    })
    .await;
}

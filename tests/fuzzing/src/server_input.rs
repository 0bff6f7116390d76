//! What a network may send to the service: whatever it is, others are served.
//!
//! The first line says which way the rest goes: `preface` (the first bytes of a connection), `timeout` (a header of that
//! name), `http2` (frames after the preface), `http1` (the port of probes and metrics), or `call METHOD TIMEOUT` and
//! `raw METHOD TIMEOUT` (a message of a call, framed or as it is).

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Request};
use leaseflake::Options;
use leaseflake_server::proto::{
    GenerateIdBatchRequest, GenerateIdBatchResponse, GenerateIdRequest, GenerateIdResponse,
};
use leaseflake_server::{ERROR_DOMAIN, Server, ServerOptions, deadline, expect_preface};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::message::is_fit_to_read;
use crate::scene;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SERVICE: &str = "hispeeddesign.idgen.v1.IdGeneratorService";
/// How long anything may take; the rest is for a machine under load.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most that the service sends to whoever has sent one input.
const LONGEST_ANSWER: u64 = 1 << 20;

thread_local! {
    static SCENE: RefCell<Option<Scene>> = const { RefCell::new(None) };
}

/// A service and a client of it, in one thread.
struct Scene {
    runtime: Runtime,
    server: Server,
    calls: SendRequest<Bytes>,
}

/// Sends the input the way that it names.
pub fn server_input(data: &[u8]) {
    scene::on(&SCENE, Scene::new, |scene| {
        let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
        let way = String::from_utf8_lossy(&data[..end]);
        let rest = data.get(end + 1..).unwrap_or_default();
        let mut words = way.splitn(3, ' ');
        let kind = words.next().unwrap_or_default();
        let (method, timeout) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Scene { runtime, server, calls } = scene;
        let sent = async {
            match kind {
                "preface" => preface(rest).await,
                "timeout" => timeout_header(rest),
                "http2" => http2(server, calls, rest).await,
                "http1" => http1(server, calls, rest).await,
                "raw" => call(calls, method, timeout, rest.to_vec()).await,
                _ => call(calls, method, timeout, framed(rest)).await,
            }
        };
        let done = runtime.block_on(async { tokio::time::timeout(PATIENCE, sent).await });
        done.expect("it ends in its time");
    });
}

impl Scene {
    fn new() -> Scene {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (server, calls) = runtime.block_on(async {
            let server = Server::start(options(), Options::new().store("memory:fuzzing")).await.expect("it starts");
            while !server.is_ready() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let stream = TcpStream::connect(server.address()).await.expect("it listens");
            stream.set_nodelay(true).expect("a socket");
            let (calls, connection) = h2::client::handshake(stream).await.expect("it speaks HTTP/2");
            tokio::spawn(connection);
            (server, calls)
        });
        Scene { runtime, server, calls }
    }
}

/// Free ports, and a connection that is kept.
fn options() -> ServerOptions {
    let mut options = ServerOptions::new();
    options.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    options.http_listen = Some(options.listen);
    options.max_connection_age = Duration::ZERO;
    options.keepalive_interval = Duration::ZERO;
    options
}

/// Goes on with the preface of HTTP/2 alone, however it is cut into pieces, and loses nothing of what follows.
async fn preface(sent: &[u8]) {
    for cut in [0, 1, sent.len() / 2, PREFACE.len()] {
        let (first, second) = sent.split_at(cut.min(sent.len()));
        let mut answer = Vec::new();
        let io = tokio::io::join(first.chain(second), &mut answer);
        let prefaced = expect_preface(io).await.expect("memory can be read and written");
        assert_eq!(prefaced.is_some(), sent.starts_with(PREFACE), "{sent:?}");
        if let Some(mut prefaced) = prefaced {
            let mut read = Vec::new();
            prefaced.read_to_end(&mut read).await.expect("memory can be read");
            assert_eq!(read, sent);
        }
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 505 "), "{answer:?}");
    }
}

/// One to eight digits and a unit; anything else is no deadline.
fn timeout_header(text: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(text) else { return };
    let mut headers = HeaderMap::new();
    headers.insert("grpc-timeout", value);
    let nanos = |unit: u8| -> Option<u128> {
        Some(match unit {
            b'H' => 3_600_000_000_000,
            b'M' => 60_000_000_000,
            b'S' => 1_000_000_000,
            b'm' => 1_000_000,
            b'u' => 1_000,
            b'n' => 1,
            _ => return None,
        })
    };
    let expected = match text {
        [digits @ .., unit] if (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) => {
            let number = digits.iter().fold(0, |number, digit| number * 10 + u128::from(digit - b'0'));
            nanos(*unit).map(|nanos| number * nanos)
        }
        _ => None,
    };
    assert_eq!(deadline(&headers).map(|found| found.as_nanos()), expected, "{text:?}");
}

/// Frames of HTTP/2, as they are: the connection ends, and others are served.
async fn http2(server: &Server, calls: &mut SendRequest<Bytes>, frames: &[u8]) {
    exchange(server.address(), &[PREFACE, frames].concat()).await;
    others_are_served(calls).await;
}

/// HTTP/1 on the port of probes and metrics: answers that are whole, and lines of metrics that are each one.
async fn http1(server: &Server, calls: &mut SendRequest<Bytes>, sent: &[u8]) {
    let answer = exchange(server.http_address().expect("it has one"), sent).await;
    let answer = std::str::from_utf8(&answer).expect("text");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1."), "{answer:?}");
    if sent.starts_with(b"GET /metrics HTTP/1.1\r\n\r\n") {
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let metrics =
            body.split_inclusive('\n').take_while(|line| line.ends_with('\n') && !line.starts_with("HTTP/1."));
        for line in metrics.map(str::trim_end) {
            let number = line.rsplit_once(' ').map(|(_, number)| number.parse::<f64>());
            let is_metric = line.starts_with("leaseflake_") && matches!(number, Some(Ok(_)));
            assert!(line.starts_with("# ") || is_metric, "{line:?}");
        }
    }
    others_are_served(calls).await;
}

/// Sends bytes and then no more, and gives whatever comes back to the end.
async fn exchange(address: SocketAddr, sent: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    // The service may have closed already; a reset is an end like any other.
    let _ = stream.write_all(sent).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.take(LONGEST_ANSWER + 1).read_to_end(&mut answer).await;
    assert!(answer.len() as u64 <= LONGEST_ANSWER, "it sends without end");
    answer
}

async fn others_are_served(calls: &mut SendRequest<Bytes>) {
    let message = GenerateIdRequest { caller_service: "others".to_owned() }.encode_to_vec();
    let (status, _) = ask(calls, &format!("/{SERVICE}/GenerateId"), "", framed(&message)).await.expect("it is a call");
    assert_eq!(status.code(), Code::Ok, "others are served: {status:?}");
}

/// A call of this method; its message may be anything.
async fn call(calls: &mut SendRequest<Bytes>, method: &str, timeout: &str, message: Vec<u8>) {
    let path = if method.starts_with('/') { method.to_owned() } else { format!("/{SERVICE}/{method}") };
    let Some((status, answer)) = ask(calls, &path, timeout, message.clone()).await else { return };
    match status.code() {
        Code::Ok if method == "GenerateId" => check_one(&answer),
        Code::Ok if method == "GenerateIdBatch" => check_batch(&message, &answer),
        Code::InvalidArgument if !method.starts_with('/') => {
            let details = status.get_error_details();
            let info = details.error_info().expect("every refusal says why");
            assert_eq!((info.reason.as_str(), info.domain.as_str()), ("INVALID_ARGUMENT", ERROR_DOMAIN));
        }
        // What a client sends is no fault of the service.
        Code::Internal | Code::Unknown | Code::DataLoss | Code::FailedPrecondition => panic!("{path}: {status:?}"),
        _ => {}
    }
    // The code says it all where there is no such method.
    if !matches!(status.code(), Code::Ok | Code::Unimplemented) {
        is_fit_to_read(status.message());
    }
}

fn check_one(answer: &[u8]) {
    let answer = GenerateIdResponse::decode(&answer[5..]).expect("a message");
    assert!(answer.id > 0);
    assert_eq!(answer.id_str, answer.id.to_string());
}

fn check_batch(message: &[u8], answer: &[u8]) {
    let request = GenerateIdBatchRequest::decode(&message[5..]).expect("it was read");
    let answer = GenerateIdBatchResponse::decode(&answer[5..]).expect("a message");
    assert_eq!(i32::try_from(answer.ids.len()), Ok(request.count));
    assert!(answer.ids.iter().is_sorted_by(|one, next| one < next) && answer.ids[0] > 0);
    assert!(answer.ids.iter().map(i64::to_string).eq(answer.ids_str));
}

/// What comes back of a call, and its messages; `None` where it cannot be sent.
async fn ask(calls: &mut SendRequest<Bytes>, path: &str, timeout: &str, message: Vec<u8>) -> Option<(Status, Vec<u8>)> {
    let mut request = Request::post(format!("http://localhost{path}")).header("content-type", "application/grpc");
    if !timeout.is_empty() {
        request = request.header("grpc-timeout", timeout);
    }
    let request = request.header("te", "trailers").body(()).ok()?;
    let mut calls = calls.clone().ready().await.expect("the connection is kept");
    let (answer, mut sender) = calls.send_request(request, false).ok()?;
    // The answer may be there already, and then nobody takes the message.
    let _ = sender.send_data(message.into(), true);
    let (head, mut body) = answer.await.expect("every call has an answer").into_parts();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.expect("an answer is whole");
        body.flow_control().release_capacity(chunk.len()).expect("it was just received");
        bytes.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await.expect("an answer is whole").unwrap_or_default();
    let status = Status::from_header_map(&head.headers).or_else(|| Status::from_header_map(&trailers));
    Some((status.unwrap_or_else(|| panic!("{path} has no status: {head:?}")), bytes))
}

/// A message as gRPC frames it.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("inputs are short").to_be_bytes();
    [&[0], &length[..], message].concat()
}

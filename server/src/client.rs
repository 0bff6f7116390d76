//! One connection to a server, for the generated client: no TLS, no retries, no balancing.
//!
//! What tests, benchmarks and programs on the same machine need. In production use a gRPC library whose
//! service config retries, as `examples/grpc` shows.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;

use crate::proto::id_generator_service_client::IdGeneratorServiceClient;

/// How long a connection may be silent before it is pinged, and how long the answer may take: a server
/// that is stopped looks like one that is slow.
const PING_AFTER: Duration = Duration::from_secs(10);

/// How much of an answer may be under way: thousands of calls share a connection.
const WINDOW: u32 = 1 << 20;

/// A connection; clones share it.
#[derive(Clone, Debug)]
pub struct Channel {
    authority: Authority,
    sender: SendRequest<Body>,
}

impl Channel {
    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// Whatever connecting gives.
    pub async fn connect(address: SocketAddr) -> io::Result<Channel> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Channel::over(stream, &address.to_string()).await
    }

    /// Speaks over a connection that is there, such as one with TLS, to a server of this name.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a name that is no authority; else whatever the handshake gives.
    pub async fn over(
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        authority: &str,
    ) -> io::Result<Channel> {
        let authority = authority.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_AFTER)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(8 * WINDOW)
            .handshake(TokioIo::new(io))
            .await
            .map_err(io::Error::other)?;
        // Its end is seen by whoever sends next.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Channel { authority, sender })
    }

    /// The generated client on this connection.
    pub fn client(&self) -> IdGeneratorServiceClient<Channel> {
        IdGeneratorServiceClient::new(self.clone())
    }

    /// Whether the connection takes no more calls.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, Status>> + Send>>;

    /// Always: HTTP/2 lets calls wait for their turn, and a broken connection is told to each.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone()).path_and_query(path).build();
        let sent = uri.map(|uri| {
            *request.uri_mut() = uri;
            self.sender.send_request(request)
        });
        Box::pin(async move {
            let sent = sent.map_err(|error| Status::internal(format!("no such path: {error}")))?;
            sent.await.map_err(|error| unavailable(&error))
        })
    }
}

/// The connection broke: another one may do better.
fn unavailable(error: &hyper::Error) -> Status {
    Status::unavailable(format!("the connection failed: {error}"))
}

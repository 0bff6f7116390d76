//! `leaseflake-fleet-grpc`: the gRPC service as a member of the fleet.
//!
//! The server runs in this very process, so that whatever is done to the process is done to the server, and
//! every ID goes over a TCP connection.

use std::future::Future;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use leaseflake::{Error, ErrorCode, Options};
use leaseflake_fleet::member::{Issue, Open, serve, shown};
use leaseflake_server::client::Channel;
use leaseflake_server::proto::{GenerateIdBatchRequest, GenerateIdRequest};
use leaseflake_server::{Server, ServerOptions};
use tokio::runtime::Runtime;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// How many IDs one batch may have.
const BATCH: usize = 1000;
/// How long the first worker ID may take.
const FIRST: Duration = Duration::from_secs(10);

struct Service;

struct Opened {
    runtime: Runtime,
    server: Mutex<Option<Server>>,
    channel: Channel,
}

impl Open for Service {
    type Generator = Opened;
    // A server is threads and sockets, which no fork takes along.
    const CAPABILITIES: &str = "threads";

    fn open(&self) -> Result<Opened, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorCode::Internal, format!("no runtime: {error}")))?;
        let (server, channel) = runtime.block_on(async {
            let mut options = ServerOptions::new();
            options.listen = (Ipv4Addr::LOCALHOST, 0).into();
            options.http_listen = None;
            options.drain = Duration::ZERO;
            let mut server = Server::start(options, Options::new()).await?;
            let channel = Channel::connect(server.address()).await.map_err(|error| broken(&error))?;
            // As `open` of a library: until there is a worker ID, or why there is none.
            let opened = tokio::select! {
                error = server.failed() => Err(error),
                opened = opened(&channel) => opened,
            };
            if opened.is_err() {
                server.shut_down(std::future::ready(())).await;
                return opened.map(|()| unreachable!("it is an error"));
            }
            Ok((server, channel))
        })?;
        Ok(Opened { runtime, server: Mutex::new(Some(server)), channel })
    }
}

/// Waits until a call is answered with an ID.
async fn opened(channel: &Channel) -> Result<(), Error> {
    let began = std::time::Instant::now();
    loop {
        match channel.client().generate_id(GenerateIdRequest::default()).await {
            Ok(_) => return Ok(()),
            Err(status) if began.elapsed() > FIRST => return Err(error(&status)),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

fn broken(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the connection to the service broke: {error}"))
}

/// The error of the table that a status stands for; one without its details is the connection's.
fn error(status: &Status) -> Error {
    let details = status.get_error_details();
    let named =
        details.error_info().and_then(|info| ErrorCode::ALL.into_iter().find(|code| code.name() == info.reason));
    match named {
        Some(code) => {
            let error = Error::new(code, status.message());
            match details.retry_info().and_then(|retry| retry.retry_delay) {
                Some(delay) => error.with_retry_after(delay),
                None => error,
            }
        }
        None if status.code() == Code::Internal => Error::new(ErrorCode::Internal, status.message()),
        None => broken(status),
    }
}

impl Opened {
    fn wait<T>(&self, call: impl Future<Output = Result<T, Status>>) -> Result<T, Error> {
        self.runtime.block_on(call).map_err(|status| {
            let is_open = self.server.lock().is_ok_and(|server| server.is_some());
            if is_open { error(&status) } else { Error::new(ErrorCode::Closed, "the server is closed") }
        })
    }
}

impl Issue for Opened {
    fn next(&self) -> Result<i64, Error> {
        let mut client = self.channel.client();
        self.wait(async move { Ok(client.generate_id(GenerateIdRequest::default()).await?.into_inner().id) })
    }

    fn batch(&self, count: usize) -> Result<Vec<i64>, Error> {
        let mut client = self.channel.client();
        let request = GenerateIdBatchRequest { count: count as i32, ..Default::default() };
        self.wait(async move { Ok(client.generate_id_batch(request).await?.into_inner().ids) })
    }

    fn fill(&self, ids: &mut [i64]) -> Result<(), (usize, Error)> {
        let mut written = 0;
        for part in ids.chunks_mut(BATCH) {
            part.copy_from_slice(&self.batch(part.len()).map_err(|error| (written, error))?);
            written += part.len();
        }
        Ok(())
    }

    fn status(&self) -> Result<String, Error> {
        let server = self.server.lock().map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
        let statuses = server.as_ref().map(Server::statuses).unwrap_or_default();
        Ok(shown(&statuses))
    }

    fn close(&self) -> Result<(), Error> {
        let server = self.server.lock().map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?.take();
        if let Some(server) = server {
            self.runtime.block_on(server.shut_down(std::future::ready(())));
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match serve(&Service) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leaseflake-fleet-grpc: {error}");
            ExitCode::FAILURE
        }
    }
}

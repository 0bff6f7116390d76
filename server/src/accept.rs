//! Accepting connections: no error of one connection, nor of all of them, ends it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use leaseflake::{Error, ErrorCode};
use tokio::net::{TcpListener, TcpStream};

/// How long to wait where the system has no more file descriptors to give.
const BREATH: Duration = Duration::from_millis(50);
/// How often that is said, at most.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// A port that is listened on.
pub(crate) struct Listener {
    port: TcpListener,
    /// When it was last said that connections cannot be accepted.
    said: Option<Instant>,
}

/// Listens on an address.
pub(crate) async fn listen(what: &str, address: SocketAddr) -> Result<Listener, Error> {
    let port = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::PermissionDenied => {
            Error::invalid(what, address, format_args!("an address of this machine that is free ({error})"))
        }
        _ => Error::new(ErrorCode::Internal, format!("{what}: cannot listen on {address}: {error}")),
    })?;
    Ok(Listener { port, said: None })
}

impl Listener {
    /// Where it listens.
    pub(crate) fn address(&self) -> Result<SocketAddr, Error> {
        let unknown = |error| Error::new(ErrorCode::Internal, format!("no address to listen on: {error}"));
        self.port.local_addr().map_err(unknown)
    }

    /// The next connection.
    pub(crate) async fn accept(&mut self) -> TcpStream {
        loop {
            match self.port.accept().await {
                Ok((stream, _)) => {
                    // Answers are small and each is waited for.
                    let _ = stream.set_nodelay(true);
                    return stream;
                }
                Err(error) if of_one_connection(&error) => {}
                Err(error) => {
                    if self.said.is_none_or(|said| said.elapsed() > SAY_AGAIN) {
                        tracing::error!("cannot accept connections: {error}");
                        self.said = Some(Instant::now());
                    }
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }
}

/// The client was gone before we came.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

//! Accepting connections: no error of one connection, nor of all of them, ends it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use leaseflake::{Error, ErrorCode};
use tokio::net::{TcpListener, TcpStream};

/// How long to wait where the system has no more file descriptors to give.
const BREATH: Duration = Duration::from_millis(50);

/// Listens on an address.
pub(crate) async fn listen(what: &str, address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::PermissionDenied => {
            Error::invalid(what, address, format_args!("an address of this machine that is free ({error})"))
        }
        _ => Error::new(ErrorCode::Internal, format!("{what}: cannot listen on {address}: {error}")),
    })
}

/// The next connection.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and each is waited for.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) if of_one_connection(&error) => {}
            Err(error) => {
                if !told {
                    tracing::error!("cannot accept connections: {error}");
                    told = true;
                }
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// The client was gone before we came.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

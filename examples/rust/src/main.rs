//! Makes an ID for each order until SIGTERM or Ctrl-C, then gives its worker ID back.
//!
//!     LEASEFLAKE_STORE=sqlite:./ids.db cargo run -p leaseflake-example

use std::time::Duration;

use leaseflake::{Error, IdGenerator, Options};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the worker ID is taken, so that no signal ends the process without giving it back.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let ids = IdGenerator::open_async(Options::new()).await?;
    let served = tokio::select! {
        served = take_orders(&ids) => served,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    ids.close_async().await;
    served.map_err(Into::into)
}

async fn take_orders(ids: &IdGenerator) -> Result<(), Error> {
    loop {
        let id = ids.next_id_async().await?;
        let parts = ids.decode(id);
        println!("order {id}, made at {} ms by worker {}/{}", parts.timestamp_ms, parts.datacenter_id, parts.worker_id);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

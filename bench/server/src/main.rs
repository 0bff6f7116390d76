//! The gRPC service's rows of the budget table, beside an echo service on the same stack in the same run.
//!
//! `make bench-server` runs it and writes `bench/results/server.json`. Servers and clients share this process and
//! its cores. Rounds of the product and of the echo take turns, so that what else the machine does meets both.

mod echo;
mod load;
#[path = "../../src/report.rs"]
mod report;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use leaseflake::Options;
use leaseflake_server::{Server, ServerOptions};
use load::{Call, Measured};
use report::{Budget, Report};

/// Where results go: beside those of the other parts.
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results");

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
/// Enough to keep two cores busy, and no more: a queue measures itself.
const CALLERS: usize = 32;
/// The seed's throughput of a cluster, in batches a second, and a little more.
const BATCHES_A_SECOND: f64 = 550.0;

async fn product() -> Server {
    let mut options = ServerOptions::new();
    options.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    options.http_listen = None;
    options.drain = Duration::ZERO;
    let server = Server::start(options, Options::new().store("memory:bench")).await.expect("options that are right");
    while !server.is_ready() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server
}

fn ms(measured: &[Measured], quantile: f64) -> Vec<f64> {
    measured.iter().map(|round| round.ms(quantile)).collect()
}

fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let server = product().await;
    let echo = echo::start().await;
    let mut report = Report::new("server");

    // Once for nothing: connections, pages and branches are warm.
    for address in [server.address(), echo] {
        load::closed(address, CALLERS, Call::One, ROUND / 2).await;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(load::closed(echo, CALLERS, Call::One, ROUND).await.a_second());
        ours.push(load::closed(server.address(), CALLERS, Call::One, ROUND).await.a_second());
    }
    report.row("unary calls a second", "calls/s", Budget::Shown, ours.clone());
    report.row("the echo service's", "calls/s", Budget::Shown, theirs.clone());
    report.row("unary throughput / echo", "ratio", Budget::AtLeast(0.9), ratios(&ours, &theirs));

    let half = theirs.iter().chain(&ours).copied().fold(f64::INFINITY, f64::min) / 2.0;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..2 * ROUNDS {
        theirs.push(load::paced(echo, half, Call::One, ROUND / 2).await);
        ours.push(load::paced(server.address(), half, Call::One, ROUND / 2).await);
    }
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
        let of = ratios(&ms(&ours, quantile), &ms(&theirs, quantile));
        report.row(format!("{name} at half load / echo"), "ratio", Budget::AtMost(1.1), of);
    }
    for (name, quantile, most) in [("p50", 0.5, 0.2), ("p99", 0.99, 1.0), ("p99.9", 0.999, 3.0)] {
        report.row(format!("{name} at half load"), "ms", Budget::AtMost(most), ms(&ours, quantile));
        report.row(format!("{name} at half load, echo"), "ms", Budget::Shown, ms(&theirs, quantile));
    }

    let mut batches = Vec::new();
    for _ in 0..2 * ROUNDS {
        batches.push(load::paced(server.address(), BATCHES_A_SECOND, Call::Batch, ROUND / 2).await);
    }
    let ids = batches.iter().map(|round| round.a_second() * f64::from(load::BATCH)).collect();
    report.row("IDs a second in batches of 1000", "IDs/s", Budget::AtLeast(500_000.0), ids);
    report.row("p99 of a batch meanwhile", "ms", Budget::AtMost(1.0), ms(&batches, 0.99));
    server.shut_down(std::future::ready(())).await;
    report.finish()
}

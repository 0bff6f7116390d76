//! The core's rows of the budget table: each a ratio within one run, with its spread.
//!
//! `make bench` runs it and writes `bench/results/core.json`. Machines are noisy, so every row is
//! measured in several rounds, and the best is what is held against the budget: noise only ever
//! makes a round worse.

mod clock;
mod report;
mod rows;

use report::Report;

/// Where results go.
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results");

fn main() -> std::process::ExitCode {
    let mut report = Report::new("core");
    rows::rate::measure(&mut report);
    rows::cost::measure(&mut report);
    rows::registry::measure(&mut report);
    report.finish()
}

//! What one ID costs below the limit, as a multiple of reading the wall clock.

use std::hint::black_box;
use std::time::Instant;

use leaseflake::{Id, IdGenerator, Options};

use crate::clock::wall_ms;
use crate::report::{Budget, Report};

const CALLS: u32 = 400_000;
const ROUNDS: usize = 15;

/// Twenty sequence bits put the limit out of the way: 10^9 IDs a second.
fn unlimited() -> IdGenerator {
    IdGenerator::open(Options::new().store("memory:cost").layout("41-1-1-20")).expect("opens")
}

/// Nanoseconds of one call, over many.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

pub(crate) fn measure(report: &mut Report) {
    let ids = unlimited();
    let (mut ratios, mut clocks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Side by side, so that a slow moment of the machine hits both.
        let clock = nanoseconds(|| {
            black_box(wall_ms());
        });
        let next = nanoseconds(|| {
            let _ = black_box(ids.next_id());
        });
        clocks.push(clock);
        ratios.push(next / clock);
    }
    report.row("next_id below the limit / reading the wall clock", "ratio", Budget::AtMost(1.3), ratios);
    report.row("reading the wall clock", "ns", Budget::Shown, clocks);

    let mut buffer = vec![Id::from_i64(1).expect("1 is an ID"); 1_000_000];
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        ids.fill(&mut buffer).expect("fills");
        buffer.len() as f64 / began.elapsed().as_secs_f64() / 1e6
    });
    report.row("fill of 1,000,000 IDs, 20 sequence bits", "million IDs/s", Budget::AtLeast(100.0), rounds.collect());
}

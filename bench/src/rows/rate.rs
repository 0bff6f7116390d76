//! The sustained rate of one worker ID, and the CPU that it burns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use leaseflake::{IdGenerator, Options};

use crate::clock::cpu_seconds;
use crate::report::{Budget, Report};

const WINDOW: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;

pub(crate) fn measure(report: &mut Report) {
    for (threads, least, most_cpu) in [(1, 0.995, 0.25), (8, 0.99, 0.50)] {
        let ids = IdGenerator::open(Options::new().store("memory:rate").slot(threads as u32)).expect("opens");
        let limit = ids.layout().ids_per_second() as f64;
        let (mut rates, mut cores, mut refused) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            let (issued, not, seconds, cpu) = window(&ids, threads);
            rates.push(issued as f64 / seconds / limit);
            cores.push(cpu / seconds);
            refused += not;
        }
        report.row(format!("rate, {threads} thread(s), of the layout's limit"), "ratio", Budget::AtLeast(least), rates);
        report.row(format!("CPU at the limit, {threads} thread(s)"), "cores", Budget::AtMost(most_cpu), cores);
        report.row(
            format!("calls refused at the limit, {threads} thread(s)"),
            "calls",
            Budget::AtMost(0.0),
            vec![refused as f64],
        );
    }
}

/// IDs issued, calls refused, seconds and CPU seconds of one window.
fn window(ids: &IdGenerator, threads: usize) -> (u64, u64, f64, f64) {
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let counts: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let (mut issued, mut refused) = (0, 0);
                    while began.elapsed() < WINDOW {
                        for _ in 0..256 {
                            match ids.next_id() {
                                Ok(id) => {
                                    black_box(id);
                                    issued += 1;
                                }
                                Err(_) => refused += 1,
                            }
                        }
                    }
                    (issued, refused)
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().expect("a taker lives")).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    let sum = counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (sum.0, sum.1, seconds, cpu_seconds() - cpu)
}

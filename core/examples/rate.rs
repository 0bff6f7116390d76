//! How fast this machine makes IDs.
use leaseflake::*;
use std::time::Instant;
fn main() {
    let layout = std::env::args().nth(1).unwrap_or("41-5-5-12".into());
    let threads: usize = std::env::args().nth(2).map_or(1, |t| t.parse().unwrap());
    let ids = IdGenerator::open(Options::new().store("memory:").layout(layout)).unwrap();
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                for _ in 0..5 {
                    let t = Instant::now();
                    let mut n = 0u64;
                    while t.elapsed().as_millis() < 500 {
                        for _ in 0..1000 {
                            std::hint::black_box(ids.next_id().unwrap());
                            n += 1;
                        }
                    }
                    println!(
                        "{:.0}/s {:.1} ns",
                        n as f64 / t.elapsed().as_secs_f64(),
                        t.elapsed().as_nanos() as f64 / n as f64
                    );
                }
            });
        }
    });
    let t = Instant::now();
    for _ in 0..1_000_000 {
        std::hint::black_box(clock::SystemClock::wall_ms());
    }
    println!("clock {:.1} ns", t.elapsed().as_nanos() as f64 / 1e6);
    println!("{:?}", ids.status().fields());
}

//! `run` and `fork`: issuing at a pace, whatever the generator answers.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use leaseflake::Error;

use super::stream::Output;
use super::{BLOCK, Issue};

/// How long one step of the pace is.
const STEP: Duration = Duration::from_millis(5);
/// Time that was slept through is made up for to this.
const MADE_UP: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_millis(100);
/// Single calls before the next write.
const SINGLES: usize = 64;
const BATCH: usize = 1000;

/// IDs a second over all threads (0: as fast as it goes), and how many threads.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) rate: u64,
    pub(super) threads: usize,
}

/// The threads of `run`.
pub(super) struct Background {
    shared: Arc<Progress>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Progress {
    stop: AtomicBool,
    issued: AtomicU64,
    errors: Mutex<BTreeMap<&'static str, u64>>,
}

impl Progress {
    fn count(&self, error: &Error) {
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(error.name()).or_insert(0) += 1;
    }
}

impl Background {
    pub(super) fn start<G: Issue + 'static>(generator: &Arc<G>, output: &Path, pace: Pace) -> io::Result<Background> {
        let shared = Arc::new(Progress::default());
        let mut threads = Vec::new();
        for thread in 1..=pace.threads {
            let (generator, shared) = (Arc::clone(generator), Arc::clone(&shared));
            let mut stream = Output::create(output, "", thread)?;
            let rate = pace.rate.div_ceil(pace.threads as u64);
            threads.push(thread::spawn(move || {
                let mut paced = Paced::new(rate);
                while !shared.stop.load(Ordering::Relaxed) {
                    match paced.step(&*generator, &mut stream) {
                        Ok(issued) => {
                            shared.issued.fetch_add(issued, Ordering::Relaxed);
                        }
                        Err(error) => {
                            shared.count(&error);
                            if !error.retryable() {
                                return;
                            }
                            thread::sleep(pause(&error));
                        }
                    }
                }
            }));
        }
        Ok(Background { shared, threads })
    }

    /// Ends the threads; how many IDs they issued.
    pub(super) fn stop(self) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            if thread.join().is_err() {
                // A panic in a generator is a bug that must not pass unseen.
                std::process::abort();
            }
        }
        self.shared.issued.load(Ordering::Relaxed)
    }

    pub(super) fn progress(&self) -> String {
        let mut line = format!("issued={}", self.shared.issued.load(Ordering::Relaxed));
        for (name, count) in &*self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner) {
            line.push_str(&format!(" {name}={count}"));
        }
        line
    }
}

/// What a forked child does with its life. Never returns.
pub(super) fn live_as_child(generator: &impl Issue, output: &Path, number: u32, rate: u64, ends: Instant) -> ! {
    // SAFETY: the child's own copies of the pipes; the parent's commands and answers are not its.
    unsafe {
        libc::close(0);
        libc::close(1);
    }
    let code = match Output::create(output, &format!("-f{number}"), 1) {
        Ok(mut stream) => issue_until(ends, generator, &mut stream, rate),
        Err(_) => 4,
    };
    // SAFETY: ends the child without running what is the parent's to run.
    unsafe { libc::_exit(code) }
}

fn issue_until(ends: Instant, generator: &impl Issue, stream: &mut Output, rate: u64) -> i32 {
    let mut paced = Paced::new(rate);
    while Instant::now() < ends {
        match paced.step(generator, stream) {
            Ok(_) => {}
            Err(error) if error.retryable() => thread::sleep(pause(&error)),
            Err(_) => return 5,
        }
    }
    0
}

fn pause(error: &Error) -> Duration {
    error.retry_after().unwrap_or(STEP).min(LONGEST_RETRY)
}

/// Issues in steps, by a monotonic clock.
struct Paced {
    rate: u64,
    credit: f64,
    looked: Instant,
    turn: u8,
}

impl Paced {
    fn new(rate: u64) -> Paced {
        Paced { rate, credit: 0.0, looked: Instant::now(), turn: 0 }
    }

    /// Issues what is due, single calls, a batch or a fill in turn, and writes it; sleeps where
    /// nothing is due. How many.
    fn step(&mut self, generator: &impl Issue, stream: &mut Output) -> Result<u64, Error> {
        let due = self.due();
        if due == 0 {
            thread::sleep(STEP);
            return Ok(0);
        }
        self.turn = (self.turn + 1) % 3;
        let mut ids = Vec::new();
        let result = match self.turn {
            0 => (0..due.min(SINGLES)).try_for_each(|_| generator.next().map(|id| ids.push(id))),
            1 => generator.batch(due.min(BATCH)).map(|batch| ids = batch),
            _ => {
                ids.resize(due, 0);
                generator.fill(&mut ids).map_err(|(written, error)| {
                    ids.truncate(written);
                    error
                })
            }
        };
        if stream.append(&ids).is_err() {
            // IDs that nobody can check: a full disk must not look like a pass.
            std::process::abort();
        }
        self.credit -= ids.len() as f64;
        result.map(|()| ids.len() as u64)
    }

    fn due(&mut self) -> usize {
        if self.rate == 0 {
            return BLOCK;
        }
        let now = Instant::now();
        let most = (self.rate as f64 * MADE_UP.as_secs_f64()).max(1.0);
        self.credit = (self.credit + self.rate as f64 * (now - self.looked).as_secs_f64()).min(most);
        self.looked = now;
        (self.credit as usize).min(BLOCK)
    }
}

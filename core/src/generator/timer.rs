//! Sleeping without a thread or a runtime of the caller's: one helper thread, made when needed.

use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::fork;

/// A sleep of about this long.
pub(crate) fn sleep(span: Duration) -> Sleep {
    Sleep { until: Instant::now() + span, asked: None }
}

/// See [`sleep`].
pub(crate) struct Sleep {
    until: Instant,
    asked: Option<Arc<Mutex<Waker>>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.until {
            return Poll::Ready(());
        }
        match &self.asked {
            Some(waker) => waker.lock().unwrap_or_else(PoisonError::into_inner).clone_from(context.waker()),
            None => {
                let waker = Arc::new(Mutex::new(context.waker().clone()));
                self.asked = Some(Arc::clone(&waker));
                if !Timer::of_this_process().ask(self.until, waker) {
                    // No thread to be had: the executor asks again and again.
                    context.waker().wake_by_ref();
                    self.asked = None;
                }
            }
        }
        Poll::Pending
    }
}

/// The sleepers of one process; a forked child starts with none and a thread of its own.
struct Timer {
    generation: u64,
    sleepers: Mutex<Sleepers>,
    earlier: Condvar,
}

#[derive(Default)]
struct Sleepers {
    heap: BinaryHeap<Sleeper>,
    running: bool,
}

struct Sleeper {
    until: Instant,
    waker: Arc<Mutex<Waker>>,
}

static TIMER: AtomicPtr<Timer> = AtomicPtr::new(std::ptr::null_mut());

/// How long the thread stays without anybody to wake.
const IDLE: Duration = Duration::from_secs(10);

impl Timer {
    fn of_this_process() -> &'static Timer {
        let generation = fork::generation();
        loop {
            let current = TIMER.load(Ordering::Acquire);
            // SAFETY: null or a box that is never freed.
            if let Some(timer) = unsafe { current.as_ref() }.filter(|timer| timer.generation == generation) {
                return timer;
            }
            let fresh = Box::into_raw(Box::new(Timer {
                generation,
                sleepers: Mutex::new(Sleepers::default()),
                earlier: Condvar::new(),
            }));
            if TIMER.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody has seen ours.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&'static self, until: Instant, waker: Arc<Mutex<Waker>>) -> bool {
        let mut sleepers = self.lock();
        if !sleepers.running {
            if crate::thread::spawn("leaseflake-time", move || self.run()).is_err() {
                return false;
            }
            sleepers.running = true;
        }
        sleepers.heap.push(Sleeper { until, waker });
        self.earlier.notify_one();
        true
    }

    fn run(&self) {
        let mut sleepers = self.lock();
        loop {
            let now = Instant::now();
            let mut due = Vec::new();
            while sleepers.heap.peek().is_some_and(|first| first.until <= now) {
                due.extend(sleepers.heap.pop());
            }
            if !due.is_empty() {
                drop(sleepers);
                for sleeper in due {
                    // Not under its lock: what it wakes may ask for another sleep at once.
                    let waker = sleeper.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    waker.wake();
                }
                sleepers = self.lock();
                continue;
            }
            let first = sleepers.heap.peek().map(|first| first.until - now);
            let (guard, timeout) =
                self.earlier.wait_timeout(sleepers, first.unwrap_or(IDLE)).unwrap_or_else(PoisonError::into_inner);
            sleepers = guard;
            if timeout.timed_out() && sleepers.heap.is_empty() {
                sleepers.running = false;
                return;
            }
        }
    }
}

/// The earliest is the greatest: a heap gives the greatest first.
impl Ord for Sleeper {
    fn cmp(&self, other: &Sleeper) -> std::cmp::Ordering {
        other.until.cmp(&self.until)
    }
}

impl PartialOrd for Sleeper {
    fn partial_cmp(&self, other: &Sleeper) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sleeper {
    fn eq(&self, other: &Sleeper) -> bool {
        self.until == other.until
    }
}

impl Eq for Sleeper {}

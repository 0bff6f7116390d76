//! Waiting without the GIL, in slices that let Ctrl-C through.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use leaseflake::{IdGenerator, Reserved};
use pyo3::prelude::*;

use crate::errors;

/// How long a wait may hold up a signal.
pub(crate) const SLICE: Duration = Duration::from_millis(4);

/// Waits until reserved IDs may be used. A signal handler that raises burns them.
#[cold]
pub(crate) fn for_ids(py: Python<'_>, ids: &IdGenerator, reserved: &Reserved) -> PyResult<()> {
    loop {
        match ids.time_left(reserved).map_err(|error| errors::to_python(&error))? {
            Some(left) if left > SLICE => {
                py.detach(|| std::thread::sleep(SLICE));
                py.check_signals()?;
            }
            _ => return py.detach(|| ids.wait_or_code(reserved)).map_err(|code| errors::of_code(ids, code)),
        }
    }
}

/// A future of the core's, polled only when it was woken. Whoever wakes it touches no Python.
pub(crate) struct Woken<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    flag: Arc<Flag>,
}

/// That a future was woken, and the thread that sleeps on it, if one does.
struct Flag {
    woken: AtomicBool,
    sleeper: Option<Thread>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        if let Some(sleeper) = &self.sleeper {
            sleeper.unpark();
        }
    }
}

impl<T: Send + 'static> Woken<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Woken<T> {
        Woken::with_sleeper(future, None)
    }

    fn with_sleeper(future: impl Future<Output = T> + Send + 'static, sleeper: Option<Thread>) -> Woken<T> {
        Woken { future: Box::pin(future), flag: Arc::new(Flag { woken: AtomicBool::new(true), sleeper }) }
    }

    /// What the future gives, once it does. Never blocks.
    pub(crate) fn poll(&mut self) -> Option<T> {
        if !self.flag.woken.swap(false, Ordering::AcqRel) {
            return None;
        }
        let waker = Waker::from(Arc::clone(&self.flag));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

/// Blocks on a future of the core's, without the GIL; a signal handler that raises gives it up.
pub(crate) fn block_on<T: Send + 'static>(
    py: Python<'_>,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let mut woken = Woken::with_sleeper(future, Some(std::thread::current()));
    loop {
        let done = py.detach(|| {
            let until = Instant::now() + SLICE;
            loop {
                if let Some(value) = woken.poll() {
                    return Some(value);
                }
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                std::thread::park_timeout(left);
            }
        });
        if let Some(value) = done {
            return Ok(value);
        }
        // Dropped, a generator that is being opened closes by itself and holds nobody up.
        py.check_signals()?;
    }
}

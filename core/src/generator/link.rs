//! Between a generator's handles and its keeper: status one way, closing the other.

use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::Now;
use crate::error::{Error, ErrorCode};
use crate::lease::state::{KeeperStatus, LeaseState, StateChange};
use crate::sync::{Condvar, Mutex, MutexGuard, lock};

/// What handles and keeper tell each other. Belongs to one process: a forked child makes its own.
pub(crate) struct Link {
    inner: Mutex<Inner>,
    changed: Condvar,
    /// What people call the registry.
    store: String,
}

struct Inner {
    status: KeeperStatus,
    /// Boot time at which the release may be given up, in ms.
    closing: Option<u64>,
    finished: bool,
    started: bool,
    wakers: Vec<Waker>,
}

/// What an `open` waits for.
pub(crate) enum Opening {
    /// Nothing yet.
    Pending,
    /// A lease is held, or the attempt is over.
    Ready(Result<(), Error>),
}

impl Link {
    pub(crate) fn new(now: Now, store: String) -> Link {
        Link {
            store,
            inner: Mutex::new(Inner {
                status: KeeperStatus::new(now.wall_ms),
                closing: None,
                finished: false,
                started: false,
                wakers: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn status(&self) -> KeeperStatus {
        lock(&self.inner).status.clone()
    }

    /// The keeper's thread runs.
    pub(crate) fn start(&self) {
        lock(&self.inner).started = true;
    }

    /// Takes over what the keeper says, and wakes whoever waits for a change.
    pub(crate) fn publish(&self, status: &KeeperStatus) {
        let mut inner = lock(&self.inner);
        if inner.status != *status {
            inner.status = status.clone();
            self.wake_all(inner);
        }
    }

    /// Notes an error that ends the keeper.
    pub(crate) fn fail(&self, error: Error, now: Now) {
        let mut inner = lock(&self.inner);
        inner.status.fail(error, now.wall_ms);
        inner.status.enter(LeaseState::Closed, now.wall_ms, "the keeper has ended");
        inner.finished = true;
        self.wake_all(inner);
    }

    /// The keeper has ended.
    pub(crate) fn finish(&self) {
        let mut inner = lock(&self.inner);
        inner.finished = true;
        self.wake_all(inner);
    }

    pub(crate) fn is_finished(&self) -> bool {
        let inner = lock(&self.inner);
        inner.finished || !inner.started
    }

    /// Asks the keeper to release and end, at the latest at this boot time.
    pub(crate) fn close(&self, give_up_at_ms: u64) {
        let mut inner = lock(&self.inner);
        inner.closing = Some(inner.closing.map_or(give_up_at_ms, |at| at.min(give_up_at_ms)));
    }

    pub(crate) fn closing(&self) -> Option<u64> {
        lock(&self.inner).closing
    }

    /// Whether an `open` is done: a lease, an error that no retry mends, or the time is over.
    pub(crate) fn opening(&self, now: Now, deadline_ms: u64) -> Opening {
        self.look_at_opening(&lock(&self.inner), now, deadline_ms)
    }

    /// Waits for a change while an `open` is not done, until its time is over.
    pub(crate) fn wait_for_opening(&self, now: Now, deadline_ms: u64) {
        let inner = lock(&self.inner);
        if matches!(self.look_at_opening(&inner, now, deadline_ms), Opening::Pending) {
            self.wait_changed(inner, Duration::from_millis(deadline_ms.saturating_sub(now.boot_ms)));
        }
    }

    /// The same, and to be woken when that may have changed.
    pub(crate) fn poll_opening(&self, now: Now, deadline_ms: u64, waker: &Waker) -> Opening {
        let mut inner = lock(&self.inner);
        let opening = self.look_at_opening(&inner, now, deadline_ms);
        if matches!(opening, Opening::Pending) {
            wake_later(&mut inner, waker);
        }
        opening
    }

    /// `true` once the keeper has ended; else to be woken when it has.
    pub(crate) fn poll_finished(&self, waker: &Waker) -> bool {
        let mut inner = lock(&self.inner);
        if inner.finished || !inner.started {
            return true;
        }
        wake_later(&mut inner, waker);
        false
    }

    /// The changes of state after the one numbered `seen`, none once the keeper has ended; else to
    /// be woken when that may have changed.
    pub(crate) fn poll_changes(&self, seen: u64, waker: &Waker) -> Poll<Vec<StateChange>> {
        let mut inner = lock(&self.inner);
        let newer: Vec<_> = inner.status.changes.iter().filter(|change| change.number > seen).cloned().collect();
        if !newer.is_empty() || inner.finished {
            return Poll::Ready(newer);
        }
        wake_later(&mut inner, waker);
        Poll::Pending
    }

    /// Has all who wait for a change look again.
    pub(crate) fn wake_listeners(&self) {
        // Taken so that nobody is between looking and sleeping.
        let _inner = lock(&self.inner);
        self.changed.notify_all();
    }

    /// Waits for a change, at most this long.
    pub(crate) fn wait(&self, span: Duration, enough: impl Fn(&KeeperStatus, bool) -> bool) {
        let inner = lock(&self.inner);
        if !enough(&inner.status, inner.finished) {
            self.wait_changed(inner, span);
        }
    }

    /// Wakes all who wait, once the lock is free: a waker is the host's, and may come back here.
    fn wake_all(&self, mut inner: MutexGuard<'_, Inner>) {
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        self.changed.notify_all();
        for waker in wakers {
            waker.wake();
        }
    }

    fn wait_changed(&self, inner: MutexGuard<'_, Inner>, span: Duration) {
        #[cfg(not(leaseflake_loom))]
        drop(self.changed.wait_timeout(inner, span));
        #[cfg(leaseflake_loom)]
        {
            let _ = span;
            drop(self.changed.wait(inner));
        }
    }

    fn look_at_opening(&self, inner: &Inner, now: Now, deadline_ms: u64) -> Opening {
        let failed = inner.status.last_error.as_ref().map(|(error, _)| error);
        if matches!(inner.status.state, LeaseState::Active | LeaseState::Suspended) {
            return Opening::Ready(Ok(()));
        }
        if let Some(error) = failed.filter(|error| !error.retryable()) {
            return Opening::Ready(Err(error.clone()));
        }
        if inner.finished || inner.closing.is_some() {
            return Opening::Ready(Err(Error::new(ErrorCode::Closed, "the generator was closed while it opened")));
        }
        if now.boot_ms >= deadline_ms {
            return Opening::Ready(Err(failed.cloned().unwrap_or_else(|| {
                Error::new(
                    ErrorCode::StoreUnavailable,
                    format!("{} did not answer within acquire_timeout_ms: check that it can be reached", self.store),
                )
            })));
        }
        Opening::Pending
    }
}

/// Has a waker woken at the next change, once.
fn wake_later(inner: &mut Inner, waker: &Waker) {
    if !inner.wakers.iter().any(|known| known.will_wake(waker)) {
        inner.wakers.push(waker.clone());
    }
}

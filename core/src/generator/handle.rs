//! The handle that users hold: open, issue, close.

mod hosted;
mod reserved;

use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::link::Opening;
use super::process::table;
use super::shared::{Host, Shared};
use super::slot::{Refusal, Reservation, Want};
use super::table::Key;
use super::{exit, explain, keep, leave, timer};
use crate::clock::{ClockSource, Now};
use crate::error::{Error, ErrorCode};
use crate::id::Id;
use crate::layout::{IdParts, Layout};
use crate::lease::state::LeaseState;
use crate::options::Options;
use crate::status::Status;
use crate::sync::{Arc, AtomicBool, Ordering};

pub use reserved::Reserved;

/// How often a forked child that opens looks at what its parent's keeper has come to.
const LOOK_AT_PARENT_EVERY: Duration = Duration::from_millis(10);

/// Makes 64-bit, time-sorted IDs that never repeat among all who use the same registry.
///
/// A handle on the one generator that this process has for a registry, datacenter, layout and
/// slot: opening it again is cheap and takes no second worker ID. All calls take `&self` and may
/// come from any thread; the hot path takes no lock, allocates nothing and makes no system call
/// but reading the clock. Dropping the last handle closes the generator and releases its lease.
///
/// ```
/// use leaseflake::{IdGenerator, Options};
///
/// let ids = IdGenerator::open(Options::new().store("memory:"))?;
/// let first = ids.next_id()?;
/// let second = ids.next_id()?;
/// assert!(second > first);
/// println!("{first} was made at {} ms", ids.decode(first).timestamp_ms);
/// ids.close();
/// # Ok::<(), leaseflake::Error>(())
/// ```
///
/// After `fork()` a child goes on with the same handle, under the same worker ID, and cannot
/// repeat its parent's IDs; once the parent is gone it acquires a worker ID of its own.
pub struct IdGenerator {
    shared: Arc<Shared>,
    key: Key,
    closed: AtomicBool,
    /// Nobody listens for state changes any more.
    deaf: AtomicBool,
    max_wait_ms: u64,
    close_timeout_ms: u64,
}

impl IdGenerator {
    /// Opens the generator that these options name, and waits until it has a worker ID, for at
    /// most `acquire_timeout_ms`. Options left out come from the environment.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for options; `NO_WORKER_ID`, `STORE_UNAVAILABLE`, `CLOCK_UNTRUSTED` after
    /// the timeout; `STORE_REJECTED`, `LAYOUT_MISMATCH`, `TIMESTAMP_OUT_OF_RANGE` at once.
    pub fn open(options: Options) -> Result<IdGenerator, Error> {
        let (handle, deadline_ms) = IdGenerator::begin(options)?;
        loop {
            let now = handle.shared.clock.now();
            match handle.opening(now, deadline_ms, None) {
                Opening::Ready(result) => return result.map(|()| handle),
                Opening::Pending if handle.shared.owns_keeper() => {
                    handle.shared.link().wait_for_opening(now, deadline_ms);
                }
                Opening::Pending => std::thread::sleep(handle.look_again_in(now, deadline_ms)),
            }
        }
    }

    /// As [`open`](IdGenerator::open), without blocking: needs no particular runtime.
    ///
    /// # Errors
    ///
    /// As `open`.
    pub async fn open_async(options: Options) -> Result<IdGenerator, Error> {
        let (handle, deadline_ms) = IdGenerator::begin(options)?;
        let handle = hosted::Unfinished::new(handle);
        let mut look_again = pin!(timer::sleep(Duration::ZERO));
        let opened = poll_fn(|context| {
            loop {
                let now = handle.shared.clock.now();
                if let Opening::Ready(result) = handle.opening(now, deadline_ms, Some(context.waker())) {
                    return Poll::Ready(result);
                }
                // The keeper wakes whoever waits; not at the end of their time, while it waits for the registry itself.
                if look_again.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                look_again.set(timer::sleep(handle.look_again_in(now, deadline_ms)));
            }
        })
        .await;
        opened.map(|()| handle.finish())
    }

    /// Whether an `open` is done; with a waker, to be woken when that may have changed.
    fn opening(&self, now: Now, deadline_ms: u64, waker: Option<&Waker>) -> Opening {
        let shared = &self.shared;
        if !shared.owns_keeper() {
            leave::leave_if_orphaned(shared);
        }
        if shared.owns_keeper() {
            return match waker {
                Some(waker) => shared.link().poll_opening(now, deadline_ms, waker),
                None => shared.link().opening(now, deadline_ms),
            };
        }
        // The keeper is that of a process that forked us, and so is the link, with its lock.
        match shared.page().header().state() {
            LeaseState::Active | LeaseState::Suspended => Opening::Ready(Ok(())),
            _ if now.boot_ms >= deadline_ms => Opening::Ready(Err(Error::new(
                ErrorCode::NoWorkerId,
                format!(
                    "the process that this one was forked from has acquired no worker ID in {} within acquire_timeout_ms",
                    shared.config.store.name()
                ),
            ))),
            _ => Opening::Pending,
        }
    }

    /// How long an `open` that is not done may sleep, where a change wakes it or nothing does.
    fn look_again_in(&self, now: Now, deadline_ms: u64) -> Duration {
        let left = Duration::from_millis(deadline_ms.saturating_sub(now.boot_ms).max(1));
        if self.shared.owns_keeper() { left } else { left.min(LOOK_AT_PARENT_EVERY) }
    }

    /// A handle whose generator has begun to acquire, and the boot time to give up at.
    fn begin(options: Options) -> Result<(IdGenerator, u64), Error> {
        let config = options.with_environment()?.resolve()?;
        crate::log::init();
        exit::install();
        let key = Key::of(&config);
        let (max_wait_ms, close_timeout_ms) = (config.max_wait_ms, config.close_timeout_ms);
        let acquire_timeout_ms = config.acquire_timeout_ms;
        let (shared, made) = table().open(
            &key,
            |open| config.agree_with(&open.config),
            |newest| Shared::new(config.clone(), ClockSource::System, newest, Host::Process),
        )?;
        shared.page().header().allow_wait(max_wait_ms);
        let handle = IdGenerator {
            shared,
            key,
            closed: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            max_wait_ms,
            close_timeout_ms,
        };
        if made {
            keep::start(&handle.shared).inspect_err(|_| handle.shared.page().header().close())?;
        }
        let deadline_ms = handle.shared.clock.now().boot_ms.saturating_add(acquire_timeout_ms);
        Ok((handle, deadline_ms))
    }

    /// The next ID: greater than all that this generator has given before. Waits for the clock
    /// where the millisecond's IDs are used up, for at most `max_wait_ms`.
    ///
    /// # Errors
    ///
    /// `LEASE_SUSPENDED`, `LEASE_LOST`, `CLOCK_BACKWARDS`, `CLOCK_UNTRUSTED`,
    /// `SEQUENCE_EXHAUSTED`: try again; `TIMESTAMP_OUT_OF_RANGE`, `CLOSED`: final.
    #[inline]
    pub fn next_id(&self) -> Result<Id, Error> {
        self.next(self.max_wait_ms).map_err(|refusal| self.explain(refusal))
    }

    /// The next ID if there is one without waiting.
    ///
    /// # Errors
    ///
    /// As [`next_id`](IdGenerator::next_id); `SEQUENCE_EXHAUSTED` where that would have waited.
    #[inline]
    pub fn try_next_id(&self) -> Result<Id, Error> {
        self.next(0).map_err(|refusal| self.explain(refusal))
    }

    /// The next ID, as a code where there is none: no allocation on any path. For bindings.
    ///
    /// # Errors
    ///
    /// The number of the [`ErrorCode`](crate::ErrorCode).
    #[doc(hidden)]
    #[inline]
    pub fn next_id_or_code(&self) -> Result<Id, crate::ErrorCode> {
        self.next(self.max_wait_ms).map_err(Refusal::code)
    }

    /// As `next_id_or_code`, without waiting.
    ///
    /// # Errors
    ///
    /// The [`ErrorCode`](crate::ErrorCode).
    #[doc(hidden)]
    #[inline]
    pub fn try_next_id_or_code(&self) -> Result<Id, crate::ErrorCode> {
        self.next(0).map_err(Refusal::code)
    }

    /// What a code of this generator means just now, in words. For bindings.
    #[doc(hidden)]
    pub fn error_for(&self, code: crate::ErrorCode) -> Error {
        explain::code(&self.shared, code, self.max_wait_ms)
    }

    #[inline(always)]
    fn next(&self, max_wait_ms: u64) -> Result<Id, Refusal> {
        if !self.closed.load(Ordering::Relaxed)
            && let Some(bits) = self.shared.take_now()
        {
            return Ok(Id::from_issued(bits));
        }
        self.next_or_wait(max_wait_ms)
    }

    #[cold]
    fn next_or_wait(&self, max_wait_ms: u64) -> Result<Id, Refusal> {
        let reservation = self.reserve(Want::Exactly(1), max_wait_ms)?;
        self.shared.wait_for(&reservation, max_wait_ms)?;
        Ok(Id::from_issued(reservation.first_bits(&self.shared.limits)))
    }

    fn reserve(&self, want: Want, max_wait_ms: u64) -> Result<Reservation, Refusal> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Refusal::Closed);
        }
        // A close that runs just now retires the slot first: that is no lost lease.
        self.shared
            .reserve(want, max_wait_ms)
            .map_err(|refusal| if self.closed.load(Ordering::Acquire) { Refusal::Closed } else { refusal })
    }

    /// The next ID, waiting for the clock without blocking the thread. Needs no particular
    /// runtime. Dropped while it waits, the ID is burned.
    ///
    /// # Errors
    ///
    /// As [`next_id`](IdGenerator::next_id).
    pub async fn next_id_async(&self) -> Result<Id, Error> {
        let reserved = self.reserve_ids(1)?;
        self.wait_async(&reserved).await?;
        Ok(self.first_of(&reserved))
    }

    /// Exactly `count` IDs of one millisecond, one after the other: all or nothing.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for a count outside 1..=1000 (or the layout's IDs of a millisecond,
    /// where those are fewer), else as [`next_id`](IdGenerator::next_id).
    pub fn next_batch(&self, count: usize) -> Result<Vec<Id>, Error> {
        let mut ids = vec![Id::from_issued(1); self.check_batch(count)?];
        self.batch_into(&mut ids)?;
        Ok(ids)
    }

    /// A batch as [`next_batch`](IdGenerator::next_batch), into a slice: its length is the count.
    ///
    /// # Errors
    ///
    /// As `next_batch`; then nothing is written.
    pub fn batch_into(&self, ids: &mut [Id]) -> Result<(), Error> {
        let first = self.batch_first(ids.len())?;
        write(ids, first.as_i64() as u64);
        Ok(())
    }

    /// A batch as [`next_batch`](IdGenerator::next_batch), as its first ID: the others are the
    /// numbers after it. For bindings, whose buffers hold no valid `Id`s yet.
    ///
    /// # Errors
    ///
    /// As `next_batch`.
    #[doc(hidden)]
    pub fn batch_first(&self, count: usize) -> Result<Id, Error> {
        self.check_batch(count)?;
        let wait = self.max_wait_ms;
        let reservation = self.reserve(Want::Exactly(count as u64), wait).map_err(|refusal| self.explain(refusal))?;
        self.shared.wait_for(&reservation, wait).map_err(|refusal| self.explain(refusal))?;
        Ok(Id::from_issued(reservation.first_bits(&self.shared.limits)))
    }

    fn check_batch(&self, count: usize) -> Result<usize, Error> {
        let most = self.layout().max_batch();
        if (1..=most).contains(&count) {
            return Ok(count);
        }
        Err(Error::invalid("batch size", count, format_args!("1..={most}")))
    }

    /// Fills a slice of any length, over as many milliseconds as it takes. Not atomic: on an error
    /// the first `written` IDs are valid, and the error says how many.
    ///
    /// # Errors
    ///
    /// As [`next_id`](IdGenerator::next_id), with how many were written before.
    pub fn fill(&self, ids: &mut [Id]) -> Result<(), (usize, Error)> {
        self.fill_runs(ids.len(), |run, first| write(&mut ids[run], first.as_i64() as u64))
            .map_err(|(written, refusal)| (written, self.explain(refusal)))
    }

    /// Tells which places get which run of IDs: the first one and the numbers after it.
    fn fill_runs(&self, len: usize, mut write_run: impl FnMut(Range<usize>, Id)) -> Result<(), (usize, Refusal)> {
        let mut written = 0;
        while written < len {
            let taken = self
                .reserve(Want::UpTo((len - written) as u64), self.max_wait_ms)
                .and_then(|taken| self.shared.wait_for(&taken, self.max_wait_ms).map(|()| taken))
                .map_err(|refusal| (written, refusal))?;
            let end = written + taken.count as usize;
            write_run(written..end, Id::from_issued(taken.first_bits(&self.shared.limits)));
            written = end;
        }
        Ok(())
    }

    /// The fields of an ID, by the layout of this generator.
    pub fn decode(&self, id: Id) -> IdParts {
        self.layout().decode(id)
    }

    /// The layout of this generator.
    pub fn layout(&self) -> &Layout {
        &self.shared.config.layout
    }

    /// What state the generator is in, whose worker ID, until when, and its counters.
    pub fn status(&self) -> Status {
        Status::of(&self.shared, self.closed.load(Ordering::Relaxed))
    }

    /// Waits until the generator has changed its state more often than `seen` (the number of the
    /// last change that the caller knows), at most this long; gives the changes since. For
    /// listeners on threads of their own; [`stop_listening`](IdGenerator::stop_listening) ends it.
    pub fn state_changes(&self, seen: u64, wait: Duration) -> Vec<crate::StateChange> {
        let newer = |status: &crate::lease::state::KeeperStatus| {
            status.changes.iter().filter(|change| change.number > seen).cloned().collect::<Vec<_>>()
        };
        if !self.shared.owns_keeper() {
            std::thread::sleep(wait.min(Duration::from_millis(100)));
            return Vec::new();
        }
        let link = self.shared.link();
        link.wait(wait, |status, finished| finished || self.deaf.load(Ordering::Acquire) || !newer(status).is_empty());
        newer(&link.status())
    }

    /// Wakes whoever waits in [`state_changes`](IdGenerator::state_changes) on this handle, and
    /// has later calls return at once.
    pub fn stop_listening(&self) {
        self.deaf.store(true, Ordering::Release);
        if self.shared.owns_keeper() {
            self.shared.link().wake_listeners();
        }
    }

    /// Whether [`stop_listening`](IdGenerator::stop_listening) was called.
    pub fn is_listening_over(&self) -> bool {
        self.deaf.load(Ordering::Acquire)
    }

    /// Closes this handle; with the last one, ends issuing at once and releases the lease, for at
    /// most `close_timeout_ms` (after that the lease expires by itself). Any thread may call it, as
    /// often as it likes; calls on this handle from here on give `CLOSED`.
    pub fn close(&self) {
        self.close_within(Duration::from_millis(self.close_timeout_ms));
    }

    /// As [`close`](IdGenerator::close), with another time for the release.
    pub fn close_within(&self, timeout: Duration) {
        if self.begin_close(timeout) {
            exit::wait_for_end(&self.shared, timeout);
        }
    }

    /// As [`close`](IdGenerator::close), without blocking.
    pub async fn close_async(&self) {
        let timeout = Duration::from_millis(self.close_timeout_ms);
        if !self.begin_close(timeout) {
            return;
        }
        let mut give_up = pin!(timer::sleep(timeout));
        poll_fn(|context| {
            if self.shared.link().poll_finished(context.waker()) {
                return Poll::Ready(());
            }
            give_up.as_mut().poll(context)
        })
        .await;
    }

    /// `true` when this was the last handle and the keeper has been told to end.
    fn begin_close(&self, timeout: Duration) -> bool {
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        table().close(&self.key, &self.shared) && exit::tell_to_end(&self.shared, timeout)
    }

    /// Whether this handle is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    #[cold]
    fn explain(&self, refusal: Refusal) -> Error {
        explain::code(&self.shared, refusal.code(), self.max_wait_ms)
    }
}

fn write(ids: &mut [Id], first: u64) {
    for (place, id) in (first..).zip(ids.iter_mut()) {
        *id = Id::from_issued(place);
    }
}

impl Drop for IdGenerator {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for IdGenerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdGenerator")
            .field("store", &self.shared.config.store.name())
            .field("layout", &self.layout().to_string())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

const _: fn() = || {
    fn thread_safe<T: Send + Sync>() {}
    thread_safe::<IdGenerator>();
};

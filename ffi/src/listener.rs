//! State callbacks: a thread of the handle's own that waits for changes and calls into C.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use leaseflake::{Error, ErrorCode, LeaseState};

use crate::boundary::{explained, reference};
use crate::code::leaseflake_code_t;
use crate::error::leaseflake_error_t;
use crate::generator::leaseflake_generator_t;
use crate::state::leaseflake_state_change_t;

/// At most 15 characters: longer names are cut.
const THREAD_NAME: &str = "leaseflake-call";
/// Nothing depends on it: changes and the end wake the thread.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Told of each state change, on a thread of Leaseflake's. `change` is valid during the call only.
///
/// It may call any function of this library but leaseflake_set_state_callback() on the same handle, must
/// not throw or longjmp out, and should be quick: changes wait for it, IDs do not.
pub type leaseflake_state_callback_t =
    Option<unsafe extern "C" fn(user_data: *mut c_void, change: *const leaseflake_state_change_t)>;

/// Frees `user_data`.
pub type leaseflake_free_callback_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What to call.
struct Callback {
    call: unsafe extern "C" fn(*mut c_void, *const leaseflake_state_change_t),
    free: leaseflake_free_callback_t,
    user_data: *mut c_void,
}

// SAFETY: the caller of `leaseflake_set_state_callback` hands `user_data` over to another thread.
unsafe impl Send for Callback {}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: what the caller gave for this data, called once.
            unsafe { free(self.user_data) };
        }
    }
}

/// The listener of a handle, where there is one.
pub(crate) struct ListenerSlot {
    inner: AtomicPtr<Inner>,
}

/// Belongs to one process: a fork may copy the lock while it is held.
struct Inner {
    process: u32,
    listener: Mutex<Option<Arc<Listener>>>,
}

struct Listener {
    callback: Mutex<Option<Callback>>,
    /// Freed by its own callback: nothing more is called.
    silent: AtomicBool,
    thread: OnceLock<ThreadId>,
    done: Mutex<bool>,
    ended: Condvar,
}

impl ListenerSlot {
    pub(crate) fn new() -> ListenerSlot {
        ListenerSlot { inner: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The lock of this process; a forked child leaves its parent's alone, and with it the copy of
    /// what the callback was given.
    fn inner(&self) -> &Inner {
        let process = std::process::id();
        loop {
            let seen = self.inner.load(Ordering::Acquire);
            // SAFETY: an `Inner` that was stored here is not freed before the slot.
            if let Some(inner) = unsafe { seen.as_ref() }.filter(|inner| inner.process == process) {
                return inner;
            }
            let fresh = Box::into_raw(Box::new(Inner { process, listener: Mutex::new(None) }));
            if self.inner.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody has seen it.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }

    /// Sets, changes or removes the callback; takes it only on success.
    fn set(&self, handle: &Arc<leaseflake_generator_t>, callback: &mut Option<Callback>) -> Result<(), Error> {
        if callback.is_some() && handle.ids.is_closed() {
            return Err(handle.ids.error_for(ErrorCode::Closed));
        }
        let mut slot = lock(&self.inner().listener);
        if let Some(listener) = slot.clone() {
            // A callback that runs just now may want this lock.
            drop(slot);
            return listener.replace(callback);
        }
        if callback.is_none() {
            return Ok(());
        }
        let listener = Arc::new(Listener {
            callback: Mutex::new(None),
            silent: AtomicBool::new(false),
            thread: OnceLock::new(),
            done: Mutex::new(false),
            ended: Condvar::new(),
        });
        let seen = handle.ids.status().changes.last().map_or(0, |change| change.number);
        let (kept, own) = (Arc::clone(&listener), Arc::clone(handle));
        // Held until the callback is in its place, so that no change is missed.
        let mut place = lock(&listener.callback);
        leaseflake::spawn(THREAD_NAME, move || kept.run_guarded(&own, seen)).map_err(|error| {
            Error::new(
                ErrorCode::StoreUnavailable,
                format!("the thread for state callbacks cannot be started ({error}): raise the limit of threads"),
            )
        })?;
        *place = callback.take();
        drop(place);
        *slot = Some(listener);
        Ok(())
    }

    /// Ends the listener and waits for it, unless this is its own thread.
    pub(crate) fn finish(&self) {
        let Some(listener) = lock(&self.inner().listener).take() else { return };
        if listener.is_own_thread() {
            listener.silent.store(true, Ordering::Relaxed);
            return;
        }
        let mut done = lock(&listener.done);
        while !*done {
            done = listener.ended.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ListenerSlot {
    fn drop(&mut self) {
        let inner = *self.inner.get_mut();
        // SAFETY: stored by `inner()`, and nobody else has the slot any more.
        if unsafe { inner.as_ref() }.is_some_and(|inner| inner.process == std::process::id()) {
            // SAFETY: as above. Of a parent's nothing is touched.
            drop(unsafe { Box::from_raw(inner) });
        }
    }
}

impl Listener {
    fn is_own_thread(&self) -> bool {
        self.thread.get() == Some(&std::thread::current().id())
    }

    fn replace(&self, callback: &mut Option<Callback>) -> Result<(), Error> {
        if self.is_own_thread() {
            return Err(Error::invalid("callback", "a call from within a state callback", "a call from elsewhere"));
        }
        let before = std::mem::replace(&mut *lock(&self.callback), callback.take());
        drop(before);
        Ok(())
    }

    fn run_guarded(&self, handle: &leaseflake_generator_t, seen: u64) {
        let _ = self.thread.set(std::thread::current().id());
        let _ = leaseflake::guard(|| {
            self.run(handle, seen);
            Ok(())
        });
        let last = lock(&self.callback).take();
        drop(last);
        *lock(&self.done) = true;
        self.ended.notify_all();
    }

    fn run(&self, handle: &leaseflake_generator_t, mut seen: u64) {
        loop {
            // Looked at first: what changed before the end is told.
            let ending = handle.ids.is_listening_over();
            let changes = handle.ids.state_changes(seen, LONGEST_WAIT);
            for change in &changes {
                seen = change.number;
                let callback = lock(&self.callback);
                if self.silent.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(callback) = callback.as_ref() {
                    // SAFETY: what the caller gave for this purpose; the change outlives the call.
                    unsafe { (callback.call)(callback.user_data, &leaseflake_state_change_t::of(change)) };
                }
            }
            if ending || changes.last().is_some_and(|change| change.to == LeaseState::Closed) {
                return;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a callback told of each state change from now on; the last one of a handle is its generator's
/// change to closed, where that handle is the last. A handle has one callback: a new one takes its
/// place, NULL removes it. `free_user_data`, which may be NULL, is called with `user_data` once nothing calls
/// it any more: when the callback is replaced or removed, or after the handle was closed.
///
/// Waits for a callback that runs just now. In a forked child nothing is called while the process that forked it keeps
/// the lease, and after that only a callback that the child has set. Errors: LEASEFLAKE_CLOSED on a closed handle, LEASEFLAKE_STORE_UNAVAILABLE when the system gives no
/// thread, LEASEFLAKE_INVALID_ARGUMENT for a NULL generator and for a call from within a callback of the same
/// handle; then `user_data` stays the caller's. `error` may be NULL. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_set_state_callback(
    generator: *const leaseflake_generator_t,
    callback: leaseflake_state_callback_t,
    user_data: *mut c_void,
    free_user_data: leaseflake_free_callback_t,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            reference(generator, "generator")?;
            // SAFETY: a pointer of `leaseflake_open`, which is an `Arc`'s.
            Arc::increment_strong_count(generator);
            let handle = Arc::from_raw(generator);
            let mut callback = callback.map(|call| Callback { call, free: free_user_data, user_data });
            let result = handle.listener.set(&handle, &mut callback);
            // What was not taken stays the caller's.
            std::mem::forget(callback);
            result
        })
    }
}

//! How other threads wake a thread's JavaScript: safely while its environment goes away, too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use napi_sys as sys;

/// What the keeper's thread may hold on to for as long as it likes.
pub(crate) struct Bell {
    state: Mutex<State>,
}

struct State {
    /// Gone before the environment is: a call of one that Node.js has deleted is not survived.
    function: Option<Function>,
    woken: Vec<u64>,
}

struct Function(sys::napi_threadsafe_function);

// SAFETY: Node.js makes it to be called from any thread.
unsafe impl Send for Function {}

impl Bell {
    pub(crate) fn new() -> Arc<Bell> {
        Arc::new(Bell { state: Mutex::new(State { function: None, woken: Vec::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hang(&self, function: sys::napi_threadsafe_function) {
        self.lock().function = Some(Function(function));
    }

    /// From here on nobody is woken. On return no thread is inside a call.
    pub(crate) fn silence(&self) {
        let mut state = self.lock();
        state.function = None;
        state.woken.clear();
    }

    /// Has the event loop go on, or not, for the bell's sake alone. On the environment's thread.
    pub(crate) fn keep_alive(&self, env: sys::napi_env, alive: bool) {
        let Some(function) = self.lock().function.as_ref().map(|function| function.0) else { return };
        // SAFETY: it is not gone, for only this thread takes it away.
        unsafe {
            if alive {
                sys::napi_ref_threadsafe_function(env, function);
            } else {
                sys::napi_unref_threadsafe_function(env, function);
            }
        }
    }

    /// Who was woken since the last time.
    pub(crate) fn woken(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().woken)
    }

    /// A waker that names a task.
    pub(crate) fn waker(self: &Arc<Bell>, task: u64) -> Waker {
        Arc::new(Rope { bell: Arc::clone(self), task }).into()
    }
}

struct Rope {
    bell: Arc<Bell>,
    task: u64,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.bell.lock();
        let Some(Function(function)) = state.function else { return };
        let first = state.woken.is_empty();
        state.woken.push(self.task);
        if first {
            // SAFETY: under the lock, so `silence` has not returned and the function is not deleted.
            unsafe {
                sys::napi_call_threadsafe_function(
                    function,
                    std::ptr::null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                );
            }
        }
    }
}

//! What hosts with an event loop of their own need: nothing here blocks.

use std::ops::Range;
use std::task::{Context, Poll};
use std::time::Duration;

use super::IdGenerator;
use crate::error::ErrorCode;
use crate::id::Id;
use crate::lease::state::StateChange;

/// A handle that is being opened: given up, or failed, it closes without blocking who drops it.
pub(super) struct Unfinished(Option<IdGenerator>);

impl Unfinished {
    pub(super) fn new(handle: IdGenerator) -> Unfinished {
        Unfinished(Some(handle))
    }

    pub(super) fn finish(mut self) -> IdGenerator {
        self.0.take().expect("it is there until here")
    }
}

impl std::ops::Deref for Unfinished {
    type Target = IdGenerator;

    fn deref(&self) -> &IdGenerator {
        self.0.as_ref().expect("it is there until `finish`")
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close_soon();
        }
    }
}

impl IdGenerator {
    /// As [`close`](IdGenerator::close), without waiting for the end: the keeper goes on by itself
    /// and releases the lease. For finalizers.
    #[doc(hidden)]
    pub fn close_soon(&self) {
        self.begin_close(Duration::from_millis(self.close_timeout_ms));
    }

    /// The state changes after the one numbered `seen`, as soon as there are any; none once the
    /// generator has ended. Needs no particular runtime.
    #[doc(hidden)]
    pub fn poll_state_changes(&self, seen: u64, context: &mut Context<'_>) -> Poll<Vec<StateChange>> {
        if !self.shared.owns_keeper() {
            return Poll::Ready(Vec::new());
        }
        self.shared.link().poll_changes(seen, context.waker())
    }

    /// As [`fill`](IdGenerator::fill), for memory that holds any numbers, and with a code.
    ///
    /// # Errors
    ///
    /// As `fill`: how many IDs were written before, and the code.
    #[doc(hidden)]
    pub fn fill_i64(&self, numbers: &mut [i64]) -> Result<(), (usize, ErrorCode)> {
        self.fill_runs(numbers.len(), |run, first| {
            for (place, number) in (first.as_i64()..).zip(numbers[run].iter_mut()) {
                *number = place;
            }
        })
        .map_err(|(written, refusal)| (written, refusal.code()))
    }

    /// As [`fill_i64`](IdGenerator::fill_i64), for memory that may hold nothing yet, of `len`
    /// places: the closure gets the places of a run and its first ID; the others are the numbers
    /// after it.
    ///
    /// # Errors
    ///
    /// As `fill_i64`.
    #[doc(hidden)]
    pub fn fill_with(&self, len: usize, write_run: impl FnMut(Range<usize>, Id)) -> Result<(), (usize, ErrorCode)> {
        self.fill_runs(len, write_run).map_err(|(written, refusal)| (written, refusal.code()))
    }
}

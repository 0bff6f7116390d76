//! What hosts with an event loop of their own need: nothing here blocks.

use std::task::{Context, Poll};
use std::time::Duration;

use super::IdGenerator;
use crate::error::ErrorCode;
use crate::generator::slot::{Refusal, Want};
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
        let mut written = 0;
        while written < numbers.len() {
            let rest = &mut numbers[written..];
            let taken = self
                .reserve(Want::UpTo(rest.len() as u64), self.max_wait_ms)
                .and_then(|taken| self.shared.wait_for(&taken, self.max_wait_ms).map(|()| taken))
                .map_err(|refusal| (written, Refusal::code(refusal)))?;
            let count = taken.count as usize;
            let first = taken.first_bits(&self.shared.limits) as i64;
            for (place, number) in (first..).zip(rest[..count].iter_mut()) {
                *number = place;
            }
            written += count;
        }
        Ok(())
    }
}

//! The handle: open, close, free.

use std::sync::Arc;

use leaseflake::IdGenerator;

use crate::boundary::{boundary, coded, explained, not_null, reference};
use crate::code::leaseflake_code_t;
use crate::error::leaseflake_error_t;
use crate::listener::ListenerSlot;
use crate::options::{leaseflake_options_t, options_of};

/// A generator of IDs. Functions that take it as `const` may be called by any number of threads at
/// once, and by forked children. Free it with leaseflake_free().
pub struct leaseflake_generator_t {
    pub(crate) ids: IdGenerator,
    pub(crate) listener: ListenerSlot,
}

/// Opens a generator and waits until it has a worker ID, for at most "acquire_timeout_ms" (10 s
/// unless set). Options that are left out come from the environment; NULL options: all of them.
///
/// A process has one generator for each registry, "datacenter_id", "layout" and "slot": opening it
/// again is cheap and gives another handle on the same one.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for options (there is no default "store");
/// LEASEFLAKE_NO_WORKER_ID, LEASEFLAKE_STORE_UNAVAILABLE, LEASEFLAKE_CLOCK_UNTRUSTED after the
/// time-out; LEASEFLAKE_STORE_REJECTED, LEASEFLAKE_LAYOUT_MISMATCH, LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE
/// at once. `*generator` is written only on success. `error` may be NULL. Any thread may call it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_open(
    options: *const leaseflake_options_t,
    generator: *mut *mut leaseflake_generator_t,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let place = not_null(generator, "generator")?;
            let ids = IdGenerator::open(options_of(options))?;
            place.write(
                Arc::into_raw(Arc::new(leaseflake_generator_t { ids, listener: ListenerSlot::new() })).cast_mut(),
            );
            Ok(())
        })
    }
}

/// Closes a handle. With the last handle of its generator, issuing ends at once and the worker ID is
/// given back, for at most "close_timeout_ms" (2 s unless set); after that the lease expires by itself.
/// Calls on this handle give LEASEFLAKE_CLOSED from here on; leaseflake_status() still works.
///
/// Closing again does nothing. Any thread may call it, while others generate.
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_close(generator: *const leaseflake_generator_t) -> leaseflake_code_t {
    coded(|| {
        // SAFETY: what this function asks of its caller.
        let handle = unsafe { reference(generator, "generator") }.map_err(|error| error.code())?;
        handle.ids.close();
        handle.ids.stop_listening();
        Ok(())
    })
}

/// Closes a handle as leaseflake_close() and frees it. When it returns, no state callback of this
/// handle runs any more and none will (but for the one that calls it). NULL is fine.
///
/// No other thread may be in a call on the handle, and none may use it after this. A forked child
/// may free its copy: its parent's lease stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_free(generator: *mut leaseflake_generator_t) {
    boundary(
        |_| (),
        || {
            if generator.is_null() {
                return;
            }
            // SAFETY: made by `leaseflake_open` and not freed before.
            let handle = unsafe { Arc::from_raw(generator.cast_const()) };
            handle.ids.close();
            handle.ids.stop_listening();
            handle.listener.finish();
        },
    );
}

//! IDs: one, a batch, any number.

use leaseflake::{Error, ErrorCode, Id};

use crate::boundary::{coded, explained, not_null, reference};
use crate::code::leaseflake_code_t;
use crate::error::{self, leaseflake_error_t};
use crate::generator::leaseflake_generator_t;

/// Gives the next ID: greater than zero, and greater than all that this generator has given before in
/// this process. Where the IDs of the millisecond are used up it waits for the next one, for at most
/// "max_wait_ms" (10 unless set).
///
/// Allocates nothing and takes no lock. Any number of threads may call it at once, and so may forked
/// children. `*id` is written only on success.
///
/// Errors: try again (leaseflake_explain() says when): LEASEFLAKE_LEASE_SUSPENDED,
/// LEASEFLAKE_LEASE_LOST, LEASEFLAKE_CLOCK_BACKWARDS, LEASEFLAKE_CLOCK_UNTRUSTED,
/// LEASEFLAKE_SEQUENCE_EXHAUSTED. Final: LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE, LEASEFLAKE_CLOSED;
/// LEASEFLAKE_INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_next_id(
    generator: *const leaseflake_generator_t,
    id: *mut i64,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller.
    coded(|| unsafe { one(generator, id, |handle| handle.ids.next_id_or_code()) })
}

/// Gives the next ID if there is one without waiting.
///
/// As leaseflake_next_id(); LEASEFLAKE_SEQUENCE_EXHAUSTED where that would have waited.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_try_next_id(
    generator: *const leaseflake_generator_t,
    id: *mut i64,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller.
    coded(|| unsafe { one(generator, id, |handle| handle.ids.try_next_id_or_code()) })
}

#[inline]
unsafe fn one(
    generator: *const leaseflake_generator_t,
    id: *mut i64,
    next: impl FnOnce(&leaseflake_generator_t) -> Result<Id, ErrorCode>,
) -> Result<(), ErrorCode> {
    if generator.is_null() || id.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    // SAFETY: not null, and valid as the caller promised.
    unsafe { id.write(next(&*generator)?.as_i64()) };
    Ok(())
}

/// Gives `count` IDs of one millisecond, one after the other: all or nothing. `ids` has room for
/// `count` of them, 1 to 1000 (or the IDs of a millisecond, where the layout has fewer).
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for another count and for NULL, else as leaseflake_next_id();
/// then nothing is written to `ids`. `error` may be NULL. Any number of threads may call it at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_next_batch(
    generator: *const leaseflake_generator_t,
    ids: *mut i64,
    count: usize,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let handle = reference(generator, "generator")?;
            let place = not_null(ids, "ids")?;
            let first = handle.ids.batch_first(count)?;
            write_run(place, first, count);
            Ok(())
        })
    }
}

/// Fills an array with any number of IDs, over as many milliseconds as it takes. Not atomic: on an
/// error the first `*written` IDs are valid and nobody else's.
///
/// `written` is written on every return but for an invalid argument, and may be NULL; `ids` may be
/// NULL where `count` is 0. Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL and for a count that no array can
/// have, else as leaseflake_next_id(). `error` may be NULL. Any number of threads may call it at once.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn leaseflake_fill(
    generator: *const leaseflake_generator_t,
    ids: *mut i64,
    count: usize,
    written: *mut usize,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let handle = reference(generator, "generator")?;
            if count > isize::MAX as usize / size_of::<i64>() {
                return Err(Error::invalid("count", count, "the length of an array"));
            }
            if count > 0 {
                not_null(ids, "ids")?;
            }
            // SAFETY: each run lies inside the array.
            let filled = handle.ids.fill_with(count, |run, first| write_run(ids.add(run.start), first, run.len()));
            let (done, result) = match filled {
                Ok(()) => (count, Ok(())),
                Err((done, code)) => (done, Err(handle.ids.error_for(code))),
            };
            if let Some(written) = written.as_mut() {
                *written = done;
            }
            result
        })
    }
}

/// # Safety
///
/// `place` has room for `count` numbers. They need not be initialised.
unsafe fn write_run(place: *mut i64, first: Id, count: usize) {
    for at in 0..count {
        // SAFETY: as the caller promised.
        unsafe { place.add(at).write(first.as_i64() + at as i64) };
    }
}

/// Says in words what a code of this generator means just now, and when to try again. For the calls
/// that give a code alone: call it right after one.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for NULL, for an `error` that was not initialised, and for
/// LEASEFLAKE_OK or a number that is no code. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_explain(
    generator: *const leaseflake_generator_t,
    code: leaseflake_code_t,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let handle = reference(generator, "generator")?;
            let place = not_null(error, "error")?;
            let known = ErrorCode::from_code(code)
                .ok_or_else(|| Error::invalid("code", code, "a code of an error, such as LEASEFLAKE_CLOSED"))?;
            error::write(place, &handle.ids.error_for(known));
            Ok(())
        })
    }
}

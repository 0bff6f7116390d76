//! What an ID, a refusal and an ID that has to be waited for look like as one number.
//!
//! | number | means |
//! |---|---|
//! | `1..` | an ID, or the first of a batch |
//! | `-999..=-1` | refused, with this code |
//! | below | an ID that lies ahead of the clock: add 2^63 for it |

use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::sys::jlong;
use leaseflake::{ErrorCode, Id, IdGenerator, Reserved};

/// Numbers from here to -1 are codes.
const LOWEST_CODE: jlong = -999;

/// A refusal.
#[inline]
pub(crate) fn refused(code: ErrorCode) -> jlong {
    -jlong::from(code.code())
}

/// An ID or a refusal.
#[inline]
pub(crate) fn ready(id: Result<Id, ErrorCode>) -> jlong {
    match id {
        Ok(id) => id.as_i64(),
        Err(code) => refused(code),
    }
}

/// What is reserved: to be had now, or to be waited for by the caller.
#[inline]
pub(crate) fn reserved(ids: &IdGenerator, reserved: &Reserved) -> jlong {
    let first = ids.first_of(reserved);
    if !reserved.is_ahead() {
        return first.as_i64();
    }
    let ahead = jlong::MIN + first.as_i64();
    if ahead < LOWEST_CODE {
        return ahead;
    }
    // The last IDs of all have no number of their own.
    ready(ids.wait_or_code(reserved).map(|()| first))
}

/// The panic boundary of the hot path: no JNI function is behind it.
#[inline]
pub(crate) fn caught(call: impl FnOnce() -> jlong) -> jlong {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| refused(ErrorCode::Internal))
}

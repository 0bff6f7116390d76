//! The codes, as C constants.

use std::ffi::c_char;

use leaseflake::ErrorCode;

use crate::boundary::boundary;

/// What a call gives: LEASEFLAKE_OK, or why it failed. The numbers are frozen and the same in every
/// language. A later library may give codes that this header does not name: treat those by
/// leaseflake_code_retryable().
pub type leaseflake_code_t = i32;

/// It worked.
pub const LEASEFLAKE_OK: i32 = 0;
/// An argument or option is outside what is allowed.
pub const LEASEFLAKE_INVALID_ARGUMENT: i32 = 1;
/// The registry cannot be reached, or asks to slow down. Retryable.
pub const LEASEFLAKE_STORE_UNAVAILABLE: i32 = 10;
/// The registry refused: no table, no permission, broken, or restored from a backup.
pub const LEASEFLAKE_STORE_REJECTED: i32 = 11;
/// The registry pins another layout, epoch or region.
pub const LEASEFLAKE_LAYOUT_MISMATCH: i32 = 12;
/// Every worker ID of the datacenter is leased. Retryable.
pub const LEASEFLAKE_NO_WORKER_ID: i32 = 13;
/// The window of the lease is used up and no heartbeat has got through. Retryable.
pub const LEASEFLAKE_LEASE_SUSPENDED: i32 = 14;
/// Somebody else owns the worker ID now; another one is being acquired. Retryable.
pub const LEASEFLAKE_LEASE_LOST: i32 = 15;
/// The clock is farther behind the newest ID than a call may wait. Retryable.
pub const LEASEFLAKE_CLOCK_BACKWARDS: i32 = 20;
/// The clock cannot be trusted: ahead of the registry's, or before the epoch. Retryable.
pub const LEASEFLAKE_CLOCK_UNTRUSTED: i32 = 21;
/// The clock is past the end of the timestamp field.
pub const LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE: i32 = 22;
/// The queue of waiting calls is longer than max_wait_ms, or the call never waits. Retryable.
pub const LEASEFLAKE_SEQUENCE_EXHAUSTED: i32 = 23;
/// The generator is closed.
pub const LEASEFLAKE_CLOSED: i32 = 30;
/// A caught panic: a bug in Leaseflake.
pub const LEASEFLAKE_INTERNAL: i32 = 99;

// The table is core's; a constant that differs from it, or is missing, does not compile.
const _: () = {
    const HERE: [i32; 13] = [
        LEASEFLAKE_INVALID_ARGUMENT,
        LEASEFLAKE_STORE_UNAVAILABLE,
        LEASEFLAKE_STORE_REJECTED,
        LEASEFLAKE_LAYOUT_MISMATCH,
        LEASEFLAKE_NO_WORKER_ID,
        LEASEFLAKE_LEASE_SUSPENDED,
        LEASEFLAKE_LEASE_LOST,
        LEASEFLAKE_CLOCK_BACKWARDS,
        LEASEFLAKE_CLOCK_UNTRUSTED,
        LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE,
        LEASEFLAKE_SEQUENCE_EXHAUSTED,
        LEASEFLAKE_CLOSED,
        LEASEFLAKE_INTERNAL,
    ];
    assert!(HERE.len() == ErrorCode::ALL.len());
    let mut at = 0;
    while at < HERE.len() {
        assert!(HERE[at] == ErrorCode::ALL[at].code());
        at += 1;
    }
};

/// Core's names with the NUL that C wants, in the order of `ErrorCode::ALL`.
static NAMES: [[u8; 24]; ErrorCode::ALL.len()] = {
    let mut names = [[0; 24]; ErrorCode::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        let name = ErrorCode::ALL[at].name().as_bytes();
        assert!(name.len() < 24);
        let mut byte = 0;
        while byte < name.len() {
            names[at][byte] = name[byte];
            byte += 1;
        }
        at += 1;
    }
    names
};

/// Gives the stable name of a code, such as "LEASE_SUSPENDED"; "UNKNOWN" for a number that is no
/// code.
///
/// Never gives NULL. The text is the library's: do not free it. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_code_name(code: leaseflake_code_t) -> *const c_char {
    boundary(
        |_| c"UNKNOWN".as_ptr(),
        || {
            if code == LEASEFLAKE_OK {
                return c"OK".as_ptr();
            }
            match ErrorCode::ALL.iter().position(|known| known.code() == code) {
                Some(at) => NAMES[at].as_ptr().cast(),
                None => c"UNKNOWN".as_ptr(),
            }
        },
    )
}

/// Whether the same call may succeed later. False for LEASEFLAKE_OK and for a number that is no
/// code.
///
/// Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_code_retryable(code: leaseflake_code_t) -> bool {
    boundary(|_| false, || ErrorCode::from_code(code).is_some_and(ErrorCode::retryable))
}

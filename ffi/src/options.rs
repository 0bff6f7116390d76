//! Options by name, so that a new one never changes the ABI.

use std::ffi::c_char;

use leaseflake::{Error, Options};

use crate::boundary::{boundary, explained, not_null, text};
use crate::code::leaseflake_code_t;
use crate::error::leaseflake_error_t;

/// Longer than any option's name.
const LONGEST_NAME: usize = 64;
/// Room for the longest path.
const LONGEST_VALUE: usize = 8192;

/// Options of a generator. Not thread-safe: one thread at a time.
pub struct leaseflake_options_t {
    options: Options,
}

/// The options behind a pointer; null stands for the environment alone.
///
/// # Safety
///
/// Null, or a live pointer of `leaseflake_options_new`.
pub(crate) unsafe fn options_of(options: *const leaseflake_options_t) -> Options {
    // SAFETY: as the caller promised.
    unsafe { options.as_ref() }.map_or_else(Options::new, |options| options.options.clone())
}

/// Makes empty options: everything comes from the environment (LEASEFLAKE_STORE,
/// LEASEFLAKE_DATACENTER_ID, ...) and the defaults until it is set.
///
/// Never fails, unless memory is used up: then the process aborts as for any Rust program; NULL
/// only for a bug in Leaseflake. Free it with leaseflake_options_free(). Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_options_new() -> *mut leaseflake_options_t {
    boundary(|_| std::ptr::null_mut(), || Box::into_raw(Box::new(leaseflake_options_t { options: Options::new() })))
}

/// Sets one option: "store", "datacenter_id", "slot", "instance_id", "ip_address", "lease_ttl_ms",
/// "lease_ttl_max_ms", "heartbeat_interval_ms", "safety_margin_ms", "acquire_timeout_ms",
/// "close_timeout_ms", "max_wait_ms", "epoch_ms", "layout" or "sequence_jitter". An empty value leaves
/// it to the environment.
///
/// Errors: LEASEFLAKE_INVALID_ARGUMENT for an unknown name or a value that can never be right, and
/// for texts that are NULL, not UTF-8, or longer than 64 (name) and 8192 bytes (value). `error` may
/// be NULL. One thread at a time on the same options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_options_set(
    options: *mut leaseflake_options_t,
    name: *const c_char,
    value: *const c_char,
    error: *mut leaseflake_error_t,
) -> leaseflake_code_t {
    // SAFETY: what this function asks of its caller is what its helpers ask.
    unsafe {
        explained(error, || {
            let options = &mut *not_null(options, "options")?;
            let name = text(name, "name", LONGEST_NAME)?;
            let value = text(value, "value", LONGEST_VALUE)?;
            options.options.set(name, value).map(|_| ())
        })
    }
}

/// Frees options. A generator that was opened with them keeps its own copy. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseflake_options_free(options: *mut leaseflake_options_t) {
    boundary(
        |_: Error| (),
        || {
            if !options.is_null() {
                // SAFETY: made by `leaseflake_options_new` and not freed before.
                drop(unsafe { Box::from_raw(options) });
            }
        },
    );
}

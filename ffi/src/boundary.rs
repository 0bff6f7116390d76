//! What stands between C and the core: the one panic guard, and arguments that are looked at
//! before they are used.

use std::ffi::{CStr, c_char};

use leaseflake::{Error, ErrorCode};

use crate::code::{LEASEFLAKE_OK, leaseflake_code_t};
use crate::error::{self, leaseflake_error_t};

/// The one panic guard: every exported function runs inside it. A panic, which is a bug, becomes
/// what `on_panic` gives and never crosses into C.
#[inline]
pub(crate) fn boundary<T>(on_panic: impl FnOnce(Error) -> T, call: impl FnOnce() -> T) -> T {
    leaseflake::guard(|| {
        #[cfg(feature = "faults")]
        faults::panic_if_asked();
        Ok(call())
    })
    .unwrap_or_else(on_panic)
}

/// The guard for functions that give a code alone.
#[inline]
pub(crate) fn coded(call: impl FnOnce() -> Result<(), ErrorCode>) -> leaseflake_code_t {
    match boundary(|error| Err(error.code()), call) {
        Ok(()) => LEASEFLAKE_OK,
        Err(code) => code.code(),
    }
}

/// The guard for functions that give a code and, where the caller wants it, the whole error.
///
/// # Safety
///
/// `place` is null or points to a `leaseflake_error_t` of at least its `struct_size`.
pub(crate) unsafe fn explained(
    place: *mut leaseflake_error_t,
    call: impl FnOnce() -> Result<(), Error>,
) -> leaseflake_code_t {
    // SAFETY: as the caller promised.
    match boundary(Err, || unsafe { error::check_place(place) }.and_then(|()| call())) {
        Ok(()) => LEASEFLAKE_OK,
        Err(error) => {
            // SAFETY: as the caller promised.
            unsafe { error::write(place, &error) };
            error.code().code()
        }
    }
}

/// The value behind a pointer that may be shared.
///
/// # Safety
///
/// The pointer is null or valid for the length of the call.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Error> {
    // SAFETY: as the caller promised.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// A pointer that is not null.
pub(crate) fn not_null<T>(pointer: *mut T, what: &str) -> Result<*mut T, Error> {
    if pointer.is_null() { Err(null(what)) } else { Ok(pointer) }
}

/// A text of at most `most` bytes in UTF-8.
///
/// # Safety
///
/// The pointer is null or points to a text that ends with a NUL, or is at least `most` + 1 bytes long.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str, most: usize) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: reads up to the NUL, and no more than `most` + 1 bytes.
    let length = unsafe { libc::strnlen(pointer, most + 1) };
    if length > most {
        return Err(Error::invalid(what, "a text without end", format_args!("at most {most} bytes")));
    }
    // SAFETY: a NUL stands at `length`.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Error::invalid(what, text.to_string_lossy(), "text in UTF-8"))
}

fn null(what: &str) -> Error {
    Error::invalid(what, "NULL", "a pointer that is not NULL")
}

/// A call that panics, for tests.
#[cfg(feature = "faults")]
mod faults {
    use std::cell::Cell;

    thread_local! {
        static ASKED: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn panic_if_asked() {
        if ASKED.replace(false) {
            panic!("a test asked for it");
        }
    }

    /// cbindgen:ignore
    #[unsafe(no_mangle)]
    #[allow(unreachable_pub, reason = "C reaches it")]
    pub extern "C" fn leaseflake_fault_panic_next() {
        ASKED.set(true);
    }
}

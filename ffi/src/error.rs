//! The error that a caller may ask for, in memory of the caller's: thread-local messages break
//! where a language moves its tasks between threads.

use std::ffi::c_char;
use std::mem::offset_of;

use leaseflake::Error;

use crate::code::leaseflake_code_t;

/// Why a call failed. Written only when it did.
///
/// Initialise it with LEASEFLAKE_ERROR_INIT, once; it may be used again for any number of calls, by
/// one thread at a time.
#[repr(C)]
pub struct leaseflake_error_t {
    /// sizeof(leaseflake_error_t) of the caller's header.
    pub struct_size: u32,
    /// What the call returned.
    pub code: leaseflake_code_t,
    /// 1 where the same call may succeed later, else 0.
    pub retryable: i32,
    /// How long to wait before a retry, in milliseconds; 0 where a retry does not help.
    pub retry_after_ms: u32,
    /// What happened, to which worker ID or table, and what to do: UTF-8, ends with a NUL, cut where
    /// it is longer.
    pub message: [c_char; 256],
}

/// The first version of the struct, which every caller has.
const SMALLEST: usize = offset_of!(leaseflake_error_t, message) + 256;

/// Refuses a place that the caller forgot to initialise.
///
/// # Safety
///
/// `place` is null or points to a `leaseflake_error_t`.
pub(crate) unsafe fn check_place(place: *const leaseflake_error_t) -> Result<(), Error> {
    // SAFETY: as the caller promised; only the first field is read.
    match unsafe { place.as_ref().map(|place| place.struct_size as usize) } {
        Some(size) => check_size("leaseflake_error_t.struct_size", size, SMALLEST),
        None => Ok(()),
    }
}

/// Refuses a struct that is smaller than its first version.
pub(crate) fn check_size(what: &str, size: usize, smallest: usize) -> Result<(), Error> {
    if size < smallest {
        return Err(Error::invalid(what, size, format_args!("sizeof of the struct, at least {smallest}")));
    }
    Ok(())
}

/// Writes an error to a place that has room for it.
///
/// # Safety
///
/// `place` is null or points to a `leaseflake_error_t` of at least its `struct_size`.
pub(crate) unsafe fn write(place: *mut leaseflake_error_t, error: &Error) {
    // SAFETY: as the caller promised.
    if place.is_null() || unsafe { check_place(place) }.is_err() {
        return;
    }
    // SAFETY: as the caller promised.
    unsafe {
        let struct_size = (*place).struct_size;
        let whole = leaseflake_error_t {
            struct_size,
            code: error.code().code(),
            retryable: error.retryable().into(),
            retry_after_ms: error.retry_after().map_or(0, |span| u32::try_from(span.as_millis()).unwrap_or(u32::MAX)),
            message: fixed(error.message()),
        };
        write_sized(place, struct_size, whole);
    }
}

/// Writes as much of a struct as the caller's header knows of it. What a newer header has beyond it
/// keeps what its initialiser gave.
///
/// # Safety
///
/// `place` points to `size` bytes.
pub(crate) unsafe fn write_sized<T>(place: *mut T, size: u32, value: T) {
    let bytes = size_of::<T>().min(size as usize);
    // SAFETY: both have that many bytes, and the structs have no destructor.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place.cast::<u8>(), bytes) };
}

/// A text in a field of fixed length: cut at the end of a character, ends with a NUL. A NUL inside,
/// which would end it early, becomes a blank.
pub(crate) fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    let cut = text.floor_char_boundary(N - 1);
    for (place, byte) in field.iter_mut().zip(text.as_bytes()[..cut.min(text.len())].iter()) {
        *place = if *byte == 0 { b' ' } else { *byte } as c_char;
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_ends_with_a_nul() {
        let field: [c_char; 6] = fixed("abcd\u{e9}f");
        assert_eq!(field.map(|byte| byte as u8), *b"abcd\0\0");
        let field: [c_char; 6] = fixed("ab\0d");
        assert_eq!(field.map(|byte| byte as u8), *b"ab d\0\0");
        let field: [c_char; 6] = fixed("abcdef");
        assert_eq!(field.map(|byte| byte as u8), *b"abcde\0");
    }
}

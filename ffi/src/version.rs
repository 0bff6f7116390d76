//! Which library this is.

use std::ffi::c_char;

use crate::boundary::boundary;

/// The version of the ABI that this header describes. Within one version functions and fields are
/// only added; it is the number in the shared library's soname.
pub const LEASEFLAKE_ABI_VERSION: u32 = 1;

/// Gives the version of the ABI of the library that is loaded: compare it with
/// LEASEFLAKE_ABI_VERSION after dlopen().
///
/// Never fails. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_abi_version() -> u32 {
    boundary(|_| 0, || LEASEFLAKE_ABI_VERSION)
}

/// Gives the version of the library that is loaded, such as "0.1.0".
///
/// Never fails and never gives NULL. The text is the library's: do not free it. Any thread may call
/// it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaseflake_version() -> *const c_char {
    boundary(|_| c"".as_ptr(), || VERSION.as_ptr().cast())
}

static VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

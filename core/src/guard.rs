//! The one panic boundary: a panic becomes INTERNAL and never crosses into a host.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorCode};

/// Runs a call of a binding; a panic in it becomes an `INTERNAL` error.
///
/// # Errors
///
/// What the call gives, or `INTERNAL`.
pub fn guard<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(panic_error("the call", &*panic)))
}

/// What a caught panic says.
pub(crate) fn panic_error(what: &str, panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(ErrorCode::Internal, format!("{what} panicked ({said}): this is a bug in Leaseflake, please report it"))
}

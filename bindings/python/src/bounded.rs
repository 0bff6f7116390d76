//! The panic boundary: a panic becomes an `InternalError` and never a `BaseException`.

use std::cell::RefCell;

use pyo3::prelude::*;

use crate::errors;

/// Runs a call; a panic in it becomes `INTERNAL`.
#[inline]
pub(crate) fn bounded<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let refused = RefCell::new(None);
    // The core's guard knows its own errors; Python's travel beside it.
    let done = leaseflake::guard(|| {
        call().map(Some).or_else(|error| {
            refused.replace(Some(error));
            Ok(None)
        })
    });
    match done {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(refused.into_inner().unwrap_or_else(|| errors::internal("an error got lost"))),
        Err(panic) => Err(errors::to_python(&panic)),
    }
}

//! From the core's errors to exceptions. The classes are Python's (`leaseflake/errors.py`); their
//! numbers, names and kinds come from the core's table.

use std::time::Duration;

use leaseflake::{Error, ErrorCode, IdGenerator};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception class of each code, in the order of the core's table.
static CLASSES: PyOnceLock<Vec<(ErrorCode, Py<PyType>)>> = PyOnceLock::new();

/// `STORE_UNAVAILABLE` -> `StoreUnavailableError`.
fn class_name(code: ErrorCode) -> String {
    let mut name = String::new();
    for word in code.name().split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(first);
        name.push_str(&rest.to_ascii_lowercase());
    }
    name + "Error"
}

/// Gives each class the fields of its code.
pub(crate) fn describe_classes(py: Python<'_>) -> PyResult<()> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("leaseflake.errors")?;
        let mut classes = Vec::new();
        for code in ErrorCode::ALL {
            let class = module.getattr(class_name(code).as_str())?.cast_into::<PyType>()?;
            describe(&class, code, code.default_retry_after())?;
            if code == ErrorCode::Internal {
                describe(&module.getattr("LeaseflakeError")?, code, None)?;
            }
            classes.push((code, class.unbind()));
        }
        Ok::<_, PyErr>(classes)
    })?;
    Ok(())
}

fn describe(what: &Bound<'_, PyAny>, code: ErrorCode, retry_after: Option<Duration>) -> PyResult<()> {
    what.setattr("code", code.code())?;
    what.setattr("name", code.name())?;
    what.setattr("retryable", code.retryable())?;
    what.setattr("retry_after", retry_after.map(|span| span.as_secs_f64()))
}

/// The exception that an error is.
#[cold]
pub(crate) fn to_python(error: &Error) -> PyErr {
    Python::attach(|py| {
        let class = CLASSES
            .get(py)
            .and_then(|classes| classes.iter().find(|(code, _)| *code == error.code()))
            .map(|(_, class)| class.bind(py).clone());
        let Some(class) = class else { return PyRuntimeError::new_err(error.to_string()) };
        let raised = PyErr::from_type(class, (error.message().to_owned(),));
        // The class knows all but this.
        let retry_after = error.retry_after().map(|span| span.as_secs_f64());
        match raised.value(py).setattr("retry_after", retry_after) {
            Ok(()) => raised,
            Err(failed) => failed,
        }
    })
}

/// The exception that a code of this generator is just now.
#[cold]
pub(crate) fn of_code(ids: &IdGenerator, code: ErrorCode) -> PyErr {
    to_python(&ids.error_for(code))
}

/// `INVALID_ARGUMENT`: what, which value, what is allowed.
#[cold]
pub(crate) fn invalid(what: &str, value: impl std::fmt::Display, allowed: impl std::fmt::Display) -> PyErr {
    to_python(&Error::invalid(what, value, allowed))
}

/// A bug of ours.
#[cold]
pub(crate) fn internal(message: &str) -> PyErr {
    to_python(&Error::new(ErrorCode::Internal, message))
}

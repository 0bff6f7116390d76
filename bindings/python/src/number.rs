//! Numbers and IDs as Python gives them: of any size, and perhaps no numbers at all.

use leaseflake::Id;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use crate::errors;

/// What a refused value is called in a message.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let class = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    match value.repr() {
        Ok(repr) => format!("{} ({class})", repr.to_string_lossy().chars().take(60).collect::<String>()),
        Err(_) => class,
    }
}

/// An integer that is no `bool`, within these bounds.
pub(crate) fn integer(what: &str, value: &Bound<'_, PyAny>, allowed: std::ops::RangeInclusive<i64>) -> PyResult<i64> {
    let number = if value.is_instance_of::<PyBool>() {
        None
    } else if value.is_instance_of::<PyInt>() {
        value.extract::<i64>().ok()
    } else {
        // numpy's integers and the like.
        value.call_method0("__index__").ok().and_then(|index| index.extract::<i64>().ok())
    };
    number.filter(|number| allowed.contains(number)).ok_or_else(|| {
        errors::invalid(what, shown(value), format_args!("an integer from {} to {}", allowed.start(), allowed.end()))
    })
}

/// An ID as `int`, or as the text that `str` makes of one.
pub(crate) fn id(value: &Bound<'_, PyAny>) -> PyResult<Id> {
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_string_lossy().parse().map_err(|error| errors::to_python(&error));
    }
    let number = integer("id", value, 1..=i64::MAX)?;
    Id::from_i64(number).map_err(|error| errors::to_python(&error))
}

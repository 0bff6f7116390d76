//! Keyword arguments to the core's options: by name, as text.

use leaseflake::Options;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyRange, PyString, PyTuple};

use crate::errors;
use crate::layout::Layout;
use crate::number::shown;

/// Options by the names of the core; `None` leaves one to the environment.
pub(crate) fn from_keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::new();
    for (name, value) in keywords.into_iter().flatten() {
        let name = name.cast::<PyString>()?.to_string_lossy().into_owned();
        if value.is_none() {
            set(&mut options, &name, "")?;
        } else if let Some(layout) = value.cast::<Layout>().ok().filter(|_| name == "layout") {
            let layout = layout.get().0;
            set(&mut options, "layout", &layout.to_string())?;
            if options.get("epoch_ms").is_none() {
                set(&mut options, "epoch_ms", &layout.epoch_ms().to_string())?;
            }
        } else {
            let text = text_of(&name, &value)?;
            set(&mut options, &name, &text)?;
        }
    }
    Ok(options)
}

fn set(options: &mut Options, name: &str, text: &str) -> PyResult<()> {
    options.set(name, text).map(drop).map_err(|error| errors::to_python(&error))
}

fn text_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        // Surrogates stand for bytes that are no text.
        return text.to_str().map(str::to_owned).map_err(|_| wrong(name, value));
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(value.str()?.to_string_lossy().into_owned());
    }
    let list =
        value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyRange>();
    if name == "datacenter_id" && list {
        let parts = value.try_iter()?.map(|part| text_of(name, &part?)).collect::<PyResult<Vec<_>>>()?;
        if !parts.is_empty() {
            return Ok(parts.join(","));
        }
    }
    Err(wrong(name, value))
}

fn wrong(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let allowed = match name {
        "datacenter_id" => "an int, a list or range of them, or a str such as \"auto\" or \"0,2,5-7\"",
        "layout" => "a str such as \"41-5-5-12\", or a Layout",
        "store" | "instance_id" | "ip_address" => "a str",
        _ => "an int, or a str of digits",
    };
    errors::invalid(name, shown(value), allowed)
}

//! Opening and closing in steps, for `leaseflake/awaiting.py`: an event loop asks again and again,
//! and no thread of ours ever calls into Python.

use std::sync::{Arc, Mutex, PoisonError};

use leaseflake::Error;
use pyo3::prelude::*;

use crate::bounded::bounded;
use crate::errors;
use crate::generator::IdGenerator;
use crate::wait::Woken;

/// A generator that is being opened.
#[pyclass(module = "leaseflake._leaseflake", frozen)]
pub(crate) struct Opening(Mutex<Option<Woken<Result<leaseflake::IdGenerator, Error>>>>);

impl Opening {
    pub(crate) fn new(options: leaseflake::Options) -> Opening {
        Opening(Mutex::new(Some(Woken::new(leaseflake::IdGenerator::open_async(options)))))
    }
}

#[pymethods]
impl Opening {
    /// The generator once it is open, `None` until then; raises what `open` raises. Never blocks.
    fn poll(&self) -> PyResult<Option<IdGenerator>> {
        bounded(|| {
            let mut opening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(woken) = opening.as_mut() else {
                return Err(errors::internal("an opening was asked again after its end"));
            };
            let Some(opened) = woken.poll() else { return Ok(None) };
            *opening = None;
            opened.map(|ids| Some(IdGenerator::new(ids))).map_err(|error| errors::to_python(&error))
        })
    }

    /// Gives up: what was acquired meanwhile is released.
    fn abandon(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A generator that is being closed.
#[pyclass(module = "leaseflake._leaseflake", frozen)]
pub(crate) struct Closing(Mutex<Woken<()>>);

impl Closing {
    pub(crate) fn new(ids: Arc<leaseflake::IdGenerator>) -> Closing {
        Closing(Mutex::new(Woken::new(async move { ids.close_async().await })))
    }
}

#[pymethods]
impl Closing {
    /// Whether it is closed, or its time is over. Never blocks.
    fn poll(&self) -> PyResult<bool> {
        bounded(|| Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).poll().is_some()))
    }
}

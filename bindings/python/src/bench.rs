//! For the benchmark alone (feature `bench`): what a call costs that does nothing, and one that only
//! reads the wall clock.

use std::hint::black_box;
use std::time::SystemTime;

use pyo3::prelude::*;

use crate::bounded::bounded;

#[pyfunction]
pub(crate) fn _nothing() -> PyResult<()> {
    bounded(|| Ok(()))
}

#[pyfunction]
pub(crate) fn _read_clock() -> PyResult<()> {
    bounded(|| {
        black_box(SystemTime::now());
        Ok(())
    })
}

//! State changes, for the listener thread of `leaseflake/listening.py`.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;

use crate::bounded::bounded;
use crate::status;

/// Follows the state changes of a generator without keeping it open.
#[pyclass(module = "leaseflake._leaseflake", frozen)]
pub(crate) struct Watcher(pub(crate) Arc<leaseflake::IdGenerator>);

#[pymethods]
impl Watcher {
    /// Waits for changes after the one numbered `seen`, at most `wait_ms`; gives them.
    fn changes(&self, py: Python<'_>, seen: u64, wait_ms: u64) -> PyResult<Vec<Py<PyAny>>> {
        bounded(|| {
            let newer = py.detach(|| self.0.state_changes(seen, Duration::from_millis(wait_ms)));
            status::changes(py, &newer)
        })
    }

    /// Whether the generator is closed: no more changes come.
    #[getter]
    fn closed(&self) -> bool {
        self.0.is_closed()
    }
}

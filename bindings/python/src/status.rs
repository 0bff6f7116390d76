//! What a generator tells about itself, as `leaseflake.Status` and `leaseflake.StateChange`.

use leaseflake::{StateChange, Status, StatusValue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// `leaseflake.Status`.
pub(crate) fn to_python(py: Python<'_>, status: &Status) -> PyResult<Py<PyAny>> {
    let fields = PyDict::new(py);
    for (name, value) in status.fields() {
        match value {
            StatusValue::Text(text) => fields.set_item(name, text)?,
            StatusValue::Number(number) => fields.set_item(name, number)?,
            StatusValue::Flag(flag) => fields.set_item(name, flag)?,
            StatusValue::None => fields.set_item(name, py.None())?,
        }
    }
    fields.set_item("changes", PyTuple::new(py, changes(py, &status.changes)?)?)?;
    py.import("leaseflake.records")?.getattr("Status")?.call((), Some(&fields)).map(Bound::unbind)
}

/// Each as `leaseflake.StateChange`.
pub(crate) fn changes(py: Python<'_>, changes: &[StateChange]) -> PyResult<Vec<Py<PyAny>>> {
    let class = py.import("leaseflake.records")?.getattr("StateChange")?;
    let one = |change: &StateChange| {
        let (datacenter_id, worker_id) = change.worker.unzip();
        let fields = (
            change.number,
            change.at_ms,
            change.from.name(),
            change.to.name(),
            datacenter_id,
            worker_id,
            change.fencing_epoch,
            change.reason.as_str(),
        );
        class.call1(fields).map(Bound::unbind)
    };
    changes.iter().map(one).collect()
}

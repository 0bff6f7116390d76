//! `Layout` and `decode`: taking IDs apart.

use leaseflake::IdParts;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::bounded::bounded;
use crate::errors;
use crate::number::{id, integer};

/// How the 63 bits of an ID are divided, and the epoch that its timestamp counts from.
///
/// >>> from leaseflake import Layout
/// >>> Layout()
/// Layout('41-5-5-12', epoch_ms=1767225600000)
/// >>> Layout().decode(4194304131079)
/// IdParts(timestamp_ms=1767226600000, datacenter_id=1, worker_id=0, sequence=7)
/// >>> Layout("41-0-2-20").ids_per_second
/// 1048576000
///
/// Immutable, and safe to share among threads and processes.
#[pyclass(module = "leaseflake", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Layout(pub(crate) leaseflake::Layout);

#[pymethods]
impl Layout {
    #[new]
    #[pyo3(signature = (layout = None, epoch_ms = None))]
    fn new(layout: Option<&str>, epoch_ms: Option<&Bound<'_, PyAny>>) -> PyResult<Layout> {
        bounded(|| {
            let widths = match layout {
                Some(text) => text.parse().map_err(|error| errors::to_python(&error))?,
                None => leaseflake::Layout::default(),
            };
            let Some(epoch_ms) = epoch_ms else { return Ok(Layout(widths)) };
            let epoch_ms = integer("epoch_ms", epoch_ms, 0..=i64::MAX)?;
            widths.with_epoch_ms(epoch_ms).map(Layout).map_err(|error| errors::to_python(&error))
        })
    }

    /// The fields of an ID, given as `int` or `str`.
    ///
    /// Raises `InvalidArgumentError` for what is no ID.
    #[pyo3(signature = (id, /))]
    fn decode(&self, id: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        bounded(|| parts(id.py(), &self.0, id))
    }

    /// The ID with these fields; the inverse of `decode`.
    ///
    /// >>> Layout().encode(1767226600000, datacenter_id=1, worker_id=0, sequence=7)
    /// 4194304131079
    ///
    /// Raises `InvalidArgumentError` or `TimestampOutOfRangeError` for what does not fit.
    #[pyo3(signature = (timestamp_ms, datacenter_id, worker_id, sequence))]
    fn encode(
        &self,
        timestamp_ms: &Bound<'_, PyAny>,
        datacenter_id: &Bound<'_, PyAny>,
        worker_id: &Bound<'_, PyAny>,
        sequence: &Bound<'_, PyAny>,
    ) -> PyResult<i64> {
        bounded(|| {
            let field = |what: &str, value: &Bound<'_, PyAny>, most: u32| {
                integer(what, value, 0..=i64::from(most)).map(|value| value as u32)
            };
            let parts = IdParts {
                timestamp_ms: integer("timestamp_ms", timestamp_ms, i64::MIN..=i64::MAX)?,
                datacenter_id: field("datacenter_id", datacenter_id, self.0.max_datacenter_id())?,
                worker_id: field("worker_id", worker_id, self.0.max_worker_id())?,
                sequence: field("sequence", sequence, self.0.max_sequence())?,
            };
            self.0.encode(&parts).map(|id| id.as_i64()).map_err(|error| errors::to_python(&error))
        })
    }

    /// Bits of the timestamp.
    #[getter]
    fn timestamp_bits(&self) -> u8 {
        self.0.timestamp_bits()
    }

    /// Bits of the datacenter ID.
    #[getter]
    fn datacenter_bits(&self) -> u8 {
        self.0.datacenter_bits()
    }

    /// Bits of the worker ID.
    #[getter]
    fn worker_bits(&self) -> u8 {
        self.0.worker_bits()
    }

    /// Bits of the sequence number.
    #[getter]
    fn sequence_bits(&self) -> u8 {
        self.0.sequence_bits()
    }

    /// The epoch, in milliseconds since the Unix epoch.
    #[getter]
    fn epoch_ms(&self) -> i64 {
        self.0.epoch_ms()
    }

    /// The largest timestamp, in milliseconds since the layout's epoch.
    #[getter]
    fn max_timestamp(&self) -> u64 {
        self.0.max_timestamp()
    }

    /// The last millisecond that has IDs, in milliseconds since the Unix epoch.
    #[getter]
    fn last_ms(&self) -> i64 {
        self.0.last_ms()
    }

    /// The largest datacenter ID.
    #[getter]
    fn max_datacenter_id(&self) -> u32 {
        self.0.max_datacenter_id()
    }

    /// The largest worker ID.
    #[getter]
    fn max_worker_id(&self) -> u32 {
        self.0.max_worker_id()
    }

    /// The largest sequence number: one less than the IDs of a millisecond.
    #[getter]
    fn max_sequence(&self) -> u32 {
        self.0.max_sequence()
    }

    /// How many IDs one worker ID can issue in a second.
    #[getter]
    fn ids_per_second(&self) -> u64 {
        self.0.ids_per_second()
    }

    /// The largest batch.
    #[getter]
    fn max_batch(&self) -> usize {
        self.0.max_batch()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Layout('{}', epoch_ms={})", self.0, self.0.epoch_ms())
    }

    fn __getnewargs__(&self) -> (String, i64) {
        (self.0.to_string(), self.0.epoch_ms())
    }
}

/// The fields of an ID of the *default* layout (41-5-5-12 from 2026-01-01); see `Layout` for others.
///
/// >>> import leaseflake
/// >>> leaseflake.decode("4194304131079").timestamp.isoformat()
/// '2026-01-01T00:16:40+00:00'
#[pyfunction]
#[pyo3(signature = (id, /))]
pub(crate) fn decode(id: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    bounded(|| parts(id.py(), &leaseflake::Layout::default(), id))
}

/// The fields of an ID as `leaseflake.IdParts`.
pub(crate) fn parts(py: Python<'_>, layout: &leaseflake::Layout, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let parts = layout.decode(id(value)?);
    let class = CLASS.import(py, "leaseflake.records", "IdParts")?;
    class.call1((parts.timestamp_ms, parts.datacenter_id, parts.worker_id, parts.sequence)).map(Bound::unbind)
}

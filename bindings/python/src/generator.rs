//! `leaseflake.IdGenerator`.

use std::sync::Arc;

use leaseflake::Reserved;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::awaited::{Closing, Opening};
use crate::bounded::bounded;
use crate::layout::{self, Layout};
use crate::number::integer;
use crate::watcher::Watcher;
use crate::{errors, exit, fill, options, status, wait};

/// Makes 64-bit, time-sorted IDs that never repeat among all who use the same registry.
///
/// >>> from leaseflake import IdGenerator
/// >>> with IdGenerator(store="memory:") as ids:
/// ...     first, second = ids.next_id(), ids.next_id()
/// >>> 0 < first < second < 2**63
/// True
///
/// Options are given by name, or as environment variables (`LEASEFLAKE_STORE`, ...); only `store`
/// has no default. Opening waits until there is a worker ID, for at most `acquire_timeout_ms`, and
/// raises `InvalidArgumentError`, `NoWorkerIdError`, `StoreUnavailableError`, `StoreRejectedError`,
/// `LayoutMismatchError`, `ClockUntrustedError` or `TimestampOutOfRangeError`.
///
/// A process has one generator per registry, datacenter, layout and `slot`: opening it again is
/// cheap and takes no second worker ID. All methods may be called from any thread, and after a
/// fork: children share the worker ID of their parent. A generator cannot be copied or pickled.
#[pyclass(module = "leaseflake", frozen, name = "IdGenerator")]
pub(crate) struct IdGenerator {
    ids: Arc<leaseflake::IdGenerator>,
}

impl IdGenerator {
    pub(crate) fn new(ids: leaseflake::IdGenerator) -> IdGenerator {
        IdGenerator { ids: Arc::new(ids) }
    }

    /// One ID, waiting without the GIL where there is none yet.
    #[inline]
    fn next(&self, py: Python<'_>) -> PyResult<i64> {
        let reserved = self.ids.reserve_one_or_code().map_err(|code| errors::of_code(&self.ids, code))?;
        if reserved.is_ahead() {
            wait::for_ids(py, &self.ids, &reserved)?;
        }
        Ok(self.ids.first_of(&reserved).as_i64())
    }

    /// A batch whose time has come.
    fn batch(&self, py: Python<'_>, count: &Bound<'_, PyAny>) -> PyResult<Reserved> {
        let most = self.ids.layout().max_batch();
        let count = integer("batch size", count, 1..=most as i64)? as usize;
        let reserved = self.ids.reserve_ids(count).map_err(|error| errors::to_python(&error))?;
        if reserved.is_ahead() {
            wait::for_ids(py, &self.ids, &reserved)?;
        }
        Ok(reserved)
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let ids = Arc::clone(&self.ids);
        wait::block_on(py, async move { ids.close_async().await })
    }
}

#[pymethods]
impl IdGenerator {
    #[new]
    #[pyo3(signature = (**options))]
    fn open(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<IdGenerator> {
        bounded(|| {
            let options = options::from_keywords(options)?;
            let opened = wait::block_on(py, leaseflake::IdGenerator::open_async(options))?;
            py.import("leaseflake.leaving")?.call_method0("opened")?;
            opened.map(IdGenerator::new).map_err(|error| errors::to_python(&error))
        })
    }

    /// Opens a generator without blocking the event loop: `async with` or `await` it.
    ///
    /// >>> import asyncio
    /// >>> async def main():
    /// ...     async with IdGenerator.open_async(store="memory:") as ids:
    /// ...         return ids.next_id()
    /// >>> asyncio.run(main()) > 0
    /// True
    ///
    /// Options and errors are those of `IdGenerator(...)`.
    #[staticmethod]
    #[pyo3(signature = (**options))]
    fn open_async(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
        bounded(|| {
            let opening = Opening::new(options::from_keywords(options)?);
            py.import("leaseflake.awaiting")?.getattr("OpenedLater")?.call1((opening,)).map(Bound::unbind)
        })
    }

    /// The next ID: greater than all that this generator has given before.
    ///
    /// Where the millisecond's IDs are used up it waits for the clock, at most `max_wait_ms`,
    /// without the GIL. Raises `LeaseSuspendedError`, `LeaseLostError`, `ClockBackwardsError`,
    /// `ClockUntrustedError`, `SequenceExhaustedError` (try again later); `ClosedError`,
    /// `TimestampOutOfRangeError` (final).
    fn next_id(&self, py: Python<'_>) -> PyResult<i64> {
        bounded(|| self.next(py))
    }

    /// The next ID if there is one without waiting, else `SequenceExhaustedError`.
    fn try_next_id(&self) -> PyResult<i64> {
        bounded(|| match self.ids.try_next_id_or_code() {
            Ok(id) => Ok(id.as_i64()),
            Err(code) => Err(errors::of_code(&self.ids, code)),
        })
    }

    /// `count` IDs of one millisecond, one after the other: all or nothing.
    ///
    /// At most 1000 (or all of a millisecond, where the layout has fewer). Raises
    /// `InvalidArgumentError` for another count, else as `next_id`.
    #[pyo3(signature = (count, /))]
    fn next_batch<'py>(&self, count: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        bounded(|| {
            let py = count.py();
            let reserved = self.batch(py, count)?;
            let first = self.ids.first_of(&reserved).as_i64();
            PyList::new(py, first..first + reserved.count() as i64)
        })
    }

    /// The next ID as a `str` of decimal digits, for JSON.
    fn next_str<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        bounded(|| Ok(PyString::new(py, &self.next(py)?.to_string())))
    }

    /// A batch as `next_batch` gives it, as `str`s of decimal digits.
    #[pyo3(signature = (count, /))]
    fn next_strs<'py>(&self, count: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        bounded(|| {
            let py = count.py();
            let reserved = self.batch(py, count)?;
            let texts: Vec<String> = self.ids.ids_of(&reserved).map(|id| id.to_string()).collect();
            PyList::new(py, texts)
        })
    }

    /// Fills a writable contiguous buffer of native 64-bit integers (numpy, `array`, `memoryview`).
    ///
    /// >>> from array import array
    /// >>> with IdGenerator(store="memory:") as ids:
    /// ...     numbers = array("q", bytes(8 * 5))
    /// ...     ids.fill(numbers)
    /// >>> sorted(set(numbers)) == list(numbers)
    /// True
    ///
    /// Any length, over as many milliseconds as it takes, without the GIL. Not atomic: on an error
    /// the first `error.written` IDs are valid.
    #[pyo3(signature = (buffer, /))]
    fn fill(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
        bounded(|| fill::fill(py, &self.ids, buffer))
    }

    /// A new `numpy` array (`int64`) of `count` IDs. numpy is imported when this is called.
    #[pyo3(signature = (count, /))]
    fn next_array(&self, count: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        bounded(|| {
            let py = count.py();
            let count = integer("count", count, 0..=i64::MAX / 8)?;
            let array = py.import("numpy")?.call_method1("empty", (count, "int64"))?;
            fill::fill(py, &self.ids, &array)?;
            Ok(array.unbind())
        })
    }

    /// The fields of an ID (`int` or `str`), by the layout of this generator.
    #[pyo3(signature = (id, /))]
    fn decode(&self, id: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        bounded(|| layout::parts(id.py(), self.ids.layout(), id))
    }

    /// The layout of this generator.
    #[getter]
    fn layout(&self) -> Layout {
        Layout(*self.ids.layout())
    }

    /// What state the generator is in, whose worker ID, until when, and its counters.
    fn status(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        bounded(|| {
            // It takes locks of the core's, for a moment.
            let status = py.detach(|| self.ids.status());
            status::to_python(py, &status)
        })
    }

    /// Calls `callback(change)` for every change of state from here on, on a thread of its own.
    ///
    /// Gives the listener, whose `stop()` ends it. Never on the path of an ID.
    #[pyo3(signature = (callback, /))]
    fn on_state_change(&self, py: Python<'_>, callback: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        bounded(|| {
            let watcher = Watcher(Arc::clone(&self.ids));
            let seen = self.ids.status().changes.last().map_or(0, |change| change.number);
            let listening = py.import("leaseflake.listening")?;
            listening.getattr("Listener")?.call1((watcher, callback, seen)).map(Bound::unbind)
        })
    }

    /// Writes every change of state to `logging`: losses as warnings, the others as information.
    ///
    /// `logger` is a `logging.Logger`, or the name of one. Gives the listener.
    #[pyo3(signature = (logger = None))]
    fn log_state_changes(&self, py: Python<'_>, logger: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let callback = py.import("leaseflake.listening")?.getattr("logging_callback")?.call1((logger,))?;
        self.on_state_change(py, &callback)
    }

    /// Closes this handle; with the last one, ends issuing at once and releases the lease.
    ///
    /// Tries for at most `close_timeout_ms`; after that the lease expires by itself. Any thread may
    /// call it, as often as it likes; calls from here on raise `ClosedError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        bounded(|| self.end(py))
    }

    /// As `close`, for asyncio: does not block the event loop.
    fn aclose(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        bounded(|| {
            let closing = Closing::new(Arc::clone(&self.ids));
            py.import("leaseflake.awaiting")?.call_method1("closed", (closing,)).map(Bound::unbind)
        })
    }

    /// Whether this handle is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.ids.is_closed()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        bounded(|| self.end(py))
    }

    fn __aenter__(slf: Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        bounded(|| slf.py().import("leaseflake.awaiting")?.call_method1("entered", (&slf,)).map(Bound::unbind))
    }

    #[pyo3(signature = (*_exception))]
    fn __aexit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.aclose(py)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<i64> {
        bounded(|| self.next(py))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an IdGenerator cannot be copied or pickled: its worker ID belongs to this process. Open one in the other \
             process, with the same options",
        ))
    }

    fn __repr__(&self) -> PyResult<String> {
        bounded(|| {
            let status = self.ids.status();
            let worker = match (status.datacenter_id, status.worker_id) {
                (Some(datacenter), Some(worker)) => format!(", worker ID {datacenter}/{worker}"),
                _ => String::new(),
            };
            Ok(format!("<leaseflake.IdGenerator on {}: {}{worker}>", status.store, status.state.name()))
        })
    }
}

impl Drop for IdGenerator {
    fn drop(&mut self) {
        if exit::exits() {
            // The process closes all generators together in a moment; not one after the other.
            std::mem::forget(Arc::clone(&self.ids));
            return;
        }
        let ids = &self.ids;
        if Python::try_attach(|py| py.detach(|| ids.close())).is_none() {
            ids.close();
        }
    }
}

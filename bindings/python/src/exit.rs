//! Leaving: what a normal exit of the interpreter, and a child that skips it, need.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// Whether the interpreter is on its way out: generators are closed by the process's exit then.
static EXITS: AtomicBool = AtomicBool::new(false);

/// Says that the interpreter is on its way out. Called once, by `atexit`.
#[pyfunction]
pub(crate) fn interpreter_exits() {
    EXITS.store(true, Ordering::Relaxed);
}

pub(crate) fn exits() -> bool {
    EXITS.load(Ordering::Relaxed)
}

/// Closes every generator that this process owns, within 300 ms, as a normal exit does; for
/// processes that end by `os._exit`. A forked child never releases its parent's lease.
#[pyfunction]
pub(crate) fn close_at_exit(py: Python<'_>) {
    py.detach(leaseflake::close_at_exit);
}

//! The native module of the Python package `leaseflake`: one small file per concept.
//!
//! The package around it (`python/leaseflake`) holds what is Python by nature: exception classes,
//! records, asyncio and listeners. Everything that knows about IDs and leases is in the core.

mod awaited;
#[cfg(feature = "bench")]
mod bench;
mod bounded;
mod errors;
mod exit;
mod fill;
mod generator;
mod layout;
mod number;
mod options;
mod status;
mod wait;
mod watcher;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _leaseflake {
    #[pymodule_export]
    use super::awaited::{Closing, Opening};
    #[cfg(feature = "bench")]
    #[pymodule_export]
    use super::bench::{_nothing, _read_clock};
    #[pymodule_export]
    use super::exit::{close_at_exit, interpreter_exits};
    #[pymodule_export]
    use super::generator::IdGenerator;
    #[pymodule_export]
    use super::layout::{Layout, decode};
    #[pymodule_export]
    use super::watcher::Watcher;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::errors::describe_classes(module.py())?;
        module.add("OPTION_NAMES", leaseflake::OPTION_NAMES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

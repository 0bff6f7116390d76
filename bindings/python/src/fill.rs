//! `fill`: IDs straight into somebody's memory.

use std::ffi::CStr;
use std::time::Instant;

use leaseflake::{ErrorCode, IdGenerator, Reserved};
use pyo3::buffer::ElementType;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::errors;
use crate::number::shown;
use crate::wait::{self, SLICE};

const ALLOWED: &str = "a writable contiguous buffer of native 64-bit integers, such as numpy's int64, array('q') or a \
                       memoryview of one";

/// Fewer IDs than this are written faster than the GIL is given up and taken again.
const SMALL: usize = 4096;

/// Where to write: memory that a buffer of Python keeps in place for as long as it is held.
struct Target {
    next: *mut i64,
    left: usize,
    written: usize,
}

// SAFETY: the memory stays in place while the buffer is held, whoever writes to it.
unsafe impl Send for Target {}

/// Why writing stopped.
enum Stop {
    Done,
    /// Time to look for signals.
    Slice,
    /// These are ours, but not yet.
    Ahead(Reserved),
    Refused(ErrorCode),
}

impl Target {
    fn write(&mut self, ids: &IdGenerator, reserved: &Reserved) {
        let (first, count) = (ids.first_of(reserved).as_i64(), reserved.count().min(self.left));
        for place in 0..count {
            // SAFETY: `next` points to `left` places, and `place < count <= left`.
            unsafe { self.next.add(place).write(first.wrapping_add(place as i64)) };
        }
        // SAFETY: as above: at most one past the end.
        self.next = unsafe { self.next.add(count) };
        self.left -= count;
        self.written += count;
    }

    /// Writes until there is a reason to stop.
    fn run(&mut self, ids: &IdGenerator, may_wait: bool) -> Stop {
        let began = Instant::now();
        while self.left > 0 {
            let reserved = match ids.reserve_some_or_code(self.left) {
                Ok(reserved) => reserved,
                Err(code) => return Stop::Refused(code),
            };
            if reserved.is_ahead() {
                let soon = may_wait && ids.time_left(&reserved).is_ok_and(|left| left.is_none_or(|left| left <= SLICE));
                if !soon {
                    return Stop::Ahead(reserved);
                }
                if let Err(code) = ids.wait_or_code(&reserved) {
                    return Stop::Refused(code);
                }
            }
            self.write(ids, &reserved);
            if may_wait && self.left > 0 && began.elapsed() >= SLICE {
                return Stop::Slice;
            }
        }
        Stop::Done
    }
}

/// A buffer that an object of Python lends, given back when dropped.
struct Lent<'py> {
    // On the heap: some exporters point into the struct itself.
    view: Box<ffi::Py_buffer>,
    py: Python<'py>,
}

impl<'py> Lent<'py> {
    fn by(object: &Bound<'py, PyAny>) -> Option<Lent<'py>> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: `view` is a valid place for the answer. Asked without WRITABLE, so that a
        // read-only buffer can be named as that.
        let status = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, ffi::PyBUF_FULL_RO) };
        if status != 0 {
            // Our error says more.
            drop(PyErr::take(object.py()));
            return None;
        }
        Some(Lent { view, py: object.py() })
    }

    /// The memory, or what is wrong with it.
    fn memory(&self) -> Result<(*mut i64, usize), String> {
        let view = &*self.view;
        if view.readonly != 0 {
            return Err("that is read-only".to_owned());
        }
        // SAFETY: a format is null, which means bytes, or a C string that lives as long as the view.
        let format = if view.format.is_null() { c"B" } else { unsafe { CStr::from_ptr(view.format) } };
        let foreign = if cfg!(target_endian = "little") { [b'>', b'!'] } else { [b'<', b'<'] };
        let native = !format.to_bytes().first().is_some_and(|order| foreign.contains(order));
        let integers = matches!(
            ElementType::from_format(format),
            ElementType::SignedInteger { bytes: 8 } | ElementType::UnsignedInteger { bytes: 8 }
        );
        if !native || !integers || view.itemsize != 8 {
            return Err(format!("of format {}", format.to_string_lossy()));
        }
        // SAFETY: the view is filled in. In either order, for every place is written.
        if unsafe { ffi::PyBuffer_IsContiguous(view, b'A' as std::ffi::c_char) } == 0 {
            return Err("that is not contiguous".to_owned());
        }
        let (memory, count) = (view.buf.cast::<i64>(), view.len as usize / 8);
        if count > 0 && !memory.is_aligned() {
            return Err("that is not aligned to 8 bytes".to_owned());
        }
        Ok((memory, count))
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let _attached = self.py;
        // SAFETY: filled in by PyObject_GetBuffer, released once, attached.
        unsafe { ffi::PyBuffer_Release(&mut *self.view) };
    }
}

/// Fills a buffer. The exception of a part-way failure says how many IDs are valid (`written`).
pub(crate) fn fill(py: Python<'_>, ids: &IdGenerator, object: &Bound<'_, PyAny>) -> PyResult<()> {
    let lent = Lent::by(object).ok_or_else(|| errors::invalid("buffer", class_of(object), ALLOWED))?;
    let (next, left) =
        lent.memory().map_err(|why| errors::invalid("buffer", format_args!("{} {why}", class_of(object)), ALLOWED))?;
    let mut target = Target { next, left, written: 0 };
    run_to_the_end(py, ids, &mut target).inspect_err(|error| {
        // A KeyboardInterrupt takes it as well as our own.
        let _ = error.value(py).setattr("written", target.written);
    })
}

fn run_to_the_end(py: Python<'_>, ids: &IdGenerator, target: &mut Target) -> PyResult<()> {
    let small = target.left < SMALL;
    loop {
        // Not detached, a small one must not wait.
        let stop = if small { target.run(ids, false) } else { py.detach(|| target.run(ids, true)) };
        match stop {
            Stop::Done => return Ok(()),
            Stop::Slice => py.check_signals()?,
            Stop::Ahead(reserved) => {
                wait::for_ids(py, ids, &reserved)?;
                target.write(ids, &reserved);
            }
            Stop::Refused(code) => return Err(errors::of_code(ids, code)),
        }
    }
}

fn class_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| shown(object), |name| name.to_string())
}

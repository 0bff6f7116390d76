//! The generators of this process, over forks: a child inherits the table but none of its locks.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::shared::Shared;
use super::table::{Generator, Key, Table};
use crate::fork;

struct Process {
    generation: u64,
    table: Table<Key, Shared>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// The table of this process. A forked child gets one of its own, which starts with what it
/// inherited; the parent's is never locked and never freed.
pub(crate) fn table() -> &'static Table<Key, Shared> {
    fork::check_raw_clone();
    let generation = fork::generation();
    loop {
        let current = PROCESS.load(Ordering::Acquire);
        // SAFETY: null or a box that is never freed.
        let process = unsafe { current.as_ref() };
        if let Some(process) = process.filter(|process| process.generation == generation) {
            return &process.table;
        }
        let table = process.map_or_else(Table::new, |inherited| inherited.table.inherit());
        let fresh = Box::into_raw(Box::new(Process { generation, table }));
        match PROCESS.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {}
            // SAFETY: another thread was faster, and nobody has seen ours.
            Err(_) => drop(unsafe { Box::from_raw(fresh) }),
        }
    }
}

impl Generator for Shared {
    fn take_handle(&self) {
        self.handles.fetch_add(1, Ordering::AcqRel);
    }

    fn give_handle(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn is_over(&self) -> bool {
        self.owns_keeper() && self.page().header().is_closed()
    }

    fn retire(&self) -> u64 {
        if self.owns_keeper() {
            // First, so that a call that finds the slot retired knows that this is the end.
            self.page().header().close();
            self.page().retire_current(&self.limits)
        } else {
            // The slot is the parent's: closing a child's handles ends nothing.
            self.page().newest()
        }
    }
}

//! The wall clock of another process, moved while it runs.
//!
//! `tests/shim/clockshim.c` is preloaded into the process and adds an offset to its
//! CLOCK_REALTIME alone; [`ShimClock`] is the driver's side of it.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const OFFSET_VARIABLE: &str = "CLOCKSHIM_FILE";
const NS_PER_MS: i64 = 1_000_000;

/// One movable wall clock, shared by every process that it is applied to, their forked children
/// and the programs that they execute.
///
/// A fresh clock is not moved. Dropping it leaves its file in place: processes that run on keep
/// the last offset. All methods may be called from any thread.
#[derive(Debug)]
pub struct ShimClock {
    file: PathBuf,
    offset_ns: NonNull<AtomicI64>,
}

// SAFETY: the pointer is to a shared mapping that lives as long as the clock, and all that is
// done through it is atomic.
unsafe impl Send for ShimClock {}
// SAFETY: as above.
unsafe impl Sync for ShimClock {}

impl ShimClock {
    /// A clock whose offset lives in a new file in `dir`. One folder may hold many clocks.
    ///
    /// # Errors
    ///
    /// Whatever making and mapping the file gives; `Unsupported` where there is no shim (it is
    /// Linux's).
    pub fn create(dir: &Path) -> io::Result<ShimClock> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !cfg!(target_os = "linux") {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the clock shim needs Linux"));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Absolute: the processes may run in another folder.
        let file = std::path::absolute(dir.join(format!("clock-{}-{number}", std::process::id())))?;
        let opened = OpenOptions::new().read(true).write(true).create_new(true).open(&file)?;
        opened.set_len(size_of::<AtomicI64>() as u64)?;
        // SAFETY: a new mapping of a file that is long enough; nothing else is replaced by it.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<AtomicI64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                opened.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let offset_ns = NonNull::new(page.cast()).ok_or_else(|| io::Error::other("a mapping at address zero"))?;
        Ok(ShimClock { file, offset_ns })
    }

    /// Sets how far the wall clock is ahead of the true one, in milliseconds; negative is behind.
    /// A process that runs sees it at its next look.
    pub fn set_offset_ms(&self, offset_ms: i64) {
        self.offset().store(offset_ms.saturating_mul(NS_PER_MS), Ordering::SeqCst);
    }

    /// Steps the wall clock by this many milliseconds from where it stands; negative is back.
    pub fn step_ms(&self, by_ms: i64) {
        self.offset().fetch_add(by_ms.saturating_mul(NS_PER_MS), Ordering::SeqCst);
    }

    /// How far the wall clock is ahead of the true one, in milliseconds.
    pub fn offset_ms(&self) -> i64 {
        self.offset().load(Ordering::SeqCst) / NS_PER_MS
    }

    /// Makes the process that `command` will start, and what that process starts, live by this
    /// clock. Adds to an `LD_PRELOAD` that is already there.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let mut preload = OsString::from(env!("CLOCKSHIM_SO"));
        let given =
            command.get_envs().find(|(name, _)| *name == "LD_PRELOAD").map(|(_, value)| value.map(OsString::from));
        if let Some(others) = given.unwrap_or_else(|| env::var_os("LD_PRELOAD")).filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        command.env("LD_PRELOAD", preload).env(OFFSET_VARIABLE, &self.file)
    }

    fn offset(&self) -> &AtomicI64 {
        // SAFETY: mapped in `create`, aligned to a page, unmapped only by `drop`.
        unsafe { self.offset_ns.as_ref() }
    }
}

impl Drop for ShimClock {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and `&mut self` says that nobody is looking at it.
        unsafe { libc::munmap(self.offset_ns.as_ptr().cast(), size_of::<AtomicI64>()) };
    }
}

//! Sleeping on a word of shared memory, so that a forked child can wake its parent's keeper.

use std::time::Duration;

use crate::sync::AtomicU32;

#[cfg(all(target_os = "linux", not(leaseflake_loom)))]
mod system {
    use super::{AtomicU32, Duration};

    pub(crate) fn wake(word: &AtomicU32) {
        // SAFETY: the word outlives the call; not FUTEX_PRIVATE, for it is shared by processes.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    pub(crate) fn wait(word: &AtomicU32, seen: u32, span: Duration) {
        let timeout = libc::timespec {
            tv_sec: span.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: span.subsec_nanos() as libc::c_long,
        };
        // SAFETY: as above; `timeout` outlives the call. A spurious return is allowed.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &timeout) };
    }
}

#[cfg(not(all(target_os = "linux", not(leaseflake_loom))))]
mod system {
    use super::{AtomicU32, Duration};

    pub(crate) fn wake(_word: &AtomicU32) {}

    /// Without a futex the keeper looks again a few times a second.
    pub(crate) fn wait(word: &AtomicU32, seen: u32, span: Duration) {
        const LOOK: Duration = Duration::from_millis(20);
        if word.load(crate::sync::Ordering::Acquire) == seen {
            #[cfg(not(leaseflake_loom))]
            std::thread::sleep(span.min(LOOK));
            #[cfg(leaseflake_loom)]
            {
                let _ = (span, LOOK);
                loom::thread::yield_now();
            }
        }
    }
}

pub(crate) use system::{wait, wake};

//! Ending: of one generator, and of all of them at a normal exit of the process.

use std::time::Duration;

use super::process::table;
use super::shared::Shared;
use super::table::Generator;
use crate::sync::Arc;

/// How long a normal exit tries to release its leases.
const AT_EXIT: Duration = Duration::from_millis(300);

/// Tells the keeper to release and end. `false` where it is not ours: a child never releases its
/// parent's lease.
pub(crate) fn tell_to_end(shared: &Arc<Shared>, timeout: Duration) -> bool {
    if !shared.owns_keeper() {
        return false;
    }
    let give_up_at = shared.clock.now().boot_ms.saturating_add(timeout.as_millis() as u64);
    shared.link().close(give_up_at);
    shared.page().header().wake_now();
    true
}

/// Waits until the keeper has ended, at most this long; the keeper goes on alone after that.
pub(crate) fn wait_for_end(shared: &Arc<Shared>, timeout: Duration) {
    let deadline = shared.clock.now().boot_ms.saturating_add(timeout.as_millis() as u64);
    while !shared.link().is_finished() {
        let left = deadline.saturating_sub(shared.clock.now().boot_ms);
        if left == 0 {
            return;
        }
        shared.link().wait(Duration::from_millis(left), |_, finished| finished);
    }
}

/// Closes all generators of this process, together within the given time; those whose close has
/// begun elsewhere are waited for, too. A second call waits no longer than the first one would have.
pub(crate) fn close_all(timeout: Duration) {
    let generators = table().all();
    for shared in &generators {
        shared.retire();
        tell_to_end(shared, timeout);
    }
    for shared in &generators {
        if shared.owns_keeper() {
            let gives_up_at = shared.link().closing().unwrap_or(0);
            let left = gives_up_at.saturating_sub(shared.clock.now().boot_ms);
            wait_for_end(shared, Duration::from_millis(left).min(timeout));
        }
    }
}

/// What a normal exit does, for hosts whose processes may leave without one.
#[doc(hidden)]
pub fn close_at_exit() {
    close_all(AT_EXIT);
}

/// Has the process close its generators at a normal exit.
pub(crate) fn install() {
    #[cfg(all(unix, not(leaseflake_loom)))]
    {
        static INSTALLED: std::sync::Once = std::sync::Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: the handler never unwinds; that there is no room for it loses only the early
            // release.
            unsafe { libc::atexit(at_exit) };
        });
    }
}

#[cfg(all(unix, not(leaseflake_loom)))]
extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| close_all(AT_EXIT));
}

//! Threads inside somebody else's process.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that takes no signals: those are the host's. The name has at most 15
/// characters, longer ones are cut.
///
/// # Errors
///
/// When the system gives no thread.
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    with_signals_blocked(|| Builder::new().name(name.to_owned()).spawn(run))
}

#[cfg(unix)]
fn with_signals_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    // SAFETY: `sigset_t` is plain data that sigfillset and pthread_sigmask initialise.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: valid places; a thread inherits the mask of the one that starts it.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let spawned = spawn();
    // SAFETY: as above; the mask goes back to what it was.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    spawned
}

#[cfg(not(unix))]
fn with_signals_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    spawn()
}

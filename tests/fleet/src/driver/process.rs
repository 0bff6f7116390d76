//! Signals and the ends of processes, programs and forked children alike.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A process that is not our child, held so that its number cannot come to mean another one.
#[derive(Debug)]
pub(super) struct Handle {
    pid: i32,
    fd: OwnedFd,
}

impl Handle {
    /// The process with this number; fails if there is none.
    pub(super) fn open(pid: i32) -> io::Result<Handle> {
        // SAFETY: takes two numbers and gives a new descriptor or an error.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else knows it.
        Ok(Handle { pid, fd: unsafe { OwnedFd::from_raw_fd(fd as i32) } })
    }

    /// Sends a signal; a process that has ended is no error.
    pub(super) fn signal(&self, signal: i32) {
        // SAFETY: numbers and a null pointer, which asks for the default information.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.fd.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor in one structure of ours, no waiting.
        let ready = unsafe { libc::poll(&mut poll, 1, 0) };
        ready > 0
    }

    /// Ends it, and takes its exit status where it has become our child.
    pub(super) fn kill(&self) {
        self.signal(libc::SIGKILL);
        // SAFETY: asks about one process of ours, if it is ours; writes nothing.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

/// Orphans become our children, so that their ends are collected even where nobody else does it.
pub(super) fn adopt_orphans() {
    // SAFETY: sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

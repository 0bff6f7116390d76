//! What went wrong with the file, as one of the registry's kinds of failure.

use std::io;

use rusqlite::ffi::ErrorCode as Sqlite;

use crate::lease::shown::shown;
use crate::lease::store::{StoreError, StoreErrorKind};

/// Why a try did not answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// Somebody else is at the file, and nothing was changed: try again soon.
    Busy(String),
    /// Trying again at once does not help.
    Store(StoreError),
}

impl Failure {
    pub(super) fn rejected(message: impl Into<String>) -> Failure {
        Failure::Store(StoreError::new(StoreErrorKind::Rejected, message))
    }

    pub(super) fn gone(message: impl Into<String>) -> Failure {
        Failure::Store(StoreError::new(StoreErrorKind::Gone, message))
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Failure {
        Failure::Store(StoreError::new(StoreErrorKind::Unavailable, message))
    }

    pub(super) fn invalid(message: impl Into<String>) -> Failure {
        Failure::Store(StoreError::new(StoreErrorKind::InvalidArgument, message))
    }

    /// A system call on the file or its sidecar failed.
    pub(super) fn io(doing: &str, error: &io::Error) -> Failure {
        use io::ErrorKind::{
            AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
            ReadOnlyFilesystem, Unsupported,
        };
        let message = format!("cannot {doing}: {error}");
        #[cfg(unix)]
        if error.raw_os_error() == Some(libc::ELOOP) {
            return Failure::rejected(message);
        }
        match error.kind() {
            NotFound | PermissionDenied | ReadOnlyFilesystem | IsADirectory | NotADirectory | AlreadyExists
            | InvalidFilename | InvalidInput | Unsupported => Failure::rejected(message),
            // No space, no descriptors, a disk that answers badly: may pass.
            _ => Failure::unavailable(message),
        }
    }

    pub(super) fn into_error(self) -> StoreError {
        match self {
            Failure::Busy(message) => StoreError::new(StoreErrorKind::Unavailable, message),
            Failure::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        let code = error.sqlite_error_code();
        // SQLite quotes what the file holds.
        let error = shown(&error.to_string());
        let Some(code) = code else {
            return Failure::rejected(format!("SQLite: {error}"));
        };
        match code {
            Sqlite::DatabaseBusy | Sqlite::DatabaseLocked | Sqlite::FileLockingProtocolFailed => {
                Failure::Busy("another process holds a lock on it".to_owned())
            }
            Sqlite::DatabaseCorrupt | Sqlite::NotADatabase => Failure::rejected(format!(
                "it is damaged or no registry ({error}): stop all holders, move it away and run `leaseflake registry \
                 fence`"
            )),
            Sqlite::ReadOnly | Sqlite::PermissionDenied => {
                Failure::rejected(format!("it cannot be written ({error}): make the file and its directory writable"))
            }
            Sqlite::DiskFull => Failure::unavailable(format!("no space left ({error}): make room on its disk")),
            Sqlite::SystemIoFailure | Sqlite::CannotOpen | Sqlite::OutOfMemory => {
                Failure::unavailable(format!("SQLite: {error}"))
            }
            _ => Failure::rejected(format!("SQLite: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: i32) -> Option<StoreErrorKind> {
        match Failure::from(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)) {
            Failure::Busy(_) => None,
            Failure::Store(error) => Some(error.kind),
        }
    }

    #[test]
    fn what_may_pass_is_unavailable_and_what_needs_a_person_is_rejected() {
        use rusqlite::ffi;
        assert_eq!(kind(ffi::SQLITE_BUSY), None);
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_CANTOPEN, ffi::SQLITE_NOMEM] {
            assert_eq!(kind(code), Some(StoreErrorKind::Unavailable), "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_READONLY, ffi::SQLITE_ERROR] {
            assert_eq!(kind(code), Some(StoreErrorKind::Rejected), "{code}");
        }
    }
}

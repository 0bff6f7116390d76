//! The one error table: codes, names and fields, the same on every surface.

use std::fmt;
use std::time::Duration;

/// What went wrong, as a stable number that is the same in every language.
///
/// Numbers are frozen: a code is never renumbered or reused. `OK` (0) exists only where a
/// language returns codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(i32)]
pub enum ErrorCode {
    /// An argument or option is outside what is allowed.
    InvalidArgument = 1,
    /// The registry cannot be reached, or asks to slow down.
    StoreUnavailable = 10,
    /// The registry refused: no table, no permission, broken, or restored from a backup.
    StoreRejected = 11,
    /// The registry pins another layout, epoch or region.
    LayoutMismatch = 12,
    /// Every worker ID of the datacenter is leased.
    NoWorkerId = 13,
    /// The window of the lease is used up and no heartbeat has got through.
    LeaseSuspended = 14,
    /// Somebody else owns the worker ID now; another one is being acquired.
    LeaseLost = 15,
    /// The clock is farther behind the newest ID than a call may wait.
    ClockBackwards = 20,
    /// The clock cannot be trusted: ahead of the registry's, or before the epoch.
    ClockUntrusted = 21,
    /// The clock is past the end of the timestamp field.
    TimestampOutOfRange = 22,
    /// The queue of waiting calls is longer than `max_wait_ms`, or the call never waits.
    SequenceExhausted = 23,
    /// The handle or the generator is closed.
    Closed = 30,
    /// A caught panic: a bug in Leaseflake.
    Internal = 99,
}

impl ErrorCode {
    /// Every code, in the order of the table.
    pub const ALL: [ErrorCode; 13] = [
        ErrorCode::InvalidArgument,
        ErrorCode::StoreUnavailable,
        ErrorCode::StoreRejected,
        ErrorCode::LayoutMismatch,
        ErrorCode::NoWorkerId,
        ErrorCode::LeaseSuspended,
        ErrorCode::LeaseLost,
        ErrorCode::ClockBackwards,
        ErrorCode::ClockUntrusted,
        ErrorCode::TimestampOutOfRange,
        ErrorCode::SequenceExhausted,
        ErrorCode::Closed,
        ErrorCode::Internal,
    ];

    /// The frozen number.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The code with this number, if there is one. 0 (`OK`) is no error and gives `None`.
    pub fn from_code(code: i32) -> Option<ErrorCode> {
        Self::ALL.into_iter().find(|known| known.code() == code)
    }

    /// The stable name, in capitals: `LEASE_SUSPENDED`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorCode::InvalidArgument => "INVALID_ARGUMENT",
            ErrorCode::StoreUnavailable => "STORE_UNAVAILABLE",
            ErrorCode::StoreRejected => "STORE_REJECTED",
            ErrorCode::LayoutMismatch => "LAYOUT_MISMATCH",
            ErrorCode::NoWorkerId => "NO_WORKER_ID",
            ErrorCode::LeaseSuspended => "LEASE_SUSPENDED",
            ErrorCode::LeaseLost => "LEASE_LOST",
            ErrorCode::ClockBackwards => "CLOCK_BACKWARDS",
            ErrorCode::ClockUntrusted => "CLOCK_UNTRUSTED",
            ErrorCode::TimestampOutOfRange => "TIMESTAMP_OUT_OF_RANGE",
            ErrorCode::SequenceExhausted => "SEQUENCE_EXHAUSTED",
            ErrorCode::Closed => "CLOSED",
            ErrorCode::Internal => "INTERNAL",
        }
    }

    /// Whether the same call may succeed later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            ErrorCode::StoreUnavailable
                | ErrorCode::NoWorkerId
                | ErrorCode::LeaseSuspended
                | ErrorCode::LeaseLost
                | ErrorCode::ClockBackwards
                | ErrorCode::ClockUntrusted
                | ErrorCode::SequenceExhausted
        )
    }

    /// The name of the gRPC status that the service answers with.
    pub const fn grpc_status(self) -> &'static str {
        match self {
            ErrorCode::InvalidArgument => "INVALID_ARGUMENT",
            ErrorCode::StoreRejected | ErrorCode::LayoutMismatch => "FAILED_PRECONDITION",
            ErrorCode::StoreUnavailable
            | ErrorCode::NoWorkerId
            | ErrorCode::LeaseSuspended
            | ErrorCode::LeaseLost
            | ErrorCode::ClockBackwards
            | ErrorCode::ClockUntrusted
            | ErrorCode::Closed => "UNAVAILABLE",
            ErrorCode::TimestampOutOfRange => "OUT_OF_RANGE",
            ErrorCode::SequenceExhausted => "RESOURCE_EXHAUSTED",
            ErrorCode::Internal => "INTERNAL",
        }
    }

    /// How long to wait before a retry when the error itself knows nothing better.
    pub const fn default_retry_after(self) -> Option<Duration> {
        match self {
            ErrorCode::SequenceExhausted => Some(Duration::from_millis(1)),
            ErrorCode::LeaseSuspended | ErrorCode::LeaseLost => Some(Duration::from_millis(100)),
            ErrorCode::ClockBackwards => Some(Duration::from_millis(100)),
            ErrorCode::StoreUnavailable | ErrorCode::NoWorkerId | ErrorCode::ClockUntrusted => {
                Some(Duration::from_secs(1))
            }
            _ => None,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error of any Leaseflake call: a code, and a message that says what to do.
///
/// One pointer wide, so that `Result<Id, Error>` stays in registers.
///
/// ```
/// let error = "12x".parse::<leaseflake::Id>().unwrap_err();
/// assert_eq!(error.code(), leaseflake::ErrorCode::InvalidArgument);
/// assert_eq!(error.name(), "INVALID_ARGUMENT");
/// assert!(!error.retryable());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Fields>);

#[derive(Clone, PartialEq, Eq)]
struct Fields {
    code: ErrorCode,
    message: String,
    retry_after: Option<Duration>,
}

impl Error {
    /// An error with this code and message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Fields { code, message: message.into(), retry_after: code.default_retry_after() }))
    }

    /// An `INVALID_ARGUMENT` that names the argument, the value given and what is allowed.
    pub fn invalid(what: &str, value: impl fmt::Display, allowed: impl fmt::Display) -> Error {
        // Values come from outside: shown short and without control characters.
        let shown: String = value.to_string().chars().take(80).collect();
        Error::new(ErrorCode::InvalidArgument, format!("{what}: {shown:?} is not allowed; allowed: {allowed}"))
    }

    /// The same error with another time to wait before a retry.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Duration) -> Error {
        self.0.retry_after = Some(retry_after);
        self
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The code's stable name.
    pub fn name(&self) -> &'static str {
        self.0.code.name()
    }

    /// What happened, to which worker ID or table, and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        self.0.code.retryable()
    }

    /// How long to wait before a retry; `None` where a retry does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("code", &self.code())
            .field("message", &self.message())
            .field("retry_after", &self.retry_after())
            .finish()
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_so_results_stay_in_registers() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn every_code_is_found_by_its_number_and_ok_is_no_error() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_code(code.code()), Some(code));
        }
        assert_eq!(ErrorCode::from_code(0), None);
        assert_eq!(ErrorCode::from_code(2), None);
    }

    #[test]
    fn a_hostile_value_is_cut_and_escaped_in_the_message() {
        let error = Error::invalid("x", "\u{1b}[31m".repeat(1000), "digits");
        assert!(error.message().len() < 700, "{}", error.message().len());
        assert!(!error.message().contains('\u{1b}'));
    }
}

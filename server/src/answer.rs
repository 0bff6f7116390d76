//! From an error of the table to what goes over the wire.

use std::collections::HashMap;
use std::time::Duration;

use leaseflake::Error;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// The `domain` of every `google.rpc.ErrorInfo`.
pub const ERROR_DOMAIN: &str = "leaseflake";

/// A worker ID, as (datacenter, worker).
pub(crate) type Worker = (u32, u32);

/// The status of an error: code and message by the table, with ErrorInfo and, where a retry helps,
/// RetryInfo.
pub(crate) fn status(error: &Error, worker: Option<Worker>) -> Status {
    let code = code(error.code().grpc_status());
    with_details(code, error.name(), error.message(), error.retry_after(), worker)
}

/// Too much at once: of the service's own limits, not of a worker ID.
pub(crate) fn overloaded(most: u32) -> Status {
    let message = format!(
        "{most} calls are under way, which is max_requests: try again, add servers, or raise it if there is memory to spare"
    );
    with_details(Code::ResourceExhausted, "SERVER_OVERLOADED", &message, Some(Duration::from_millis(50)), None)
}

/// The call took as long as it may.
pub(crate) fn too_late(limit: Duration) -> Status {
    Status::deadline_exceeded(format!("the call was not done within {} ms", limit.as_millis()))
}

fn with_details(
    code: Code,
    reason: &str,
    message: &str,
    retry_after: Option<Duration>,
    worker: Option<Worker>,
) -> Status {
    let mut metadata = HashMap::new();
    if let Some((datacenter, worker)) = worker {
        metadata.insert("datacenter".to_owned(), datacenter.to_string());
        metadata.insert("worker".to_owned(), worker.to_string());
    }
    let mut details = ErrorDetails::with_error_info(reason, ERROR_DOMAIN, metadata);
    if retry_after.is_some() {
        details.set_retry_info(retry_after);
    }
    Status::with_error_details(code, message, details)
}

/// The code with this name; one that gRPC does not have would be a bug of the table.
fn code(name: &str) -> Code {
    match name {
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "UNAVAILABLE" => Code::Unavailable,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "OUT_OF_RANGE" => Code::OutOfRange,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        _ => Code::Internal,
    }
}

/// The name of a code, as gRPC writes it.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use leaseflake::ErrorCode;

    use super::*;

    #[test]
    fn every_code_of_the_table_has_the_status_that_the_table_names_and_its_details() {
        for known in ErrorCode::ALL {
            let error = Error::new(known, "what happened");
            let status = status(&error, Some((3, 17)));
            assert_eq!(code_name(status.code()), known.grpc_status(), "{known}");
            assert_eq!(status.message(), "what happened");
            let details = status.get_error_details();
            let info = details.error_info().expect("always there");
            assert_eq!((info.reason.as_str(), info.domain.as_str()), (known.name(), ERROR_DOMAIN));
            assert_eq!(info.metadata["datacenter"], "3");
            assert_eq!(info.metadata["worker"], "17");
            let retry = details.retry_info().and_then(|info| info.retry_delay);
            assert_eq!(retry, error.retry_after(), "{known}");
            assert_eq!(retry.is_some(), known.retryable(), "{known}");
        }
    }
}

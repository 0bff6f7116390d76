//! What the SDK's errors mean for the keeper, and what people are to do about them.

use std::error::Error;
use std::fmt::Debug;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::{DynamoDbConfig, StoreError, StoreErrorKind};
pub(super) use crate::lease::shown::shown;

/// An error and all of its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Many errors repeat their cause in their own text.
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

/// What was being done, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doing<'a> {
    pub(super) config: &'a DynamoDbConfig,
    /// DynamoDB's name of the operation.
    pub(super) operation: &'static str,
}

impl Doing<'_> {
    /// What a failed call means.
    pub(super) fn failed<E>(&self, error: &SdkError<E, HttpResponse>) -> StoreError
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match error {
            SdkError::TimeoutError(_) => self.error(
                StoreErrorKind::Unavailable,
                &format!("no answer within {} ms", self.config.timeout().as_millis()),
            ),
            SdkError::DispatchFailure(failure) => {
                let cause = failure.as_connector_error().map_or_else(String::new, |error| chain(error));
                self.error(StoreErrorKind::Unavailable, &format!("not reached: {}", shown(&cause)))
            }
            SdkError::ResponseError(response) => {
                let status = response.raw().status().as_u16();
                self.error(StoreErrorKind::Unavailable, &format!("an answer that cannot be read (HTTP {status})"))
            }
            SdkError::ServiceError(service) => {
                let metadata = service.err();
                self.answered(service.raw().status().as_u16(), metadata.code(), metadata.message())
            }
            // The request could not even be built: an option or the environment makes no sense.
            other => self.error(StoreErrorKind::Rejected, &shown(&chain(other))),
        }
    }

    /// What an error that DynamoDB itself answered means.
    pub(super) fn answered(&self, status: u16, code: Option<&str>, message: Option<&str>) -> StoreError {
        let said = shown(message.unwrap_or("no message"));
        let Some(code) = code.map(shown).filter(|code| !code.is_empty()) else {
            return self.error(StoreErrorKind::Unavailable, &format!("HTTP {status} without an error code"));
        };
        match code.as_str() {
            "RequestTimeTooSkewed" | "RequestExpired" => self.skewed(&said),
            "InvalidSignatureException" | "SignatureDoesNotMatch" if is_skew(&said) => self.skewed(&said),
            "ResourceNotFoundException" => self.error(
                StoreErrorKind::Rejected,
                &format!(
                    "no such table in this account and region: create it with `leaseflake registry create --store {}` \
                     ({said})",
                    self.config.store_argument()
                ),
            ),
            "AccessDeniedException" => self.error(
                StoreErrorKind::Rejected,
                &format!(
                    "not permitted: allow the IAM action{} {} on the table; deploy/aws has the whole policy ({said})",
                    if self.actions().contains(',') { "s" } else { "" },
                    self.actions()
                ),
            ),
            "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "ExpiredToken"
            | "ExpiredTokenException" => self.error(
                StoreErrorKind::Rejected,
                &format!(
                    "DynamoDB does not accept the AWS credentials ({code}): renew or correct them; `aws sts \
                     get-caller-identity` tries the same ({said})"
                ),
            ),
            "ValidationException" => self.error(
                StoreErrorKind::Rejected,
                &format!(
                    "DynamoDB calls the request invalid: the table must have the keys PK and SK, both strings \
                     (`leaseflake registry create` makes such a table) ({said})"
                ),
            ),
            "ThrottlingException"
            | "Throttling"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "LimitExceededException"
            | "TransactionConflictException"
            | "TransactionInProgressException"
            | "ReplicatedWriteConflictException"
            | "ResourceInUseException"
            | "InternalServerError"
            | "InternalFailure"
            | "ServiceUnavailable"
            | "ServiceUnavailableException" => self.error(StoreErrorKind::Unavailable, &format!("{code} ({said})")),
            _ if status >= 500 || status == 429 || status == 408 => {
                self.error(StoreErrorKind::Unavailable, &format!("{code} ({said})"))
            }
            _ => self.error(StoreErrorKind::Rejected, &format!("{code} ({said})")),
        }
    }

    fn skewed(&self, said: &str) -> StoreError {
        self.error(
            StoreErrorKind::ClockUntrusted,
            &format!("DynamoDB refused our signature because this machine's clock is off: correct the clock ({said})"),
        )
    }

    fn actions(&self) -> &'static str {
        match self.operation {
            "DescribeTable" => "dynamodb:DescribeTable",
            "Query" => "dynamodb:Query",
            "UpdateItem" => "dynamodb:UpdateItem",
            "PutItem" => "dynamodb:PutItem",
            "CreateTable" => "dynamodb:CreateTable",
            // Only whoever initialises a datacenter needs these.
            _ => "dynamodb:PutItem, dynamodb:ConditionCheckItem",
        }
    }

    pub(super) fn error(&self, kind: StoreErrorKind, what: &str) -> StoreError {
        StoreError::new(kind, format!("table {}: {}: {what}", shown(self.config.table()), self.operation))
    }
}

/// Whether a refused signature was refused for its time: it says so only in its text.
fn is_skew(message: &str) -> bool {
    message.contains("Signature expired") || message.contains("Signature not yet current")
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn doing(operation: &'static str) -> Doing<'static> {
        static CONFIG: LazyLock<DynamoDbConfig> = LazyLock::new(|| DynamoDbConfig::parse("ids").unwrap());
        Doing { config: &CONFIG, operation }
    }

    fn kind(status: u16, code: &str, message: &str) -> StoreErrorKind {
        doing("UpdateItem").answered(status, Some(code), Some(message)).kind
    }

    #[test]
    fn a_missing_table_names_the_command_that_creates_it() {
        let error = doing("Query").answered(400, Some("ResourceNotFoundException"), Some("not found"));
        assert_eq!(error.kind, StoreErrorKind::Rejected);
        assert!(error.message.contains("leaseflake registry create --store dynamodb://ids"), "{}", error.message);
    }

    #[test]
    fn a_missing_permission_names_the_action() {
        for (operation, action) in [
            ("Query", "dynamodb:Query"),
            ("UpdateItem", "dynamodb:UpdateItem"),
            ("DescribeTable", "dynamodb:DescribeTable"),
            ("CreateTable", "dynamodb:CreateTable"),
            ("TransactWriteItems", "dynamodb:PutItem, dynamodb:ConditionCheckItem"),
        ] {
            let error = doing(operation).answered(400, Some("AccessDeniedException"), Some("no"));
            assert_eq!(error.kind, StoreErrorKind::Rejected);
            assert!(error.message.contains(action), "{operation}: {}", error.message);
        }
    }

    #[test]
    fn a_signature_refused_for_skew_is_the_clock_and_any_other_is_the_credentials() {
        let expired = "Signature expired: 20261129T120000Z is now earlier than 20261129T125500Z";
        let early = "Signature not yet current: 20261129T140000Z is still later than 20261129T131500Z";
        assert_eq!(kind(400, "InvalidSignatureException", expired), StoreErrorKind::ClockUntrusted);
        assert_eq!(kind(400, "InvalidSignatureException", early), StoreErrorKind::ClockUntrusted);
        assert_eq!(kind(403, "RequestTimeTooSkewed", "skew"), StoreErrorKind::ClockUntrusted);
        assert_eq!(kind(400, "InvalidSignatureException", "does not match"), StoreErrorKind::Rejected);
    }

    #[test]
    fn throttling_conflicts_and_server_errors_are_worth_another_try() {
        for code in ["ThrottlingException", "ProvisionedThroughputExceededException", "TransactionConflictException"] {
            assert_eq!(kind(400, code, ""), StoreErrorKind::Unavailable, "{code}");
        }
        assert_eq!(kind(500, "InternalServerError", ""), StoreErrorKind::Unavailable);
        assert_eq!(kind(503, "SomethingNew", ""), StoreErrorKind::Unavailable);
        assert_eq!(kind(400, "SomethingNew", ""), StoreErrorKind::Rejected);
        assert_eq!(doing("Query").answered(403, None, None).kind, StoreErrorKind::Unavailable);
    }

    #[test]
    fn text_from_outside_is_cut_and_cannot_steer_a_terminal() {
        let error = doing("Query").answered(400, Some("Odd"), Some(&"\u{1b}[2J".repeat(1000)));
        assert!(error.message.len() < 1000, "{}", error.message.len());
        assert!(!error.message.contains('\u{1b}'));
    }
}

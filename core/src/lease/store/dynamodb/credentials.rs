//! Credentials, kept apart from the requests: finding them may take longer than a request may, and
//! a request that waits for them would be given up half-way, again and again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};

use super::client::SETUP_TIMEOUT;
use super::errors::{chain, shown};
use super::{DynamoDbConfig, StoreError, StoreErrorKind};

/// Credentials that expire sooner than this are renewed before the next request.
const RENEW_BEFORE: Duration = Duration::from_secs(60);

/// The SDK's chain of providers, and what it last gave.
pub(super) struct Credentials {
    chain: Option<SharedCredentialsProvider>,
    holder: Holder,
}

/// Hands the SDK's client what is held, without waiting.
#[derive(Clone, Default)]
pub(super) struct Holder(Arc<Mutex<Option<aws_credential_types::Credentials>>>);

impl std::fmt::Debug for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Holder")
    }
}

impl ProvideCredentials for Holder {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let held: provider::Result = self.held().ok_or_else(CredentialsError::not_loaded_no_source);
        future::ProvideCredentials::ready(held)
    }
}

impl Holder {
    fn held(&self) -> Option<aws_credential_types::Credentials> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, credentials: aws_credential_types::Credentials) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(credentials);
    }
}

impl Credentials {
    /// Nothing is looked up yet.
    pub(super) fn new(chain: Option<SharedCredentialsProvider>) -> Credentials {
        Credentials { chain, holder: Holder::default() }
    }

    /// The provider for the SDK's client.
    pub(super) fn holder(&self) -> Holder {
        self.holder.clone()
    }

    /// Sees that what is held lasts for the next request. Old credentials that still hold are kept
    /// where no newer ones can be had.
    pub(super) async fn refresh(&self, config: &DynamoDbConfig) -> Result<(), StoreError> {
        let held = self.holder.held();
        let now = SystemTime::now();
        if held.as_ref().is_some_and(|held| lasts_until(held, now + RENEW_BEFORE)) {
            return Ok(());
        }
        match self.look_up(config).await {
            Ok(found) => {
                self.holder.hold(found);
                Ok(())
            }
            Err(error) if held.is_some_and(|held| lasts_until(&held, now)) => {
                tracing::warn!(%error, "AWS credentials were not renewed; going on with the old ones");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn look_up(&self, config: &DynamoDbConfig) -> Result<aws_credential_types::Credentials, StoreError> {
        let Some(chain) = &self.chain else {
            return Err(missing(config, "the SDK has no provider"));
        };
        match tokio::time::timeout(SETUP_TIMEOUT, chain.provide_credentials()).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(explain(config, &error)),
            Err(_) => Err(unavailable(config, &format!("no answer within {} s", SETUP_TIMEOUT.as_secs()))),
        }
    }
}

fn lasts_until(credentials: &aws_credential_types::Credentials, then: SystemTime) -> bool {
    credentials.expiry().is_none_or(|expiry| expiry > then)
}

fn explain(config: &DynamoDbConfig, error: &CredentialsError) -> StoreError {
    match error {
        CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_) => {
            missing(config, &chain(error))
        }
        // The metadata service is there and gives nothing to anybody, today and tomorrow.
        _ if chain(error).contains("IMDS is disabled") => missing(config, &chain(error)),
        _ => unavailable(config, &chain(error)),
    }
}

fn missing(config: &DynamoDbConfig, cause: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Rejected,
        format!(
            "table {}: no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give \
             the task, pod or instance an IAM role ({})",
            shown(config.table()),
            shown(cause)
        ),
    )
}

fn unavailable(config: &DynamoDbConfig, cause: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        format!(
            "table {}: AWS credentials could not be had just now: {}; `aws sts get-caller-identity` tries the same",
            shown(config.table()),
            shown(cause)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> DynamoDbConfig {
        DynamoDbConfig::parse("ids").unwrap()
    }

    fn credentials(expires_in: Option<Duration>) -> aws_credential_types::Credentials {
        let expiry = expires_in.map(|expires_in| SystemTime::now() + expires_in);
        aws_credential_types::Credentials::new("key", "secret", None, expiry, "test")
    }

    /// Gives each of its answers once, then says that there are none.
    #[derive(Debug)]
    struct Script(Mutex<Vec<provider::Result>>);

    impl ProvideCredentials for Script {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            let next = self.0.lock().unwrap().pop();
            future::ProvideCredentials::ready(next.unwrap_or_else(|| Err(CredentialsError::not_loaded("none left"))))
        }
    }

    fn scripted(answers: Vec<provider::Result>) -> Credentials {
        Credentials::new(Some(SharedCredentialsProvider::new(Script(Mutex::new(answers)))))
    }

    fn refresh(credentials: &Credentials) -> Result<(), StoreError> {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(credentials.refresh(&config()))
    }

    #[test]
    fn no_credentials_are_rejected_with_the_way_out() {
        let error = refresh(&scripted(vec![])).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Rejected);
        assert!(error.message.contains("AWS_ACCESS_KEY_ID") && error.message.contains("ids"), "{}", error.message);
    }

    #[test]
    fn a_metadata_service_that_forbids_is_no_credentials_and_not_an_outage() {
        // In the words of the SDK.
        let said = "request forbidden: IMDS is disabled or the caller has insufficient permissions.";
        let error = refresh(&scripted(vec![Err(CredentialsError::provider_error(said))])).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Rejected);
    }

    #[test]
    fn a_provider_that_fails_for_now_is_unavailable() {
        let error = refresh(&scripted(vec![Err(CredentialsError::provider_error("sts is down"))])).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.message.contains("sts is down"), "{}", error.message);
    }

    #[test]
    fn credentials_are_looked_up_once_and_again_before_they_expire() {
        let lasting = scripted(vec![Ok(credentials(None))]);
        refresh(&lasting).unwrap();
        refresh(&lasting).expect("held: the script has no second answer");

        let short = Duration::from_secs(30);
        let expiring = scripted(vec![Ok(credentials(None)), Ok(credentials(Some(short)))]);
        refresh(&expiring).unwrap();
        assert!(expiring.holder.held().unwrap().expiry().is_some());
        refresh(&expiring).unwrap();
        assert!(expiring.holder.held().unwrap().expiry().is_none(), "renewed");
    }

    #[test]
    fn credentials_that_still_hold_are_kept_when_no_newer_ones_can_be_had() {
        let expiring = scripted(vec![Ok(credentials(Some(Duration::from_secs(30))))]);
        refresh(&expiring).unwrap();
        refresh(&expiring).expect("30 s are left");
    }
}

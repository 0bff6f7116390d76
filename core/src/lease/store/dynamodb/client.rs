//! The runtime, the HTTP client and the SDK's client: made lazily, owned by one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{
    AppName, ConfigBag, IdentityCache, Intercept, Region, RuntimeComponents, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

use super::credentials::Credentials;
use super::{DynamoDbConfig, Session, StoreError, StoreErrorKind, http};

/// Finding the region and the credentials may ask a metadata service or run a process.
pub(super) const SETUP_TIMEOUT: Duration = Duration::from_secs(5);

/// A runtime in the calling thread, and a client on it.
pub(super) struct Connection {
    /// `Some` until dropped.
    pub(super) runtime: OwnedRuntime,
    client: Client,
    credentials: Credentials,
    region: String,
}

impl Connection {
    /// Finds region and credentials by the SDK's chain; connects to nothing else.
    pub(super) fn open(config: &DynamoDbConfig) -> Result<Connection, StoreError> {
        http::load_trusted_roots();
        let runtime = OwnedRuntime::new()?;
        let (client, credentials, region) = runtime.block_on(async {
            let loading = tokio::time::timeout(SETUP_TIMEOUT, load(config)).await;
            loading.unwrap_or_else(|_| {
                let message = format!(
                    "the AWS region was not found within {} s: add ?region= to the store or set AWS_REGION",
                    SETUP_TIMEOUT.as_secs()
                );
                Err(StoreError::new(StoreErrorKind::Unavailable, message))
            })
        })?;
        Ok(Connection { runtime, client, credentials, region })
    }

    /// What an operation works with.
    pub(super) fn session<'a>(&'a self, config: &'a DynamoDbConfig) -> Session<'a> {
        Session { client: &self.client, config, region: &self.region }
    }

    /// Sees that the credentials last for the next call.
    pub(super) fn refresh_credentials(&mut self, config: &DynamoDbConfig) -> Result<(), StoreError> {
        let refresh = self.credentials.refresh(config);
        self.runtime.block_on(refresh)
    }

    /// Lets the connection's task see what happened since the last call: between calls nobody runs
    /// it, so a connection that the other side closed would be noticed only by a failed request.
    pub(super) fn notice_closed_sockets(&self) {
        self.runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
    }
}

/// A runtime whose drop never waits: a name server that does not answer would hold it for long.
pub(super) struct OwnedRuntime(Option<tokio::runtime::Runtime>);

impl OwnedRuntime {
    fn new() -> Result<OwnedRuntime, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // The one helper thread, for the system's name lookup, which blocks.
            .max_blocking_threads(1)
            .thread_name("leaseflake-dns")
            .build();
        match runtime {
            Ok(runtime) => Ok(OwnedRuntime(Some(runtime))),
            Err(error) => Err(StoreError::new(
                StoreErrorKind::Unavailable,
                format!("no event loop for DynamoDB: {error}; check the limit of open files"),
            )),
        }
    }

    /// Runs a future to its end in the calling thread.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.as_ref().expect("taken only by drop").block_on(future)
    }
}

impl Drop for OwnedRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

async fn load(config: &DynamoDbConfig) -> Result<(Client, Credentials, String), StoreError> {
    let http = http::client();
    let named = config.region().map(|region| Region::new(region.to_owned()));
    let near = RegionProviderChain::first_try(named)
        .or_else(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new());
    let region = match near.region().await {
        Some(region) => Some(region),
        // An endpoint that was named needs a region only to sign: no metadata service is asked.
        None if has_endpoint(config) => Some(Region::from_static("us-east-1")),
        None => {
            aws_config::imds::region::ImdsRegionProvider::builder()
                .configure(
                    &aws_config::provider_config::ProviderConfig::without_region().with_http_client(http.clone()),
                )
                .build()
                .region()
                .await
        }
    };
    let Some(region) = region else {
        return Err(StoreError::new(
            StoreErrorKind::InvalidArgument,
            "no AWS region: add ?region=REGION to the store, or set AWS_REGION",
        ));
    };
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(config.timeout())
        .operation_attempt_timeout(config.timeout())
        .operation_timeout(config.timeout())
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .http_client(http)
        .region(region.clone())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    if let Ok(name) = AppName::new("leaseflake") {
        loader = loader.app_name(name);
    }
    let shared = loader.load().await;
    let credentials = Credentials::new(shared.credentials_provider());
    let mut sdk = aws_sdk_dynamodb::config::Builder::from(&shared)
        // The keeper decides what to do about a write whose answer is lost, and when to ask again.
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .identity_cache(IdentityCache::no_cache())
        .credentials_provider(credentials.holder());
    if let Some(endpoint) = config.endpoint() {
        sdk = sdk.endpoint_url(endpoint);
    }
    Ok((Client::from_conf(sdk.build()), credentials, region.to_string()))
}

/// Whether somebody names the address to ask, instead of the region.
pub(super) fn has_endpoint(config: &DynamoDbConfig) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    config.endpoint().is_some() || set("AWS_ENDPOINT_URL_DYNAMODB") || set("AWS_ENDPOINT_URL")
}

/// Notes the `Date` of the newest answer, whatever it says.
#[derive(Clone, Debug)]
pub(super) struct DateProbe(Arc<AtomicI64>);

const NO_DATE: i64 = i64::MIN;

impl Default for DateProbe {
    fn default() -> DateProbe {
        DateProbe(Arc::new(AtomicI64::new(NO_DATE)))
    }
}

impl DateProbe {
    /// The registry's time, in milliseconds since the Unix epoch, at 1 s resolution.
    pub(super) fn date_ms(&self) -> Option<i64> {
        let date_ms = self.0.load(Ordering::Relaxed);
        (date_ms != NO_DATE).then_some(date_ms)
    }
}

impl Intercept for DateProbe {
    fn name(&self) -> &'static str {
        "LeaseflakeDateProbe"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").and_then(parse_date_ms);
        self.0.store(date.unwrap_or(NO_DATE), Ordering::Relaxed);
        Ok(())
    }
}

fn parse_date_ms(text: &str) -> Option<i64> {
    DateTime::from_str(text, Format::HttpDate).ok()?.to_millis().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_milliseconds_and_nonsense_is_no_date() {
        assert_eq!(parse_date_ms("Thu, 01 Jan 2026 00:00:00 GMT"), Some(1_767_225_600_000));
        for nonsense in ["", "yesterday", "Thu, 99 Jan 2026 00:00:00 GMT", "1767225600"] {
            assert_eq!(parse_date_ms(nonsense), None, "{nonsense}");
        }
    }
}

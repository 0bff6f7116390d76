//! The SDK's HTTP client: TLS by ring, said explicitly, so that nothing is installed process-wide
//! for the host to stumble over; and a proxy for HTTPS where the environment names one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// Longer than any heartbeat interval in use, so that a connection is there when it is needed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A client of its own: nothing in it is shared with another store.
pub(super) fn client() -> SharedHttpClient {
    SharedHttpClient::new(RingClient::default())
}

/// The SDK loads the system's certificates once for a process, behind a lock that a fork must not
/// copy half-way: every child would wait for it for ever.
pub(super) fn load_trusted_roots() {
    let _no_fork_meanwhile = crate::fork::sqlite_section();
    drop(Connector::builder().tls_provider(ring()).build());
}

fn ring() -> tls::Provider {
    tls::Provider::Rustls(CryptoMode::Ring)
}

/// One connector for each pair of time-outs: the SDK asks anew for every request.
#[derive(Debug, Default)]
struct RingClient(Mutex<Vec<(TimeOuts, SharedHttpConnector)>>);

type TimeOuts = (Option<Duration>, Option<Duration>);

impl HttpClient for RingClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let wanted = (settings.connect_timeout(), settings.read_timeout());
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, connector)) = made.iter().find(|(time_outs, _)| *time_outs == wanted) {
            return connector.clone();
        }
        let mut builder = Connector::builder()
            .tls_provider(ring())
            .connector_settings(settings.clone())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .proxy_config(proxy(|name| std::env::var(name).ok()));
        builder.set_sleep_impl(components.sleep_impl());
        let connector = SharedHttpConnector::new(builder.build());
        made.push((wanted, connector.clone()));
        connector
    }
}

/// The proxy for HTTPS. Plain HTTP is for neighbours (metadata services, emulators, VPC endpoints),
/// which no proxy can reach.
fn proxy(variable: impl Fn(&str) -> Option<String>) -> ProxyConfig {
    let get = |names: [&str; 2]| names.into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let Some(url) = get(["HTTPS_PROXY", "https_proxy"]).or_else(|| get(["ALL_PROXY", "all_proxy"])) else {
        return ProxyConfig::disabled();
    };
    match ProxyConfig::https(url) {
        Ok(proxy) => proxy.no_proxy(get(["NO_PROXY", "no_proxy"]).unwrap_or_default()),
        Err(error) => {
            tracing::warn!("the proxy of the environment is left out: {error}");
            ProxyConfig::disabled()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_used_only_where_the_environment_names_one() {
        let with = |given: &'static [(&str, &str)]| {
            proxy(|name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(with(&[]).is_disabled());
        assert!(with(&[("HTTP_PROXY", "http://proxy:3128")]).is_disabled(), "HTTP is for neighbours");
        assert!(with(&[("HTTPS_PROXY", ""), ("NO_PROXY", "*")]).is_disabled());
        assert!(with(&[("HTTPS_PROXY", "no url at all")]).is_disabled(), "a warning, and no panic");
        assert!(!with(&[("https_proxy", "http://proxy:3128")]).is_disabled());
        assert!(!with(&[("ALL_PROXY", "http://user:secret@proxy:3128")]).is_disabled());
    }
}

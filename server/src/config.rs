//! The options of the service, by name and from text, as the core's are.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use leaseflake::{Error, number_within};

/// The name of each option of the service; `LEASEFLAKE_<NAME>` is its environment variable.
pub const OPTION_NAMES: [&str; 21] = [
    "listen",
    "http_listen",
    "workers",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
    "tls_reload_ms",
    "max_connections",
    "max_streams",
    "max_requests",
    "request_timeout_ms",
    "keepalive_interval_ms",
    "keepalive_timeout_ms",
    "max_connection_age_ms",
    "max_connection_age_grace_ms",
    "handshake_timeout_ms",
    "drain_ms",
    "grace_ms",
    "caller_labels",
    "log_format",
    "log",
];

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What the service is started with; how it holds its worker IDs is in [`leaseflake::Options`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Where gRPC listens. Default 127.0.0.1:50051; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where `/livez`, `/readyz` and `/metrics` are; `None` = nowhere. Default 127.0.0.1:50052.
    pub http_listen: Option<SocketAddr>,
    /// How many worker IDs, each in a slot of its own. Default 1.
    pub workers: u32,
    /// The server's certificate chain, in PEM; with [`tls_key`](Self::tls_key) it turns TLS on.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Who signs clients' certificates, in PEM; then only clients that have one are served.
    pub tls_client_ca: Option<PathBuf>,
    /// How often the three files are looked at. Default 10 s.
    pub tls_reload: Duration,
    /// How many connections at once. Default 10,000.
    pub max_connections: u32,
    /// How many calls at once on one connection. Default 1,024.
    pub max_streams: u32,
    /// How many ID calls at once in all. Default 20,000.
    pub max_requests: u32,
    /// How long an ID call may take, its message included; and how long its answer may stay unread before the
    /// connection is cut off. Default 10 s.
    pub request_timeout: Duration,
    /// How long a connection is silent before it is pinged. Default 30 s; zero = never.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take. Default 10 s.
    pub keepalive_timeout: Duration,
    /// How old a connection grows before its client is asked to connect anew, less up to a tenth.
    /// Default 5 min; zero = no limit.
    pub max_connection_age: Duration,
    /// How long such a connection may still finish its calls. Default 15 s.
    pub max_connection_age_grace: Duration,
    /// How long a client may take from connecting to its first words of HTTP/2. Default 10 s.
    pub handshake_timeout: Duration,
    /// After SIGTERM: how long to go on serving while not ready, so that balancers notice. Default 5 s.
    pub drain: Duration,
    /// After SIGTERM: how long in all until the process ends. Default 20 s.
    pub grace: Duration,
    /// How many distinct `caller_service` have a metric of their own. Default 64.
    pub caller_labels: u32,
    /// How log lines look. Default text.
    pub log_format: LogFormat,
    /// Which log lines: `off`, `error`, `warn`, `info`, `debug`, `trace`, or a filter. Default `info`.
    pub log: String,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            http_listen: Some(SocketAddr::from(([127, 0, 0, 1], 50052))),
            workers: 1,
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            tls_reload: Duration::from_secs(10),
            max_connections: 10_000,
            max_streams: 1_024,
            max_requests: 20_000,
            request_timeout: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
            max_connection_age: Duration::from_secs(300),
            max_connection_age_grace: Duration::from_secs(15),
            handshake_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            grace: Duration::from_secs(20),
            caller_labels: 64,
            log_format: LogFormat::Text,
            log: "info".to_owned(),
        }
    }
}

/// A day, in milliseconds: the most that any span may be.
const DAY_MS: u64 = 86_400_000;

impl ServerOptions {
    /// The defaults.
    pub fn new() -> ServerOptions {
        ServerOptions::default()
    }

    /// Sets one option by name, from text.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for an unknown name or a value that is not allowed.
    pub fn set(&mut self, name: &str, text: &str) -> Result<&mut ServerOptions, Error> {
        match name {
            "listen" => self.listen = address(name, text)?,
            "http_listen" => self.http_listen = if text == "off" { None } else { Some(http_address(name, text)?) },
            "workers" => self.workers = number_within(name, text, 1, 1024)? as u32,
            "tls_cert" => self.tls_cert = Some(path(name, text)?),
            "tls_key" => self.tls_key = Some(path(name, text)?),
            "tls_client_ca" => self.tls_client_ca = Some(path(name, text)?),
            "tls_reload_ms" => self.tls_reload = span(name, text, 100)?,
            "max_connections" => self.max_connections = number_within(name, text, 1, 1_000_000)? as u32,
            "max_streams" => self.max_streams = number_within(name, text, 1, 1_000_000)? as u32,
            "max_requests" => self.max_requests = number_within(name, text, 1, 10_000_000)? as u32,
            "request_timeout_ms" => self.request_timeout = span(name, text, 1)?,
            "keepalive_interval_ms" => self.keepalive_interval = span(name, text, 0)?,
            "keepalive_timeout_ms" => self.keepalive_timeout = span(name, text, 1)?,
            "max_connection_age_ms" => self.max_connection_age = span(name, text, 0)?,
            "max_connection_age_grace_ms" => self.max_connection_age_grace = span(name, text, 0)?,
            "handshake_timeout_ms" => self.handshake_timeout = span(name, text, 1)?,
            "drain_ms" => self.drain = span(name, text, 0)?,
            "grace_ms" => self.grace = span(name, text, 0)?,
            "caller_labels" => self.caller_labels = number_within(name, text, 0, 10_000)? as u32,
            "log_format" => self.log_format = log_format(name, text)?,
            "log" => self.log = crate::log::checked(name, text)?.to_owned(),
            _ => {
                let known = OPTION_NAMES.join(", ");
                return Err(Error::invalid("option of the service", name, known));
            }
        }
        Ok(self)
    }

    /// Options as a command has them: each as given, else from `LEASEFLAKE_<NAME>` where that is set and not
    /// empty, else its default.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`, naming the option or the variable.
    pub fn with_environment(given: impl Fn(&str) -> Option<String>) -> Result<ServerOptions, Error> {
        let mut options = ServerOptions::new();
        for name in OPTION_NAMES {
            if let Some(text) = given(name) {
                options.set(name, &text)?;
                continue;
            }
            let variable = format!("LEASEFLAKE_{}", name.to_uppercase());
            let Some(text) = std::env::var_os(&variable).filter(|text| !text.is_empty()) else { continue };
            let text =
                text.to_str().ok_or_else(|| Error::invalid(&variable, text.to_string_lossy(), "text in UTF-8"))?;
            let named = |error: Error| Error::new(error.code(), format!("{variable}: {}", error.message()));
            options.set(name, text).map_err(named)?;
        }
        Ok(options)
    }

    /// Refuses what makes no sense together.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Error> {
        let given = |path: &Option<PathBuf>| path.as_ref().map_or("", |_| "given");
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            let (missing, other) =
                if self.tls_cert.is_none() { ("tls_cert", "tls_key") } else { ("tls_key", "tls_cert") };
            return Err(Error::invalid(missing, "", format_args!("a file in PEM, since {other} is given")));
        }
        if self.tls_client_ca.is_some() && self.tls_cert.is_none() {
            return Err(Error::invalid("tls_client_ca", given(&self.tls_client_ca), "only with tls_cert and tls_key"));
        }
        Ok(())
    }
}

fn address(name: &str, text: &str) -> Result<SocketAddr, Error> {
    text.parse()
        .map_err(|_| Error::invalid(name, text, "an IP address and a port, such as 0.0.0.0:50051 or [::]:50051"))
}

fn http_address(name: &str, text: &str) -> Result<SocketAddr, Error> {
    text.parse().map_err(|_| Error::invalid(name, text, "an IP address and a port, such as 0.0.0.0:50052, or off"))
}

fn path(name: &str, text: &str) -> Result<PathBuf, Error> {
    if text.is_empty() { Err(Error::invalid(name, text, "the path of a file in PEM")) } else { Ok(text.into()) }
}

fn log_format(name: &str, text: &str) -> Result<LogFormat, Error> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(Error::invalid(name, text, "text, json")),
    }
}

fn span(name: &str, text: &str, least: u64) -> Result<Duration, Error> {
    number_within(name, text, least, DAY_MS).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known_and_a_wrong_value_is_refused_with_name_value_and_what_is_allowed() {
        let mut options = ServerOptions::new();
        for name in OPTION_NAMES {
            let error = options.set(name, "").map(|_| ()).expect_err(name);
            assert!(error.message().contains(name), "{error}");
            assert!(error.message().contains("allowed: "), "{error}");
        }
        let error = options.set("port", "1").map(|_| ()).unwrap_err();
        assert!(error.message().contains("http_listen"), "{error}");
        for (name, text) in [("workers", "0"), ("workers", "-1"), ("listen", "localhost"), ("drain_ms", "86400001")] {
            let error = options.set(name, text).map(|_| ()).unwrap_err();
            assert!(error.message().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let mut options = ServerOptions::new();
        options.set("tls_cert", "cert.pem").unwrap();
        assert!(options.check().unwrap_err().message().contains("tls_key"));
        options.set("tls_key", "key.pem").unwrap();
        options.check().unwrap();
        let mut options = ServerOptions::new();
        options.set("tls_client_ca", "ca.pem").unwrap();
        assert!(options.check().is_err());
    }
}

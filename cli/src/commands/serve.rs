//! `leaseflake serve`: IDs over gRPC, for callers that cannot embed a library.

use clap::Args;
use leaseflake::Error;
use leaseflake_server::ServerOptions;

use crate::args::GeneratorArgs;
use crate::failure::Failure;

/// Serve IDs over gRPC.
///
/// Takes a worker ID in the registry (several with --workers) and serves
/// hispeeddesign.idgen.v1.IdGeneratorService, with health checks and reflection. On SIGTERM it says that
/// it is not ready, drains, gives the worker IDs back and ends with 0; on Ctrl-C it skips the draining.
#[derive(Args)]
#[command(after_help = "Examples:
  leaseflake serve
  leaseflake serve --listen 0.0.0.0:50051 --store dynamodb://WorkerNodeRegistryTable --workers 2
  leaseflake serve --tls-cert server.pem --tls-key server.key --tls-client-ca clients.pem")]
pub(crate) struct Serve {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    generator: GeneratorArgs,
}

/// How the service serves.
#[derive(Args)]
#[command(next_help_heading = "Service")]
struct ServiceArgs {
    /// Where gRPC listens; port 0 takes a free one [default: 127.0.0.1:50051] [env: LEASEFLAKE_LISTEN]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Where /livez, /readyz and /metrics are, or `off` [default: 127.0.0.1:50052] [env: LEASEFLAKE_HTTP_LISTEN]
    #[arg(long, value_name = "ADDRESS:PORT")]
    http_listen: Option<String>,
    /// How many worker IDs, in slots from --slot on: N x 4,096,000 IDs/s [default: 1] [env: LEASEFLAKE_WORKERS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    workers: Option<String>,
    /// The server's certificate chain, in PEM; with --tls-key it turns TLS on [env: LEASEFLAKE_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// The private key of the certificate, in PEM [env: LEASEFLAKE_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// Serve only clients whose certificates these sign, in PEM [env: LEASEFLAKE_TLS_CLIENT_CA]
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<String>,
    /// How often the TLS files are looked at for changes [default: 10000] [env: LEASEFLAKE_TLS_RELOAD_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    tls_reload_ms: Option<String>,
    /// How many connections at once [default: 10000] [env: LEASEFLAKE_MAX_CONNECTIONS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_connections: Option<String>,
    /// How many calls at once on one connection [default: 1024] [env: LEASEFLAKE_MAX_STREAMS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_streams: Option<String>,
    /// How many ID calls at once; more are RESOURCE_EXHAUSTED [default: 20000] [env: LEASEFLAKE_MAX_REQUESTS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_requests: Option<String>,
    /// How long an ID call may take, and its answer stay unread; a shorter deadline of the client wins [default: 10000] [env: LEASEFLAKE_REQUEST_TIMEOUT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    request_timeout_ms: Option<String>,
    /// Ping a connection that is silent this long; 0 = never [default: 30000] [env: LEASEFLAKE_KEEPALIVE_INTERVAL_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    keepalive_interval_ms: Option<String>,
    /// Drop a connection whose answer to a ping takes longer [default: 10000] [env: LEASEFLAKE_KEEPALIVE_TIMEOUT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    keepalive_timeout_ms: Option<String>,
    /// Ask clients to connect anew after this long, less up to a tenth, so that a balancer spreads them again; 0 = never [default: 300000] [env: LEASEFLAKE_MAX_CONNECTION_AGE_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    max_connection_age_ms: Option<String>,
    /// How long such a connection may finish its calls [default: 15000] [env: LEASEFLAKE_MAX_CONNECTION_AGE_GRACE_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    max_connection_age_grace_ms: Option<String>,
    /// How long a client may take until it speaks HTTP/2 [default: 10000] [env: LEASEFLAKE_HANDSHAKE_TIMEOUT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    handshake_timeout_ms: Option<String>,
    /// On SIGTERM, go on serving this long while not ready, so that balancers notice [default: 5000] [env: LEASEFLAKE_DRAIN_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    drain_ms: Option<String>,
    /// On SIGTERM, end within this time in all [default: 20000] [env: LEASEFLAKE_GRACE_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    grace_ms: Option<String>,
    /// How many distinct caller_service have a metric of their own [default: 64] [env: LEASEFLAKE_CALLER_LABELS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    caller_labels: Option<String>,
    /// `text` or `json` [default: text] [env: LEASEFLAKE_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// off, error, warn, info, debug, trace, or a filter such as info,leaseflake=debug [default: info] [env: LEASEFLAKE_LOG]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
}

impl ServiceArgs {
    /// The options with the environment beneath them.
    fn options(&self) -> Result<ServerOptions, Error> {
        ServerOptions::with_environment(|name| self.given(name).cloned())
    }

    fn given(&self, name: &str) -> Option<&String> {
        let given = match name {
            "listen" => &self.listen,
            "http_listen" => &self.http_listen,
            "workers" => &self.workers,
            "tls_cert" => &self.tls_cert,
            "tls_key" => &self.tls_key,
            "tls_client_ca" => &self.tls_client_ca,
            "tls_reload_ms" => &self.tls_reload_ms,
            "max_connections" => &self.max_connections,
            "max_streams" => &self.max_streams,
            "max_requests" => &self.max_requests,
            "request_timeout_ms" => &self.request_timeout_ms,
            "keepalive_interval_ms" => &self.keepalive_interval_ms,
            "keepalive_timeout_ms" => &self.keepalive_timeout_ms,
            "max_connection_age_ms" => &self.max_connection_age_ms,
            "max_connection_age_grace_ms" => &self.max_connection_age_grace_ms,
            "handshake_timeout_ms" => &self.handshake_timeout_ms,
            "drain_ms" => &self.drain_ms,
            "grace_ms" => &self.grace_ms,
            "caller_labels" => &self.caller_labels,
            "log_format" => &self.log_format,
            "log" => &self.log,
            _ => return None,
        };
        given.as_ref()
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let options = self.service.options()?;
        leaseflake_server::run(options, self.generator.options()?).map_err(Failure::from)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use leaseflake_server::OPTION_NAMES;

    #[test]
    fn every_option_of_the_service_has_a_flag_whose_help_names_its_variable() {
        let cli = crate::Cli::command();
        let serve = cli.find_subcommand("serve").unwrap();
        for name in OPTION_NAMES.iter().chain(&leaseflake::OPTION_NAMES) {
            let flag = name.replace('_', "-");
            let argument = serve.get_arguments().find(|argument| argument.get_long() == Some(flag.as_str()));
            let help = argument.unwrap_or_else(|| panic!("no --{flag}")).get_help().unwrap().to_string();
            assert!(help.contains(&format!("[env: LEASEFLAKE_{}]", name.to_uppercase())), "{help}");
        }
    }
}

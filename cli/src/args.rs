//! The options of a registry and of a generator: one flag each, checked by the core alone, so that
//! the command says what every language says.

use clap::Args;
use leaseflake::{Error, Options};

use crate::output;

/// Which registry, and what its IDs look like.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArgs {
    /// The registry that says who owns which worker ID [env: LEASEFLAKE_STORE]
    ///
    /// `dynamodb://TABLE-or-ARN?region=..&endpoint=..` for a fleet, `sqlite:PATH` for one machine,
    /// `sqlite:` for a file in the user's state directory (the default of this command; libraries
    /// have none), `memory:` for tests. IDs are unique among all who use the same registry.
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// `auto`, a number, or a list or range searched in turn, such as 0,2,5-7 [env: LEASEFLAKE_DATACENTER_ID]
    ///
    /// `auto` (the default) is a number frozen for the region of a DynamoDB table (us-east-1 = 0,
    /// us-west-2 = 1, ...), and all datacenters in turn for SQLite.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    datacenter_id: Option<String>,
    #[command(flatten)]
    layout: LayoutArgs,
}

/// How the bits of an ID are divided.
#[derive(Args, Clone, Default)]
pub(crate) struct LayoutArgs {
    /// Widths of timestamp, datacenter, worker and sequence, in bits [default: 41-5-5-12] [env: LEASEFLAKE_LAYOUT]
    #[arg(long, value_name = "T-D-W-S", allow_negative_numbers = true)]
    layout: Option<String>,
    /// When timestamps begin, in ms since 1970 [default: 1767225600000, 2026-01-01T00:00:00Z] [env: LEASEFLAKE_EPOCH_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    epoch_ms: Option<String>,
}

/// How a generator holds its worker ID.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Generator")]
pub(crate) struct GeneratorArgs {
    #[command(flatten)]
    registry: RegistryArgs,
    /// Which of several worker IDs of one process [default: 0] [env: LEASEFLAKE_SLOT]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    slot: Option<String>,
    /// Who we are in the registry [default: discovered] [env: LEASEFLAKE_INSTANCE_ID]
    #[arg(long, value_name = "TEXT")]
    instance_id: Option<String>,
    /// Where we are, shown in the registry [default: discovered] [env: LEASEFLAKE_IP_ADDRESS]
    #[arg(long, value_name = "TEXT")]
    ip_address: Option<String>,
    /// How long a new lease lasts [default: 30000] [env: LEASEFLAKE_LEASE_TTL_MS]
    ///
    /// It must be more than heartbeat interval and safety margin together. A holder that crashes
    /// keeps its worker ID this long.
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    lease_ttl_ms: Option<String>,
    /// How far a lease may grow [default: as --lease-ttl-ms] [env: LEASEFLAKE_LEASE_TTL_MAX_MS]
    ///
    /// A lease is as long as its holder has held it, within the two, up to 24 h: it rides out an
    /// outage of the registry that long.
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    lease_ttl_max_ms: Option<String>,
    /// Between two renewals of the lease [default: 10000] [env: LEASEFLAKE_HEARTBEAT_INTERVAL_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    heartbeat_interval_ms: Option<String>,
    /// Between the last ID and the end of the lease [default: 5000] [env: LEASEFLAKE_SAFETY_MARGIN_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    safety_margin_ms: Option<String>,
    /// How long to try to get a worker ID [default: 10000] [env: LEASEFLAKE_ACQUIRE_TIMEOUT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    acquire_timeout_ms: Option<String>,
    /// How long to try to give it back at the end [default: 2000] [env: LEASEFLAKE_CLOSE_TIMEOUT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    close_timeout_ms: Option<String>,
    /// How far ahead of the clock to reserve, and so wait [default: 10] [env: LEASEFLAKE_MAX_WAIT_MS]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    max_wait_ms: Option<String>,
    /// The first sequence number of a millisecond is drawn from 0..=N [default: 0] [env: LEASEFLAKE_SEQUENCE_JITTER]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    sequence_jitter: Option<String>,
}

fn set(options: &mut Options, name: &str, value: Option<&String>) -> Result<(), Error> {
    if let Some(value) = value {
        options.set(name, value)?;
    }
    Ok(())
}

impl LayoutArgs {
    fn add_to(&self, options: &mut Options) -> Result<(), Error> {
        set(options, "layout", self.layout.as_ref())?;
        set(options, "epoch_ms", self.epoch_ms.as_ref())
    }

    /// The options with the environment beneath them.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        let mut options = Options::new();
        self.add_to(&mut options)?;
        options.with_environment()
    }
}

impl RegistryArgs {
    fn add_to(&self, options: &mut Options) -> Result<(), Error> {
        if self.store.as_ref().is_some_and(String::is_empty) {
            // An unset variable in a script must not become the registry of this machine alone.
            return Err(Error::invalid(
                "store",
                "",
                "a registry; leave --store out for the environment's or `sqlite:`",
            ));
        }
        set(options, "store", self.store.as_ref())?;
        set(options, "datacenter_id", self.datacenter_id.as_ref())?;
        self.layout.add_to(options)
    }

    /// The options with the environment beneath them, and the default registry beneath that.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        let mut options = Options::new();
        self.add_to(&mut options)?;
        with_default_store(options)
    }
}

impl GeneratorArgs {
    /// The options with the environment beneath them, and the default registry beneath that.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        let mut options = Options::new();
        self.registry.add_to(&mut options)?;
        for (name, value) in [
            ("slot", &self.slot),
            ("instance_id", &self.instance_id),
            ("ip_address", &self.ip_address),
            ("lease_ttl_ms", &self.lease_ttl_ms),
            ("lease_ttl_max_ms", &self.lease_ttl_max_ms),
            ("heartbeat_interval_ms", &self.heartbeat_interval_ms),
            ("safety_margin_ms", &self.safety_margin_ms),
            ("acquire_timeout_ms", &self.acquire_timeout_ms),
            ("close_timeout_ms", &self.close_timeout_ms),
            ("max_wait_ms", &self.max_wait_ms),
            ("sequence_jitter", &self.sequence_jitter),
        ] {
            set(&mut options, name, value.as_ref())?;
        }
        with_default_store(options)
    }
}

/// Libraries have no default registry, since IDs are unique among its users only. The command has
/// one, for a first try, and says so.
fn with_default_store(options: Options) -> Result<Options, Error> {
    let mut options = options.with_environment()?;
    if options.get("store").is_none() {
        options.set("store", "sqlite:")?;
        output::say(format_args!(
            "no --store given: using {}, the registry of this user on this machine",
            options.resolve_store()?.name()
        ));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use leaseflake::OPTION_NAMES;

    #[test]
    fn every_option_has_a_flag_whose_help_names_its_variable() {
        let cli = crate::Cli::command();
        let generate = cli.find_subcommand("generate").unwrap();
        for name in OPTION_NAMES {
            let flag = name.replace('_', "-");
            let argument = generate.get_arguments().find(|argument| argument.get_long() == Some(flag.as_str()));
            let help = argument.unwrap_or_else(|| panic!("no --{flag}")).get_help().unwrap().to_string();
            assert!(help.contains(&format!("[env: LEASEFLAKE_{}]", name.to_uppercase())), "{help}");
        }
    }
}

//! One configuration for every language: options by name, the environment beneath them.

mod parse;

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Error;
use crate::layout::Layout;
use crate::lease::store::LeaseStore;

pub(crate) use parse::{DatacenterChoice, StoreSpec};
pub use parse::{OPTION_NAMES, number_within};

/// What a generator is opened with. An option that is left out comes from the environment
/// (`LEASEFLAKE_<NAME>`), else from the defaults; only `store` has none.
///
/// Values are checked by [`Options::set`] and again, all together, when a generator is opened.
///
/// ```
/// use leaseflake::Options;
///
/// let mut options = Options::new().store("memory:").lease_ttl_ms(60_000);
/// options.set("heartbeat_interval_ms", "20000").unwrap();
/// assert!(options.set("heartbeat", "1").is_err());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl Options {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(mut self, value: $type) -> Options {
                self.values.insert(stringify!($name), value.to_string());
                self
            })*
        }
    };
}

setters! {
    /// The registry: `dynamodb://TABLE-or-ARN?region=..&endpoint=..`, `sqlite:PATH`, `sqlite:` (a
    /// file in the user's state directory) or `memory:` (tests). IDs are unique among all who use
    /// the same registry.
    store: impl fmt::Display;
    /// `auto`, a number, a list or a range (`0,2,5-7`) searched in turn. Default `auto`.
    datacenter_id: impl fmt::Display;
    /// Which of several worker IDs of this process, from 0. Default 0.
    slot: u32;
    /// Who we are in the registry. Default: discovered.
    instance_id: impl fmt::Display;
    /// Where we are, shown in the registry. Default: discovered.
    ip_address: impl fmt::Display;
    /// How long a new holder's lease lasts, in ms. Default 30000.
    lease_ttl_ms: u64;
    /// How long a lease may grow, in ms, up to 24 h. Default: as `lease_ttl_ms`.
    lease_ttl_max_ms: u64;
    /// Between heartbeats, in ms. Default 10000.
    heartbeat_interval_ms: u64;
    /// Between the last ID and the end of the lease, in ms. Default 5000.
    safety_margin_ms: u64;
    /// How long `open` may try, in ms. Default 10000.
    acquire_timeout_ms: u64;
    /// How long `close` tries to release before it lets the lease expire, in ms. Default 2000.
    close_timeout_ms: u64;
    /// How far ahead of the clock a call may reserve, and so wait, in ms. Default 10.
    max_wait_ms: u64;
    /// The epoch, in ms since the Unix epoch. Pinned in the registry. Default 1767225600000.
    epoch_ms: i64;
    /// The widths, such as `41-5-5-12`. Pinned in the registry.
    layout: impl fmt::Display;
    /// The first sequence number of a fresh millisecond is drawn from 0..=jitter. Default 0.
    sequence_jitter: u32;
}

impl Options {
    /// No options: everything from the environment and the defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets one option by name, from text. An empty text leaves the option to the environment.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for an unknown name or a value that can never be right.
    pub fn set(&mut self, name: &str, text: &str) -> Result<&mut Options, Error> {
        let known = parse::known_name(name)?;
        if text.is_empty() {
            self.values.remove(known);
            return Ok(self);
        }
        parse::check_value(known, text)?;
        self.values.insert(known, text.to_owned());
        Ok(self)
    }

    /// The value that was given for a name, as text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The same options with those left out taken from `LEASEFLAKE_<NAME>`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for a variable whose value can never be right. Unknown variables with
    /// the prefix are ignored: Kubernetes injects some for a service of that name.
    pub fn with_environment(self) -> Result<Options, Error> {
        self.with_variables(|name| match std::env::var(name) {
            Ok(text) => Ok(Some(text)),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(text)) => {
                Err(Error::invalid(name, text.to_string_lossy(), "text in UTF-8"))
            }
        })
    }

    pub(crate) fn with_variables(
        mut self,
        variable: impl Fn(&str) -> Result<Option<String>, Error>,
    ) -> Result<Options, Error> {
        for name in OPTION_NAMES {
            if self.values.contains_key(name) {
                continue;
            }
            let variable_name = format!("LEASEFLAKE_{}", name.to_uppercase());
            if let Some(text) = variable(&variable_name)?.filter(|text| !text.is_empty()) {
                parse::check_value(name, &text)
                    .map_err(|error| Error::new(error.code(), format!("{variable_name}: {}", error.message())))?;
                self.values.insert(name, text);
            }
        }
        Ok(self)
    }

    /// Whether the options make sense together, as opening a generator asks.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Error> {
        self.resolve().map(drop)
    }

    /// All options checked together, defaults filled in.
    pub(crate) fn resolve(&self) -> Result<Config, Error> {
        parse::resolve(self)
    }

    /// The layout that these options give, defaults filled in.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`.
    pub fn resolve_layout(&self) -> Result<Layout, Error> {
        parse::resolve_layout(self)
    }

    /// The registry that these options name, for administration: nothing is asked yet.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`.
    #[doc(hidden)]
    pub fn resolve_store(&self) -> Result<Box<dyn LeaseStore>, Error> {
        Ok(parse::resolve_store(self)?.build())
    }

    /// The datacenters that these options name; `None` = `auto`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`.
    #[doc(hidden)]
    pub fn resolve_datacenters(&self) -> Result<Option<Vec<u32>>, Error> {
        Ok(parse::resolve_datacenters(self, &self.resolve_layout()?)?.list())
    }
}

/// Shows the options; a store's text holds no secret (credentials come from elsewhere).
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.values).finish()
    }
}

/// All options, checked.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) store: StoreSpec,
    pub(crate) datacenters: DatacenterChoice,
    pub(crate) slot: u32,
    pub(crate) layout: Layout,
    pub(crate) instance_id: Option<String>,
    pub(crate) ip_address: Option<String>,
    pub(crate) lease_ttl_ms: i64,
    pub(crate) lease_ttl_max_ms: i64,
    pub(crate) heartbeat_interval_ms: i64,
    pub(crate) safety_margin_ms: i64,
    pub(crate) sequence_jitter: u32,
    pub(crate) acquire_timeout_ms: u64,
    pub(crate) close_timeout_ms: u64,
    pub(crate) max_wait_ms: u64,
    /// The options as given: a later open must not differ in those that concern the lease.
    pub(crate) given: Options,
}

/// Which options belong to the lease, and so to all handles of a generator.
pub(crate) const SHARED_OPTIONS: [&str; 7] = [
    "instance_id",
    "ip_address",
    "lease_ttl_ms",
    "lease_ttl_max_ms",
    "heartbeat_interval_ms",
    "safety_margin_ms",
    "sequence_jitter",
];

impl Config {
    /// Refuses options that differ from those of the generator that is open already.
    pub(crate) fn agree_with(&self, open: &Config) -> Result<(), Error> {
        for name in SHARED_OPTIONS {
            if self.given.get(name).is_none() {
                continue;
            }
            // As values: 030000 is 30000.
            let (new, old) = (self.shown(name), open.shown(name));
            if new != old {
                return Err(Error::invalid(
                    name,
                    new,
                    format_args!(
                        "{old:?}, with which this process has opened {} already (or another `slot`)",
                        self.store.name()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The value in force of an option that all handles share.
    fn shown(&self, name: &str) -> String {
        match name {
            "instance_id" => self.instance_id.clone().unwrap_or_default(),
            "ip_address" => self.ip_address.clone().unwrap_or_default(),
            "lease_ttl_ms" => self.lease_ttl_ms.to_string(),
            "lease_ttl_max_ms" => self.lease_ttl_max_ms.to_string(),
            "heartbeat_interval_ms" => self.heartbeat_interval_ms.to_string(),
            "safety_margin_ms" => self.safety_margin_ms.to_string(),
            _ => self.sequence_jitter.to_string(),
        }
    }
}

//! From text to checked values: one table of names, one place for every limit.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;

use super::{Config, Options};
use crate::error::Error;
use crate::layout::Layout;
#[cfg(feature = "dynamodb")]
use crate::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore};
#[cfg(feature = "sqlite")]
use crate::lease::store::sqlite::SqliteStore;
use crate::lease::store::{LeaseStore, memory};

/// Every option, in the order of the documentation.
pub const OPTION_NAMES: [&str; 15] = [
    "store",
    "datacenter_id",
    "slot",
    "instance_id",
    "ip_address",
    "lease_ttl_ms",
    "lease_ttl_max_ms",
    "heartbeat_interval_ms",
    "safety_margin_ms",
    "acquire_timeout_ms",
    "close_timeout_ms",
    "max_wait_ms",
    "epoch_ms",
    "layout",
    "sequence_jitter",
];

const DAY_MS: u64 = 24 * 3600 * 1000;
/// Longer texts are mistakes, and the registry's items stay small.
const LONGEST_TEXT: usize = 1024;

pub(super) fn known_name(name: &str) -> Result<&'static str, Error> {
    OPTION_NAMES
        .into_iter()
        .find(|known| *known == name)
        .ok_or_else(|| Error::invalid("option name", name, OPTION_NAMES.join(", ")))
}

/// What a numeric option allows.
fn limits(name: &str) -> Option<(u64, u64, u64)> {
    // (least, most, default)
    Some(match name {
        "slot" => (0, 1023, 0),
        "lease_ttl_ms" => (3, DAY_MS, 30_000),
        "lease_ttl_max_ms" => (3, DAY_MS, 30_000),
        "heartbeat_interval_ms" => (1, DAY_MS, 10_000),
        "safety_margin_ms" => (0, DAY_MS, 5_000),
        "acquire_timeout_ms" => (0, DAY_MS, 10_000),
        "close_timeout_ms" => (0, DAY_MS, 2_000),
        "max_wait_ms" => (0, 60_000, 10),
        "sequence_jitter" => (0, (1 << 22) - 1, 0),
        _ => return None,
    })
}

/// Refuses a value that can never be right, whatever the other options are.
pub(super) fn check_value(name: &'static str, text: &str) -> Result<(), Error> {
    if text.len() > LONGEST_TEXT || text.chars().any(char::is_control) {
        return Err(Error::invalid(
            name,
            text,
            format_args!("at most {LONGEST_TEXT} bytes of text without control characters"),
        ));
    }
    match name {
        "store" => StoreSpec::parse(text).map(drop),
        "datacenter_id" => DatacenterChoice::parse(text, 1023).map(drop),
        "layout" => text.parse::<Layout>().map(drop),
        "epoch_ms" => epoch(text).map(drop),
        "instance_id" | "ip_address" => Ok(()),
        _ => number(name, text).map(drop),
    }
}

fn number(name: &str, text: &str) -> Result<u64, Error> {
    let (least, most, _) = limits(name).unwrap_or((0, u64::MAX, 0));
    number_within(name, text, least, most)
}

/// A number of an option, digits alone, within these two. For the options of the command and the service.
///
/// # Errors
///
/// `INVALID_ARGUMENT`, naming the option, the text and what is allowed.
#[doc(hidden)]
pub fn number_within(name: &str, text: &str, least: u64, most: u64) -> Result<u64, Error> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse::<u64>().ok())
        .flatten()
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| Error::invalid(name, text, format_args!("an integer, {least}..={most}")))
}

fn epoch(text: &str) -> Result<Layout, Error> {
    // As strict as the other numbers: `parse` would take a plus sign.
    let digits = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let epoch_ms = digits.then(|| text.parse::<i64>().ok()).flatten().ok_or_else(|| {
        Error::invalid("epoch_ms", text, "an integer: milliseconds since 1970-01-01T00:00:00Z, not in the future")
    })?;
    Layout::default().with_epoch_ms(epoch_ms)
}

fn numeric(options: &Options, name: &'static str) -> Result<u64, Error> {
    match options.get(name) {
        Some(text) => number(name, text),
        None => Ok(limits(name).map_or(0, |(_, _, default)| default)),
    }
}

pub(super) fn resolve_layout(options: &Options) -> Result<Layout, Error> {
    let layout = options.get("layout").map_or_else(|| Ok(Layout::default()), str::parse)?;
    match options.get("epoch_ms") {
        Some(text) => layout.with_epoch_ms(epoch(text)?.epoch_ms()),
        None => Ok(layout),
    }
}

pub(super) fn resolve_store(options: &Options) -> Result<StoreSpec, Error> {
    let text = options.get("store").ok_or_else(|| {
        Error::invalid(
            "store",
            "",
            format_args!(
                "{STORES}; it has no default, for IDs are unique only among those who use the same registry. \
                 Set the option or LEASEFLAKE_STORE"
            ),
        )
    })?;
    StoreSpec::parse(text)
}

pub(super) fn resolve_datacenters(options: &Options, layout: &Layout) -> Result<DatacenterChoice, Error> {
    DatacenterChoice::parse(options.get("datacenter_id").unwrap_or("auto"), layout.max_datacenter_id())
}

pub(super) fn resolve(options: &Options) -> Result<Config, Error> {
    for (name, text) in &options.values {
        check_value(name, text)?;
    }
    let layout = resolve_layout(options)?;
    let lease_ttl_ms = numeric(options, "lease_ttl_ms")?;
    let lease_ttl_max_ms = match options.get("lease_ttl_max_ms") {
        Some(text) => number("lease_ttl_max_ms", text)?,
        None => lease_ttl_ms,
    };
    let heartbeat_interval_ms = numeric(options, "heartbeat_interval_ms")?;
    let safety_margin_ms = numeric(options, "safety_margin_ms")?;
    if heartbeat_interval_ms + safety_margin_ms >= lease_ttl_ms {
        return Err(Error::invalid(
            "lease_ttl_ms",
            lease_ttl_ms,
            format_args!(
                "more than heartbeat_interval_ms + safety_margin_ms = {heartbeat_interval_ms} + {safety_margin_ms}"
            ),
        ));
    }
    if lease_ttl_max_ms < lease_ttl_ms {
        return Err(Error::invalid(
            "lease_ttl_max_ms",
            lease_ttl_max_ms,
            format_args!("at least lease_ttl_ms = {lease_ttl_ms}, at most {DAY_MS}"),
        ));
    }
    let sequence_jitter = numeric(options, "sequence_jitter")? as u32;
    if sequence_jitter > layout.max_sequence() {
        return Err(Error::invalid(
            "sequence_jitter",
            sequence_jitter,
            format_args!("0..={} with layout {layout}", layout.max_sequence()),
        ));
    }
    Ok(Config {
        store: resolve_store(options)?,
        datacenters: resolve_datacenters(options, &layout)?,
        slot: numeric(options, "slot")? as u32,
        layout,
        instance_id: options.get("instance_id").map(str::to_owned),
        ip_address: options.get("ip_address").map(str::to_owned),
        lease_ttl_ms: lease_ttl_ms as i64,
        lease_ttl_max_ms: lease_ttl_max_ms as i64,
        heartbeat_interval_ms: heartbeat_interval_ms as i64,
        safety_margin_ms: safety_margin_ms as i64,
        sequence_jitter,
        acquire_timeout_ms: numeric(options, "acquire_timeout_ms")?,
        close_timeout_ms: numeric(options, "close_timeout_ms")?,
        max_wait_ms: numeric(options, "max_wait_ms")?,
        given: options.clone(),
    })
}

/// Which datacenters to search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DatacenterChoice {
    /// What the registry makes of it.
    Auto,
    /// These, in turn.
    These(Vec<u32>),
}

impl DatacenterChoice {
    pub(super) fn parse(text: &str, most: u32) -> Result<DatacenterChoice, Error> {
        if text == "auto" {
            return Ok(DatacenterChoice::Auto);
        }
        let wrong = || {
            Error::invalid(
                "datacenter_id",
                text,
                format_args!("auto, or 0..={most}, or a list or range such as 0,2,5-7"),
            )
        };
        let one = |text: &str| {
            let digits = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u32>().ok()).flatten().filter(|value| *value <= most).ok_or_else(wrong)
        };
        let mut these: Vec<u32> = Vec::new();
        for part in text.split(',') {
            let (from, to) = match part.split_once('-') {
                Some((from, to)) => (one(from)?, one(to)?),
                None => (one(part)?, one(part)?),
            };
            if from > to {
                return Err(wrong());
            }
            for datacenter_id in from..=to {
                if !these.contains(&datacenter_id) {
                    these.push(datacenter_id);
                }
            }
        }
        Ok(DatacenterChoice::These(these))
    }

    pub(crate) fn list(&self) -> Option<Vec<u32>> {
        match self {
            DatacenterChoice::Auto => None,
            DatacenterChoice::These(these) => Some(these.clone()),
        }
    }
}

const STORES: &str =
    "dynamodb://TABLE-or-ARN?region=..&endpoint=.., sqlite:PATH, sqlite: (the user's state directory), memory:";

/// A registry, by its text.
#[derive(Clone, Debug)]
pub(crate) enum StoreSpec {
    #[cfg(feature = "dynamodb")]
    DynamoDb {
        config: DynamoDbConfig,
        text: String,
    },
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    Memory(String),
}

impl StoreSpec {
    pub(super) fn parse(text: &str) -> Result<StoreSpec, Error> {
        if let Some(rest) = text.strip_prefix("dynamodb://") {
            #[cfg(feature = "dynamodb")]
            return Ok(StoreSpec::DynamoDb { config: DynamoDbConfig::parse(rest)?, text: text.to_owned() });
            #[cfg(not(feature = "dynamodb"))]
            return Err(without_feature("dynamodb", rest));
        }
        if let Some(rest) = text.strip_prefix("sqlite:") {
            #[cfg(feature = "sqlite")]
            {
                let path = if rest.is_empty() { SqliteStore::default_path()? } else { PathBuf::from(rest) };
                // For good: the process may change its directory, and a child of it begin anew in another one.
                return Ok(StoreSpec::Sqlite(std::path::absolute(&path).unwrap_or(path)));
            }
            #[cfg(not(feature = "sqlite"))]
            return Err(without_feature("sqlite", rest));
        }
        match text.strip_prefix("memory:") {
            Some(name) => Ok(StoreSpec::Memory(name.to_owned())),
            None => Err(Error::invalid("store", text, STORES)),
        }
    }

    pub(crate) fn build(&self) -> Box<dyn LeaseStore> {
        match self {
            #[cfg(feature = "dynamodb")]
            StoreSpec::DynamoDb { config, .. } => Box::new(DynamoDbStore::new(config.clone())),
            #[cfg(feature = "sqlite")]
            StoreSpec::Sqlite(path) => Box::new(SqliteStore::new(path.clone())),
            StoreSpec::Memory(name) => Box::new(memory::MemoryStore::named(name)),
        }
    }

    /// Whether its clients run on many machines.
    pub(crate) fn is_of_a_fleet(&self) -> bool {
        match self {
            #[cfg(feature = "dynamodb")]
            StoreSpec::DynamoDb { .. } => true,
            _ => false,
        }
    }

    /// What people call it.
    pub(crate) fn name(&self) -> String {
        match self {
            #[cfg(feature = "dynamodb")]
            StoreSpec::DynamoDb { text, .. } => text.clone(),
            #[cfg(feature = "sqlite")]
            StoreSpec::Sqlite(path) => format!("sqlite:{}", path.display()),
            StoreSpec::Memory(name) => format!("memory:{name}"),
        }
    }

    /// The same text for the same registry, however it was written.
    pub(crate) fn key(&self) -> String {
        #[cfg(feature = "sqlite")]
        if let StoreSpec::Sqlite(path) = self {
            // The file may not exist yet, its folder mostly does.
            let canonical = path.canonicalize().or_else(|error| {
                let (folder, file) = path.parent().zip(path.file_name()).ok_or(error)?;
                folder.canonicalize().map(|folder| folder.join(file))
            });
            return format!("sqlite:{}", canonical.as_ref().unwrap_or(path).display());
        }
        self.name()
    }
}

#[cfg(not(all(feature = "dynamodb", feature = "sqlite")))]
fn without_feature(feature: &str, _rest: &str) -> Error {
    Error::invalid("store", feature, format_args!("a store that this build has; it was built without `{feature}`"))
}

#[cfg(all(test, feature = "sqlite", not(leaseflake_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_of_the_directory_in_which_it_was_given() {
        let here = std::env::current_dir().expect("tests have a directory");
        let spec = StoreSpec::parse("sqlite:some/ids.db").expect("a path like any other");
        // A child that builds it again may be in another directory by then.
        assert_eq!(spec.name(), format!("sqlite:{}", here.join("some/ids.db").display()));
    }
}

//! Items of the table, to and from what the keeper knows.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::errors::shown;
use super::{DynamoDbConfig, MAX_WARNINGS, StoreError, StoreErrorKind};
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, LayoutPin, LeaseRecord, TableIdentity};

/// An item as the SDK has it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// The partition key's name.
pub(super) const PK: &str = "PK";
/// The sort key's name.
pub(super) const SK: &str = "SK";
/// The sort key of the pinned layout.
pub(super) const LAYOUT: &str = "LAYOUT";

const WORKER_PREFIX: &str = "WORKER#";
const INSTANCE: &str = "instance_id";
const IP: &str = "ip_address";
const EXPIRY: &str = "lease_expiry_ts";
const EPOCH: &str = "fencing_epoch";
const VERSION: &str = "version";
const RENEWAL: &str = "renewal_id";

/// `DC#01`.
pub(super) fn partition_key(datacenter_id: u32) -> String {
    format!("DC#{datacenter_id:02}")
}

/// `WORKER#04`.
pub(super) fn worker_sort_key(worker_id: u32) -> String {
    format!("{WORKER_PREFIX}{worker_id:02}")
}

/// The worker ID that a sort key names; `None` for anything that we would not write.
fn worker_of_sort_key(sort_key: &str) -> Option<u32> {
    let worker_id = sort_key.strip_prefix(WORKER_PREFIX)?.parse().ok()?;
    (worker_sort_key(worker_id) == sort_key).then_some(worker_id)
}

/// A number as DynamoDB takes it.
pub(super) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// The key of a worker item.
pub(super) fn worker_key(datacenter_id: u32, worker_id: u32) -> Item {
    key(datacenter_id, &worker_sort_key(worker_id))
}

/// The key of an item.
pub(super) fn key(datacenter_id: u32, sort_key: &str) -> Item {
    HashMap::from([(PK.to_owned(), text(partition_key(datacenter_id))), (SK.to_owned(), text(sort_key))])
}

/// The placeholders that worker expressions use for attribute names, so that no reserved word of
/// DynamoDB, now or later, gets in the way.
pub(super) fn worker_names() -> HashMap<String, String> {
    [
        ("#instance", INSTANCE),
        ("#ip", IP),
        ("#expiry", EXPIRY),
        ("#epoch", EPOCH),
        ("#version", VERSION),
        ("#renewal", RENEWAL),
    ]
    .into_iter()
    .map(|(placeholder, name)| (placeholder.to_owned(), name.to_owned()))
    .collect()
}

/// The placeholders that worker expressions use for new values.
pub(super) fn worker_values(record: &LeaseRecord) -> Item {
    HashMap::from([
        (":instance".to_owned(), text(&record.instance_id)),
        (":ip".to_owned(), text(&record.ip_address)),
        (":expiry".to_owned(), number(record.lease_expiry_ts)),
        (":epoch".to_owned(), number(record.fencing_epoch)),
        (":version".to_owned(), number(record.version)),
        (":renewal".to_owned(), text(&record.renewal_id)),
    ])
}

/// A whole worker item.
pub(super) fn worker_item(datacenter_id: u32, record: &LeaseRecord) -> Item {
    let mut item = worker_key(datacenter_id, record.worker_id);
    item.insert(INSTANCE.to_owned(), text(&record.instance_id));
    item.insert(IP.to_owned(), text(&record.ip_address));
    item.insert(EXPIRY.to_owned(), number(record.lease_expiry_ts));
    item.insert(EPOCH.to_owned(), number(record.fencing_epoch));
    item.insert(VERSION.to_owned(), number(record.version));
    item.insert(RENEWAL.to_owned(), text(&record.renewal_id));
    item
}

/// The whole LAYOUT item.
pub(super) fn layout_item(datacenter_id: u32, pin: &LayoutPin) -> Item {
    let mut item = key(datacenter_id, LAYOUT);
    item.insert("layout".to_owned(), text(&pin.layout));
    item.insert("epoch_ms".to_owned(), number(pin.epoch_ms));
    item.insert("region".to_owned(), text(&pin.region));
    item.insert("table_id".to_owned(), text(&pin.table_id));
    item
}

fn read_text(item: &Item, name: &str) -> Result<String, String> {
    match item.get(name) {
        Some(AttributeValue::S(value)) => Ok(value.clone()),
        Some(other) => Err(format!("{name} is {}, not a string", kind_of(other))),
        None => Err(format!("{name} is missing")),
    }
}

fn read_number<T: FromStr>(item: &Item, name: &str) -> Result<T, String> {
    match item.get(name) {
        Some(AttributeValue::N(value)) => {
            value.parse().map_err(|_| format!("{name} is {}, out of range", shown(value)))
        }
        Some(other) => Err(format!("{name} is {}, not a number", kind_of(other))),
        None => Err(format!("{name} is missing")),
    }
}

fn kind_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "a string",
        AttributeValue::N(_) => "a number",
        AttributeValue::Bool(_) => "a boolean",
        AttributeValue::Null(_) => "null",
        AttributeValue::B(_) => "binary",
        AttributeValue::L(_) => "a list",
        AttributeValue::M(_) => "a map",
        _ => "a set",
    }
}

/// The sort key of an item, for messages and for telling items apart.
pub(super) fn sort_key(item: &Item) -> &str {
    item.get(SK).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// The worker item in this item; or what is wrong with it.
pub(super) fn read_worker(item: &Item) -> Result<LeaseRecord, String> {
    let worker_id = worker_of_sort_key(sort_key(item)).ok_or("not an item of ours")?;
    let record = LeaseRecord {
        worker_id,
        // Shown to people only: what is not there is not worth a worker ID.
        instance_id: read_text(item, INSTANCE).unwrap_or_default(),
        ip_address: read_text(item, IP).unwrap_or_default(),
        lease_expiry_ts: read_number(item, EXPIRY)?,
        fencing_epoch: read_number(item, EPOCH)?,
        version: read_number(item, VERSION)?,
        renewal_id: read_text(item, RENEWAL)?,
    };
    if record.is_well_formed() { Ok(record) } else { Err("a number is beyond what Leaseflake writes".to_owned()) }
}

fn read_layout(item: &Item) -> Result<LayoutPin, String> {
    Ok(LayoutPin {
        layout: read_text(item, "layout")?,
        epoch_ms: read_number(item, "epoch_ms")?,
        region: read_text(item, "region")?,
        table_id: read_text(item, "table_id")?,
    })
}

/// A datacenter from all of its items.
pub(super) fn view(
    datacenter_id: u32,
    layout: &Layout,
    found: &[Item],
    config: &DynamoDbConfig,
) -> Result<DatacenterView, StoreError> {
    let mut view = DatacenterView { table: TableIdentity::default(), ..DatacenterView::default() };
    let mut workers = BTreeMap::new();
    let mut skipped = 0_usize;
    for item in found {
        let name = sort_key(item);
        if name == LAYOUT {
            view.layout = Some(read_layout(item).map_err(|problem| {
                // Never taken for "not initialised": that would make a new floor of 0.
                StoreError::new(
                    StoreErrorKind::Rejected,
                    format!(
                        "table {}: the LAYOUT item of datacenter {datacenter_id} is broken ({problem}); stop the \
                         holders and run `leaseflake registry fence --at now --store {}`",
                        shown(config.table()),
                        config.store_argument()
                    ),
                )
            })?);
            continue;
        }
        let problem = match read_worker(item) {
            Ok(record) if record.worker_id <= layout.max_worker_id() => {
                workers.insert(record.worker_id, record);
                continue;
            }
            Ok(_) => format!("beyond layout {layout}"),
            Err(problem) => problem,
        };
        skipped += 1;
        if skipped <= MAX_WARNINGS {
            view.warnings.push(format!("skipped {} {}: {problem}", partition_key(datacenter_id), shown(name)));
        }
    }
    if skipped > MAX_WARNINGS {
        view.warnings.push(format!("skipped {} more items", skipped - MAX_WARNINGS));
    }
    view.workers = workers.into_values().collect();
    Ok(view)
}

/// What initialising must know of a datacenter, broken items included.
pub(super) struct Inventory {
    /// LAYOUT is there, whatever it says.
    pub(super) has_layout: bool,
    /// The worker IDs whose items are there, whatever they say.
    pub(super) workers: BTreeMap<u32, Item>,
    /// Some worker item has been used, or cannot be read.
    pub(super) used: bool,
}

/// What is there.
pub(super) fn inventory(found: Vec<Item>) -> Inventory {
    let mut inventory = Inventory { has_layout: false, workers: BTreeMap::new(), used: false };
    for item in found {
        if sort_key(&item) == LAYOUT {
            inventory.has_layout = true;
        } else if let Some(worker_id) = worker_of_sort_key(sort_key(&item)) {
            inventory.used |= read_worker(&item).map_or(true, |record| record.fencing_epoch > 0);
            inventory.workers.insert(worker_id, item);
        }
    }
    inventory
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> DynamoDbConfig {
        DynamoDbConfig::parse("ids").unwrap()
    }

    fn record() -> LeaseRecord {
        LeaseRecord {
            worker_id: 4,
            instance_id: "i-1".to_owned(),
            ip_address: "10.0.0.1".to_owned(),
            lease_expiry_ts: 1_767_225_600_000,
            fencing_epoch: 7,
            version: 99,
            renewal_id: "abc".to_owned(),
        }
    }

    #[test]
    fn an_item_is_written_as_the_schema_says_and_read_back() {
        let item = worker_item(1, &record());
        assert_eq!(item["PK"], text("DC#01"));
        assert_eq!(item["SK"], text("WORKER#04"));
        assert_eq!(item["lease_expiry_ts"], number(1_767_225_600_000_i64));
        assert_eq!(item["fencing_epoch"], number(7));
        assert_eq!(read_worker(&item), Ok(record()));
        assert_eq!(partition_key(123), "DC#123");
        assert_eq!(worker_sort_key(1023), "WORKER#1023");
    }

    #[test]
    fn only_the_sort_keys_that_we_write_are_ours() {
        for foreign in ["WORKER#4", "WORKER#004", "WORKER#+4", "WORKER#", "worker#04", "WORKER#99999999999", "X"] {
            assert_eq!(worker_of_sort_key(foreign), None, "{foreign}");
        }
        assert_eq!(worker_of_sort_key("WORKER#04"), Some(4));
        assert_eq!(worker_of_sort_key("WORKER#1023"), Some(1023));
    }

    #[test]
    fn foreign_malformed_and_outlying_items_are_skipped_with_a_warning_each() {
        let mut string_for_number = worker_item(0, &LeaseRecord { worker_id: 1, ..record() });
        string_for_number.insert("version".to_owned(), text("99"));
        let mut huge = worker_item(0, &LeaseRecord { worker_id: 2, ..record() });
        huge.insert("fencing_epoch".to_owned(), number("99999999999999999999999999"));
        let mut negative = worker_item(0, &LeaseRecord { worker_id: 3, ..record() });
        negative.insert("lease_expiry_ts".to_owned(), number(-1));
        let outlying = worker_item(0, &LeaseRecord { worker_id: 32, ..record() });
        let foreign = key(0, "\u{1b}[31mSOMETHING");
        let good = worker_item(0, &record());
        let found = [string_for_number, huge, negative, outlying, foreign, good];
        let view = view(0, &Layout::default(), &found, &config()).unwrap();
        assert_eq!(view.workers, vec![record()]);
        assert_eq!(view.warnings.len(), 5, "{:?}", view.warnings);
        let all = view.warnings.join("\n");
        assert!(all.contains("version is a string") && all.contains("beyond layout 41-5-5-12"), "{all}");
        assert!(!all.contains('\u{1b}'), "what others wrote must not reach a terminal as it is");
    }

    #[test]
    fn a_broken_layout_is_an_error_and_never_taken_for_an_uninitialised_datacenter() {
        let broken = key(3, LAYOUT);
        let error = view(3, &Layout::default(), &[broken], &config()).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Rejected);
        assert!(error.message.contains("registry fence"), "{}", error.message);
    }

    #[test]
    fn many_foreign_items_do_not_flood_the_warnings() {
        let found: Vec<Item> = (0..500).map(|at| key(0, &format!("X{at}"))).collect();
        let view = view(0, &Layout::default(), &found, &config()).unwrap();
        assert_eq!(view.warnings.len(), MAX_WARNINGS + 1);
        assert!(view.warnings[MAX_WARNINGS].contains("480"), "{:?}", view.warnings.last());
    }

    #[test]
    fn an_item_that_cannot_be_read_counts_as_used() {
        let mut broken = worker_item(0, &LeaseRecord::unused(0));
        broken.insert("fencing_epoch".to_owned(), text("0"));
        assert!(inventory(vec![broken]).used);
        assert!(!inventory(vec![worker_item(0, &LeaseRecord::unused(0))]).used);
    }
}

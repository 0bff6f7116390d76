//! Rows of a SQLite registry that somebody else wrote: whatever they hold, an answer, and a fence heals it.
//!
//! Each line changes a row: `KEY COLUMN VALUE`, the value as JSON or as `x` and hexadecimal digits.

use std::cell::RefCell;

use leaseflake::Layout;
use leaseflake::lease::pin;
use leaseflake::lease::record::{DatacenterView, LeaseRecord};
use leaseflake::lease::store::{FenceRequest, LeaseStore, LeaseWrite, Reply, Request, StoreError};
use rusqlite::types::Value;

use crate::message::is_fit_to_read;
use crate::registry_file::{DATACENTER, RegistryFile};
use crate::scene;

const COLUMNS: [&str; 10] = [
    "instance_id",
    "ip_address",
    "lease_expiry_ts",
    "fencing_epoch",
    "version",
    "renewal_id",
    "layout",
    "epoch_ms",
    "region",
    "table_id",
];
/// The worker ID that is written to.
const WORKER: u32 = 3;
const FENCED_AT_MS: i64 = 1_800_000_000_000;

thread_local! {
    static REGISTRY: RefCell<Option<RegistryFile>> = const { RefCell::new(None) };
}

/// Changes rows, then reads, initialises, writes and fences.
pub fn sqlite_items(data: &[u8]) {
    scene::on(&REGISTRY, RegistryFile::new, |registry| check(registry, &String::from_utf8_lossy(data)));
}

fn check(registry: &RegistryFile, text: &str) {
    registry.renew();
    change(registry, text).expect("a registry that is new can be opened");
    let mut store = registry.store();
    let layout = Layout::default();
    let read = Request::Read { datacenter_id: DATACENTER, layout };
    let view = match store.call(&read).result {
        Ok(Reply::View(view)) => Some(view),
        Ok(other) => panic!("no answer to a read: {other:?}"),
        Err(error) => refused(&error),
    };
    if let Some(view) = &view {
        check_view(view, registry);
    }
    if let Err(error) = store.call(&Request::Initialise { datacenter_id: DATACENTER, layout }).result {
        refused::<()>(&error);
    }
    write(&mut store, view.as_ref());
    fence(&mut store, &read);
}

/// A write as the holder of what was read would make it, or of an item that is not there.
fn write(store: &mut impl LeaseStore, view: Option<&DatacenterView>) {
    let found = view.and_then(|view| view.workers.iter().find(|item| item.worker_id == WORKER)).cloned();
    let before = found.unwrap_or(LeaseRecord { version: 1, ..LeaseRecord::unused(WORKER) });
    for missed_by in [1, 0] {
        let expected_version = before.version + missed_by;
        let next = LeaseRecord { version: expected_version + 1, renewal_id: "ours".to_owned(), ..before.clone() };
        let write = LeaseWrite {
            datacenter_id: DATACENTER,
            expected_epoch: before.fencing_epoch,
            expected_version,
            expired_before: None,
            next,
        };
        match store.call(&Request::Write(write.clone())).result {
            Ok(Reply::Refused(Some(item))) => {
                assert!(item.worker_id == WORKER && item.is_well_formed() && !write.allows(&item), "{item:?}");
            }
            Ok(Reply::Refused(None)) => {}
            Ok(Reply::Applied) => assert_eq!(missed_by, 0, "another version was written over: {before:?}"),
            Ok(other) => panic!("no answer to a write: {other:?}"),
            Err(error) => drop(refused::<()>(&error)),
        }
    }
}

/// Whatever was there, a fence leaves a datacenter that can be used, above its floor.
fn fence(store: &mut impl LeaseStore, read: &Request) {
    let layout = Layout::default();
    let fence = FenceRequest { datacenter_id: DATACENTER, layout, at_ms: FENCED_AT_MS, worker_id: None, lower: false };
    assert_eq!(store.call(&Request::Fence(fence)).result, Ok(Reply::Applied), "a fence heals what items hold");
    let Ok(Reply::View(view)) = store.call(read).result else { panic!("nobody can read it after a fence") };
    assert_eq!(view.workers.len(), layout.max_worker_id() as usize + 1);
    let is_fenced = |item: &LeaseRecord| item.lease_expiry_ts >= FENCED_AT_MS && item.is_released();
    assert!(view.workers.iter().all(is_fenced), "{:?}", view.workers);
    pin::check(&view, DATACENTER, &layout, "it").expect("it is pinned anew");
}

fn check_view(view: &DatacenterView, registry: &RegistryFile) {
    let layout = Layout::default();
    for item in &view.workers {
        assert!(item.worker_id <= layout.max_worker_id() && item.is_well_formed(), "{item:?}");
    }
    assert!(view.workers.is_sorted_by(|one, next| one.worker_id < next.worker_id), "{view:?}");
    view.warnings.iter().for_each(|warning| is_fit_to_read(warning));
    assert_eq!(view.table.table_id, registry.id());
    if let Err(error) = pin::check(view, DATACENTER, &layout, &registry.store().name()) {
        is_fit_to_read(&error.message);
    }
}

fn refused<T>(error: &StoreError) -> Option<T> {
    is_fit_to_read(&error.message);
    assert!(error.message.contains("registry.db"), "which file? {error}");
    None
}

/// What SQLite itself refuses is not ours.
fn change(registry: &RegistryFile, text: &str) -> rusqlite::Result<()> {
    let mut connection = rusqlite::Connection::open(registry.path())?;
    let transaction = connection.transaction()?;
    for line in text.split('\n') {
        let mut words = line.splitn(3, ' ');
        let (Some(key), Some(column), Some(text)) = (words.next(), words.next(), words.next()) else { continue };
        let (Some(column), Some(value)) = (COLUMNS.iter().find(|known| **known == column), value(text)) else {
            continue;
        };
        let _ = transaction.execute(
            &format!(
                "INSERT INTO WorkerNodeRegistryTable (PK, SK, {column}) VALUES ('DC#00', ?1, ?2) \
                 ON CONFLICT DO UPDATE SET {column} = ?2"
            ),
            rusqlite::params![key, value],
        );
    }
    transaction.commit()
}

fn value(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix('x') {
        return bytes(digits).map(Value::Blob);
    }
    match serde_json::from_str(text).ok()? {
        serde_json::Value::Null => Some(Value::Null),
        serde_json::Value::Number(number) => {
            Some(number.as_i64().map_or_else(|| Value::Real(number.as_f64().unwrap_or_default()), Value::Integer))
        }
        serde_json::Value::String(text) => Some(Value::Text(text)),
        _ => None,
    }
}

/// Bytes from pairs of hexadecimal digits.
pub(crate) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8);
    digits.as_bytes().chunks(2).map(pair).collect()
}

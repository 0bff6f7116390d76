//! The rows of the table: keys, items, pins, and what is skipped.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::fault::Failure;
use super::file;
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, LayoutPin, LeaseRecord, TableIdentity};

/// How many skipped items are named one by one.
const MOST_WARNINGS: usize = 20;

pub(super) fn partition(datacenter_id: u32) -> String {
    format!("DC#{datacenter_id:02}")
}

pub(super) fn worker_key(worker_id: u32) -> String {
    format!("WORKER#{worker_id:02}")
}

fn worker_of(key: &str) -> Option<u32> {
    let worker_id = key.strip_prefix("WORKER#")?.parse().ok()?;
    // One spelling per worker ID: `WORKER#4` beside `WORKER#04` is somebody else's.
    (worker_key(worker_id) == key).then_some(worker_id)
}

/// The pin of a datacenter; `None` = not initialised.
pub(super) fn pin(transaction: &Transaction<'_>, datacenter_id: u32) -> Result<Option<LayoutPin>, Failure> {
    let sql = "SELECT layout, epoch_ms, region, table_id FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = 'LAYOUT'";
    let read = |row: &Row<'_>| {
        Ok(LayoutPin { layout: row.get(0)?, epoch_ms: row.get(1)?, region: row.get(2)?, table_id: row.get(3)? })
    };
    transaction.query_row(sql, [partition(datacenter_id)], read).optional().map_err(|error| match error {
        // Not ours to guess: an item that starts over would forget what was issued.
        rusqlite::Error::SqliteFailure(..) => Failure::from(error),
        _ => Failure::rejected(format!(
            "its LAYOUT of datacenter {datacenter_id} is malformed ({error}): stop all holders and run `leaseflake \
             registry fence`"
        )),
    })
}

/// The pin, which must be there and name this very file.
pub(super) fn checked_pin(
    transaction: &Transaction<'_>,
    datacenter_id: u32,
    table: &TableIdentity,
) -> Result<(), Failure> {
    match pin(transaction, datacenter_id)? {
        Some(pin) if pin.table_id == table.table_id => Ok(()),
        Some(pin) => Err(Failure::gone(file::exchanged(&pin.table_id, &table.table_id))),
        None => Err(Failure::gone(format!(
            "datacenter {datacenter_id} has no LAYOUT: it was never initialised, or LAYOUT was deleted (then stop all \
             holders and run `leaseflake registry fence`)"
        ))),
    }
}

const COLUMNS: &str = "SK, instance_id, ip_address, lease_expiry_ts, fencing_epoch, version, renewal_id";

fn record(row: &Row<'_>, worker_id: u32) -> rusqlite::Result<Option<LeaseRecord>> {
    let number = |column: usize| row.get::<_, i64>(column);
    // A negative number is as malformed as one that is too large.
    let count = |column: usize| Ok::<_, rusqlite::Error>(u64::try_from(number(column)?).unwrap_or(u64::MAX));
    let item = LeaseRecord {
        worker_id,
        instance_id: row.get(1)?,
        ip_address: row.get(2)?,
        lease_expiry_ts: number(3)?,
        fencing_epoch: count(4)?,
        version: count(5)?,
        renewal_id: row.get(6)?,
    };
    Ok(item.is_well_formed().then_some(item))
}

/// The item in this row; `Err` says in one line why it is skipped.
fn item(row: &Row<'_>, max_worker_id: u32) -> Result<Option<LeaseRecord>, String> {
    // Keys come from outside: shown short and without control characters.
    let key: String = row.get(0).map_err(|error| format!("an item was skipped: its key is no text ({error})"))?;
    let shown: String = key.chars().take(40).collect();
    if key == "LAYOUT" {
        return Ok(None);
    }
    let Some(worker_id) = worker_of(&key) else {
        return Err(format!("item {shown:?} was skipped: it is none of ours"));
    };
    if worker_id > max_worker_id {
        return Err(format!("item {shown:?} was skipped: the layout ends at worker {max_worker_id}"));
    }
    match record(row, worker_id) {
        Ok(Some(item)) => Ok(Some(item)),
        Ok(None) => Err(format!("item {shown:?} was skipped: a number in it is out of range")),
        Err(error) => Err(format!("item {shown:?} was skipped: {error}")),
    }
}

pub(super) fn view(
    transaction: &Transaction<'_>,
    datacenter_id: u32,
    layout: &Layout,
    table: &TableIdentity,
) -> Result<DatacenterView, Failure> {
    let layout_pin = pin(transaction, datacenter_id)?;
    let mut view = DatacenterView { layout: layout_pin, table: table.clone(), ..DatacenterView::default() };
    let sql = format!("SELECT {COLUMNS} FROM WorkerNodeRegistryTable WHERE PK = ? ORDER BY SK");
    let mut statement = transaction.prepare(&sql)?;
    let mut rows = statement.query([partition(datacenter_id)])?;
    let mut skipped = 0;
    while let Some(row) = rows.next()? {
        match item(row, layout.max_worker_id()) {
            Ok(item) => view.workers.extend(item),
            Err(warning) => {
                skipped += 1;
                if skipped <= MOST_WARNINGS {
                    view.warnings.push(warning);
                }
            }
        }
    }
    if skipped > MOST_WARNINGS {
        view.warnings.push(format!("{} more items were skipped", skipped - MOST_WARNINGS));
    }
    // As text, WORKER#100 comes before WORKER#11.
    view.workers.sort_by_key(|item| item.worker_id);
    Ok(view)
}

/// One item; `None` where it is missing, or malformed and so none of ours.
pub(super) fn find(
    transaction: &Transaction<'_>,
    datacenter_id: u32,
    worker_id: u32,
) -> Result<Option<LeaseRecord>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = ?");
    let found = transaction
        .prepare(&sql)?
        .query_row([partition(datacenter_id), worker_key(worker_id)], |row| Ok(item(row, worker_id).unwrap_or(None)));
    Ok(found.optional()?.flatten())
}

/// Creates an item where there is none.
pub(super) fn create(transaction: &Transaction<'_>, datacenter_id: u32, item: &LeaseRecord) -> Result<(), Failure> {
    let sql = "INSERT INTO WorkerNodeRegistryTable (PK, SK, instance_id, ip_address, lease_expiry_ts, fencing_epoch, \
               version, renewal_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    transaction.prepare(sql)?.execute(params![
        partition(datacenter_id),
        worker_key(item.worker_id),
        item.instance_id,
        item.ip_address,
        item.lease_expiry_ts,
        stored(item.fencing_epoch)?,
        stored(item.version)?,
        item.renewal_id,
    ])?;
    Ok(())
}

pub(super) fn put_pin(
    transaction: &Transaction<'_>,
    datacenter_id: u32,
    layout: &Layout,
    table: &TableIdentity,
) -> Result<(), Failure> {
    let pin = LayoutPin::new(layout, table);
    let sql = "INSERT OR REPLACE INTO WorkerNodeRegistryTable (PK, SK, layout, epoch_ms, region, table_id) \
               VALUES (?, 'LAYOUT', ?, ?, ?, ?)";
    transaction.execute(sql, params![partition(datacenter_id), pin.layout, pin.epoch_ms, pin.region, pin.table_id])?;
    Ok(())
}

/// A count as SQLite keeps it.
pub(super) fn stored(count: u64) -> Result<i64, Failure> {
    i64::try_from(count).map_err(|_| Failure::invalid(format!("{count} is too large for an item")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_one_key_and_other_spellings_are_none_of_ours() {
        for worker_id in [0, 4, 31, 99, 100, 1023] {
            assert_eq!(worker_of(&worker_key(worker_id)), Some(worker_id));
        }
        assert_eq!(worker_key(4), "WORKER#04");
        assert_eq!(partition(1), "DC#01");
        for foreign in ["", "WORKER#", "WORKER#4", "WORKER#004", "WORKER#+4", "WORKER#-1", "worker#04", "LAYOUT"] {
            assert_eq!(worker_of(foreign), None, "{foreign:?}");
        }
    }
}

//! The questions, each as one transaction.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::fault::Failure;
use super::file::{self, DatabaseFile};
use super::schema;
use super::sidecar::Record;
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, LayoutPin, LeaseRecord, TableIdentity};
use crate::lease::store::{FenceRequest, LeaseWrite, Reply, Request};

/// How many skipped items are named one by one.
const MOST_WARNINGS: usize = 20;

/// What to do with a file that holds nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WhereEmpty {
    /// Say that nothing is there.
    Answer,
    /// Make the table.
    Create,
    /// There was a registry: refuse.
    Refuse,
}

/// What one transaction came to.
pub(super) struct Done {
    pub(super) reply: Reply,
    /// Something was written.
    pub(super) changed: bool,
    /// The datacenter is initialised, in this very file.
    pub(super) initialised: bool,
}

/// Answers one question in one transaction.
pub(super) fn answer(
    connection: &mut Connection,
    request: &Request,
    file: &DatabaseFile,
    empty: WhereEmpty,
    not_older_than: Option<&Record>,
) -> Result<Done, Failure> {
    let behaviour = match request {
        Request::Read { .. } => TransactionBehavior::Deferred,
        _ => TransactionBehavior::Immediate,
    };
    let transaction = connection.transaction_with_behavior(behaviour)?;
    let is_empty = schema::is_empty(&transaction)?;
    match (is_empty, empty) {
        (true, WhereEmpty::Answer) => {
            let reply = Reply::View(DatacenterView::default());
            return Ok(Done { reply, changed: false, initialised: false });
        }
        (true, WhereEmpty::Create) => schema::create(&transaction)?,
        (true, WhereEmpty::Refuse) => return Err(Failure::rejected(file::VANISHED)),
        (false, _) => {
            // Only now: reading the schema has undone what a crashed writer had left half-way.
            file.check_whole()?;
            let sql = "SELECT EXISTS (SELECT 1 FROM WorkerNodeRegistryTable)";
            if empty == WhereEmpty::Refuse && !transaction.query_row(sql, [], |row| row.get::<_, bool>(0))? {
                return Err(Failure::rejected(file::VANISHED));
            }
        }
    }
    if let Some(record) = not_older_than {
        file.check_not_older_than(record)?;
    }
    let table = TableIdentity { region: String::new(), table_id: file.id().to_owned() };
    let (reply, changed) = match request {
        Request::Read { datacenter_id, layout } => {
            (Reply::View(view(&transaction, *datacenter_id, layout, &table)?), false)
        }
        Request::Initialise { datacenter_id, layout } => {
            (Reply::Applied, initialise(&transaction, *datacenter_id, layout, &table)?)
        }
        Request::Write(lease) => {
            let reply = write(&transaction, lease, &table)?;
            let changed = reply == Reply::Applied;
            (reply, changed)
        }
        Request::Fence(request) => {
            fence(&transaction, request, &table)?;
            (Reply::Applied, true)
        }
    };
    let initialised = match &reply {
        Reply::View(view) => view.layout.as_ref().is_some_and(|pin| pin.table_id == table.table_id),
        _ => true,
    };
    if changed {
        transaction.commit()?;
    }
    Ok(Done { reply, changed, initialised })
}

fn partition(datacenter_id: u32) -> String {
    format!("DC#{datacenter_id:02}")
}

fn worker_key(worker_id: u32) -> String {
    format!("WORKER#{worker_id:02}")
}

fn worker_of(key: &str) -> Option<u32> {
    let worker_id = key.strip_prefix("WORKER#")?.parse().ok()?;
    // One spelling per worker ID: `WORKER#4` beside `WORKER#04` is somebody else's.
    (worker_key(worker_id) == key).then_some(worker_id)
}

/// The pin of a datacenter; `None` = not initialised.
fn pin(transaction: &Transaction<'_>, datacenter_id: u32) -> Result<Option<LayoutPin>, Failure> {
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
fn checked_pin(transaction: &Transaction<'_>, datacenter_id: u32, table: &TableIdentity) -> Result<(), Failure> {
    match pin(transaction, datacenter_id)? {
        Some(pin) if pin.table_id == table.table_id => Ok(()),
        Some(pin) => Err(Failure::rejected(file::exchanged(&pin.table_id, &table.table_id))),
        None => Err(Failure::rejected(format!(
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

fn view(
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

/// Whether anything had to be written.
fn initialise(
    transaction: &Transaction<'_>,
    datacenter_id: u32,
    layout: &Layout,
    table: &TableIdentity,
) -> Result<bool, Failure> {
    if pin(transaction, datacenter_id)?.is_some() {
        return checked_pin(transaction, datacenter_id, table).map(|()| false);
    }
    // A datacenter that starts in a copy would start in the original as well.
    let sql = "SELECT table_id FROM WorkerNodeRegistryTable WHERE SK = 'LAYOUT' AND table_id IS NOT ? LIMIT 1";
    let foreign = transaction.query_row(sql, [&table.table_id], |row| row.get::<_, Option<String>>(0)).optional()?;
    if let Some(foreign) = foreign {
        return Err(Failure::rejected(file::exchanged(&foreign.unwrap_or_default(), &table.table_id)));
    }
    let sql = "SELECT count(*) FROM WorkerNodeRegistryTable WHERE PK = ? AND fencing_epoch IS NOT 0";
    let used: i64 = transaction.query_row(sql, [partition(datacenter_id)], |row| row.get(0))?;
    if used > 0 {
        return Err(Failure::rejected(format!(
            "datacenter {datacenter_id} has used worker items but no LAYOUT: stop all holders and run `leaseflake \
             registry fence`"
        )));
    }
    for worker_id in 0..=layout.max_worker_id() {
        create(transaction, datacenter_id, &fresh(worker_id)?)?;
    }
    put_pin(transaction, datacenter_id, layout, table)?;
    Ok(true)
}

/// An unused item whose `version` starts anywhere, so that a holder from before a registry was
/// removed and made anew never finds its own epoch and version in the new one.
fn fresh(worker_id: u32) -> Result<LeaseRecord, Failure> {
    let random = getrandom::u32().map_err(|error| Failure::unavailable(format!("no randomness: {error}")))?;
    Ok(LeaseRecord { version: u64::from(random), ..LeaseRecord::unused(worker_id) })
}

/// Creates an item where there is none.
fn create(transaction: &Transaction<'_>, datacenter_id: u32, item: &LeaseRecord) -> Result<(), Failure> {
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

fn put_pin(
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
fn stored(count: u64) -> Result<i64, Failure> {
    i64::try_from(count).map_err(|_| Failure::invalid(format!("{count} is too large for an item")))
}

fn write(transaction: &Transaction<'_>, lease: &LeaseWrite, table: &TableIdentity) -> Result<Reply, Failure> {
    let next = &lease.next;
    if !next.is_well_formed() {
        return Err(Failure::invalid(format!("a number in the item is out of range: {next:?}")));
    }
    checked_pin(transaction, lease.datacenter_id, table)?;
    let sql = "UPDATE WorkerNodeRegistryTable SET instance_id = ?, ip_address = ?, lease_expiry_ts = ?, \
               fencing_epoch = ?, version = ?, renewal_id = ? \
               WHERE PK = ? AND SK = ? AND fencing_epoch = ? AND version = ? AND (? IS NULL OR lease_expiry_ts < ?)";
    let partition = partition(lease.datacenter_id);
    let key = worker_key(next.worker_id);
    let changed = transaction.execute(
        sql,
        params![
            next.instance_id,
            next.ip_address,
            next.lease_expiry_ts,
            stored(next.fencing_epoch)?,
            stored(next.version)?,
            next.renewal_id,
            partition,
            key,
            stored(lease.expected_epoch)?,
            stored(lease.expected_version)?,
            lease.expired_before,
            lease.expired_before,
        ],
    )?;
    if changed == 1 {
        return Ok(Reply::Applied);
    }
    let sql = format!("SELECT {COLUMNS} FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = ?");
    // A malformed item is none of ours, like one that is missing.
    let found = transaction.query_row(&sql, [partition, key], |row| Ok(item(row, next.worker_id).unwrap_or(None)));
    Ok(Reply::Refused(found.optional()?.flatten()))
}

fn fence(transaction: &Transaction<'_>, request: &FenceRequest, table: &TableIdentity) -> Result<(), Failure> {
    let datacenter_id = request.datacenter_id;
    let raised = LeaseRecord { lease_expiry_ts: request.at_ms, ..LeaseRecord::unused(0) };
    if !raised.is_well_formed() {
        return Err(Failure::invalid(format!("{} is no time to fence at", request.at_ms)));
    }
    if request.worker_id.is_some() {
        // Re-pinning is for the whole datacenter: the others may have holders.
        checked_pin(transaction, datacenter_id, table)?;
    }
    let sql = format!("SELECT {COLUMNS} FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = ?");
    for worker_id in request.workers() {
        let key = worker_key(worker_id);
        let found = transaction
            .prepare(&sql)?
            .query_row([partition(datacenter_id), key.clone()], |row| Ok(item(row, worker_id).unwrap_or(None)))
            .optional()?
            .flatten();
        let before = match found {
            Some(item) => item,
            // Missing or malformed: made anew, with a version that nobody holds.
            None => fresh(worker_id)?,
        };
        let sql = "DELETE FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = ?";
        transaction.prepare(sql)?.execute([partition(datacenter_id), key])?;
        create(transaction, datacenter_id, &request.fenced(&before))?;
    }
    if request.worker_id.is_none() {
        put_pin(transaction, datacenter_id, &request.layout, table)?;
    }
    Ok(())
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

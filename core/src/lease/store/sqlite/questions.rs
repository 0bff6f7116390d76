//! The questions, each as one transaction.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::fault::Failure;
use super::file::{self, DatabaseFile};
use super::items::{checked_pin, create, find, partition, pin, put_pin, stored, view, worker_key};
use super::schema;
use super::sidecar::Record;
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, LeaseRecord, TableIdentity};
use crate::lease::store::{FenceRequest, LeaseWrite, Reply, Request};
use crate::rules::{Rule, holds};

/// What is known of the registry from before it was opened.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// What the sidecar has recorded.
    pub(super) record: Option<&'a Record>,
    /// This store has met it in this very place.
    pub(super) met: bool,
}

impl Known<'_> {
    /// There was a registry here: a file that holds nothing is not new.
    pub(super) fn is_known(&self) -> bool {
        self.met || self.record.is_some()
    }

    /// Whether this is the file that was known.
    pub(super) fn check_same(&self, file: &DatabaseFile) -> Result<(), Failure> {
        match self.record {
            Some(record) if record.id != file.id() => Err(Failure::gone(file::exchanged(&record.id, file.id()))),
            _ => Ok(()),
        }
    }

    /// Whether the file, opened and whole, is the one that was known, in no older state.
    fn check(&self, file: &DatabaseFile, holds_nothing: bool) -> Result<(), Failure> {
        if holds_nothing && self.is_known() {
            return Err(Failure::gone(file::VANISHED));
        }
        self.check_same(file)?;
        self.record.map_or(Ok(()), |record| file.check_not_older_than(record))
    }
}

/// What one transaction came to.
pub(super) struct Done {
    pub(super) reply: Reply,
    /// Something was written.
    pub(super) changed: bool,
    /// The datacenter is initialised, in this very file.
    pub(super) initialised: bool,
}

/// Whether the question says which file is the registry from now on.
pub(super) fn re_pins(request: &Request) -> bool {
    matches!(request, Request::Fence(FenceRequest { worker_id: None, .. }))
}

/// Answers one question in one transaction.
pub(super) fn answer(
    connection: &mut Connection,
    request: &Request,
    file: &DatabaseFile,
    known: Known<'_>,
) -> Result<Done, Failure> {
    let behaviour = match request {
        Request::Read { .. } => TransactionBehavior::Deferred,
        _ => TransactionBehavior::Immediate,
    };
    let transaction = connection.transaction_with_behavior(behaviour)?;
    let re_pins = re_pins(request);
    let holds_nothing = if schema::is_empty(&transaction)? {
        match request {
            _ if known.is_known() && !re_pins => return Err(Failure::gone(file::VANISHED)),
            Request::Initialise { .. } | Request::Fence(_) => schema::create(&transaction)?,
            Request::Write(_) => return Err(Failure::gone(file::VANISHED)),
            Request::Read { .. } => {
                let reply = Reply::View(DatacenterView::default());
                return Ok(Done { reply, changed: false, initialised: false });
            }
        }
        true
    } else {
        // Only now: reading the schema has undone what a crashed writer had left half-way.
        file.check_whole()?;
        !has_items(&transaction)?
    };
    let trusted = known.check(file, holds_nothing);
    let is_trusted = trusted.is_ok();
    if !re_pins {
        trusted?;
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
            fence(&transaction, request, &table, is_trusted)?;
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
        return Err(Failure::gone(file::exchanged(&foreign.unwrap_or_default(), &table.table_id)));
    }
    let sql = "SELECT count(*) FROM WorkerNodeRegistryTable WHERE PK = ? AND fencing_epoch IS NOT 0";
    let used: i64 = transaction.query_row(sql, [partition(datacenter_id)], |row| row.get(0))?;
    if used > 0 {
        return Err(Failure::rejected(format!(
            "datacenter {datacenter_id} has used worker items but no LAYOUT: stop all holders and run `leaseflake \
             registry fence`"
        )));
    }
    let floor_ms = common_floor(transaction)?;
    for worker_id in 0..=layout.max_worker_id() {
        create(transaction, datacenter_id, &fresh(worker_id, floor_ms)?)?;
    }
    put_pin(transaction, datacenter_id, layout, table)?;
    Ok(true)
}

/// An unused item at this floor, whose `version` starts anywhere, so that a holder from before a
/// registry was removed and made anew never finds its own epoch and version in the new one.
fn fresh(worker_id: u32, floor_ms: i64) -> Result<LeaseRecord, Failure> {
    let random = getrandom::u32().map_err(|error| Failure::unavailable(format!("no randomness: {error}")))?;
    Ok(LeaseRecord { lease_expiry_ts: floor_ms, version: u64::from(random), ..LeaseRecord::unused(worker_id) })
}

fn write(transaction: &Transaction<'_>, lease: &LeaseWrite, table: &TableIdentity) -> Result<Reply, Failure> {
    let next = &lease.next;
    if !next.is_well_formed() {
        return Err(Failure::invalid(format!("a number in the item is out of range: {next:?}")));
    }
    checked_pin(transaction, lease.datacenter_id, table)?;
    let version = if holds(Rule::VersionInCondition) { "version = ?" } else { "? IS NOT NULL" };
    let sql = format!(
        "UPDATE WorkerNodeRegistryTable SET instance_id = ?, ip_address = ?, lease_expiry_ts = ?, \
         fencing_epoch = ?, version = ?, renewal_id = ? \
         WHERE PK = ? AND SK = ? AND fencing_epoch = ? AND {version} AND (? IS NULL OR lease_expiry_ts < ?)"
    );
    let partition = partition(lease.datacenter_id);
    let key = worker_key(next.worker_id);
    let changed = transaction.execute(
        &sql,
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
    Ok(Reply::Refused(find(transaction, lease.datacenter_id, next.worker_id)?))
}

fn fence(
    transaction: &Transaction<'_>,
    request: &FenceRequest,
    table: &TableIdentity,
    is_trusted: bool,
) -> Result<(), Failure> {
    let datacenter_id = request.datacenter_id;
    let raised = LeaseRecord { lease_expiry_ts: request.at_ms, ..LeaseRecord::unused(0) };
    if !raised.is_well_formed() {
        return Err(Failure::invalid(format!("{} is no time to fence at", request.at_ms)));
    }
    if request.worker_id.is_some() {
        // Re-pinning is for the whole datacenter: the others may have holders.
        checked_pin(transaction, datacenter_id, table)?;
    } else if !is_trusted || checked_pin(transaction, datacenter_id, table).is_err() {
        // The other datacenters are no more trustworthy than this one, and await their own fence.
        let sql = "UPDATE WorkerNodeRegistryTable SET table_id = 'a file before the fence of another datacenter' \
                   WHERE SK = 'LAYOUT' AND ?";
        transaction.execute(sql, [!is_trusted])?;
        raise_common_floor(transaction, request.at_ms)?;
    }
    for worker_id in request.workers() {
        let before = match find(transaction, datacenter_id, worker_id)? {
            Some(item) => item,
            // Missing or malformed: made anew, with a version that nobody holds.
            None => fresh(worker_id, 0)?,
        };
        let sql = "DELETE FROM WorkerNodeRegistryTable WHERE PK = ? AND SK = ?";
        transaction.execute(sql, [partition(datacenter_id), worker_key(worker_id)])?;
        create(transaction, datacenter_id, &request.fenced(&before))?;
    }
    if request.worker_id.is_none() {
        put_pin(transaction, datacenter_id, &request.layout, table)?;
    }
    Ok(())
}

fn has_items(transaction: &Transaction<'_>) -> Result<bool, Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM WorkerNodeRegistryTable WHERE PK <> 'REGISTRY')";
    Ok(transaction.query_row(sql, [], |row| row.get(0))?)
}

/// Where the items of a datacenter start that is initialised after a fence took this file for
/// another: what the datacenter had issued is not in it.
fn common_floor(transaction: &Transaction<'_>) -> Result<i64, Failure> {
    let sql = "SELECT lease_expiry_ts FROM WorkerNodeRegistryTable WHERE PK = 'REGISTRY' AND SK = 'FLOOR'";
    Ok(transaction.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or(0))
}

fn raise_common_floor(transaction: &Transaction<'_>, at_ms: i64) -> Result<(), Failure> {
    let sql = "INSERT INTO WorkerNodeRegistryTable (PK, SK, lease_expiry_ts) VALUES ('REGISTRY', 'FLOOR', ?1) \
               ON CONFLICT DO UPDATE SET lease_expiry_ts = max(lease_expiry_ts, ?1)";
    transaction.execute(sql, [at_ms])?;
    Ok(())
}

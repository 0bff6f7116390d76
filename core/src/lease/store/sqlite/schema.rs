//! The connection and the table in it.

use rusqlite::{Connection, OpenFlags};

use super::fault::Failure;
use super::file::DatabaseFile;

/// `LFLK`: what tells our file from any other SQLite database.
const APPLICATION_ID: i64 = 0x4C46_4C4B;

/// Raised when an older Leaseflake must not write the file any more.
const FORMAT: i64 = 1;

/// The columns of the table in DynamoDB, by the same names.
const CREATE: &str = "
    CREATE TABLE WorkerNodeRegistryTable (
        PK TEXT NOT NULL,
        SK TEXT NOT NULL,
        instance_id TEXT,
        ip_address TEXT,
        lease_expiry_ts INTEGER,
        fencing_epoch INTEGER,
        version INTEGER,
        renewal_id TEXT,
        layout TEXT,
        epoch_ms INTEGER,
        region TEXT,
        table_id TEXT,
        PRIMARY KEY (PK, SK)
    ) WITHOUT ROWID;";

/// Opens the file, runs `body`, and has closed the file when it returns.
pub(super) fn with_connection<T>(
    file: &DatabaseFile,
    body: impl FnOnce(&mut Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let access = if file.writable() { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    // Never CREATE: only `DatabaseFile` makes files, with their mode. One thread at a time: no mutex.
    let mut connection = Connection::open_with_flags(file.path(), access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // Waiting is done outside the section that forks wait for.
    connection.busy_timeout(std::time::Duration::ZERO)?;
    connection.execute_batch(
        "PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA temp_store = MEMORY;",
    )?;
    let mode: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    if file.writable() && mode != "delete" {
        return Err(Failure::Busy(format!("somebody else keeps it in journal mode {mode}")));
    }
    body(&mut connection)
}

/// Whether the file holds nothing yet.
///
/// # Errors
///
/// Rejected where it holds something that is not ours, or newer than we are.
pub(super) fn is_empty(connection: &Connection) -> Result<bool, Failure> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        (APPLICATION_ID, FORMAT) => Ok(false),
        (APPLICATION_ID, newer) if newer > FORMAT => Err(Failure::rejected(format!(
            "it has format {newer} and this version of Leaseflake knows only {FORMAT}: update Leaseflake"
        ))),
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(true),
        _ => Err(Failure::rejected("it is a SQLite database of something else: name another file")),
    }
}

/// Makes the table, in the transaction of the caller.
pub(super) fn create(connection: &Connection) -> Result<(), Failure> {
    connection.execute_batch(CREATE)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    Ok(())
}

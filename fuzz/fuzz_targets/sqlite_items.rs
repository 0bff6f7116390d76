//! Rows of a SQLite registry that somebody else wrote: whatever they hold, an answer.
#![no_main]

use arbitrary::Arbitrary;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake::lease::store::{LeaseStore, Reply, Request};
use leaseflake::{Layout, lease::record::DatacenterView};
use libfuzzer_sys::fuzz_target;
use rusqlite::types::Value;

#[derive(Arbitrary, Debug)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row that is changed or added: which, and what is put into which column.
#[derive(Arbitrary, Debug)]
struct Change {
    key: Key,
    cells: Vec<(u8, Cell)>,
}

#[derive(Arbitrary, Debug)]
enum Key {
    Worker(u8),
    Layout,
    Other(String),
}

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

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Real(number) => Value::Real(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Blob(bytes) => Value::Blob(bytes.clone()),
    }
}

fn change(connection: &rusqlite::Connection, change: &Change) -> rusqlite::Result<()> {
    let key = match &change.key {
        Key::Worker(number) => format!("WORKER#{number:02}"),
        Key::Layout => "LAYOUT".to_owned(),
        Key::Other(text) => text.clone(),
    };
    connection.execute("INSERT OR IGNORE INTO WorkerNodeRegistryTable (PK, SK) VALUES ('DC#00', ?)", [&key])?;
    for (column, cell) in &change.cells {
        let column = COLUMNS[usize::from(*column) % COLUMNS.len()];
        let sql = format!("UPDATE WorkerNodeRegistryTable SET {column} = ? WHERE PK = 'DC#00' AND SK = ?");
        connection.execute(&sql, rusqlite::params![value(cell), key])?;
    }
    Ok(())
}

fn check(view: &DatacenterView, layout: &Layout) {
    for item in &view.workers {
        assert!(item.worker_id <= layout.max_worker_id() && item.is_well_formed(), "{item:?}");
    }
}

fuzz_target!(|changes: Vec<Change>| {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let path = folder.as_ref().expect("a folder").path().join("registry.db");
    let (layout, datacenter_id) = (Layout::default(), 0);
    let mut store = SqliteStore::new(path.clone());
    store.call(&Request::Initialise { datacenter_id, layout }).result.expect("a fresh registry");
    {
        let connection = rusqlite::Connection::open(&path).expect("opens");
        for one in &changes {
            // What SQLite itself refuses is not ours.
            let _ = change(&connection, one);
        }
    }
    // An answer or an error, and both again: no panic, no item that makes no sense.
    for request in [Request::Read { datacenter_id, layout }, Request::Initialise { datacenter_id, layout }] {
        match store.call(&request).result {
            Ok(Reply::View(view)) => check(&view, &layout),
            Ok(_) => {}
            Err(error) => assert!(!error.message.is_empty()),
        }
    }
});

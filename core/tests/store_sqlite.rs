//! The embedded registry: the rules of every registry, and what only a file can suffer.
#![cfg(feature = "sqlite")]

use std::fs;
use std::path::{Path, PathBuf};

use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake::lease::store::{FenceRequest, LeaseStore, Reply, Request, StoreError, StoreErrorKind};
use leaseflake::{ErrorCode, Layout};
use rusqlite::Connection;

#[path = "common/store_conformance.rs"]
mod store_conformance;

use store_conformance::{claim, initialise, item_of, renew, view_of, write};

const NOW_MS: i64 = 1_800_000_000_000;

/// A registry file in a folder of its own.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new() -> File {
        File { folder: tempfile::tempdir().unwrap() }
    }

    fn in_folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path(&self) -> PathBuf {
        self.in_folder("registry.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::new(self.path())
    }

    /// A client that holds worker 4 of datacenter 0, and what it holds.
    fn holder(&self) -> (SqliteStore, LeaseRecord) {
        let mut store = self.store();
        initialise(&mut store, 0, Layout::default()).unwrap();
        let item = item_of(&mut store, 0, 4).unwrap();
        let claim = claim(0, &item, NOW_MS, "holder");
        assert_eq!(write(&mut store, &claim), Reply::Applied);
        (store, claim.next)
    }

    /// Runs SQL behind everybody's back.
    fn meddle(&self, sql: &str) {
        let connection = Connection::open(self.path()).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql} changed nothing");
    }
}

impl store_conformance::Registry for File {
    fn client(&self) -> Box<dyn LeaseStore> {
        Box::new(self.store())
    }

    fn delete_item(&self, datacenter_id: u32, worker_id: u32) {
        self.meddle(&format!(
            "DELETE FROM WorkerNodeRegistryTable WHERE PK = 'DC#{datacenter_id:02}' AND SK = 'WORKER#{worker_id:02}'"
        ));
    }

    fn delete_layout(&self, datacenter_id: u32) {
        self.meddle(&format!(
            "DELETE FROM WorkerNodeRegistryTable WHERE PK = 'DC#{datacenter_id:02}' AND SK = 'LAYOUT'"
        ));
    }
}

store_conformance::suite!(every_registry, File::new());

fn read(store: &mut SqliteStore) -> Result<Reply, StoreError> {
    store.call(&Request::Read { datacenter_id: 0, layout: Layout::default() }).result
}

fn heartbeat(store: &mut SqliteStore, held: &LeaseRecord) -> Result<Reply, StoreError> {
    store.call(&Request::Write(renew(0, held, held.lease_expiry_ts + 10_000))).result
}

fn fence(store: &mut SqliteStore, at_ms: i64) -> Result<Reply, StoreError> {
    let layout = Layout::default();
    store.call(&Request::Fence(FenceRequest { datacenter_id: 0, layout, at_ms, worker_id: None, lower: false })).result
}

/// The error of an answer that must be a refusal which says what to do.
#[track_caller]
fn rejected(answer: Result<Reply, StoreError>) -> StoreError {
    let error = answer.expect_err("must be refused");
    assert_eq!(error.code(), ErrorCode::StoreRejected, "{error}");
    error
}

#[track_caller]
fn rejected_until_fence(answer: Result<Reply, StoreError>) {
    let error = rejected(answer);
    assert!(error.message.contains("`leaseflake registry fence`"), "{error}");
    assert!(error.message.contains("registry.db"), "{error}");
}

/// A fence at a later time makes a file usable again, and its floors are not below that time.
fn fence_and_claim(store: &mut SqliteStore) {
    let at_ms = NOW_MS + 1_000_000;
    assert_eq!(fence(store, at_ms), Ok(Reply::Applied));
    let item = item_of(store, 0, 4).unwrap();
    assert_eq!(item.lease_expiry_ts, at_ms);
    assert_eq!(write(store, &claim(0, &item, at_ms + 1, "successor")), Reply::Applied);
}

#[test]
fn reading_where_nothing_is_creates_nothing() {
    let file = File::new();
    let mut store = SqliteStore::new(file.in_folder("deep/registry.db"));
    assert_eq!(view_of(&mut store, 0, Layout::default()).layout, None);
    assert_eq!(store.describe().unwrap().table_id, "");
    assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 0);
}

#[test]
fn the_pin_and_the_description_name_the_same_file() {
    let file = File::new();
    let (mut store, _) = file.holder();
    let view = view_of(&mut store, 0, Layout::default());
    assert!(!view.table.table_id.is_empty());
    assert_eq!(store.describe().unwrap(), view.table);
    assert_eq!(view.layout.unwrap().table_id, view.table.table_id);
}

#[test]
fn a_path_without_a_file_name_is_an_invalid_argument() {
    for path in ["", "/"] {
        let error = read(&mut SqliteStore::new(PathBuf::from(path))).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{path:?}: {error}");
    }
}

#[test]
fn a_relative_path_stays_the_file_that_it_was_when_the_store_was_made() {
    // The name alone, never created: the current directory belongs to the whole process.
    let store = SqliteStore::new(PathBuf::from("registry.db"));
    let expected = std::env::current_dir().unwrap().join("registry.db");
    assert_eq!(store.name(), format!("sqlite:{}", expected.display()));
}

#[test]
#[cfg(unix)]
fn the_file_its_sidecar_and_new_directories_are_for_this_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let file = File::new();
    let mut store = SqliteStore::new(file.in_folder("a/b/registry.db"));
    initialise(&mut store, 0, Layout::default()).unwrap();
    let mode = |name: &str| fs::metadata(file.in_folder(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    assert_eq!((mode("a/b/registry.db"), mode("a/b/registry.db.lock")), (0o600, 0o600));
    // SQLite gives the journal the mode of the file: seen while a transaction is open.
    let connection = Connection::open(file.in_folder("a/b/registry.db")).unwrap();
    connection.execute_batch("BEGIN; DELETE FROM WorkerNodeRegistryTable;").unwrap();
    assert_eq!(mode("a/b/registry.db-journal"), 0o600);
}

#[test]
#[cfg(unix)]
fn two_names_of_one_file_meet_at_one_registry() {
    let file = File::new();
    let (_, held) = file.holder();
    let link = file.in_folder("link.db");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    let mut other = SqliteStore::new(link);
    assert_eq!(item_of(&mut other, 0, 4), Some(held));
    assert!(!file.in_folder("link.db.lock").exists());
    let dangling = file.in_folder("dangling.db");
    std::os::unix::fs::symlink(file.in_folder("nowhere"), &dangling).unwrap();
    rejected(initialise(&mut SqliteStore::new(dangling), 0, Layout::default()));
    assert!(!file.in_folder("nowhere").exists());
}

#[test]
fn a_copy_is_refused_for_every_write_until_the_fence() {
    let file = File::new();
    let (mut original, held) = file.holder();
    let copy = file.in_folder("copy-of-registry.db");
    fs::copy(file.path(), &copy).unwrap();
    let mut store = SqliteStore::new(copy);
    let view = view_of(&mut store, 0, Layout::default());
    assert_ne!(view.layout.unwrap().table_id, view.table.table_id);
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(initialise(&mut store, 0, Layout::default()));
    // Another datacenter would start in the copy and in the original.
    rejected_until_fence(initialise(&mut store, 1, Layout::default()));
    let one =
        FenceRequest { datacenter_id: 0, layout: Layout::default(), at_ms: NOW_MS, worker_id: Some(4), lower: false };
    rejected_until_fence(store.call(&Request::Fence(one)).result);
    fence_and_claim(&mut store);
    assert_eq!(heartbeat(&mut original, &held), Ok(Reply::Applied), "the original is as before");
}

#[test]
fn what_a_file_and_its_sidecar_hold_cannot_steer_a_terminal_through_a_message() {
    let fit = |error: StoreError| assert!(!error.message.contains(char::is_control), "{error}");
    let pin = "UPDATE WorkerNodeRegistryTable SET table_id = char(27) || '[2J' WHERE SK = 'LAYOUT'";
    // A schema that cannot be read: SQLite says which part of it, by its name.
    let schema = "CREATE TABLE other (a); PRAGMA writable_schema = ON;
                  UPDATE sqlite_schema SET name = char(27) || '[2J', sql = 'CREATE TABLE' WHERE name = 'other'";
    for sql in [pin, schema] {
        let file = File::new();
        let (mut store, held) = file.holder();
        Connection::open(file.path()).unwrap().execute_batch(sql).unwrap();
        fit(heartbeat(&mut store, &held).unwrap_err());
    }
    let file = File::new();
    let (mut store, held) = file.holder();
    fs::write(file.in_folder("registry.db.lock"), "\u{1b}[2J 1\n").unwrap();
    fit(heartbeat(&mut store, &held).unwrap_err());
}

#[test]
fn a_file_put_in_place_of_the_registry_is_refused_until_the_fence() {
    let file = File::new();
    let (mut store, held) = file.holder();
    // A registry of its own right, with a pin that is true.
    let other = file.in_folder("other.db");
    initialise(&mut SqliteStore::new(other.clone()), 0, Layout::default()).unwrap();
    fs::rename(other, file.path()).unwrap();
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(read(&mut store));
    rejected_until_fence(initialise(&mut file.store(), 0, Layout::default()));
    fence_and_claim(&mut store);
    assert_eq!(read(&mut file.store()).map(|_| ()), Ok(()));
}

#[test]
fn a_backup_written_back_over_the_file_is_refused_until_the_fence() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let backup = fs::read(file.path()).unwrap();
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
    // The same inode, as `cp` leaves it.
    fs::write(file.path(), backup).unwrap();
    rejected_until_fence(read(&mut file.store()));
    rejected_until_fence(heartbeat(&mut file.store(), &held));
    rejected_until_fence(initialise(&mut file.store(), 1, Layout::default()));
    fence_and_claim(&mut store);
}

#[test]
fn a_removed_file_is_never_made_anew_by_itself() {
    let file = File::new();
    let (mut store, held) = file.holder();
    fs::remove_file(file.path()).unwrap();
    rejected_until_fence(heartbeat(&mut store, &held));
    // A process that starts now must not begin at floor 0 beside holders that still run.
    rejected_until_fence(read(&mut file.store()));
    rejected_until_fence(initialise(&mut file.store(), 0, Layout::default()));
    rejected_until_fence(initialise(&mut file.store(), 9, Layout::default()));
    assert!(!file.path().exists());
    fence_and_claim(&mut file.store());
}

#[test]
fn a_fence_of_one_datacenter_leaves_the_others_of_an_exchanged_file_refused() {
    let file = File::new();
    let (mut store, _) = file.holder();
    let other = file.in_folder("other.db");
    for datacenter_id in [0, 1] {
        initialise(&mut SqliteStore::new(other.clone()), datacenter_id, Layout::default()).unwrap();
    }
    fs::rename(other, file.path()).unwrap();
    // One holder known dead is no reason to take the file for the registry.
    let one =
        FenceRequest { datacenter_id: 1, layout: Layout::default(), at_ms: NOW_MS, worker_id: Some(4), lower: false };
    rejected_until_fence(store.call(&Request::Fence(one)).result);
    fence_and_claim(&mut store);
    let item = item_of(&mut store, 1, 4).unwrap();
    rejected_until_fence(store.call(&Request::Write(claim(1, &item, NOW_MS, "a"))).result);
    rejected_until_fence(initialise(&mut store, 1, Layout::default()));
}

#[test]
fn a_datacenter_begun_in_a_fenced_file_starts_above_the_time_of_the_fence() {
    let file = File::new();
    let (mut store, _) = file.holder();
    initialise(&mut store, 1, Layout::default()).unwrap();
    fs::remove_file(file.path()).unwrap();
    fence_and_claim(&mut store);
    // What datacenter 1 had issued went with the file.
    initialise(&mut store, 1, Layout::default()).unwrap();
    let items = view_of(&mut store, 1, Layout::default()).workers;
    assert!(items.iter().all(|item| item.lease_expiry_ts == NOW_MS + 1_000_000 && item.fencing_epoch == 0));
}

#[test]
fn a_fence_of_a_registry_in_good_order_touches_no_other_datacenter() {
    let file = File::new();
    let (mut store, held) = file.holder();
    initialise(&mut store, 1, Layout::default()).unwrap();
    let layout = Layout::default();
    let request = FenceRequest { datacenter_id: 1, layout, at_ms: NOW_MS, worker_id: None, lower: false };
    assert_eq!(store.call(&Request::Fence(request)).result, Ok(Reply::Applied));
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
    initialise(&mut store, 2, Layout::default()).unwrap();
    assert!(view_of(&mut store, 2, Layout::default()).workers.iter().all(|item| item.lease_expiry_ts == 0));
}

#[test]
fn a_process_that_knew_the_registry_does_not_start_over_where_even_the_sidecar_is_gone() {
    let file = File::new();
    let (mut store, held) = file.holder();
    for name in ["registry.db", "registry.db.lock"] {
        fs::remove_file(file.in_folder(name)).unwrap();
    }
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(read(&mut store));
    rejected_until_fence(initialise(&mut store, 0, Layout::default()));
    assert!(!file.path().exists());
}

#[test]
fn a_holder_from_before_the_registry_was_made_anew_writes_nothing_into_the_new_one() {
    let file = File::new();
    let (mut store, held) = file.holder();
    for name in ["registry.db", "registry.db.lock"] {
        fs::remove_file(file.in_folder(name)).unwrap();
    }
    // The same worker ID, the same epoch, the same number of writes.
    let (_, anew) = file.holder();
    assert_eq!(anew.fencing_epoch, held.fencing_epoch);
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Refused(Some(anew))));
}

#[test]
fn a_moved_file_is_refused_at_the_old_path_and_goes_on_at_the_new_one() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let new = file.in_folder("new.db");
    fs::rename(file.path(), &new).unwrap();
    rejected_until_fence(heartbeat(&mut store, &held));
    assert_eq!(heartbeat(&mut SqliteStore::new(new), &held), Ok(Reply::Applied));
}

#[test]
fn a_lost_sidecar_is_made_anew_and_knows_the_file_after_the_next_write() {
    let file = File::new();
    let (mut store, held) = file.holder();
    fs::remove_file(file.in_folder("registry.db.lock")).unwrap();
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
    fs::remove_file(file.path()).unwrap();
    rejected_until_fence(read(&mut file.store()));
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let whole = fs::read(file.path()).unwrap();
    for length in [0, 1, 20, 100, 1024, 4096, 4097, whole.len() - 1] {
        fs::write(file.path(), &whole[..length]).unwrap();
        for store in [&mut store, &mut file.store()] {
            rejected_until_fence(heartbeat(store, &held));
            rejected_until_fence(initialise(store, 0, Layout::default()));
        }
        rejected_until_fence(read(&mut file.store()));
    }
    fs::write(file.path(), "").unwrap();
    fence_and_claim(&mut store);
}

#[test]
fn garbage_in_the_file_is_refused_and_left_as_it_is() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let garbage = b"no registry at all, a letter to somebody ".repeat(500);
    fs::write(file.path(), &garbage).unwrap();
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(read(&mut store));
    rejected_until_fence(initialise(&mut file.store(), 0, Layout::default()));
    assert_eq!(fs::read(file.path()).unwrap(), garbage);
    // Moved away as the message says, it is made anew by the fence.
    fs::rename(file.path(), file.in_folder("garbage")).unwrap();
    fence_and_claim(&mut store);
}

#[test]
fn a_table_emptied_by_somebody_is_no_new_registry() {
    let file = File::new();
    let (mut store, held) = file.holder();
    file.meddle("DELETE FROM WorkerNodeRegistryTable");
    rejected_until_fence(read(&mut file.store()));
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(initialise(&mut file.store(), 0, Layout::default()));
    fence_and_claim(&mut store);
}

#[test]
fn a_page_of_garbage_under_a_good_header_is_refused() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let mut bytes = fs::read(file.path()).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(file.path(), bytes).unwrap();
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(read(&mut store));
}

#[test]
fn a_database_of_something_else_is_never_written() {
    let file = File::new();
    Connection::open(file.path()).unwrap().execute_batch("CREATE TABLE accounts (name TEXT);").unwrap();
    let before = fs::read(file.path()).unwrap();
    for answer in
        [read(&mut file.store()), initialise(&mut file.store(), 0, Layout::default()), fence(&mut file.store(), NOW_MS)]
    {
        assert!(rejected(answer).message.contains("something else"));
    }
    assert_eq!(fs::read(file.path()).unwrap(), before);
}

#[test]
fn a_file_of_a_later_format_is_left_to_a_later_version() {
    let file = File::new();
    let (mut store, held) = file.holder();
    Connection::open(file.path()).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(rejected(heartbeat(&mut store, &held)).message.contains("update Leaseflake"));
    assert!(rejected(read(&mut store)).message.contains("update Leaseflake"));
}

#[test]
fn a_file_that_somebody_turned_to_a_write_ahead_log_is_turned_back() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let connection = Connection::open(file.path()).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    drop(connection);
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
    assert!(!file.in_folder("registry.db-wal").exists());
}

#[test]
fn a_vacuum_by_an_administrator_changes_nothing_for_the_holders() {
    let file = File::new();
    let (mut store, held) = file.holder();
    Connection::open(file.path()).unwrap().execute_batch("VACUUM").unwrap();
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
}

#[test]
fn a_directory_or_a_pipe_in_place_of_the_file_is_refused_and_hangs_nobody() {
    let file = File::new();
    fs::create_dir(file.path()).unwrap();
    rejected(read(&mut file.store()));
    rejected(initialise(&mut file.store(), 0, Layout::default()));
    #[cfg(unix)]
    {
        fs::remove_dir(file.path()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(file.path()).status().unwrap();
        assert!(made.success());
        rejected(read(&mut file.store()));
        rejected(initialise(&mut file.store(), 0, Layout::default()));
    }
}

#[test]
fn a_file_below_another_file_is_refused() {
    let file = File::new();
    fs::write(file.path(), "").unwrap();
    rejected(initialise(&mut SqliteStore::new(file.path().join("registry.db")), 0, Layout::default()));
}

#[test]
fn malformed_items_are_skipped_with_a_warning_and_never_written() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let set = |worker_id: u32, what: &str| {
        let sql = format!("UPDATE WorkerNodeRegistryTable SET {what} WHERE SK = 'WORKER#{worker_id:02}'");
        file.meddle(&sql);
    };
    let malformed = [
        "lease_expiry_ts = 'soon'",
        "lease_expiry_ts = NULL",
        "lease_expiry_ts = -1",
        "lease_expiry_ts = 9223372036854775807",
        "fencing_epoch = 1.5",
        "fencing_epoch = -1",
        "version = x'00'",
        "version = 4611686018427387904",
        "renewal_id = NULL",
        "instance_id = x'ff'",
    ];
    for (worker_id, what) in (10..).zip(malformed) {
        set(worker_id, what);
    }
    for key in ["WORKER#7", "WORKER#99", "NOTE\u{1b}[31m"] {
        file.meddle(&format!("INSERT INTO WorkerNodeRegistryTable (PK, SK) VALUES ('DC#00', '{key}')"));
    }
    let view = view_of(&mut store, 0, Layout::default());
    assert_eq!(view.workers.len(), 32 - malformed.len());
    assert_eq!(view.warnings.len(), malformed.len() + 3, "{:#?}", view.warnings);
    for worker_id in 10..20 {
        assert!(view.warnings.iter().any(|line| line.contains(&format!("WORKER#{worker_id}"))), "{worker_id}");
    }
    assert!(view.warnings.iter().all(|line| !line.contains('\u{1b}')));
    let guess = LeaseRecord { version: 0, ..LeaseRecord::unused(10) };
    assert_eq!(write(&mut store, &claim(0, &guess, NOW_MS, "a")), Reply::Refused(None));
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied), "the others go on");
    fence_and_claim(&mut store);
    assert_eq!(view_of(&mut store, 0, Layout::default()).workers.len(), 32, "the fence makes them whole");
}

#[test]
fn a_flood_of_foreign_items_gives_a_few_warnings() {
    let file = File::new();
    let (mut store, _) = file.holder();
    file.meddle(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
         INSERT INTO WorkerNodeRegistryTable (PK, SK) SELECT 'DC#00', 'X' || i FROM n",
    );
    let view = view_of(&mut store, 0, Layout::default());
    assert_eq!((view.workers.len(), view.warnings.len()), (32, 21));
    assert_eq!(view.warnings.last().unwrap(), "4980 more items were skipped");
}

#[test]
fn a_malformed_layout_is_refused_until_the_fence() {
    let file = File::new();
    let (mut store, held) = file.holder();
    file.meddle("UPDATE WorkerNodeRegistryTable SET epoch_ms = 'never' WHERE SK = 'LAYOUT'");
    rejected_until_fence(read(&mut store));
    rejected_until_fence(heartbeat(&mut store, &held));
    rejected_until_fence(initialise(&mut store, 0, Layout::default()));
    fence_and_claim(&mut store);
}

#[test]
fn a_write_without_a_pin_to_check_is_refused() {
    let file = File::new();
    let (mut store, held) = file.holder();
    file.meddle("DELETE FROM WorkerNodeRegistryTable WHERE SK = 'LAYOUT'");
    rejected_until_fence(heartbeat(&mut store, &held));
}

#[test]
fn numbers_that_no_item_holds_are_an_invalid_argument() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let mut beyond = renew(0, &held, NOW_MS);
    beyond.next.version = 1 << 62;
    let error = store.call(&Request::Write(beyond)).result.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument);
    assert_eq!(fence(&mut store, -1).unwrap_err().kind, StoreErrorKind::InvalidArgument);
    assert_eq!(item_of(&mut store, 0, 4), Some(held));
}

#[test]
fn a_file_locked_by_another_program_is_unavailable_after_a_bounded_wait() {
    let file = File::new();
    let (mut store, held) = file.holder();
    let lock_sidecar = || {
        let sidecar = fs::File::open(file.in_folder("registry.db.lock")).unwrap();
        sidecar.try_lock().unwrap();
        sidecar
    };
    let sidecar = lock_sidecar();
    let error = heartbeat(&mut store, &held).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    assert!(error.message.contains("registry.db.lock is locked"), "{error}");
    drop(sidecar);
    // A shell that sits in a transaction.
    let connection = Connection::open(file.path()).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = heartbeat(&mut store, &held).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    drop(connection);
    assert_eq!(heartbeat(&mut store, &held), Ok(Reply::Applied));
}

#[test]
fn the_file_holds_the_columns_of_the_design() {
    let file = File::new();
    let (_, held) = file.holder();
    let connection = Connection::open(file.path()).unwrap();
    let found: (String, i64, i64, i64) = connection
        .query_row(
            "SELECT instance_id, lease_expiry_ts, fencing_epoch, version FROM WorkerNodeRegistryTable \
             WHERE PK = 'DC#00' AND SK = 'WORKER#04'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(found, ("holder".to_owned(), held.lease_expiry_ts, 1, held.version as i64));
}

#[test]
fn auto_is_every_datacenter_of_the_layout() {
    let mut store = SqliteStore::new(Path::new("/nowhere/registry.db").to_owned());
    assert_eq!(store.auto_datacenters(&Layout::default()).unwrap(), (0..32).collect::<Vec<_>>());
}

//! The processes of one machine, on a SQLite file.

use leaseflake::lease::store::LeaseStore;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake_tests::member::MemberBuilder;

#[path = "common/processes.rs"]
mod processes;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

/// A file in a folder of its own.
struct File(tempfile::TempDir);

impl File {
    fn new() -> File {
        File(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("registry.db")
    }
}

impl processes::Registry for File {
    fn member(&self) -> MemberBuilder {
        MemberBuilder::new(PROGRAM, &format!("sqlite:{}", self.path().display()))
    }

    fn store(&self) -> Box<dyn LeaseStore> {
        Box::new(SqliteStore::new(self.path()))
    }
}

processes::suite!(sqlite, File::new());

#[test]
fn a_file_that_is_moved_away_stops_its_holder_within_a_heartbeat_and_serves_again_once_it_is_back() {
    let file = File::new();
    let builder = processes::Registry::member(&file).option("lease_ttl_ms", 600_000);
    let mut member = builder.option("heartbeat_interval_ms", 500).start();
    member.open().unwrap();
    member.run();
    member.wait_until("IDs flow", |member| member.take().ids.len() > 10);
    let aside = file.0.path().join("aside.db");
    std::fs::rename(file.path(), &aside).unwrap();
    member.wait_until("its lease is no more", |member| member.number("leases_lost") == 1);
    let mut ids = member.take().ids;
    member.wait_until("calls are refused", |member| {
        let taken = member.take();
        assert_eq!(taken.ids, Vec::<i64>::new(), "issued under a registry that is not there");
        taken.errors.contains_key("LEASE_LOST")
    });
    std::fs::rename(&aside, file.path()).unwrap();
    member.wait_until("IDs flow again", |member| {
        let taken = member.take();
        ids.extend(&taken.ids);
        !taken.ids.is_empty()
    });
    leaseflake_tests::member::assert_no_repeat(&ids);
}

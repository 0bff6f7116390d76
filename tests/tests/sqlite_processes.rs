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

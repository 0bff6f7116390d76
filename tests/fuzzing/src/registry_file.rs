//! A SQLite registry that inputs change, and that is as good as new for each of them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use leaseflake::Layout;
use leaseflake::lease::store::sqlite::SqliteStore;
use leaseflake::lease::store::{LeaseStore, Request};

/// The datacenter that it is initialised for.
pub(crate) const DATACENTER: u32 = 0;

/// The file in a folder of its own, and what it held when it was new.
pub(crate) struct RegistryFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
    database: Vec<u8>,
    sidecar: Vec<u8>,
}

impl RegistryFile {
    pub(crate) fn new() -> RegistryFile {
        // Where there is memory for files, nothing waits for a disk.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a folder");
        let path = folder.path().join("registry.db");
        let initialise = Request::Initialise { datacenter_id: DATACENTER, layout: Layout::default() };
        SqliteStore::new(path.clone()).call(&initialise).result.expect("a fresh registry");
        let read = |name: &str| fs::read(folder.path().join(name)).expect("the registry has it");
        let (database, sidecar) = (read("registry.db"), read("registry.db.lock"));
        RegistryFile { _folder: folder, path, database, sidecar }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file held when it was new.
    pub(crate) fn database(&self) -> &[u8] {
        &self.database
    }

    /// Which file it is, in the words of its sidecar.
    pub(crate) fn id(&self) -> &str {
        std::str::from_utf8(&self.sidecar).ok().and_then(|text| text.split(' ').next()).expect("a sidecar of ours")
    }

    /// Makes it new again, with the very file: another one would be refused before it is looked at.
    pub(crate) fn renew(&self) {
        self.put(&self.database, &self.sidecar, None);
    }

    /// Puts these bytes into the files.
    pub(crate) fn put(&self, database: &[u8], sidecar: &[u8], journal: Option<&[u8]>) {
        overwrite(&self.path, database);
        overwrite(&self.beside(".lock"), sidecar);
        match journal {
            Some(journal) => overwrite(&self.beside("-journal"), journal),
            None => drop(fs::remove_file(self.beside("-journal"))),
        }
        for left in ["-wal", "-shm"] {
            let _ = fs::remove_file(self.beside(left));
        }
    }

    /// A store over it that has never met it.
    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::new(self.path.clone())
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(end);
        path.into()
    }
}

fn overwrite(path: &Path, bytes: &[u8]) {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).open(path).expect("it is ours");
    file.write_all(bytes).expect("there is room");
}

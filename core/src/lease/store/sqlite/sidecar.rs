//! The sidecar `PATH.lock`: who is at the file, and which file it was.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::fault::Failure;
use super::file::{identity, identity_at, options};

/// What the sidecar knows of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Which file it was.
    pub(super) id: String,
    /// How many changes it had seen at least.
    pub(super) changes: u32,
}

impl Record {
    fn parse(text: &str) -> Option<Record> {
        let (id, changes) = text.trim_end().split_once(' ')?;
        Some(Record { id: id.to_owned(), changes: changes.parse().ok()? })
    }

    fn text(&self) -> String {
        // The same length for one file, so that one write replaces all of it.
        format!("{} {:010}\n", self.id, self.changes)
    }
}

/// The locked `PATH.lock`; unlocked when dropped.
pub(super) struct Sidecar {
    file: File,
}

impl Sidecar {
    /// Locks the sidecar of the file, or says `Busy` at once. Where there is neither a sidecar nor
    /// a file, and none is to be created, there is nothing to lock: `None`.
    pub(super) fn lock(database: &Path, create: bool) -> Result<Option<Sidecar>, Failure> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let refused = |error: io::Error| Failure::io(&format!("open its lock file {}", path.display()), &error);
        let create = create || database.exists();
        let file = match options().write(true).create(create).truncate(false).open(&path) {
            Err(error) if !create && error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(refused)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Failure::Busy(format!("{} is locked", path.display()))),
            Err(TryLockError::Error(error)) => {
                return Err(Failure::io("lock its lock file (a registry belongs on a local disk)", &error));
            }
        }
        let sidecar = Sidecar { file };
        let locked = sidecar.file.metadata().map_err(refused)?;
        if !locked.is_file() {
            return Err(Failure::rejected(format!("its lock file {} is no regular file", path.display())));
        }
        // Somebody removed it while we opened it: others lock a new one.
        if identity_at(&path)?.as_deref() != Some(identity(&locked).as_str()) {
            return Err(Failure::Busy(format!("{} was exchanged", path.display())));
        }
        Ok(Some(sidecar))
    }

    /// What it recorded; `None` if nothing yet.
    pub(super) fn record(&mut self) -> Result<Option<Record>, Failure> {
        let mut text = Vec::new();
        // Ours is short; whatever else stands there must not fill the memory.
        let read = self.file.rewind().and_then(|()| (&self.file).take(200).read_to_end(&mut text));
        read.map_err(|error| Failure::io("read its lock file", &error))?;
        Ok(Record::parse(&String::from_utf8_lossy(&text)))
    }

    /// Records this in place of `before`.
    pub(super) fn write(&mut self, record: &Record, before: Option<&Record>) -> io::Result<()> {
        let text = record.text();
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)?;
        // Which file it is must outlive a power cut; how many changes may lag behind.
        if before.is_none_or(|before| before.id != record.id) {
            self.file.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // A bare clone() copies the descriptor, and closing ours would leave the lock with it.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_garbage_is_no_record() {
        let record = Record { id: "131@1795978039054076513".to_owned(), changes: u32::MAX };
        assert_eq!(Record::parse(&record.text()), Some(record));
        for garbage in ["", "\0\0\0\0", "131", "131 x", "131 -1", "131 4294967296"] {
            assert_eq!(Record::parse(garbage), None, "{garbage:?}");
        }
    }
}

//! A stream of IDs: whatever a killed process had issued is in the file up to its last call.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One stream, written by one thread.
pub(super) struct Output {
    file: File,
    bytes: Vec<u8>,
}

impl Output {
    /// The new file `<prefix><suffix>.<thread>.ordered`.
    pub(super) fn create(prefix: &Path, suffix: &str, thread: usize) -> io::Result<Output> {
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!("{suffix}.{thread}.ordered"));
        let path = PathBuf::from(path);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok(Output { file, bytes: Vec::new() })
    }

    /// Appends whole records in one write.
    pub(super) fn append(&mut self, ids: &[i64]) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        self.file.write_all(&self.bytes)
    }
}

//! The file itself: which one it is, who may create it, whether it is still the same.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::fault::Failure;
use super::sidecar::Record;
use crate::lease::shown::shown;

/// The registry was here and is not any more.
pub(super) const VANISHED: &str = "it was removed, moved or emptied, and with it what the worker IDs had issued: put \
     it back, or stop all holders and run `leaseflake registry fence`";

/// Another file than the one that was here.
pub(super) fn exchanged(pinned: &str, actual: &str) -> String {
    format!(
        "it is not the file that the registry was created in (that was {pinned}, this is {actual}): a copy, or \
         exchanged; put the first one back, or stop all holders and run `leaseflake registry fence`",
        pinned = shown(pinned)
    )
}

/// An older state of the same file.
fn restored(recorded: u32, found: u32) -> String {
    format!(
        "it was set back to an older state (it had seen {recorded} changes, now {found}): stop all holders and run \
         `leaseflake registry fence`"
    )
}

/// Creates the missing directories above the file, for this user only.
pub(super) fn create_directories(path: &Path) -> Result<(), Failure> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(parent).map_err(|error| Failure::io(&format!("create its directory {}", parent.display()), &error))
}

/// The path without symbolic links, so that all who name the file meet at one sidecar.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, Failure> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Failure::invalid("the path names no file"));
    };
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            Err(Failure::rejected("it is a symbolic link to a file that is not there"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::canonicalize(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
            parent => Ok(parent.map_err(|error| Failure::io("find its directory", &error))?.join(name)),
        },
        found => found.map_err(|error| Failure::io("find it", &error)),
    }
}

/// For opening the file or its sidecar: private, and neither led astray nor hung by what is there.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // O_NONBLOCK: a named pipe in the file's place must not hang us.
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options
}

fn open_existing(path: &Path, write: bool) -> io::Result<Option<File>> {
    match options().write(write).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells a file from its copies: inode and time of birth; device and inode where the file
/// system knows no birth. (The number of a device may change at every boot, a birth does not.)
pub(super) fn identity(metadata: &Metadata) -> String {
    let birth = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let birth = birth.map(|since| since.as_nanos());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match birth {
            Some(birth) => format!("{}@{birth}", metadata.ino()),
            None => format!("{}:{}", metadata.dev(), metadata.ino()),
        }
    }
    #[cfg(not(unix))]
    format!("@{}", birth.unwrap_or_default())
}

/// Which file the path names now; `None` = none.
pub(super) fn identity_at(path: &Path) -> Result<Option<String>, Failure> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(identity(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io("look at it", &error)),
    }
}

/// The database file, held open beside SQLite's own connection.
///
/// It must be dropped after the connection: closing any descriptor of the file drops the POSIX
/// locks that SQLite holds on it.
pub(super) struct DatabaseFile {
    path: PathBuf,
    file: File,
    id: String,
    writable: bool,
}

impl DatabaseFile {
    /// The file at the path; `None` if there is none.
    pub(super) fn open(path: &Path, for_reading: bool) -> Result<Option<DatabaseFile>, Failure> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let (opened, writable) = match open_existing(path, true) {
            Err(error) if for_reading && matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                (open_existing(path, false), false)
            }
            opened => (opened, true),
        };
        let Some(file) = opened.map_err(|error| Failure::io("open it", &error))? else { return Ok(None) };
        DatabaseFile::of(path, file, writable).map(Some)
    }

    /// Creates the file, for this user only; nobody else may have created it.
    pub(super) fn create(path: &Path) -> Result<DatabaseFile, Failure> {
        let file =
            options().write(true).create_new(true).open(path).map_err(|error| Failure::io("create it", &error))?;
        // A file that a power cut takes away again would start over below what was issued.
        #[cfg(unix)]
        if let Some(parent) = path.parent() {
            let synced = File::open(parent).and_then(|directory| directory.sync_all());
            synced.map_err(|error| Failure::io("sync its directory", &error))?;
        }
        DatabaseFile::of(path, file, true)
    }

    fn of(path: &Path, file: File, writable: bool) -> Result<DatabaseFile, Failure> {
        let metadata = file.metadata().map_err(|error| Failure::io("look at it", &error))?;
        if !metadata.is_file() {
            return Err(Failure::rejected("it is no regular file"));
        }
        Ok(DatabaseFile { path: path.to_owned(), file, id: identity(&metadata), writable })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What tells this file from its copies.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn writable(&self) -> bool {
        self.writable
    }

    /// Whether the path still names this very file.
    pub(super) fn check_still_named(&self) -> Result<(), Failure> {
        match identity_at(&self.path)? {
            Some(id) if id == self.id => Ok(()),
            Some(id) => Err(Failure::gone(exchanged(&self.id, &id))),
            None => Err(Failure::gone(VANISHED)),
        }
    }

    /// SQLite's header; `None` where the file is too short to have one.
    fn header(&self) -> Result<Option<Header>, Failure> {
        let mut bytes = [0; 32];
        let mut file = &self.file;
        match file.rewind().and_then(|()| file.read_exact(&mut bytes)) {
            Ok(()) => Ok(Some(Header(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(Failure::io("read its header", &error)),
        }
    }

    /// How many transactions have changed the file.
    pub(super) fn changes(&self) -> Result<u32, Failure> {
        Ok(self.header()?.map_or(0, |header| header.changes()))
    }

    /// Refuses a file that is shorter than it says: SQLite reads what is missing as zeros, and a
    /// page of zeros may pass for an empty one.
    pub(super) fn check_whole(&self) -> Result<(), Failure> {
        let length = self.file.metadata().map_err(|error| Failure::io("look at it", &error))?.len();
        match self.header()? {
            Some(header) if header.length() <= length => Ok(()),
            _ => Err(Failure::gone(format!("it was cut off at {length} bytes: {VANISHED}"))),
        }
    }

    /// Refuses a file that has seen fewer changes than its sidecar has recorded.
    pub(super) fn check_not_older_than(&self, record: &Record) -> Result<(), Failure> {
        let found = self.changes()?;
        // The counter wraps around.
        if record.id == self.id && (found.wrapping_sub(record.changes) as i32) < 0 {
            return Err(Failure::gone(restored(record.changes, found)));
        }
        Ok(())
    }
}

/// The start of a SQLite file, as its file format defines it.
struct Header([u8; 32]);

impl Header {
    fn number(&self, offset: usize) -> u32 {
        u32::from_be_bytes([self.0[offset], self.0[offset + 1], self.0[offset + 2], self.0[offset + 3]])
    }

    fn changes(&self) -> u32 {
        self.number(24)
    }

    /// How long the file has to be at least.
    fn length(&self) -> u64 {
        let page = match u16::from_be_bytes([self.0[16], self.0[17]]) {
            // 65536 does not fit into its two bytes.
            1 => 65_536,
            size => u64::from(size),
        };
        page * u64::from(self.number(28))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_set_back_is_told_from_one_that_went_on_also_where_the_counter_wraps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.db");
        let file = DatabaseFile::create(&path).unwrap();
        let at = |changes: u32| {
            let mut header = vec![0; 32];
            header[24..28].copy_from_slice(&changes.to_be_bytes());
            fs::write(&path, header).unwrap();
        };
        let record = |changes| Record { id: file.id().to_owned(), changes };
        at(7);
        assert!(file.check_not_older_than(&record(7)).is_ok());
        assert!(file.check_not_older_than(&record(8)).is_err());
        at(1);
        assert!(file.check_not_older_than(&record(u32::MAX)).is_ok());
    }

    #[test]
    fn a_header_says_how_long_the_file_is_up_to_the_largest_page() {
        for (size, page) in [(4096_u16, 4096), (1, 65_536)] {
            let mut bytes = [0; 32];
            bytes[16..18].copy_from_slice(&size.to_be_bytes());
            bytes[28..32].copy_from_slice(&3_u32.to_be_bytes());
            assert_eq!(Header(bytes).length(), 3 * page);
        }
    }

    #[test]
    fn a_copy_has_another_identity_and_a_rename_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = ["a", "b", "c"].map(|name| folder.path().join(name));
        fs::write(&first, "x").unwrap();
        let id = identity_at(&first).unwrap().unwrap();
        fs::copy(&first, &second).unwrap();
        assert_ne!(identity_at(&second).unwrap().unwrap(), id);
        fs::rename(&first, &third).unwrap();
        assert_eq!(identity_at(&third).unwrap().unwrap(), id);
        assert_eq!(identity_at(&first).unwrap(), None);
    }
}

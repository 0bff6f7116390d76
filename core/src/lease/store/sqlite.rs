//! The embedded registry of one machine: a SQLite file.
//!
//! Every question opens the file, asks and closes it again, all inside `fork::sqlite_section`,
//! so that no connection, lock or descriptor is ever copied by a fork. Three things keep the file
//! honest, because an ID repeats where two processes believe in two registries:
//!
//! - the *sidecar* `PATH.lock` is locked for the whole of each question. SQLite's own POSIX locks
//!   are not enough: they vanish when anything in the process closes the file;
//! - LAYOUT pins which file it was written in, so that a copy is told from the original;
//! - the sidecar records which file it belongs to and how many changes that file had seen, so that
//!   a removed, exchanged or restored file is noticed too.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Answer, LeaseStore, Reply, Request, StoreError, StoreErrorKind};
use crate::error::Error;
use crate::fork;
use crate::layout::Layout;
use crate::lease::record::{DatacenterView, TableIdentity};

mod fault;
mod file;
mod items;
mod questions;
mod schema;
mod sidecar;

use fault::Failure;
use file::DatabaseFile;
use questions::Known;
use sidecar::{Record, Sidecar};

/// How long one question may wait for other processes, all its tries together.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The registry in one SQLite file, for all processes of one machine.
pub struct SqliteStore {
    path: PathBuf,
    /// This store has met an initialised registry here: one that is absent or empty from now on
    /// was removed, not new.
    met: bool,
}

impl SqliteStore {
    /// A store over the file at this path. Neither blocks nor fails; a relative path is taken from
    /// the current directory as it is now.
    ///
    /// The first `Initialise` creates the file (mode 0600), its missing directories (0700) and the
    /// sidecar `PATH.lock`; reading never creates anything but the sidecar of an existing file.
    pub fn new(path: PathBuf) -> SqliteStore {
        // Fails for an empty path only, or without a current directory; opening then says so.
        let path = std::path::absolute(&path).unwrap_or(path);
        SqliteStore { path, met: false }
    }

    /// Where `sqlite:` without a path is: `leaseflake/registry.db` in the user's state directory
    /// (`$XDG_STATE_HOME`, else `$HOME/.local/state`).
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` where no variable names that directory.
    pub fn default_path() -> Result<PathBuf, Error> {
        let local = if cfg!(windows) { env::var_os("LOCALAPPDATA") } else { None };
        state_path(env::var_os("XDG_STATE_HOME").or(local), env::var_os("HOME"))
    }

    /// Tries again, outside the section, while somebody else is at the file.
    fn ask(&mut self, request: &Request) -> Result<Reply, StoreError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let what = match self.try_once(request) {
                Ok(reply) => return Ok(reply),
                Err(Failure::Store(error)) => return Err(self.named(error)),
                Err(Failure::Busy(what)) => what,
            };
            if started.elapsed() >= LOCK_WAIT {
                let text = format!("{what}; waited {} ms", started.elapsed().as_millis());
                return Err(self.named(StoreError::new(StoreErrorKind::Unavailable, text)));
            }
            std::thread::sleep(pause.mul_f64(jitter()));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn named(&self, error: StoreError) -> StoreError {
        StoreError { message: format!("registry file {}: {}", self.path.display(), error.message), ..error }
    }

    /// One try: never waits for another process.
    fn try_once(&mut self, request: &Request) -> Result<Reply, Failure> {
        let section = fork::sqlite_section();
        if section.is_cut() {
            return Err(Failure::unavailable(
                "this process was copied by clone() while another thread was using the registry, and cannot use it \
                 any more: copy processes with fork(), or start a new one",
            ));
        }
        let creates = matches!(request, Request::Initialise { .. } | Request::Fence(_));
        if creates {
            file::create_directories(&self.path)?;
        }
        let path = file::resolve(&self.path)?;
        let Some(sidecar) = Sidecar::lock(&path, creates)? else {
            // Neither the file nor a sidecar: nobody has ever been here.
            return self.nothing_there(request);
        };
        self.locked(request, &path, sidecar)
    }

    fn locked(&mut self, request: &Request, path: &Path, mut sidecar: Sidecar) -> Result<Reply, Failure> {
        let record = sidecar.record()?;
        let known = Known { record: record.as_ref(), met: self.met };
        let file = match DatabaseFile::open(path, matches!(request, Request::Read { .. }))? {
            Some(file) => file,
            None => match request {
                Request::Initialise { .. } if !known.is_known() => DatabaseFile::create(path)?,
                _ if questions::re_pins(request) => DatabaseFile::create(path)?,
                Request::Read { .. } if !known.is_known() => return self.nothing_there(request),
                _ => return Err(Failure::gone(file::VANISHED)),
            },
        };
        if !questions::re_pins(request) {
            // Before SQLite sees it: a journal that the right file left would be played back into it.
            known.check_same(&file)?;
        }
        let done = schema::with_connection(&file, |connection| questions::answer(connection, request, &file, known))?;
        // SQLite opened the path by itself: whatever it found there is gone if the path moved on.
        file.check_still_named()?;
        self.met |= done.initialised;
        if done.changed {
            // Best effort: it only lags behind then, and LAYOUT pins the file all the same.
            let _ = sidecar.write(&Record { id: file.id().to_owned(), changes: file.changes()? }, record.as_ref());
        }
        Ok(done.reply)
    }

    fn nothing_there(&self, request: &Request) -> Result<Reply, Failure> {
        match request {
            Request::Read { .. } if !self.met => Ok(Reply::View(DatacenterView::default())),
            _ => Err(Failure::gone(file::VANISHED)),
        }
    }
}

impl LeaseStore for SqliteStore {
    fn call(&mut self, request: &Request) -> Answer {
        Answer::undated(self.ask(request))
    }

    fn describe(&mut self) -> Result<TableIdentity, StoreError> {
        let known = file::resolve(&self.path).and_then(|path| file::identity_at(&path));
        match known {
            Ok(table_id) => Ok(TableIdentity { region: String::new(), table_id: table_id.unwrap_or_default() }),
            Err(failure) => Err(self.named(failure.into_error())),
        }
    }

    fn auto_datacenters(&mut self, layout: &Layout) -> Result<Vec<u32>, StoreError> {
        Ok((0..=layout.max_datacenter_id()).collect())
    }

    fn name(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }
}

/// Between a half and one and a half: processes that were refused together come back apart.
fn jitter() -> f64 {
    0.5 + getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

fn state_path(state: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, Error> {
    // A relative directory would be another one wherever a process starts.
    let absolute = |text: Option<OsString>| text.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| absolute(home).map(|home| home.join(".local").join("state")));
    match state {
        Some(state) => Ok(state.join("leaseflake").join("registry.db")),
        None => Err(Error::invalid(
            "store",
            "sqlite:",
            "sqlite:PATH, or sqlite: where XDG_STATE_HOME or HOME is set to an absolute path",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(state: &str, home: &str) -> Result<PathBuf, Error> {
        let set = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        state_path(set(state), set(home))
    }

    #[test]
    #[cfg(unix)]
    fn the_default_file_is_in_the_state_directory_and_never_in_a_relative_one() {
        assert_eq!(path("/s", "/h").unwrap(), PathBuf::from("/s/leaseflake/registry.db"));
        assert_eq!(path("", "/h").unwrap(), PathBuf::from("/h/.local/state/leaseflake/registry.db"));
        assert_eq!(path("here", "/h").unwrap(), PathBuf::from("/h/.local/state/leaseflake/registry.db"));
        for (state, home) in [("", ""), ("here", "there")] {
            let error = path(state, home).unwrap_err();
            assert_eq!(error.name(), "INVALID_ARGUMENT");
            assert!(error.message().contains("XDG_STATE_HOME"), "{error}");
        }
    }

    #[test]
    fn the_pause_before_another_try_differs_but_is_never_nothing() {
        let drawn: Vec<f64> = (0..100).map(|_| jitter()).collect();
        assert!(drawn.iter().all(|factor| (0.5..=1.5).contains(factor)), "{drawn:?}");
        assert!(drawn.iter().any(|factor| *factor != drawn[0]));
    }
}

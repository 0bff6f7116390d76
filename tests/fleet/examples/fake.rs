//! A program for the driver's own tests: its IDs come from a counter that all its processes
//! share, and it does wrong where its argument says so.
//!
//! `fake [FAULT]`: see [`Fault`].

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use leaseflake::{Error, ErrorCode};
use leaseflake_fleet::member::{Issue, Open, serve};

/// IDs of one process before it does wrong.
const PATIENCE: u64 = 500;

/// What it does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Issues what another process has just issued.
    Repeat,
    /// Issues two IDs the wrong way round.
    Disorder,
    /// Never issues.
    Silence,
    /// Dies.
    Crash,
    /// Answers its own bug.
    Internal,
    /// Cannot be opened.
    Refused,
    /// Trusts its wall clock and a fixed worker ID, as many generators do.
    WallClock,
}

struct Fake {
    fault: Fault,
    counter: &'static AtomicI64,
}

struct Generator {
    fault: Fault,
    counter: &'static AtomicI64,
    issued: AtomicU64,
    newest: AtomicI64,
    worker: i64,
}

fn main() -> io::Result<()> {
    let fault = match std::env::args().nth(1).as_deref() {
        None => Fault::None,
        Some("repeat") => Fault::Repeat,
        Some("disorder") => Fault::Disorder,
        Some("silence") => Fault::Silence,
        Some("crash") => Fault::Crash,
        Some("internal") => Fault::Internal,
        Some("refused") => Fault::Refused,
        Some("wall-clock") => Fault::WallClock,
        Some(other) => return Err(io::Error::other(format!("no such fault: {other}"))),
    };
    serve(&Fake { fault, counter: shared_counter()? })
}

fn output() -> PathBuf {
    PathBuf::from(std::env::var_os("FLEET_OUT").unwrap_or_default())
}

/// In a file beside the streams, mapped by all.
fn shared_counter() -> io::Result<&'static AtomicI64> {
    let path = output().with_file_name("counter");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(8)?;
    // SAFETY: a new shared mapping of a file that is long enough; it is never unmapped.
    let page = unsafe {
        libc::mmap(std::ptr::null_mut(), 8, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: mapped above for good, aligned to a page, and only ever used as this atomic.
    Ok(unsafe { &*page.cast::<AtomicI64>() })
}

impl Open for Fake {
    type Generator = Generator;

    fn open(&self) -> Result<Generator, Error> {
        if self.fault == Fault::Refused {
            return Err(Error::new(ErrorCode::StoreRejected, "no such table"));
        }
        let Fake { fault, counter } = *self;
        // `p7-2` is the second program at the place 7.
        let name = output().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = name.trim_start_matches('p').split('-').next().and_then(|place| place.parse().ok());
        let worker = place.ok_or_else(|| Error::invalid("FLEET_OUT", name, "a path that ends in p7-2"))?;
        Ok(Generator { fault, counter, issued: AtomicU64::new(0), newest: AtomicI64::new(0), worker })
    }
}

impl Generator {
    /// Reserves IDs; calls of several threads keep their order, since each reserves for itself.
    fn reserve(&self, count: usize) -> Result<Vec<i64>, Error> {
        let before = self.issued.fetch_add(count as u64, Ordering::SeqCst);
        let late = before > PATIENCE;
        match self.fault {
            Fault::Silence => return Err(Error::new(ErrorCode::LeaseSuspended, "for ever")),
            Fault::Internal if late => return Err(Error::new(ErrorCode::Internal, "a bug")),
            // SAFETY: ends this process at once.
            Fault::Crash if late => unsafe { libc::_exit(7) },
            Fault::WallClock => return Ok(self.by_the_wall_clock(count)),
            _ => {}
        }
        let first = self.counter.fetch_add(count as i64, Ordering::SeqCst) + 1;
        let mut ids: Vec<i64> = (first..first + count as i64).collect();
        // Nobody else has issued in between, or the one before is another process's.
        let others = self.newest.swap(first + count as i64 - 1, Ordering::SeqCst) < first - 1;
        if late && self.fault == Fault::Repeat && others {
            ids[0] -= 1;
        }
        if late && self.fault == Fault::Disorder && count > 1 {
            ids.swap(0, 1);
        }
        Ok(ids)
    }

    /// Timestamp, the place's number as worker ID, sequence.
    fn by_the_wall_clock(&self, count: usize) -> Vec<i64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as i64);
        let first_after = |newest: i64| (newest + 1).max(now << 12);
        let step = |newest: i64| Some(first_after(newest) + count as i64 - 1);
        let before = self.newest.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step).unwrap_or(0);
        let first = first_after(before);
        (first..first + count as i64).map(|word| word >> 12 << 22 | self.worker << 12 | word & 4095).collect()
    }
}

impl Issue for Generator {
    fn next(&self) -> Result<i64, Error> {
        self.reserve(1).map(|ids| ids[0])
    }

    fn batch(&self, count: usize) -> Result<Vec<i64>, Error> {
        self.reserve(count)
    }

    fn fill(&self, ids: &mut [i64]) -> Result<(), (usize, Error)> {
        let reserved = self.reserve(ids.len()).map_err(|error| (0, error))?;
        ids.copy_from_slice(&reserved);
        Ok(())
    }

    fn status(&self) -> Result<String, Error> {
        Ok("state=active".to_owned())
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

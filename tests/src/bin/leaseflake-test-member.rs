//! A process that makes IDs as a test tells it to: commands on standard input, one line of answer
//! for each. `leaseflake_tests::member` is the other side.
//!
//! Its generator has the options of the environment. SIGTERM closes it and ends the process, as
//! every README shows.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use leaseflake::{Error, IdGenerator, Options, StatusValue};

/// What the background thread did since somebody last looked.
#[derive(Default)]
struct Log {
    ids: Vec<i64>,
    errors: BTreeMap<&'static str, u64>,
}

#[derive(Default)]
struct Member {
    ids: Option<Arc<IdGenerator>>,
    log: Arc<Mutex<Log>>,
    running: Arc<AtomicBool>,
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: &Error) -> String {
    format!("error {} {}", error.name(), error.message().replace('\n', " "))
}

impl Member {
    fn perform(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["open"] => match IdGenerator::open(Options::new()) {
                Ok(ids) => {
                    self.ids = Some(Arc::new(ids));
                    "ok".to_owned()
                }
                Err(error) => failed(&error),
            },
            ["issue", count] => self.issue(count.parse().unwrap_or(0)),
            ["run"] => self.run(),
            ["stop"] => {
                self.running.store(false, Ordering::SeqCst);
                "ok".to_owned()
            }
            ["take"] => self.take(),
            ["fork", path] => self.fork(path),
            ["status"] => self.status(),
            ["close"] => {
                if let Some(ids) = self.ids.take() {
                    ids.close();
                }
                "ok".to_owned()
            }
            _ => format!("error INVALID_ARGUMENT no such command: {line}"),
        }
    }

    fn issue(&self, count: usize) -> String {
        let Some(ids) = &self.ids else { return "error CLOSED nothing is open".to_owned() };
        let mut answer = "ok".to_owned();
        for _ in 0..count {
            match ids.next_id() {
                Ok(id) => answer.push_str(&format!(" {}", id.as_i64())),
                Err(error) => return failed(&error),
            }
        }
        answer
    }

    /// Issues some two thousand IDs a second from now on, and notes every error.
    fn run(&mut self) -> String {
        let Some(ids) = self.ids.clone() else { return "error CLOSED nothing is open".to_owned() };
        let (log, running) = (Arc::clone(&self.log), Arc::clone(&self.running));
        running.store(true, Ordering::SeqCst);
        thread::spawn(move || {
            while running.load(Ordering::SeqCst) && !ids.is_closed() {
                let result = ids.next_id();
                let mut log = lock(&log);
                match result {
                    Ok(id) => log.ids.push(id.as_i64()),
                    Err(error) => *log.errors.entry(error.name()).or_insert(0) += 1,
                }
                drop(log);
                thread::sleep(Duration::from_micros(400));
            }
        });
        "ok".to_owned()
    }

    /// Forks a child that issues by itself into this file, and one of its own into `PATH-child`.
    fn fork(&self, path: &str) -> String {
        let Some(ids) = &self.ids else { return "error CLOSED nothing is open".to_owned() };
        // SAFETY: the child uses only what it makes itself and the generator, whose promise is to
        // survive this, and never returns.
        match unsafe { libc::fork() } {
            -1 => format!("error INTERNAL {}", std::io::Error::last_os_error()),
            0 => live_as_child(ids, path),
            child => format!("ok {child}"),
        }
    }

    fn take(&self) -> String {
        let log = std::mem::take(&mut *lock(&self.log));
        let mut answer = "ok".to_owned();
        for (name, count) in log.errors {
            answer.push_str(&format!(" {name}={count}"));
        }
        for id in log.ids {
            answer.push_str(&format!(" {id}"));
        }
        answer
    }

    fn status(&self) -> String {
        let Some(ids) = &self.ids else { return "error CLOSED nothing is open".to_owned() };
        let mut answer = "ok".to_owned();
        for (name, value) in ids.status().fields() {
            let text = match value {
                StatusValue::Text(text) => text.replace(char::is_whitespace, "_"),
                StatusValue::Number(number) => number.to_string(),
                StatusValue::Flag(flag) => flag.to_string(),
                StatusValue::None => continue,
            };
            answer.push_str(&format!(" {name}={text}"));
        }
        answer
    }
}

/// Longer than any test; a child must not stay when its test was killed.
const CHILD_LIVES: Duration = Duration::from_secs(300);

/// One ID after the other into a file, one a line, until killed. After a hundred IDs a child of
/// its own is forked that does the same, but for the forking.
fn live_as_child(ids: &IdGenerator, path: &str) -> ! {
    // SAFETY: closes what belongs to the parent's conversation.
    unsafe {
        libc::close(0);
        libc::close(1);
    }
    let began = Instant::now();
    let mut issued = 0_u32;
    let mut path = path.to_owned();
    let mut may_fork = true;
    let open = |path: &str| OpenOptions::new().create_new(true).append(true).open(path);
    let Ok(mut file) = open(&path) else { std::process::abort() };
    while began.elapsed() < CHILD_LIVES {
        if let Ok(id) = ids.next_id() {
            issued += 1;
            if file.write_all(format!("{id}\n").as_bytes()).is_err() {
                break;
            }
        }
        // SAFETY: as in `fork`.
        if may_fork && issued == 100 && unsafe { libc::fork() } == 0 {
            path.push_str("-child");
            let Ok(own) = open(&path) else { std::process::abort() };
            file = own;
        }
        may_fork &= issued < 100;
        thread::sleep(Duration::from_micros(400));
    }
    // SAFETY: ends this process without what the parent registered.
    unsafe { libc::_exit(0) }
}

/// Closes on SIGTERM: the lease is released before the process is gone.
fn close_on_sigterm(member: &Arc<Mutex<Member>>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut terminated = {
        let _inside = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?
    };
    let member = Arc::clone(member);
    thread::spawn(move || {
        runtime.block_on(terminated.recv());
        member.lock().unwrap_or_else(PoisonError::into_inner).perform("close");
        std::process::exit(0);
    });
    Ok(())
}

fn main() -> std::io::Result<()> {
    let member = Arc::new(Mutex::new(Member::default()));
    close_on_sigterm(&member)?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let answer = member.lock().unwrap_or_else(PoisonError::into_inner).perform(&line?);
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

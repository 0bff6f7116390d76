//! Processes that make IDs as a test tells them to: `src/bin/leaseflake-test-member.rs`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use leaseflake::{Id, IdParts, Layout};

use crate::emulator::CREDENTIALS;
use crate::shim::ShimClock;

/// Nothing that is waited for takes this long, even on a slow machine under load.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// How a process is to be started.
#[derive(Debug)]
pub struct MemberBuilder {
    command: Command,
    layout: Layout,
}

impl MemberBuilder {
    /// A process of this program, whose generator uses this registry.
    pub fn new(program: impl AsRef<OsStr>, store: &str) -> MemberBuilder {
        let mut command = Command::new(program);
        command.env("LEASEFLAKE_STORE", store).env("AWS_CONFIG_FILE", "/dev/null").envs(CREDENTIALS);
        // A busy machine may need more than the default's time for a release, and tests look for those.
        MemberBuilder { command, layout: Layout::default() }.option("close_timeout_ms", 20_000)
    }

    /// Sets an option of the generator, by its name.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl ToString) -> MemberBuilder {
        self.command.env(format!("LEASEFLAKE_{}", name.to_uppercase()), value.to_string());
        self
    }

    /// Gives it another layout.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> MemberBuilder {
        self.layout = layout;
        self.option("layout", layout)
    }

    /// Short leases: `ttl` ms, a heartbeat every eighth of it, the margin too.
    #[must_use]
    pub fn lease(self, ttl_ms: u64) -> MemberBuilder {
        self.option("lease_ttl_ms", ttl_ms)
            .option("heartbeat_interval_ms", ttl_ms / 8)
            .option("safety_margin_ms", ttl_ms / 8)
    }

    /// Lets it live by this clock.
    #[must_use]
    pub fn clock(mut self, clock: &ShimClock) -> MemberBuilder {
        clock.apply(&mut self.command);
        self
    }

    /// Sets its working folder.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> MemberBuilder {
        self.command.current_dir(folder);
        self
    }

    /// Starts it; nothing is open yet.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start(mut self) -> Member {
        let mut process = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{:?} does not start: {error}", self.command));
        let stdin = process.stdin.take();
        let lines = read_lines(process.stdout.take().expect("piped above"));
        let mut member = Member { process, stdin, lines, layout: self.layout };
        assert_eq!(member.line("ready"), "ready");
        member
    }
}

/// Lines come through a channel, so that nobody waits for ever for a process that hangs.
fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A process of its own with a generator; killed when dropped.
#[derive(Debug)]
pub struct Member {
    process: process::Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    layout: Layout,
}

/// What `run` has done since somebody last took it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The IDs, in the order of issue.
    pub ids: Vec<i64>,
    /// How often each error came, by its name.
    pub errors: BTreeMap<String, u64>,
}

/// An error's name and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its stable name, such as `NO_WORKER_ID`.
    pub name: String,
    /// What it says.
    pub message: String,
}

impl Member {
    /// Tells it to do something without waiting for the answer.
    ///
    /// # Panics
    ///
    /// If the process is gone.
    pub fn tell(&mut self, command: &str) {
        let stdin = self.stdin.as_mut().expect("open until the member is consumed");
        writeln!(stdin, "{command}").unwrap_or_else(|error| panic!("{command}: the process is gone: {error}"));
    }

    /// Its next answer.
    ///
    /// # Errors
    ///
    /// What the process answered.
    ///
    /// # Panics
    ///
    /// If there is none within a long time.
    pub fn answer(&mut self, command: &str) -> Result<String, Failure> {
        let line = self.line(command);
        if let Some(error) = line.strip_prefix("error ") {
            let (name, message) = error.split_once(' ').unwrap_or((error, ""));
            return Err(Failure { name: name.to_owned(), message: message.to_owned() });
        }
        Ok(line.strip_prefix("ok").unwrap_or_else(|| panic!("{command}: {line}")).trim().to_owned())
    }

    fn line(&mut self, command: &str) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("{command}: no answer within {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("{command}: the process ended: {:?}", self.process.wait()),
        }
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    ///
    /// What the process answered.
    pub fn ask(&mut self, command: &str) -> Result<String, Failure> {
        self.tell(command);
        self.answer(command)
    }

    /// Opens its generator.
    ///
    /// # Errors
    ///
    /// As `IdGenerator::open`.
    pub fn open(&mut self) -> Result<(), Failure> {
        self.ask("open").map(|_| ())
    }

    /// Issues so many IDs, one call each.
    ///
    /// # Errors
    ///
    /// Of the first call that failed.
    pub fn issue(&mut self, count: usize) -> Result<Vec<i64>, Failure> {
        let answer = self.ask(&format!("issue {count}"))?;
        Ok(answer.split_whitespace().map(|id| id.parse().expect("an ID")).collect())
    }

    /// Issues in the background from now on, noting IDs and errors.
    ///
    /// # Panics
    ///
    /// If nothing is open.
    pub fn run(&mut self) {
        self.ask("run").expect("a generator that is open");
    }

    /// What the background has done since the last take.
    ///
    /// # Panics
    ///
    /// If the process is gone.
    pub fn take(&mut self) -> Taken {
        let mut taken = Taken::default();
        for word in self.ask("take").expect("always answered").split_whitespace() {
            match word.split_once('=') {
                Some((name, count)) => drop(taken.errors.insert(name.to_owned(), count.parse().expect("a count"))),
                None => taken.ids.push(word.parse().expect("an ID")),
            }
        }
        taken
    }

    /// A field of its status, as text; empty where it is not known.
    ///
    /// # Panics
    ///
    /// If nothing is open.
    pub fn status(&mut self, field: &str) -> String {
        let fields = self.ask("status").expect("a generator that is open");
        let mut fields = fields.split_whitespace().filter_map(|word| word.split_once('='));
        fields.find(|(name, _)| *name == field).map_or_else(String::new, |(_, value)| value.to_owned())
    }

    /// A number of its status; 0 where it is not known.
    pub fn number(&mut self, field: &str) -> i64 {
        self.status(field).parse().unwrap_or(0)
    }

    /// Waits until something holds of it.
    ///
    /// # Panics
    ///
    /// If it does not within a long time; `what` says what was waited for.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&mut Member) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            let status = || "its status is not known".to_owned();
            assert!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} in vain until {what}: {}",
                self.ask("status").unwrap_or_else(|_| status())
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The fields of an ID of its layout.
    pub fn decode(&self, id: i64) -> IdParts {
        self.layout.decode(Id::try_from(id).expect("an ID is above zero"))
    }

    /// Sends a signal, such as `libc::SIGSTOP`.
    pub fn signal(&self, signal: i32) {
        // SAFETY: our own child, not waited for yet.
        unsafe { libc::kill(self.process.id() as i32, signal) };
    }

    /// Waits until the process has ended by itself.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub fn wait_for_end(&mut self) -> process::ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().expect("our own child") {
                return status;
            }
            assert!(Instant::now() < deadline, "the process does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Member {
    /// Ends its input and waits until it has ended by itself.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub fn end_input(mut self) -> process::ExitStatus {
        self.stdin = None;
        self.wait_for_end()
    }
}

impl Member {
    /// Forks a child that issues by itself, and that forks one of its own after a hundred IDs.
    ///
    /// # Panics
    ///
    /// If nothing is open.
    pub fn fork(&mut self, folder: &Path, name: &str) -> Child {
        let file = folder.join(name);
        let answer = self.ask(&format!("fork {}", file.display())).expect("a generator that is open");
        Child { pid: answer.parse().expect("a process ID"), file }
    }

    /// The names of its threads.
    ///
    /// # Panics
    ///
    /// If the process is gone.
    pub fn thread_names(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("a process that runs");
        let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.map(|name| name.trim().to_owned()).collect()
    }
}

/// A forked child of a member, and the child of its own that it forks; both are killed when dropped.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    file: PathBuf,
}

impl Child {
    /// What it has issued, in order.
    pub fn ids(&self) -> Vec<i64> {
        read_ids(&self.file)
    }

    /// What its child has issued, in order.
    pub fn grandchild_ids(&self) -> Vec<i64> {
        read_ids(&self.grandchild_file())
    }

    fn grandchild_file(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push("-child");
        name.into()
    }

    /// Waits until something holds of what it has issued.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub fn wait_for_ids(&self, what: &str, holds: impl Fn(&[i64]) -> bool) {
        wait_for(what, || holds(&self.ids()));
    }

    /// The same for its child.
    ///
    /// # Panics
    ///
    /// If it does not within a long time.
    pub fn wait_for_grandchild_ids(&self, what: &str, holds: impl Fn(&[i64]) -> bool) {
        wait_for(what, || holds(&self.grandchild_ids()));
    }
}

fn read_ids(file: &Path) -> Vec<i64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The last line may not be whole yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|id| id.parse().expect("an ID")).collect()
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        for pid in [Some(self.pid), child_of(self.pid)].into_iter().flatten() {
            // SAFETY: processes that this test has started, by their numbers.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

fn child_of(pid: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Fails if an ID is there twice.
///
/// # Panics
///
/// With the ID.
pub fn assert_no_repeat<'a>(ids: impl IntoIterator<Item = &'a i64>) {
    let mut all: Vec<i64> = ids.into_iter().copied().collect();
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!("ID {} was issued twice", pair[0]);
    }
}

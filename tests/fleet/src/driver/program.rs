//! One running program: its pipes, and the answers that it owes.

use std::collections::VecDeque;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use leaseflake_tests::shim::ShimClock;

/// A line that a program wrote.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) place: usize,
    pub(super) incarnation: u32,
    pub(super) text: String,
}

/// How a program is started.
pub(super) struct Start<'a> {
    pub(super) place: usize,
    pub(super) incarnation: u32,
    pub(super) command: &'a [String],
    pub(super) environment: &'a [(String, String)],
    pub(super) store: &'a str,
    pub(super) clock: &'a ShimClock,
    /// The beginning of its streams' paths, and of the file of what it says on standard error.
    pub(super) prefix: &'a Path,
    pub(super) seconds: u64,
}

fn error_output(prefix: &Path) -> io::Result<File> {
    let path = prefix.with_extension("stderr");
    File::create(&path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// A program and its pipes. Dropping it ends the process.
pub(super) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What it has been asked and when, oldest first.
    pub(super) owed: VecDeque<(String, Instant)>,
    /// What `ready` said that it can do.
    pub(super) capabilities: Vec<String>,
}

impl Program {
    pub(super) fn start(start: &Start<'_>, lines: Sender<Line>) -> io::Result<Program> {
        let (program, arguments) =
            start.command.split_first().ok_or_else(|| io::Error::other("an empty command for a program"))?;
        let mut command = Command::new(program);
        // What the driver's own user has set is not meant for the fleet.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEFLAKE_")) {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .env("LEASEFLAKE_STORE", start.store)
            .env("FLEET_OUT", start.prefix)
            .env("FLEET_SECONDS", start.seconds.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(error_output(start.prefix)?)
            // A group of its own: what a terminal sends to the driver is the driver's.
            .process_group(0);
        start.clock.apply(&mut command);
        let mut child = command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
        let (place, incarnation) = (start.place, start.incarnation);
        thread::spawn(move || {
            for text in BufReader::new(stdout).lines().map_while(Result::ok) {
                if lines.send(Line { place, incarnation, text }).is_err() {
                    return;
                }
            }
        });
        // It owes `ready` from the start.
        let owed = VecDeque::from([("ready".to_owned(), Instant::now())]);
        Ok(Program { stdin: child.stdin.take(), child, owed, capabilities: Vec::new() })
    }

    /// Sends a command. A program that has just ended does not take it, which is seen elsewhere.
    pub(super) fn send(&mut self, command: &str) {
        if let Some(stdin) = &mut self.stdin
            && writeln!(stdin, "{command}").is_ok()
        {
            self.owed.push_back((command.to_owned(), Instant::now()));
        }
    }

    /// What the oldest unanswered command was.
    pub(super) fn answered(&mut self) -> Option<String> {
        self.owed.pop_front().map(|(command, _)| command)
    }

    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    pub(super) fn signal(&self, signal: i32) {
        // SAFETY: our own child, which is not waited for before `self` goes, so the number is its.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

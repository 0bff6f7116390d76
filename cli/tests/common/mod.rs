//! Runs the command as its users do.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// One worker ID in each datacenter: who holds it is plain to see.
pub(crate) const ONE_WORKER: [&str; 4] = ["--layout", "46-5-0-12", "--datacenter-id", "0"];

/// The command over a registry of its own, which vanishes with it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What it wrote, of a run that must have gone well.
    pub(crate) fn good(self) -> String {
        assert!(self.status.success(), "{self:?}");
        self.out
    }

    /// Asserts the exit code, and that standard error holds all of this.
    pub(crate) fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code(), Some(code), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {self:?}");
        }
    }
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, told by the environment which registry to use.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(arguments);
        command.env("LEASEFLAKE_STORE", format!("sqlite:{}", self.path("registry.db").display()));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(self.command(arguments), "")
    }
}

/// The command with no option in the environment, and no home.
pub(crate) fn bare(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaseflake"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEASEFLAKE_")) {
        command.env_remove(name);
    }
    // A busy machine may need more than the default's time for a release, and tests look for those.
    command.env("LEASEFLAKE_CLOSE_TIMEOUT_MS", "20000");
    command.env_remove("HOME").env_remove("XDG_STATE_HOME").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    hear_signals(&mut command);
    command
}

/// Has the command hear signals whatever the shell that started the tests ignores: what is ignored
/// is inherited, and the command honours it.
#[cfg(unix)]
fn hear_signals(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let reset = || {
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM] {
            // SAFETY: may be called between fork and exec, and touches no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(reset) };
}

/// Runs to the end, with this on standard input.
pub(crate) fn run(mut command: Command, input: &str) -> Ended {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // From a thread of its own: neither side may wait for the other with a full pipe. A command
    // that reads nothing may be gone already.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { status: output.status, out: text(output.stdout), err: text(output.stderr) }
}

/// A run that goes on until somebody ends it; ended for certain when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    /// The next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.lines.next().map(Result::unwrap)
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// What is left to read, and how it ended.
    pub(crate) fn rest(mut self) -> (Vec<String>, ExitStatus) {
        let rest = std::iter::from_fn(|| self.line()).collect();
        (rest, self.child.wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

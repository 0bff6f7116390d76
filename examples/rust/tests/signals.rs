//! The example ends cleanly when it is told to.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A registry with a single worker ID: the next process gets one only if the last gave it back.
fn start(registry: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_leaseflake-example"))
        .env("LEASEFLAKE_STORE", format!("sqlite:{}", registry.display()))
        .env("LEASEFLAKE_LAYOUT", "41-0-0-22")
        // Far longer than the time in which `open` gives up.
        .env("LEASEFLAKE_LEASE_TTL_MS", "3600000")
        .env("LEASEFLAKE_ACQUIRE_TIMEOUT_MS", "20000")
        // A slow machine must not make the release give up.
        .env("LEASEFLAKE_CLOSE_TIMEOUT_MS", "60000")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_signal_ends_the_example_well_and_gives_its_worker_id_back() {
    let folder = tempfile::tempdir().unwrap();
    let registry = folder.path().join("ids.db");
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGTERM] {
        let mut example = start(&registry);
        // Held to the end: the example goes on writing until the signal reaches it.
        let mut output = BufReader::new(example.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("order "), "{line:?}");
        // SAFETY: the process is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(example.id() as libc::pid_t, signal) }, 0);
        assert!(example.wait().unwrap().success(), "after signal {signal}");
    }
}

//! The command over DynamoDB, on an emulator.
#![cfg(feature = "dynamodb")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::{Ended, bare, run};
use serde_json::Value;

/// An emulator of our own; it ends with its standard input, and so with this process.
struct Emulator {
    process: Child,
    endpoint: String,
}

impl Emulator {
    fn start() -> Emulator {
        let binary = std::env::var_os("LEASEFLAKE_EMULATOR_BIN").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/emulators/target/ci/leaseflake-emulator")),
            PathBuf::from,
        );
        let mut process = Command::new(&binary)
            .args(["--port", "0", "--exit-with-stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; build it with `make emulator`", binary.display()));
        let mut endpoint = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut endpoint).unwrap();
        Emulator { process, endpoint: endpoint.trim().to_owned() }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = bare(arguments);
        command.env("LEASEFLAKE_STORE", format!("dynamodb://ids?region=us-west-2&endpoint={}", self.endpoint));
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        run(command, "")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(arguments).good()).unwrap()
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn a_table_is_created_once_and_everything_works_on_it() {
    let emulator = Emulator::start();
    emulator.run(&["registry", "show"]).refused(11, &["STORE_REJECTED", "leaseflake registry create"]);
    let doctor = emulator.run(&["doctor"]);
    doctor.refused(1, &[]);
    assert!(doctor.out.contains("leaseflake registry create"), "{doctor:?}");

    assert!(emulator.run(&["registry", "create"]).good().starts_with("table ids created"));
    assert!(emulator.run(&["registry", "create"]).good().starts_with("table ids was there already"));
    // The region's datacenter, by the frozen table.
    assert!(emulator.run(&["registry", "init"]).good().starts_with("datacenter 1 initialised: 32 worker IDs"));
    let newest: i64 = emulator.run(&["generate"]).good().trim().parse().unwrap();

    let shown = emulator.json(&["registry", "show", "--format", "json"]);
    let datacenter = &shown["datacenters"][0];
    assert_eq!((&datacenter["datacenter_id"], &datacenter["region"]), (&1.into(), &"us-west-2".into()), "{shown}");
    assert_eq!(datacenter["free"], 32);
    let used = |item: &&Value| item["state"] == "released";
    assert_eq!(datacenter["workers"].as_array().unwrap().iter().filter(used).count(), 1, "{shown}");

    let report = emulator.json(&["doctor", "--format", "json"]);
    let verdict = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["check"] == check).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    for check in ["registry", "date", "layout", "worker IDs"] {
        // A machine under load may answer slowly, and that is only a warning.
        assert_ne!(verdict(check), "wrong", "{report}");
    }

    let out = emulator.run(&["registry", "fence", "--at", "now"]).good();
    assert!(out.starts_with("datacenter 1: 32 worker IDs fenced"), "{out}");
    let next: i64 = emulator.run(&["generate"]).good().trim().parse().unwrap();
    assert!(next > newest);
    emulator.run(&["registry", "init", "--layout", "42-5-5-11"]).refused(12, &["LAYOUT_MISMATCH"]);
}

#[test]
fn a_registry_that_does_not_answer_is_unavailable() {
    let mut emulator = Emulator::start();
    emulator.stop();
    emulator.run(&["generate", "--acquire-timeout-ms", "500"]).refused(10, &["STORE_UNAVAILABLE"]);
    emulator.run(&["registry", "show"]).refused(10, &["STORE_UNAVAILABLE"]);
    emulator.run(&["doctor"]).refused(1, &[]);
}

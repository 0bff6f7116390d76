//! The driver passes a fleet that does right, and fails one that does wrong, whatever the wrong.
//!
//! The fleet's program is `examples/fake.rs`, whose argument says what it does wrong.

use std::path::PathBuf;
use std::time::Duration;

use leaseflake::Layout;
use leaseflake_fleet::driver::{Config, Outcome, Registry, run};
use tempfile::TempDir;

/// Short pauses, quick faults: what is tested is the driver, not a generator.
fn config(folder: &TempDir, fault: &str, seconds: f64) -> Config {
    let mut program = vec![fake()];
    program.extend((!fault.is_empty()).then(|| fault.to_owned()));
    Config {
        seed: 3,
        duration: Duration::from_secs_f64(seconds),
        processes: 6,
        registry: Registry::Given("memory:".to_owned()),
        programs: vec![program],
        environment: Vec::new(),
        lease: Duration::from_millis(300),
        target_ids: 20_000,
        rate: Some(3_000),
        threads: 2,
        children: 3,
        events_per_minute: 1_200,
        layout: Layout::default(),
        // Its IDs hold no time.
        most_ahead: None,
        largest_step_ms: 300_000,
        liveness: Duration::from_secs(60),
        folder: folder.path().to_owned(),
        temporary: None,
    }
}

/// Cargo builds examples before it runs the tests, beside the folder that this binary is in.
fn fake() -> String {
    let deps: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    deps.parent().unwrap().join("examples/fake").to_str().unwrap().to_owned()
}

fn outcome_of(fault: &str) -> Outcome {
    let folder = TempDir::new().unwrap();
    run(&config(&folder, fault, 1.0)).unwrap()
}

#[test]
fn a_fleet_that_does_right_passes_through_faults_of_every_kind() {
    let folder = TempDir::new().unwrap();
    let outcome = run(&config(&folder, "", 6.0)).unwrap();
    assert!(outcome.passed(), "{outcome}");
    assert!(outcome.report.ids >= 20_000, "{outcome}");
    for kind in ["stop", "kill", "fork", "step", "restart"] {
        assert!(outcome.faults.contains_key(kind), "no {kind}: {outcome}");
    }
    assert!(outcome.report.processes > 6, "restarts and children write streams of their own: {outcome}");
    assert_eq!(outcome.report.faults, outcome.faults.values().sum::<u64>());
}

#[test]
fn repeats_between_processes_are_found() {
    let outcome = outcome_of("repeat");
    assert!(!outcome.passed(), "{outcome}");
    assert!(outcome.report.duplicates > 0, "{outcome}");
}

#[test]
fn a_stream_that_does_not_increase_is_found() {
    let outcome = outcome_of("disorder");
    assert!(!outcome.passed(), "{outcome}");
    assert!(outcome.report.out_of_order > 0 && outcome.report.duplicates == 0, "{outcome}");
}

#[test]
fn a_generator_that_trusts_its_wall_clock_repeats_under_these_faults() {
    let folder = TempDir::new().unwrap();
    let outcome = run(&config(&folder, "wall-clock", 6.0)).unwrap();
    assert!(outcome.report.duplicates > 0, "{outcome}");
}

#[test]
fn a_process_that_does_not_issue_although_nothing_hinders_it_fails_the_fleet() {
    let folder = TempDir::new().unwrap();
    let mut config = config(&folder, "silence", 1.0);
    config.target_ids = 0;
    // Nothing but the silence itself may fail it.
    config.events_per_minute = 1;
    config.liveness = Duration::from_secs(2);
    let outcome = run(&config).unwrap();
    assert!(!outcome.passed(), "{outcome}");
    assert!(outcome.failures.iter().any(|failure| failure.contains("has issued nothing for")), "{outcome}");
}

#[test]
fn crashes_bugs_and_final_refusals_fail_the_fleet() {
    for (fault, expected) in [
        ("crash", "ended by itself"),
        // A call or the background, whoever meets it first.
        ("internal", "INTERNAL"),
        ("refused", "was refused \"open\" for good: 11 STORE_REJECTED no such table"),
    ] {
        let outcome = outcome_of(fault);
        assert!(!outcome.passed(), "{fault}: {outcome}");
        assert!(outcome.failures.iter().any(|failure| failure.contains(expected)), "{fault}: {outcome}");
    }
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_named() {
    let folder = TempDir::new().unwrap();
    let config = Config { programs: vec![vec!["echo".to_owned(), "hello".to_owned()]], ..config(&folder, "", 1.0) };
    let outcome = run(&config).unwrap();
    let said = outcome.failures.join("\n");
    assert!(
        said.contains("ended by itself") || said.contains("\"hello\", which the protocol does not allow"),
        "{said}"
    );
}

//! The fleet notices when a rule of the core is off: the real program, with one rule turned off.
//!
//! Only the rules whose breach shows from outside within a minute. The other rules guard moments
//! that last for nanoseconds or need a chain of events; the model and the simulation find those.

use std::process::Command;

use tempfile::TempDir;

#[test]
fn the_fleet_finds_repeats_when_a_rule_is_off() {
    for rule in ["ForkPage", "ConfirmedCeilings", "KernelRandomness"] {
        let folder = TempDir::new().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_leaseflake-fleet"))
            .args(["--seed", "21", "--minutes", "0.6", "--processes", "12", "--children", "4"])
            .args(["--target-ids", "1000000", "--events-per-minute", "300"])
            .args(["--option", &format!("test_mutant={rule}")])
            // Kept streams of a failure that is expected would stay for ever.
            .arg("--folder")
            .arg(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{rule} off:\n{said}");
        let counts = said.lines().find(|line| line.starts_with("ids=")).unwrap_or_default();
        assert!(!counts.is_empty(), "{rule}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(!counts.contains(" duplicates=0 "), "the fleet passes without {rule}: {said}");
        assert_eq!(output.status.code(), Some(1), "{rule}: {said}");
    }
}

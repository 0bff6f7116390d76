//! The seeds that run: a few in every test run, many in `make prove`.

use std::sync::{Arc, Mutex};

use super::outcome::Outcome;
use super::world::{Scenario, World};
use crate::lease::store::LeaseStore;
use crate::lease::store::memory::{MemoryRegistry, MemoryStore};

const DAY: Scenario =
    Scenario { processes: 32, hours: 24, fault_every_ms: 60_000, issue_every_ms: 20_000, scarce: false };

/// The same for an hour, for registries that take their time.
const HOUR: Scenario =
    Scenario { processes: 32, hours: 1, fault_every_ms: 15_000, issue_every_ms: 5_000, scarce: false };

/// An hour in which 32 processes and their children want the 32 worker IDs of one datacenter.
const SCARCE_HOUR: Scenario = Scenario { scarce: true, ..HOUR };

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")))
}

/// The one that `LEASEFLAKE_SIM_SEED` names, to see it again; else 1 to the number that the
/// variable holds.
fn seeds(variable: &str, usual: u64) -> Vec<u64> {
    match number("LEASEFLAKE_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number(variable).unwrap_or(usual)).collect(),
    }
}

fn run(scenario: Scenario, seeds: Vec<u64>, store: impl Fn(u64) -> Box<dyn LeaseStore> + Sync) {
    let queue = Mutex::new(seeds);
    let total = Mutex::new((0u64, Outcome::default()));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(seed) = queue.lock().expect("queue").pop() else { return };
                    let mut store = store(seed);
                    match World::new(seed, scenario, store.as_mut()).run() {
                        Ok(outcome) => {
                            let mut total = total.lock().expect("total");
                            total.0 += 1;
                            total.1.add(&outcome);
                        }
                        Err(error) => failures.lock().expect("failures").push((seed, error)),
                    }
                }
            });
        }
    });
    let (runs, total) = *total.lock().expect("total");
    println!(
        "simulation of {} h{}: {runs} seeds, {} IDs, {} faults: {total:?}",
        scenario.hours,
        if scenario.scarce { " with too few worker IDs" } else { "" },
        total.ids,
        total.faults.total(),
    );
    let failures = failures.lock().expect("failures");
    assert!(failures.is_empty(), "{} seeds failed: {:#?}", failures.len(), failures.iter().take(5).collect::<Vec<_>>());
    assert!(total.ids > 0 && total.faults.total() > 0, "a run without IDs or faults proves nothing");
}

fn memory() -> Box<dyn LeaseStore> {
    Box::new(MemoryStore::new(Arc::new(Mutex::new(MemoryRegistry::new())), "simulated"))
}

#[test]
fn sim_of_32_processes_for_a_day_repeats_nothing_and_recovers() {
    run(DAY, seeds("LEASEFLAKE_SIM_SEEDS", 20), |_| memory());
}

#[test]
fn sim_of_too_few_worker_ids_repeats_nothing_and_uses_them_all() {
    run(SCARCE_HOUR, seeds("LEASEFLAKE_SIM_SEEDS", 20), |_| memory());
}

#[test]
fn sim_of_one_seed_comes_to_the_same_end_each_time() {
    let end = |seed| World::new(seed, HOUR, memory().as_mut()).run().expect("a good end");
    assert_eq!(end(1), end(1));
    assert_ne!(end(1).trace, end(2).trace);
}

#[cfg(feature = "sqlite")]
#[test]
fn sim_of_an_hour_over_sqlite_repeats_nothing_and_recovers() {
    // Where there is one, a folder in memory: a disk's patience is not what this is about.
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    run(HOUR, seeds("LEASEFLAKE_SIM_SEEDS_SQLITE", 3), |seed| {
        Box::new(crate::lease::store::sqlite::SqliteStore::new(folder.path().join(format!("{seed}.db"))))
    });
}

/// Wants `LEASEFLAKE_TEST_ENDPOINT`, the address of an emulator.
#[cfg(feature = "dynamodb")]
#[test]
fn sim_of_an_hour_over_dynamodb_repeats_nothing_and_recovers() {
    use crate::lease::store::dynamodb::{DynamoDbConfig, DynamoDbStore};

    let endpoint = std::env::var("LEASEFLAKE_TEST_ENDPOINT").expect("LEASEFLAKE_TEST_ENDPOINT names an emulator");
    let run_id = std::process::id();
    run(HOUR, seeds("LEASEFLAKE_SIM_SEEDS_DYNAMODB", 2), |seed| {
        let address = format!("leaseflake-sim-{run_id}-{seed}?endpoint={endpoint}&region=us-east-1");
        let mut store = DynamoDbStore::new(DynamoDbConfig::parse(&address).expect("an address"));
        store.create_table().expect("a table");
        Box::new(store)
    });
}

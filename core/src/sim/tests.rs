//! The seeds that run: a few in every test run, many in `make prove`.

use std::sync::{Arc, Mutex};

use super::world::{Outcome, Scenario, World};
use crate::lease::store::LeaseStore;
use crate::lease::store::memory::{MemoryRegistry, MemoryStore};

const DAY: Scenario = Scenario { processes: 32, hours: 24, fault_every_ms: 60_000, issue_every_ms: 20_000 };

fn seeds(most: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    match number("LEASEFLAKE_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("LEASEFLAKE_SIM_SEEDS").unwrap_or(most)).collect(),
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
                            total.1.ids += outcome.ids;
                            total.1.faults += outcome.faults;
                            total.1.refusals += outcome.refusals;
                            total.1.excused_repeats += outcome.excused_repeats;
                        }
                        Err(error) => failures.lock().expect("failures").push((seed, error)),
                    }
                }
            });
        }
    });
    let (runs, total) = *total.lock().expect("total");
    println!("simulation: {runs} seeds, {total:?}");
    let failures = failures.lock().expect("failures");
    assert!(failures.is_empty(), "{} seeds failed: {:#?}", failures.len(), failures.iter().take(5).collect::<Vec<_>>());
    assert!(total.ids > 0 && total.faults > 0, "a run without IDs or faults proves nothing");
}

#[test]
fn sim_of_32_processes_for_a_day_repeats_nothing_and_recovers() {
    run(DAY, seeds(20), |_| Box::new(MemoryStore::new(Arc::new(Mutex::new(MemoryRegistry::new())), "simulated")));
}

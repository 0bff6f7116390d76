//! Simulation on the real code: real generators and real keepers over a registry, driven by a
//! seeded scheduler that owns time, clocks, randomness and every fault.
//!
//! A failing seed replays to the same end: `LEASEFLAKE_SIM_SEED=17 cargo test -p leaseflake sim`.

mod checks;
mod course;
mod faults;
mod holders;
mod outcome;
mod process;
mod tests;
mod world;

//! Runs the checker and says what came out.

use std::fmt;
use std::time::{Duration, Instant};

use stateright::{Checker, Model};

use crate::properties::{LeaseModel, NOTHING_WRONG};
use crate::scenarios::{Expected, Part, Scenario};
use crate::state::Wrong;
use crate::words;

/// What a run of the checker came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked.
    pub scenario: Scenario,
    /// How many different states were visited.
    pub unique_states: usize,
    /// The most steps from the beginning.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// What was found.
    pub found: Expected,
    /// The shortest way there: how many steps, and the steps in words.
    pub steps: usize,
    /// The steps in words.
    pub story: Vec<String>,
}

impl Outcome {
    /// Whether it is what was expected.
    pub fn as_expected(&self) -> bool {
        self.found == self.scenario.expected
    }
}

/// Visits every state of a scenario, or goes on until something is wrong. Breadth first; by one
/// thread where an interleaving is expected, for then it is a shortest one.
pub fn run(scenario: &Scenario) -> Outcome {
    let model = LeaseModel { rules: scenario.rules, bounds: scenario.bounds };
    let threads = if scenario.expected == Expected::Nothing { 2 } else { 1 };
    let started = Instant::now();
    let checker = model.checker().threads(threads).spawn_bfs().join();
    let took = started.elapsed();
    let path = checker.discovery(NOTHING_WRONG).map(|path| path.into_vec()).unwrap_or_default();
    let found = match path.last().map(|(state, _)| state.wrong) {
        None | Some(Wrong::Nothing) => Expected::Nothing,
        Some(Wrong::Repeat) => Expected::Repeat,
        Some(Wrong::Disorder) => Expected::Disorder,
    };
    Outcome {
        scenario: *scenario,
        unique_states: checker.unique_state_count(),
        depth: checker.max_depth().saturating_sub(1),
        took,
        found,
        steps: path.len().saturating_sub(1),
        story: words::tell(&model, &path),
    }
}

/// The heading of the table.
pub fn heading() -> String {
    format!(
        "| {:<15} | {:<38} | {:>9} | {:>13} | {:>5} | {:>7} | {:<28} |\n|{}|{}|{}:|{}:|{}:|{}:|{}|",
        "protocol",
        "world, or what is dropped",
        "processes",
        "unique states",
        "depth",
        "seconds",
        "result",
        "-".repeat(17),
        "-".repeat(40),
        "-".repeat(10),
        "-".repeat(14),
        "-".repeat(6),
        "-".repeat(8),
        "-".repeat(30),
    )
}

/// A number with its thousands set apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(" ")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.found {
            Expected::Nothing => "exhausted, no repeat".to_owned(),
            Expected::Repeat => format!("repeat after {} steps", self.steps),
            Expected::Disorder => format!("out of order after {} steps", self.steps),
        };
        let unexpected = if self.as_expected() { "" } else { " (UNEXPECTED)" };
        write!(
            f,
            "| {:<15} | {:<38} | {:>9} | {:>13} | {:>5} | {:>7.1} | {:<28} |",
            match self.scenario.part {
                Part::Window | Part::Uncovered => "window",
                Part::WallClock => "wall clock",
                Part::Dropped => "window, without",
            },
            self.scenario.name,
            self.scenario.bounds.processes,
            grouped(self.unique_states),
            self.depth,
            self.took.as_secs_f64(),
            result + unexpected,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1234), "1 234");
        assert_eq!(grouped(10_700_000), "10 700 000");
    }
}

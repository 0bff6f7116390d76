//! Runs the checker and says what came out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stateright::{Checker, Model, Property};

use crate::actions::Action;
use crate::properties::{LeaseModel, NOTHING_WRONG};
use crate::scenarios::{Expected, Part, Scenario};
use crate::state::{State, Wrong};
use crate::words;

/// What a run of the checker came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked.
    pub scenario: Scenario,
    /// How many different states were seen.
    pub unique_states: usize,
    /// Whether it was asked of every one of them what can happen next.
    pub exhausted: bool,
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
    /// Whether it is what was expected; that nothing was found counts only where nothing was left out.
    pub fn as_expected(&self) -> bool {
        self.found == self.scenario.expected && (self.found != Expected::Nothing || self.exhausted)
    }
}

/// The model, which counts the states that it was asked about. The checker asks once of each state that
/// it visits, so that a run that stopped early, for whatever reason, has seen more than it asked about.
struct Counted {
    model: LeaseModel,
    visited: Arc<AtomicUsize>,
}

impl Model for Counted {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.model.init_states()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.visited.fetch_add(1, Ordering::Relaxed);
        self.model.actions(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.model.next_state(state, action)
    }

    fn properties(&self) -> Vec<Property<Counted>> {
        vec![Property::always(NOTHING_WRONG, |_, state: &State| state.wrong == Wrong::Nothing)]
    }
}

/// Visits every state of a scenario, or goes on until something is wrong. Breadth first; by one
/// thread where an interleaving is expected, for then it is a shortest one.
pub fn run(scenario: &Scenario) -> Outcome {
    run_up_to(scenario, None)
}

/// The same, but no further than so many steps from the beginning.
pub fn run_up_to(scenario: &Scenario, steps: Option<usize>) -> Outcome {
    let model = LeaseModel { rules: scenario.rules, bounds: scenario.bounds };
    let threads = if scenario.expected == Expected::Nothing { 2 } else { 1 };
    let visited = Arc::new(AtomicUsize::new(0));
    let mut checker = Counted { model, visited: Arc::clone(&visited) }.checker().threads(threads);
    if let Some(steps) = steps {
        checker = checker.target_max_depth(steps + 1);
    }
    let started = Instant::now();
    let checker = checker.spawn_bfs().join();
    let took = started.elapsed();
    // Before the interleaving is asked for, which asks about states again.
    let visited = visited.load(Ordering::Relaxed);
    let path = checker.discovery(NOTHING_WRONG).map(|path| path.into_vec()).unwrap_or_default();
    let found = match path.last().map(|(state, _)| state.wrong) {
        None | Some(Wrong::Nothing) => Expected::Nothing,
        Some(Wrong::Repeat) => Expected::Repeat,
        Some(Wrong::Disorder) => Expected::Disorder,
    };
    Outcome {
        scenario: *scenario,
        unique_states: checker.unique_state_count(),
        exhausted: visited == checker.unique_state_count(),
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
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(" ")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.found {
            Expected::Nothing if !self.exhausted => "not exhausted".to_owned(),
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
    use crate::scenarios;

    #[test]
    fn a_run_that_left_states_out_is_not_taken_for_exhausted() {
        let scenario = scenarios::all(true).into_iter().find(|scenario| scenario.expected == Expected::Nothing);
        let scenario = scenario.expect("some worlds hold");
        let (whole, cut) = (run(&scenario), run_up_to(&scenario, Some(5)));
        assert!(whole.exhausted && whole.as_expected());
        assert_eq!(cut.found, Expected::Nothing);
        assert!(!cut.exhausted && !cut.as_expected(), "{cut}");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1234), "1 234");
        assert_eq!(grouped(10_700_000), "10 700 000");
    }
}

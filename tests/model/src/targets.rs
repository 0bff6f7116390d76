//! What the whole of it must reach for the proof to count: how many states, and in what time.

use std::time::Duration;

use crate::report::{Outcome, grouped};
use crate::scenarios::Part;

/// The fewest unique states in which the protocol of Leaseflake is visited, by number of processes.
pub const LEAST_STATES: [(usize, usize); 2] = [(2, 10_000_000), (3, 1_000_000)];
/// A budget on two cores that have nothing else to do. What a busy machine needs says nothing about the
/// protocol, so that a missed budget is told and fails nothing.
pub const BUDGET: Duration = Duration::from_secs(5 * 60);

/// The unique states of the protocol of Leaseflake with so many processes, over all its worlds.
pub fn visited(outcomes: &[Outcome], processes: usize) -> usize {
    let of_window =
        |outcome: &&Outcome| outcome.scenario.part == Part::Window && outcome.scenario.bounds.processes == processes;
    outcomes.iter().filter(of_window).map(|outcome| outcome.unique_states).sum()
}

/// What falls short, in words; nothing = all is reached.
pub fn missed(outcomes: &[Outcome]) -> Vec<String> {
    let wrong = outcomes.iter().filter(|outcome| !outcome.as_expected());
    let wrong = wrong.map(|outcome| format!("{}: not what was expected", outcome.scenario.name));
    let few = LEAST_STATES.iter().filter_map(|&(processes, least)| {
        let states = visited(outcomes, processes);
        (states < least).then(|| {
            format!(
                "{} unique states with {processes} processes, where {} are asked for",
                grouped(states),
                grouped(least)
            )
        })
    });
    wrong.chain(few).collect()
}

/// Whether the budget was kept.
pub fn budget(took: Duration) -> &'static str {
    if took <= BUDGET { "met" } else { "missed" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::{self, Expected};

    fn reached() -> Vec<Outcome> {
        let scenarios = scenarios::all(false).into_iter();
        let states =
            |processes: usize| LEAST_STATES.iter().find(|least| least.0 == processes).map_or(1, |least| least.1);
        scenarios
            .filter(|scenario| scenario.part == Part::Window && scenario.bounds.processes > 1)
            .map(|scenario| Outcome {
                unique_states: states(scenario.bounds.processes),
                exhausted: true,
                depth: 20,
                took: Duration::ZERO,
                found: Expected::Nothing,
                steps: 0,
                story: Vec::new(),
                scenario,
            })
            .collect()
    }

    #[test]
    fn too_few_states_are_told_for_two_and_for_three_processes() {
        assert_eq!(missed(&reached()), Vec::<String>::new());
        for (processes, least) in LEAST_STATES {
            let mut outcomes = reached();
            let mut of_them = outcomes.iter_mut().filter(|outcome| outcome.scenario.bounds.processes == processes);
            let first = of_them.next().expect("there are worlds of two and of three");
            first.unique_states = least - 1;
            of_them.for_each(|outcome| outcome.unique_states = 0);
            let missed = missed(&outcomes);
            assert_eq!(missed.len(), 1, "{missed:?}");
            assert!(missed[0].contains(&format!("with {processes} processes")), "{missed:?}");
        }
    }

    #[test]
    fn a_world_that_was_not_exhausted_is_told_however_many_states_it_had() {
        let mut outcomes = reached();
        outcomes[0].exhausted = false;
        assert_eq!(missed(&outcomes).len(), 1);
    }

    #[test]
    fn the_budget_is_five_minutes() {
        assert_eq!(budget(Duration::from_secs(300)), "met");
        assert_eq!(budget(Duration::from_secs(301)), "missed");
    }
}

//! `cargo run --release -p leaseflake-model [-- --short]`: the table and the interleavings.

use std::process::ExitCode;
use std::time::Instant;

use leaseflake_model::report::{self, Outcome};
use leaseflake_model::scenarios::{self, Expected, Part};
use leaseflake_model::words;

fn main() -> ExitCode {
    let mut short = false;
    for argument in std::env::args().skip(1) {
        if argument != "--short" {
            eprintln!(
                "leaseflake-model: unknown argument {argument:?}; allowed: --short (smaller worlds, some seconds)"
            );
            return ExitCode::from(2);
        }
        short = true;
    }
    let started = Instant::now();
    println!("{}", report::heading());
    let outcomes: Vec<Outcome> = scenarios::all(short)
        .iter()
        .map(|scenario| {
            let outcome = report::run(scenario);
            println!("{outcome}");
            outcome
        })
        .collect();
    println!();
    for outcome in outcomes.iter().filter(|outcome| outcome.found != Expected::Nothing) {
        tell(outcome);
    }
    summary(&outcomes, started)
}

/// One interleaving, as a list.
fn tell(outcome: &Outcome) {
    let heading = match outcome.scenario.part {
        Part::Window => "Window",
        Part::WallClock => "Wall clock",
        Part::Uncovered => "Not covered",
        Part::Dropped => "Without the rule",
    };
    println!("#### {heading}: {}\n\n{}.\n", outcome.scenario.name, words::upper(outcome.scenario.about));
    for (number, sentence) in outcome.story.iter().enumerate() {
        println!("{}. {sentence}", number + 1);
    }
    println!();
}

fn summary(outcomes: &[Outcome], started: Instant) -> ExitCode {
    let visited = |processes: usize| -> usize {
        let of_window = |outcome: &&Outcome| {
            outcome.scenario.part == Part::Window && outcome.scenario.bounds.processes == processes
        };
        outcomes.iter().filter(of_window).map(|outcome| outcome.unique_states).sum()
    };
    let wrong = outcomes.iter().filter(|outcome| !outcome.as_expected()).count();
    println!(
        "model: {} of {} as expected; window protocol: {} unique states with two processes, {} with three; {:.0} s",
        outcomes.len() - wrong,
        outcomes.len(),
        visited(2),
        visited(3),
        started.elapsed().as_secs_f64()
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

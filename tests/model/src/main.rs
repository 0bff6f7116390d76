//! `cargo run --release -p leaseflake-model [-- --short | --only NAME]`: the tables and the interleavings.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use leaseflake_model::report::{self, Outcome, grouped};
use leaseflake_model::scenarios::{self, Expected, Part, Scenario};
use leaseflake_model::{targets, words, worlds};

const USAGE: &str = "allowed: --short (smaller worlds, some seconds), --only NAME (the worlds whose names contain it)";

/// What is asked for.
struct Request {
    scenarios: Vec<Scenario>,
    /// Whether that is all there is, so that it must reach the targets.
    whole: bool,
}

fn request(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let (mut short, mut only) = (false, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => short = true,
            "--only" => only = Some(arguments.next().ok_or("--only needs a name")?),
            _ => return Err(format!("unknown argument {argument:?}")),
        }
    }
    let mut scenarios = scenarios::all(short);
    if let Some(name) = &only {
        scenarios.retain(|scenario| scenario.name.contains(name.as_str()));
        if scenarios.is_empty() {
            return Err(format!("no world's name contains {name:?}"));
        }
    }
    Ok(Request { scenarios, whole: !short && only.is_none() })
}

fn main() -> ExitCode {
    let request = match request(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(wrong) => {
            eprintln!("leaseflake-model: {wrong}; {USAGE}");
            return ExitCode::from(2);
        }
    };
    println!("{}", worlds::HEADING);
    for scenario in request.scenarios.iter().filter(|scenario| scenario.part == Part::Window) {
        println!("{}", worlds::row(scenario));
    }
    let started = Instant::now();
    println!("\n{}", report::heading());
    let outcomes: Vec<Outcome> = request
        .scenarios
        .iter()
        .map(|scenario| {
            let outcome = report::run(scenario);
            println!("{outcome}");
            outcome
        })
        .collect();
    let took = started.elapsed();
    println!();
    for outcome in outcomes.iter().filter(|outcome| outcome.found != Expected::Nothing) {
        tell(outcome);
    }
    summary(&outcomes, took, request.whole)
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

fn summary(outcomes: &[Outcome], took: Duration, whole: bool) -> ExitCode {
    let as_expected = outcomes.iter().filter(|outcome| outcome.as_expected()).count();
    println!(
        "model: {as_expected} of {} as expected; window protocol: {} unique states with two processes, {} with three",
        outcomes.len(),
        grouped(targets::visited(outcomes, 2)),
        grouped(targets::visited(outcomes, 3)),
    );
    let missed = if whole { targets::missed(outcomes) } else { Vec::new() };
    for missed in &missed {
        println!("model: missed: {missed}");
    }
    print!("model: {:.0} s", took.as_secs_f64());
    if whole {
        let budget = targets::BUDGET.as_secs();
        print!("; the budget of {budget} s on two cores with nothing else to do: {}", targets::budget(took));
    }
    println!();
    if as_expected == outcomes.len() && missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

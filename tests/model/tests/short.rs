//! The quick form of the model: every known fault and every dropped rule is found, and the rules
//! hold in small worlds. The long form is `cargo run --release -p leaseflake-model`.

use leaseflake_model::report::{self, Outcome};
use leaseflake_model::scenarios::{self, Expected};

#[test]
fn the_rules_hold_and_without_any_one_of_them_something_repeats() {
    let outcomes: Vec<Outcome> = scenarios::all(true).iter().map(report::run).collect();
    let unexpected: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !outcome.as_expected())
        .map(|outcome| format!("{outcome}\n{}", outcome.story.join("\n")))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n\n"));
    let found = outcomes.iter().filter(|outcome| outcome.found != Expected::Nothing);
    for outcome in found {
        let last = outcome.story.last().map(String::as_str).unwrap_or_default();
        assert!(last.contains("twice") || last.contains("no longer"), "{}: {last:?}", outcome.scenario.name);
        assert!(outcome.story.len() <= outcome.steps + 1, "{}: more sentences than steps", outcome.scenario.name);
    }
}

#[test]
fn a_pause_between_check_and_issue_is_told_as_it_happens() {
    let pause = scenarios::all(true)
        .into_iter()
        .find(|scenario| scenario.name == "pause" && !scenario.rules.window)
        .expect("the pause is among the known faults");
    let story = report::run(&pause).story.join("\n");
    for told in ["has checked its lease and is paused", "reads the clock again (80 s), and issues timestamp 80 s"] {
        assert!(story.contains(told), "{told:?} is not in:\n{story}");
    }
}

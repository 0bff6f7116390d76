//! The worlds with several kinds of fault at once are able to find something: a rule that is dropped
//! in them leads to a repeat. A world in which nothing could go wrong would be exhausted all the same.

use leaseflake_model::report;
use leaseflake_model::rules::Rules;
use leaseflake_model::scenarios::{self, Expected, Part, Scenario};

const RULES: Rules = Rules::window();

fn found(name: &str, rules: Rules) {
    let world = scenarios::all(false)
        .into_iter()
        .find(|scenario| scenario.part == Part::Window && scenario.name == name)
        .unwrap_or_else(|| panic!("no world is called {name:?}"));
    let outcome = report::run(&Scenario { rules, part: Part::Dropped, expected: Expected::Repeat, ..world });
    assert!(outcome.as_expected(), "{outcome}");
}

#[test]
fn the_network_finds_an_answer_taken_for_another_and_a_ceiling_that_nobody_confirmed() {
    for rules in [Rules { answers_by_attempt: false, ..RULES }, Rules { confirmed_ceiling: false, ..RULES }] {
        found("every fault of the network", rules);
    }
}

#[test]
fn many_faults_at_once_find_a_slot_that_starts_too_low_and_one_that_is_retired_too_late() {
    for rules in [Rules { start_above_newest: false, ..RULES }, Rules { retire_before_release: false, ..RULES }] {
        found("many faults at once", rules);
    }
}

#[test]
fn three_processes_find_a_dropped_floor_or_version_under_lost_and_doubled_messages() {
    for rules in [Rules { floor: false, ..RULES }, Rules { version_in_claim: false, ..RULES }] {
        found("three: messages, crash", rules);
    }
}

#[test]
fn three_processes_find_a_deleted_item_that_is_claimed() {
    found("three: deletion, messages, crash", Rules { refuse_missing: false, ..RULES });
}

#[test]
fn three_processes_find_a_fence_below_what_was_issued() {
    found("three: deletion, fence, late messages", Rules { fence_above_clocks: false, ..RULES });
}

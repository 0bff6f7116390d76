//! What a world is bounded by, in words: a row for the table of worlds.

use crate::bounds::{Bounds, Clocks, TICK_S};
use crate::scenarios::Scenario;

/// The heading of the table of worlds.
pub const HEADING: &str = "| world | processes | running at first | clocks | claims and heartbeats | faults, at most |\n\
                           |---|--:|--:|---|---|---|";

/// The row of a world.
pub fn row(scenario: &Scenario) -> String {
    let bounds = &scenario.bounds;
    format!(
        "| {} | {} | {} | {} | {} | {} |",
        scenario.name,
        bounds.processes,
        bounds.running,
        clocks(bounds),
        sends(bounds),
        faults(bounds)
    )
}

fn seconds(ticks: i32) -> i32 {
    ticks * TICK_S as i32
}

fn clocks(bounds: &Bounds) -> String {
    match bounds.clocks {
        Clocks::Stepped(&[0]) => format!("true, up to {} s", seconds(bounds.last_tick.into())),
        Clocks::Stepped(offsets) => {
            let wrong = offsets.iter().filter(|&&offset| offset != 0);
            let wrong: Vec<String> = wrong.map(|&offset| format!("{:+}", seconds(offset.into()))).collect();
            format!("true, or off by {} s; up to {} s", wrong.join(" or "), seconds(bounds.last_tick.into()))
        }
        Clocks::Anything(last) => format!("each reading any of 0, 10 .. {} s", seconds(last.into())),
        Clocks::AnyOf(values) => {
            let values: Vec<String> = values.iter().map(|&value| seconds(value.into()).to_string()).collect();
            format!("each reading any of {} s", values.join(", "))
        }
    }
}

fn sends(bounds: &Bounds) -> String {
    match bounds.sends_in_all {
        Some(all) => format!("{} each, {all} in all", bounds.sends),
        None => format!("{} each", bounds.sends),
    }
}

fn faults(bounds: &Bounds) -> String {
    let faults = &bounds.faults;
    let counted = [
        (faults.lost, "message lost or late", "messages lost or late"),
        (faults.doubles, "request doubled", "requests doubled"),
        (faults.answers, "answer doubled or late", "answers doubled or late"),
        (faults.crashes, "crash", "crashes"),
        (faults.clock_steps, "step of a clock", "steps of clocks"),
        (faults.releases, "release", "releases"),
        (faults.forks, "fork", "forks"),
        (faults.clones, "clone", "clones"),
        (faults.elsewhere, "lease of another worker ID", "leases of other worker IDs"),
        (faults.deletions, "deletion", "deletions"),
        (faults.initialisations, "initialisation from long ago", "initialisations from long ago"),
        (faults.restores, "restore", "restores"),
        (faults.stops, "stop of all", "stops of all"),
        (faults.fences, "fence", "fences"),
    ];
    let counted = counted.iter().filter(|(count, ..)| *count > 0);
    let mut words: Vec<String> =
        counted.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many })).collect();
    if bounds.pauses {
        words.push("threads that sleep".to_owned());
    }
    if words.is_empty() { "takeover only".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::{self, Part};

    #[test]
    fn a_world_is_told_with_all_its_bounds() {
        let told = row(&scenarios::all(false)[0]);
        for part in ["| 2 | 2 |", "any of 0, 10 .. 50 s", "2 each", "1 message lost or late, 1 crash, 1 release"] {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
    }

    #[test]
    fn no_two_worlds_of_one_kind_are_the_same() {
        let worlds = scenarios::all(false).into_iter().filter(|scenario| scenario.part == Part::Window);
        let mut bounds: Vec<String> = worlds.map(|scenario| format!("{:?}", scenario.bounds)).collect();
        let all = bounds.len();
        bounds.sort_unstable();
        bounds.dedup();
        assert_eq!(bounds.len(), all);
    }
}

//! What a program answers, and what follows from it.

use std::time::{Duration, Instant};

use leaseflake::ErrorCode;

use super::agenda::Task;
use super::fleet::Fleet;
use super::issuer::Issuer;
use super::place::{ForkedChild, State};
use super::process::Handle;
use super::program::Line;

/// How long after a refused `open` it is tried again.
const OPEN_AGAIN: Duration = Duration::from_millis(200);

impl Fleet<'_> {
    pub(super) fn answer(&mut self, line: Line) {
        let Line { place: index, incarnation, text } = line;
        let place = &mut self.places[index];
        // The last words of a program that is gone.
        if place.incarnation != incarnation {
            return;
        }
        let Some(program) = &mut place.program else { return };
        let Some(asked) = program.answered() else {
            return self.broken(index, "nothing", &text);
        };
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let verb = asked.split(' ').next().unwrap_or_default();
        match (verb, word) {
            ("ready", "ready") => {
                program.capabilities = rest.split_whitespace().map(str::to_owned).collect();
                if place.state == State::Starting {
                    place.state = State::Opening;
                    program.send("open");
                }
            }
            ("ready", _) => self.broken(index, &asked, &text),
            (_, "ok") => self.succeeded(index, &asked, verb, rest),
            (_, "error") => self.refused(index, &asked, verb, rest),
            _ => self.broken(index, &asked, &text),
        }
    }

    fn succeeded(&mut self, index: usize, asked: &str, verb: &str, rest: &str) {
        let (rate, threads) = self.run_command();
        let place = &mut self.places[index];
        let Some(program) = &mut place.program else { return };
        match verb {
            "open" => {
                let threads = if program.can("threads") { threads } else { 1 };
                program.send(&format!("run {rate} {threads}"));
            }
            "run" => {
                if place.state == State::Opening {
                    place.state = State::Running;
                }
                self.refresh(index);
            }
            "fork" => self.forked(index, rest),
            "issue" | "batch" | "fill" => {
                let expected: u64 = asked.split(' ').skip(1).filter_map(|number| number.parse::<u64>().ok()).product();
                let said: Vec<i64> = rest.split(' ').filter_map(|number| number.parse().ok()).collect();
                if !matches!(said[..], [count, first, last] if count as u64 == expected && 0 < first && first <= last) {
                    self.broken(index, asked, rest);
                }
            }
            "progress" => {
                for (name, count) in fields(rest).filter(|(name, _)| *name != "issued") {
                    self.background_error(index, name, count.parse().unwrap_or(1));
                }
            }
            "status" => fields(rest).for_each(|(name, value)| self.told_of_leases(index, name, value)),
            _ => {}
        }
    }

    fn refused(&mut self, index: usize, asked: &str, verb: &str, rest: &str) {
        let (code, name) = rest.split_once(' ').unwrap_or((rest, ""));
        let name = name.split(' ').next().unwrap_or_default();
        let known = code.parse().ok().and_then(ErrorCode::from_code).filter(|known| known.name() == name);
        let Some(known) = known else {
            return self.broken(index, asked, &format!("error {rest}"));
        };
        *self.summary.errors.entry(name.to_owned()).or_insert(0) += 1;
        let place = &self.places[index];
        if !known.retryable() {
            let name = format!("p{index}-{}", place.incarnation);
            return self.fail(format!("{name} was refused {asked:?} for good: {rest}"));
        }
        let incarnation = place.incarnation;
        match verb {
            "open" => self.later(Instant::now() + OPEN_AGAIN, Task::Open { place: index, incarnation }),
            "issue" | "batch" | "fill" => {}
            _ => self.broken(index, asked, &format!("error {rest}")),
        }
    }

    /// Background threads meet what calls meet; what is no retryable error of the table is a fault.
    fn background_error(&mut self, index: usize, name: &str, count: u64) {
        let known = ErrorCode::ALL.into_iter().find(|known| known.name() == name);
        if known.is_some_and(|known| known.retryable()) {
            let more = self.places[index].more_than_told(name, count);
            *self.summary.errors.entry(name.to_owned()).or_insert(0) += more;
        } else {
            let name_of = format!("p{index}-{}", self.places[index].incarnation);
            self.fail(format!("{name_of} got {name} in the background"));
        }
    }

    /// Adds up the counters of statuses that say something about the fleet as a whole.
    fn told_of_leases(&mut self, index: usize, name: &str, value: &str) {
        const SHOWN: [&str; 4] = ["leases_acquired", "leases_lost", "claims_lost", "fencing_epoch"];
        let shown = SHOWN.into_iter().find(|shown| *shown == name);
        if let (Some(shown), Ok(count)) = (shown, value.parse::<u64>()) {
            let more = self.places[index].more_than_told(shown, count);
            let total = self.summary.leases.entry(shown).or_insert(0);
            *total = if shown == "fencing_epoch" { count.max(*total) } else { *total + more };
        }
    }

    fn forked(&mut self, index: usize, rest: &str) {
        let place = &mut self.places[index];
        place.forks += 1;
        let name = format!("p{index}-{}-f{}", place.incarnation, place.forks);
        match rest.trim().parse().map_err(std::io::Error::other).and_then(Handle::open) {
            Ok(handle) => {
                self.next_child += 1;
                place.children.push(ForkedChild {
                    id: self.next_child,
                    handle,
                    issuer: Issuer::new(&self.config.folder, name, 1),
                    stopped: false,
                });
                self.refresh(index);
            }
            Err(error) => self.fail(format!("the forked child {name} (process {rest:?}) is not there: {error}")),
        }
    }

    fn broken(&mut self, index: usize, asked: &str, said: &str) {
        let name = format!("p{index}-{}", self.places[index].incarnation);
        self.fail(format!("{name} answered {asked:?} by {said:?}, which the protocol does not allow"));
    }
}

/// The `key=value` fields of an answer.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_whitespace().filter_map(|field| field.split_once('='))
}

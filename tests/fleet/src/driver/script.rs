//! The seeded script: which fault hits whom, when and for how long.
//!
//! The script depends on the seed and on its settings alone, never on what the fleet does. A
//! fault whose victim is in no state for it (already stopped, just starting) is passed over.

use std::time::Duration;

use crate::random::Random;

/// One thing that happens to one place of the fleet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// When, from the start of the faults.
    pub(crate) at: Duration,
    /// Which place.
    pub(crate) place: usize,
    /// Where the place has forked children, which of them is hit; `None` is the program.
    pub(crate) child: Option<u64>,
    /// What.
    pub(crate) kind: Kind,
}

/// A fault, or a call in between.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// SIGSTOP, and SIGCONT after that long.
    Stop(Duration),
    /// SIGKILL; a program is started again after that long, a child is not.
    Kill(Duration),
    /// The program forks a child.
    Fork,
    /// The wall clock is stepped by so many milliseconds, and back where it was after that long.
    Step(i64, Duration),
    /// The way between the process and the registry is broken for that long.
    Cut(Break, Duration),
    /// `close`, `exit`, and a new start after that long.
    Restart(Duration),
    /// The registry is away for everybody for that long.
    Outage(Break, Duration),
    /// No fault: a command while `run` goes on.
    Call(String),
}

impl Kind {
    /// The name that the report counts it by; `None` is no fault.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            Kind::Stop(_) => Some("stop"),
            Kind::Kill(_) => Some("kill"),
            Kind::Fork => Some("fork"),
            Kind::Step(..) => Some("step"),
            Kind::Cut(..) => Some("cut"),
            Kind::Restart(_) => Some("restart"),
            Kind::Outage(..) => Some("outage"),
            Kind::Call(_) => None,
        }
    }
}

/// How a way to the registry is broken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Break {
    /// Connections are cut, requests reach nobody.
    Cut,
    /// Requests get no answer, and arrive after all once the way is mended.
    Hold,
    /// Requests arrive and are applied; their answers are lost.
    DropAnswers,
    /// Requests arrive late, maybe after their sender has given up.
    Delay(Duration),
    /// Requests are refused by a server error and not applied.
    Fail,
    /// Requests are applied and answered by a server error all the same.
    FailAfter,
    /// Requests are refused for being too many.
    Throttle,
}

/// What the script is made of.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// How many places the fleet has.
    pub(crate) places: usize,
    /// How long a lease is: pauses and cuts are shorter and longer than it.
    pub(crate) lease: Duration,
    /// The farthest step of a clock.
    pub(crate) largest_step_ms: u64,
    /// How often anything happens.
    pub(crate) mean_gap: Duration,
    /// Whether there is a network to cut.
    pub(crate) network: bool,
}

/// Gives the events of a seed, one after the other, without end.
pub(crate) struct Script {
    random: Random,
    shape: Shape,
    at: Duration,
}

impl Script {
    pub(crate) fn new(seed: u64, shape: Shape) -> Script {
        Script { random: Random::new(seed), shape, at: Duration::ZERO }
    }

    /// The skew that each place's clock starts with, in milliseconds: as far as clocks that are
    /// kept by a time server are ever apart.
    pub(crate) fn skews_ms(&mut self) -> Vec<i64> {
        (0..self.shape.places).map(|_| self.random.around(800)).collect()
    }

    fn kind(&mut self) -> Kind {
        const SHARES: [(u64, &str); 8] = [
            (20, "stop"),
            (14, "kill"),
            (8, "fork"),
            (18, "step"),
            (16, "cut"),
            (8, "restart"),
            (1, "outage"),
            (15, "call"),
        ];
        let mut pick = self.random.below(SHARES.iter().map(|(share, _)| share).sum());
        let name = SHARES.iter().find_map(|&(share, name)| {
            let hit = pick < share;
            pick = pick.saturating_sub(share);
            hit.then_some(name)
        });
        match name {
            Some("stop") => Kind::Stop(self.span(3.0)),
            Some("kill") => Kind::Kill(self.span(1.0)),
            Some("fork") => Kind::Fork,
            Some("step") => {
                let by_ms = self.step_ms();
                Kind::Step(by_ms, self.span(1.0))
            }
            Some("cut") if self.shape.network => Kind::Cut(self.way(), self.span(3.0)),
            Some("outage") if self.shape.network => Kind::Outage(self.way(), self.span(2.0)),
            Some("restart") => Kind::Restart(self.span(0.5)),
            Some("call") => Kind::Call(self.call()),
            _ => Kind::Stop(self.span(0.5)),
        }
    }

    /// From 10 ms to the farthest, back or forth; small ones are as likely as large ones, scale
    /// by scale: those within a lease, those within the 30 s that IDs may be ahead, and beyond.
    fn step_ms(&mut self) -> i64 {
        let scales = (self.shape.largest_step_ms.max(10) as f64 / 10.0).ln();
        let by_ms = (10.0 * (scales * self.random.fraction()).exp()) as i64;
        if self.random.percent(50) { by_ms } else { -by_ms }
    }

    fn way(&mut self) -> Break {
        match self.random.below(8) {
            0 | 1 => Break::Cut,
            2 => Break::Hold,
            3 => Break::DropAnswers,
            4 => Break::Delay(self.span(1.0)),
            5 => Break::Fail,
            6 => Break::FailAfter,
            _ => Break::Throttle,
        }
    }

    fn call(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("issue {}", 1 + self.random.below(100)),
            1 => format!("batch {} {}", 1 + self.random.below(1000), 1 + self.random.below(5)),
            2 => format!("fill {}", 1 + self.random.below(10_000)),
            3 => "status".to_owned(),
            _ => "progress".to_owned(),
        }
    }

    /// From 10 ms to so many leases; short ones are as likely as long ones, scale by scale.
    fn span(&mut self, leases: f64) -> Duration {
        let longest = (self.shape.lease.mul_f64(leases)).max(Duration::from_millis(20));
        let scales = (longest.as_secs_f64() / 0.01).ln();
        Duration::from_secs_f64(0.01 * (scales * self.random.fraction()).exp())
    }
}

impl Iterator for Script {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        // Exponential gaps: faults come alone and in bunches.
        self.at += self.shape.mean_gap.mul_f64(-(1.0 - self.random.fraction()).ln());
        let place = self.random.below(self.shape.places as u64) as usize;
        let child = self.random.percent(25).then(|| self.random.bits());
        let kind = self.kind();
        Some(Event { at: self.at, place, child, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn shape() -> Shape {
        Shape {
            places: 16,
            lease: Duration::from_secs(3),
            largest_step_ms: 300_000,
            mean_gap: Duration::from_millis(100),
            network: true,
        }
    }

    fn events(seed: u64) -> Vec<Event> {
        Script::new(seed, shape()).take(2000).collect()
    }

    #[test]
    fn a_seed_gives_the_same_script_again_and_another_seed_another() {
        assert_eq!(events(7), events(7));
        assert_ne!(events(7), events(8));
    }

    #[test]
    fn every_kind_of_fault_and_every_place_is_hit_and_pauses_outlast_leases() {
        let events = events(1);
        let kinds: BTreeSet<_> = events.iter().filter_map(|event| event.kind.fault()).collect();
        assert_eq!(kinds.len(), 7, "{kinds:?}");
        assert_eq!(events.iter().map(|event| event.place).collect::<BTreeSet<_>>().len(), 16);
        assert!(events.is_sorted_by_key(|event| event.at));
        let lease = shape().lease;
        assert!(events.iter().any(|event| matches!(event.kind, Kind::Stop(span) if span > 2 * lease)));
        assert!(events.iter().any(|event| matches!(event.kind, Kind::Stop(span) if span < lease / 50)));
        assert!(events.iter().any(|event| matches!(event.kind, Kind::Step(by, _) if by < -100_000)));
        assert!(events.iter().any(|event| matches!(event.kind, Kind::Step(by, _) if by > 100_000)));
    }

    #[test]
    fn without_a_network_nothing_is_cut() {
        let script = Script::new(1, Shape { network: false, ..shape() });
        assert!(script.take(2000).all(|event| !matches!(event.kind, Kind::Cut(..) | Kind::Outage(..))));
    }
}

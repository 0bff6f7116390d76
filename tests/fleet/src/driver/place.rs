//! A place of the fleet: one program after another, each started where the last one ended, under
//! one clock that moves, with the children that they forked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use leaseflake_tests::shim::ShimClock;

use super::issuer::Issuer;
use super::process::Handle;
use super::program::Program;

/// What the program of a place is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// None runs; the next start is on its way.
    Down,
    /// Started, and has not said `ready`.
    Starting,
    /// Asked to `open`, maybe again and again.
    Opening,
    /// `run` goes on.
    Running,
    /// Asked to leave; the next one starts so long after it is gone.
    Leaving(Duration),
    /// Killed; the next one starts so long after it is gone.
    Killed(Duration),
}

/// A forked child that issues by itself.
#[derive(Debug)]
pub(super) struct ForkedChild {
    pub(super) id: u64,
    pub(super) handle: Handle,
    pub(super) issuer: Issuer,
    pub(super) stopped: bool,
}

/// One place.
pub(super) struct Place {
    /// Which of the programs runs here.
    pub(super) command: usize,
    pub(super) clock: ShimClock,
    pub(super) skew_ms: i64,
    /// How many programs have been started here.
    pub(super) incarnation: u32,
    /// How many children the program has forked.
    pub(super) forks: u32,
    pub(super) program: Option<Program>,
    pub(super) issuer: Option<Issuer>,
    pub(super) children: Vec<ForkedChild>,
    pub(super) state: State,
    /// What the program's counters were when it last told them.
    pub(super) told: BTreeMap<String, u64>,
    pub(super) stopped: bool,
    pub(super) stepped: bool,
    pub(super) cut: bool,
}

impl Place {
    pub(super) fn new(command: usize, clock: ShimClock, skew_ms: i64) -> Place {
        clock.set_offset_ms(skew_ms);
        Place {
            command,
            clock,
            skew_ms,
            incarnation: 0,
            forks: 0,
            program: None,
            issuer: None,
            children: Vec::new(),
            state: State::Down,
            told: BTreeMap::new(),
            stopped: false,
            stepped: false,
            cut: false,
        }
    }

    /// Tells each issuer whether anything keeps it from issuing now.
    pub(super) fn refresh(&mut self, outage: bool, now: Instant) {
        let hindered = outage || self.cut || self.stepped;
        let running = self.state == State::Running && !self.stopped;
        if let Some(issuer) = &mut self.issuer {
            if running && !hindered {
                issuer.calmed(now);
            } else {
                issuer.disturbed();
            }
        }
        for child in &mut self.children {
            // A child of a parent that is stopped or gone has to make itself independent first,
            // which is its own affair: its time starts when the parent's state changes.
            child.issuer.disturbed();
            if !child.stopped && !hindered {
                child.issuer.calmed(now);
            }
        }
    }

    /// By how much a counter, which counts from the program's start, is above what was told before.
    pub(super) fn more_than_told(&mut self, name: &str, count: u64) -> u64 {
        count.saturating_sub(self.told.insert(name.to_owned(), count).unwrap_or(0))
    }

    /// All that issue here.
    pub(super) fn issuers(&mut self) -> impl Iterator<Item = &mut Issuer> {
        self.issuer.iter_mut().chain(self.children.iter_mut().map(|child| &mut child.issuer))
    }

    /// The command that the program has owed an answer for longest, beyond this span, although
    /// nothing keeps it from answering.
    pub(super) fn overdue(&self, span: Duration, now: Instant) -> Option<String> {
        if self.stopped {
            return None;
        }
        let (command, asked) = self.program.as_ref()?.owed.front()?;
        (now.saturating_duration_since(*asked) > span).then(|| command.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for child in &self.children {
            child.handle.kill();
        }
    }
}

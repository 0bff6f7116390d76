//! The fleet as it runs: one thread that waits for the next line, the next event of the script or
//! the next look at everything.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use leaseflake::Id;
use leaseflake_tests::shim::ShimClock;

use super::Config;
use super::agenda::{Agenda, Task};
use super::issuer::Issuer;
use super::network::Network;
use super::place::{Place, State};
use super::program::{Line, Program, Start};
use super::script::{Script, Shape};

/// How often everything is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// An answer that takes longer is a hang, even where 30 processes share a slow core.
const ANSWER: Duration = Duration::from_secs(90);

/// What the fleet has done, for the outcome.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) faults: BTreeMap<&'static str, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) leases: BTreeMap<&'static str, u64>,
    pub(super) most_ahead_ms: i64,
    pub(super) failures: Vec<String>,
    pub(super) slowest: Duration,
}

/// All places, and what is to happen to them.
pub(super) struct Fleet<'a> {
    pub(super) config: &'a Config,
    pub(super) network: Network,
    pub(super) places: Vec<Place>,
    pub(super) summary: Summary,
    pub(super) outage: bool,
    pub(super) next_child: u64,
    /// No more faults, and nothing is started again.
    pub(super) leaving: bool,
    rate: u64,
    script: Script,
    agenda: Agenda,
    sender: Sender<Line>,
    lines: Receiver<Line>,
    /// IDs of issuers that are gone.
    past_ids: u64,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(config: &'a Config) -> io::Result<Fleet<'a>> {
        let network = Network::start(&config.registry, config.processes);
        let mut script = Script::new(
            config.seed,
            Shape {
                places: config.processes,
                lease: config.lease,
                largest_step_ms: config.largest_step_ms,
                mean_gap: Duration::from_secs_f64(60.0 / config.events_per_minute.max(1) as f64),
                network: network.can_break(),
            },
        );
        let mut places = Vec::new();
        for (index, skew_ms) in script.skews_ms().into_iter().enumerate() {
            places.push(Place::new(index % config.programs.len(), ShimClock::create(&config.folder)?, skew_ms));
        }
        // Faults take a good part of everybody's time away.
        let enough = 2.0 * config.target_ids as f64 / config.duration.as_secs_f64() / config.processes as f64;
        let rate = config.rate.unwrap_or((enough.ceil() as u64).max(100));
        let (sender, lines) = mpsc::channel();
        Ok(Fleet {
            config,
            network,
            places,
            summary: Summary::default(),
            outage: false,
            next_child: 0,
            leaving: false,
            rate,
            script,
            agenda: Agenda::default(),
            sender,
            lines,
            past_ids: 0,
        })
    }

    /// Faults, then calm until everybody has issued again, then everybody leaves.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        for place in 0..self.places.len() {
            self.start(place)?;
        }
        self.schedule_next_fault(begun);
        // A fleet that is too slow is a failure, not a test without end.
        let latest = begun + 3 * self.config.duration + 2 * self.config.liveness;
        self.wait_until(|fleet, now| {
            if now > latest {
                let (ids, target) = (fleet.ids(), fleet.config.target_ids);
                fleet.fail(format!("only {ids} of {target} IDs after {:.0} s", (now - begun).as_secs_f64()));
            }
            now - begun >= fleet.config.duration && fleet.ids() >= fleet.config.target_ids
        })?;
        self.calm()?;
        // Silence beyond the deadline fails by itself.
        self.wait_until(|fleet, _| {
            fleet
                .places
                .iter_mut()
                .all(|place| place.state == State::Running && place.issuers().all(|one| one.is_back()))
        })?;
        self.leaving = true;
        for index in 0..self.places.len() {
            for child in self.places[index].children.drain(..) {
                child.handle.kill();
                self.summary.slowest = self.summary.slowest.max(child.issuer.slowest());
            }
            self.leave(index, Duration::ZERO);
        }
        self.wait_until(|fleet, _| fleet.places.iter().all(|place| place.program.is_none()))
    }

    /// Ends whatever still runs.
    pub(super) fn end(mut self) -> Summary {
        for place in &mut self.places {
            for issuer in place.issuers() {
                self.summary.slowest = self.summary.slowest.max(issuer.slowest());
            }
        }
        self.places.clear();
        self.summary
    }

    pub(super) fn fail(&mut self, failure: String) {
        self.summary.failures.push(failure);
    }

    pub(super) fn later(&mut self, at: Instant, task: Task) {
        self.agenda.add(at, task);
    }

    /// Tells the issuers of a place what has changed.
    pub(super) fn refresh(&mut self, index: usize) {
        self.places[index].refresh(self.outage, Instant::now());
    }

    /// Asks the program of a place to close and to end.
    pub(super) fn leave(&mut self, index: usize, pause: Duration) {
        let place = &mut self.places[index];
        if let Some(program) = &mut place.program {
            program.send("progress");
            program.send("status");
            program.send("close");
            program.send("exit");
            place.state = State::Leaving(pause);
        }
        self.refresh(index);
    }

    pub(super) fn run_command(&self) -> (u64, usize) {
        (self.rate, self.config.threads)
    }

    fn schedule_next_fault(&mut self, begun: Instant) {
        if let Some(event) = self.script.next() {
            self.later(begun + event.at, Task::Fault(event));
        }
    }

    fn start(&mut self, index: usize) -> io::Result<()> {
        let place = &mut self.places[index];
        place.incarnation += 1;
        place.forks = 0;
        place.told.clear();
        place.stopped = false;
        place.state = State::Starting;
        let name = format!("p{index}-{}", place.incarnation);
        let mut environment = self.config.environment.clone();
        environment.extend(self.network.environment().map(|(name, value)| (name.to_owned(), value.to_owned())));
        let limit = 3 * self.config.duration + 4 * self.config.liveness;
        place.program = Some(Program::start(
            &Start {
                place: index,
                incarnation: place.incarnation,
                command: &self.config.programs[place.command],
                environment: &environment,
                store: self.network.store(index),
                clock: &place.clock,
                prefix: &self.config.folder.join(&name),
                seconds: limit.as_secs() + 1,
            },
            self.sender.clone(),
        )?);
        place.issuer = Some(Issuer::new(&self.config.folder, name, self.config.threads));
        self.refresh(index);
        Ok(())
    }

    /// Goes on until `done` says so or something fails.
    fn wait_until(&mut self, mut done: impl FnMut(&mut Fleet<'a>, Instant) -> bool) -> io::Result<()> {
        let mut next_look = Instant::now();
        while self.summary.failures.is_empty() {
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK;
                self.look(now)?;
                if done(self, now) {
                    return Ok(());
                }
            }
            while let Some((at, task)) = self.agenda.due(now) {
                self.perform(at, task)?;
            }
            let next_task = self.agenda.next().unwrap_or(next_look);
            let wait = next_look.min(next_task).saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(wait) {
                Ok(line) => self.answer(line),
                Err(RecvTimeoutError::Timeout) => {}
                // Not while we hold a sender.
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the lines ended")),
            }
        }
        Ok(())
    }

    fn perform(&mut self, at: Instant, task: Task) -> io::Result<()> {
        match task {
            Task::Fault(event) => {
                // The script's own time, so that a late driver does not stretch it.
                let begun = at - event.at;
                self.inject(event);
                self.schedule_next_fault(begun);
            }
            Task::Start { place } if !self.leaving => self.start(place)?,
            Task::Start { .. } => {}
            Task::Open { place, incarnation } => {
                let place = &mut self.places[place];
                if let (State::Opening, Some(program)) = (place.state, &mut place.program)
                    && place.incarnation == incarnation
                {
                    program.send("open");
                }
            }
            other => self.undo(other),
        }
        Ok(())
    }

    /// Ends all faults, and has none again.
    fn calm(&mut self) -> io::Result<()> {
        for (at, task) in std::mem::take(&mut self.agenda).into_tasks() {
            match task {
                Task::Fault(_) => {}
                Task::Start { .. } | Task::Open { .. } => self.perform(at, task)?,
                undo => self.undo(undo),
            }
        }
        // Everybody has to issue from here on, whoever had just done so.
        for index in 0..self.places.len() {
            for issuer in self.places[index].issuers() {
                issuer.disturbed();
            }
            self.refresh(index);
        }
        Ok(())
    }

    /// Looks at what has ended, at what has been written, and at what should have been.
    fn look(&mut self, now: Instant) -> io::Result<()> {
        let mut failures = Vec::new();
        let layout = self.config.layout;
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            for issuer in place.issuers() {
                issuer.look(now);
                for id in issuer.newest().iter().filter_map(|&id| Id::from_i64(id).ok()) {
                    let ahead_ms = layout.decode(id).timestamp_ms - true_ms();
                    self.summary.most_ahead_ms = self.summary.most_ahead_ms.max(ahead_ms);
                    if self.config.most_ahead.is_some_and(|most| ahead_ms > most.as_millis() as i64) {
                        failures.push(format!(
                            "{} has issued {id}, which is {ahead_ms} ms ahead of the true time",
                            issuer.name
                        ));
                    }
                }
                let silence = issuer.silence(now);
                if silence > self.config.liveness {
                    failures.push(format!(
                        "{} has issued nothing for {:.1} s although nothing keeps it from it",
                        issuer.name,
                        silence.as_secs_f64()
                    ));
                }
            }
            // To open may take long where worker IDs are scarce, but not for ever.
            if let Some(command) = place.overdue(ANSWER, now) {
                failures.push(format!("p{index}-{} does not answer {command:?}", place.incarnation));
            }
            let mut gone = Vec::new();
            place.children.retain(|child| {
                let ended = child.handle.has_ended();
                if ended {
                    gone.push(child.issuer.name.clone());
                    self.past_ids += child.issuer.ids();
                }
                !ended
            });
            failures.extend(gone.into_iter().map(|name| format!("the forked child {name} ended by itself")));
            if let Some(program) = &mut place.program
                && let Some(status) = program.ended()?
            {
                failures.extend(self.ended(index, status, now));
            }
        }
        self.summary.failures.append(&mut failures);
        Ok(())
    }

    /// A program has ended: says what is wrong about that, and has the next one started.
    fn ended(&mut self, index: usize, status: ExitStatus, now: Instant) -> Option<String> {
        let place = &mut self.places[index];
        let state = std::mem::replace(&mut place.state, State::Down);
        place.program = None;
        place.stopped = false;
        if let Some(mut issuer) = place.issuer.take() {
            issuer.look(now);
            self.past_ids += issuer.ids();
            self.summary.slowest = self.summary.slowest.max(issuer.slowest());
        }
        let name = format!("p{index}-{}", place.incarnation);
        match state {
            State::Leaving(pause) if status.success() => self.later(now + pause, Task::Start { place: index }),
            State::Killed(pause) => self.later(now + pause, Task::Start { place: index }),
            _ => {
                let said = fs::read_to_string(self.config.folder.join(format!("{name}.stderr"))).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(5).collect();
                let said: Vec<&str> = last.into_iter().rev().collect();
                return Some(format!("{name} ended by itself ({status}, while {state:?}): {}", said.join(" | ")));
            }
        }
        self.refresh(index);
        None
    }

    /// How many IDs all have written.
    fn ids(&mut self) -> u64 {
        let present: u64 = self.places.iter_mut().flat_map(|place| place.issuers()).map(|issuer| issuer.ids()).sum();
        self.past_ids + present
    }

    /// A forked child is gone by the driver's own doing.
    pub(super) fn forget_child(&mut self, mut issuer: Issuer) {
        issuer.look(Instant::now());
        self.past_ids += issuer.ids();
        self.summary.slowest = self.summary.slowest.max(issuer.slowest());
    }
}

/// Milliseconds since the Unix epoch, by the clock that nobody moves.
fn true_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as i64)
}

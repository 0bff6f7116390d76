//! The faults of a seed: what they are and how often they come.

use super::outcome::Messages;
use super::world::{Happening, TIMEOUT_MS, World};
use crate::lease::keeper::Event;
use crate::lease::store::{Answer, StoreError, StoreErrorKind};
use crate::random::Random;
use crate::testing::Seeded;

/// How long the registry is out: shortly, and, in a run of a day, for long.
const OUTAGE_MS: u64 = 30_000;
const LONG_OUTAGE_MS: u64 = 3 * 3_600_000;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A machine's wall clock steps by up to 300 s, or comes right again.
    Step,
    /// A process stands still for up to 10 minutes.
    Pause,
    /// Nobody reaches the registry, for 30 s or 3 h.
    Outage,
    /// A process dies and another one starts in its place.
    Crash,
    /// A process forks.
    Fork,
    /// A machine is cloned, process and all.
    Clone,
    /// A process closes its generator, and another one starts.
    Close,
}

impl Fault {
    pub(super) fn draw(random: &mut Seeded) -> Fault {
        match random.below(100) {
            0..30 => Fault::Step,
            30..50 => Fault::Pause,
            50..53 => Fault::Outage,
            53..70 => Fault::Crash,
            70..86 => Fault::Fork,
            86..91 => Fault::Clone,
            _ => Fault::Close,
        }
    }
}

/// What becomes of one request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// When it reaches the registry, after being sent; `None` = never.
    pub(super) arrives_ms: Option<u64>,
    /// It arrives once more, later.
    pub(super) doubled_ms: Option<u64>,
    /// How long the answer takes; `None` = lost.
    pub(super) answer_ms: Option<u64>,
}

impl Fate {
    pub(super) fn draw(random: &mut Seeded, faulty: bool, outage: bool) -> Fate {
        let latency = 1 + random.below(30);
        let mut fate = Fate { arrives_ms: Some(latency), doubled_ms: None, answer_ms: Some(1 + random.below(30)) };
        if outage {
            // A request that is on its way when the outage begins may still land long after.
            fate.arrives_ms = None;
        } else if faulty {
            match random.below(1000) {
                0..15 => fate.arrives_ms = None,
                15..30 => fate.answer_ms = None,
                30..40 => fate.arrives_ms = Some(latency + random.below(90_000)),
                40..45 => fate.doubled_ms = Some(latency + random.below(90_000)),
                _ => {}
            }
        }
        fate
    }

    /// Counts what the network did to it.
    pub(super) fn count(&self, messages: &mut Messages) {
        messages.sent += 1;
        messages.lost += u64::from(self.arrives_ms.is_none() || self.answer_ms.is_none());
        messages.late += u64::from(self.arrives_ms.is_some_and(|arrives_ms| arrives_ms > TIMEOUT_MS));
        messages.doubled += u64::from(self.doubled_ms.is_some());
    }
}

impl World<'_> {
    /// Something goes wrong, and the next thing is on its way. What has no effect is not counted.
    pub(super) fn fault(&mut self) -> Result<(), String> {
        if !self.faulty {
            return Ok(());
        }
        let next = self.random.below(self.scenario.fault_every_ms * 2);
        self.after(next, Happening::Fault);
        let living: Vec<usize> = (0..self.processes.len()).filter(|index| self.processes[*index].alive).collect();
        let Some(&victim) = living.get(self.random.below(living.len().max(1) as u64) as usize) else { return Ok(()) };
        match Fault::draw(&mut self.random) {
            Fault::Step if self.clock_faults => self.step_clock(victim),
            Fault::Pause if self.clock_faults => self.pause(victim),
            Fault::Step | Fault::Pause => {}
            Fault::Outage => self.begin_outage(),
            Fault::Crash => {
                self.processes[victim].alive = false;
                self.outcome.faults.crashes += 1;
                if self.generators() < self.scenario.processes {
                    self.spawn()?;
                }
            }
            Fault::Fork => {
                if living.len() < self.scenario.processes * 2 {
                    self.fork(victim)?;
                }
            }
            Fault::Clone => {
                if self.generators() < self.scenario.processes + 8 && self.processes[victim].shared.owns_keeper() {
                    self.clone_machine(victim)?;
                }
            }
            Fault::Close => {
                if self.processes[victim].keeper.is_some() && self.processes[victim].waiting_for.is_none() {
                    self.close(victim)?;
                }
            }
        }
        Ok(())
    }

    fn step_clock(&mut self, victim: usize) {
        let machine = self.processes[victim].machine;
        let step = self.random.below(600_001) as i64 - 300_000;
        let off = if self.random.below(3) == 0 { 0 } else { step };
        self.outcome.faults.steps += u64::from(self.machines[machine] != off);
        self.machines[machine] = off;
    }

    fn pause(&mut self, victim: usize) {
        let most = if self.random.below(3) == 0 { 600_000 } else { 60_000 };
        let until_ms = self.now_ms + self.random.below(most);
        let process = &mut self.processes[victim];
        self.outcome.faults.pauses += u64::from(until_ms > process.paused_until_ms.max(self.now_ms));
        process.paused_until_ms = process.paused_until_ms.max(until_ms);
    }

    fn begin_outage(&mut self) {
        if self.is_outage() {
            return;
        }
        let long = self.scenario.hours >= 12 && self.random.below(12) == 0;
        if long {
            self.outcome.faults.long_outages += 1;
        } else {
            self.outcome.faults.outages += 1;
        }
        self.outage_until_ms = self.now_ms + if long { LONG_OUTAGE_MS } else { OUTAGE_MS };
    }

    fn fork(&mut self, victim: usize) -> Result<(), String> {
        let number = self.number();
        let now = self.now_of(self.processes[victim].machine);
        let child = self.processes[victim].forked(number, now);
        self.outcome.faults.forks += 1;
        self.join(child)
    }

    fn clone_machine(&mut self, victim: usize) -> Result<(), String> {
        self.outcome.faults.clones += 1;
        let number = self.number();
        let machine = self.machines.len();
        self.machines.push(self.machines[self.processes[victim].machine]);
        let now = self.now_of(machine);
        let clone = self.processes[victim].cloned(number, machine, now);
        let page = self.processes[victim].shared.page();
        let slot = page.current_slot();
        let pages = [page, clone.shared.page()].map(|page| std::ptr::from_ref(page) as usize);
        self.ledger.copied((slot.prefix(), slot.fencing_epoch()), slot.lease_ceiling(), pages);
        let waiting = clone.waiting_for;
        self.join(clone)?;
        let index = self.processes.len() - 1;
        if let Some(call) = waiting {
            // The answer goes to the original; the copy waits for nothing.
            let sent = self.sent[&call];
            let gone = Answer::undated(Err(StoreError::new(StoreErrorKind::Unavailable, "the connection is gone")));
            self.after(TIMEOUT_MS, Happening::Answered { process: index, call, sent, answer: Box::new(gone) });
        } else {
            self.after(1, Happening::Timer { process: index, timer: 0 });
        }
        // Both copies issue at once: what the documentation says of clones happens here too.
        self.issue(victim)?;
        self.issue(index)
    }

    fn close(&mut self, victim: usize) -> Result<(), String> {
        self.outcome.faults.closes += 1;
        self.set_clock(victim);
        let give_up_at_ms = self.now_ms + 2_000;
        self.step(victim, Event::Close { give_up_at_ms });
        if self.generators() <= self.scenario.processes {
            self.spawn()?;
        }
        Ok(())
    }
}

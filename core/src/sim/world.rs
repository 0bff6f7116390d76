//! The scheduler: true time, the machines' clocks, the network, and what happens next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::checks::{Issued, Ledger, not_far_ahead};
use super::faults::{Fate, Fault};
use super::process::Process;
use crate::DEFAULT_EPOCH_MS;
use crate::clock::Now;
use crate::generator::Want;
use crate::lease::keeper::{Call, Event};
use crate::lease::store::{Answer, LeaseStore, StoreError, StoreErrorKind};
use crate::random::Random;
use crate::testing::Seeded;

/// True time at the start, in ms since the Unix epoch.
const START_MS: i64 = DEFAULT_EPOCH_MS + 10_000_000_000;
/// How long the store of a keeper waits for an answer.
const TIMEOUT_MS: u64 = 2_000;

/// Without an answer for this long, a keeper may have to believe a clock that stepped.
const SILENCE_MS: u64 = 25_000;

/// How long clocks are right and nobody stands still before the faults end: longer than the
/// longest pause and the largest step.
const CALM_MS: u64 = 720_000;

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) processes: usize,
    /// How long the faults last.
    pub(super) hours: u64,
    /// Between faults, on average.
    pub(super) fault_every_ms: u64,
    /// Between the issues of one process, on average.
    pub(super) issue_every_ms: u64,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) ids: u64,
    pub(super) faults: u64,
    pub(super) refusals: u64,
    pub(super) excused_repeats: u64,
}

#[derive(Debug)]
enum Happening {
    Timer {
        process: usize,
        timer: u64,
    },
    Issue {
        process: usize,
    },
    /// A thread that has read the clock and the slot sleeps before its compare-and-swap.
    LateIssue {
        process: usize,
        slot: SlotRef,
        now: u64,
    },
    Arrive {
        process: usize,
        call: u64,
        answer_ms: Option<u64>,
        request: Call,
    },
    Answered {
        process: usize,
        call: u64,
        sent: Now,
        answer: Box<Answer>,
    },
    Fault,
}

/// A slot as a sleeping thread remembers it; its page is never unmapped during a run.
#[derive(Clone, Copy, Debug)]
struct SlotRef(*const crate::generator::SimSlot);

struct Scheduled {
    at_ms: u64,
    order: u64,
    what: Happening,
}

/// The whole of it.
pub(super) struct World<'a> {
    scenario: Scenario,
    random: Seeded,
    now_ms: u64,
    order: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    /// How far each machine's wall clock is off.
    machines: Vec<i64>,
    processes: Vec<Process>,
    registry: &'a mut dyn LeaseStore,
    dated: bool,
    lease_ttl_max_ms: u64,
    outage_until_ms: u64,
    faulty: bool,
    clock_faults: bool,
    calls: u64,
    sent: std::collections::BTreeMap<u64, Now>,
    ledger: Ledger,
    outcome: Outcome,
    numbers: u64,
    /// Pages that sleeping threads may still be in.
    kept: Vec<std::sync::Arc<crate::generator::Shared>>,
}

impl<'a> World<'a> {
    pub(super) fn new(seed: u64, scenario: Scenario, registry: &'a mut dyn LeaseStore) -> World<'a> {
        let mut random = Seeded(seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
        let dated = random.below(2) == 0;
        let lease_ttl_max_ms = [30_000, 3_600_000, 4 * 3_600_000][random.below(3) as usize];
        let mut world = World {
            scenario,
            random,
            now_ms: 1_000_000,
            order: 0,
            queue: BinaryHeap::new(),
            machines: Vec::new(),
            processes: Vec::new(),
            registry,
            dated,
            lease_ttl_max_ms,
            outage_until_ms: 0,
            faulty: true,
            clock_faults: true,
            calls: 0,
            sent: std::collections::BTreeMap::new(),
            ledger: Ledger::default(),
            outcome: Outcome::default(),
            numbers: 0,
            kept: Vec::new(),
        };
        for _ in 0..scenario.processes {
            world.spawn().expect("a fresh process has no parent");
        }
        world.after(0, Happening::Fault);
        world
    }

    /// Runs the faults, then a quiet end, and checks that IDs flow again.
    pub(super) fn run(mut self) -> Result<Outcome, String> {
        let faults_ms = self.scenario.hours * 3_600_000;
        let end_ms = self.now_ms + faults_ms;
        // Clocks come right before the rest does, and pauses end: what a fast clock claimed must
        // run out first.
        self.run_until(end_ms - (faults_ms / 8).max(CALM_MS))?;
        self.clock_faults = false;
        self.machines.fill(0);
        self.run_until(end_ms)?;
        self.faulty = false;
        self.outage_until_ms = self.now_ms;
        // Requests that were delayed may still land; two heartbeats after that IDs must flow.
        self.run_until(end_ms + 20_000)?;
        self.everybody_issues("two heartbeats after the faults ended")?;
        self.run_until(end_ms + 200_000)?;
        self.everybody_issues("long after the faults ended")?;
        self.ledger.windows_are_disjoint()?;
        self.outcome.ids = self.ledger.ids;
        self.outcome.excused_repeats = self.ledger.excused_repeats;
        Ok(self.outcome)
    }

    fn run_until(&mut self, end_ms: u64) -> Result<(), String> {
        while let Some(Reverse(next)) = self.queue.peek() {
            if next.at_ms > end_ms {
                break;
            }
            let Some(Reverse(next)) = self.queue.pop() else { break };
            self.now_ms = self.now_ms.max(next.at_ms);
            self.happen(next.what).map_err(|error| format!("at {} ms: {error}", self.now_ms))?;
        }
        self.now_ms = end_ms;
        Ok(())
    }

    fn after(&mut self, delay_ms: u64, what: Happening) {
        self.order += 1;
        self.queue.push(Reverse(Scheduled { at_ms: self.now_ms + delay_ms, order: self.order, what }));
    }

    fn is_outage(&self) -> bool {
        self.now_ms < self.outage_until_ms
    }

    fn true_ms(&self) -> i64 {
        START_MS + self.now_ms as i64
    }

    fn now_of(&self, machine: usize) -> Now {
        Now { wall_ms: self.true_ms() + self.machines[machine], boot_ms: self.now_ms }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn spawn(&mut self) -> Result<(), String> {
        let machine = self.machines.len();
        self.machines.push(0);
        let number = self.number();
        let process = Process::new(number, machine, self.now_of(machine), self.lease_ttl_max_ms);
        self.join(process)
    }

    fn join(&mut self, process: Process) -> Result<(), String> {
        let index = self.processes.len();
        self.kept.push(std::sync::Arc::clone(&process.shared));
        self.processes.push(process);
        self.begin_keeper(index)?;
        let first = self.random.below(self.scenario.issue_every_ms * 2);
        self.after(first, Happening::Issue { process: index });
        Ok(())
    }

    fn begin_keeper(&mut self, index: usize) -> Result<(), String> {
        if self.processes[index].needs_keeper() {
            if let Some(inherited) = self.processes[index].inherited.take() {
                // A child leaves only when the page is closed or has not been stamped for two
                // heartbeats: an outage must not turn every child into a claim.
                // SAFETY: no page is unmapped during a run.
                let header = unsafe { &*inherited }.header();
                if !header.is_closed() && self.now_ms - header.stamp_ms() <= 20_000 {
                    return Err(format!("process {index} left its parent, whose keeper lives"));
                }
            }
            self.set_clock(index);
            self.processes[index].start_keeper();
            let begin = Event::Begin { instance_id: format!("process-{index}"), ip_address: String::new() };
            self.step(index, begin);
        }
        Ok(())
    }

    fn set_clock(&mut self, index: usize) {
        let now = self.now_of(self.processes[index].machine);
        self.processes[index].clock.set(now);
    }

    /// A keeper's step, and what follows from it.
    fn step(&mut self, index: usize, event: Event) {
        self.set_clock(index);
        let (call, wake_at_ms, done) = self.processes[index].step(event, &mut self.random);
        if done {
            self.processes[index].alive = false;
            return;
        }
        if let Some(call) = call {
            self.send(index, call);
        } else if let Some(at_ms) = wake_at_ms {
            self.processes[index].timer += 1;
            let timer = self.processes[index].timer;
            self.after(at_ms.saturating_sub(self.now_ms), Happening::Timer { process: index, timer });
        }
    }

    fn send(&mut self, index: usize, request: Call) {
        self.calls += 1;
        let call = self.calls;
        let sent = self.now_of(self.processes[index].machine);
        self.processes[index].waiting_for = Some(call);
        self.sent.insert(call, sent);
        let outage = self.is_outage();
        let fate = Fate::draw(&mut self.random, self.faulty, outage);
        if let Some(arrives_ms) = fate.arrives_ms {
            let request = request.clone();
            self.after(arrives_ms, Happening::Arrive { process: index, call, answer_ms: fate.answer_ms, request });
        }
        if let Some(doubled_ms) = fate.doubled_ms {
            self.after(doubled_ms, Happening::Arrive { process: index, call, answer_ms: None, request });
        }
        let gone = Answer::undated(Err(StoreError::new(StoreErrorKind::Unavailable, "no answer in time")));
        self.after(TIMEOUT_MS, Happening::Answered { process: index, call, sent, answer: Box::new(gone) });
    }

    fn happen(&mut self, what: Happening) -> Result<(), String> {
        if let Some(process) = what.process()
            && self.now_ms < self.processes[process].paused_until_ms
        {
            // It stands still; this happens when it goes on.
            let left = self.processes[process].paused_until_ms - self.now_ms;
            self.after(left, what);
            return Ok(());
        }
        match what {
            Happening::Timer { process, timer } => {
                let known = &self.processes[process];
                if known.alive && known.timer == timer && known.waiting_for.is_none() {
                    self.step(process, Event::Tick);
                }
            }
            Happening::Answered { process, call, sent, answer } => {
                if self.processes[process].alive && self.processes[process].waiting_for == Some(call) {
                    self.processes[process].waiting_for = None;
                    if answer.result.is_ok() {
                        let now_ms = self.now_ms;
                        let known = &mut self.processes[process];
                        if now_ms - known.answered_at_ms > SILENCE_MS {
                            known.silence_ended_ms = now_ms;
                        }
                        known.answered_at_ms = now_ms;
                    }
                    self.step(process, Event::Answered { sent, answer: *answer });
                }
            }
            Happening::Arrive { process, call, answer_ms, request } => self.arrive(process, call, answer_ms, &request),
            Happening::Issue { process } => {
                self.issue(process)?;
                let every = self.scenario.issue_every_ms;
                let next = if self.random.below(4) == 0 { self.random.below(5) } else { self.random.below(every * 2) };
                if self.processes[process].alive {
                    self.after(next, Happening::Issue { process });
                }
            }
            Happening::LateIssue { process, slot, now } => self.issue_late(process, slot, now)?,
            Happening::Fault => self.fault()?,
        }
        Ok(())
    }

    fn arrive(&mut self, process: usize, call: u64, answer_ms: Option<u64>, request: &Call) {
        let Call::Store(request) = request else { unreachable!("the simulation names its datacenters") };
        let mut answer = self.registry.call(request);
        answer.date_ms = self.dated.then(|| self.true_ms() / 1000 * 1000);
        if let (Some(delay), false) = (answer_ms, self.is_outage()) {
            let sent = self.sent[&call];
            self.after(delay, Happening::Answered { process, call, sent, answer: Box::new(answer) });
        }
    }

    /// One call of a user: one ID, a batch, or as much as a millisecond has left.
    fn issue(&mut self, index: usize) -> Result<(), String> {
        if !self.processes[index].alive {
            return Ok(());
        }
        self.set_clock(index);
        let shared = std::sync::Arc::clone(&self.processes[index].shared);
        if self.random.below(20) == 0 {
            let slot = SlotRef(shared.page().current_slot());
            let now = self.processes[index].clock.wall_ms() - DEFAULT_EPOCH_MS;
            let sleep = self.random.below(120_000);
            self.after(sleep, Happening::LateIssue { process: index, slot, now: now.max(0) as u64 });
        }
        let (want, wait) = match self.random.below(8) {
            0 => (Want::Exactly(1 + self.random.below(1000)), 10),
            1 => (Want::UpTo(1 + self.random.below(4096)), 10),
            2 => (Want::Exactly(1), 0),
            _ => (Want::Exactly(1), 10),
        };
        let result = shared.reserve(want, wait);
        match result {
            Ok(taken) => self.enter(index, &taken)?,
            Err(_) => {
                self.outcome.refusals += 1;
                self.refused(index)?;
            }
        }
        Ok(())
    }

    fn issue_late(&mut self, index: usize, slot: SlotRef, now: u64) -> Result<(), String> {
        if !self.processes[index].alive {
            return Ok(());
        }
        let limits = self.processes[index].shared.limits;
        let reach = crate::generator::Reach { now, max_wait: 10, longest_wait: 10 };
        // SAFETY: `kept` keeps every generator, and so every page, until the world ends.
        let slot = unsafe { &*slot.0 };
        match slot.reserve(Want::Exactly(1), &reach, &limits) {
            Ok(taken) => self.enter(index, &taken),
            Err(_) => Ok(()),
        }
    }

    fn enter(&mut self, index: usize, taken: &crate::generator::Reservation) -> Result<(), String> {
        let process = &mut self.processes[index];
        let limits = process.shared.limits;
        let newest = (taken.first + taken.count - 1) as i64;
        if (taken.first as i64) <= process.newest {
            return Err(format!("process {index} went back: {} after {}", taken.first, process.newest));
        }
        process.newest = newest;
        let timestamp = taken.timestamp(&limits);
        // Looks are right where the registry tells the time and has not been silent for so long
        // that a stepped clock was believed; what was believed then lasts for the step and the cap.
        let spoken_to =
            self.now_ms - process.answered_at_ms < SILENCE_MS && self.now_ms - process.silence_ended_ms > 700_000;
        if self.dated && spoken_to && process.keeper.is_some() {
            not_far_ahead(DEFAULT_EPOCH_MS + timestamp as i64, START_MS + self.now_ms as i64).map_err(|error| {
                format!("{error}: process {index}, last answer at {}, {:?}", process.answered_at_ms, process.keeper)
            })?;
        }
        self.ledger.enter(&Issued {
            worker: taken.prefix,
            fencing_epoch: process.shared.page().epoch_of(taken.prefix, timestamp, &limits),
            timestamp,
            first_bits: taken.first_bits(&limits),
            count: taken.count,
        })
    }

    /// A refusal may have called for the keeper, or made a child leave.
    fn refused(&mut self, index: usize) -> Result<(), String> {
        self.begin_keeper(index)?;
        let page = self.processes[index].shared.page();
        if !page.header().is_called() {
            return Ok(());
        }
        page.header().heard();
        let same = |other: &Process| std::ptr::eq(other.shared.page(), page);
        let owner = self
            .processes
            .iter()
            .position(|other| other.alive && other.keeper.is_some() && other.shared.owns_keeper() && same(other));
        if let Some(owner) = owner
            && self.processes[owner].waiting_for.is_none()
        {
            self.processes[owner].timer += 1;
            let timer = self.processes[owner].timer;
            self.after(1, Happening::Timer { process: owner, timer });
        }
        Ok(())
    }

    fn fault(&mut self) -> Result<(), String> {
        if !self.faulty {
            return Ok(());
        }
        let next = self.random.below(self.scenario.fault_every_ms * 2);
        self.after(next, Happening::Fault);
        let living: Vec<usize> = (0..self.processes.len()).filter(|index| self.processes[*index].alive).collect();
        let Some(&victim) = living.get(self.random.below(living.len().max(1) as u64) as usize) else { return Ok(()) };
        self.outcome.faults += 1;
        match Fault::draw(&mut self.random) {
            Fault::Step if self.clock_faults => {
                let machine = self.processes[victim].machine;
                let step = self.random.below(600_001) as i64 - 300_000;
                self.machines[machine] = if self.random.below(3) == 0 { 0 } else { step };
            }
            // A pause of ten minutes must be over when the faults end.
            Fault::Pause if self.clock_faults => {
                let most = if self.random.below(3) == 0 { 600_000 } else { 60_000 };
                self.processes[victim].paused_until_ms = self.now_ms + self.random.below(most);
            }
            Fault::Step | Fault::Pause => {}
            Fault::Outage if self.random.below(4) == 0 => {
                let long = self.scenario.hours >= 12 && self.random.below(12) == 0;
                let span = if long { 3 * 3_600_000 } else { 30_000 };
                self.outage_until_ms = self.outage_until_ms.max(self.now_ms + span);
            }
            Fault::Outage => {}
            Fault::Crash => {
                self.processes[victim].alive = false;
                if self.generators() < self.scenario.processes {
                    self.spawn()?;
                }
            }
            Fault::Fork if living.len() < self.scenario.processes * 2 => {
                let number = self.number();
                let now = self.now_of(self.processes[victim].machine);
                let child = self.processes[victim].forked(number, now);
                self.join(child)?;
            }
            Fault::Fork => {}
            Fault::Clone if self.generators() < self.scenario.processes + 8 => self.clone_machine(victim)?,
            Fault::Clone => {}
            Fault::Close => self.close(victim)?,
        }
        Ok(())
    }

    /// Processes that have, or want, a worker ID.
    fn generators(&self) -> usize {
        self.processes.iter().filter(|process| process.alive && process.shared.owns_keeper()).count()
    }

    fn clone_machine(&mut self, victim: usize) -> Result<(), String> {
        if !self.processes[victim].shared.owns_keeper() {
            return Ok(());
        }
        let number = self.number();
        let machine = self.machines.len();
        self.machines.push(self.machines[self.processes[victim].machine]);
        let page = self.processes[victim].shared.page();
        let slot = page.current_slot();
        self.ledger.excuse(slot.prefix(), slot.fencing_epoch(), slot.lease_ceiling());
        let now = self.now_of(machine);
        let clone = self.processes[victim].cloned(number, machine, now);
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
        if self.processes[victim].keeper.is_none() || self.processes[victim].waiting_for.is_some() {
            return Ok(());
        }
        self.set_clock(victim);
        let give_up_at_ms = self.now_ms + 2_000;
        self.step(victim, Event::Close { give_up_at_ms });
        if self.generators() <= self.scenario.processes {
            self.spawn()?;
        }
        Ok(())
    }

    fn everybody_issues(&mut self, when: &str) -> Result<(), String> {
        for index in 0..self.processes.len() {
            if !self.processes[index].alive || self.processes[index].keeper.as_ref().is_some_and(|k| k.is_closing()) {
                continue;
            }
            self.set_clock(index);
            let shared = std::sync::Arc::clone(&self.processes[index].shared);
            match shared.reserve(Want::Exactly(1), 10) {
                Ok(taken) => self.enter(index, &taken)?,
                // A child whose parent died may only find out now.
                Err(_) if !shared.owns_keeper() => {}
                Err(_) if self.processes[index].keeper.is_none() => self.begin_keeper(index)?,
                Err(refusal) => {
                    let status = self.processes[index].keeper.as_ref().map(|keeper| keeper.status().clone());
                    return Err(format!("process {index} is refused {when}: {refusal:?}, keeper {status:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Happening {
    fn process(&self) -> Option<usize> {
        match self {
            Happening::Timer { process, .. }
            | Happening::Issue { process }
            | Happening::LateIssue { process, .. }
            | Happening::Answered { process, .. } => Some(*process),
            Happening::Arrive { .. } | Happening::Fault => None,
        }
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> std::cmp::Ordering {
        (self.at_ms, self.order).cmp(&(other.at_ms, other.order))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

//! The scheduler: true time, the machines' clocks, the network, and what happens next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::checks::{Issued, Ledger, not_far_ahead};
use super::faults::Fate;
use super::holders::Holders;
use super::outcome::Outcome;
use super::process::{MAX_WAIT_MS, Process};
use crate::DEFAULT_EPOCH_MS;
use crate::clock::Now;
use crate::generator::Want;
use crate::lease::keeper::{Call, Event};
use crate::lease::store::{Answer, LeaseStore, Reply, Request, StoreError, StoreErrorKind};
use crate::random::Random;
use crate::testing::Seeded;

/// True time at the start, in ms since the Unix epoch.
const START_MS: i64 = DEFAULT_EPOCH_MS + 10_000_000_000;
/// How long the store of a keeper waits for an answer.
pub(super) const TIMEOUT_MS: u64 = 2_000;

/// Without an answer for this long, a keeper may have to believe a clock that stepped.
const SILENCE_MS: u64 = 25_000;

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
    /// As many processes as there are worker IDs: crashes make them scarce.
    pub(super) scarce: bool,
}

#[derive(Debug)]
pub(super) enum Happening {
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
pub(super) struct SlotRef(*const crate::generator::SimSlot);

struct Scheduled {
    at_ms: u64,
    order: u64,
    what: Happening,
}

/// The whole of it.
pub(super) struct World<'a> {
    pub(super) scenario: Scenario,
    pub(super) random: Seeded,
    pub(super) now_ms: u64,
    order: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    /// How far each machine's wall clock is off.
    pub(super) machines: Vec<i64>,
    pub(super) processes: Vec<Process>,
    pub(super) registry: &'a mut dyn LeaseStore,
    dated: bool,
    pub(super) lease_ttl_max_ms: u64,
    pub(super) outage_until_ms: u64,
    pub(super) faulty: bool,
    pub(super) clock_faults: bool,
    calls: u64,
    pub(super) sent: std::collections::BTreeMap<u64, Now>,
    pub(super) ledger: Ledger,
    holders: Holders,
    pub(super) outcome: Outcome,
    numbers: u64,
    /// Pages that sleeping threads may still be in.
    kept: Vec<std::sync::Arc<crate::generator::Shared>>,
}

impl<'a> World<'a> {
    pub(super) fn new(seed: u64, scenario: Scenario, registry: &'a mut dyn LeaseStore) -> World<'a> {
        let mut random = Seeded(seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
        let dated = random.below(2) == 0;
        // No longer than the faults, or the end, which waits for leases to run out, outlasts them; and where worker IDs
        // are scarce, those of the dead have to come back soon.
        let longest = [30_000, 3_600_000, 4 * 3_600_000].map(|longest: u64| longest.min(scenario.hours * 3_600_000));
        let lease_ttl_max_ms = if scenario.scarce { longest[0] } else { longest[random.below(3) as usize] };
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
            holders: Holders::default(),
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

    pub(super) fn run_until(&mut self, end_ms: u64) -> Result<(), String> {
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

    pub(super) fn after(&mut self, delay_ms: u64, what: Happening) {
        self.order += 1;
        self.queue.push(Reverse(Scheduled { at_ms: self.now_ms + delay_ms, order: self.order, what }));
    }

    pub(super) fn is_outage(&self) -> bool {
        self.now_ms < self.outage_until_ms
    }

    pub(super) fn true_ms(&self) -> i64 {
        START_MS + self.now_ms as i64
    }

    pub(super) fn now_of(&self, machine: usize) -> Now {
        Now { wall_ms: self.true_ms() + self.machines[machine], boot_ms: self.now_ms }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(super) fn spawn(&mut self) -> Result<(), String> {
        let machine = self.machines.len();
        self.machines.push(0);
        let number = self.number();
        let scarce = self.scenario.scarce;
        let process = Process::new(number, machine, self.now_of(machine), self.lease_ttl_max_ms, scarce);
        self.join(process)
    }

    pub(super) fn join(&mut self, process: Process) -> Result<(), String> {
        let index = self.processes.len();
        self.kept.push(std::sync::Arc::clone(&process.shared));
        self.processes.push(process);
        self.begin_keeper(index)?;
        let first = self.random.below(self.scenario.issue_every_ms * 2);
        self.after(first, Happening::Issue { process: index });
        Ok(())
    }

    pub(super) fn begin_keeper(&mut self, index: usize) -> Result<(), String> {
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

    pub(super) fn set_clock(&mut self, index: usize) {
        let now = self.now_of(self.processes[index].machine);
        self.processes[index].clock.set(now);
    }

    /// A keeper's step, and what follows from it.
    pub(super) fn step(&mut self, index: usize, event: Event) {
        self.set_clock(index);
        let (call, wake_at_ms, done) = self.processes[index].step(event, &mut self.random);
        self.look_at_window(index);
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

    /// Notes what the lease of a process allows it now.
    fn look_at_window(&mut self, index: usize) {
        let process = &self.processes[index];
        let Some(keeper) = &process.keeper else { return };
        let Some(info) = keeper.status().lease.as_ref() else { return };
        let slot = process.shared.page().current_slot();
        let lease = (slot.prefix(), slot.fencing_epoch());
        if keeper.is_closing() {
            self.ledger.released(lease);
        } else if !slot.is_retired() {
            let floor = (info.floor_ms - DEFAULT_EPOCH_MS).max(0) as u64;
            self.ledger.window(lease, floor, slot.lease_ceiling());
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
        if !outage {
            fate.count(&mut self.outcome.messages);
        }
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
            Happening::Arrive { process, call, answer_ms, request } => {
                self.arrive(process, call, answer_ms, &request)?;
            }
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

    fn arrive(&mut self, process: usize, call: u64, answer_ms: Option<u64>, request: &Call) -> Result<(), String> {
        let Call::Store(request) = request else { unreachable!("the simulation names its datacenters") };
        let mut answer = self.registry.call(request);
        if let (Request::Write(write), Ok(Reply::Applied)) = (request, &answer.result) {
            let sender = &self.processes[process];
            let late = !sender.alive || sender.waiting_for != Some(call);
            self.outcome.claims += u64::from(write.expired_before.is_some());
            self.holders.wrote(process, write, late, self.true_ms())?;
        }
        answer.date_ms = self.dated.then(|| self.true_ms() / 1000 * 1000);
        if let (Some(delay), false) = (answer_ms, self.is_outage()) {
            let sent = self.sent[&call];
            self.after(delay, Happening::Answered { process, call, sent, answer: Box::new(answer) });
        }
        Ok(())
    }

    /// One call of a user: one ID, a batch, or as much as a millisecond has left.
    pub(super) fn issue(&mut self, index: usize) -> Result<(), String> {
        if !self.processes[index].alive {
            return Ok(());
        }
        self.set_clock(index);
        let shared = std::sync::Arc::clone(&self.processes[index].shared);
        if self.random.below(20) == 0 {
            let slot = SlotRef(shared.page().current_slot());
            let now = self.processes[index].clock.wall_ms() - DEFAULT_EPOCH_MS;
            let sleep = self.random.below(120_000);
            self.outcome.faults.sleepers += 1;
            self.after(sleep, Happening::LateIssue { process: index, slot, now: now.max(0) as u64 });
        }
        let (want, wait) = match self.random.below(8) {
            0 => (Want::Exactly(1 + self.random.below(1000)), MAX_WAIT_MS),
            1 => (Want::UpTo(1 + self.random.below(4096)), MAX_WAIT_MS),
            2 => (Want::Exactly(1), 0),
            _ => (Want::Exactly(1), MAX_WAIT_MS),
        };
        let result = shared.reserve(want, wait);
        match result {
            Ok(taken) => self.enter(index, &taken, self.processes[index].clock.wall_ms())?,
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
        let reach = crate::generator::Reach { now, max_wait: MAX_WAIT_MS, longest_wait: MAX_WAIT_MS };
        // SAFETY: `kept` keeps every generator, and so every page, until the world ends.
        let slot = unsafe { &*slot.0 };
        match slot.reserve(Want::Exactly(1), &reach, &limits) {
            Ok(taken) => self.enter(index, &taken, DEFAULT_EPOCH_MS + now as i64),
            Err(_) => Ok(()),
        }
    }

    /// Checks what was issued by a thread that had read `read_ms` from its machine's clock.
    pub(super) fn enter(
        &mut self,
        index: usize,
        taken: &crate::generator::Reservation,
        read_ms: i64,
    ) -> Result<(), String> {
        let process = &mut self.processes[index];
        let limits = process.shared.limits;
        let newest = (taken.first + taken.count - 1) as i64;
        if (taken.first as i64) <= process.newest {
            return Err(format!("process {index} went back: {} after {}", taken.first, process.newest));
        }
        process.newest = newest;
        let timestamp = taken.timestamp(&limits);
        let timestamp_ms = DEFAULT_EPOCH_MS + timestamp as i64;
        // Once clocks are right that is true time, for everybody.
        if timestamp_ms > read_ms + MAX_WAIT_MS as i64 {
            return Err(format!("process {index} issued {} ms ahead of its own clock", timestamp_ms - read_ms));
        }
        // Looks are right where the registry tells the time and has not been silent for so long
        // that a stepped clock was believed; what was believed then lasts for the step and the cap.
        let spoken_to =
            self.now_ms - process.answered_at_ms < SILENCE_MS && self.now_ms - process.silence_ended_ms > 700_000;
        if self.dated && spoken_to && process.keeper.is_some() {
            not_far_ahead(timestamp_ms, START_MS + self.now_ms as i64).map_err(|error| {
                format!("{error}: process {index}, last answer at {}, {:?}", process.answered_at_ms, process.keeper)
            })?;
        }
        let page = process.shared.page();
        self.ledger.enter(&Issued {
            lease: (taken.prefix, page.epoch_of(taken.prefix, timestamp, &limits)),
            page: std::ptr::from_ref(page) as usize,
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
        if let Some(owner) = self.keeper_of(index)
            && self.processes[owner].waiting_for.is_none()
        {
            self.processes[owner].timer += 1;
            let timer = self.processes[owner].timer;
            self.after(1, Happening::Timer { process: owner, timer });
        }
        Ok(())
    }

    /// The living process that keeps the page which this one issues from.
    pub(super) fn keeper_of(&self, index: usize) -> Option<usize> {
        let page = self.processes[index].shared.page();
        let keeps = |other: &Process| {
            other.alive
                && other.keeper.is_some()
                && other.shared.owns_keeper()
                && std::ptr::eq(other.shared.page(), page)
        };
        self.processes.iter().position(keeps)
    }

    /// Processes that have, or want, a worker ID.
    pub(super) fn generators(&self) -> usize {
        self.processes.iter().filter(|process| process.alive && process.shared.owns_keeper()).count()
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

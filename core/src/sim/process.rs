//! A simulated process: a real generator, a real keeper, and a machine's clock.

use std::sync::Arc;

use crate::clock::{Clock, ClockSource, Now};
use crate::generator::{Host, KeptPage, Shared, SimPage, keeper_config};
use crate::lease::keeper::{Call, Event, Keeper};
use crate::options::Options;
use crate::random::Random;
use crate::rules::{Rule, holds};
use crate::testing::{FakeClock, Seeded};

/// How far ahead of its clock a process may reserve.
pub(super) const MAX_WAIT_MS: u64 = 10;

/// A process, alive or crashed.
pub(super) struct Process {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<FakeClock>,
    pub(super) keeper: Option<Keeper<KeptPage>>,
    /// The machine whose clock it reads.
    pub(super) machine: usize,
    pub(super) paused_until_ms: u64,
    pub(super) alive: bool,
    /// For a forked child: the page that it inherited. Never unmapped during a run.
    pub(super) inherited: Option<*const SimPage>,
    /// The call that its keeper waits for.
    pub(super) waiting_for: Option<u64>,
    /// Only the newest timer counts.
    pub(super) timer: u64,
    /// When its last answer came.
    pub(super) answered_at_ms: u64,
    /// When the last long silence of the registry ended, as this process saw it.
    pub(super) silence_ended_ms: u64,
    /// The newest (timestamp, sequence) that it was given, to see that it only rises.
    pub(super) newest: i64,
    /// A random generator in memory, as forks and clones copy it: only a mutant draws from it.
    copied: Seeded,
}

impl Process {
    /// Set up by the defaults of the product, with two datacenters, or one where worker IDs are to be scarce.
    pub(super) fn new(number: u64, machine: usize, now: Now, lease_ttl_max_ms: u64, scarce: bool) -> Process {
        let clock = FakeClock::at_ms(0);
        clock.set(now);
        let options = Options::new()
            .store("memory:simulated")
            .datacenter_id(if scarce { "0" } else { "0-1" })
            .max_wait_ms(MAX_WAIT_MS)
            .lease_ttl_max_ms(lease_ttl_max_ms);
        let config = options.resolve().expect("right options");
        let shared = Shared::new(config, source(&clock), 0, Host::Simulated(number)).expect("memory for a page");
        Process::around(Arc::new(shared), clock, machine, Seeded(number))
    }

    fn around(shared: Arc<Shared>, clock: Arc<FakeClock>, machine: usize, copied: Seeded) -> Process {
        Process {
            shared,
            clock,
            keeper: None,
            machine,
            paused_until_ms: 0,
            alive: true,
            inherited: None,
            waiting_for: None,
            timer: 0,
            answered_at_ms: 0,
            silence_ended_ms: 0,
            newest: 0,
            copied,
        }
    }

    /// A forked child: the page is shared, the keeper stays with the parent.
    pub(super) fn forked(&self, number: u64, now: Now) -> Process {
        let clock = FakeClock::at_ms(0);
        clock.set(now);
        let shared = Arc::new(self.shared.forked(source(&clock), number));
        let mut child = Process::around(shared, clock, self.machine, Seeded(self.copied.0));
        child.newest = self.newest;
        child.inherited = Some(self.shared.page());
        child
    }

    /// A clone of the machine with this process on it: memory, keeper and all.
    pub(super) fn cloned(&self, number: u64, machine: usize, now: Now) -> Process {
        let clock = FakeClock::at_ms(0);
        clock.set(now);
        let shared = Arc::new(self.shared.cloned(source(&clock), number));
        let mut clone = Process::around(Arc::clone(&shared), clock, machine, Seeded(self.copied.0));
        clone.keeper = self.keeper.as_ref().map(|keeper| keeper.copied_onto(KeptPage(shared)));
        clone.newest = self.newest;
        clone.waiting_for = self.waiting_for;
        clone
    }

    /// A keeper for a page that has none yet: the process's first, or that of a child that left.
    pub(super) fn needs_keeper(&self) -> bool {
        self.alive && self.keeper.is_none() && self.shared.owns_keeper()
    }

    pub(super) fn start_keeper(&mut self) {
        let config = keeper_config(&self.shared, "the simulated registry".to_owned());
        self.keeper = Some(Keeper::new(config, KeptPage(Arc::clone(&self.shared)), self.now()));
    }

    pub(super) fn now(&self) -> Now {
        Now { wall_ms: self.clock.wall_ms(), boot_ms: self.clock.boot_ns() / 1_000_000 }
    }

    /// One step of the keeper, as its thread does it: what it asks for, or when to come back.
    pub(super) fn step(&mut self, event: Event, world: &mut Seeded) -> (Option<Call>, Option<u64>, bool) {
        let now = self.now();
        let Some(keeper) = &mut self.keeper else { return (None, None, true) };
        let step = keeper.step(now, None, &mut Draw { world, copied: &mut self.copied }, event);
        self.shared.page().header().set_state(keeper.status().state);
        if step.call.is_some() {
            self.shared.page().header().stamp(now.boot_ms);
        }
        (step.call, step.wake_at_ms, step.done)
    }
}

fn source(clock: &Arc<FakeClock>) -> ClockSource {
    ClockSource::Injected(Arc::clone(clock) as Arc<dyn Clock>)
}

/// Randomness as the kernel gives it: never the same twice, whoever was copied from whom.
struct Draw<'a> {
    world: &'a mut Seeded,
    copied: &'a mut Seeded,
}

// The world's generator never leaves the scheduler's thread.
impl Random for Draw<'_> {
    fn bits(&mut self) -> [u8; 16] {
        if holds(Rule::KernelRandomness) { self.world.bits() } else { self.copied.bits() }
    }
}

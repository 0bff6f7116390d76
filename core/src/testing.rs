//! What the crate's own tests share: a clock that they move, and a generator over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use crate::clock::{Clock, ClockSource};
use crate::generator::Shared;
use crate::lease::keeper::LeasePage;
use crate::options::Options;
use crate::random::Random;

/// A clock that moves only when it is told to, or when somebody sleeps by it.
#[derive(Debug)]
pub(crate) struct FakeClock {
    wall_ns: AtomicI64,
    boot_ns: AtomicU64,
    /// The wall clock stands still, whatever passes.
    stuck: AtomicBool,
    /// What each look costs, so that spinning ends.
    look_ns: AtomicU64,
}

impl FakeClock {
    pub(crate) fn at_ms(wall_ms: i64) -> Arc<FakeClock> {
        Arc::new(FakeClock {
            wall_ns: AtomicI64::new(wall_ms * 1_000_000),
            boot_ns: AtomicU64::new(1_000_000_000_000),
            stuck: AtomicBool::new(false),
            look_ns: AtomicU64::new(0),
        })
    }

    /// Time passes.
    pub(crate) fn pass(&self, span: Duration) {
        let span = span.as_nanos() as u64;
        self.boot_ns.fetch_add(span, SeqCst);
        if !self.stuck.load(SeqCst) {
            self.wall_ns.fetch_add(span as i64, SeqCst);
        }
    }

    /// The wall clock steps; no time passes.
    pub(crate) fn step_ms(&self, by_ms: i64) {
        self.wall_ns.fetch_add(by_ms * 1_000_000, SeqCst);
    }

    /// Both clocks say this.
    pub(crate) fn set(&self, now: crate::clock::Now) {
        self.wall_ns.store(now.wall_ms * 1_000_000, SeqCst);
        self.boot_ns.store(now.boot_ms * 1_000_000, SeqCst);
    }

    pub(crate) fn set_stuck(&self, stuck: bool) {
        self.stuck.store(stuck, SeqCst);
    }

    /// Each look at the boot clock lets this much time pass.
    pub(crate) fn set_look_ns(&self, look_ns: u64) {
        self.look_ns.store(look_ns, SeqCst);
    }

    pub(crate) fn wall_ms(&self) -> i64 {
        self.wall_ns.load(SeqCst).div_euclid(1_000_000)
    }
}

impl Clock for FakeClock {
    fn wall_ns(&self) -> i64 {
        self.wall_ns.load(SeqCst)
    }

    fn boot_ns(&self) -> u64 {
        self.pass(Duration::from_nanos(self.look_ns.load(SeqCst)));
        self.boot_ns.load(SeqCst)
    }

    fn sleep(&self, span: Duration) {
        self.pass(span);
    }
}

/// Random numbers that are the same for the same seed.
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }
}

impl Random for Seeded {
    fn bits(&mut self) -> [u8; 16] {
        let mut bits = [0; 16];
        bits[..8].copy_from_slice(&self.next().to_le_bytes());
        bits[8..].copy_from_slice(&self.next().to_le_bytes());
        bits
    }
}

/// A generator without a keeper, over a fake clock: the test opens its slots.
pub(crate) fn generator(options: Options, clock: &Arc<FakeClock>) -> Arc<Shared> {
    let config = options.store("memory:unused").resolve().expect("the test's options are right");
    let clock = ClockSource::Injected(Arc::clone(clock) as Arc<dyn Clock>);
    Arc::new(Shared::new(config, clock, 0, crate::generator::Host::Simulated(1)).expect("memory for a page"))
}

/// Opens a slot whose window is `floor_ms..ceiling_ms`.
pub(crate) fn open_window(shared: &Arc<Shared>, worker_id: u32, floor_ms: i64, ceiling_ms: i64) {
    let page = crate::generator::KeptPage(Arc::clone(shared));
    page.open_slot(0, worker_id, 1, floor_ms);
    page.raise(ceiling_ms, ceiling_ms, ceiling_ms);
}

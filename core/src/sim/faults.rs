//! The faults of a seed: what they are and how often they come.

use crate::random::Random;
use crate::testing::Seeded;

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
            50..60 => Fault::Outage,
            60..75 => Fault::Crash,
            75..88 => Fault::Fork,
            88..92 => Fault::Clone,
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
}

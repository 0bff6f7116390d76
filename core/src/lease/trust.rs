//! Whether our clock can be trusted. Uniqueness needs no clock; usefulness does.
//!
//! The registry's time is the `Date` of its answers, with a resolution of 1 s: it proves our
//! clock ahead or behind only beyond that and a tolerance, and only twice in a row. Without a
//! `Date`, a step against the boot clock is trusted once it has stood for a while.

use crate::clock::Now;
use crate::rules::{Rule, holds};

/// How far IDs may be pushed by a clock that jumps: ceilings stay within this of a trusted look.
pub const CAP_MS: i64 = 30_000;
/// Resolution of a `Date` header.
const DATE_RESOLUTION_MS: i64 = 1_000;
/// What a `Date` may be off without proving anything.
const TOLERANCE_MS: i64 = 2_000;
/// How many answers in a row make a proof.
const ANSWERS_FOR_PROOF: u32 = 2;
/// A difference between wall and boot clock that is a step and no slewing.
const STEP_MS: i64 = 1_000;
/// How long a step must stand before it is believed.
const STANDING_MS: u64 = 30_000;
/// A step so large that only a synchronised clock is believed.
const LARGE_STEP_MS: i64 = 24 * 3600 * 1000;

/// What is known of our clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Trusted,
    /// One answer speaks against it: ask again.
    Doubtful,
    /// Proved ahead of the registry's, by at least this many ms.
    Ahead(i64),
    /// Proved behind the registry's, by at least this many ms.
    Behind(i64),
    /// It has just stepped by this many ms.
    Stepped(i64),
}

impl Verdict {
    /// What people are told, where there is something to tell.
    pub fn describe(self) -> Option<String> {
        match self {
            Verdict::Trusted | Verdict::Doubtful => None,
            Verdict::Ahead(by) => Some(format!("the clock is at least {by} ms ahead of the registry's")),
            Verdict::Behind(by) => Some(format!("the clock is at least {by} ms behind the registry's")),
            Verdict::Stepped(by) => Some(format!("the clock stepped by {by} ms and has not stood for 30 s yet")),
        }
    }
}

/// The evidence for and against our clock.
#[derive(Clone, Debug, Default)]
pub struct ClockTrust {
    /// Answers in a row that prove the clock ahead, and by how much the last one did.
    ahead: (u32, i64),
    /// The same for behind.
    behind: (u32, i64),
    /// The latest that the registry's time can have been at an answer, and our boot clock then.
    latest: Option<(i64, u64)>,
    /// Wall minus boot clock at the last trusted look.
    offset: Option<i64>,
    /// A step that is not believed yet: its offset and since when it stands.
    pending: Option<(i64, u64)>,
    /// The last trusted look at the wall clock.
    trusted_ms: Option<i64>,
    steps: u64,
}

fn offset_of(now: Now) -> i64 {
    now.wall_ms.saturating_sub(now.boot_ms as i64)
}

impl ClockTrust {
    /// Nothing known yet.
    pub fn new() -> ClockTrust {
        ClockTrust::default()
    }

    /// Takes in an answer with the registry's time.
    pub fn answered(&mut self, sent: Now, received: Now, date_ms: Option<i64>) {
        let Some(date_ms) = date_ms else { return };
        let latest = date_ms.saturating_add(DATE_RESOLUTION_MS + TOLERANCE_MS);
        let earliest = date_ms.saturating_sub(TOLERANCE_MS);
        self.latest = Some((latest, received.boot_ms));
        if sent.wall_ms > latest {
            self.ahead = (self.ahead.0 + 1, sent.wall_ms - latest);
            self.behind = (0, 0);
        } else if received.wall_ms < earliest {
            self.behind = (self.behind.0 + 1, earliest - received.wall_ms);
            self.ahead = (0, 0);
        } else if offset_of(received).saturating_sub(offset_of(sent)).abs() <= STEP_MS {
            self.ahead = (0, 0);
            self.behind = (0, 0);
            self.accept(received);
        }
        // A clock that stepped while the answer was on its way is neither proved nor cleared.
    }

    /// Looks at the clock, at every heartbeat, registry or no registry.
    pub fn look(&mut self, now: Now, synchronised: Option<bool>) {
        if self.ahead.0 > 0 {
            let bounded = self.bounded(now);
            self.trusted_ms = Some(self.trusted_ms.map_or(bounded, |old| old.max(bounded)));
            return;
        }
        let offset = offset_of(now);
        let Some(trusted) = self.offset else {
            self.accept(now);
            return;
        };
        let step = offset.saturating_sub(trusted);
        if step.abs() <= STEP_MS {
            self.accept(now);
            return;
        }
        match self.pending {
            Some((pending, since)) if (offset - pending).abs() <= STEP_MS => {
                let stood = now.boot_ms.saturating_sub(since) >= STANDING_MS;
                if stood && (step.abs() <= LARGE_STEP_MS || synchronised == Some(true)) {
                    self.accept(now);
                    return;
                }
            }
            _ => {
                self.steps += 1;
                tracing::warn!(step_ms = step, "the wall clock stepped");
                self.pending = Some((offset, now.boot_ms));
            }
        }
        let bounded = self.bounded(now);
        self.trusted_ms = Some(self.trusted_ms.map_or(bounded, |old| old.max(bounded)));
    }

    fn accept(&mut self, now: Now) {
        if self.offset.is_some_and(|trusted| (offset_of(now) - trusted).abs() > STEP_MS) && self.pending.is_none() {
            self.steps += 1;
        }
        self.offset = Some(offset_of(now));
        self.pending = None;
        self.trusted_ms = Some(now.wall_ms);
    }

    /// The time that leases are reckoned from: ours, but never beyond what is proved or trusted.
    pub fn bounded(&self, now: Now) -> i64 {
        let mut bounded = now.wall_ms;
        if self.ahead.0 > 0
            && let Some((latest, at)) = self.latest
        {
            bounded = bounded.min(latest.saturating_add(now.boot_ms.saturating_sub(at) as i64));
        }
        if self.pending.is_some()
            && let Some(offset) = self.offset
        {
            bounded = bounded.min(offset.saturating_add(now.boot_ms as i64));
        }
        bounded
    }

    /// The first timestamp that a clock is not believed, in ms since the Unix epoch.
    pub fn cap_ms(&self) -> i64 {
        if !holds(Rule::ClockCap) {
            return i64::MAX;
        }
        self.trusted_ms.map_or(i64::MIN, |trusted| trusted.saturating_add(CAP_MS))
    }

    /// What is known of our clock.
    pub fn verdict(&self) -> Verdict {
        if self.ahead.0 >= ANSWERS_FOR_PROOF {
            Verdict::Ahead(self.ahead.1)
        } else if self.behind.0 >= ANSWERS_FOR_PROOF {
            Verdict::Behind(self.behind.1)
        } else if self.ahead.0 + self.behind.0 > 0 {
            Verdict::Doubtful
        } else if let (Some((pending, _)), Some(offset)) = (self.pending, self.offset) {
            Verdict::Stepped(pending.saturating_sub(offset))
        } else {
            Verdict::Trusted
        }
    }

    /// Steps of the wall clock seen.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

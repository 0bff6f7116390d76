//! What a run came to, in figures.

/// Figures of a run, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) ids: u64,
    pub(super) faults: Faults,
    pub(super) messages: Messages,
    /// Worker IDs claimed.
    pub(super) claims: u64,
    /// Calls that were refused.
    pub(super) refusals: u64,
    /// IDs that a machine and its copy both issued within the window that was copied.
    pub(super) excused_repeats: u64,
    /// Two runs of a seed come to the same.
    pub(super) trace: u64,
}

/// What was done to processes and machines; only what had an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) steps: u64,
    pub(super) pauses: u64,
    /// Of 30 s.
    pub(super) outages: u64,
    /// Of 3 h.
    pub(super) long_outages: u64,
    pub(super) crashes: u64,
    pub(super) forks: u64,
    pub(super) clones: u64,
    pub(super) closes: u64,
    /// A thread slept between reading the clock and its compare-and-swap.
    pub(super) sleepers: u64,
}

/// What became of messages, but for those that an outage swallowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) doubled: u64,
}

impl Outcome {
    pub(super) fn add(&mut self, other: &Outcome) {
        let Outcome { ids, faults, messages, claims, refusals, excused_repeats, trace } = other;
        self.ids += ids;
        self.faults.add(faults);
        self.messages.add(messages);
        self.claims += claims;
        self.refusals += refusals;
        self.excused_repeats += excused_repeats;
        self.trace = self.trace.wrapping_add(*trace);
    }
}

impl Faults {
    fn add(&mut self, other: &Faults) {
        let Faults { steps, pauses, outages, long_outages, crashes, forks, clones, closes, sleepers } = other;
        self.steps += steps;
        self.pauses += pauses;
        self.outages += outages;
        self.long_outages += long_outages;
        self.crashes += crashes;
        self.forks += forks;
        self.clones += clones;
        self.closes += closes;
        self.sleepers += sleepers;
    }

    /// All of them, but for the sleepers.
    pub(super) fn total(&self) -> u64 {
        let Faults { steps, pauses, outages, long_outages, crashes, forks, clones, closes, sleepers: _ } = self;
        steps + pauses + outages + long_outages + crashes + forks + clones + closes
    }
}

impl Messages {
    fn add(&mut self, other: &Messages) {
        let Messages { sent, lost, late, doubled } = other;
        self.sent += sent;
        self.lost += lost;
        self.late += late;
        self.doubled += doubled;
    }
}

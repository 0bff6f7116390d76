//! What a generator tells about itself, as a struct and as named fields for every binding.

use crate::error::{Error, ErrorCode};
use crate::generator::Shared;
use crate::lease::state::{KeeperCounters, LeaseState, StateChange};

/// What state a generator is in. A snapshot: it may be old by the time it is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The state of the lease; `Closed` on a closed handle.
    pub state: LeaseState,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// The datacenter of the worker ID, where there is one.
    pub datacenter_id: Option<u32>,
    /// The worker within the datacenter.
    pub worker_id: Option<u32>,
    /// Which owner of the worker ID we are; 0 without one.
    pub fencing_epoch: u64,
    /// When the lease ends, in milliseconds since the Unix epoch; 0 without one.
    pub lease_expiry_ts: i64,
    /// How long a renewal makes the lease, in milliseconds.
    pub lease_length_ms: i64,
    /// The first timestamp that is refused just now, in milliseconds since the Unix epoch.
    pub ceiling_ms: i64,
    /// Who we are in the registry.
    pub instance_id: String,
    /// The registry.
    pub store: String,
    /// The last error of the keeper, and when, in milliseconds since the Unix epoch.
    pub last_error: Option<(Error, i64)>,
    /// Why the clock is not trusted, where it is not.
    pub clock_suspect: Option<String>,
    /// The last 64 state changes, oldest first.
    pub changes: Vec<StateChange>,
    /// Whether the keeper runs in this process, and not in the one that forked it.
    pub owns_keeper: bool,
    /// IDs issued by all who share the generator's memory (forked children too).
    pub issued: u64,
    /// Calls that had to wait for the clock.
    pub waits: u64,
    /// Counters of the keeper.
    pub counters: KeeperCounters,
}

/// The value of a named field of [`Status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Not known, or not applicable.
    None,
}

impl Status {
    pub(crate) fn of(shared: &Shared, handle_closed: bool) -> Status {
        let owns_keeper = shared.owns_keeper();
        let page = shared.page();
        let slot = page.current();
        let layout = &shared.config.layout;
        // A child reads the page alone: what the parent locks is the parent's.
        let keeper = owns_keeper.then(|| shared.link().status());
        let mut state = keeper.as_ref().map_or_else(|| page.header().state(), |keeper| keeper.state);
        if state == LeaseState::Active && to_wall(shared, slot.lease_ceiling()) <= shared.clock.wall_ms() {
            state = LeaseState::Suspended;
        }
        let held = !slot.is_retired() && matches!(state, LeaseState::Active | LeaseState::Suspended);
        let bits = slot.prefix() >> layout.sequence_bits();
        Status {
            state: if handle_closed { LeaseState::Closed } else { state },
            since_ms: keeper.as_ref().map_or(0, |keeper| keeper.since_ms),
            datacenter_id: held.then(|| (bits >> layout.worker_bits()) as u32),
            worker_id: held.then(|| bits as u32 & layout.max_worker_id()),
            fencing_epoch: if held { slot.fencing_epoch() } else { 0 },
            lease_expiry_ts: if held { slot.expiry_ms() as i64 } else { 0 },
            lease_length_ms: keeper
                .as_ref()
                .and_then(|keeper| keeper.lease)
                .map_or(shared.config.lease_ttl_ms, |lease| lease.lease_length_ms),
            ceiling_ms: if held { to_wall(shared, slot.ceiling()) } else { 0 },
            instance_id: keeper.as_ref().map_or_else(String::new, |keeper| keeper.instance_id.clone()),
            store: shared.config.store.name(),
            last_error: keeper.as_ref().and_then(|keeper| keeper.last_error.clone()),
            clock_suspect: keeper.as_ref().and_then(|keeper| keeper.clock_suspect.clone()),
            changes: keeper.as_ref().map_or_else(Vec::new, |keeper| keeper.changes.iter().cloned().collect()),
            owns_keeper,
            issued: page.issued(&shared.limits),
            waits: page.header().waits.load(crate::sync::Ordering::Relaxed),
            counters: keeper.map_or_else(KeeperCounters::default, |keeper| keeper.counters),
        }
    }

    /// All fields but the changes, by the names that every language uses.
    pub fn fields(&self) -> Vec<(&'static str, StatusValue)> {
        let number = |value: u64| StatusValue::Number(value.min(i64::MAX as u64) as i64);
        let maybe = |value: Option<u32>| value.map_or(StatusValue::None, |value| StatusValue::Number(value.into()));
        let text = |value: &Option<String>| value.clone().map_or(StatusValue::None, StatusValue::Text);
        let error = self.last_error.as_ref();
        vec![
            ("state", StatusValue::Text(self.state.name().to_owned())),
            ("since_ms", StatusValue::Number(self.since_ms)),
            ("datacenter_id", maybe(self.datacenter_id)),
            ("worker_id", maybe(self.worker_id)),
            ("fencing_epoch", number(self.fencing_epoch)),
            ("lease_expiry_ts", StatusValue::Number(self.lease_expiry_ts)),
            ("lease_length_ms", StatusValue::Number(self.lease_length_ms)),
            ("ceiling_ms", StatusValue::Number(self.ceiling_ms)),
            ("instance_id", StatusValue::Text(self.instance_id.clone())),
            ("store", StatusValue::Text(self.store.clone())),
            ("owns_keeper", StatusValue::Flag(self.owns_keeper)),
            ("clock_suspect", text(&self.clock_suspect)),
            ("last_error", error.map_or(StatusValue::None, |(error, _)| StatusValue::Text(error.to_string()))),
            ("last_error_ms", error.map_or(StatusValue::None, |(_, at_ms)| StatusValue::Number(*at_ms))),
            ("issued", number(self.issued)),
            ("waits", number(self.waits)),
            ("clock_steps", number(self.counters.clock_steps)),
            ("heartbeats_sent", number(self.counters.heartbeats_sent)),
            ("heartbeats_failed", number(self.counters.heartbeats_failed)),
            ("leases_acquired", number(self.counters.leases_acquired)),
            ("leases_lost", number(self.counters.leases_lost)),
            ("claims_lost", number(self.counters.claims_lost)),
            ("requests", number(self.counters.requests)),
        ]
    }

    /// The code of the last error, where there is one.
    pub fn last_code(&self) -> Option<ErrorCode> {
        self.last_error.as_ref().map(|(error, _)| error.code())
    }
}

fn to_wall(shared: &Shared, relative: u64) -> i64 {
    shared.config.layout.epoch_ms().saturating_add(relative as i64)
}

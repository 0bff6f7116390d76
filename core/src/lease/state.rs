//! What a lease can be, and the record of its changes.

use std::collections::VecDeque;

use crate::error::{Error, ErrorCode};

/// How many state changes are kept for `status()`.
const KEPT_CHANGES: usize = 64;

/// The state of a generator's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LeaseState {
    /// No worker ID yet.
    Acquiring = 0,
    /// IDs are issued.
    Active = 1,
    /// The window is used up and no heartbeat got through: IDs are refused until one does.
    Suspended = 2,
    /// Somebody else owns the worker ID now; another one is being acquired.
    Lost = 3,
    /// Closed by the last handle.
    Closed = 4,
}

impl LeaseState {
    /// The stable name, in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            LeaseState::Acquiring => "acquiring",
            LeaseState::Active => "active",
            LeaseState::Suspended => "suspended",
            LeaseState::Lost => "lost",
            LeaseState::Closed => "closed",
        }
    }

    pub(crate) const fn from_number(number: u32) -> LeaseState {
        match number {
            1 => LeaseState::Active,
            2 => LeaseState::Suspended,
            3 => LeaseState::Lost,
            4 => LeaseState::Closed,
            _ => LeaseState::Acquiring,
        }
    }
}

impl std::fmt::Display for LeaseState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Counts the changes of this generator, from 1.
    pub number: u64,
    /// When, in milliseconds since the Unix epoch by this process's clock.
    pub at_ms: i64,
    /// The state before.
    pub from: LeaseState,
    /// The state after.
    pub to: LeaseState,
    /// The worker ID concerned, as (datacenter_id, worker_id).
    pub worker: Option<(u32, u32)>,
    /// `fencing_epoch` of the lease concerned; 0 without one.
    pub fencing_epoch: u64,
    /// Why, for people.
    pub reason: String,
}

/// The lease in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseInfo {
    /// The datacenter.
    pub datacenter_id: u32,
    /// The worker within the datacenter.
    pub worker_id: u32,
    /// Which owner of the worker ID we are.
    pub fencing_epoch: u64,
    /// When the lease ends, in milliseconds since the Unix epoch.
    pub lease_expiry_ts: i64,
    /// How long a renewal makes it, in milliseconds.
    pub lease_length_ms: i64,
    /// Nothing is issued below this timestamp, in milliseconds since the Unix epoch.
    pub floor_ms: i64,
}

/// What the keeper tells about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperStatus {
    /// The state.
    pub state: LeaseState,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// The lease, held or suspended.
    pub lease: Option<LeaseInfo>,
    /// The last error, and when.
    pub last_error: Option<(Error, i64)>,
    /// Whether the clock is proved off or has just stepped.
    pub clock_suspect: Option<String>,
    /// The last changes, oldest first.
    pub changes: VecDeque<StateChange>,
    /// Who we are in the registry.
    pub instance_id: String,
    /// Counters.
    pub counters: KeeperCounters,
}

/// Counters of the keeper, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeeperCounters {
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Heartbeats that were not confirmed.
    pub heartbeats_failed: u64,
    /// Leases acquired.
    pub leases_acquired: u64,
    /// Leases lost.
    pub leases_lost: u64,
    /// Steps of the wall clock seen.
    pub clock_steps: u64,
    /// Rounds that ended with a claim taken by somebody else.
    pub claims_lost: u64,
    /// Requests sent to the registry.
    pub requests: u64,
}

impl KeeperStatus {
    pub(crate) fn new(now_ms: i64) -> KeeperStatus {
        KeeperStatus {
            state: LeaseState::Acquiring,
            since_ms: now_ms,
            lease: None,
            last_error: None,
            clock_suspect: None,
            changes: VecDeque::new(),
            instance_id: String::new(),
            counters: KeeperCounters::default(),
        }
    }

    /// Notes an error.
    pub(crate) fn fail(&mut self, error: Error, now_ms: i64) {
        tracing::warn!(code = error.name(), "{}", error.message());
        self.last_error = Some((error, now_ms));
    }

    /// Moves to another state; the same state is no change.
    pub(crate) fn enter(&mut self, to: LeaseState, now_ms: i64, reason: impl Into<String>) {
        if self.state == to {
            return;
        }
        let number = self.changes.back().map_or(1, |last| last.number + 1);
        let change = StateChange {
            number,
            at_ms: now_ms,
            from: self.state,
            to,
            worker: self.lease.map(|lease| (lease.datacenter_id, lease.worker_id)),
            fencing_epoch: self.lease.map_or(0, |lease| lease.fencing_epoch),
            reason: reason.into(),
        };
        tracing::info!(
            from = change.from.name(),
            to = to.name(),
            worker = ?change.worker,
            fencing_epoch = change.fencing_epoch,
            "{}",
            change.reason
        );
        if self.changes.len() == KEPT_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
        self.state = to;
        self.since_ms = now_ms;
    }

    /// The code of the last error, where there is one.
    pub fn last_code(&self) -> Option<ErrorCode> {
        self.last_error.as_ref().map(|(error, _)| error.code())
    }
}

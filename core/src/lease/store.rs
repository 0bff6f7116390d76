//! The registry as the keeper sees it: a few conditional writes and one consistent read.

use std::fmt;

use super::record::{DatacenterView, LIMIT, LeaseRecord, TableIdentity};
use crate::error::{Error, ErrorCode};
use crate::layout::Layout;
use crate::rules::{Rule, holds};

#[cfg(feature = "dynamodb")]
pub mod dynamodb;
pub mod memory;
#[cfg(feature = "sqlite")]
pub mod sqlite;

/// One question to the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// One strongly consistent read of a datacenter, LAYOUT and all.
    Read {
        /// The datacenter.
        datacenter_id: u32,
        /// The layout in use: items numbered beyond it are skipped.
        layout: Layout,
    },
    /// Creates all worker items and LAYOUT of a datacenter, each only where it is absent.
    /// Answers `Applied`, also when somebody else has done it meanwhile.
    Initialise {
        /// The datacenter.
        datacenter_id: u32,
        /// The layout to pin.
        layout: Layout,
    },
    /// One conditional write of a worker item.
    Write(LeaseWrite),
    /// Re-creates and raises the floors of a datacenter after a restore. Answers `Applied`.
    Fence(FenceRequest),
}

/// A conditional write of one worker item. It applies only if the item's `fencing_epoch` and
/// `version` are exactly those of `expected` (and, for a claim, the lease has expired).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseWrite {
    /// Which item.
    pub datacenter_id: u32,
    /// The `fencing_epoch` that the item must have.
    pub expected_epoch: u64,
    /// The `version` that the item must have.
    pub expected_version: u64,
    /// For a claim: `lease_expiry_ts` must be below this, in milliseconds since the Unix epoch.
    pub expired_before: Option<i64>,
    /// Everything that the item holds afterwards; `next.worker_id` names the item.
    pub next: LeaseRecord,
}

/// What `leaseflake registry fence` asks for; the holders are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceRequest {
    /// The datacenter.
    pub datacenter_id: u32,
    /// The layout to pin anew.
    pub layout: Layout,
    /// When the last holder stopped, in milliseconds since the Unix epoch:
    /// `lease_expiry_ts` becomes at least this.
    pub at_ms: i64,
    /// Only this worker ID (its holder is known dead); `None` = all of the datacenter.
    pub worker_id: Option<u32>,
    /// Set `lease_expiry_ts` to `at_ms` even where that lowers it.
    pub lower: bool,
}

impl LeaseWrite {
    /// Whether the condition of this write holds on an item.
    pub fn allows(&self, item: &LeaseRecord) -> bool {
        item.fencing_epoch == self.expected_epoch
            && (item.version == self.expected_version || !holds(Rule::VersionInCondition))
            && self.expired_before.is_none_or(|now_ms| item.lease_expiry_ts < now_ms)
    }
}

impl FenceRequest {
    /// The worker IDs that it touches.
    pub fn workers(&self) -> std::ops::RangeInclusive<u32> {
        match self.worker_id {
            Some(worker_id) => worker_id..=worker_id,
            None => 0..=self.layout.max_worker_id(),
        }
    }

    /// The item as it is after the fence.
    ///
    /// Its version is above every version that was ever counted up to (times in milliseconds are),
    /// so that no write from before fits: counting on from a restored or re-created item would come
    /// to versions that were in use, and a heartbeat still under way could lower the floor again.
    ///
    /// Counts that somebody has set to the last that an item may have start over, as those of a malformed item do:
    /// a fence must not make an item that nobody can read.
    pub fn fenced(&self, item: &LeaseRecord) -> LeaseRecord {
        let at_ms = u64::try_from(self.at_ms).unwrap_or(0);
        let after = |count: u64, otherwise: u64| if count < LIMIT - 1 { count + 1 } else { otherwise };
        LeaseRecord {
            lease_expiry_ts: if self.lower { self.at_ms } else { item.lease_expiry_ts.max(self.at_ms) },
            fencing_epoch: after(item.fencing_epoch, 1),
            version: after(item.version.max(at_ms), at_ms.min(LIMIT - 2) + 1),
            renewal_id: String::new(),
            ..item.clone()
        }
    }
}

/// What the registry answers when it did what was asked, or refused by a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The datacenter, for `Read`.
    View(DatacenterView),
    /// The write was made.
    Applied,
    /// The condition did not hold and nothing was written; with the item as it is, or `None`
    /// if there is no such item.
    Refused(Option<LeaseRecord>),
}

/// An answer, with the registry's own time when it sent one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `Date` of the answer, in milliseconds since the Unix epoch (1 s resolution).
    pub date_ms: Option<i64>,
    /// What it said.
    pub result: Result<Reply, StoreError>,
}

impl Answer {
    /// An answer without a date.
    pub fn undated(result: Result<Reply, StoreError>) -> Answer {
        Answer { date_ms: None, result }
    }
}

/// Why the registry did not answer as asked. Whatever the kind, a write may have been applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// What kind of failure.
    pub kind: StoreErrorKind,
    /// What happened, to which table or file, and what to do.
    pub message: String,
}

/// The kinds of failure that the keeper tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// No answer, throttled, or a server error: try again later.
    Unavailable,
    /// No table, no permission, broken or restored: trying again does not help by itself.
    Rejected,
    /// What a lease was held in is not there any more, or is not the same: it was removed, exchanged or put back to
    /// an older state. Rejected, and nothing may be issued under that lease.
    Gone,
    /// The registry pins something else.
    LayoutMismatch,
    /// The registry refused our signature because our clock is off.
    ClockUntrusted,
    /// The options make no sense for this registry.
    InvalidArgument,
}

impl StoreError {
    /// A failure of this kind.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> StoreError {
        StoreError { kind, message: message.into() }
    }

    /// The error code that users see.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            StoreErrorKind::Unavailable => ErrorCode::StoreUnavailable,
            StoreErrorKind::Rejected | StoreErrorKind::Gone => ErrorCode::StoreRejected,
            StoreErrorKind::LayoutMismatch => ErrorCode::LayoutMismatch,
            StoreErrorKind::ClockUntrusted => ErrorCode::ClockUntrusted,
            StoreErrorKind::InvalidArgument => ErrorCode::InvalidArgument,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::new(error.code(), error.message)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message)
    }
}

impl std::error::Error for StoreError {}

/// A registry. Used by one thread at a time, the keeper's; opened lazily, so that making one
/// never blocks and never fails for a reason outside its own text.
pub trait LeaseStore: Send {
    /// Asks one question and waits for the answer, for at most a few seconds.
    fn call(&mut self, request: &Request) -> Answer;

    /// What the registry says of itself, without a question where it is already known.
    ///
    /// # Errors
    ///
    /// As `call`.
    fn describe(&mut self) -> Result<TableIdentity, StoreError>;

    /// The datacenters that `auto` stands for, searched in turn.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` where the registry's region is in no table of ours.
    fn auto_datacenters(&mut self, layout: &Layout) -> Result<Vec<u32>, StoreError>;

    /// What people call this registry, in messages.
    fn name(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_from_before_a_restore_finds_no_version_to_fit_after_the_fence() {
        let owned = |epoch, version| LeaseRecord {
            fencing_epoch: epoch,
            version,
            renewal_id: "an owner".to_owned(),
            ..LeaseRecord::unused(0)
        };
        // The backup has epoch 1, version 1; the holders went on to epoch 2 and versions 2 to 5.
        let fence = FenceRequest {
            datacenter_id: 0,
            layout: Layout::default(),
            at_ms: 1_800_000_000_000,
            worker_id: None,
            lower: false,
        };
        let fenced = fence.fenced(&owned(1, 1));
        for version in 2..=5 {
            let late = LeaseWrite {
                datacenter_id: 0,
                expected_epoch: 2,
                expected_version: version,
                expired_before: None,
                next: owned(2, version + 1),
            };
            assert!(!late.allows(&fenced), "version {version} fits {fenced:?}");
        }
        assert!(fence.fenced(&fenced).version > fenced.version, "a second fence is a write like any other");
        assert!(fenced.is_well_formed());
    }

    #[test]
    fn an_item_whose_counts_somebody_set_to_the_last_can_be_read_after_a_fence() {
        let at_ms = 1_800_000_000_000;
        let fence = FenceRequest { datacenter_id: 0, layout: Layout::default(), at_ms, worker_id: None, lower: false };
        let last = LeaseRecord { fencing_epoch: LIMIT - 1, version: LIMIT - 1, ..LeaseRecord::unused(0) };
        assert!(last.is_well_formed());
        let fenced = fence.fenced(&last);
        assert!(fenced.is_well_formed(), "{fenced:?}");
        assert_eq!((fenced.fencing_epoch, fenced.version), (1, at_ms as u64 + 1));
    }
}

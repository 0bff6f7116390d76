//! What the registry holds: worker items and the pinned layout.

use crate::layout::Layout;

/// A worker item: who owns a worker ID, and up to which timestamp.
///
/// Never deleted and without a TTL: it carries the floor of the next owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The worker within the datacenter.
    pub worker_id: u32,
    /// Who owns or owned it; shown to people, never compared for safety.
    pub instance_id: String,
    /// Where the owner runs; shown to people.
    pub ip_address: String,
    /// End of the lease, in milliseconds since the Unix epoch. Never decreases but at a release.
    pub lease_expiry_ts: i64,
    /// Counts the owners: each claim adds one. 0 = never used.
    pub fencing_epoch: u64,
    /// Counts the writes: each write adds one.
    pub version: u64,
    /// A fresh random text for every claim and heartbeat; empty = released.
    pub renewal_id: String,
}

/// No number of an item reaches this.
pub(crate) const LIMIT: u64 = 1 << 62;

impl LeaseRecord {
    /// An item that nobody has owned yet.
    pub fn unused(worker_id: u32) -> LeaseRecord {
        LeaseRecord {
            worker_id,
            instance_id: String::new(),
            ip_address: String::new(),
            lease_expiry_ts: 0,
            fencing_epoch: 0,
            version: 0,
            renewal_id: String::new(),
        }
    }

    /// Whether its numbers are within what we ever write. Stores skip an item that is not, with a
    /// warning: somebody else wrote it.
    pub fn is_well_formed(&self) -> bool {
        self.fencing_epoch < LIMIT && self.version < LIMIT && (0..LIMIT as i64).contains(&self.lease_expiry_ts)
    }

    /// Whether the last owner gave it back.
    pub fn is_released(&self) -> bool {
        self.renewal_id.is_empty()
    }

    /// Whether another owner can be counted: not where somebody has set a number to the last that an item may have.
    pub(crate) fn has_a_next_owner(&self) -> bool {
        self.fencing_epoch < LIMIT - 1 && self.version < LIMIT - 1
    }

    /// Whether the lease runs at this time, in milliseconds since the Unix epoch.
    pub fn is_leased_at(&self, now_ms: i64) -> bool {
        self.lease_expiry_ts >= now_ms
    }
}

/// The LAYOUT item: what all processes of a datacenter must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutPin {
    /// The widths, such as `41-5-5-12`.
    pub layout: String,
    /// The epoch, in milliseconds since the Unix epoch.
    pub epoch_ms: i64,
    /// The region of the table; empty where the registry has none.
    pub region: String,
    /// What tells this table from a copy of it: the table's id, or device and inode of a file.
    /// Empty where it could not be read.
    pub table_id: String,
}

impl LayoutPin {
    /// The pin of this layout in the registry with this identity.
    pub fn new(layout: &Layout, table: &TableIdentity) -> LayoutPin {
        LayoutPin {
            layout: layout.to_string(),
            epoch_ms: layout.epoch_ms(),
            region: table.region.clone(),
            table_id: table.table_id.clone(),
        }
    }
}

/// Which registry answers, by its own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableIdentity {
    /// The region; empty where there is none or it could not be read.
    pub region: String,
    /// The table's id, or device and inode of a file; empty where it could not be read.
    pub table_id: String,
}

/// A datacenter as one consistent read shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatacenterView {
    /// The LAYOUT item; `None` = not initialised.
    pub layout: Option<LayoutPin>,
    /// The well-formed worker items within the layout, by worker ID.
    pub workers: Vec<LeaseRecord>,
    /// One line for each item that was skipped (foreign, malformed, out of the layout) and for
    /// each check that was not permitted.
    pub warnings: Vec<String>,
    /// The registry that answered.
    pub table: TableIdentity,
}

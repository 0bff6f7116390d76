//! The rules of the lease protocol, each with a switch that drops it.

/// What a heartbeat (and a release) demands of the item before it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The exact `fencing_epoch` and `version` last seen.
    EpochAndVersion,
    /// Only the `fencing_epoch`.
    Epoch,
    /// Only the owner's name, which all processes of the model share (as two pods of one name do).
    Name,
}

/// Which rules hold. [`Rules::window`] is the protocol of Leaseflake; every switch weakens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// An ID is checked against the window of its lease; otherwise the usual check, "is my lease
    /// still valid by my clock?", and then the ID is issued.
    pub window: bool,
    /// Nothing is issued below the expiry that the previous owner left.
    pub floor: bool,
    /// `lease_expiry_ts` never decreases at a heartbeat.
    pub monotone_expiry: bool,
    /// A release leaves one past the newest timestamp issued; otherwise the releaser's clock.
    pub release_newest: bool,
    /// The timestamp that is checked is the one that is issued: one clock read.
    pub own_timestamp: bool,
    /// The condition of heartbeats and releases.
    pub heartbeat: Condition,
    /// A claim names the epoch and version that were read; otherwise only the expiry is compared.
    pub version_in_claim: bool,
    /// A refused write is ours only if the item bears the `renewal_id` of an attempt of ours;
    /// otherwise the epoch alone decides.
    pub renewal_id: bool,
    /// A `renewal_id` is drawn from the kernel when it is sent; otherwise from a generator in
    /// memory, which forks and clones copy.
    pub kernel_randomness: bool,
    /// An answer counts for the attempt that it answers; otherwise for the one that is waited for.
    pub answers_by_attempt: bool,
    /// The ceiling rises when the registry has confirmed the write; otherwise when it is sent.
    pub confirmed_ceiling: bool,
    /// A child retires the shared slot before it leaves it.
    pub retire_before_leaving: bool,
    /// A release retires the slot before it says what the newest timestamp was.
    pub retire_before_release: bool,
    /// A new lease gets a new slot; otherwise the old slot's word is revived.
    pub slot_per_lease: bool,
    /// A new slot starts above the newest timestamp that was issued through its page; otherwise
    /// at the floor.
    pub start_above_newest: bool,
    /// A missing item is not claimed.
    pub refuse_missing: bool,
    /// Initialising writes nothing once LAYOUT exists.
    pub initialise_once: bool,
    /// After a restore nobody starts before the fence, and the holders are stopped before it.
    pub fence: bool,
    /// The fence's time is above every clock by which a holder may have issued; otherwise it is
    /// the bare true time.
    pub fence_above_clocks: bool,
    /// A fenced item gets a version that no write in flight can name; otherwise the next one.
    pub fence_fresh_version: bool,
}

impl Rules {
    /// The protocol of Leaseflake, whole.
    pub const fn window() -> Rules {
        Rules {
            window: true,
            floor: true,
            monotone_expiry: true,
            release_newest: true,
            own_timestamp: true,
            heartbeat: Condition::EpochAndVersion,
            version_in_claim: true,
            renewal_id: true,
            kernel_randomness: true,
            answers_by_attempt: true,
            confirmed_ceiling: true,
            retire_before_leaving: true,
            retire_before_release: true,
            slot_per_lease: true,
            start_above_newest: true,
            refuse_missing: true,
            initialise_once: true,
            fence: true,
            fence_above_clocks: true,
            fence_fresh_version: true,
        }
    }

    /// The usual protocol: conditional writes of the same kind, and a look at the clock before
    /// each ID. Snowflake's own rule holds, that a process issues nothing at or below its last.
    pub const fn wall_clock() -> Rules {
        Rules { window: false, floor: false, monotone_expiry: false, release_newest: false, ..Rules::window() }
    }
}

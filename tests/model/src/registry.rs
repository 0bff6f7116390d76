//! The registry: one worker item, conditional writes, and what operators do to it.

use crate::bounds::Bounds;
use crate::rules::{Condition, Rules};

/// The worker item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// `lease_expiry_ts`, in ticks.
    pub expiry: u8,
    /// `fencing_epoch`.
    pub epoch: u8,
    /// `version`.
    pub version: u8,
    /// `renewal_id`; 0 = released.
    pub renewal: u8,
}

/// What a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Takes an expired item.
    Claim,
    /// Renews.
    Heartbeat,
    /// Gives back.
    Release,
}

/// A conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// What it is.
    pub kind: Kind,
    /// The `fencing_epoch` that was read.
    pub epoch: u8,
    /// The `version` that was read.
    pub version: u8,
    /// The `lease_expiry_ts` to write.
    pub expiry: u8,
    /// For a claim: the sender's clock, which the item's expiry must be below.
    pub now: u8,
    /// The `renewal_id` to write.
    pub renewal: u8,
    /// For a claim that read no item: the write demands that there is none.
    pub absent: bool,
}

/// What the registry answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Written.
    Applied,
    /// The condition did not hold; the item as it is.
    Refused(Item),
    /// There is no such item.
    Missing,
}

/// A version that no write can name, however long it was in flight.
const FRESH_VERSION: u8 = 64;

/// The registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registry {
    /// The worker item; `None` = deleted.
    pub item: Option<Item>,
    /// The item as the backup holds it.
    pub backup: Option<Item>,
    /// Restored, and not fenced yet: whoever opens it is refused.
    pub restored: bool,
}

impl Registry {
    /// An initialised registry, of which no backup was made.
    pub fn new() -> Registry {
        Registry { item: Some(Item { expiry: 0, epoch: 0, version: 0, renewal: 0 }), backup: None, restored: false }
    }

    /// One conditional write.
    pub fn write(&mut self, write: &Write, rules: &Rules) -> Answer {
        let Some(item) = self.item else {
            if write.absent && !rules.refuse_missing {
                self.item = Some(Item { expiry: write.expiry, epoch: 1, version: 1, renewal: write.renewal });
                return Answer::Applied;
            }
            return Answer::Missing;
        };
        if write.absent || !allows(write, &item, rules) {
            return Answer::Refused(item);
        }
        let epoch = write.epoch + u8::from(write.kind == Kind::Claim);
        // Who does not compare the version still counts it up, from what the item has.
        let version = item.version.max(write.version) + 1;
        self.item = Some(Item { expiry: write.expiry, epoch, version, renewal: write.renewal });
        Answer::Applied
    }

    /// An initialisation arrives: the item is created where it is absent.
    pub fn initialise(&mut self, rules: &Rules) {
        if self.item.is_none() && !rules.initialise_once {
            self.item = Registry::new().item;
        }
    }

    /// `leaseflake registry fence`: raises the floor and starts a new epoch; a missing item is
    /// created again.
    pub fn fence(&mut self, now: u8, rules: &Rules, bounds: &Bounds) {
        let at = if rules.fence_above_clocks { bounds.above_all_clocks(now) } else { now };
        let old = self.item.unwrap_or(Item { expiry: 0, epoch: 0, version: 0, renewal: 0 });
        let version = if rules.fence_fresh_version { FRESH_VERSION } else { old.version + 1 };
        self.item = Some(Item { expiry: old.expiry.max(at), epoch: old.epoch + 1, version, renewal: 0 });
        self.restored = false;
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

/// Whether the condition of a write holds on an item.
pub fn allows(write: &Write, item: &Item, rules: &Rules) -> bool {
    let exact = item.epoch == write.epoch && item.version == write.version;
    match write.kind {
        Kind::Claim => (exact || !rules.version_in_claim) && item.expiry < write.now,
        Kind::Heartbeat | Kind::Release => match rules.heartbeat {
            Condition::EpochAndVersion => exact,
            Condition::Epoch => item.epoch == write.epoch,
            Condition::Name => true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Item = Item { expiry: 7, epoch: 2, version: 5, renewal: 9 };

    fn registry() -> Registry {
        Registry { item: Some(ITEM), ..Registry::new() }
    }

    fn write(kind: Kind, epoch: u8, version: u8) -> Write {
        Write { kind, epoch, version, expiry: 11, now: 8, renewal: 17, absent: false }
    }

    #[test]
    fn a_claim_needs_the_exact_version_and_an_expired_lease() {
        let rules = Rules::window();
        for (epoch, version, now, taken) in
            [(2, 5, 8, true), (2, 5, 7, false), (2, 4, 8, false), (1, 5, 8, false), (3, 5, 8, false)]
        {
            let mut registry = registry();
            let answer = registry.write(&Write { now, ..write(Kind::Claim, epoch, version) }, &rules);
            if taken {
                assert_eq!(answer, Answer::Applied);
                assert_eq!(registry.item, Some(Item { expiry: 11, epoch: 3, version: 6, renewal: 17 }));
            } else {
                assert_eq!(answer, Answer::Refused(ITEM));
                assert_eq!(registry.item, Some(ITEM));
            }
        }
    }

    #[test]
    fn a_heartbeat_keeps_the_epoch_and_a_late_one_changes_nothing() {
        let mut registry = registry();
        assert_eq!(registry.write(&write(Kind::Heartbeat, 2, 5), &Rules::window()), Answer::Applied);
        let renewed = Item { expiry: 11, epoch: 2, version: 6, renewal: 17 };
        assert_eq!(registry.item, Some(renewed));
        assert_eq!(registry.write(&write(Kind::Heartbeat, 2, 5), &Rules::window()), Answer::Refused(renewed));
    }

    #[test]
    fn dropped_conditions_let_a_late_heartbeat_through() {
        for (condition, epoch, through) in [
            (Condition::EpochAndVersion, 2, false),
            (Condition::Epoch, 2, true),
            (Condition::Epoch, 1, false),
            (Condition::Name, 1, true),
        ] {
            let rules = Rules { heartbeat: condition, ..Rules::window() };
            let answer = registry().write(&write(Kind::Heartbeat, epoch, 4), &rules);
            assert_eq!(answer == Answer::Applied, through, "{condition:?} on epoch {epoch}");
        }
    }

    #[test]
    fn a_missing_item_is_neither_claimed_nor_initialised_again() {
        let mut registry = Registry { item: None, ..Registry::new() };
        let claim = Write { absent: true, ..write(Kind::Claim, 0, 0) };
        assert_eq!(registry.write(&claim, &Rules::window()), Answer::Missing);
        registry.initialise(&Rules::window());
        assert_eq!(registry.item, None);
        assert_eq!(registry.write(&claim, &Rules { refuse_missing: false, ..Rules::window() }), Answer::Applied);
    }

    #[test]
    fn a_fence_raises_the_floor_starts_an_epoch_and_shuts_out_writes_in_flight() {
        let bounds = Bounds::calm(2);
        let mut registry = Registry { restored: true, ..registry() };
        registry.fence(8, &Rules::window(), &bounds);
        let item = registry.item.expect("a fence leaves an item");
        assert_eq!((item.expiry, item.epoch, item.renewal, registry.restored), (9, 3, 0, false));
        assert!(item.version >= FRESH_VERSION);
        registry.fence(2, &Rules::window(), &bounds);
        assert_eq!(registry.item.map(|item| item.expiry), Some(9), "a fence never lowers");
    }
}

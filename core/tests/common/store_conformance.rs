//! What every kind of registry must do, whatever it is made of.
//!
//! `store_conformance::suite!(name, make)` makes a module of tests; `make` gives a fresh registry.

// Shared by several test programs by its path, each with a crate root of its own.
#![allow(unreachable_pub)]

use std::sync::Barrier;

use leaseflake::Layout;
use leaseflake::lease::record::{DatacenterView, LeaseRecord};
use leaseflake::lease::store::{FenceRequest, LeaseStore, LeaseWrite, Reply, Request, StoreError, StoreErrorKind};

/// A registry that several clients share, and what an operator may do to it by mistake.
pub trait Registry: Sync {
    /// Another client.
    fn client(&self) -> Box<dyn LeaseStore>;
    /// Deletes a worker item behind everybody's back.
    fn delete_item(&self, datacenter_id: u32, worker_id: u32);
    /// Deletes LAYOUT behind everybody's back.
    fn delete_layout(&self, datacenter_id: u32);
}

pub fn initialise(store: &mut dyn LeaseStore, datacenter_id: u32, layout: Layout) -> Result<Reply, StoreError> {
    store.call(&Request::Initialise { datacenter_id, layout }).result
}

pub fn view_of(store: &mut dyn LeaseStore, datacenter_id: u32, layout: Layout) -> DatacenterView {
    match insist(store, &Request::Read { datacenter_id, layout }) {
        Ok(Reply::View(view)) => view,
        other => panic!("a read was answered with {other:?}"),
    }
}

pub fn item_of(store: &mut dyn LeaseStore, datacenter_id: u32, worker_id: u32) -> Option<LeaseRecord> {
    let view = view_of(store, datacenter_id, Layout::default());
    view.workers.into_iter().find(|item| item.worker_id == worker_id)
}

/// A claim of this item at `now_ms` for 30 s, as the keeper would make it.
pub fn claim(datacenter_id: u32, item: &LeaseRecord, now_ms: i64, owner: &str) -> LeaseWrite {
    LeaseWrite {
        datacenter_id,
        expected_epoch: item.fencing_epoch,
        expected_version: item.version,
        expired_before: Some(now_ms),
        next: LeaseRecord {
            worker_id: item.worker_id,
            instance_id: owner.to_owned(),
            ip_address: "192.0.2.7".to_owned(),
            lease_expiry_ts: now_ms + 30_000,
            fencing_epoch: item.fencing_epoch + 1,
            version: item.version + 1,
            renewal_id: format!("renewal of {owner}"),
        },
    }
}

/// A write by the holder of this item, which must not look at the time.
pub fn renew(datacenter_id: u32, held: &LeaseRecord, expiry_ms: i64) -> LeaseWrite {
    LeaseWrite {
        datacenter_id,
        expected_epoch: held.fencing_epoch,
        expected_version: held.version,
        expired_before: None,
        next: LeaseRecord { lease_expiry_ts: expiry_ms, version: held.version + 1, ..held.clone() },
    }
}

pub fn write(store: &mut dyn LeaseStore, write: &LeaseWrite) -> Reply {
    store.call(&Request::Write(write.clone())).result.expect("the registry answers")
}

/// Asks until the answer is not that others kept the registry busy for too long, as on a slow
/// machine; nothing was written then.
pub fn insist(store: &mut dyn LeaseStore, request: &Request) -> Result<Reply, StoreError> {
    loop {
        match store.call(request).result {
            Err(error) if error.kind == StoreErrorKind::Unavailable => {}
            result => return result,
        }
    }
}

fn ready(registry: &dyn Registry, datacenter_id: u32) -> Box<dyn LeaseStore> {
    let mut store = registry.client();
    assert_eq!(initialise(store.as_mut(), datacenter_id, Layout::default()), Ok(Reply::Applied));
    store
}

fn fence(datacenter_id: u32, at_ms: i64) -> FenceRequest {
    FenceRequest { datacenter_id, layout: Layout::default(), at_ms, worker_id: None, lower: false }
}

const NOW_MS: i64 = 1_800_000_000_000;

pub fn an_untouched_datacenter_has_neither_pin_nor_items(registry: &dyn Registry) {
    let view = view_of(registry.client().as_mut(), 3, Layout::default());
    assert_eq!((view.layout, view.workers), (None, Vec::new()));
}

pub fn initialise_makes_every_item_unused_and_pins_layout_and_table(registry: &dyn Registry) {
    let mut store = ready(registry, 1);
    let view = view_of(store.as_mut(), 1, Layout::default());
    let pin = view.layout.expect("LAYOUT");
    assert_eq!((pin.layout.as_str(), pin.epoch_ms), ("41-5-5-12", 1_767_225_600_000));
    assert_eq!((&pin.region, &pin.table_id), (&view.table.region, &view.table.table_id));
    assert_eq!(view.warnings, Vec::<String>::new());
    // 5 worker bits: 32 workers.
    assert_eq!(view.workers.iter().map(|item| item.worker_id).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
    for item in view.workers {
        assert_eq!((item.lease_expiry_ts, item.fencing_epoch), (0, 0), "{item:?}");
        assert!(item.is_released() && item.instance_id.is_empty(), "{item:?}");
    }
}

pub fn initialise_again_changes_nothing_even_with_another_layout(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let item = item_of(store.as_mut(), 0, 4).unwrap();
    assert_eq!(write(store.as_mut(), &claim(0, &item, NOW_MS, "a")), Reply::Applied);
    let before = view_of(store.as_mut(), 0, Layout::default());
    let other = Layout::new(41, 5, 6, 11).unwrap();
    for layout in [Layout::default(), other] {
        assert_eq!(initialise(registry.client().as_mut(), 0, layout), Ok(Reply::Applied));
    }
    assert_eq!(view_of(store.as_mut(), 0, Layout::default()), before);
}

pub fn sixteen_initialise_at_once_and_one_datacenter_comes_of_it(registry: &dyn Registry) {
    let start = Barrier::new(16);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut store = registry.client();
                start.wait();
                let request = Request::Initialise { datacenter_id: 2, layout: Layout::default() };
                assert_eq!(insist(store.as_mut(), &request), Ok(Reply::Applied));
                let request = Request::Read { datacenter_id: 2, layout: Layout::default() };
                match insist(store.as_mut(), &request) {
                    Ok(Reply::View(view)) => assert_eq!(view.workers.len(), 32),
                    other => panic!("a read was answered with {other:?}"),
                }
            });
        }
    });
}

pub fn a_claim_holds_exactly_what_was_written_and_nothing_else_changes(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let before = view_of(store.as_mut(), 0, Layout::default());
    let mut claim = claim(0, &before.workers[4], NOW_MS, "it's \"a\" \u{1f600} %_\\");
    // The largest numbers that are well-formed.
    claim.next.lease_expiry_ts = (1 << 62) - 1;
    claim.next.version = (1 << 62) - 1;
    claim.next.fencing_epoch = (1 << 62) - 1;
    assert_eq!(write(store.as_mut(), &claim), Reply::Applied);
    let after = view_of(registry.client().as_mut(), 0, Layout::default());
    assert_eq!(after.workers[4], claim.next);
    for (old, new) in before.workers.iter().zip(&after.workers).filter(|(old, _)| old.worker_id != 4) {
        assert_eq!(old, new);
    }
}

pub fn a_claim_that_does_not_match_is_refused_with_the_item_and_changes_nothing(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let unused = item_of(store.as_mut(), 0, 7).unwrap();
    let first = claim(0, &unused, NOW_MS, "a");
    assert_eq!(write(store.as_mut(), &first), Reply::Applied);
    let held = first.next;
    let late = NOW_MS + 60_000;
    let right = claim(0, &held, late, "b");
    let refused = [
        // The lease still runs: an expiry equal to now is not below it.
        LeaseWrite { expired_before: Some(held.lease_expiry_ts), ..right.clone() },
        LeaseWrite { expired_before: Some(0), ..right.clone() },
        LeaseWrite { expected_epoch: held.fencing_epoch - 1, ..right.clone() },
        LeaseWrite { expected_epoch: held.fencing_epoch + 1, ..right.clone() },
        LeaseWrite { expected_version: held.version - 1, ..right.clone() },
        LeaseWrite { expected_version: held.version + 1, ..right.clone() },
        LeaseWrite { expected_version: u64::from(u32::MAX) << 20, ..right.clone() },
    ];
    for wrong in refused {
        assert_eq!(write(store.as_mut(), &wrong), Reply::Refused(Some(held.clone())), "{wrong:?}");
    }
    assert_eq!(item_of(store.as_mut(), 0, 7), Some(held.clone()));
    let just = LeaseWrite { expired_before: Some(held.lease_expiry_ts + 1), ..right };
    assert_eq!(write(store.as_mut(), &just), Reply::Applied);
    assert_eq!(item_of(store.as_mut(), 0, 7), Some(just.next));
}

pub fn a_heartbeat_and_a_release_apply_under_a_running_lease_and_only_once(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let unused = item_of(store.as_mut(), 0, 9).unwrap();
    let claimed = claim(0, &unused, NOW_MS, "a");
    assert_eq!(write(store.as_mut(), &claimed), Reply::Applied);
    let heartbeat = renew(0, &claimed.next, NOW_MS + 40_000);
    assert_eq!(write(store.as_mut(), &heartbeat), Reply::Applied);
    // Delivered twice, as by a network that repeats.
    assert_eq!(write(store.as_mut(), &heartbeat), Reply::Refused(Some(heartbeat.next.clone())));
    let mut release = renew(0, &heartbeat.next, NOW_MS + 5);
    release.next.renewal_id.clear();
    assert_eq!(write(store.as_mut(), &release), Reply::Applied);
    let item = item_of(store.as_mut(), 0, 9).unwrap();
    assert!(item.is_released());
    assert_eq!(item.lease_expiry_ts, NOW_MS + 5);
}

pub fn of_sixteen_claims_at_once_one_wins_and_the_others_see_it(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    for round in 0..4 {
        let unused = item_of(store.as_mut(), 0, round).unwrap();
        let start = Barrier::new(16);
        let replies: Vec<(String, Reply)> = std::thread::scope(|scope| {
            let claimants: Vec<_> = (0..16)
                .map(|number| {
                    let (start, unused) = (&start, &unused);
                    scope.spawn(move || {
                        let owner = format!("claimant {number}");
                        let request = Request::Write(claim(0, unused, NOW_MS, &owner));
                        let mut store = registry.client();
                        start.wait();
                        (owner, insist(store.as_mut(), &request).unwrap())
                    })
                })
                .collect();
            claimants.into_iter().map(|claimant| claimant.join().unwrap()).collect()
        });
        let winner = item_of(store.as_mut(), 0, round).unwrap();
        let won: Vec<_> = replies.iter().filter(|(_, reply)| *reply == Reply::Applied).collect();
        assert_eq!(won.len(), 1, "{replies:?}");
        assert_eq!(won[0].0, winner.instance_id);
        for (owner, reply) in replies.iter().filter(|(owner, _)| *owner != winner.instance_id) {
            assert_eq!(*reply, Reply::Refused(Some(winner.clone())), "{owner}");
        }
    }
}

pub fn a_deleted_item_is_never_claimed_and_never_made_anew_by_initialise(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let item = item_of(store.as_mut(), 0, 5).unwrap();
    registry.delete_item(0, 5);
    assert_eq!(initialise(store.as_mut(), 0, Layout::default()), Ok(Reply::Applied));
    assert_eq!(item_of(store.as_mut(), 0, 5), None);
    assert_eq!(write(store.as_mut(), &claim(0, &item, NOW_MS, "a")), Reply::Refused(None));
    assert_eq!(item_of(store.as_mut(), 0, 5), None);
}

pub fn a_deleted_layout_beside_a_used_item_is_rejected_until_the_fence(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let item = item_of(store.as_mut(), 0, 5).unwrap();
    assert_eq!(write(store.as_mut(), &claim(0, &item, NOW_MS, "a")), Reply::Applied);
    registry.delete_layout(0);
    let error = initialise(store.as_mut(), 0, Layout::default()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Rejected);
    assert!(error.message.contains("registry fence"), "{error}");
    assert_eq!(view_of(store.as_mut(), 0, Layout::default()).layout, None);
    assert_eq!(store.call(&Request::Fence(fence(0, NOW_MS))).result, Ok(Reply::Applied));
    assert!(view_of(store.as_mut(), 0, Layout::default()).layout.is_some());
}

pub fn a_fence_raises_every_floor_shuts_out_old_holders_and_makes_missing_items(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let items = view_of(store.as_mut(), 0, Layout::default()).workers;
    let held = claim(0, &items[1], NOW_MS, "a");
    let far = claim(0, &items[2], NOW_MS + 1_000_000, "b");
    for claim in [&held, &far] {
        assert_eq!(write(store.as_mut(), claim), Reply::Applied);
    }
    registry.delete_item(0, 3);
    let at_ms = NOW_MS + 500_000;
    assert_eq!(store.call(&Request::Fence(fence(0, at_ms))).result, Ok(Reply::Applied));
    let view = view_of(store.as_mut(), 0, Layout::default());
    assert_eq!(view.workers.len(), 32);
    for item in &view.workers {
        assert!(item.is_released(), "{item:?}");
        let expiry = if item.worker_id == 2 { far.next.lease_expiry_ts } else { at_ms };
        assert_eq!(item.lease_expiry_ts, expiry, "{item:?}");
        let epoch = if [1, 2].contains(&item.worker_id) { 2 } else { 1 };
        assert_eq!(item.fencing_epoch, epoch, "{item:?}");
    }
    let heartbeat = renew(0, &held.next, NOW_MS + 40_000);
    assert_eq!(write(store.as_mut(), &heartbeat), Reply::Refused(Some(view.workers[1].clone())));
    let pin = view.layout.unwrap();
    assert_eq!(pin.table_id, view.table.table_id);
}

pub fn a_fence_of_one_worker_touches_only_it_and_lowers_only_when_told(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let before = view_of(store.as_mut(), 0, Layout::default());
    let held = claim(0, &before.workers[6], NOW_MS, "a");
    assert_eq!(write(store.as_mut(), &held), Reply::Applied);
    let one = FenceRequest { worker_id: Some(6), ..fence(0, NOW_MS - 1) };
    assert_eq!(store.call(&Request::Fence(one.clone())).result, Ok(Reply::Applied));
    assert_eq!(item_of(store.as_mut(), 0, 6).unwrap().lease_expiry_ts, held.next.lease_expiry_ts);
    let lower = FenceRequest { lower: true, ..one };
    assert_eq!(store.call(&Request::Fence(lower)).result, Ok(Reply::Applied));
    let after = view_of(store.as_mut(), 0, Layout::default());
    assert_eq!(after.workers[6].lease_expiry_ts, NOW_MS - 1);
    assert_eq!(after.workers[6].fencing_epoch, held.next.fencing_epoch + 2);
    for worker_id in (0..32).filter(|worker_id| *worker_id != 6) {
        assert_eq!(before.workers[worker_id], after.workers[worker_id]);
    }
}

pub fn a_fence_of_an_untouched_datacenter_initialises_it_above_the_time(registry: &dyn Registry) {
    let mut store = registry.client();
    assert_eq!(store.call(&Request::Fence(fence(8, NOW_MS))).result, Ok(Reply::Applied));
    let view = view_of(store.as_mut(), 8, Layout::default());
    assert!(view.layout.is_some());
    assert_eq!(view.workers.len(), 32);
    assert!(view.workers.iter().all(|item| item.lease_expiry_ts == NOW_MS && item.fencing_epoch == 1));
}

pub fn datacenters_do_not_touch_each_other(registry: &dyn Registry) {
    let mut store = ready(registry, 0);
    let one = ready(registry, 1);
    drop(one);
    let item = item_of(store.as_mut(), 1, 4).unwrap();
    let before = view_of(store.as_mut(), 0, Layout::default());
    assert_eq!(write(store.as_mut(), &claim(1, &item, NOW_MS, "a")), Reply::Applied);
    assert_eq!(store.call(&Request::Fence(fence(1, NOW_MS))).result, Ok(Reply::Applied));
    assert_eq!(view_of(store.as_mut(), 0, Layout::default()), before);
    assert_eq!(view_of(store.as_mut(), 31, Layout::default()).layout, None);
}

pub fn layouts_of_one_and_of_a_thousand_workers_are_whole(registry: &dyn Registry) {
    let mut store = registry.client();
    for (datacenter_id, worker_bits) in [(0, 0), (1, 10)] {
        let layout = Layout::new(41, 1, worker_bits, 21 - worker_bits).unwrap();
        assert_eq!(initialise(store.as_mut(), datacenter_id, layout), Ok(Reply::Applied));
        let view = view_of(store.as_mut(), datacenter_id, layout);
        let numbers: Vec<_> = view.workers.iter().map(|item| item.worker_id).collect();
        assert_eq!(numbers, (0..1 << worker_bits).collect::<Vec<_>>());
        let last = claim(datacenter_id, view.workers.last().unwrap(), NOW_MS, "last");
        assert_eq!(write(store.as_mut(), &last), Reply::Applied);
    }
    // Numbered beyond the layout that is asked for: skipped.
    assert_eq!(view_of(store.as_mut(), 1, Layout::default()).workers.len(), 32);
}

/// A module of all the tests above over the registry that `$make` gives.
macro_rules! suite {
    ($name:ident, $make:expr) => {
        mod $name {
            use super::*;

            $crate::store_conformance::suite!(@each $make;
                an_untouched_datacenter_has_neither_pin_nor_items
                initialise_makes_every_item_unused_and_pins_layout_and_table
                initialise_again_changes_nothing_even_with_another_layout
                sixteen_initialise_at_once_and_one_datacenter_comes_of_it
                a_claim_holds_exactly_what_was_written_and_nothing_else_changes
                a_claim_that_does_not_match_is_refused_with_the_item_and_changes_nothing
                a_heartbeat_and_a_release_apply_under_a_running_lease_and_only_once
                of_sixteen_claims_at_once_one_wins_and_the_others_see_it
                a_deleted_item_is_never_claimed_and_never_made_anew_by_initialise
                a_deleted_layout_beside_a_used_item_is_rejected_until_the_fence
                a_fence_raises_every_floor_shuts_out_old_holders_and_makes_missing_items
                a_fence_of_one_worker_touches_only_it_and_lowers_only_when_told
                a_fence_of_an_untouched_datacenter_initialises_it_above_the_time
                datacenters_do_not_touch_each_other
                layouts_of_one_and_of_a_thousand_workers_are_whole
            );
        }
    };
    (@each $make:expr; $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                $crate::store_conformance::$test(&$make);
            }
        )*
    };
}
pub(crate) use suite;

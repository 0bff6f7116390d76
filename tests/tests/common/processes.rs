//! What processes must do on every kind of registry: race, die, stop, close, fork.
//!
//! `processes::suite!(name, make)` makes a module of tests; `make` gives a fresh registry.

// Shared by several test programs by its path, each with a crate root of its own.
#![allow(unreachable_pub)]

use std::collections::BTreeMap;

use leaseflake::Layout;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::{LeaseStore, Reply, Request};
use leaseflake_tests::member::{Child, Failure, Member, MemberBuilder, assert_no_repeat};
use leaseflake_tests::scene::one_worker;
use leaseflake_tests::shim::ShimClock;

/// A registry of a test's own, and processes that use it.
pub trait Registry {
    /// A process that uses it.
    fn member(&self) -> MemberBuilder;
    /// A client of it.
    fn store(&self) -> Box<dyn LeaseStore>;
}

fn item(registry: &dyn Registry, layout: Layout, (datacenter_id, worker_id): (u32, u32)) -> LeaseRecord {
    let request = Request::Read { datacenter_id, layout };
    match registry.store().call(&request).result {
        Ok(Reply::View(view)) => view.workers.into_iter().find(|item| item.worker_id == worker_id).expect("its item"),
        other => panic!("a read was answered with {other:?}"),
    }
}

/// Opens all of them at once; gives those that got a worker ID and the errors of the others.
pub fn open_all(members: &mut [Member]) -> (Vec<usize>, Vec<Failure>) {
    for member in members.iter_mut() {
        member.tell("open");
    }
    let (mut open, mut refused) = (Vec::new(), Vec::new());
    for (at, member) in members.iter_mut().enumerate() {
        match member.answer("open") {
            Ok(_) => open.push(at),
            Err(failure) => refused.push(failure),
        }
    }
    (open, refused)
}

pub fn of_40_processes_32_get_a_worker_id_each_and_8_are_told_that_there_is_none(registry: &dyn Registry) {
    let member = || {
        // The leases outlast the test on any machine; the losers wait long enough for the slowest.
        let builder = registry.member().option("datacenter_id", 0).option("lease_ttl_ms", 600_000);
        builder.option("acquire_timeout_ms", 30_000).start()
    };
    let mut members: Vec<Member> = (0..40).map(|_| member()).collect();
    let (open, refused) = open_all(&mut members);
    assert_eq!((open.len(), refused.len()), (32, 8), "{refused:?}");
    for failure in &refused {
        assert_eq!(failure.name, "NO_WORKER_ID", "{failure:?}");
    }
    let mut owners = BTreeMap::new();
    let mut ids = Vec::new();
    for at in open {
        let worker = members[at].number("worker_id");
        assert_eq!(owners.insert(worker, at), None, "worker ID {worker} has two owners");
        ids.extend(members[at].issue(200).unwrap());
    }
    assert_no_repeat(&ids);
}

fn short_lived(registry: &dyn Registry) -> MemberBuilder {
    let builder = registry.member().option("datacenter_id", 0).layout(one_worker()).lease(3_000);
    builder.option("acquire_timeout_ms", 60_000)
}

pub fn stopped_past_its_lease_it_repeats_nothing_and_acquires_again_by_itself(registry: &dyn Registry) {
    let mut first = short_lived(registry).start();
    first.open().unwrap();
    first.run();
    first.wait_until("IDs flow", |first| first.take().ids.len() > 10);
    let mut ids = first.take().ids;
    first.signal(libc::SIGSTOP);

    let mut heir = short_lived(registry).lease(30_000).start();
    heir.open().unwrap();
    assert_eq!(heir.number("fencing_epoch"), 2);
    let taken_over = heir.issue(1000).unwrap();
    first.signal(libc::SIGCONT);
    first.wait_until("it knows that it lost", |first| first.number("leases_lost") >= 1);
    let more = heir.issue(1000).unwrap();

    let late = first.take();
    let floor = heir.decode(taken_over[0]).timestamp_ms;
    for id in ids.iter().chain(&late.ids) {
        assert!(heir.decode(*id).timestamp_ms < floor, "issued under the lost lease past what the heir began at");
    }
    for name in late.errors.keys() {
        assert!(["LEASE_SUSPENDED", "LEASE_LOST"].contains(&name.as_str()), "{name}");
    }
    heir.ask("close").unwrap();
    first.wait_until("IDs flow again", |first| {
        let taken = first.take();
        ids.extend(&taken.ids);
        !taken.ids.is_empty()
    });
    assert_eq!(first.number("fencing_epoch"), 3);
    ids.extend(late.ids.iter().chain(&taken_over).chain(&more));
    assert_no_repeat(&ids);
}

pub fn killed_its_worker_id_is_claimed_after_its_lease_above_all_that_it_issued(registry: &dyn Registry) {
    let mut first = short_lived(registry).start();
    first.open().unwrap();
    let before = first.issue(1000).unwrap();
    first.signal(libc::SIGKILL);
    first.wait_for_end();
    let left = item(registry, one_worker(), (0, 0)).lease_expiry_ts;

    let mut heir = short_lived(registry).lease(30_000).start();
    heir.open().unwrap();
    assert_eq!(heir.number("fencing_epoch"), 2);
    let after = heir.issue(1000).unwrap();
    assert!(heir.decode(after[0]).timestamp_ms >= left, "nothing below what the dead left behind");
    assert_no_repeat(before.iter().chain(&after));
}

pub fn closed_or_terminated_its_worker_id_is_free_at_once(registry: &dyn Registry) {
    let mut ids = Vec::new();
    let mut opened = |datacenter: u32, epoch: i64| {
        // A lease of ten minutes: only a release makes the next one quick.
        let builder = registry.member().option("datacenter_id", datacenter).layout(one_worker());
        let mut member = builder.option("lease_ttl_ms", 600_000).start();
        member.open().unwrap_or_else(|failure| panic!("epoch {epoch}: {failure:?}"));
        assert_eq!(member.number("fencing_epoch"), epoch);
        ids.extend(member.issue(1000).unwrap());
        member
    };
    opened(0, 1).ask("close").unwrap();
    assert!(item(registry, one_worker(), (0, 0)).is_released(), "released by close");
    let mut member = opened(0, 2);
    member.signal(libc::SIGTERM);
    assert!(member.wait_for_end().success());
    assert!(item(registry, one_worker(), (0, 0)).is_released(), "released by SIGTERM");
    // A normal exit tries for 300 ms, which a busy machine may need for itself: one of three has to succeed in it.
    let released = (1..=3).any(|datacenter| {
        assert!(opened(datacenter, 1).end_input().success());
        item(registry, one_worker(), (datacenter, 0)).is_released()
    });
    assert!(released, "released at an exit");
    assert_no_repeat(&ids);
}

pub fn a_clock_set_back_an_hour_between_two_runs_repeats_nothing(registry: &dyn Registry) {
    let folder = tempfile::tempdir().unwrap();
    let clock = ShimClock::create(folder.path()).unwrap();
    let run = |clock: &ShimClock, acquire_timeout_ms: u64| {
        let builder = short_lived(registry).option("acquire_timeout_ms", acquire_timeout_ms);
        let mut member = builder.clock(clock).start();
        member.open().map(|()| member.issue(1000))
    };
    let first = run(&clock, 60_000).unwrap().unwrap();
    clock.set_offset_ms(-3_600_000);
    // Whether the registry's time shows that the clock is wrong, or the floor lies an hour ahead.
    match run(&clock, 10_000) {
        Err(failure) => {
            assert!(["CLOCK_UNTRUSTED", "NO_WORKER_ID"].contains(&failure.name.as_str()), "{failure:?}");
        }
        Ok(Err(failure)) => assert_eq!(failure.name, "CLOCK_BACKWARDS", "{failure:?}"),
        Ok(Ok(ids)) => assert_no_repeat(first.iter().chain(&ids)),
    }
    clock.set_offset_ms(0);
    assert_no_repeat(first.iter().chain(&run(&clock, 60_000).unwrap().unwrap()));
}

fn workers_of(member: &Member, ids: &[i64]) -> Vec<u32> {
    let mut workers: Vec<u32> = ids.iter().map(|id| member.decode(*id).worker_id).collect();
    workers.dedup();
    workers
}

fn assert_increasing(ids: &[i64]) {
    for pair in ids.windows(2) {
        assert!(pair[0] < pair[1], "{} came before {}", pair[0], pair[1]);
    }
}

pub fn forked_children_and_a_grandchild_share_the_worker_id_and_repeat_nothing(registry: &dyn Registry) {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = registry.member().option("datacenter_id", 0).lease(8_000).start();
    parent.open().unwrap();
    let worker = parent.number("worker_id") as u32;
    parent.run();
    let children: Vec<Child> = (0..4).map(|number| parent.fork(folder.path(), &format!("child-{number}"))).collect();
    for child in &children {
        child.wait_for_ids("a child issues", |ids| ids.len() > 500);
    }
    // Each child forks one of its own when it has issued a hundred.
    for child in &children {
        child.wait_for_grandchild_ids("a grandchild issues", |ids| ids.len() > 500);
    }
    let mut all = parent.take().ids;
    assert_increasing(&all);
    for child in &children {
        for ids in [child.ids(), child.grandchild_ids()] {
            assert_increasing(&ids);
            assert_eq!(workers_of(&parent, &ids), [worker], "a child goes on under its parent's worker ID");
            all.extend(ids);
        }
    }
    assert_no_repeat(&all);
    assert_eq!(parent.number("leases_lost"), 0);
}

pub fn a_child_whose_parent_is_killed_goes_on_with_a_worker_id_of_its_own(registry: &dyn Registry) {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = registry.member().option("datacenter_id", 0).lease(4_000).start();
    parent.open().unwrap();
    let worker = parent.number("worker_id") as u32;
    let before = parent.issue(100).unwrap();
    let children: Vec<Child> = (0..2).map(|number| parent.fork(folder.path(), &format!("child-{number}"))).collect();
    for child in &children {
        child.wait_for_ids("a child issues", |ids| ids.len() > 100);
    }
    parent.signal(libc::SIGKILL);
    parent.wait_for_end();
    for child in &children {
        child.wait_for_ids("it issues under another worker ID", |ids| {
            ids.last().is_some_and(|id| parent.decode(*id).worker_id != worker)
        });
    }
    let mut all = before;
    for child in &children {
        assert_increasing(&child.ids());
        all.extend(child.ids());
        all.extend(child.grandchild_ids());
    }
    assert_no_repeat(&all);
}

/// A module of all the tests above over the registry that `$make` gives.
macro_rules! suite {
    ($name:ident, $make:expr) => {
        mod $name {
            use super::*;

            $crate::processes::suite!(@each $make;
                of_40_processes_32_get_a_worker_id_each_and_8_are_told_that_there_is_none
                stopped_past_its_lease_it_repeats_nothing_and_acquires_again_by_itself
                killed_its_worker_id_is_claimed_after_its_lease_above_all_that_it_issued
                closed_or_terminated_its_worker_id_is_free_at_once
                a_clock_set_back_an_hour_between_two_runs_repeats_nothing
                forked_children_and_a_grandchild_share_the_worker_id_and_repeat_nothing
                a_child_whose_parent_is_killed_goes_on_with_a_worker_id_of_its_own
            );
        }
    };
    (@each $make:expr; $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                $crate::processes::$test(&$make);
            }
        )*
    };
}
pub(crate) use suite;

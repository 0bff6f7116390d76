//! Owners that come and go: stopped, killed, closed.

use leaseflake::Layout;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::{LeaseStore, LeaseWrite, Reply, Request};
use leaseflake_tests::member::{Member, assert_no_repeat};
use leaseflake_tests::scene::{Scene, one_worker};

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

fn heir(scene: &Scene) -> Member {
    let builder = scene.direct().layout(one_worker()).lease(3_000).option("instance_id", "heir");
    builder.option("acquire_timeout_ms", 60_000).start()
}

#[test]
fn stopped_past_its_lease_it_repeats_nothing_and_acquires_again_by_itself() {
    let scene = Scene::new(PROGRAM);
    let mut first = scene.direct().layout(one_worker()).lease(3_000).start();
    first.open().unwrap();
    first.run();
    first.wait_until("IDs flow", |first| first.take().ids.len() > 10);
    let mut ids = first.take().ids;
    first.signal(libc::SIGSTOP);

    let mut heir = heir(&scene);
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

#[test]
fn killed_its_worker_id_is_claimed_after_its_lease_above_all_that_it_issued() {
    let scene = Scene::new(PROGRAM);
    let mut first = scene.direct().layout(one_worker()).lease(3_000).start();
    first.open().unwrap();
    let before = first.issue(1000).unwrap();
    first.signal(libc::SIGKILL);
    first.wait_for_end();
    let left = scene.worker_number(0, "lease_expiry_ts");

    let mut heir = heir(&scene);
    heir.open().unwrap();
    assert_eq!(heir.number("fencing_epoch"), 2);
    let after = heir.issue(1000).unwrap();
    assert!(heir.decode(after[0]).timestamp_ms >= left, "nothing below what the dead left behind");
    assert_no_repeat(before.iter().chain(&after));
}

#[test]
fn closed_or_terminated_its_worker_id_is_free_at_once() {
    let scene = Scene::new(PROGRAM);
    let mut ids = Vec::new();
    for (epoch, end) in [(1, "close"), (2, "SIGTERM"), (3, "end of input")] {
        // A lease of ten minutes: only a release makes the next one quick.
        let mut member = scene.direct().layout(one_worker()).option("lease_ttl_ms", 600_000).start();
        member.open().unwrap_or_else(|failure| panic!("before {end}: {failure:?}"));
        assert_eq!(member.number("fencing_epoch"), epoch);
        ids.extend(member.issue(1000).unwrap());
        match end {
            "close" => drop(member.ask("close").unwrap()),
            "SIGTERM" => {
                member.signal(libc::SIGTERM);
                assert!(member.wait_for_end().success());
            }
            _ => assert!(member.end_input().success()),
        }
        assert_eq!(scene.worker(0)["renewal_id"]["S"], "", "released by {end}");
    }
    assert_no_repeat(&ids);
}

#[test]
fn of_two_copies_of_one_lease_the_first_heartbeat_wins_and_the_other_knows_it_lost() {
    // What a cloned machine is to the registry: two keepers with one state.
    let scene = Scene::new(PROGRAM);
    let mut one = scene.table.store();
    let initialise = Request::Initialise { datacenter_id: 0, layout: Layout::default() };
    assert_eq!(one.call(&initialise).result, Ok(Reply::Applied));
    let heartbeat = |renewal_id: &str| LeaseWrite {
        datacenter_id: 0,
        expected_epoch: 0,
        expected_version: 0,
        expired_before: None,
        next: LeaseRecord {
            lease_expiry_ts: 9,
            version: 1,
            renewal_id: renewal_id.to_owned(),
            ..LeaseRecord::unused(4)
        },
    };
    let mut two = scene.table.store();
    assert_eq!(one.call(&Request::Write(heartbeat("of one"))).result, Ok(Reply::Applied));
    let Ok(Reply::Refused(Some(item))) = two.call(&Request::Write(heartbeat("of two"))).result else {
        panic!("both heartbeats of one lease were applied");
    };
    assert_eq!(item.renewal_id, "of one", "by which the second knows that the write was not its own");
}

//! What processes must do on every registry, on a DynamoDB table; and what only a network can do
//! to them.

use leaseflake::Layout;
use leaseflake::lease::record::LeaseRecord;
use leaseflake::lease::store::{LeaseStore, LeaseWrite, Reply, Request};
use leaseflake_tests::member::{Child, MemberBuilder, assert_no_repeat};
use leaseflake_tests::proxy::Fault;
use leaseflake_tests::scene::Scene;

#[path = "common/processes.rs"]
mod processes;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

impl processes::Registry for Scene {
    fn member(&self) -> MemberBuilder {
        self.direct()
    }

    fn store(&self) -> Box<dyn LeaseStore> {
        Box::new(self.table.store())
    }
}

processes::suite!(dynamodb, Scene::new(PROGRAM));

#[test]
fn while_the_registry_is_away_children_of_a_living_keeper_wait_and_take_no_worker_id() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    // A heartbeat is long, so that a busy machine makes no child take its parent's keeper for dead.
    let mut parent = scene.member().lease(3_000).option("heartbeat_interval_ms", 1_500).start();
    parent.open().unwrap();
    let worker = parent.number("worker_id") as u32;
    let children: Vec<Child> = (0..3).map(|number| parent.fork(folder.path(), &format!("child-{number}"))).collect();
    for child in &children {
        child.wait_for_ids("a child issues", |ids| ids.len() > 100);
    }
    scene.proxy.set(Fault::Cut);
    parent.wait_until("it is suspended", |parent| parent.status("state") == "suspended");
    // Three windows more: long past the time at which a child leaves a parent that is gone.
    let failed = parent.number("heartbeats_failed");
    parent.wait_until("many heartbeats have failed", |parent| parent.number("heartbeats_failed") >= failed + 12);
    let counts: Vec<usize> = children.iter().map(|child| child.ids().len()).collect();
    scene.proxy.heal();
    for (child, count) in children.iter().zip(&counts) {
        child.wait_for_ids("a child issues again", |ids| ids.len() > count + 100);
    }
    assert_eq!(scene.claimed(&Layout::default()), 1, "nobody took a second worker ID");
    let all: Vec<i64> = children.iter().flat_map(|child| [child.ids(), child.grandchild_ids()].concat()).collect();
    assert!(all.iter().all(|id| parent.decode(*id).worker_id == worker));
    assert_no_repeat(&all);
}

#[test]
fn a_process_keeps_one_connection_warm_and_has_one_thread_for_its_lease() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().lease(4_000).start();
    member.open().unwrap();
    let sent = member.number("heartbeats_sent");
    member.wait_until("ten heartbeats passed", |member| member.number("heartbeats_sent") >= sent + 10);
    // Two at the start, for the two questions that are asked at once.
    // One more for each request that took too long.
    let failed = member.number("heartbeats_failed") as u64;
    assert!(scene.proxy.connections() <= 2 + failed, "{} connections", scene.proxy.connections());
    let mut names = member.thread_names();
    names.retain(|name| name.starts_with("leaseflake-") && !name.starts_with("leaseflake-test"));
    names.sort();
    assert!(names == ["leaseflake-keep"] || names == ["leaseflake-dns", "leaseflake-keep"], "{names:?}");
}

#[test]
fn a_process_ends_in_time_although_its_registry_hangs() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().option("close_timeout_ms", 500).start();
    member.open().unwrap();
    scene.proxy.set(Fault::Hold);
    let began = std::time::Instant::now();
    assert!(member.end_input().success());
    // Half a second by its option; the rest is for a machine under load.
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
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

//! A registry that somebody broke by hand, or that is another one than it was.

use leaseflake::Layout;
use leaseflake_tests::member::Failure;
use leaseflake_tests::proxy::{ErrorAnswer, Fault};
use leaseflake_tests::scene::Scene;
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

fn open(scene: &Scene) -> Result<(), Failure> {
    scene.member().start().open()
}

/// A scene whose datacenter 0 has been used once.
fn used() -> Scene {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().start();
    member.open().unwrap();
    member.ask("close").unwrap();
    scene
}

#[test]
fn a_worker_item_deleted_under_its_holder_stops_it_and_is_never_claimed_again() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().lease(20_000).start();
    member.open().unwrap();
    member.run();
    let deleted = member.number("worker_id") as u32;
    scene.table.delete("DC#00", &format!("WORKER#{deleted:02}"));
    member.wait_until("it knows that it lost", |member| member.number("leases_lost") == 1);
    member.take();
    member.wait_until("IDs flow again", |member| !member.take().ids.is_empty());
    assert_ne!(member.number("worker_id") as u32, deleted);
    assert_eq!(scene.worker(deleted), json!(null));
    let mut others: Vec<_> = (0..30)
        .map(|_| scene.direct().option("lease_ttl_ms", 600_000).option("acquire_timeout_ms", 60_000).start())
        .collect();
    for other in &mut others {
        other.tell("open");
    }
    for other in &mut others {
        other.answer("open").unwrap();
        assert_ne!(other.number("worker_id") as u32, deleted);
    }
    let failure = scene.member().option("acquire_timeout_ms", 10_000).start().open().unwrap_err();
    assert_eq!(failure.name, "NO_WORKER_ID", "31 of 32 are left, and all are taken: {failure:?}");
}

#[test]
fn a_deleted_layout_is_rejected_with_the_command_that_mends_it() {
    let scene = used();
    scene.table.delete("DC#00", "LAYOUT");
    let failure = open(&scene).unwrap_err();
    assert_eq!(failure.name, "STORE_REJECTED");
    assert!(failure.message.contains("registry fence"), "{failure:?}");
    assert_eq!(scene.table.item("DC#00", "LAYOUT"), json!(null), "and not made anew");
}

#[test]
fn another_layout_or_epoch_or_region_is_a_mismatch_and_another_table_is_rejected() {
    let scene = used();
    let other = Layout::new(41, 5, 6, 11).unwrap();
    let failure = scene.member().layout(other).start().open().unwrap_err();
    assert_eq!(failure.name, "LAYOUT_MISMATCH", "{failure:?}");
    assert!(failure.message.contains("41-5-5-12") && failure.message.contains("41-5-6-11"), "{failure:?}");
    let failure = scene.member().option("epoch_ms", 1_700_000_000_000_i64).start().open().unwrap_err();
    assert_eq!(failure.name, "LAYOUT_MISMATCH", "{failure:?}");

    let pinned = scene.table.item("DC#00", "LAYOUT");
    for (attribute, value, name) in [
        ("region", "eu-west-1", "LAYOUT_MISMATCH"),
        ("table_id", "3f1c0000-0000-0000-0000-000000000000", "STORE_REJECTED"),
    ] {
        scene.table.set("DC#00", "LAYOUT", attribute, json!({"S": value}));
        let failure = open(&scene).unwrap_err();
        assert_eq!(failure.name, name, "{failure:?}");
        assert!(failure.message.contains(value), "{failure:?}");
        scene.table.set("DC#00", "LAYOUT", attribute, pinned[attribute].clone());
    }
    open(&scene).unwrap();
}

#[test]
fn strings_for_numbers_and_foreign_items_keep_nobody_from_a_worker_id() {
    let scene = used();
    for worker_id in 0..31 {
        let attribute = ["version", "fencing_epoch", "lease_expiry_ts"][worker_id % 3];
        scene.table.set("DC#00", &format!("WORKER#{worker_id:02}"), attribute, json!({"S": "7"}));
    }
    scene.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": "\u{1b}[31mWORKER"}, "x": {"L": [{"N": "1"}]}}));
    scene.table.put(json!({"PK": {"S": "DC#00"}, "SK": {"S": "WORKER#31X"}}));
    let mut member = scene.member().start();
    member.open().unwrap();
    assert_eq!(member.number("worker_id"), 31, "the only sound one");
    member.issue(10).unwrap();
}

#[test]
fn an_item_broken_under_its_holder_stops_it() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().lease(4_000).start();
    member.open().unwrap();
    let broken = member.number("worker_id") as u32;
    scene.table.set("DC#00", &format!("WORKER#{broken:02}"), "version", json!({"S": "x"}));
    member.wait_until("it lost and has another", |member| {
        member.number("leases_lost") == 1 && member.status("state") == "active"
    });
    assert_ne!(member.number("worker_id") as u32, broken);
}

#[test]
fn what_no_retry_mends_is_said_at_once_with_the_way_out() {
    let scene = Scene::new(PROGRAM);
    let expired = "Signature expired: 20261129T120000Z is now earlier than 20261129T125500Z";
    for (operation, code, text, name, hint) in [
        ("Query", "AccessDeniedException", "no", "STORE_REJECTED", "dynamodb:Query"),
        ("TransactWriteItems", "AccessDeniedException", "no", "STORE_REJECTED", "dynamodb:PutItem"),
        ("Query", "ResourceNotFoundException", "no", "STORE_REJECTED", "leaseflake registry create"),
        ("Query", "UnrecognizedClientException", "bad token", "STORE_REJECTED", "get-caller-identity"),
        ("Query", "InvalidSignatureException", expired, "CLOCK_UNTRUSTED", "clock"),
    ] {
        scene.proxy.set(Fault::Pass);
        scene.proxy.set_for(operation, Fault::Error(ErrorAnswer::new(400, code, text)));
        let failure = scene.member().option("acquire_timeout_ms", 10_000).start().open().unwrap_err();
        assert_eq!(failure.name, name, "{failure:?}");
        assert!(failure.message.contains(hint), "{failure:?}");
    }
}

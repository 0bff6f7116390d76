//! The registry away, slow or overloaded, and answers that are lost.

use std::time::{Duration, Instant};

use leaseflake_tests::member::assert_no_repeat;
use leaseflake_tests::proxy::{ErrorAnswer, Fault};
use leaseflake_tests::scene::{Scene, one_worker};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");

#[test]
fn an_outage_shorter_than_the_window_fails_no_call() {
    let scene = Scene::new(PROGRAM);
    // A window of 57 s; several heartbeats fail within seconds.
    let builder = scene.member().option("lease_ttl_ms", 60_000).option("heartbeat_interval_ms", 500);
    let mut member = builder.option("safety_margin_ms", 3_000).start();
    member.open().unwrap();
    member.run();
    for fault in [Fault::Cut, Fault::Error(ErrorAnswer::internal()), Fault::Error(ErrorAnswer::throttled())] {
        let failed = member.number("heartbeats_failed");
        scene.proxy.set(fault.clone());
        member.wait_until("three heartbeats have failed", |member| member.number("heartbeats_failed") >= failed + 3);
        let expiry = member.number("lease_expiry_ts");
        scene.proxy.heal();
        member.wait_until("a heartbeat got through", |member| member.number("lease_expiry_ts") > expiry);
        let taken = member.take();
        assert_eq!(taken.errors, [].into(), "{fault:?}");
        assert!(!taken.ids.is_empty());
    }
    assert_eq!(member.number("fencing_epoch"), 1);
    assert_eq!(member.number("leases_lost"), 0);
}

#[test]
fn an_outage_longer_than_the_window_suspends_at_the_ceiling_and_ends_with_the_first_heartbeat() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().lease(4_000).start();
    member.open().unwrap();
    member.run();
    let worker = member.status("worker_id");
    member.wait_until("IDs flow", |member| !member.take().ids.is_empty());

    scene.proxy.set(Fault::Cut);
    member.wait_until("it is suspended", |member| member.status("state") == "suspended");
    let ceiling = member.number("ceiling_ms");
    // What was issued before, and the refusals since: both are in here.
    member.wait_until("calls are refused", |member| !member.take().errors.is_empty());
    member.wait_until("calls are refused again", |member| {
        let refused = member.take();
        assert_eq!(refused.ids, Vec::<i64>::new(), "not one ID at or past the ceiling");
        assert!(refused.errors.keys().all(|name| name == "LEASE_SUSPENDED"), "{:?}", refused.errors);
        !refused.errors.is_empty()
    });

    scene.proxy.heal();
    scene.proxy.forget();
    member.wait_until("IDs flow again", |member| !member.take().ids.is_empty());
    let heartbeats = scene.proxy.count("UpdateItem");
    assert!(heartbeats >= 1, "{:?}", scene.proxy.counts());
    assert_eq!(scene.proxy.count("Query"), 0, "it goes on with its lease and asks for no other");
    assert_eq!((member.status("worker_id"), member.number("fencing_epoch")), (worker, 1));
    let after = member.issue(1).unwrap();
    assert!(member.decode(after[0]).timestamp_ms >= ceiling, "time went on");
}

#[test]
fn nothing_is_issued_at_or_past_the_ceiling_that_was_confirmed() {
    let scene = Scene::new(PROGRAM);
    let mut member = scene.member().lease(4_000).start();
    member.open().unwrap();
    member.run();
    scene.proxy.set(Fault::Hold);
    scene.proxy.wait_held(1);
    let ceiling = member.number("ceiling_ms");
    member.wait_until("it is suspended", |member| member.status("state") == "suspended");
    assert_eq!(member.number("ceiling_ms"), ceiling, "what is only sent confirms nothing");
    let taken = member.take();
    let newest = taken.ids.iter().map(|id| member.decode(*id).timestamp_ms).max().unwrap();
    assert!(newest < ceiling, "{newest} {ceiling}");
    // The margin of 500 ms is what remains of the lease then.
    assert_eq!(scene.worker_number(member.number("worker_id") as u32, "lease_expiry_ts"), ceiling + 500);
}

#[test]
fn a_heartbeat_whose_answer_is_lost_keeps_the_lease() {
    let scene = Scene::new(PROGRAM);
    let builder = scene.member().option("lease_ttl_ms", 60_000).option("heartbeat_interval_ms", 500);
    let mut member = builder.option("safety_margin_ms", 3_000).start();
    member.open().unwrap();
    member.run();
    for round in 1..=3 {
        let failed = member.number("heartbeats_failed");
        let expiry = member.number("lease_expiry_ts");
        scene.proxy.next(round, "UpdateItem", "", Fault::DropAnswer);
        member.wait_until("the heartbeat was lost", |member| member.number("heartbeats_failed") > failed);
        member.wait_until("the lease is longer", |member| member.number("lease_expiry_ts") > expiry);
    }
    assert_eq!(member.number("leases_lost"), 0);
    assert_eq!(member.number("fencing_epoch"), 1);
    assert_eq!(member.take().errors, [].into());
}

#[test]
fn a_claim_whose_answer_is_lost_is_recognised_and_takes_no_second_worker_id() {
    let scene = Scene::new(PROGRAM);
    for (fault, claimed) in [
        (Fault::DropAnswer, 1),
        (Fault::ErrorAfter(ErrorAnswer::internal()), 2),
        (Fault::ErrorAfter(ErrorAnswer::throttled()), 3),
    ] {
        // Only a claim looks at the time.
        scene.proxy.next(1, "UpdateItem", ":now_ms", fault.clone());
        let mut member = scene.member().start();
        member.open().unwrap();
        assert_eq!(scene.claimed(&leaseflake::Layout::default()), claimed, "{fault:?}");
        let worker = member.number("worker_id") as u32;
        assert_eq!(scene.worker_number(worker, "fencing_epoch"), member.number("fencing_epoch"));
        member.issue(10).unwrap();
        // Held until its end, so that the next round counts one more.
        member.signal(libc::SIGKILL);
        member.wait_for_end();
    }
}

#[test]
fn a_heartbeat_delayed_past_a_takeover_changes_nothing() {
    let scene = Scene::new(PROGRAM);
    let mut slow = scene.member().layout(one_worker()).lease(3_000).option("instance_id", "slow").start();
    slow.open().unwrap();
    slow.run();
    slow.wait_until("IDs flow", |slow| !slow.take().ids.is_empty());
    scene.proxy.set_for("UpdateItem", Fault::Hold);
    scene.proxy.wait_held(1);

    let mut next = scene.direct().layout(one_worker()).lease(30_000).option("instance_id", "next");
    next = next.option("acquire_timeout_ms", 60_000);
    let mut next = next.start();
    next.open().unwrap();
    assert_eq!(next.number("fencing_epoch"), 2);
    let expiry = next.number("lease_expiry_ts");

    scene.proxy.heal();
    scene.proxy.release();
    slow.wait_until("it knows that it lost", |slow| slow.number("leases_lost") == 1);
    let item = scene.worker(0);
    assert_eq!(item["instance_id"], json!({"S": "next"}));
    assert_eq!(item["fencing_epoch"], json!({"N": "2"}));
    assert!(scene.worker_number(0, "lease_expiry_ts") >= expiry);
    next.issue(100).unwrap();
    assert_eq!(next.number("leases_lost"), 0);
}

#[test]
fn in_a_storm_of_errors_a_process_asks_a_few_times_a_second_and_recovers() {
    for storm in [ErrorAnswer::throttled(), ErrorAnswer::internal(), ErrorAnswer::new(503, "ServiceUnavailable", "")] {
        let scene = Scene::new(PROGRAM);
        let mut holder = scene.member().option("lease_ttl_ms", 60_000).start();
        holder.open().unwrap();
        holder.run();
        let mut seeker = scene.member().option("acquire_timeout_ms", 60_000).start();
        scene.proxy.set(Fault::Error(storm.clone()));
        scene.proxy.forget();
        let began = Instant::now();
        seeker.tell("open");
        // Heartbeats come every 10 s: some back off meanwhile.
        holder.wait_until("a heartbeat failed", |holder| holder.number("heartbeats_failed") >= 2);
        while began.elapsed() < Duration::from_secs(6) {
            holder.issue(1).unwrap();
        }
        let seconds = began.elapsed().as_secs_f64();
        let asked = scene.proxy.total() as f64;
        println!("{}: {asked} requests of two processes in {seconds:.1} s: {:?}", storm.code, scene.proxy.counts());
        assert!(asked <= 2.0 * (10.0 + 3.0 * seconds), "{asked} requests in {seconds} s");
        scene.proxy.heal();
        seeker.answer("open").unwrap();
        assert_eq!(holder.take().errors, [].into(), "the holder rode it out");
        assert_no_repeat(&[holder.issue(100).unwrap(), seeker.issue(100).unwrap()].concat());
    }
}

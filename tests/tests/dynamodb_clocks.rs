//! Wall clocks that are wrong, and a `Date` that is.

use std::time::{SystemTime, UNIX_EPOCH};

use leaseflake_tests::member::Member;
use leaseflake_tests::proxy::DateFault;
use leaseflake_tests::scene::Scene;
use leaseflake_tests::shim::ShimClock;

const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseflake-test-member");
const HOUR_MS: i64 = 3_600_000;

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A process whose clock is ahead by this much; negative is behind.
fn off_by(scene: &Scene, clock: &ShimClock, offset_ms: i64) -> Member {
    clock.set_offset_ms(offset_ms);
    scene.member().clock(clock).option("acquire_timeout_ms", 10_000).start()
}

#[test]
fn a_process_whose_clock_is_far_off_claims_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    // Each by a clock of its own, so that all of them try at the same time.
    let mut tries = [HOUR_MS, -HOUR_MS, 10_000, -10_000].map(|offset_ms| {
        let clock = ShimClock::create(folder.path()).unwrap();
        let mut member = off_by(&scene, &clock, offset_ms);
        member.tell("open");
        (offset_ms, member, clock)
    });
    for (offset_ms, member, _) in &mut tries {
        let offset_ms = *offset_ms;
        let failure = member.answer("open").unwrap_err();
        assert_eq!(failure.name, "CLOCK_UNTRUSTED", "{offset_ms}: {failure:?}");
        let side = if offset_ms > 0 { "ahead" } else { "behind" };
        assert!(failure.message.contains(side), "{offset_ms}: {failure:?}");
    }
    assert_eq!(scene.claimed(&leaseflake::Layout::default()), 0);
}

#[test]
fn a_clock_that_is_a_little_off_is_never_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    let clock = ShimClock::create(folder.path()).unwrap();
    for offset_ms in [400, -400, 0, 400, -400] {
        let mut member = off_by(&scene, &clock, offset_ms);
        member.open().unwrap_or_else(|failure| panic!("{offset_ms}: {failure:?}"));
        member.issue(10).unwrap();
        assert_eq!(member.status("clock_suspect"), "", "{offset_ms}");
        member.ask("close").unwrap();
    }
}

#[test]
fn a_clock_set_right_is_trusted_again_by_the_same_process() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    let clock = ShimClock::create(folder.path()).unwrap();
    let mut member = off_by(&scene, &clock, HOUR_MS);
    assert_eq!(member.open().unwrap_err().name, "CLOCK_UNTRUSTED");
    clock.set_offset_ms(0);
    let mut last = Ok(());
    member.wait_until("it opens", |member| {
        last = member.open();
        last.is_ok()
    });
    last.unwrap();
    member.issue(10).unwrap();
}

#[test]
fn a_clock_that_jumps_ahead_while_running_pushes_ids_by_30_s_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    let clock = ShimClock::create(folder.path()).unwrap();
    // A long lease, so that it is the clock's cap that stops it.
    let builder = scene.member().clock(&clock).option("lease_ttl_ms", 24 * HOUR_MS);
    let mut member = builder.option("heartbeat_interval_ms", 500).option("safety_margin_ms", 500).start();
    member.open().unwrap();
    member.run();
    member.wait_until("IDs flow", |member| !member.take().ids.is_empty());
    clock.step_ms(HOUR_MS);
    let mut newest = 0;
    member.wait_until("calls are refused", |member| {
        let taken = member.take();
        newest = taken.ids.iter().map(|id| member.decode(*id).timestamp_ms).max().unwrap_or(0).max(newest);
        for name in taken.errors.keys() {
            assert_eq!(name, "CLOCK_UNTRUSTED");
        }
        !taken.errors.is_empty()
    });
    // 30 s beyond the last trusted look, which was not later than now.
    assert!(newest < now_ms() + 30_000, "an ID is {} ms ahead of the true time", newest - now_ms());
    member.wait_until("the status tells", |member| !member.status("clock_suspect").is_empty());
    assert_eq!(member.number("leases_lost"), 0, "a holder goes on");
    let expiry = member.number("lease_expiry_ts");
    assert!(expiry < now_ms() + 24 * HOUR_MS + 60_000, "renewed by the registry's time, not by a wrong clock");

    clock.set_offset_ms(0);
    member.wait_until("IDs flow again", |member| !member.take().ids.is_empty());
    assert_eq!((member.number("fencing_epoch"), member.number("leases_lost")), (1, 0));
}

#[test]
fn a_clock_that_steps_back_refuses_until_it_has_caught_up_and_lowers_no_lease() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(PROGRAM);
    let clock = ShimClock::create(folder.path()).unwrap();
    let mut member = scene.member().clock(&clock).lease(8_000).start();
    member.open().unwrap();
    member.run();
    member.wait_until("IDs flow", |member| !member.take().ids.is_empty());
    let worker = member.number("worker_id") as u32;
    let before = scene.worker_number(worker, "lease_expiry_ts");
    clock.step_ms(-HOUR_MS);
    member.wait_until("calls are refused", |member| member.take().errors.contains_key("CLOCK_BACKWARDS"));
    let sent = member.number("heartbeats_sent");
    member.wait_until("two heartbeats passed", |member| member.number("heartbeats_sent") >= sent + 2);
    assert!(scene.worker_number(worker, "lease_expiry_ts") >= before, "an expiry never decreases");
    clock.set_offset_ms(0);
    member.wait_until("IDs flow again", |member| !member.take().ids.is_empty());
    assert_eq!((member.number("fencing_epoch"), member.number("leases_lost")), (1, 0));
}

#[test]
fn a_date_an_hour_off_stops_a_claim_but_no_holder() {
    let scene = Scene::new(PROGRAM);
    let mut holder = scene.member().lease(4_000).start();
    holder.open().unwrap();
    holder.run();
    for shift_ms in [HOUR_MS, -HOUR_MS] {
        scene.proxy.set_date(DateFault::Shift(shift_ms));
        let failure = scene.member().option("acquire_timeout_ms", 10_000).start().open().unwrap_err();
        assert_eq!(failure.name, "CLOCK_UNTRUSTED", "{shift_ms}: {failure:?}");
        holder.wait_until("the status tells", |holder| !holder.status("clock_suspect").is_empty());
        scene.proxy.set_date(DateFault::Pass);
        holder.wait_until("it is over", |holder| holder.status("clock_suspect").is_empty());
    }
    assert_eq!(holder.number("leases_lost"), 0);
    assert_eq!(holder.number("fencing_epoch"), 1);
}

#[test]
fn a_date_from_a_cache_or_none_at_all_refuses_nobody() {
    let scene = Scene::new(PROGRAM);
    for date in [DateFault::Shift(-1_000), DateFault::Remove, DateFault::Fixed("nonsense".to_owned())] {
        scene.proxy.set_date(date.clone());
        let mut member = scene.member().lease(4_000).start();
        member.open().unwrap_or_else(|failure| panic!("{date:?}: {failure:?}"));
        let sent = member.number("heartbeats_sent");
        member.wait_until("two heartbeats passed", |member| member.number("heartbeats_sent") >= sent + 2);
        member.issue(10).unwrap();
        assert_eq!(member.status("clock_suspect"), "", "{date:?}");
    }
}

//! `leaseflake registry`: what it shows is what processes do, and what it changes they heed.

mod common;

use common::{ONE_WORKER, Place, Running, bare, run};
use serde_json::Value;

/// `registry show` as JSON, with these arguments besides.
fn show(place: &Place, arguments: &[&str]) -> Value {
    let out = place.run(&[&["registry", "show", "--format", "json"][..], arguments].concat()).good();
    serde_json::from_str(&out).unwrap()
}

fn worker(shown: &Value, datacenter: usize, worker: usize) -> &Value {
    &shown["datacenters"][datacenter]["workers"][worker]
}

/// A registry file that is not the one that its processes knew: a copy in its place.
fn exchange(place: &Place) {
    let (file, copy) = (place.path("registry.db"), place.path("copy.db"));
    std::fs::copy(&file, &copy).unwrap();
    std::fs::rename(&copy, &file).unwrap();
}

#[test]
fn a_registry_that_nobody_has_used_is_shown_as_such_and_not_made() {
    let place = Place::new();
    let out = place.run(&["registry", "show"]).good();
    assert!(out.contains("nothing is initialised yet"), "{out}");
    assert!(!place.path("registry.db").exists());
    assert_eq!(show(&place, &[])["datacenters"], Value::Array(Vec::new()));
}

#[test]
fn init_pins_the_layout_once_and_refuses_another_one() {
    let place = Place::new();
    let out = place.run(&["registry", "init"]).good();
    assert_eq!(out, "datacenter 0 initialised: 32 worker IDs, layout 41-5-5-12\n");
    let out = place.run(&["registry", "init", "--datacenter-id", "0,3"]).good();
    assert!(out.contains("datacenter 0 was initialised already") && out.contains("datacenter 3 initialised"), "{out}");
    place
        .run(&["registry", "init", "--layout", "42-5-5-11"])
        .refused(12, &["LAYOUT_MISMATCH", "41-5-5-12", "42-5-5-11"]);
    let shown = show(&place, &[]);
    assert_eq!(shown["datacenters"][0]["free"], 32);
    assert_eq!(shown["datacenters"][1]["datacenter_id"], 3);
    assert_eq!(shown["not_initialised"].as_array().unwrap().len(), 30);
}

#[test]
fn show_reads_a_registry_by_the_layout_that_is_pinned_there() {
    let place = Place::new();
    place.run(&["registry", "init", "--layout", "43-3-7-10", "--epoch-ms", "1500000000000"]).good();
    let shown = show(&place, &[]);
    assert_eq!(shown["datacenters"][0]["layout"], "43-3-7-10");
    assert_eq!(shown["datacenters"][0]["workers"].as_array().unwrap().len(), 128);
    assert_eq!(shown["datacenters"][0]["problem"], Value::Null);
    let shown = show(&place, &["--layout", "41-5-5-12"]);
    assert!(shown["datacenters"][0]["problem"].as_str().unwrap().starts_with("LAYOUT_MISMATCH"), "{shown}");
}

#[cfg(unix)]
#[test]
fn show_tells_a_holder_from_one_who_gave_back_and_one_who_was_killed() {
    let place = Place::new();
    let lease = ["--lease-ttl-ms", "3600000", "--instance-id", "somebody", "--ip-address", "10.1.2.3"];
    let arguments = [&["generate", "--count", "unlimited"][..], &ONE_WORKER, &lease].concat();
    let mut running = Running::start(place.command(&arguments));
    running.line().unwrap();
    let shown = show(&place, &["--datacenter-id", "0"]);
    let held = worker(&shown, 0, 0);
    assert_eq!((&held["state"], &held["instance_id"]), (&"leased".into(), &"somebody".into()), "{shown}");
    assert_eq!(held["ip_address"], "10.1.2.3");
    assert_eq!((&shown["datacenters"][0]["free"], &shown["datacenters"][0]["leased"]), (&0.into(), &1.into()));
    let left = held["lease_expiry_ts"].as_i64().unwrap() - shown["now_ms"].as_i64().unwrap();
    assert!((1_800_000..=3_600_000).contains(&left), "{shown}");
    let text = place.run(&["registry", "show"]).good();
    assert!(text.contains("0 of 1 worker IDs free, 1 leased") && text.contains("in 59 min"), "{text}");
    assert!(text.contains("somebody 10.1.2.3"), "{text}");

    // Killed: it stays taken until the lease ends.
    running.signal(libc::SIGKILL);
    running.rest();
    assert_eq!(worker(&show(&place, &[]), 0, 0)["state"], "leased");
    // The operator knows that it is dead, and frees the worker ID.
    let out = place.run(&["registry", "fence", "--at", "now", "--worker", "0/0", "--lower"]).good();
    assert!(out.starts_with("datacenter 0: worker 0 fenced"), "{out}");

    // Its successor gives it back: free at once.
    let mut running = Running::start(place.command(&arguments));
    running.line().unwrap();
    running.signal(libc::SIGTERM);
    running.rest();
    let shown = show(&place, &[]);
    assert_eq!(worker(&shown, 0, 0)["state"], "released");
    assert_eq!(worker(&shown, 0, 0)["fencing_epoch"], 3, "two owners and a fence");
    assert_eq!(shown["datacenters"][0]["free"], 1);
}

#[test]
fn a_copied_registry_is_refused_until_it_is_fenced() {
    let place = Place::new();
    let newest: i64 = place.run(&["generate", "--datacenter-id", "2"]).good().trim().parse().unwrap();
    exchange(&place);
    place.run(&["generate", "--datacenter-id", "2"]).refused(11, &["STORE_REJECTED", "registry fence"]);
    place.run(&["registry", "fence", "--at", "now"]).refused(11, &["--datacenter-id", "--layout"]);
    place.run(&["registry", "fence", "--at", "now", "--datacenter-id", "2"]).refused(11, &["--layout", "41-5-5-12"]);
    let at_ms = show_now_ms();
    let fence = ["registry", "fence", "--at", &at_ms.to_string(), "--datacenter-id", "2", "--layout", "41-5-5-12"];
    let out = place.run(&fence).good();
    assert!(out.starts_with("datacenter 2: 32 worker IDs fenced"), "{out}");
    let next: i64 = place.run(&["generate", "--datacenter-id", "2"]).good().trim().parse().unwrap();
    assert!(next > newest);
    // From now on it can be read, and needs no names.
    let out = place.run(&["registry", "fence", "--at", "now"]).good();
    assert!(out.starts_with("datacenter 2: 32 worker IDs fenced"), "{out}");
    for item in show(&place, &[])["datacenters"][0]["workers"].as_array().unwrap() {
        assert!(item["lease_expiry_ts"].as_i64().unwrap() >= at_ms, "{item}");
        assert!(item["fencing_epoch"].as_u64().unwrap() >= 2, "{item}");
    }
}

/// What the machine's clock says, in ms.
fn show_now_ms() -> i64 {
    show(&Place::new(), &[])["now_ms"].as_i64().unwrap()
}

#[test]
fn a_fence_in_the_future_keeps_worker_ids_back_until_then() {
    let place = Place::new();
    place.run(&["registry", "init"]).good();
    let in_an_hour = (show_now_ms() + 3_600_000).to_string();
    place.run(&["registry", "fence", "--at", &in_an_hour]).good();
    assert_eq!(show(&place, &[])["datacenters"][0]["free"], 0);
    place.run(&["generate", "--datacenter-id", "0", "--acquire-timeout-ms", "3000"]).refused(13, &["NO_WORKER_ID"]);
    // It raises and does not lower, but when told to.
    place.run(&["registry", "fence", "--at", "now"]).good();
    assert_eq!(show(&place, &[])["datacenters"][0]["free"], 0);
    place.run(&["registry", "fence", "--at", "now", "--lower"]).good();
    place.run(&["generate", "--datacenter-id", "0"]).good();
}

#[test]
fn a_fence_that_makes_no_sense_is_refused_and_changes_nothing() {
    let place = Place::new();
    place.run(&["registry", "init"]).good();
    let before = show(&place, &[])["datacenters"].clone();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&[], 1, &["--at"]),
        (&["--at", "yesterday"], 1, &["at", "yesterday", "RFC 3339"]),
        (&["--at", "-1"], 1, &["at", "-1"]),
        // Seconds for milliseconds: no floor at all.
        (&["--at", "1795000000"], 1, &["at", "1795000000", "2026-01-01T00:00:00Z"]),
        (&["--at", "2095-01-01T00:00:00Z"], 1, &["at", "a day from now"]),
        (&["--at", "now", "--worker", "4"], 1, &["worker", "\"4\"", "1/4"]),
        (&["--at", "now", "--worker", "0/32"], 1, &["worker", "32", "0 to 31"]),
        (&["--at", "now", "--worker", "1/2", "--datacenter-id", "0"], 1, &["datacenter_id"]),
        (&["--at", "now", "--layout", "42-5-5-11"], 12, &["LAYOUT_MISMATCH", "41-5-5-12"]),
    ];
    for (arguments, code, parts) in cases {
        place.run(&[&["registry", "fence"][..], arguments].concat()).refused(*code, parts);
    }
    assert_eq!(show(&place, &[])["datacenters"], before);
    Place::new().run(&["registry", "fence", "--at", "now"]).refused(11, &["nothing is initialised"]);
}

#[test]
fn a_registry_that_cannot_be_read_is_an_error_with_its_code() {
    let place = Place::new();
    std::fs::write(place.path("registry.db"), "this is no database, whatever its name says".repeat(100)).unwrap();
    place.run(&["registry", "show"]).refused(11, &["STORE_REJECTED", "registry.db"]);
    place.run(&["registry", "init"]).refused(11, &["STORE_REJECTED"]);
}

#[test]
fn a_table_is_made_for_dynamodb_alone() {
    let place = Place::new();
    place.run(&["registry", "create"]).refused(1, &["INVALID_ARGUMENT", "store", "dynamodb://TABLE", "registry init"]);
    run(bare(&["registry"]), "").refused(1, &["show", "init", "create", "fence"]);
}

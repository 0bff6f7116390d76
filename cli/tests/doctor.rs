//! `leaseflake doctor`: what is wrong is found, said and reflected in the exit code.

mod common;

use common::{Ended, ONE_WORKER, Place, Running};
use serde_json::Value;

fn doctor(place: &Place, arguments: &[&str]) -> (Ended, Value) {
    let ended = place.run(&[&["doctor", "--format", "json"][..], arguments].concat());
    let report = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    (ended, report)
}

fn finding<'a>(report: &'a Value, check: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check} in {report}"))
}

#[test]
fn a_registry_in_order_is_well_before_and_after_its_first_use() {
    let place = Place::new();
    for round in 0..2 {
        let (ended, report) = doctor(&place, &["--datacenter-id", "0"]);
        assert_eq!(ended.code(), Some(0), "{ended:?}");
        assert_eq!(report["wrong"], false);
        // What this machine's clock is like is not ours to choose.
        assert_ne!(finding(&report, "clock")["verdict"], "wrong");
        assert_eq!(finding(&report, "timestamps")["verdict"], "ok");
        let days = finding(&report, "timestamps")["figures"]["days_left"].as_i64().unwrap();
        assert!((1..=25_451).contains(&days), "{days}");
        assert_eq!(finding(&report, "registry")["verdict"], "ok");
        assert!(finding(&report, "registry")["figures"]["round_trip_ms"].as_f64().unwrap() > 0.0);
        assert_eq!(finding(&report, "layout")["verdict"], "ok");
        assert_eq!(finding(&report, "worker IDs")["figures"]["free"], 32, "round {round}");
        assert_eq!(place.path("registry.db").exists(), round > 0, "it makes nothing itself");
        place.run(&["generate", "--datacenter-id", "0"]).good();
    }
    let text = place.run(&["doctor"]).good();
    assert!(text.contains("ok       registry     sqlite:"), "{text}");
}

#[test]
fn another_layout_than_the_pinned_one_is_wrong() {
    let place = Place::new();
    place.run(&["registry", "init"]).good();
    let (ended, report) = doctor(&place, &["--layout", "42-5-5-11"]);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    let layout = finding(&report, "layout");
    assert_eq!((&layout["verdict"], &layout["figures"]["error"]), (&"wrong".into(), &"LAYOUT_MISMATCH".into()));
    assert!(layout["advice"].as_str().unwrap().contains("41-5-5-12"), "{layout}");
}

#[test]
fn no_free_worker_id_is_wrong() {
    let place = Place::new();
    let arguments = [&["generate", "--count", "unlimited", "--lease-ttl-ms", "3600000"][..], &ONE_WORKER].concat();
    let mut running = Running::start(place.command(&arguments));
    running.line().unwrap();
    let (ended, report) = doctor(&place, &ONE_WORKER);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    let workers = finding(&report, "worker IDs");
    assert_eq!((&workers["verdict"], &workers["figures"]["free"]), (&"wrong".into(), &0.into()), "{workers}");
    assert!(workers["advice"].as_str().unwrap().contains("NO_WORKER_ID"), "{workers}");
}

#[test]
fn a_registry_that_is_broken_is_wrong_and_the_clock_is_still_looked_at() {
    let place = Place::new();
    std::fs::write(place.path("registry.db"), "no database".repeat(1000)).unwrap();
    let (ended, report) = doctor(&place, &[]);
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    assert_eq!(finding(&report, "registry")["figures"]["error"], "STORE_REJECTED");
    assert!(finding(&report, "clock")["found"].is_string());
    let text = place.run(&["doctor"]);
    text.refused(1, &[]);
    assert!(text.out.contains("wrong    registry") && text.out.contains("registry.db"), "{text:?}");
}

#[test]
fn bad_options_are_no_finding_but_an_error() {
    Place::new().run(&["doctor", "--datacenter-id", "32"]).refused(1, &["INVALID_ARGUMENT", "datacenter_id"]);
}

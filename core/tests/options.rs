//! Bad options: refused with the option, the value and what is allowed; nothing is opened.

use leaseflake::{ErrorCode, IdGenerator, OPTION_NAMES, Options};

/// The message of the refusal, whether `set` refuses it or `open` does.
fn refusal(options: &[(&str, &str)]) -> String {
    let mut given = Options::new();
    for (name, text) in [("store", "memory:refused")].iter().chain(options) {
        if let Err(error) = given.set(name, text) {
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{options:?}");
            return error.message().to_owned();
        }
    }
    let error = IdGenerator::open(given).map(drop).expect_err(&format!("no generator with {options:?}"));
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{options:?}: {error}");
    error.message().to_owned()
}

#[test]
fn a_bad_value_is_refused_by_name_and_value_and_what_is_allowed() {
    for (name, text, allowed) in [
        ("store", "postgres://ids", "dynamodb"),
        ("datacenter_id", "32", "31"),
        ("datacenter_id", "-1", "auto"),
        ("datacenter_id", "3-1", "auto"),
        ("slot", "-1", "0..="),
        ("slot", "one", "0..="),
        ("lease_ttl_ms", "30s", "integer"),
        ("max_wait_ms", "10.5", "integer"),
        ("max_wait_ms", "+10", "integer"),
        ("sequence_jitter", "99999999999999999999", "integer"),
        ("layout", "41-5-5", "four widths"),
        ("layout", "41-5-5-13", "63"),
        ("epoch_ms", "4102444800000", "future"),
        ("epoch_ms", "+5", "integer"),
        ("epoch_ms", "-", "integer"),
        ("epoch_ms", "2026-01-01", "integer"),
    ] {
        let message = refusal(&[(name, text)]);
        assert!(message.contains(name), "{name}={text}: {message}");
        assert!(message.contains(text), "{name}={text}: {message}");
        assert!(message.contains(allowed), "{name}={text}, {allowed} is not in: {message}");
    }
}

#[test]
fn a_lease_too_short_for_its_heartbeat_and_margin_is_refused_with_the_three_numbers() {
    let message = refusal(&[("lease_ttl_ms", "9000"), ("heartbeat_interval_ms", "5000"), ("safety_margin_ms", "4000")]);
    for number in ["9000", "5000", "4000"] {
        assert!(message.contains(number), "{message}");
    }
}

#[test]
fn an_unknown_option_is_refused_with_the_names_there_are() {
    let message = refusal(&[("datacentre_id", "1")]);
    assert!(message.contains("datacentre_id"), "{message}");
    for name in OPTION_NAMES {
        assert!(message.contains(name), "{name} is not in: {message}");
    }
}

#[test]
fn a_query_key_that_a_store_does_not_know_is_refused_by_name() {
    if cfg!(feature = "dynamodb") {
        let message = refusal(&[("store", "dynamodb://ids?regoin=us-east-1")]);
        assert!(message.contains("regoin") && message.contains("region"), "{message}");
    }
}

#[test]
fn a_second_open_may_write_a_shared_option_otherwise_but_not_differ_in_it() {
    let open = |heartbeat: &str| {
        let mut options = Options::new().store("memory:shared");
        options.set("heartbeat_interval_ms", heartbeat).expect("an option");
        IdGenerator::open(options)
    };
    let _first = open("2000").expect("opens");
    open("02000").expect("the same number");
    let error = open("2001").map(drop).expect_err("another number");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(
        error.message().contains("heartbeat_interval_ms: \"2001\"") && error.message().contains("\"2000\""),
        "{error}"
    );
}

#[test]
fn a_batch_of_none_or_too_many_is_refused_and_takes_nothing() {
    let ids = IdGenerator::open(Options::new().store("memory:batches")).expect("opens");
    ids.next_id().expect("issues");
    let issued = ids.status().issued;
    for count in [0, 1001, usize::MAX] {
        let error = ids.next_batch(count).expect_err("no such batch");
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains(&count.to_string()) && error.message().contains("1..=1000"), "{error}");
    }
    assert_eq!(ids.status().issued, issued);
    assert_eq!(ids.next_batch(1000).expect("a whole batch").len(), 1000);
}

//! `Id` in text formats (a string, since JavaScript rounds numbers above 2^53) and binary ones.

#![cfg(feature = "serde")]

use std::collections::BTreeMap;

use leaseflake::{Id, IdParts};
use serde::{Deserialize, Serialize};

/// The smallest, the last that a double holds, the first that it rounds, the largest.
const NUMBERS: [i64; 4] = [1, (1 << 53) - 1, (1 << 53) + 1, i64::MAX];

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Order {
    id: Id,
    parent: Option<Id>,
    lines: Vec<Id>,
}

fn order(number: i64) -> Order {
    let id = Id::from_i64(number).unwrap();
    Order { id, parent: Some(id), lines: vec![id, id] }
}

#[test]
fn json_carries_a_string_so_that_no_digit_is_lost() {
    for number in NUMBERS {
        let json = serde_json::to_string(&order(number)).unwrap();
        assert_eq!(json, format!(r#"{{"id":"{number}","parent":"{number}","lines":["{number}","{number}"]}}"#));
        assert_eq!(serde_json::from_str::<Order>(&json).unwrap(), order(number));
        let value = serde_json::to_value(order(number)).unwrap();
        assert_eq!(serde_json::from_value::<Order>(value).unwrap(), order(number));
        let reader = serde_json::from_reader::<_, Order>(json.as_bytes()).unwrap();
        assert_eq!(reader, order(number));
    }
}

#[test]
fn json_numbers_are_read_too_since_other_writers_send_them() {
    for number in NUMBERS {
        assert_eq!(serde_json::from_str::<Id>(&number.to_string()).unwrap().as_i64(), number);
    }
}

#[test]
fn an_id_can_be_the_key_of_a_map() {
    let map = BTreeMap::from([(Id::from_i64(7).unwrap(), 1), (Id::from_i64(i64::MAX).unwrap(), 2)]);
    let json = serde_json::to_string(&map).unwrap();
    assert_eq!(json, r#"{"7":1,"9223372036854775807":2}"#);
    assert_eq!(serde_json::from_str::<BTreeMap<Id, i32>>(&json).unwrap(), map);
}

#[test]
fn json_that_is_no_id_is_an_error_that_says_what_is_allowed() {
    for json in [
        "0",
        "-1",
        "1.0",
        "1e3",
        "9223372036854775808",
        "18446744073709551617",
        "null",
        "true",
        "[]",
        "{}",
        r#""""#,
        r#""0""#,
        r#""-1""#,
        r#""+1""#,
        r#"" 1""#,
        r#""01""#,
        r#""9223372036854775808""#,
        r#""1\u0000""#,
    ] {
        let error = serde_json::from_str::<Id>(json).expect_err(json);
        assert!(error.is_data(), "{json}: {error}");
        let told = error.to_string();
        assert!(told.contains("ID") || told.contains("allowed"), "{json}: {told}");
    }
}

#[test]
fn a_binary_format_carries_the_number_itself() {
    for number in NUMBERS {
        let bytes = postcard::to_allocvec(&Id::from_i64(number).unwrap()).unwrap();
        assert_eq!(bytes, postcard::to_allocvec(&number).unwrap());
        let bytes = postcard::to_allocvec(&order(number)).unwrap();
        assert_eq!(postcard::from_bytes::<Order>(&bytes).unwrap(), order(number));
    }
    for number in [0, -1, i64::MIN] {
        let bytes = postcard::to_allocvec(&number).unwrap();
        postcard::from_bytes::<Id>(&bytes).expect_err("not greater than zero");
    }
}

#[test]
fn decoded_parts_survive_both_kinds_of_format() {
    let parts = IdParts { timestamp_ms: 1_767_225_600_001, datacenter_id: 31, worker_id: 4, sequence: 4095 };
    let json = serde_json::to_string(&parts).unwrap();
    assert_eq!(json, r#"{"timestamp_ms":1767225600001,"datacenter_id":31,"worker_id":4,"sequence":4095}"#);
    assert_eq!(serde_json::from_str::<IdParts>(&json).unwrap(), parts);
    let bytes = postcard::to_allocvec(&parts).unwrap();
    assert_eq!(postcard::from_bytes::<IdParts>(&bytes).unwrap(), parts);
}

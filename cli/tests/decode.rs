//! `leaseflake decode`: the shared vectors, and lines that are no IDs.

mod common;

use common::{bare, run};
use leaseflake::DEFAULT_EPOCH_MS;
use serde_json::Value;

const VECTORS: &str = include_str!("../../tests/vectors/ids.json");

#[test]
fn the_shared_vectors_are_decoded_as_computed_elsewhere() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for vector in vectors["valid"].as_array().unwrap() {
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let layout = ["--layout", &text("layout"), "--epoch-ms", &text("epoch_ms")];
        let out = run(bare(&[&["decode", "--format", "json", &text("id")][..], &layout].concat()), "").good();
        let shown: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(shown["id"], vector["id"], "{vector}");
        assert_eq!(shown["timestamp"], vector["utc"], "{vector}");
        assert_eq!(shown["timestamp_ms"].to_string(), text("timestamp_ms"), "{vector}");
        for field in ["datacenter_id", "worker_id", "sequence"] {
            assert_eq!(shown[field], vector[field], "{vector}");
        }
    }
    for vector in vectors["text_failures"].as_array().unwrap() {
        let text = vector["text"].as_str().unwrap();
        // No argument holds a NUL, and `-` stands for standard input.
        if text.contains('\0') || text == "-" {
            continue;
        }
        let ended = run(bare(&["decode", "--", text]), "");
        ended.refused(1, &["argument 1: INVALID_ARGUMENT: id: "]);
        assert_eq!(ended.out, "", "{vector}");
    }
}

#[test]
fn a_line_shows_time_worker_and_sequence_and_the_layout_that_was_meant() {
    let ended = run(bare(&["decode", "4194304131079"]), "");
    assert!(ended.err.contains("default layout, 41-5-5-12 from 2026-01-01T00:00:00Z"), "{ended:?}");
    let shown = ended.good();
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<String>> = shown.lines().map(cells).collect();
    assert_eq!(rows[0], ["id", "time (UTC)", "datacenter", "worker", "sequence"]);
    assert_eq!(rows[1], ["4194304131079", "2026-01-01T00:16:40.000Z", "1", "0", "7"]);
    let ended = run(bare(&["decode", "--layout", "41-5-5-12", "--epoch-ms", "0", "4194304131079"]), "");
    assert_eq!(ended.err, "", "a layout that was given needs no word");
    assert!(ended.good().contains("1970-01-01T00:16:40.000Z"));
}

#[test]
fn a_bad_line_is_named_with_its_number_and_the_rest_is_decoded() {
    let input = "1\nabc\n\n+5\r\n2\r\n0\n9223372036854775808\n9223372036854775807";
    let ended = run(bare(&["decode", "--format", "json"]), input);
    ended.refused(1, &["line 2: INVALID_ARGUMENT: id: \"abc\"", "line 4", "\"+5\"", "line 6", "line 7"]);
    let ids: Vec<String> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["1", "2", "9223372036854775807"]);
}

#[test]
fn a_bad_argument_is_named_and_the_rest_is_decoded() {
    let ended = run(bare(&["decode", "7", "-5", "8"]), "");
    ended.refused(1, &["argument 2", "\"-5\"", "1 to 9223372036854775807"]);
    assert_eq!(ended.out.lines().count(), 3, "a header and two IDs");
}

#[test]
fn a_line_without_end_and_bytes_that_are_no_text_do_no_harm() {
    let endless = format!("{}\n7\n", "1".repeat(5_000_000));
    let ended = run(bare(&["decode"]), &endless);
    ended.refused(1, &["line 1"]);
    assert!(ended.err.len() < 1000 && ended.out.contains("\n7 "), "{}", ended.err.len());
    let ended = run(bare(&["decode", "-"]), "\u{1b}[2J\n3\n");
    assert!(!ended.err.contains('\u{1b}') && ended.out.contains("\n3 "), "{ended:?}");
}

#[test]
fn a_time_beyond_the_calendar_is_still_shown() {
    let ended = run(bare(&["decode", "--layout", "61-0-1-1", "9223372036854775807"]), "");
    let ms = DEFAULT_EPOCH_MS + ((1 << 61) - 1);
    let shown = ended.good();
    assert!(shown.contains(&format!("{ms} ms ")) && shown.trim_end().ends_with(" 1         1"), "{shown}");
}

//! What people type and pipe into the command: times, worker IDs, lines of IDs.

use leaseflake::{Id, Layout};
use leaseflake_cli::input::{decode_lines, parse_time, parse_worker, utc};

use crate::message::{is_fit_to_read, refuses_by_value};

/// A longer line is no ID: the command's own limit.
const LONGEST_LINE: usize = 4096;

/// So many complaints of one input are looked at; all are counted.
const LOOKED_AT: usize = 50;

/// One text, read in each of these ways.
pub fn cli_text(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        time(text);
        worker(text);
    }
    lines(data);
}

fn time(text: &str) {
    match parse_time("at", text) {
        Ok(ms) => {
            if let Some(written) = utc(ms) {
                assert_eq!(parse_time("at", &written), Ok(ms), "{text:?} is {written}");
            }
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                assert_eq!(text.parse(), Ok(ms));
            }
        }
        Err(error) => refuses_by_value(&error, "at", text),
    }
}

fn worker(text: &str) {
    match parse_worker(text) {
        Ok((datacenter, worker)) => {
            assert!(datacenter <= 1023 && worker <= 1023, "{text:?}");
            assert_eq!(parse_worker(&format!("{datacenter}/{worker}")), Ok((datacenter, worker)));
        }
        Err(error) => refuses_by_value(&error, "worker", text),
    }
}

/// Every line that is not blank is decoded or complained about, in its order and by its number.
fn lines(data: &[u8]) {
    let (mut ids, mut bad) = (Vec::new(), Vec::new());
    for (line, number) in data.split(|byte| *byte == b'\n').zip(1..) {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        let is_short = line.len() < LONGEST_LINE;
        let id = std::str::from_utf8(text).ok().filter(|_| is_short).and_then(|text| text.parse::<Id>().ok());
        match id {
            Some(id) => ids.push(id),
            None if is_short && text.is_empty() => {}
            None => bad.push(number),
        }
    }
    let layout = Layout::default();
    let (json, complaints) = decode_lines(data, layout, true);
    let (table, again) = decode_lines(data, layout, false);
    assert_eq!(complaints, again);
    assert_eq!(complaints.len(), bad.len(), "{complaints:?}");
    for (complaint, number) in complaints.iter().zip(bad).take(LOOKED_AT) {
        is_fit_to_read(complaint);
        assert!(complaint.starts_with(&format!("line {number}: INVALID_ARGUMENT: ")), "{complaint}");
    }
    check_json(std::str::from_utf8(&json).expect("text"), &ids, layout);
    let table = std::str::from_utf8(&table).expect("text");
    assert_eq!(table.lines().count(), if ids.is_empty() { 0 } else { ids.len() + 1 });
    for (line, id) in table.lines().skip(1).zip(&ids) {
        assert_eq!(line.split(' ').next(), Some(id.to_string().as_str()));
    }
}

fn check_json(text: &str, ids: &[Id], layout: Layout) {
    assert_eq!(text.lines().count(), ids.len());
    for (line, id) in text.lines().zip(ids) {
        let line: serde_json::Value = serde_json::from_str(line).expect("one JSON object a line");
        assert_eq!(line["id"], id.to_string());
        let parts = layout.decode(*id);
        let fields = ["timestamp_ms", "datacenter_id", "worker_id", "sequence"].map(|name| line[name].as_i64());
        let numbers = [parts.datacenter_id, parts.worker_id, parts.sequence].map(|number| Some(i64::from(number)));
        assert_eq!((fields[0], &fields[1..]), (Some(parts.timestamp_ms), &numbers[..]));
    }
}

//! The vectors that every language asserts, against the core. They are computed by
//! `tests/vectors/generate.py`, which shares nothing with this crate.

use std::path::PathBuf;

use leaseflake::{DEFAULT_EPOCH_MS, Error, ErrorCode, Id, IdParts, Layout};
use serde_json::Value;

fn vectors(file: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The items of a list that must not be empty: a test over nothing shows nothing.
fn items<'a>(file: &'a Value, list: &str) -> &'a [Value] {
    let items = file[list].as_array().unwrap_or_else(|| panic!("no list {list}"));
    assert!(!items.is_empty(), "{list} is empty");
    items
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_else(|| panic!("no text {field} in {item}"))
}

/// A 64-bit number, written as a string.
fn long(item: &Value, field: &str) -> i64 {
    text(item, field).parse().unwrap_or_else(|_| panic!("no 64-bit number {field} in {item}"))
}

fn int(item: &Value, field: &str) -> u32 {
    item[field].as_u64().and_then(|number| number.try_into().ok()).unwrap_or_else(|| panic!("no {field} in {item}"))
}

fn layout_of(item: &Value) -> Layout {
    let widths: Layout = text(item, "layout").parse().unwrap_or_else(|error| panic!("{item}: {error}"));
    widths.with_epoch_ms(long(item, "epoch_ms")).unwrap_or_else(|error| panic!("{item}: {error}"))
}

fn parts_of(item: &Value) -> IdParts {
    IdParts {
        timestamp_ms: long(item, "timestamp_ms"),
        datacenter_id: int(item, "datacenter_id"),
        worker_id: int(item, "worker_id"),
        sequence: int(item, "sequence"),
    }
}

/// A refusal has this code, names what was wrong, and is fit for a terminal.
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, code: ErrorCode, names: &str, item: &Value) {
    let error = match result {
        Ok(value) => panic!("{item} was taken as {value:?}"),
        Err(error) => error,
    };
    assert_eq!(error.code(), code, "{item}: {error}");
    assert!(error.message().contains(names), "{item}: the message does not name {names}: {error}");
    assert!(error.message().contains("allowed: "), "{item}: the message does not say what is allowed: {error}");
    assert!(!error.message().chars().any(char::is_control), "{item}: control characters in {error:?}");
    assert!(error.message().len() < 1000, "{item}: a message of {} bytes", error.message().len());
}

#[test]
fn each_id_has_the_fields_of_the_vectors_and_is_made_from_them_again() {
    let file = vectors("ids.json");
    for item in items(&file, "valid") {
        let layout = layout_of(item);
        let parts = parts_of(item);
        let id: Id = text(item, "id").parse().unwrap_or_else(|error| panic!("{item}: {error}"));
        assert_eq!(id.as_i64(), long(item, "id"), "{item}");
        assert_eq!(id.to_string(), text(item, "id"));
        assert_eq!(Id::from_i64(long(item, "id")), Ok(id), "{item}");
        assert_eq!(layout.decode(id), parts, "{item}");
        assert_eq!(layout.encode(&parts), Ok(id), "{item}");
    }
}

#[test]
fn ids_sort_as_their_timestamps_do() {
    let file = vectors("ids.json");
    let mut ids: Vec<(String, Id)> = items(&file, "valid")
        .iter()
        .map(|item| {
            (format!("{} from {}", text(item, "layout"), text(item, "epoch_ms")), text(item, "id").parse().unwrap())
        })
        .collect();
    ids.sort();
    for pair in ids.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let (widths, epoch_ms) = pair[0].0.split_once(" from ").unwrap();
        let layout = widths.parse::<Layout>().unwrap().with_epoch_ms(epoch_ms.parse().unwrap()).unwrap();
        assert!(layout.decode(pair[0].1).timestamp_ms <= layout.decode(pair[1].1).timestamp_ms, "{pair:?}");
    }
}

#[test]
fn text_that_is_no_id_is_refused() {
    let file = vectors("ids.json");
    for item in items(&file, "text_failures") {
        assert_refused(text(item, "text").parse::<Id>(), ErrorCode::InvalidArgument, "id", item);
    }
}

#[test]
fn numbers_that_are_no_id_are_refused() {
    let file = vectors("ids.json");
    for item in items(&file, "number_failures") {
        let number = long(item, "number");
        assert_refused(Id::from_i64(number), ErrorCode::InvalidArgument, &number.to_string(), item);
        assert_refused(Id::try_from(number), ErrorCode::InvalidArgument, &number.to_string(), item);
    }
}

#[test]
fn fields_that_do_not_fit_are_refused_instead_of_cut() {
    let file = vectors("ids.json");
    for item in items(&file, "encode_failures") {
        let code = ErrorCode::from_code(int(item, "code") as i32).unwrap();
        assert_refused(layout_of(item).encode(&parts_of(item)), code, "", item);
    }
}

#[test]
fn each_layout_has_the_limits_of_the_vectors() {
    let file = vectors("layouts.json");
    for item in items(&file, "valid") {
        let layout = layout_of(item);
        let width = |field| int(item, field) as u8;
        let (timestamp, datacenter) = (width("timestamp_bits"), width("datacenter_bits"));
        let (worker, sequence) = (width("worker_bits"), width("sequence_bits"));
        let made = Layout::new(timestamp, datacenter, worker, sequence).unwrap();
        assert_eq!(made.with_epoch_ms(long(item, "epoch_ms")), Ok(layout), "{item}");
        assert_eq!(layout.to_string(), text(item, "layout"));
        assert_eq!(layout.timestamp_bits(), timestamp, "{item}");
        assert_eq!(layout.datacenter_bits(), datacenter, "{item}");
        assert_eq!(layout.worker_bits(), worker, "{item}");
        assert_eq!(layout.sequence_bits(), sequence, "{item}");
        assert_eq!(layout.epoch_ms(), long(item, "epoch_ms"), "{item}");
        assert_eq!(layout.max_timestamp(), long(item, "max_timestamp") as u64, "{item}");
        assert_eq!(layout.last_ms(), long(item, "last_ms"), "{item}");
        assert_eq!(layout.max_datacenter_id(), int(item, "max_datacenter_id"), "{item}");
        assert_eq!(layout.max_worker_id(), int(item, "max_worker_id"), "{item}");
        assert_eq!(layout.max_sequence(), int(item, "max_sequence"), "{item}");
        assert_eq!(layout.ids_per_second(), item["ids_per_second"].as_u64().unwrap(), "{item}");
        assert_eq!(layout.max_batch(), int(item, "max_batch") as usize, "{item}");
    }
}

#[test]
fn the_default_layout_is_the_one_of_the_vectors() {
    let default = &vectors("layouts.json")["default"];
    assert_eq!(Layout::default(), layout_of(default));
    assert_eq!(DEFAULT_EPOCH_MS, long(default, "epoch_ms"));
    assert_eq!(Layout::default().to_string(), text(default, "layout"));
}

#[test]
fn layouts_that_make_no_sense_are_refused() {
    let file = vectors("layouts.json");
    for item in items(&file, "text_failures") {
        assert_refused(text(item, "text").parse::<Layout>(), ErrorCode::InvalidArgument, "layout", item);
    }
    for item in items(&file, "width_failures") {
        let width = |at: usize| item["widths"][at].as_u64().and_then(|width| u8::try_from(width).ok()).unwrap();
        let made = Layout::new(width(0), width(1), width(2), width(3));
        assert_refused(made, ErrorCode::InvalidArgument, "layout", item);
    }
    for item in items(&file, "epoch_failures") {
        let epoch_ms = long(item, "epoch_ms");
        assert_refused(Layout::default().with_epoch_ms(epoch_ms), ErrorCode::InvalidArgument, "epoch_ms", item);
    }
}

#[test]
fn the_error_table_is_the_one_of_the_vectors() {
    let file = vectors("errors.json");
    let (ok, errors) = items(&file, "errors").split_first().unwrap();
    assert_eq!((int(ok, "code"), text(ok, "name")), (0, "OK"));
    let rows: Vec<_> = errors
        .iter()
        .map(|item| {
            let retryable = item["retryable"].as_bool().unwrap();
            (int(item, "code") as i32, text(item, "name"), retryable, text(item, "grpc"))
        })
        .collect();
    let known: Vec<_> =
        ErrorCode::ALL.iter().map(|code| (code.code(), code.name(), code.retryable(), code.grpc_status())).collect();
    assert_eq!(known, rows);
}

#[test]
fn the_error_page_lists_the_table_of_the_vectors() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    let page = std::fs::read_to_string(path).unwrap();
    let file = vectors("errors.json");
    for item in items(&file, "errors") {
        let retry = if item["retryable"].as_bool().unwrap() { "yes" } else { "no" };
        let row = format!("| {} | `{}` | {retry} | `{}` |", item["code"], text(item, "name"), text(item, "grpc"));
        assert!(page.contains(&row), "docs/errors.md has no row {row}");
    }
}

#[test]
fn only_retryable_errors_say_when_to_retry() {
    for code in ErrorCode::ALL {
        let error = Error::new(code, "");
        assert_eq!(error.retry_after().is_some(), error.retryable(), "{code}");
    }
}

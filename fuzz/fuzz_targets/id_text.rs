//! The text of an ID: one spelling per ID, and the same from JSON.
#![no_main]

use leaseflake::{Id, Layout};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = text.parse::<Id>();
    let from_json = serde_json::from_value::<Id>(serde_json::Value::from(text));
    assert_eq!(parsed.is_ok(), from_json.is_ok(), "{text:?}");
    match parsed {
        Ok(id) => {
            assert_eq!(id.to_string(), text, "another spelling of one ID");
            assert!(id.as_i64() > 0);
            let layout = Layout::default();
            assert_eq!(layout.encode(&layout.decode(id)).expect("what was decoded encodes"), id);
        }
        Err(error) => assert_eq!(error.name(), "INVALID_ARGUMENT", "{text:?}"),
    }
});

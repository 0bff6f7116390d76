//! The text of an ID: one spelling per ID, and the same from JSON.

use leaseflake::{Id, Layout};

use crate::message::refuses_by_value;

/// A text that is an ID, or none; then JSON that may hold one.
pub fn id_text(data: &[u8]) {
    from_json(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parsed = text.parse::<Id>();
    let as_json = serde_json::from_value::<Id>(serde_json::Value::from(text));
    assert_eq!(parsed.as_ref().ok(), as_json.as_ref().ok(), "{text:?}");
    match parsed {
        Ok(id) => {
            assert_eq!(id.to_string(), text, "another spelling of one ID");
            assert!(id.as_i64() > 0);
            let layout = Layout::default();
            assert_eq!(layout.encode(&layout.decode(id)).expect("what was decoded encodes"), id);
        }
        Err(error) => refuses_by_value(&error, "id", text),
    }
}

fn from_json(data: &[u8]) {
    let Ok(id) = serde_json::from_slice::<Id>(data) else { return };
    assert!(id.as_i64() > 0);
    let written = serde_json::to_string(&id).expect("an ID is JSON");
    assert_eq!(written, format!("\"{id}\""), "a number would lose digits in JavaScript");
    assert_eq!(serde_json::from_str::<Id>(&written).expect("what was written is read"), id);
}

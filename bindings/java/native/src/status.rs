//! `status()` and the changes of state, as texts that the classes read.

use leaseflake::{StateChange, Status, StatusValue};

/// Names and values in turn, then the name `changes` without a value, then the changes.
pub(crate) fn all(status: &Status) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for (name, value) in status.fields() {
        texts.push(Some(name.to_owned()));
        texts.push(match value {
            StatusValue::Text(text) => Some(text),
            StatusValue::Number(number) => Some(number.to_string()),
            StatusValue::Flag(flag) => Some(flag.to_string()),
            StatusValue::None => None,
        });
    }
    texts.extend([Some("changes".to_owned()), None]);
    texts.extend(changes(&status.changes));
    texts
}

/// Eight texts for each change.
pub(crate) fn changes(changes: &[StateChange]) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for change in changes {
        let (datacenter, worker) = change.worker.unzip();
        texts.extend([
            Some(change.number.to_string()),
            Some(change.at_ms.to_string()),
            Some(change.from.name().to_owned()),
            Some(change.to.name().to_owned()),
            datacenter.map(|part| part.to_string()),
            worker.map(|part| part.to_string()),
            Some(change.fencing_epoch.to_string()),
            Some(change.reason.clone()),
        ]);
    }
    texts
}

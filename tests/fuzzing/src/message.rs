//! What must hold of every message about what came from outside.

use leaseflake::{Error, ErrorCode};

/// Longer than any message of ours, with whatever it quotes.
const LONGEST: usize = 4096;

/// A message that somebody can read in a terminal, whatever it is about.
#[track_caller]
pub(crate) fn is_fit_to_read(message: &str) {
    assert!(!message.is_empty() && message.len() <= LONGEST, "{} bytes: {message:?}", message.len());
    assert!(!message.contains(char::is_control), "it steers a terminal: {message:?}");
}

/// A refusal of this value of this option.
#[track_caller]
pub(crate) fn refuses(error: &Error, name: &str, value: &str) {
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{name}={value:?}: {error}");
    is_fit_to_read(error.message());
    assert!(error.message().contains(name), "{name}={value:?}: {error}");
    assert!(error.message().contains("allowed"), "{name}={value:?}: {error}");
}

/// A refusal that shows the value, as far as values are shown.
#[track_caller]
pub(crate) fn refuses_by_value(error: &Error, name: &str, value: &str) {
    refuses(error, name, value);
    let shown: String = value.chars().take(80).collect();
    assert!(error.message().contains(&format!("{shown:?}")), "{name}={value:?}: {error}");
}

//! What a check found.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Warning,
    Wrong,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Wrong => "wrong",
        }
    }
}

/// One check: what was found, and what to do about it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) verdict: Verdict,
    pub(super) found: String,
    pub(super) advice: Option<String>,
    /// The numbers in `found`, for programs.
    pub(super) figures: Map<String, Value>,
}

impl Finding {
    pub(super) fn new(what: &'static str, verdict: Verdict, found: impl Into<String>) -> Finding {
        Finding { what, verdict, found: found.into(), advice: None, figures: Map::new() }
    }

    pub(super) fn ok(what: &'static str, found: impl Into<String>) -> Finding {
        Finding::new(what, Verdict::Ok, found)
    }

    pub(super) fn warning(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..Finding::new(what, Verdict::Warning, found) }
    }

    pub(super) fn wrong(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..Finding::new(what, Verdict::Wrong, found) }
    }

    pub(super) fn figure(mut self, name: &str, value: impl Into<Value>) -> Finding {
        self.figures.insert(name.to_owned(), value.into());
        self
    }
}

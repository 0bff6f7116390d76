//! Points and spans of time, for people: UTC, and as short as they can be said.

use jiff::Timestamp;

/// `2026-11-29T19:10:11.123Z`; `None` where the calendar ends (year 9999).
pub(crate) fn utc(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|at| format!("{at:.3}"))
}

/// As [`utc`], without a fraction that is zero.
pub(crate) fn utc_short(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |at| at.to_string())
}

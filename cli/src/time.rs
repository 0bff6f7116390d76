//! Points and spans of time, for people: UTC, and as short as they can be said.

use jiff::Timestamp;
use leaseflake::Error;
use leaseflake::clock::SystemClock;

/// The clock that generators read, in ms since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    SystemClock::wall_ms()
}

/// `2026-11-29T19:10:11.123Z`; `None` where the calendar ends (year 9999).
pub fn utc(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|at| format!("{at:.3}"))
}

/// As [`utc`], without a fraction that is zero.
pub(crate) fn utc_short(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |at| at.to_string())
}

/// `2026-11-29 19:10:11`, for a column.
pub(crate) fn utc_seconds(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |at| at.strftime("%F %T").to_string())
}

/// `in 29 s`, `5 min ago`: one unit is enough.
pub(crate) fn relative(ms_from_now: i64) -> String {
    let seconds = ms_from_now.unsigned_abs() / 1000;
    let span = match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    };
    if ms_from_now >= 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// A point in time as people write it: RFC 3339, milliseconds since the Unix epoch, or `now`.
/// What is finer than a millisecond is rounded up.
///
/// # Errors
///
/// `INVALID_ARGUMENT`.
pub fn parse(name: &str, text: &str) -> Result<i64, Error> {
    if text == "now" {
        return Ok(now_ms());
    }
    let wrong = || Error::invalid(name, text, "RFC 3339 such as 2026-11-29T19:10:11Z, milliseconds since 1970, or now");
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| wrong());
    }
    let at: Timestamp = text.parse().map_err(|_| wrong())?;
    let whole = at.as_millisecond();
    Ok(whole + i64::from(at.as_nanosecond() > i128::from(whole) * 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_people_write_it_and_never_rounded_down() {
        for (text, ms) in [
            ("2026-01-01T00:00:00Z", 1_767_225_600_000),
            ("2026-01-01T02:00:00.5+02:00", 1_767_225_600_500),
            ("2026-01-01T00:00:00.0000001Z", 1_767_225_600_001),
            ("1767225600007", 1_767_225_600_007),
        ] {
            assert_eq!(parse("at", text), Ok(ms), "{text}");
        }
        for text in ["", "yesterday", "2026-01-01", "-5", "99999999999999999999", "2026-01-01T00:00:00"] {
            let error = parse("at", text).unwrap_err();
            assert!(error.message().contains("RFC 3339") && error.message().contains("at"), "{text}: {error}");
        }
    }

    #[test]
    fn a_span_is_said_in_one_unit_that_fits_its_column() {
        for (ms, said) in [
            (29_999, "in 29 s"),
            (-1, "0 s ago"),
            (-119_000, "119 s ago"),
            (120_000, "in 2 min"),
            (-7_199_000, "119 min ago"),
            (86_400_000, "in 24 h"),
            (-864_000_000, "10 d ago"),
        ] {
            assert_eq!(relative(ms), said);
            assert!(said.len() <= 11);
        }
        assert!(!relative(i64::MIN).is_empty());
    }
}

//! The clock of this machine, and how long its timestamps last.

use leaseflake::{KernelClock, Layout, kernel_clock};

use super::findings::Finding;
use crate::time;

const DAY_MS: i64 = 24 * 3600 * 1000;
/// Later than this, people have time.
const SOON_DAYS: i64 = 2 * 365;
/// An error that shows in the order of IDs of different machines.
const LARGE_ERROR_US: i64 = 1_000_000;

pub(super) fn synchronised() -> Finding {
    judge_clock(kernel_clock())
}

/// Uniqueness needs no clock, so that one that nobody disciplines is not wrong by itself: IDs of
/// different machines sort by it, and far enough off it delays who takes over a worker ID.
fn judge_clock(clock: Option<KernelClock>) -> Finding {
    const WHAT: &str = "clock";
    let Some(clock) = clock else {
        return Finding::warning(
            WHAT,
            "the kernel does not say whether the clock is synchronised",
            "see that a time service (chrony, systemd-timesyncd, the cloud's own) runs on this machine",
        );
    };
    let (most, expected) = (millis(clock.max_error_us), millis(clock.estimated_error_us));
    let finding = if !clock.synchronised {
        Finding::warning(
            WHAT,
            format!("the kernel says that the clock is not synchronised, and may be off by {most} or more"),
            "start a time service (chrony, systemd-timesyncd); in a virtual machine it runs on the host, and this may \
             be all the kernel knows",
        )
    } else if clock.max_error_us > LARGE_ERROR_US {
        Finding::warning(
            WHAT,
            format!("the kernel says that the clock is synchronised, within {most} at worst, {expected} expected"),
            "IDs of different machines sort by their clocks: find out why the time service is so unsure",
        )
    } else {
        let found =
            format!("the kernel says that the clock is synchronised, within {most} at worst, {expected} expected");
        Finding::ok(WHAT, found)
    };
    finding
        .figure("synchronised", clock.synchronised)
        .figure("max_error_us", clock.max_error_us)
        .figure("estimated_error_us", clock.estimated_error_us)
}

fn millis(us: i64) -> String {
    format!("{}.{:03} ms", us / 1000, us % 1000)
}

pub(super) fn timestamps(layout: &Layout) -> Finding {
    judge_timestamps(layout, time::now_ms())
}

fn judge_timestamps(layout: &Layout, now_ms: i64) -> Finding {
    const WHAT: &str = "timestamps";
    let days = layout.last_ms().saturating_sub(now_ms).div_euclid(DAY_MS);
    let last = time::utc_short(layout.last_ms());
    let finding = if now_ms < layout.epoch_ms() {
        Finding::wrong(
            WHAT,
            format!("the clock is before the epoch, {}", time::utc_short(layout.epoch_ms())),
            "set the clock: no ID can be made (CLOCK_UNTRUSTED)",
        )
    } else if days < 0 {
        Finding::wrong(
            WHAT,
            format!("layout {layout} ended at {last}"),
            "set the clock, if it is wrong; else no ID can be made any more (TIMESTAMP_OUT_OF_RANGE), and a registry \
             with a later epoch and wider IDs of another kind must take over",
        )
    } else if days < SOON_DAYS {
        Finding::warning(
            WHAT,
            format!("layout {layout} ends in {days} days, at {last}"),
            "plan what takes over: IDs of a later epoch sort below those of this one",
        )
    } else {
        Finding::ok(WHAT, format!("layout {layout} lasts for {days} days, until {last}"))
    };
    finding.figure("days_left", days).figure("last_ms", layout.last_ms())
}

#[cfg(test)]
mod tests {
    use super::super::findings::Verdict;
    use super::*;

    #[test]
    fn a_clock_is_judged_by_the_kernels_word_and_its_error() {
        let clock =
            |synchronised, max_error_us| Some(KernelClock { synchronised, max_error_us, estimated_error_us: 7 });
        assert_eq!(judge_clock(clock(true, 12_345)).verdict, Verdict::Ok);
        assert!(judge_clock(clock(true, 12_345)).found.contains("12.345 ms at worst, 0.007 ms expected"));
        assert_eq!(judge_clock(clock(true, 1_000_001)).verdict, Verdict::Warning);
        assert_eq!(judge_clock(clock(false, 1)).verdict, Verdict::Warning);
        assert_eq!(judge_clock(None).verdict, Verdict::Warning);
    }

    #[test]
    fn timestamps_are_wrong_before_the_epoch_and_past_the_end() {
        let layout = Layout::default();
        let at = |now_ms| judge_timestamps(&layout, now_ms).verdict;
        assert_eq!(at(layout.epoch_ms() - 1), Verdict::Wrong);
        assert_eq!(at(layout.epoch_ms()), Verdict::Ok);
        assert_eq!(at(layout.last_ms() - SOON_DAYS * DAY_MS + 1), Verdict::Warning);
        assert_eq!(at(layout.last_ms()), Verdict::Warning);
        assert_eq!(at(layout.last_ms() + 1), Verdict::Wrong);
        let found = judge_timestamps(&layout, layout.epoch_ms());
        assert_eq!(found.figures["days_left"], 25_451, "41 bits of ms are 25451.6 days");
    }
}

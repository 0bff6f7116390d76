//! Waiting for the clock to reach a reserved timestamp: sleep, then spin the last bit.

use std::time::Duration;

use super::slot::Refusal;
use crate::clock::Clock;

/// What a sleep usually overshoots by (the kernel's timer slack is 50 us); the rest is spun.
const SPIN_NS: i64 = 60_000;
/// What the next waiter of a millisecond comes later than the one before it, and the most of it:
/// cores that tear at one cache line at once burn twice the CPU, and issue no more.
const STAGGER_NS: i64 = 40_000;
const MOST_STAGGER_NS: i64 = 200_000;
/// What a clock may stand still beyond `max_wait_ms` before it counts as gone back.
const GRACE_NS: u64 = 20_000_000;

/// Waits until the wall clock reaches `at_ms` (since the Unix epoch). Only the waiter that opened
/// its millisecond (`place` 0) has to be on time and spins; the others sleep to it and a little
/// longer, in the order of their places.
///
/// # Errors
///
/// `ClockBackwards` when the clock went away from it meanwhile: the reservation is burned.
pub(crate) fn until(clock: &dyn Clock, at_ms: i64, max_wait_ms: u64, place: u64) -> Result<(), Refusal> {
    let target_ns = at_ms.saturating_mul(1_000_000);
    let allowed_ns = (max_wait_ms as i64 + 1) * 1_000_000;
    let mut give_up_ns = None;
    loop {
        // The boot clock first: whoever is put to sleep between the two looks finds the wall clock
        // farther on, and never a wall clock that seems to stand still.
        let boot_ns = clock.boot_ns();
        let left_ns = target_ns.saturating_sub(clock.wall_ns());
        if left_ns <= 0 {
            return Ok(());
        }
        let stands_still = boot_ns >= *give_up_ns.get_or_insert(boot_ns + allowed_ns as u64 + GRACE_NS);
        if left_ns > allowed_ns || stands_still {
            return Err(Refusal::ClockBackwards);
        }
        if place > 0 {
            clock.sleep(Duration::from_nanos((left_ns + stagger_ns(place)) as u64));
        } else if left_ns > SPIN_NS {
            clock.sleep(Duration::from_nanos((left_ns - SPIN_NS) as u64));
        } else {
            std::hint::spin_loop();
        }
    }
}

fn stagger_ns(place: u64) -> i64 {
    (place.min(4096) as i64 * STAGGER_NS).min(MOST_STAGGER_NS)
}

//! From a refusal to words: what happened, to which worker ID, and what to do.

use std::time::Duration;

use super::shared::Shared;
use crate::error::{Error, ErrorCode};

/// The error that a code of this generator stands for just now.
pub(crate) fn code(shared: &Shared, code: ErrorCode, max_wait_ms: u64) -> Error {
    let slot = shared.page().current();
    let bits = slot.prefix() >> shared.limits.sequence_bits;
    let worker_bits = shared.config.layout.worker_bits();
    let worker = format!("{}/{}", bits >> worker_bits, bits & ((1 << worker_bits) - 1));
    let store = shared.config.store.name();
    let why = last_error(shared);
    let behind_ms = ((slot.newest() >> shared.limits.sequence_bits) as i64 + shared.config.layout.epoch_ms())
        - shared.clock.wall_ms();
    let message = match code {
        ErrorCode::LeaseSuspended => format!(
            "the lease on worker ID {worker} is used up and no heartbeat has reached {store} in time; IDs flow again with \
             the next one{why}"
        ),
        ErrorCode::LeaseLost => {
            format!("worker ID {worker} is no longer ours; another one is being acquired in {store}{why}")
        }
        ErrorCode::ClockBackwards => format!(
            "the clock is {behind_ms} ms behind the newest ID of worker ID {worker}, more than max_wait_ms = {max_wait_ms}: \
             wait for it, and check NTP"
        ),
        ErrorCode::ClockUntrusted if shared.clock.wall_ms() < shared.config.layout.epoch_ms() => {
            format!("the clock is before the layout's epoch of {} ms: set the clock", shared.config.layout.epoch_ms())
        }
        ErrorCode::ClockUntrusted => format!(
            "the clock has jumped more than 30 s beyond the last trusted look; worker ID {worker} issues nothing there: \
             check NTP, or run `leaseflake doctor`"
        ),
        ErrorCode::TimestampOutOfRange => format!(
            "the timestamp field of layout {} ended at {} ms since 1970",
            shared.config.layout,
            shared.config.layout.last_ms()
        ),
        ErrorCode::SequenceExhausted => format!(
            "the IDs of this and the next {max_wait_ms} ms of worker ID {worker} are taken: try again, raise max_wait_ms, or \
             open more worker IDs with `slot`"
        ),
        ErrorCode::Closed => match last_final_error(shared) {
            Some(error) => return error,
            None => format!("the generator on {store} is closed: open a new one"),
        },
        other => format!("{other} on {store}{why}"),
    };
    let error = Error::new(code, message);
    if code == ErrorCode::ClockBackwards {
        let wait = (behind_ms - max_wait_ms as i64).clamp(1, 60_000);
        return error.with_retry_after(Duration::from_millis(wait as u64));
    }
    error
}

/// ` (last error: ..)`, where the keeper of this process has one.
fn last_error(shared: &Shared) -> String {
    if !shared.owns_keeper() {
        return String::new();
    }
    match shared.link().status().last_error {
        Some((error, _)) => format!(" (last error: {error})"),
        None => String::new(),
    }
}

/// A keeper that ended by a fault of its own is no ordinary close.
fn last_final_error(shared: &Shared) -> Option<Error> {
    if !shared.owns_keeper() {
        return None;
    }
    let (error, _) = shared.link().status().last_error?;
    (error.code() == ErrorCode::Internal).then_some(error)
}

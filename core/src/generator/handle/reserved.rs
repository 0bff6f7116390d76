//! IDs in two steps, taking and waiting, for callers that wait in a way of their own: an event
//! loop, or a binding whose host has a lock to give up first.

use std::time::Duration;

use super::IdGenerator;
use crate::error::{Error, ErrorCode};
use crate::generator::slot::{Refusal, Reservation, Want};
use crate::generator::timer;
use crate::id::Id;

/// IDs that are taken already, and the time from which they may be used; dropping it burns them.
#[doc(hidden)]
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    reservation: Reservation,
}

impl Reserved {
    /// How many IDs.
    #[inline]
    pub fn count(&self) -> usize {
        self.reservation.count as usize
    }

    /// Whether they lie ahead of the clock, and so have to be waited for.
    #[inline]
    pub fn is_ahead(&self) -> bool {
        self.reservation.ahead
    }
}

impl IdGenerator {
    /// Takes `count` IDs (1..=1000) and leaves the waiting to the caller.
    ///
    /// # Errors
    ///
    /// As [`next_batch`](IdGenerator::next_batch).
    #[doc(hidden)]
    pub fn reserve_ids(&self, count: usize) -> Result<Reserved, Error> {
        self.check_batch(count)?;
        let reservation =
            self.reserve(Want::Exactly(count as u64), self.max_wait_ms).map_err(|refusal| self.explain(refusal))?;
        Ok(Reserved { reservation })
    }

    /// Takes one ID, as a code where there is none: no allocation on any path.
    ///
    /// # Errors
    ///
    /// As [`next_id`](IdGenerator::next_id).
    #[doc(hidden)]
    #[inline]
    pub fn reserve_one_or_code(&self) -> Result<Reserved, ErrorCode> {
        let reservation = self.reserve(Want::Exactly(1), self.max_wait_ms).map_err(Refusal::code)?;
        Ok(Reserved { reservation })
    }

    /// Takes as many IDs as the millisecond has left, at most this many (one at least).
    ///
    /// # Errors
    ///
    /// As [`next_id`](IdGenerator::next_id).
    #[doc(hidden)]
    #[inline]
    pub fn reserve_some_or_code(&self, most: usize) -> Result<Reserved, ErrorCode> {
        let reservation = self.reserve(Want::UpTo(most.max(1) as u64), self.max_wait_ms).map_err(Refusal::code)?;
        Ok(Reserved { reservation })
    }

    /// Blocks until reserved IDs may be used.
    ///
    /// # Errors
    ///
    /// `CLOCK_BACKWARDS` when the clock went away from them: they are burned.
    #[doc(hidden)]
    #[inline]
    pub fn wait_or_code(&self, reserved: &Reserved) -> Result<(), ErrorCode> {
        self.shared.wait_for(&reserved.reservation, self.max_wait_ms).map_err(Refusal::code)
    }

    /// How long until reserved IDs may be used; `None` = now.
    ///
    /// # Errors
    ///
    /// `CLOCK_BACKWARDS` when the clock went away from them: they are burned.
    #[doc(hidden)]
    pub fn time_left(&self, reserved: &Reserved) -> Result<Option<Duration>, Error> {
        self.left_until(self.shared.wall_ms_of(&reserved.reservation)).map_err(|refusal| self.explain(refusal))
    }

    /// As [`time_left`](IdGenerator::time_left), of a reserved ID, for callers that keep the number alone.
    ///
    /// # Errors
    ///
    /// As `time_left`.
    #[doc(hidden)]
    pub fn time_left_of(&self, id: Id) -> Result<Option<Duration>, ErrorCode> {
        self.left_until(self.decode(id).timestamp_ms).map_err(Refusal::code)
    }

    fn left_until(&self, at_ms: i64) -> Result<Option<Duration>, Refusal> {
        let left = at_ms.saturating_mul(1_000_000).saturating_sub(self.shared.clock.get().wall_ns());
        if left > (self.max_wait_ms as i64 + 1) * 1_000_000 {
            return Err(Refusal::ClockBackwards);
        }
        Ok((left > 0).then(|| Duration::from_nanos(left as u64)))
    }

    /// Waits until reserved IDs may be used, without blocking the thread. Needs no particular runtime.
    ///
    /// # Errors
    ///
    /// As [`time_left`](IdGenerator::time_left).
    #[doc(hidden)]
    pub async fn wait_async(&self, reserved: &Reserved) -> Result<(), Error> {
        while let Some(left) = self.time_left(reserved)? {
            timer::sleep(left).await;
        }
        Ok(())
    }

    /// The reserved IDs, whose time has come.
    #[doc(hidden)]
    pub fn ids_of(&self, reserved: &Reserved) -> impl Iterator<Item = Id> {
        let first = reserved.reservation.first_bits(&self.shared.limits);
        (first..first + reserved.reservation.count).map(Id::from_issued)
    }

    /// The first of the reserved IDs, whose time has come; the others follow one by one.
    #[doc(hidden)]
    #[inline]
    pub fn first_of(&self, reserved: &Reserved) -> Id {
        Id::from_issued(reserved.reservation.first_bits(&self.shared.limits))
    }
}

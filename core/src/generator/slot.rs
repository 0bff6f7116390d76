//! A slot: one lease in memory, and the atomic word that orders all of its IDs.
//!
//! A slot belongs to one lease for ever. Its word is the newest issued (timestamp, sequence) with
//! the top bit for *retired*; the word only rises, the ceiling only rises, and no slot is reused:
//! a thread that fell asleep before its compare-and-swap finds the word moved or retired.

use crate::error::ErrorCode;
use crate::layout::Layout;
use crate::rules::{Rule, holds};
use crate::sync::{AtomicU64, Ordering};

/// The top bit of the word: no ID will ever be issued from it again.
pub(crate) const RETIRED: u64 = 1 << 63;

/// One lease in memory. Laid out for memory that forked processes share.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Newest issued, relative to the epoch, and the retired bit.
    word: AtomicU64,
    /// No timestamp from here on, in ms since the epoch: the lesser of the lease's ceiling and
    /// the clock's cap.
    ceiling: AtomicU64,
    /// The worker ID at its place in an ID.
    prefix: AtomicU64,
    /// The ceiling of the lease alone: tells *suspended* from *clock untrusted*.
    lease_ceiling: AtomicU64,
    /// Added to the newest sequence number + 1 this gives the IDs issued from this slot.
    issued_before: AtomicU64,
    /// `fencing_epoch` of the lease, for status.
    fencing_epoch: AtomicU64,
    /// `lease_expiry_ts` of the lease, for status.
    expiry_ms: AtomicU64,
    /// Keeps the slot at one cache line.
    reserved: AtomicU64,
}

/// What a slot is opened with. Timestamps are in ms since the layout's epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotLease {
    pub(crate) prefix: u64,
    /// The first timestamp that may be issued.
    pub(crate) start: u64,
    pub(crate) fencing_epoch: u64,
}

/// How the slot's word is divided, and how far a call may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssueLimits {
    pub(crate) sequence_bits: u8,
    pub(crate) timestamp_shift: u8,
    pub(crate) max_timestamp: u64,
    pub(crate) sequence_jitter: u64,
}

impl IssueLimits {
    pub(crate) fn new(layout: &Layout, sequence_jitter: u32) -> IssueLimits {
        IssueLimits {
            sequence_bits: layout.sequence_bits(),
            timestamp_shift: layout.timestamp_shift(),
            max_timestamp: layout.max_timestamp(),
            sequence_jitter: u64::from(sequence_jitter),
        }
    }

    pub(crate) const fn per_ms(&self) -> u64 {
        1 << self.sequence_bits
    }

    /// The bits of the ID that a word stands for.
    #[inline]
    pub(crate) const fn bits_of(&self, word: u64, prefix: u64) -> u64 {
        let sequence = word & (self.per_ms() - 1);
        ((word >> self.sequence_bits) << self.timestamp_shift) | prefix | sequence
    }
}

/// Why no ID was issued; a code and nothing that allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The slot is retired: closed, lost, or left.
    Retired,
    /// Not below the ceiling of the lease.
    Suspended,
    /// Below the ceiling of the lease, but more than 30 s after the last trusted look.
    Untrusted,
    /// Before the epoch.
    BeforeEpoch,
    /// The clock is behind the newest ID by more than anybody may wait.
    ClockBackwards,
    /// The queue is longer than this call may wait.
    Exhausted,
    /// Past the end of the timestamp field.
    OutOfRange,
    /// The handle is closed.
    Closed,
}

impl Refusal {
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Refusal::Retired => ErrorCode::LeaseLost,
            Refusal::Suspended => ErrorCode::LeaseSuspended,
            Refusal::Untrusted | Refusal::BeforeEpoch => ErrorCode::ClockUntrusted,
            Refusal::ClockBackwards => ErrorCode::ClockBackwards,
            Refusal::Exhausted => ErrorCode::SequenceExhausted,
            Refusal::OutOfRange => ErrorCode::TimestampOutOfRange,
            Refusal::Closed => ErrorCode::Closed,
        }
    }
}

/// IDs that are ours already; they may be returned once the clock reaches their timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// Timestamp and sequence of the first, relative to the epoch.
    pub(crate) first: u64,
    /// How many, one after the other in one millisecond.
    pub(crate) count: u64,
    /// The worker ID at its place in an ID.
    pub(crate) prefix: u64,
    /// Whether it opened its millisecond: the one waiter who has to be on time.
    pub(crate) opened: bool,
    /// Whether it lies ahead of the clock, and so has to be waited for.
    pub(crate) ahead: bool,
}

impl Reservation {
    /// The timestamp, in ms since the layout's epoch.
    #[inline]
    pub(crate) const fn timestamp(&self, limits: &IssueLimits) -> u64 {
        self.first >> limits.sequence_bits
    }

    /// 0 for whoever opened the millisecond; the others come after, in the order of their IDs.
    pub(crate) const fn place(&self, limits: &IssueLimits) -> u64 {
        if self.opened { 0 } else { (self.first & (limits.per_ms() - 1)) + 1 }
    }

    /// The bits of the first ID; the others follow one by one.
    #[inline]
    pub(crate) const fn first_bits(&self, limits: &IssueLimits) -> u64 {
        limits.bits_of(self.first, self.prefix)
    }
}

/// How many IDs a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Exactly this many within one millisecond.
    Exactly(u64),
    /// As many as the millisecond has left, at most this many.
    UpTo(u64),
}

/// When a call comes, and how far ahead of the clock it may reserve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The clock, in ms since the layout's epoch.
    pub(crate) now: u64,
    /// How far ahead this call may reserve.
    pub(crate) max_wait: u64,
    /// The longest that any call may reserve ahead: what lies beyond is a clock that went back.
    pub(crate) longest_wait: u64,
}

impl Slot {
    /// A slot that nobody has opened: refuses everything.
    pub(crate) fn unopened() -> Slot {
        Slot {
            word: AtomicU64::new(0),
            ceiling: AtomicU64::new(0),
            prefix: AtomicU64::new(0),
            lease_ceiling: AtomicU64::new(0),
            issued_before: AtomicU64::new(0),
            fencing_epoch: AtomicU64::new(0),
            expiry_ms: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
        }
    }

    /// Writes what never changes, once, before anybody can see the slot.
    pub(crate) fn open(&self, lease: &SlotLease, limits: &IssueLimits) {
        // One below the first that may be issued; word 0 gives up the first ID of the epoch.
        let word = (lease.start << limits.sequence_bits).saturating_sub(1);
        let used = (word & (limits.per_ms() - 1)) + 1;
        self.prefix.store(lease.prefix, Ordering::Relaxed);
        self.fencing_epoch.store(lease.fencing_epoch, Ordering::Relaxed);
        self.issued_before.store(0u64.wrapping_sub(used), Ordering::Relaxed);
        self.ceiling.store(0, Ordering::Relaxed);
        self.lease_ceiling.store(0, Ordering::Relaxed);
        self.word.store(word, Ordering::Release);
    }

    /// Raises the ceilings, in ms since the epoch; lower values change nothing.
    pub(crate) fn raise(&self, lease_ceiling: u64, clock_cap: u64, expiry_ms: u64) {
        self.expiry_ms.fetch_max(expiry_ms, Ordering::Relaxed);
        self.lease_ceiling.fetch_max(lease_ceiling, Ordering::Release);
        self.ceiling.fetch_max(lease_ceiling.min(clock_cap), Ordering::Release);
    }

    /// Ends the slot, and gives the newest issued word: nothing can be issued after it.
    pub(crate) fn retire(&self) -> u64 {
        self.word.fetch_or(RETIRED, Ordering::AcqRel) & !RETIRED
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.word.load(Ordering::Acquire) & RETIRED != 0
    }

    /// The newest issued word, without the retired bit.
    pub(crate) fn newest(&self) -> u64 {
        self.word.load(Ordering::Acquire) & !RETIRED
    }

    pub(crate) fn prefix(&self) -> u64 {
        self.prefix.load(Ordering::Relaxed)
    }

    pub(crate) fn fencing_epoch(&self) -> u64 {
        self.fencing_epoch.load(Ordering::Relaxed)
    }

    pub(crate) fn expiry_ms(&self) -> u64 {
        self.expiry_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn ceiling(&self) -> u64 {
        self.ceiling.load(Ordering::Acquire)
    }

    pub(crate) fn lease_ceiling(&self) -> u64 {
        self.lease_ceiling.load(Ordering::Acquire)
    }

    /// How many IDs have been issued (reserved) from this slot.
    pub(crate) fn issued(&self, limits: &IssueLimits) -> u64 {
        let used = (self.newest() & (limits.per_ms() - 1)) + 1;
        self.issued_before.load(Ordering::Relaxed).wrapping_add(used)
    }

    /// Takes one ID where nothing has to be waited for, skipped or counted: its word and its bits.
    /// This is the common case, and has to cost little beside the clock read before it: so it fits
    /// into registers, and loads nothing after the compare-and-swap, which loads wait for. `None`
    /// changes nothing and says nothing; `reserve` does.
    #[inline(always)]
    pub(crate) fn take_now(&self, now: u64, limits: &IssueLimits) -> Option<(u64, u64)> {
        let (limits, prefix) = (*limits, self.prefix());
        let ceiling = self.ceiling.load(Ordering::Acquire);
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let next = word + 1;
            // Word and next in the clock's own millisecond: neither retired, nor used up, nor ahead.
            let in_step = word >> limits.sequence_bits == now && next >> limits.sequence_bits == now;
            if !in_step || now >= ceiling {
                return None;
            }
            let bits = limits.bits_of(next, prefix);
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((next, bits)),
                Err(newer) => word = newer,
            }
        }
    }

    /// Takes IDs: one compare-and-swap that decides alone. An error changes nothing.
    #[inline(always)]
    pub(crate) fn reserve(&self, want: Want, reach: &Reach, limits: &IssueLimits) -> Result<Reservation, Refusal> {
        if want == Want::Exactly(1)
            && let Some((first, _)) = self.take_now(reach.now, limits)
        {
            return Ok(Reservation { first, count: 1, prefix: self.prefix(), opened: false, ahead: false });
        }
        self.reserve_any(want, reach, limits)
    }

    fn reserve_any(&self, want: Want, reach: &Reach, limits: &IssueLimits) -> Result<Reservation, Refusal> {
        let bits = limits.sequence_bits;
        let mask = limits.per_ms() - 1;
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & RETIRED != 0 {
                return Err(Refusal::Retired);
            }
            let (least, most) = match want {
                Want::Exactly(count) => (count, count),
                Want::UpTo(count) => (1, count),
            };
            let mut first = (word + 1).max(reach.now << bits);
            if (first & mask) + least > limits.per_ms() {
                first = ((first >> bits) + 1) << bits;
            }
            let timestamp = first >> bits;
            let opened = timestamp != word >> bits;
            let mut jitter = 0;
            if opened && limits.sequence_jitter > 0 {
                jitter = jitter_of(timestamp ^ self.prefix(), limits.sequence_jitter.min(limits.per_ms() - least));
                first += jitter;
            }
            let count = most.min(limits.per_ms() - (first & mask));
            let checked = if holds(Rule::IdTimestampChecked) { timestamp } else { reach.now };
            if timestamp > limits.max_timestamp {
                return Err(Refusal::OutOfRange);
            }
            if checked >= self.ceiling.load(Ordering::Acquire) {
                return Err(self.beyond_ceiling(checked));
            }
            if timestamp > reach.now + reach.max_wait {
                return Err(if word >> bits > reach.now + reach.longest_wait {
                    Refusal::ClockBackwards
                } else {
                    Refusal::Exhausted
                });
            }
            match self.word.compare_exchange_weak(word, first + count - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if opened {
                        // The millisecond left behind had its newest sequence number + 1 IDs,
                        // less those that jitter skipped in the one that begins.
                        let left_behind = (word & mask) + 1;
                        self.issued_before.fetch_add(left_behind.wrapping_sub(jitter), Ordering::Relaxed);
                    }
                    let ahead = timestamp > reach.now;
                    return Ok(Reservation { first, count, prefix: self.prefix(), opened, ahead });
                }
                Err(newer) => word = newer,
            }
        }
    }

    #[cold]
    fn beyond_ceiling(&self, timestamp: u64) -> Refusal {
        if timestamp >= self.lease_ceiling.load(Ordering::Acquire) { Refusal::Suspended } else { Refusal::Untrusted }
    }
}

/// Where a fresh millisecond starts, 0..=`most`: spread evenly, the same for the same input.
/// Nothing rests on it being unpredictable.
fn jitter_of(seed: u64, most: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^= x >> 31;
    ((u128::from(x) * u128::from(most + 1)) >> 64) as u64
}

//! How the 63 bits of an ID are divided, and the epoch that its timestamp counts from.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorCode};
use crate::id::Id;

/// 2026-01-01T00:00:00Z in milliseconds since the Unix epoch.
pub const DEFAULT_EPOCH_MS: i64 = 1_767_225_600_000;

/// The bits of an ID (timestamp, datacenter, worker, sequence: 63 together) and its epoch.
///
/// The default is `41-5-5-12` from 2026-01-01T00:00:00Z, good until 2095-09-07.
///
/// ```
/// use leaseflake::{IdParts, Layout};
///
/// let layout = Layout::default();
/// let parts = layout.decode(leaseflake::Id::from_i64(4_194_304_000_000 + 131_072 + 7).unwrap());
/// assert_eq!(parts.timestamp_ms, 1_767_225_600_000 + 1_000_000);
/// assert_eq!((parts.datacenter_id, parts.worker_id, parts.sequence), (1, 0, 7));
/// assert_eq!(layout.encode(&parts).unwrap().as_i64(), 4_194_304_131_079);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    timestamp_bits: u8,
    datacenter_bits: u8,
    worker_bits: u8,
    sequence_bits: u8,
    epoch_ms: i64,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { timestamp_bits: 41, datacenter_bits: 5, worker_bits: 5, sequence_bits: 12, epoch_ms: DEFAULT_EPOCH_MS }
    }
}

impl Layout {
    /// A layout of these widths, in bits, with the default epoch.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` unless the widths add up to 63, the timestamp has 32 to 61 bits, the
    /// sequence 1 to 22, and datacenter and worker at most 10 each.
    pub fn new(timestamp_bits: u8, datacenter_bits: u8, worker_bits: u8, sequence_bits: u8) -> Result<Layout, Error> {
        let total =
            u32::from(timestamp_bits) + u32::from(datacenter_bits) + u32::from(worker_bits) + u32::from(sequence_bits);
        let within = (32..=61).contains(&timestamp_bits)
            && datacenter_bits <= 10
            && worker_bits <= 10
            && (1..=22).contains(&sequence_bits);
        if total != 63 || !within {
            return Err(Error::invalid(
                "layout",
                format_args!("{timestamp_bits}-{datacenter_bits}-{worker_bits}-{sequence_bits}"),
                "timestamp-datacenter-worker-sequence widths that add up to 63, \
                 timestamp 32..=61, datacenter 0..=10, worker 0..=10, sequence 1..=22, \
                 such as 41-5-5-12",
            ));
        }
        Ok(Layout { timestamp_bits, datacenter_bits, worker_bits, sequence_bits, epoch_ms: DEFAULT_EPOCH_MS })
    }

    /// The same layout counting from another epoch, in milliseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the epoch is before 1970 or in the future.
    pub fn with_epoch_ms(self, epoch_ms: i64) -> Result<Layout, Error> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        // A machine whose clock is behind must still know the default epoch.
        let latest = now_ms.max(DEFAULT_EPOCH_MS);
        if !(0..=latest).contains(&epoch_ms) {
            return Err(Error::invalid(
                "epoch_ms",
                epoch_ms,
                format_args!("milliseconds since 1970-01-01T00:00:00Z, 0..={latest} (not in the future)"),
            ));
        }
        Ok(Layout { epoch_ms, ..self })
    }

    /// Bits of the timestamp.
    pub const fn timestamp_bits(&self) -> u8 {
        self.timestamp_bits
    }

    /// Bits of the datacenter ID.
    pub const fn datacenter_bits(&self) -> u8 {
        self.datacenter_bits
    }

    /// Bits of the worker ID.
    pub const fn worker_bits(&self) -> u8 {
        self.worker_bits
    }

    /// Bits of the sequence number.
    pub const fn sequence_bits(&self) -> u8 {
        self.sequence_bits
    }

    /// The epoch, in milliseconds since the Unix epoch.
    pub const fn epoch_ms(&self) -> i64 {
        self.epoch_ms
    }

    /// The largest timestamp, in milliseconds since the layout's epoch.
    pub const fn max_timestamp(&self) -> u64 {
        (1 << self.timestamp_bits) - 1
    }

    /// The last millisecond that has IDs, in milliseconds since the Unix epoch.
    pub const fn last_ms(&self) -> i64 {
        self.epoch_ms.saturating_add(self.max_timestamp() as i64)
    }

    /// The largest datacenter ID.
    pub const fn max_datacenter_id(&self) -> u32 {
        (1 << self.datacenter_bits) - 1
    }

    /// The largest worker ID.
    pub const fn max_worker_id(&self) -> u32 {
        (1 << self.worker_bits) - 1
    }

    /// The largest sequence number: one less than the IDs of a millisecond.
    pub const fn max_sequence(&self) -> u32 {
        (1 << self.sequence_bits) - 1
    }

    /// How many IDs one worker ID can issue in a second.
    pub const fn ids_per_second(&self) -> u64 {
        (self.max_sequence() as u64 + 1) * 1000
    }

    /// The largest batch: 1000, or all of a millisecond where that is less.
    pub const fn max_batch(&self) -> usize {
        let per_ms = self.max_sequence() as usize + 1;
        if per_ms < 1000 { per_ms } else { 1000 }
    }

    /// The fields of an ID. Every positive 63-bit number has some.
    pub fn decode(&self, id: Id) -> IdParts {
        let bits = id.as_i64() as u64;
        let field = |shift: u8, width: u8| (bits >> shift) & ((1 << width) - 1);
        let timestamp = bits >> self.timestamp_shift();
        IdParts {
            timestamp_ms: self.epoch_ms.saturating_add(timestamp as i64),
            datacenter_id: field(self.sequence_bits + self.worker_bits, self.datacenter_bits) as u32,
            worker_id: field(self.sequence_bits, self.worker_bits) as u32,
            sequence: field(0, self.sequence_bits) as u32,
        }
    }

    /// The ID with these fields.
    ///
    /// # Errors
    ///
    /// `TIMESTAMP_OUT_OF_RANGE` for a timestamp before the epoch or past the field's end,
    /// `INVALID_ARGUMENT` for any other field that is too large, and for all fields zero (an ID
    /// is greater than zero).
    pub fn encode(&self, parts: &IdParts) -> Result<Id, Error> {
        let timestamp = parts
            .timestamp_ms
            .checked_sub(self.epoch_ms)
            .filter(|since| (0..=self.max_timestamp() as i64).contains(since))
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::TimestampOutOfRange,
                    format!(
                        "timestamp_ms: {} is not allowed; allowed: {}..={}",
                        parts.timestamp_ms,
                        self.epoch_ms,
                        self.last_ms()
                    ),
                )
            })? as u64;
        let fits = |name: &str, value: u32, max: u32| {
            if value <= max {
                Ok(u64::from(value))
            } else {
                Err(Error::invalid(name, value, format_args!("0..={max}")))
            }
        };
        let datacenter = fits("datacenter_id", parts.datacenter_id, self.max_datacenter_id())?;
        let worker = fits("worker_id", parts.worker_id, self.max_worker_id())?;
        let sequence = fits("sequence", parts.sequence, self.max_sequence())?;
        let bits = (timestamp << self.timestamp_shift())
            | (datacenter << (self.sequence_bits + self.worker_bits))
            | (worker << self.sequence_bits)
            | sequence;
        Id::from_i64(bits as i64)
    }

    /// How far left the timestamp stands in an ID.
    pub(crate) const fn timestamp_shift(&self) -> u8 {
        self.datacenter_bits + self.worker_bits + self.sequence_bits
    }

    /// The bits of a worker ID at their place in an ID.
    pub(crate) const fn worker_prefix(&self, datacenter_id: u32, worker_id: u32) -> u64 {
        ((datacenter_id as u64) << (self.sequence_bits + self.worker_bits)) | ((worker_id as u64) << self.sequence_bits)
    }
}

/// `41-5-5-12`: the widths alone, as the registry pins them.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}", self.timestamp_bits, self.datacenter_bits, self.worker_bits, self.sequence_bits)
    }
}

/// Reads `41-5-5-12`, strictly as it is written (no sign, blanks or leading zeros), so that what
/// the registry pins has one spelling; the epoch is the default one.
impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Layout, Error> {
        let widths: Option<Vec<u8>> = text
            .split('-')
            .map(|width| {
                let digits = !width.is_empty() && width.bytes().all(|byte| byte.is_ascii_digit());
                let strict = digits && (width == "0" || !width.starts_with('0'));
                strict.then(|| width.parse().ok()).flatten()
            })
            .collect();
        match widths.as_deref() {
            Some(&[timestamp, datacenter, worker, sequence]) => Layout::new(timestamp, datacenter, worker, sequence),
            _ => Err(Error::invalid(
                "layout",
                text,
                "four widths timestamp-datacenter-worker-sequence, without blanks or leading zeros, such as 41-5-5-12",
            )),
        }
    }
}

/// The fields of an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IdParts {
    /// When the ID was made, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// The datacenter of the worker ID.
    pub datacenter_id: u32,
    /// The worker within the datacenter.
    pub worker_id: u32,
    /// The place among the IDs of one millisecond.
    pub sequence: u32,
}

impl IdParts {
    /// When the ID was made.
    pub fn timestamp(&self) -> SystemTime {
        let span = Duration::from_millis(self.timestamp_ms.unsigned_abs());
        if self.timestamp_ms >= 0 { UNIX_EPOCH + span } else { UNIX_EPOCH - span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        /// Any layout that is allowed, with any epoch up to the default one.
        fn layouts()(datacenter in 0_u8..=10, worker in 0_u8..=10)(
            datacenter in Just(datacenter),
            worker in Just(worker),
            sequence in (2_u8.saturating_sub(datacenter + worker).max(1))..=(31 - datacenter - worker).min(22),
            epoch_ms in 0..=DEFAULT_EPOCH_MS,
        ) -> Layout {
            let timestamp = 63 - datacenter - worker - sequence;
            Layout::new(timestamp, datacenter, worker, sequence).unwrap().with_epoch_ms(epoch_ms).unwrap()
        }
    }

    proptest! {
        #[test]
        fn every_positive_number_has_fields_that_make_it_again(layout in layouts(), number in 1..=i64::MAX) {
            let id = Id::from_i64(number).unwrap();
            prop_assert_eq!(layout.encode(&layout.decode(id)), Ok(id));
        }

        #[test]
        fn a_later_timestamp_is_a_larger_id_whatever_the_other_fields(
            layout in layouts(), first in 0_u64..1 << 31, later in 1_u64..1 << 31, low in any::<[u32; 6]>(),
        ) {
            let id = |timestamp: u64, fields: &[u32]| layout.encode(&IdParts {
                timestamp_ms: layout.epoch_ms() + timestamp as i64,
                datacenter_id: fields[0] & layout.max_datacenter_id(),
                worker_id: fields[1] & layout.max_worker_id(),
                sequence: (fields[2] & layout.max_sequence()).max(1),
            }).unwrap();
            prop_assert!(id(first, &low[..3]) < id(first + later, &low[3..]));
        }

        #[test]
        fn the_text_of_a_layout_reads_as_the_same_widths(layout in layouts()) {
            let read: Layout = layout.to_string().parse().unwrap();
            prop_assert_eq!(read.with_epoch_ms(layout.epoch_ms()), Ok(layout));
        }

        #[test]
        fn no_fields_make_a_panic_or_an_id_with_other_fields(
            layout in layouts(),
            timestamp_ms in prop_oneof![any::<i64>(), 0..DEFAULT_EPOCH_MS * 3],
            fields in prop_oneof![any::<[u32; 3]>(), [0_u32..64, 0_u32..64, 0_u32..8192]],
        ) {
            let [datacenter_id, worker_id, sequence] = fields;
            let parts = IdParts { timestamp_ms, datacenter_id, worker_id, sequence };
            if let Ok(id) = layout.encode(&parts) {
                prop_assert_eq!(layout.decode(id), parts);
            }
        }

        #[test]
        fn no_text_makes_a_panic(text in ".*") {
            let _ = text.parse::<Layout>();
            let _ = text.parse::<Id>();
        }
    }

    #[test]
    fn what_a_slot_puts_together_is_what_decode_takes_apart() {
        let layout = Layout::default();
        let bits = (7 << layout.timestamp_shift()) | layout.worker_prefix(31, 4) | 9;
        let parts = layout.decode(Id::from_issued(bits));
        assert_eq!(parts.timestamp_ms, DEFAULT_EPOCH_MS + 7);
        assert_eq!((parts.datacenter_id, parts.worker_id, parts.sequence), (31, 4, 9));
    }

    #[test]
    fn the_time_of_an_id_is_a_system_time_before_and_after_1970() {
        let at = |timestamp_ms| IdParts { timestamp_ms, datacenter_id: 0, worker_id: 0, sequence: 0 }.timestamp();
        assert_eq!(at(0), UNIX_EPOCH);
        assert_eq!(at(1_767_225_600_001), UNIX_EPOCH + Duration::new(1_767_225_600, 1_000_000));
        assert_eq!(at(-1), UNIX_EPOCH - Duration::from_millis(1));
        assert!(at(i64::MIN) < at(i64::MAX));
    }

    #[test]
    fn widths_at_their_ends_are_allowed_and_one_beyond_is_not() {
        for (text, allowed) in [
            ("32-10-10-11", true),
            ("31-10-10-12", false),
            ("61-0-1-1", true),
            ("62-0-0-1", false),
            ("41-10-0-12", true),
            ("40-11-0-12", false),
            ("41-0-10-12", true),
            ("40-0-11-12", false),
            ("41-0-0-22", true),
            ("40-0-0-23", false),
            ("61-1-0-1", true),
            ("43-10-10-0", false),
        ] {
            assert_eq!(text.parse::<Layout>().is_ok(), allowed, "{text}");
        }
    }
}

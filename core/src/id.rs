//! The ID itself: a positive 64-bit integer.

use std::fmt;
use std::num::NonZeroI64;
use std::str::FromStr;

use crate::error::Error;

/// A 64-bit, time-sorted, globally unique ID: an integer greater than zero.
///
/// Written as decimal digits. With the `serde` feature it is a *string* in text formats (JSON
/// numbers lose digits above 2^53 in JavaScript) and a number in binary ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(NonZeroI64);

impl Id {
    /// The ID with this number.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for zero and below.
    pub fn from_i64(number: i64) -> Result<Id, Error> {
        match NonZeroI64::new(number) {
            Some(number) if number.get() > 0 => Ok(Id(number)),
            _ => Err(Error::invalid("id", number, "an integer from 1 to 9223372036854775807")),
        }
    }

    /// The number: always greater than zero.
    pub const fn as_i64(self) -> i64 {
        self.0.get()
    }

    /// The bits of an ID that a slot has just issued: greater than zero because its timestamp
    /// or its sequence is, and below 2^63 because a layout has 63 bits.
    #[inline]
    pub(crate) fn from_issued(bits: u64) -> Id {
        debug_assert!(bits > 0 && bits < 1 << 63);
        Id(NonZeroI64::new(bits as i64).unwrap_or(NonZeroI64::MAX))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Reads 1 to 19 decimal digits: no sign, no blanks, no leading zero, nothing above 2^63 - 1.
impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Id, Error> {
        let strict =
            (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        strict.then(|| text.parse::<i64>().ok()).flatten().and_then(|number| Id::from_i64(number).ok()).ok_or_else(
            || {
                Error::invalid(
                    "id",
                    text,
                    "decimal digits from 1 to 9223372036854775807, without sign, blanks or leading zeros",
                )
            },
        )
    }
}

impl From<Id> for i64 {
    fn from(id: Id) -> i64 {
        id.as_i64()
    }
}

impl From<Id> for u64 {
    fn from(id: Id) -> u64 {
        id.as_i64() as u64
    }
}

impl TryFrom<i64> for Id {
    type Error = Error;

    fn try_from(number: i64) -> Result<Id, Error> {
        Id::from_i64(number)
    }
}

#[cfg(feature = "serde")]
mod serde_impl {
    use super::Id;
    use serde::de::{self, Deserialize, Deserializer, Visitor};
    use serde::ser::{Serialize, Serializer};

    impl Serialize for Id {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                serializer.collect_str(self)
            } else {
                serializer.serialize_i64(self.as_i64())
            }
        }
    }

    impl<'de> Deserialize<'de> for Id {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
            if deserializer.is_human_readable() {
                deserializer.deserialize_any(IdVisitor)
            } else {
                deserializer.deserialize_i64(IdVisitor)
            }
        }
    }

    struct IdVisitor;

    impl Visitor<'_> for IdVisitor {
        type Value = Id;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an ID: decimal digits in a string, or an integer greater than zero")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
            text.parse().map_err(E::custom)
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Id, E> {
            Id::from_i64(number).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
            i64::try_from(number)
                .map_err(|_| E::custom("an ID is below 2^63"))
                .and_then(|number| Id::from_i64(number).map_err(E::custom))
        }
    }
}

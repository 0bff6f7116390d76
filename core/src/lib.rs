//! 64-bit, time-sorted, globally unique IDs made in your own process.

mod error;
#[allow(dead_code)]
pub(crate) mod fork;
mod id;
mod layout;
#[doc(hidden)]
pub mod lease;

pub use error::{Error, ErrorCode};
pub use id::Id;
pub use layout::{DEFAULT_EPOCH_MS, IdParts, Layout};

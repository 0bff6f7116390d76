//! 64-bit, time-sorted, globally unique IDs made in your own process.

#[doc(hidden)]
pub mod clock;
mod discovery;
mod error;
mod fork;
mod generator;
mod guard;
mod id;
mod layout;
#[doc(hidden)]
pub mod lease;
mod log;
mod options;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod rules;
#[cfg(all(test, not(leaseflake_loom)))]
mod sim;
mod status;
mod sync;
#[cfg(all(test, not(leaseflake_loom)))]
mod testing;
mod thread;

pub use clock::{KernelClock, kernel_clock};
pub use error::{Error, ErrorCode};
pub use generator::IdGenerator;
#[doc(hidden)]
pub use generator::{Reserved, close_at_exit};
#[doc(hidden)]
pub use guard::guard;
pub use id::Id;
pub use layout::{DEFAULT_EPOCH_MS, IdParts, Layout};
pub use lease::state::{KeeperCounters, LeaseState, StateChange};
#[doc(hidden)]
pub use options::number_within;
pub use options::{OPTION_NAMES, Options};
pub use status::{Status, StatusValue};
#[doc(hidden)]
pub use thread::spawn;

/// The Rust in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

//! 64-bit, time-sorted, globally unique IDs made in your own process.
//!
//! A process owns its worker ID by a lease, in an SQLite file on one machine or in DynamoDB for a fleet, and makes IDs
//! without a network call. Begin with [`IdGenerator`]; [`Options`] has every setting, [`ErrorCode`] all that can go wrong,
//! [`Layout`] and [`IdParts`] what an [`Id`] is made of.
//!
//! ```
//! use leaseflake::{IdGenerator, Options};
//!
//! // Or sqlite:ids.db, or dynamodb://TABLE.
//! let ids = IdGenerator::open(Options::new().store("memory:front-page"))?;
//! let id = ids.next_id()?;
//! assert_eq!(ids.decode(id).sequence, 0);
//! # Ok::<(), leaseflake::Error>(())
//! ```
//!
//! IDs are unique among all who use the *same registry*. Give the worker ID back with [`IdGenerator::close`] when a
//! service ends.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `sqlite` (default) | the registry in a file, SQLite included |
//! | `dynamodb` | the registry in a DynamoDB table |
//! | `serde` (default) | [`Id`] as a string in texts such as JSON, as a number in binary formats |

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
#[cfg(feature = "dynamodb")]
#[doc(hidden)]
pub use discovery::discovered;
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

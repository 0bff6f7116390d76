//! Many real processes under faults, and the checker that reads what they issued.
//!
//! - [`check`]: reads streams of IDs, however many, in constant memory, and names every repeat.
//! - `driver`: starts the processes, injects the faults of a seeded script, and has the checker
//!   read what they issued (feature `driver`).
//!
//! How a program joins the fleet is written in `PROTOCOL.md`.

pub mod check;
#[cfg(feature = "driver")]
pub mod driver;
#[cfg(feature = "driver")]
pub mod member;
#[cfg(feature = "driver")]
mod random;

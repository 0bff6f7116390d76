//! Many real processes under faults, and the checker that reads what they issued.
//!
//! - [`check`]: reads streams of IDs, however many, in constant memory, and names every repeat.
//!
//! How a program joins the fleet is written in `PROTOCOL.md`.

pub mod check;

//! What the command reads from outside, one function each, for tests that give it anything.

pub use crate::commands::input::{decode_lines, parse_worker};
pub use crate::time::{parse as parse_time, utc};
